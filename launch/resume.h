/* Going on with a run whose processes have all died: what its run directory must be, and what becomes of its scenario
 * on the ranks that there are now. The tokens are taken up as after the loss of a leader (launch/answers.h).
 *
 * In the run directory: "model", what identifies the model's file; "resumed", how often the run was gone on with, which
 * names the traces of each time (ckpt/recorder.h); "faults", the numbers of the faults that were done, a line each.
 * Any rank's main thread, before the node runs; gsrt_resume_note_fault: the leader's node's thread. They may block.
 */
#ifndef GSRT_LAUNCH_RESUME_H
#define GSRT_LAUNCH_RESUME_H

#include "launch/loaded.h"
#include "launch/run_directory.h"
#include "launch/scenario.h"

/* May the run in the directory `path` be gone on with? GSRT_OK | GSRT_EINPUT: it is no run directory, or its report
 * says that the run came to its end (exit code 0 or 4) | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_resume_check(const char *path, gsrt_diag *diag);

/* Fit the scenario of the run in `path` to rank_count ranks: where its plan names others, it becomes the fallback for
 * those that there are (placement/fallback.h). Faults that were done before, and those of ranks that are not there,
 * never come due. GSRT_OK | GSRT_EINPUT: "faults" is another run's | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_resume_fit(const char *path, gsrt_scenario *scenario, uint32_t rank_count,
                                            gsrt_diag *diag);

/* Write down what identifies the model; compare it. The hash of the whole file where there is a manifest; its size, its
 * beginning and samples of the rest in any case, which another file of the same size will not share by chance.
 * note: GSRT_OK | GSRT_EIO | GSRT_ENOMEM. check: these and GSRT_EINPUT: the run was begun with another model. */
GSRT_MUST_CHECK gsrt_status gsrt_resume_note_model(gsrt_run_directory *directory, const gsrt_loaded *loaded,
                                                   gsrt_diag *diag);
GSRT_MUST_CHECK gsrt_status gsrt_resume_check_model(gsrt_run_directory *directory, const gsrt_loaded *loaded,
                                                    gsrt_diag *diag);

/* How often the run was gone on with: 0 in its first life. GSRT_OK | GSRT_EINPUT: not a number | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_resume_generation(gsrt_run_directory *directory, uint32_t *out, gsrt_diag *diag);
/* One more, written down; *out the new number. Errors as above. */
GSRT_MUST_CHECK gsrt_status gsrt_resume_begin(gsrt_run_directory *directory, uint32_t *out, gsrt_diag *diag);

/* This fault of the scenario is about to be done. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_resume_note_fault(gsrt_run_directory *directory, uint32_t number, gsrt_diag *diag);

#endif
