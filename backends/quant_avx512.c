/* LINEAR for q8_0 and q4_0 weights with AVX-512 and VNNI.
 *
 * dpbusd adds four products of an unsigned and a signed byte to a 32-bit lane, exactly: the weights are stored as
 * weight + 128 (q8_0) or are nibbles, weight + 8 (q4_0), and the sum starts at -128 or -8 times the sum of the block's
 * activations.
 */
#include "backends/gemm.h"
#include "backends/kernels_avx512.h"
#include "backends/quant_file_avx2.h"
#include "backends/quant_pack.h"

enum { ROWS_AT_ONCE = 8, TILE_TOKENS = 6, TILE_OUTPUTS = 32, PREFETCH_BYTES = 9216, FLIP = 0x80 };

static inline __attribute__((always_inline)) __m512i load_line(const uint8_t *from)
{
    return _mm512_loadu_si512((const void *)from);
}

/* Four int8 of the activations in every lane. */
static inline __attribute__((always_inline)) __m512i broadcast_quad(const int8_t *q)
{
    int32_t quad;
    memcpy(&quad, q, sizeof quad);
    return _mm512_set1_epi32(quad);
}

/* What an integer sum starts at. */
static inline int32_t sum_offset(gsrt_dtype dtype, const gsrt_q8_block *x)
{
    return (dtype == GSRT_DTYPE_Q8_0 ? -128 : -8) * quant_block_sum(x);
}

/* ---- small batch, packed ---- */

static inline __attribute__((always_inline)) void group_rows(gsrt_dtype dtype, const int rows, const uint8_t *group,
                                                             const gsrt_q8_block *const *x,
                                                             const int32_t *const *offsets, uint32_t b_first,
                                                             uint32_t b_end, float *sums)
{
    const __m512i mask = _mm512_set1_epi8(15);
    __m512 acc[ROWS_AT_ONCE];
    for (int r = 0; r < rows; r++)
        acc[r] = _mm512_setzero_ps();
    for (uint32_t b = b_first; b < b_end; b++) {
        const uint8_t *lines = quant_lines(dtype, group, b);
        __m512i isum[ROWS_AT_ONCE];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            isum[r] = _mm512_set1_epi32(offsets[r][b]);
        if (dtype == GSRT_DTYPE_Q8_0) {
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++) {
                __m512i w = load_line(lines + j * 64);
                _mm_prefetch((const char *)lines + j * 64 + PREFETCH_BYTES, _MM_HINT_NTA);
#pragma GCC unroll 8
                for (int r = 0; r < rows; r++)
                    isum[r] = _mm512_dpbusd_epi32(isum[r], w, broadcast_quad(x[r][b].q + 4 * j));
            }
        } else {
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                __m512i w = load_line(lines + j * 64);
                __m512i low = _mm512_and_si512(w, mask), high = _mm512_and_si512(_mm512_srli_epi16(w, 4), mask);
                _mm_prefetch((const char *)lines + j * 64 + PREFETCH_BYTES, _MM_HINT_NTA);
#pragma GCC unroll 8
                for (int r = 0; r < rows; r++) {
                    isum[r] = _mm512_dpbusd_epi32(isum[r], low, broadcast_quad(x[r][b].q + 4 * j));
                    isum[r] = _mm512_dpbusd_epi32(isum[r], high, broadcast_quad(x[r][b].q + 16 + 4 * j));
                }
            }
        }
        const uint8_t *scales_at = quant_scales(dtype, group, b);
        __m512 scales = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)scales_at));
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            __m512 scale = _mm512_mul_ps(scales, _mm512_set1_ps(x[r][b].scale));
            acc[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(isum[r]), scale, acc[r]);
        }
    }
    for (int r = 0; r < rows; r++)
        _mm512_storeu_ps(sums + r * GSRT_PANEL_OUTPUTS, acc[r]);
}

static inline __attribute__((always_inline)) void chunk_of(gsrt_dtype dtype, const gsrt_linear_task *task,
                                                           uint32_t panel, uint32_t k_first, uint32_t k_end,
                                                           uint32_t row_first, uint32_t row_count, float *sums)
{
    const gsrt_q8_block *x[ROWS_AT_ONCE];
    const int32_t *offsets[ROWS_AT_ONCE];
    uint32_t b_first = k_first / 32, b_end = k_end / 32;
    for (uint32_t r = 0; r < row_count; r++) {
        x[r] = quant_x(task, row_first + r);
        offsets[r] = (const int32_t *)(const void *)task->prepared + (row_first + r) * (task->matrix->k_count / 32);
    }
    for (uint32_t half = 0; half < 2; half++, sums += QUANT_GROUP_ROWS) {
        const uint8_t *group = quant_group(task, panel * 2 + half);
        switch (row_count) {
        case 1: group_rows(dtype, 1, group, x, offsets, b_first, b_end, sums); break;
        case 2: group_rows(dtype, 2, group, x, offsets, b_first, b_end, sums); break;
        case 3: group_rows(dtype, 3, group, x, offsets, b_first, b_end, sums); break;
        case 4: group_rows(dtype, 4, group, x, offsets, b_first, b_end, sums); break;
        case 5: group_rows(dtype, 5, group, x, offsets, b_first, b_end, sums); break;
        case 6: group_rows(dtype, 6, group, x, offsets, b_first, b_end, sums); break;
        case 7: group_rows(dtype, 7, group, x, offsets, b_first, b_end, sums); break;
        case 8: group_rows(dtype, 8, group, x, offsets, b_first, b_end, sums); break;
        default: break;
        }
    }
}

static void chunk_q8(const gsrt_linear_task *task, uint32_t panel, uint32_t k_first, uint32_t k_end, uint32_t row_first,
                     uint32_t row_count, float *sums)
{
    chunk_of(GSRT_DTYPE_Q8_0, task, panel, k_first, k_end, row_first, row_count, sums);
}

static void chunk_q4(const gsrt_linear_task *task, uint32_t panel, uint32_t k_first, uint32_t k_end, uint32_t row_first,
                     uint32_t row_count, float *sums)
{
    chunk_of(GSRT_DTYPE_Q4_0, task, panel, k_first, k_end, row_first, row_count, sums);
}

/* ---- many rows ---- */

/* A block of 32 outputs: unsigned bytes, four neighbouring elements side by side. */
typedef struct w_block {
    uint8_t quads[8][TILE_OUTPUTS][4];
    float scales[TILE_OUTPUTS];
} w_block;

/* A block of a tile of tokens. */
typedef struct x_block {
    int8_t quads[8][TILE_TOKENS][4];
    float scales[TILE_TOKENS];
    int32_t offsets[TILE_TOKENS];
} x_block;

/* Eight rows from the file. */
static inline __attribute__((always_inline)) void widen_file(gsrt_dtype dtype, const uint8_t *const rows[8],
                                                             size_t offset, uint32_t first, w_block *to)
{
    __m256i lines[8], shift = _mm256_set1_epi8(dtype == GSRT_DTYPE_Q8_0 ? -128 : 8);
    file_lines(dtype, rows, offset, lines);
    for (int j = 0; j < 8; j++)
        _mm256_storeu_si256((__m256i *)(void *)to->quads[j][first], _mm256_add_epi8(lines[j], shift));
    _mm256_storeu_ps(to->scales + first, _mm256_cvtph_ps(file_scales(rows, offset)));
}

/* A group of 16 rows, packed. */
static inline __attribute__((always_inline)) void widen_packed(gsrt_dtype dtype, const uint8_t *group, uint32_t b,
                                                               uint32_t first, w_block *to)
{
    const uint8_t *lines = quant_lines(dtype, group, b);
    const __m512i mask = _mm512_set1_epi8(15);
    for (int j = 0; j < (dtype == GSRT_DTYPE_Q8_0 ? 8 : 4); j++) {
        __m512i line = load_line(lines + j * 64);
        if (dtype == GSRT_DTYPE_Q8_0) {
            _mm512_storeu_si512((void *)to->quads[j][first], line);
            continue;
        }
        _mm512_storeu_si512((void *)to->quads[j][first], _mm512_and_si512(line, mask));
        _mm512_storeu_si512((void *)to->quads[j + 4][first], _mm512_and_si512(_mm512_srli_epi16(line, 4), mask));
    }
    const uint8_t *scales = quant_scales(dtype, group, b);
    _mm512_storeu_ps(to->scales + first, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)scales)));
}

static inline __attribute__((always_inline)) void widen_of(gsrt_dtype dtype, const gsrt_linear_task *task,
                                                           uint32_t out_first, uint32_t b_first, uint32_t count,
                                                           w_block *to)
{
    if (task->packed == NULL) {
        const uint8_t *rows[TILE_OUTPUTS];
        file_rows(task->matrix, out_first, TILE_OUTPUTS, b_first * 32, rows);
        for (uint32_t b = 0; b < count; b++)
            for (uint32_t first = 0; first < TILE_OUTPUTS; first += 8)
                widen_file(dtype, rows + first, b * (dtype == GSRT_DTYPE_Q8_0 ? 34u : 18u), first, &to[b]);
        return;
    }
    for (uint32_t half = 0; half < 2; half++) {
        const uint8_t *group = quant_group(task, out_first / QUANT_GROUP_ROWS + half);
        for (uint32_t b = 0; b < count; b++)
            widen_packed(dtype, group, b_first + b, half * QUANT_GROUP_ROWS, &to[b]);
    }
}

static void widen(const gsrt_linear_task *task, uint32_t out_first, uint32_t k_first, uint32_t k_count, uint8_t *to)
{
    w_block *blocks = (w_block *)(void *)to;
    if (task->matrix->dtype == GSRT_DTYPE_Q8_0)
        widen_of(GSRT_DTYPE_Q8_0, task, out_first, k_first / 32, k_count / 32, blocks);
    else
        widen_of(GSRT_DTYPE_Q4_0, task, out_first, k_first / 32, k_count / 32, blocks);
}

static void tile(const uint8_t *w_bytes, const uint8_t *x_bytes, uint32_t count, const gemm_sums *sums)
{
    enum { T = TILE_TOKENS };
    const w_block *w = (const w_block *)(const void *)w_bytes;
    const x_block *x = (const x_block *)(const void *)x_bytes;
    __m512 acc[T][2];
#pragma GCC unroll 8
    for (int t = 0; t < T; t++) {
        acc[t][0] = sums->is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(sums->at + t * TILE_OUTPUTS);
        acc[t][1] = sums->is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(sums->at + t * TILE_OUTPUTS + 16);
    }
    for (uint32_t b = 0; b < count; b++, w++, x++) {
        __m512i isum[T][2];
#pragma GCC unroll 8
        for (int t = 0; t < T; t++)
            isum[t][0] = isum[t][1] = _mm512_set1_epi32(x->offsets[t]);
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            __m512i w0 = load_line((const uint8_t *)w->quads[j]), w1 = load_line((const uint8_t *)w->quads[j] + 64);
#pragma GCC unroll 8
            for (int t = 0; t < T; t++) {
                __m512i value = broadcast_quad(x->quads[j][t]);
                isum[t][0] = _mm512_dpbusd_epi32(isum[t][0], w0, value);
                isum[t][1] = _mm512_dpbusd_epi32(isum[t][1], w1, value);
            }
        }
        __m512 s0 = _mm512_loadu_ps(w->scales), s1 = _mm512_loadu_ps(w->scales + 16);
#pragma GCC unroll 8
        for (int t = 0; t < T; t++) {
            __m512 scale = _mm512_set1_ps(x->scales[t]);
            acc[t][0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(isum[t][0]), _mm512_mul_ps(s0, scale), acc[t][0]);
            acc[t][1] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(isum[t][1]), _mm512_mul_ps(s1, scale), acc[t][1]);
        }
    }
    float *to = sums->at;
    for (uint32_t i = 0; i < sums->merge_count; i++) {
        to -= sums->level_floats;
#pragma GCC unroll 8
        for (int t = 0; t < T; t++) {
            acc[t][0] = _mm512_add_ps(_mm512_loadu_ps(to + t * TILE_OUTPUTS), acc[t][0]);
            acc[t][1] = _mm512_add_ps(_mm512_loadu_ps(to + t * TILE_OUTPUTS + 16), acc[t][1]);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; t++) {
        _mm512_storeu_ps(to + t * TILE_OUTPUTS, acc[t][0]);
        _mm512_storeu_ps(to + t * TILE_OUTPUTS + 16, acc[t][1]);
    }
}

static const gemm_ops products = {
    .tile_tokens = TILE_TOKENS,
    .tile_outputs = TILE_OUTPUTS,
    .piece_elements = 256,
    .unit = 32,
    .w_unit_bytes = sizeof(w_block),
    .x_unit_bytes = sizeof(x_block),
    .widen = widen,
    .tile = tile,
};

/* Up to WALK_ROWS_MAX rows the small-batch kernels are as fast, and need no widening. */
static bool is_gemm(const gsrt_linear_task *task)
{
    return task->row_count > WALK_ROWS_MAX;
}

/* A small batch needs the starts of the integer sums, where the weights are packed. */
static size_t prepared_bytes(const gsrt_linear_task *task)
{
    if (is_gemm(task))
        return gemm_prepared_bytes(&products, task);
    return task->packed == NULL ? 0 : task->row_count * (size_t)(task->matrix->k_count / 32) * sizeof(int32_t);
}

static size_t scratch_bytes(const gsrt_linear_task *task)
{
    return is_gemm(task) ? gemm_scratch_bytes(&products, task) : 0;
}

static void prepare_offsets(const gsrt_linear_task *task, uint32_t row_first, uint32_t row_end)
{
    uint32_t block_count = task->matrix->k_count / 32;
    int32_t *offsets = (int32_t *)(void *)task->prepared;
    for (uint32_t row = row_first; row < row_end; row++)
        for (uint32_t b = 0; b < block_count; b++)
            offsets[(size_t)row * block_count + b] = sum_offset(task->matrix->dtype, &quant_x(task, row)[b]);
}

/* Blocks [b_first, b_end), a piece, of one row; with the last row also the tokens of its tile that do not exist. */
static void prepare_piece(const gsrt_linear_task *task, uint32_t row, uint32_t b_first, uint32_t b_end)
{
    const gsrt_q8_block *x = quant_x(task, row) + b_first;
    x_block *to = (x_block *)(void *)gemm_prepared(&products, task, b_first * 32, b_end * 32, row / TILE_TOKENS);
    uint32_t t = row % TILE_TOKENS;
    for (uint32_t b = 0; b < b_end - b_first; b++) {
        for (int j = 0; j < 8; j++)
            memcpy(to[b].quads[j][t], x[b].q + 4 * j, 4);
        to[b].scales[t] = x[b].scale;
        to[b].offsets[t] = sum_offset(task->matrix->dtype, &x[b]);
        for (uint32_t pad = t + 1; pad < TILE_TOKENS && row + 1 == task->row_count; pad++) {
            for (int j = 0; j < 8; j++)
                memset(to[b].quads[j][pad], 0, 4);
            to[b].scales[pad] = 0.0f;
            to[b].offsets[pad] = 0;
        }
    }
}

static void prepare(const gsrt_linear_task *task, uint32_t row_first, uint32_t row_end)
{
    if (!is_gemm(task)) {
        prepare_offsets(task, row_first, row_end);
        return;
    }
    for (uint32_t k = 0, k_end; k < task->matrix->k_count; k = k_end) {
        k_end = gemm_piece_end(&products, task, k);
        for (uint32_t row = row_first; row < row_end; row++)
            prepare_piece(task, row, k / 32, k_end / 32);
    }
}

static void linear(const gsrt_linear_task *task, uint32_t out_first, uint32_t out_end, uint8_t *scratch)
{
    if (is_gemm(task)) {
        gemm_run(&products, task, out_first, out_end, scratch);
        return;
    }
    uint32_t panel_end = (out_end + GSRT_PANEL_OUTPUTS - 1) / GSRT_PANEL_OUTPUTS;
    for (uint32_t panel = out_first / GSRT_PANEL_OUTPUTS; panel < panel_end; panel++) {
        if (task->packed == NULL)
            walk_panel(task, panel, QUANT_FILE_ROWS_AT_ONCE, quant_file_chunk_fn(task->matrix->dtype));
        else
            walk_panel(task, panel, ROWS_AT_ONCE, task->matrix->dtype == GSRT_DTYPE_Q8_0 ? chunk_q8 : chunk_q4);
    }
}

static void pack(const gsrt_matrix *matrix, uint8_t *to, uint32_t panel_first, uint32_t panel_end)
{
    quant_pack_panels(matrix, FLIP, to, panel_first, panel_end);
}

const gsrt_linear_ops gsrt__quant_avx512 = {
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .scratch_bytes = scratch_bytes,
    .linear = linear,
    .packed_bytes = quant_packed_bytes,
    .pack = pack,
};
