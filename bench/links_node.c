#include "bench/links.h"

#include "bench/measure.h"
#include "launch/wireup.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SPIN_NS 60000000000u /* longer than any wait here */
#define YIELD_NS 100000u     /* as a run has it */

void gsrt_links_must(gsrt_status status, const char *what, const gsrt_diag *diag)
{
    if (status == GSRT_OK)
        return;
    fprintf(stderr, "links: could not %s: %s\n", what,
            diag != NULL && diag->status != GSRT_OK ? diag->text : gsrt_status_text(status));
    exit(2);
}

gsrt_address gsrt_links_role(uint32_t rank)
{
    return gsrt_address_of_role(GSRT_ROLE_REGION, 0, rank);
}

/* Every rank starts the same actors in the same order, so its own serial is that of the others too. */
void gsrt_links_start(gsrt_links *b, const gsrt_behaviour *behaviour)
{
    gsrt_address mine;
    for (uint32_t peer = 0; peer < b->wireup.rank_count; peer++)
        if (peer != b->wireup.rank)
            gsrt_links_must(gsrt_link_actor_start(b->node, peer, &b->links[peer]), "start a link", NULL);
    gsrt_links_must(gsrt_node_spawn(b->node, behaviour, &b, &mine), "spawn", NULL);
    for (uint32_t rank = 0; rank < b->wireup.rank_count; rank++) {
        gsrt_address theirs = gsrt_address_of_actor(rank, b->wireup.incarnation, gsrt_address_serial(mine));
        gsrt_links_must(gsrt_role_bind(b->node, gsrt_links_role(rank), theirs), "bind a role", NULL);
    }
}

void gsrt_links_open(gsrt_links *b, const char *directory)
{
    gsrt_diag diag = {.status = GSRT_OK};
    gsrt_links_must(gsrt_wireup_mpi(&(gsrt_wireup_options){0}, &b->wireup, &diag), "wire up", &diag);
    bool is_spinning = (long)b->wireup.rank_count <= sysconf(_SC_NPROCESSORS_ONLN); /* as a run decides it */
    if (is_spinning)
        (void)gsrt_measure_bind(b->wireup.rank);
    gsrt_recorder_options recorder = {.directory = directory,
                                      .rank = b->wireup.rank,
                                      .incarnation = b->wireup.incarnation,
                                      .now_ns = gsrt_measure_now_ns()};
    gsrt_links_must(gsrt_recorder_open(&recorder, &b->recorder, &diag), "open the trace", &diag);
    gsrt_node_options options = {.rank = b->wireup.rank,
                                 .rank_count = b->wireup.rank_count,
                                 .incarnation = b->wireup.incarnation,
                                 .transport = b->wireup.transport,
                                 .spin_ns = is_spinning ? SPIN_NS : 0,
                                 .yield_ns = is_spinning ? 0 : YIELD_NS,
                                 .recorder = {.arg = b->recorder,
                                              .message = gsrt_recorder_message,
                                              .init = gsrt_recorder_init,
                                              .event = gsrt_recorder_event,
                                              .action = gsrt_recorder_action,
                                              .catch_up = gsrt_recorder_catch_up}};
    gsrt_links_must(gsrt_node_create(&options, &b->node), "create a node", NULL);
    b->wireup.transport = NULL; /* the node's now */
}

void gsrt_links_close(gsrt_links *b)
{
    gsrt_diag diag = {.status = GSRT_OK};
    gsrt_node_free(b->node);
    gsrt_links_must(gsrt_recorder_close(b->recorder, gsrt_measure_now_ns(), &diag), "close the trace", &diag);
    gsrt_wireup_fini(&b->wireup);
}
