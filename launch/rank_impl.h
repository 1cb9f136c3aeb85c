/* Inside launch/rank*.c: the root actor's part that follows START. */
#ifndef GSRT_LAUNCH_RANK_IMPL_H
#define GSRT_LAUNCH_RANK_IMPL_H

#include "launch/rank.h"

/* A device that has not run out of jobs by then is broken; sized for the largest step on the slowest machine. */
#define GSRT__DRAIN_TIMEOUT_NS (600ull * 1000 * 1000 * 1000)

/* Of the run, as far as it fits. */
void gsrt__rank_set_directory(gsrt_rank *r, gsrt_span path);

/* START: take the part, start its region, answer READY; later, where something is to be narrowed or gathered. What it
 * cannot start it says in READY. GSRT_OK | as gsrt_send. */
GSRT_MUST_CHECK gsrt_status gsrt__rank_on_start(gsrt_actor *self, gsrt_rank *r, const gsrt_message *message);
/* NARROWED, from the thread. As on_start. */
GSRT_MUST_CHECK gsrt_status gsrt__rank_on_narrowed(gsrt_actor *self, gsrt_rank *r, const gsrt_msg_narrowed *narrowed);
/* READY to whoever has started this rank. status, why: of what could not be started. As gsrt_send. */
GSRT_MUST_CHECK gsrt_status gsrt__rank_say_ready(gsrt_actor *self, const gsrt_rank *r, gsrt_status status,
                                                 const char *why);
/* Wait for the thread, if there is one. */
void gsrt__rank_end_narrowing(gsrt_rank *r);

#endif
