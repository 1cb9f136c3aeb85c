#include "backends/numerics.h"

#include <assert.h>
#include <immintrin.h>

enum { CHUNK_TARGET = 256, CHUNK_COUNT_AIM = 32 };

static uint64_t gcd_of(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint32_t gsrt_chunk_of(uint32_t k_total, uint32_t k_group, gsrt_dtype dtype)
{
    uint64_t block = gsrt_dtype_block(dtype);
    uint64_t group = k_group == 0 ? 1 : k_group;
    uint64_t unit = group / gcd_of(group, block) * block;
    uint64_t target = CHUNK_TARGET;
    while ((k_total + target - 1) / target > CHUNK_COUNT_AIM)
        target *= 2;
    uint64_t chunk = target / unit * unit;
    if (chunk == 0)
        chunk = unit;
    return (uint32_t)(chunk > UINT32_MAX ? UINT32_MAX : chunk);
}

uint32_t gsrt_subtree_end(uint32_t first, uint32_t end, uint32_t count)
{
    uint32_t best = first + 1;
    for (uint32_t size = 2; first % size == 0; size *= 2) {
        uint32_t stop = size > count - first ? count : first + size;
        if (stop > end)
            break;
        best = stop;
        if (stop == count)
            break;
    }
    return best;
}

uint32_t gsrt_subtree_count(uint32_t chunk_first, uint32_t chunk_end, uint32_t chunk_count)
{
    uint32_t number = 0;
    for (uint32_t at = chunk_first; at < chunk_end; number++)
        at = gsrt_subtree_end(at, chunk_end, chunk_count);
    return number;
}

gsrt_chunking gsrt_chunking_of(const gsrt_matrix *matrix)
{
    uint32_t chunk = gsrt_chunk_of(matrix->k_total, matrix->k_group, matrix->dtype);
    uint32_t k_end = matrix->k_first + matrix->k_count;
    assert(matrix->k_first % chunk == 0);
    assert(k_end == matrix->k_total || k_end % chunk == 0);
    gsrt_chunking chunking = {
        .chunk = chunk,
        .count = gsrt_chunk_count(matrix->k_total, chunk),
        .first = matrix->k_first / chunk,
        .end = gsrt_chunk_count(k_end, chunk),
    };
    chunking.subtree_count = gsrt_subtree_count(chunking.first, chunking.end, chunking.count);
    return chunking;
}

/* A node on the stack of gsrt_tree_plan: chunks [first, end), held in node number `node`. */
typedef struct tree_node {
    uint32_t first, end;
    uint32_t node;
} tree_node;

/* true when `left` and `right`, neighbours, are the two sides of one node of the tree over `count` chunks. */
static bool is_pair(const tree_node *left, const tree_node *right, uint32_t count)
{
    for (uint32_t size = 1; size != 0 && size < count; size *= 2) {
        if (left->first % (2 * size) != 0)
            return false;
        if (left->first + size == left->end) /* full left side; the right one is clipped at the end */
            return right->end == (left->end + size > count ? count : left->end + size);
    }
    return false;
}

uint32_t gsrt_tree_plan(uint32_t chunk_count, const uint32_t *chunk_ends, uint32_t share_count, gsrt_tree_step *steps,
                        uint32_t steps_max)
{
    tree_node stack[2 * GSRT_TREE_DEPTH_MAX + 32];
    uint32_t depth = 0, node_count = 0, step_count = 0, at = 0;
    for (uint32_t share = 0; share < share_count; share++) {
        if (chunk_ends[share] < at || chunk_ends[share] > chunk_count)
            return 0;
        while (at < chunk_ends[share]) {
            if (depth == sizeof stack / sizeof stack[0])
                return 0;
            uint32_t end = gsrt_subtree_end(at, chunk_ends[share], chunk_count);
            stack[depth++] = (tree_node){.first = at, .end = end, .node = node_count++};
            at = end;
            while (depth >= 2 && is_pair(&stack[depth - 2], &stack[depth - 1], chunk_count)) {
                if (step_count < steps_max)
                    steps[step_count] = (gsrt_tree_step){.into = (uint16_t)stack[depth - 2].node,
                                                         .from = (uint16_t)stack[depth - 1].node};
                step_count++;
                stack[depth - 2].end = stack[depth - 1].end;
                depth--;
            }
        }
    }
    return at == chunk_count && depth == 1 ? node_count : 0;
}

enum { MXCSR_CANONICAL = 0x1f80, MXCSR_FLAGS = 0x3f };

uint32_t gsrt_mxcsr_set(void)
{
    uint32_t old = _mm_getcsr();
    _mm_setcsr(MXCSR_CANONICAL);
    return old;
}

void gsrt_mxcsr_restore(uint32_t old)
{
    _mm_setcsr(old);
}

bool gsrt_mxcsr_is_canonical(void)
{
    return (_mm_getcsr() & ~(uint32_t)MXCSR_FLAGS) == MXCSR_CANONICAL;
}
