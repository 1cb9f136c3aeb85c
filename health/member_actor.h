/* The member actor: the membership machine of one rank (health/membership.h), fed and carried out.
 *
 *   transport: a peer is down, a new incarnation has connected   gsrt_node_on_suspect, gsrt_node_on_join
 *   keepers: words, deposits, orders without an answer           gsrt_keepers_listen
 *   silence of a peer's machine, scored by phi-accrual and by the observer's own lateness   health/phi.h
 *   -> machine -> messages to the other member actors, orders and deposits to the keepers,
 *      a view: the node's epoch and incarnations, the roles NODE and MEMBER of this rank, VIEW to the rank's root actor
 *
 * Every event and action is recorded before it is carried out, under the name "membership". Thread: the node's.
 */
#ifndef GSRT_HEALTH_MEMBER_ACTOR_H
#define GSRT_HEALTH_MEMBER_ACTOR_H

#include "actors/node.h"
#include "health/membership.h"
#include "health/phi.h"

/* What the rest of the rank wants to know and to decide; functions may be NULL; they run inside the actor. */
typedef struct gsrt_member_hooks {
    void *arg;
    /* How long the next incarnation of this dead worker is to be waited for; NULL: not at all. */
    uint64_t (*join_wait_ns)(void *arg, gsrt_actor *self, const gsrt_keeper_word *word);
    void (*on_event)(void *arg, const gsrt_membership_event *event); /* before the machine sees it */
    void (*on_action)(void *arg, const gsrt_membership_action *action, uint64_t now_ns); /* before it is carried out */
    void (*on_exit)(void *arg); /* this process is to end; its keeper starts the next incarnation */
    /* It may not emit, now and then while that is so. The run may have gone on, and ended, without this rank. */
    void (*on_fenced)(void *arg);
    /* It could not emit for give_up_ns, and there is no hope of it: the run ends here. `why`: static. */
    void (*on_lost)(void *arg, const char *why);
} gsrt_member_hooks;

typedef struct gsrt_member_options {
    gsrt_membership_options machine; /* rank and rank_count are the node's */
    gsrt_keepers *keepers;           /* borrowed for the actor's life; NULL: this rank is alone and has none */
    gsrt_address root;               /* gets VIEW; bound to the role NODE of this rank in each view */
    uint64_t join_hold_ns;           /* how long a view is left alone by those who only want to join it; 0: not */
    uint64_t give_up_ns;             /* 0: never */
    uint64_t pause_ns;               /* silence that is allowed beyond the mean; 0: nobody is suspected by silence */
    gsrt_member_hooks hooks;
} gsrt_member_options;

/* Times of a run, in both worlds: detection 50 ms, retry 20 ms, takeover 100 ms, a hold of 150 ms, giving up 15 s; and
 * by contact_ms (GSRT_CONTACT_MS_MIN to GSRT_CONTACT_MS_MAX): a lease of 20 contacts, at least 1 s, and a pause of 8,
 * at most GSRT_PHI_PAUSE_MS_MAX; 0 where contacts are too rare to be scored (GSRT_PHI_INTERVAL_MS_MAX). Everything else
 * is zero. */
gsrt_member_options gsrt_member_options_of(uint32_t contact_ms);

typedef struct gsrt_member {
    gsrt_member_options options;
    gsrt_node *node;
    gsrt_address self;
    gsrt_membership *machine;
    uint64_t timer;              /* of the machine; 0: none */
    gsrt_membership_fence fence; /* why nothing may be emitted, when that was last said */
    uint64_t fenced_ns;          /* since when; 0: it may */
    uint32_t *incarnations;      /* [rank_count] the latest that each rank is known to have */
    uint32_t *joined;            /* [rank_count] the one that its process is connected with, or was last */
    uint64_t installed_ns;       /* when the last view was installed; 0: none was */
    bool is_deaf;                /* it hears nobody any more, and nobody is there to go on without it */
    bool is_changing;            /* something has happened since that makes another view due, but joins */
    gsrt_phi *phi;               /* scores the silence of the other members */
    gsrt_status suspected_why; /* of the SUSPECT that is being fed: GSRT_EPEER, GSRT_ELINK, GSRT_ECANCELED (it said that
                                  it leaves) by the transport, GSRT_ETIMEDOUT by its silence */
    gsrt_buffer record;        /* room to encode what is recorded */
} gsrt_member;

/* Start it on `node`, bind its role, and listen to transport and keepers. The first view begins, or is asked for, at
 * once. GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM | as gsrt_node_spawn. In any case: gsrt_member_fini, after the node was
 * freed. */
GSRT_MUST_CHECK gsrt_status gsrt_member_start(gsrt_member *member, gsrt_node *node, const gsrt_member_options *options);
void gsrt_member_fini(gsrt_member *member);

/* Whether something may be emitted on this rank now: to be asked right before it. O(1). Node's thread. */
gsrt_membership_fence gsrt_member_fenced(const gsrt_member *member, uint64_t now_ns);

#endif
