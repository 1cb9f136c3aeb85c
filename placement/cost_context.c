/* Context parallelism: the positions of a sequence lie on several members of a group, block by block. A row of a decode
 * step sends its queries to all of them; each attends over its part, and what comes out is merged by its log-sum-exp
 * where the heads are. In a prefill there are many rows, and the keys and values of earlier positions travel instead,
 * to those who attend with these heads. New keys and values go to whoever keeps their block.
 */
#include <math.h>

#include "base/limits.h"
#include "placement/cost_impl.h"

uint32_t gsrt__context_width(const gsrt_deployment_stage *stage)
{
    return stage->context_width > 1 ? stage->context_width : 1;
}

uint64_t gsrt__context_part(const gsrt_deployment_stage *stage, uint64_t positions)
{
    uint64_t parts = gsrt__context_width(stage);
    uint64_t blocks = (positions + GSRT_KV_BLOCK_POSITIONS - 1) / GSRT_KV_BLOCK_POSITIONS;
    uint64_t most = (blocks + parts - 1) / parts * GSRT_KV_BLOCK_POSITIONS;
    return most < positions ? most : positions;
}

gsrt__context_row gsrt__context_row_of(const gsrt_workload *workload, const gsrt__cut *cut,
                                       const gsrt__layer_kind *kind)
{
    const gsrt_state *state = &workload->states[kind->state];
    double result =
        state->kind == GSRT_STATE_LATENT ? state->value_width : (double)state->value_width / workload->kv_head_count;
    double heads = gsrt__units_of(cut, kind->head_count, cut->tensor_width, 0, gsrt__context_width(cut->stage));
    return (gsrt__context_row){.queries = heads * (kind->score_elements / kind->head_count - result),
                               .results = heads * (result + 1)};
}

/* Bytes of the fullest member of a group. */
typedef struct amounts {
    double queries, results, moved, gathered;
} amounts;

static amounts amounts_of(gsrt__walk *walk, const gsrt_deployment_stage *stage, uint32_t region, const gsrt__step *step)
{
    const gsrt__layer_kind *kind = &walk->profile->kinds[walk->profile->kind_of_region[region]];
    const gsrt_region_choice *choice = &walk->deployment->choices[region];
    double window = walk->workload->states[kind->state].window, activation = gsrt__activation_bytes(choice);
    double context = window > 0 && window < step->context ? window : step->context;
    amounts most = {0};
    for (uint32_t m = 0; m < stage->member_count; m++) {
        gsrt__cut cut = gsrt__cut_of(stage, m);
        gsrt__context_row row = gsrt__context_row_of(walk->workload, &cut, kind);
        double rows = gsrt__group_rows(walk, &cut, step->rows);
        double own = gsrt__position_bytes(walk->workload, &cut, kind, choice, 1);
        double all = gsrt__position_bytes(walk->workload, &cut, kind, choice, gsrt__context_width(stage));
        most.queries = fmax(most.queries, rows * row.queries * activation);
        most.results = fmax(most.results, rows * row.results * activation);
        most.moved = fmax(most.moved, all > own ? rows * own : 0); /* else each has made them, too */
        most.gathered = fmax(most.gathered, own * fmax(0, context - (rows + 1) / 2));
    }
    return most;
}

gsrt__term gsrt__context_exchanges(gsrt__walk *walk, const gsrt__group *group, const gsrt_deployment_stage *stage,
                                   uint32_t region, const gsrt__step *step)
{
    bool is_native = walk->deployment->choices[region].arithmetic == GSRT_ARITHMETIC_NATIVE;
    uint32_t width = gsrt__context_width(stage);
    const amounts bytes = amounts_of(walk, stage, region, step);
    gsrt__term sum;
    if (step->phase == GSRT_PHASE_DECODE) {
        const gsrt__exchanged queries = {GSRT__EQUATION_GATHER, width, 1, bytes.queries, is_native};
        const gsrt__exchanged results = {GSRT__EQUATION_ALL_TO_ALL, width, 1, bytes.results, is_native};
        sum = gsrt__derive2(walk, GSRT__EQUATION_SUM, "attention in parts of the context",
                            gsrt__exchange(walk, group, &queries, "queries to all parts of the context"),
                            gsrt__exchange(walk, group, &results, "attention over parts of the context, merged"));
    } else {
        const gsrt__exchanged gathered = {GSRT__EQUATION_GATHER, width, bytes.gathered > 0 ? 1 : 0, bytes.gathered,
                                          is_native};
        sum = gsrt__exchange(walk, group, &gathered, "keys and values of the other parts of the context");
    }
    if (bytes.moved <= 0)
        return sum;
    const gsrt__exchanged moved = {GSRT__EQUATION_ALL_TO_ALL, width, 1, bytes.moved, is_native};
    return gsrt__derive2(walk, GSRT__EQUATION_SUM, "exchanges between parts of the context", sum,
                         gsrt__exchange(walk, group, &moved, "keys and values to their parts"));
}
