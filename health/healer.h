/* The healer, for lost ranks: which of the three ways back costs the run least, by predicted time. A pure function; the
 * contract does not choose between them, because under it every plan gives the same bits (placement/fallback.h).
 *
 *   in place   wait for the keeper's next incarnation, and go on with the full plan
 *   spare      go on at once; others take the roles of the missing until they return
 *   reshaped   go on at once; the survivors divide the work anew until the missing return
 *
 * Predicted loss, in ns of the run, source: docs/adr/0008-recovery.md:
 *   in place   respawn + take + recompute
 *   spare      take + recompute, and once more when the missing rank returns to its role
 *   reshaped   the same, and (slowdown - 1) of every step until then
 */
#ifndef GSRT_HEALTH_HEALER_H
#define GSRT_HEALTH_HEALER_H

#include "health/incident.h"
#include "placement/fallback.h"

enum { GSRT_HEAL_METHOD_COUNT = GSRT_METHOD_FULL + 1 }; /* of arrays by method; 0 is none */

typedef struct gsrt_heal_question {
    const gsrt_plan *full; /* checked; borrowed */
    const bool *is_there;  /* [rank_count]: without the lost */
    uint32_t rank_count;
    bool is_last;                /* no next incarnation of the lost one comes */
    gsrt_incident_method prefer; /* chosen where it is possible; 0: by predicted time */
    uint64_t respawn_ns;         /* from a death until the next incarnation has joined */
    uint64_t take_ns;            /* from a view until every member has its part */
    uint64_t recompute_ns;       /* of the positions whose KV is lost */
    uint64_t step_ns;            /* a step of the full plan; 0: unknown */
    uint32_t steps_left;         /* of the run */
} gsrt_heal_question;

typedef struct gsrt_heal_answer {
    gsrt_incident_method method;
    bool is_possible[GSRT_HEAL_METHOD_COUNT];
    uint64_t loss_ns[GSRT_HEAL_METHOD_COUNT]; /* of those that are possible */
} gsrt_heal_answer;

/* GSRT_OK | GSRT_EINFEASIBLE: nobody is left | GSRT_ENOMEM. O(ranks). */
GSRT_MUST_CHECK gsrt_status gsrt_heal(const gsrt_heal_question *question, gsrt_heal_answer *out);

/* ---- for trace and replay: one msgpack value each (health/healer_codec.c) ---- */

/* Append it. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_heal_options_encode(const gsrt_plan *full, uint32_t rank_count, gsrt_buffer *buffer);
GSRT_MUST_CHECK gsrt_status gsrt_heal_question_encode(const gsrt_heal_question *question, gsrt_buffer *buffer);
GSRT_MUST_CHECK gsrt_status gsrt_heal_answer_encode(const gsrt_heal_answer *answer, gsrt_buffer *buffer);
/* *out owned, and checked. GSRT_OK | GSRT_EDECODE | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_heal_options_decode(gsrt_span bytes, gsrt_plan **out, uint32_t *out_rank_count);
/* is_there[rank_count]: room, borrowed by *out; out->full is left NULL. GSRT_OK | GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_heal_question_decode(gsrt_span bytes, uint32_t rank_count, bool *is_there,
                                                      gsrt_heal_question *out);

#endif
