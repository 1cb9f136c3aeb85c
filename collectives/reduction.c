#include "collectives/reduction.h"

#include "collectives/exchange.h"

#include <assert.h>

static gsrt_status check(const gsrt_reduction_options *options)
{
    uint64_t node_count = 0;
    if (options->member_count == 0 || options->member_count > GSRT_GROUP_RANKS_MAX || options->column_count == 0 ||
        options->row_count == 0)
        return GSRT_EINVAL;
    for (uint32_t m = 0; m < options->member_count; m++)
        node_count += options->node_counts[m];
    return node_count == 0 || node_count * options->column_count > UINT32_MAX ? GSRT_EINVAL : GSRT_OK;
}

/* Runs of columns, evenly; the first members get what is left over, the last one the short run. */
static void cut_columns(gsrt_reduction *r)
{
    uint32_t run_count = (uint32_t)(((uint64_t)r->column_count + GSRT_REDUCTION_COLUMNS - 1) / GSRT_REDUCTION_COLUMNS);
    uint64_t end = 0;
    for (uint32_t m = 0; m < r->member_count; m++) {
        uint32_t runs = run_count / r->member_count + (m < run_count % r->member_count);
        end += (uint64_t)runs * GSRT_REDUCTION_COLUMNS;
        r->column_firsts[m + 1] = end < r->column_count ? (uint32_t)end : r->column_count;
    }
    assert(r->column_firsts[r->member_count] == r->column_count);
}

gsrt_status gsrt_reduction_plan(const gsrt_reduction_options *options, gsrt_reduction *out)
{
    gsrt_status status = check(options);
    if (status != GSRT_OK)
        return status;
    gsrt_reduction whole = {
        .way = GSRT_REDUCTION_WHOLE, .member_count = options->member_count, .column_count = options->column_count};
    for (uint32_t m = 0; m < options->member_count; m++)
        whole.node_firsts[m + 1] = whole.node_firsts[m] + options->node_counts[m];
    gsrt_reduction ranges = whole;
    ranges.way = GSRT_REDUCTION_RANGES;
    cut_columns(&ranges);
    bool has_ranges =
        options->member_count > 1 && options->column_count / GSRT_REDUCTION_COLUMNS >= options->member_count;
    if (has_ranges && options->way == GSRT_REDUCTION_CHEAPER)
        has_ranges = gsrt_reduction_cost_bytes(&ranges, options->row_count) <
                     gsrt_reduction_cost_bytes(&whole, options->row_count);
    *out = has_ranges && options->way != GSRT_REDUCTION_WHOLE ? ranges : whole;
    return GSRT_OK;
}

uint32_t gsrt_reduction_exchange_count(const gsrt_reduction *r)
{
    return r->way == GSRT_REDUCTION_RANGES ? 2 : 1;
}

gsrt_reduction_piece gsrt_reduction_share(const gsrt_reduction *r, uint32_t member)
{
    assert(member < r->member_count);
    gsrt_reduction_piece all = {.node_count = r->node_firsts[r->member_count], .column_count = r->column_count};
    if (r->way == GSRT_REDUCTION_RANGES) {
        all.column_first = r->column_firsts[member];
        all.column_count = r->column_firsts[member + 1] - all.column_first;
    }
    return all;
}

gsrt_reduction_piece gsrt_reduction_piece_of(const gsrt_reduction *r, uint32_t exchange, uint32_t from, uint32_t to)
{
    assert(exchange < gsrt_reduction_exchange_count(r) && from < r->member_count && to < r->member_count);
    gsrt_reduction_piece piece = gsrt_reduction_share(r, exchange == 0 ? to : from);
    if (exchange == 1) { /* the result */
        piece.node_count = 1;
        return piece;
    }
    piece.node_first = r->node_firsts[from];
    piece.node_count = r->node_firsts[from + 1] - piece.node_first;
    return piece.node_count == 0 ? (gsrt_reduction_piece){0} : piece;
}

static uint64_t floats_of(gsrt_reduction_piece piece)
{
    return (uint64_t)piece.node_count * piece.column_count;
}

uint64_t gsrt_reduction_received_bytes(const gsrt_reduction *r, uint32_t member)
{
    uint64_t floats = 0;
    for (uint32_t exchange = 0; exchange < gsrt_reduction_exchange_count(r); exchange++)
        for (uint32_t from = 0; from < r->member_count; from++)
            floats += from == member ? 0 : floats_of(gsrt_reduction_piece_of(r, exchange, from, member));
    return floats * sizeof(float);
}

uint64_t gsrt_reduction_cost_bytes(const gsrt_reduction *r, uint32_t row_count)
{
    uint64_t slowest = 0;
    for (uint32_t m = 0; m < r->member_count; m++) {
        gsrt_reduction_piece share = gsrt_reduction_share(r, m);
        uint64_t added = (uint64_t)(share.node_count - 1) * share.column_count * sizeof(float);
        uint64_t bytes = gsrt_reduction_received_bytes(r, m) + added;
        slowest = bytes > slowest ? bytes : slowest;
    }
    return gsrt_exchange_cost_bytes(gsrt_reduction_exchange_count(r), slowest * row_count);
}
