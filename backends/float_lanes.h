/* LINEAR for f32, f16, bf16 weights, written once for all widths of lanes (include a lanes_*.h first).
 *
 * Packed: panels of 32 outputs, per k the 32 weights side by side, so that one stream of whole cache lines passes and
 * lanes run over outputs.
 */
#ifndef GSRT_BACKENDS_FLOAT_LANES_H
#define GSRT_BACKENDS_FLOAT_LANES_H

#include "backends/file_avx2.h"
#include "backends/gemm.h"

enum {
    FLOAT_VECTORS = GSRT_PANEL_OUTPUTS / LANES, /* of a panel */
    FLOAT_ROWS_AT_ONCE = LANES == 8 ? 3 : 8,    /* activations that share a load of weights */
    FLOAT_FILE_ROWS_AT_ONCE = 4,                /* the same from the file's layout */
    FLOAT_TILE_TOKENS = LANES == 8 ? 3 : 12,    /* of the product of matrices: these by the panel's outputs */
    FLOAT_TILE_STEPS = LANES == 8 ? 4 : 1,      /* of K that are written out one after the other */
    FLOAT_PIECE_ELEMENTS = 128,                 /* of K: a panel's widened weights are 16 KiB */
    FLOAT_PREFETCH_BYTES = 4096,
};

static inline size_t float_panel_bytes(const gsrt_matrix *matrix)
{
    return (size_t)matrix->k_count * GSRT_PANEL_OUTPUTS * gsrt_dtype_block_bytes(matrix->dtype);
}

static inline const float *float_x(const gsrt_linear_task *task, uint32_t row)
{
    return (const float *)(const void *)((const uint8_t *)task->x + row * task->x_stride_bytes);
}

/* ---- a small batch, packed ---- */

static inline __attribute__((always_inline)) void float_chunk_rows(gsrt_dtype dtype, const int rows, const uint8_t *w,
                                                                   const float *const *x, uint32_t count, float *sums)
{
    const size_t bytes = dtype == GSRT_DTYPE_F32 ? 4 : 2;
    lanes acc[FLOAT_ROWS_AT_ONCE][FLOAT_VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < FLOAT_VECTORS; v++)
            acc[r][v] = lanes_set1(0.0f);
    for (uint32_t k = 0; k < count; k++, w += GSRT_PANEL_OUTPUTS * bytes) {
        _mm_prefetch((const char *)w + FLOAT_PREFETCH_BYTES, _MM_HINT_T0);
        if (dtype == GSRT_DTYPE_F32)
            _mm_prefetch((const char *)w + FLOAT_PREFETCH_BYTES + 64, _MM_HINT_T0);
        lanes value[FLOAT_ROWS_AT_ONCE];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            value[r] = lanes_set1(x[r][k]);
#pragma GCC unroll 8
        for (int v = 0; v < FLOAT_VECTORS; v++) {
            lanes weight = lanes_load_weights(dtype, w + (size_t)v * LANES * bytes);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++)
                acc[r][v] = lanes_fma(weight, value[r], acc[r][v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < FLOAT_VECTORS; v++)
            lanes_store(sums + r * GSRT_PANEL_OUTPUTS + v * LANES, acc[r][v]);
}

static inline __attribute__((always_inline)) void float_chunk(gsrt_dtype dtype, const gsrt_linear_task *task,
                                                              uint32_t panel, uint32_t k_first, uint32_t k_end,
                                                              uint32_t row_first, uint32_t row_count, float *sums)
{
    const uint8_t *w = task->packed + panel * float_panel_bytes(task->matrix) +
                       (size_t)k_first * GSRT_PANEL_OUTPUTS * gsrt_dtype_block_bytes(dtype);
    const float *x[FLOAT_ROWS_AT_ONCE];
    for (uint32_t r = 0; r < row_count; r++)
        x[r] = float_x(task, row_first + r) + k_first;
    uint32_t count = k_end - k_first;
    switch (row_count) {
    case 1: float_chunk_rows(dtype, 1, w, x, count, sums); break;
    case 2: float_chunk_rows(dtype, 2, w, x, count, sums); break;
    case 3: float_chunk_rows(dtype, 3, w, x, count, sums); break;
#if GSRT_LANES_ARE_WIDE
    case 4: float_chunk_rows(dtype, 4, w, x, count, sums); break;
    case 5: float_chunk_rows(dtype, 5, w, x, count, sums); break;
    case 6: float_chunk_rows(dtype, 6, w, x, count, sums); break;
    case 7: float_chunk_rows(dtype, 7, w, x, count, sums); break;
    case 8: float_chunk_rows(dtype, 8, w, x, count, sums); break;
#endif
    default: break;
    }
}

/* ---- a small batch, from the file's layout: always 256-bit, transposed in registers ---- */

static inline __attribute__((always_inline)) void float_file_rows(gsrt_dtype dtype, const int rows,
                                                                  const uint8_t *const *w, size_t ahead,
                                                                  const float *const *x, uint32_t count, float *sums)
{
    enum { GROUPS = GSRT_PANEL_OUTPUTS / 8 };
    __m256 acc[FLOAT_FILE_ROWS_AT_ONCE][GROUPS], columns[8];
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < GROUPS; g++)
            acc[r][g] = _mm256_setzero_ps();
    /* a cache line of each of eight rows at a time: rows lie powers of two apart, and more would evict each other */
    const uint32_t step = dtype == GSRT_DTYPE_F32 ? 16 : 32;
    uint32_t k = 0;
    for (uint32_t k_next; k + 8 <= count; k = k_next) {
        uint32_t left = (count - k) / 8 * 8;
        k_next = k + (left < step ? left : step);
        for (int g = 0; g < GROUPS; g++) {
            for (uint32_t at = k; at < k_next; at += 8) {
                file_columns(dtype, w + (size_t)g * 8, at, columns);
#pragma GCC unroll 8
                for (int i = 0; i < 8; i++)
#pragma GCC unroll 4
                    for (int r = 0; r < rows; r++)
                        acc[r][g] = _mm256_fmadd_ps(columns[i], _mm256_set1_ps(x[r][at + (uint32_t)i]), acc[r][g]);
            }
            for (int i = 0; i < 8; i++)
                _mm_prefetch((const char *)w[g * 8 + i] + (size_t)k * (dtype == GSRT_DTYPE_F32 ? 4 : 2) + ahead,
                             _MM_HINT_T1);
        }
    }
    for (int g = 0; g < GROUPS && k < count; g++) {
        file_columns_tail(dtype, w + (size_t)g * 8, k, count - k, columns);
        for (uint32_t i = 0; i < count - k; i++)
            for (int r = 0; r < rows; r++)
                acc[r][g] = _mm256_fmadd_ps(columns[i], _mm256_set1_ps(x[r][k + i]), acc[r][g]);
    }
    for (int r = 0; r < rows; r++)
        for (int g = 0; g < GROUPS; g++)
            _mm256_storeu_ps(sums + r * GSRT_PANEL_OUTPUTS + g * 8, acc[r][g]);
}

static inline __attribute__((always_inline)) void float_file_chunk(gsrt_dtype dtype, const gsrt_linear_task *task,
                                                                   uint32_t panel, uint32_t k_first, uint32_t k_end,
                                                                   uint32_t row_first, uint32_t row_count, float *sums)
{
    const uint8_t *w[GSRT_PANEL_OUTPUTS];
    file_rows(task->matrix, panel * GSRT_PANEL_OUTPUTS, GSRT_PANEL_OUTPUTS, k_first, w);
    size_t ahead = GSRT_PANEL_OUTPUTS * task->matrix->row_stride_bytes; /* the same place in the next panel */
    const float *x[FLOAT_FILE_ROWS_AT_ONCE];
    for (uint32_t r = 0; r < row_count; r++)
        x[r] = float_x(task, row_first + r) + k_first;
    uint32_t count = k_end - k_first;
    switch (row_count) {
    case 1: float_file_rows(dtype, 1, w, ahead, x, count, sums); break;
    case 2: float_file_rows(dtype, 2, w, ahead, x, count, sums); break;
    case 3: float_file_rows(dtype, 3, w, ahead, x, count, sums); break;
    case 4: float_file_rows(dtype, 4, w, ahead, x, count, sums); break;
    default: break;
    }
}

/* Both for each type, so that the type is a constant in the inner loops. */
#define FLOAT_CHUNK_FN(name, source, dtype)                                                                            \
    static void name(const gsrt_linear_task *task, uint32_t panel, uint32_t k_first, uint32_t k_end,                   \
                     uint32_t row_first, uint32_t row_count, float *sums)                                              \
    {                                                                                                                  \
        source(dtype, task, panel, k_first, k_end, row_first, row_count, sums);                                        \
    }
FLOAT_CHUNK_FN(float_chunk_f32, float_chunk, GSRT_DTYPE_F32)
FLOAT_CHUNK_FN(float_chunk_f16, float_chunk, GSRT_DTYPE_F16)
FLOAT_CHUNK_FN(float_chunk_bf16, float_chunk, GSRT_DTYPE_BF16)
FLOAT_CHUNK_FN(float_file_chunk_f32, float_file_chunk, GSRT_DTYPE_F32)
FLOAT_CHUNK_FN(float_file_chunk_f16, float_file_chunk, GSRT_DTYPE_F16)
FLOAT_CHUNK_FN(float_file_chunk_bf16, float_file_chunk, GSRT_DTYPE_BF16)
#undef FLOAT_CHUNK_FN

static inline walk_chunk_fn *float_chunk_fn(gsrt_dtype dtype, bool is_packed)
{
    if (dtype == GSRT_DTYPE_F32)
        return is_packed ? float_chunk_f32 : float_file_chunk_f32;
    if (dtype == GSRT_DTYPE_F16)
        return is_packed ? float_chunk_f16 : float_file_chunk_f16;
    return is_packed ? float_chunk_bf16 : float_file_chunk_bf16;
}

/* ---- many rows ---- */

static void float_widen_file(const gsrt_linear_task *task, uint32_t out_first, uint32_t k_first, uint32_t k_count,
                             float *to)
{
    gsrt_dtype dtype = task->matrix->dtype;
    const uint8_t *rows[GSRT_PANEL_OUTPUTS];
    file_rows(task->matrix, out_first, GSRT_PANEL_OUTPUTS, k_first, rows);
    for (int g = 0; g < GSRT_PANEL_OUTPUTS / 8; g++) {
        __m256 columns[8];
        for (uint32_t k = 0; k < k_count; k += 8) {
            uint32_t count = k_count - k < 8 ? k_count - k : 8;
            if (count < 8)
                file_columns_tail(dtype, rows + g * 8, k, count, columns);
            else if (dtype == GSRT_DTYPE_F32)
                file_columns(GSRT_DTYPE_F32, rows + g * 8, k, columns);
            else if (dtype == GSRT_DTYPE_F16)
                file_columns(GSRT_DTYPE_F16, rows + g * 8, k, columns);
            else
                file_columns(GSRT_DTYPE_BF16, rows + g * 8, k, columns);
            for (uint32_t i = 0; i < count; i++)
                _mm256_storeu_ps(to + (size_t)(k + i) * GSRT_PANEL_OUTPUTS + g * 8, columns[i]);
        }
    }
}

static inline __attribute__((always_inline)) void float_widen_packed(gsrt_dtype dtype, const uint8_t *w,
                                                                     uint32_t k_count, float *to)
{
    const size_t bytes = dtype == GSRT_DTYPE_F32 ? 4 : 2;
    for (size_t i = 0; i < (size_t)k_count * GSRT_PANEL_OUTPUTS; i += LANES)
        lanes_store(to + i, lanes_load_weights(dtype, w + i * bytes));
}

static void float_widen(const gsrt_linear_task *task, uint32_t out_first, uint32_t k_first, uint32_t k_count,
                        uint8_t *to)
{
    float *floats = (float *)(void *)to;
    if (task->packed == NULL) {
        float_widen_file(task, out_first, k_first, k_count, floats);
        return;
    }
    const uint8_t *w = task->packed + out_first / GSRT_PANEL_OUTPUTS * float_panel_bytes(task->matrix) +
                       (size_t)k_first * GSRT_PANEL_OUTPUTS * gsrt_dtype_block_bytes(task->matrix->dtype);
    if (task->matrix->dtype == GSRT_DTYPE_F32)
        float_widen_packed(GSRT_DTYPE_F32, w, k_count, floats);
    else if (task->matrix->dtype == GSRT_DTYPE_F16)
        float_widen_packed(GSRT_DTYPE_F16, w, k_count, floats);
    else
        float_widen_packed(GSRT_DTYPE_BF16, w, k_count, floats);
}

/* One k. The shorter side is held in registers while the other passes: so that both fit beside the sums, and with the
 * fewest instructions for each multiply-add, because two threads of a core share what it can decode and issue. */
static inline __attribute__((always_inline)) void float_step(const float *w, const float *x,
                                                             lanes acc[FLOAT_TILE_TOKENS][FLOAT_VECTORS])
{
    enum { T = FLOAT_TILE_TOKENS, V = FLOAT_VECTORS, HELD = T < V ? T : V };
    lanes held[HELD];
#pragma GCC unroll 16
    for (int i = 0; i < HELD; i++)
        held[i] = T < V ? lanes_set1(x[i]) : lanes_load(w + i * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < (T < V ? V : T); i++) {
        lanes passing = T < V ? lanes_load(w + i * LANES) : lanes_set1(x[i]);
#pragma GCC unroll 16
        for (int j = 0; j < HELD; j++) {
            lanes *sum = T < V ? &acc[j][i] : &acc[i][j];
            *sum = lanes_fma(held[j], passing, *sum);
        }
    }
}

static void float_tile(const uint8_t *w_bytes, const uint8_t *x_bytes, uint32_t count, const gemm_sums *sums)
{
    enum { T = FLOAT_TILE_TOKENS, V = FLOAT_VECTORS };
    const float *w = (const float *)(const void *)w_bytes, *x = (const float *)(const void *)x_bytes;
    lanes acc[T][V];
#pragma GCC unroll 16
    for (int t = 0; t < T; t++)
#pragma GCC unroll 16
        for (int v = 0; v < V; v++)
            acc[t][v] = sums->is_first ? lanes_set1(0.0f) : lanes_load(sums->at + (t * V + v) * LANES);
#pragma GCC unroll FLOAT_TILE_STEPS
    for (uint32_t k = 0; k < count; k++, w += GSRT_PANEL_OUTPUTS, x += T)
        float_step(w, x, acc);
    float *to = sums->at;
    for (uint32_t i = 0; i < sums->merge_count; i++) {
        to -= sums->level_floats;
#pragma GCC unroll 16
        for (int t = 0; t < T; t++)
#pragma GCC unroll 16
            for (int v = 0; v < V; v++)
                acc[t][v] = lanes_add(lanes_load(to + (t * V + v) * LANES), acc[t][v]);
    }
#pragma GCC unroll 16
    for (int t = 0; t < T; t++)
#pragma GCC unroll 16
        for (int v = 0; v < V; v++)
            lanes_store(to + (t * V + v) * LANES, acc[t][v]);
}

static const gemm_ops float_gemm = {
    .tile_tokens = FLOAT_TILE_TOKENS,
    .tile_outputs = GSRT_PANEL_OUTPUTS,
    .piece_elements = FLOAT_PIECE_ELEMENTS,
    .unit = 1,
    .w_unit_bytes = GSRT_PANEL_OUTPUTS * sizeof(float),
    .x_unit_bytes = FLOAT_TILE_TOKENS * sizeof(float),
    .widen = float_widen,
    .tile = float_tile,
};

/* Below, widening or transposing for all costs more than it saves. */
static bool float_is_gemm(const gsrt_linear_task *task)
{
    return task->row_count > (task->packed == NULL ? 8 : WALK_ROWS_MAX);
}

static size_t float_prepared_bytes(const gsrt_linear_task *task)
{
    return float_is_gemm(task) ? gemm_prepared_bytes(&float_gemm, task) : 0;
}

static size_t float_scratch_bytes(const gsrt_linear_task *task)
{
    return float_is_gemm(task) ? gemm_scratch_bytes(&float_gemm, task) : 0;
}

static void float_prepare(const gsrt_linear_task *task, uint32_t row_first, uint32_t row_end)
{
    enum { T = FLOAT_TILE_TOKENS };
    for (uint32_t row = row_first; row < row_end; row++)
        for (uint32_t k = 0, k_end; k < task->matrix->k_count; k = k_end) {
            k_end = gemm_piece_end(&float_gemm, task, k);
            const float *x = float_x(task, row) + k;
            float *to = (float *)(void *)gemm_prepared(&float_gemm, task, k, k_end, row / T) + row % T;
            for (uint32_t i = 0; i < k_end - k; i++)
                to[(size_t)i * T] = x[i];
            if (row + 1 < task->row_count)
                continue;
            for (uint32_t pad = 1; row % T + pad < T; pad++) /* tokens of the last tile that do not exist */
                for (uint32_t i = 0; i < k_end - k; i++)
                    to[(size_t)i * T + pad] = 0.0f;
        }
}

static void float_linear(const gsrt_linear_task *task, uint32_t out_first, uint32_t out_end, uint8_t *scratch)
{
    if (float_is_gemm(task)) {
        gemm_run(&float_gemm, task, out_first, out_end, scratch);
        return;
    }
    walk_chunk_fn *chunk_fn = float_chunk_fn(task->matrix->dtype, task->packed != NULL);
    for (uint32_t panel = out_first / GSRT_PANEL_OUTPUTS; panel * GSRT_PANEL_OUTPUTS < out_end; panel++)
        walk_panel(task, panel, task->packed != NULL ? FLOAT_ROWS_AT_ONCE : FLOAT_FILE_ROWS_AT_ONCE, chunk_fn);
}

/* ---- packing ---- */

static size_t float_packed_bytes(const gsrt_matrix *matrix)
{
    return (matrix->row_count + GSRT_PANEL_OUTPUTS - 1) / GSRT_PANEL_OUTPUTS * float_panel_bytes(matrix);
}

/* Eight rows by eight elements of 16 bits, in place. */
static inline __attribute__((always_inline)) void transpose_8x8_u16(__m128i r[8])
{
    __m128i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        b[4 * i] = _mm_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        r[2 * i] = _mm_unpacklo_epi64(b[i], b[i + 4]);
        r[2 * i + 1] = _mm_unpackhi_epi64(b[i], b[i + 4]);
    }
}

static void float_pack_u16(const gsrt_matrix *matrix, uint32_t out_first, uint8_t *to)
{
    const uint8_t *rows[GSRT_PANEL_OUTPUTS];
    file_rows(matrix, out_first, GSRT_PANEL_OUTPUTS, 0, rows);
    for (uint32_t k = 0; k < matrix->k_count; k += 8)
        for (uint32_t g = 0; g < GSRT_PANEL_OUTPUTS / 8; g++) {
            uint32_t count = matrix->k_count - k < 8 ? matrix->k_count - k : 8;
            __m128i r[8];
            for (uint32_t i = 0; i < 8; i++) {
                uint8_t bytes[16] = {0};
                const uint8_t *from = rows[g * 8 + i] + (size_t)k * 2;
                if (count < 8)
                    from = memcpy(bytes, from, count * 2);
                r[i] = _mm_loadu_si128((const __m128i *)(const void *)from);
            }
            transpose_8x8_u16(r);
            for (uint32_t i = 0; i < count; i++)
                _mm_storeu_si128((__m128i *)(void *)(to + (((size_t)k + i) * GSRT_PANEL_OUTPUTS + g * 8) * 2), r[i]);
        }
}

static void float_pack_f32(const gsrt_matrix *matrix, uint32_t out_first, uint8_t *to)
{
    const uint8_t *rows[GSRT_PANEL_OUTPUTS];
    file_rows(matrix, out_first, GSRT_PANEL_OUTPUTS, 0, rows);
    for (uint32_t k = 0; k < matrix->k_count; k += 8)
        for (uint32_t g = 0; g < GSRT_PANEL_OUTPUTS / 8; g++) {
            __m256 columns[8];
            uint32_t count = matrix->k_count - k < 8 ? matrix->k_count - k : 8;
            if (count < 8)
                file_columns_tail(GSRT_DTYPE_F32, rows + g * 8, k, count, columns);
            else
                file_columns(GSRT_DTYPE_F32, rows + g * 8, k, columns);
            for (uint32_t i = 0; i < count; i++)
                _mm256_storeu_ps((float *)(void *)to + ((size_t)k + i) * GSRT_PANEL_OUTPUTS + g * 8, columns[i]);
        }
}

/* Outputs past the last one repeat it: they are computed and thrown away. */
static void float_pack(const gsrt_matrix *matrix, uint8_t *to, uint32_t panel_first, uint32_t panel_end)
{
    for (uint32_t panel = panel_first; panel < panel_end; panel++) {
        uint8_t *panel_to = to + panel * float_panel_bytes(matrix);
        if (matrix->dtype == GSRT_DTYPE_F32)
            float_pack_f32(matrix, panel * GSRT_PANEL_OUTPUTS, panel_to);
        else
            float_pack_u16(matrix, panel * GSRT_PANEL_OUTPUTS, panel_to);
    }
}

#endif
