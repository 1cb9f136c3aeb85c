/* The packed layout of q8_0 and q4_0, for the AVX2 and the AVX-512 kernels: groups of 16 rows; per pair of blocks (64
 * elements of K) one cache line of f16 scales, then lines of 16 rows times 4 bytes:
 *
 *     scales   [block of the pair][16 rows] f16                                   64 bytes
 *     q8_0     [block of the pair][8 lines][16 rows][4 bytes]: elements 4j..4j+3  1024 bytes
 *     q4_0     [block of the pair][4 lines][16 rows][4 bytes]: low nibbles are elements 4j..4j+3 of the block, high
 * nibbles 16 + 4j..16 + 4j+3                                                 512 bytes
 *
 * A last single block takes a whole pair's room. q8_0 bytes are xored with `flip`: 0x80 for instructions that want
 * unsigned bytes (weight + 128). A panel is two groups. Past the last output the last row is repeated.
 */
#ifndef GSRT_BACKENDS_QUANT_PACK_H
#define GSRT_BACKENDS_QUANT_PACK_H

#include "backends/file_avx2.h"

enum { QUANT_GROUP_ROWS = 16, QUANT_SCALE_LINE = 64, QUANT_Q8_BLOCK = 512, QUANT_Q4_BLOCK = 256 };

static inline size_t quant_pair_bytes(gsrt_dtype dtype)
{
    return QUANT_SCALE_LINE + 2 * (size_t)(dtype == GSRT_DTYPE_Q8_0 ? QUANT_Q8_BLOCK : QUANT_Q4_BLOCK);
}

static inline size_t quant_group_bytes(const gsrt_matrix *matrix)
{
    return (matrix->k_count / 32 + 1) / 2 * quant_pair_bytes(matrix->dtype);
}

/* Group of rows [16 * group, ...) of the packed matrix. */
static inline const uint8_t *quant_group(const gsrt_linear_task *task, uint32_t group)
{
    return task->packed + group * quant_group_bytes(task->matrix);
}

/* Scales and lines of block `b` in a group. */
static inline const uint8_t *quant_scales(gsrt_dtype dtype, const uint8_t *group, uint32_t b)
{
    return group + b / 2 * quant_pair_bytes(dtype) + b % 2 * (QUANT_SCALE_LINE / 2);
}

static inline const uint8_t *quant_lines(gsrt_dtype dtype, const uint8_t *group, uint32_t b)
{
    size_t block = dtype == GSRT_DTYPE_Q8_0 ? QUANT_Q8_BLOCK : QUANT_Q4_BLOCK;
    return group + b / 2 * quant_pair_bytes(dtype) + QUANT_SCALE_LINE + b % 2 * block;
}

static inline size_t quant_packed_bytes(const gsrt_matrix *matrix)
{
    return (matrix->row_count + GSRT_PANEL_OUTPUTS - 1) / GSRT_PANEL_OUTPUTS * (GSRT_PANEL_OUTPUTS / QUANT_GROUP_ROWS) *
           quant_group_bytes(matrix);
}

/* Eight rows of one block into their half of the group's lines. */
static inline void quant_pack_block(gsrt_dtype dtype, const uint8_t *const rows[8], size_t offset, uint8_t flip,
                                    uint8_t *scales, uint8_t *lines)
{
    _mm_storeu_si128((__m128i *)(void *)scales, file_scales(rows, offset));
    if (dtype == GSRT_DTYPE_Q8_0) {
        __m256i columns[8], xor_with = _mm256_set1_epi8((char)flip);
        file_lines(GSRT_DTYPE_Q8_0, rows, offset, columns);
        for (int j = 0; j < 8; j++)
            _mm256_storeu_si256((__m256i *)(void *)(lines + j * 64), _mm256_xor_si256(columns[j], xor_with));
        return;
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 4; j++)
            memcpy(lines + j * 64 + i * 4, rows[i] + offset + 2 + j * 4, 4);
}

static inline void quant_pack_panels(const gsrt_matrix *matrix, uint8_t flip, uint8_t *to, uint32_t panel_first,
                                     uint32_t panel_end)
{
    gsrt_dtype dtype = matrix->dtype;
    uint32_t per_panel = GSRT_PANEL_OUTPUTS / QUANT_GROUP_ROWS, block_count = matrix->k_count / 32;
    for (uint32_t group = panel_first * per_panel; group < panel_end * per_panel; group++) {
        const uint8_t *rows[QUANT_GROUP_ROWS];
        file_rows(matrix, group * QUANT_GROUP_ROWS, QUANT_GROUP_ROWS, 0, rows);
        uint8_t *group_to = to + group * quant_group_bytes(matrix);
        if (block_count % 2 != 0) /* the room of the block that is not there */
            memset(group_to + block_count / 2 * quant_pair_bytes(dtype), 0, quant_pair_bytes(dtype));
        for (uint32_t b = 0; b < block_count; b++)
            for (uint32_t half = 0; half < 2; half++) {
                size_t at = (size_t)(quant_lines(dtype, group_to, b) - group_to) + half * 32;
                size_t scales_at = (size_t)(quant_scales(dtype, group_to, b) - group_to) + half * 16;
                quant_pack_block(dtype, rows + half * 8, b * gsrt_dtype_block_bytes(dtype), flip, group_to + scales_at,
                                 group_to + at);
            }
    }
}

#endif
