/* Helix's files from anywhere: each reader gives one line that says why not, or a problem that makes a flow instance.
 */
#include "bench/helix_files.h"

#include "placement/flow_evaluate.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_words(gsrt_status status, const gsrt_diag *diag)
{
    if (status == GSRT_OK || (status == GSRT_EINPUT && diag->text[0] != 0))
        return;
    (void)fprintf(stderr, "refused without a word: %s\n", gsrt_status_text(status));
    abort();
}

/* Whatever was read can be scored, with whatever placement fits it. */
static void score(const gsrt_helix_problem *problem, const gsrt_flow_hold *holds)
{
    gsrt_flow_instance *instance = NULL;
    if (gsrt_helix_instance(problem, &instance) != GSRT_OK)
        return;
    gsrt_flow_evaluator *evaluator = gsrt_flow_evaluator_create(instance);
    if (evaluator != NULL && gsrt_flow_holds_check(instance, holds))
        (void)gsrt_flow_evaluate(evaluator, holds);
    (void)gsrt_flow_evaluator_free(evaluator);
    (void)gsrt_flow_instance_free(instance);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_helix_problem problem;
    gsrt_helix_profile profile;
    gsrt_flow_hold holds[GSRT_HELIX_NODE_COUNT_MAX] = {0};
    double objective;
    gsrt_span text = gsrt_span_of(data, size);
    gsrt_diag diags[5] = {0};
    gsrt_status status = gsrt_helix_read_placement(text, "fuzz", &diags[0], holds);
    expect_words(status, &diags[0]);
    status = gsrt_helix_read_program(text, "fuzz", &diags[1], &problem);
    expect_words(status, &diags[1]);
    if (status == GSRT_OK)
        score(&problem, holds);
    status = gsrt_helix_read_cluster(text, "fuzz", &diags[2], &problem);
    expect_words(status, &diags[2]);
    if (status == GSRT_OK) {
        problem.layer_count = 1;
        score(&problem, holds);
    }
    expect_words(gsrt_helix_read_profile(text, "fuzz", &diags[3], &profile), &diags[3]);
    expect_words(gsrt_helix_read_objective(text, "fuzz", &diags[4], &objective), &diags[4]);
    return 0;
}
