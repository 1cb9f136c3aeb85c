/* LINEAR for q8_0 and q4_0 weights with AVX2.
 *
 * Small batch, packed: lanes are rows of weights; a 32-bit lane takes four neighbouring products (maddubs of |w| and x
 * with w's sign: at most 2 * 128 * 127, so nothing saturates). q4_0 nibbles are unsigned, and a block's eight pair sums
 * stay below 2^15, so they are added in 16 bits; 8 * sum(x) is taken off afterwards.
 *
 * Many rows: weights and activations as pairs of int16, madd_epi16: exact, and two additions per instruction.
 */
#include "backends/gemm.h"
#include "backends/kernels_avx2.h"
#include "backends/quant_file_avx2.h"
#include "backends/quant_pack.h"

enum { ROWS_AT_ONCE = 4, TILE_TOKENS = 6, TILE_OUTPUTS = 16, PREFETCH_BYTES = 8192 };

/* sum += madd_epi16(w, value). As one statement, because GCC otherwise does all multiplications of an unrolled loop
 * first and spills the sums. */
#define ADD_PRODUCTS(sum, w, value)                                                                                    \
    do {                                                                                                               \
        __m256i product;                                                                                               \
        __asm__("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(w), "x"(value));          \
    } while (0)

static inline __attribute__((always_inline)) __m256i load_256(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

/* Four int8 of the activations in every lane. */
static inline __attribute__((always_inline)) __m256i broadcast_quad(const int8_t *q)
{
    int32_t quad;
    memcpy(&quad, q, sizeof quad);
    return _mm256_set1_epi32(quad);
}

/* ---- small batch, packed ---- */

/* The integer sums of one block for 16 rows: isum[row of x][half]. */
static inline __attribute__((always_inline)) void
block_q8(const int rows, const uint8_t *lines, const gsrt_q8_block *const *x, uint32_t b, __m256i isum[ROWS_AT_ONCE][2])
{
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        __m256i w0 = load_256(lines + j * 64), w1 = load_256(lines + j * 64 + 32);
        __m256i a0 = _mm256_abs_epi8(w0), a1 = _mm256_abs_epi8(w1);
        _mm_prefetch((const char *)lines + j * 64 + PREFETCH_BYTES, _MM_HINT_NTA);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            __m256i value = broadcast_quad(x[r][b].q + 4 * j);
            isum[r][0] = _mm256_add_epi32(isum[r][0], quant_dot4(a0, w0, value));
            isum[r][1] = _mm256_add_epi32(isum[r][1], quant_dot4(a1, w1, value));
        }
    }
}

/* offsets[r][b]: 8 times the sum of block b of row r. */
static inline __attribute__((always_inline)) void block_q4(const int rows, const uint8_t *lines,
                                                           const gsrt_q8_block *const *x, const int32_t *const *offsets,
                                                           uint32_t b, __m256i isum[ROWS_AT_ONCE][2])
{
    __m256i pairs[ROWS_AT_ONCE][2], mask = _mm256_set1_epi8(15);
    for (int r = 0; r < rows; r++)
        pairs[r][0] = pairs[r][1] = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        __m256i n0 = load_256(lines + j * 64), n1 = load_256(lines + j * 64 + 32);
        __m256i low0 = _mm256_and_si256(n0, mask), low1 = _mm256_and_si256(n1, mask);
        __m256i high0 = _mm256_and_si256(_mm256_srli_epi16(n0, 4), mask);
        __m256i high1 = _mm256_and_si256(_mm256_srli_epi16(n1, 4), mask);
        _mm_prefetch((const char *)lines + j * 64 + PREFETCH_BYTES, _MM_HINT_NTA);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            __m256i low = broadcast_quad(x[r][b].q + 4 * j), high = broadcast_quad(x[r][b].q + 16 + 4 * j);
            pairs[r][0] = _mm256_add_epi16(pairs[r][0], _mm256_maddubs_epi16(low0, low));
            pairs[r][1] = _mm256_add_epi16(pairs[r][1], _mm256_maddubs_epi16(low1, low));
            pairs[r][0] = _mm256_add_epi16(pairs[r][0], _mm256_maddubs_epi16(high0, high));
            pairs[r][1] = _mm256_add_epi16(pairs[r][1], _mm256_maddubs_epi16(high1, high));
        }
    }
    for (int r = 0; r < rows; r++) {
        __m256i offset = _mm256_set1_epi32(offsets[r][b]);
        for (int h = 0; h < 2; h++)
            isum[r][h] = _mm256_sub_epi32(_mm256_madd_epi16(pairs[r][h], _mm256_set1_epi16(1)), offset);
    }
}

static inline __attribute__((always_inline)) void group_rows(gsrt_dtype dtype, const int rows, const uint8_t *group,
                                                             const gsrt_q8_block *const *x,
                                                             const int32_t *const *offsets, uint32_t b_first,
                                                             uint32_t b_end, float *sums)
{
    __m256 acc[ROWS_AT_ONCE][2];
    for (int r = 0; r < rows; r++)
        acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (uint32_t b = b_first; b < b_end; b++) {
        const __m128i *scales = (const __m128i *)(const void *)quant_scales(dtype, group, b);
        __m256i isum[ROWS_AT_ONCE][2];
        for (int r = 0; r < rows; r++)
            isum[r][0] = isum[r][1] = _mm256_setzero_si256();
        if (dtype == GSRT_DTYPE_Q8_0)
            block_q8(rows, quant_lines(dtype, group, b), x, b, isum);
        else
            block_q4(rows, quant_lines(dtype, group, b), x, offsets, b, isum);
        __m256 s0 = _mm256_cvtph_ps(_mm_loadu_si128(scales)), s1 = _mm256_cvtph_ps(_mm_loadu_si128(scales + 1));
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            __m256 scale = _mm256_set1_ps(x[r][b].scale);
            acc[r][0] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum[r][0]), _mm256_mul_ps(s0, scale), acc[r][0]);
            acc[r][1] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum[r][1]), _mm256_mul_ps(s1, scale), acc[r][1]);
        }
    }
    for (int r = 0; r < rows; r++) {
        _mm256_storeu_ps(sums + r * GSRT_PANEL_OUTPUTS, acc[r][0]);
        _mm256_storeu_ps(sums + r * GSRT_PANEL_OUTPUTS + 8, acc[r][1]);
    }
}

static inline __attribute__((always_inline)) void chunk_of(gsrt_dtype dtype, const gsrt_linear_task *task,
                                                           uint32_t panel, uint32_t k_first, uint32_t k_end,
                                                           uint32_t row_first, uint32_t row_count, float *sums)
{
    const gsrt_q8_block *x[ROWS_AT_ONCE];
    const int32_t *offsets[ROWS_AT_ONCE];
    for (uint32_t r = 0; r < row_count; r++) {
        x[r] = quant_x(task, row_first + r);
        offsets[r] = (const int32_t *)(const void *)task->prepared + (row_first + r) * (task->matrix->k_count / 32);
    }
    for (uint32_t half = 0; half < 2; half++, sums += QUANT_GROUP_ROWS) {
        const uint8_t *group = quant_group(task, panel * 2 + half);
        switch (row_count) {
        case 1: group_rows(dtype, 1, group, x, offsets, k_first / 32, k_end / 32, sums); break;
        case 2: group_rows(dtype, 2, group, x, offsets, k_first / 32, k_end / 32, sums); break;
        case 3: group_rows(dtype, 3, group, x, offsets, k_first / 32, k_end / 32, sums); break;
        case 4: group_rows(dtype, 4, group, x, offsets, k_first / 32, k_end / 32, sums); break;
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

/* A block of 16 outputs, widened: pairs (2p, 2p + 1) of elements side by side. */
typedef struct w_block {
    int16_t pairs[16][TILE_OUTPUTS][2];
    float scales[TILE_OUTPUTS];
} w_block;

/* A block of a tile of tokens. */
typedef struct x_block {
    int16_t pairs[16][TILE_TOKENS][2];
    float scales[TILE_TOKENS];
} x_block;

/* One line (8 rows times 4 bytes) -> the pairs 2j and 2j + 1 of these rows. */
static inline __attribute__((always_inline)) void widen_line(__m256i line, int16_t *even, int16_t *odd)
{
    __m256 a = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm256_castsi256_si128(line)));
    __m256 b = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm256_extracti128_si256(line, 1)));
    __m256i pairs_even = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
    __m256i pairs_odd = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
    _mm256_storeu_si256((__m256i *)(void *)even, _mm256_permute4x64_epi64(pairs_even, 0xd8));
    _mm256_storeu_si256((__m256i *)(void *)odd, _mm256_permute4x64_epi64(pairs_odd, 0xd8));
}

/* The eight lines of half a group of a packed block, as signed bytes. */
static inline __attribute__((always_inline)) void packed_lines(gsrt_dtype dtype, const uint8_t *lines, __m256i out[8])
{
    __m256i mask = _mm256_set1_epi8(15), eight = _mm256_set1_epi8(8);
    for (int j = 0; j < (dtype == GSRT_DTYPE_Q8_0 ? 8 : 4); j++) {
        __m256i line = load_256(lines + j * 64);
        if (dtype == GSRT_DTYPE_Q8_0) {
            out[j] = line;
            continue;
        }
        out[j] = _mm256_sub_epi8(_mm256_and_si256(line, mask), eight);
        out[j + 4] = _mm256_sub_epi8(_mm256_and_si256(_mm256_srli_epi16(line, 4), mask), eight);
    }
}

static inline __attribute__((always_inline)) void widen_of(gsrt_dtype dtype, const gsrt_linear_task *task,
                                                           uint32_t out_first, uint32_t b_first, uint32_t count,
                                                           w_block *to)
{
    const uint8_t *rows[TILE_OUTPUTS], *group = NULL;
    if (task->packed == NULL)
        file_rows(task->matrix, out_first, TILE_OUTPUTS, b_first * 32, rows);
    else
        group = quant_group(task, out_first / QUANT_GROUP_ROWS);
    for (uint32_t b = 0; b < count; b++)
        for (int half = 0; half < 2; half++) {
            __m256i lines[8];
            __m128i scales;
            if (task->packed == NULL) {
                size_t offset = b * (dtype == GSRT_DTYPE_Q8_0 ? 34u : 18u);
                file_lines(dtype, rows + half * 8, offset, lines);
                scales = file_scales(rows + half * 8, offset);
            } else {
                packed_lines(dtype, quant_lines(dtype, group, b_first + b) + half * 32, lines);
                scales = _mm_loadu_si128(
                    (const __m128i *)(const void *)(quant_scales(dtype, group, b_first + b) + half * 16));
            }
            for (int j = 0; j < 8; j++)
                widen_line(lines[j], to[b].pairs[2 * j][half * 8], to[b].pairs[2 * j + 1][half * 8]);
            _mm256_storeu_ps(to[b].scales + half * 8, _mm256_cvtph_ps(scales));
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
    __m256 acc[T][2];
#pragma GCC unroll 8
    for (int t = 0; t < T; t++)
        for (int v = 0; v < 2; v++)
            acc[t][v] = sums->is_first ? _mm256_setzero_ps() : _mm256_loadu_ps(sums->at + t * TILE_OUTPUTS + v * 8);
    for (uint32_t b = 0; b < count; b++, w++, x++) {
        __m256i isum[T][2];
#pragma GCC unroll 8
        for (int t = 0; t < T; t++)
            isum[t][0] = isum[t][1] = _mm256_setzero_si256();
#pragma GCC unroll 16
        for (int p = 0; p < 16; p++) {
            __m256i w0 = load_256((const uint8_t *)w->pairs[p]), w1 = load_256((const uint8_t *)w->pairs[p] + 32);
#pragma GCC unroll 8
            for (int t = 0; t < T; t++) {
                int32_t pair;
                memcpy(&pair, x->pairs[p][t], sizeof pair);
                __m256i value = _mm256_set1_epi32(pair);
                ADD_PRODUCTS(isum[t][0], w0, value);
                ADD_PRODUCTS(isum[t][1], w1, value);
            }
        }
        __m256 s0 = _mm256_loadu_ps(w->scales), s1 = _mm256_loadu_ps(w->scales + 8);
#pragma GCC unroll 8
        for (int t = 0; t < T; t++) {
            __m256 scale = _mm256_set1_ps(x->scales[t]);
            acc[t][0] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum[t][0]), _mm256_mul_ps(s0, scale), acc[t][0]);
            acc[t][1] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum[t][1]), _mm256_mul_ps(s1, scale), acc[t][1]);
        }
    }
    float *to = sums->at;
    for (uint32_t i = 0; i < sums->merge_count; i++) {
        to -= sums->level_floats;
#pragma GCC unroll 8
        for (int t = 0; t < T; t++)
            for (int v = 0; v < 2; v++)
                acc[t][v] = _mm256_add_ps(_mm256_loadu_ps(to + t * TILE_OUTPUTS + v * 8), acc[t][v]);
    }
#pragma GCC unroll 8
    for (int t = 0; t < T; t++)
        for (int v = 0; v < 2; v++)
            _mm256_storeu_ps(to + t * TILE_OUTPUTS + v * 8, acc[t][v]);
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

/* q4_0, packed, needs the sums of the activations' blocks. */
static size_t prepared_bytes(const gsrt_linear_task *task)
{
    if (is_gemm(task))
        return gemm_prepared_bytes(&products, task);
    bool is_needed = task->packed != NULL && task->matrix->dtype == GSRT_DTYPE_Q4_0;
    return is_needed ? task->row_count * (size_t)(task->matrix->k_count / 32) * sizeof(int32_t) : 0;
}

static void prepare_offsets(const gsrt_linear_task *task, uint32_t row_first, uint32_t row_end)
{
    uint32_t block_count = task->matrix->k_count / 32;
    int32_t *offsets = (int32_t *)(void *)task->prepared;
    for (uint32_t row = row_first; row < row_end; row++)
        for (uint32_t b = 0; b < block_count; b++)
            offsets[(size_t)row * block_count + b] = 8 * quant_block_sum(&quant_x(task, row)[b]);
}

static size_t scratch_bytes(const gsrt_linear_task *task)
{
    return is_gemm(task) ? gemm_scratch_bytes(&products, task) : 0;
}

/* Blocks [b_first, b_end), a piece, of one row; with the last row also the tokens of its tile that do not exist. */
static void prepare_piece(const gsrt_linear_task *task, uint32_t row, uint32_t b_first, uint32_t b_end)
{
    const gsrt_q8_block *x = quant_x(task, row) + b_first;
    x_block *to = (x_block *)(void *)gemm_prepared(&products, task, b_first * 32, b_end * 32, row / TILE_TOKENS);
    uint32_t t = row % TILE_TOKENS;
    for (uint32_t b = 0; b < b_end - b_first; b++) {
        int16_t wide[16][2];
        for (int half = 0; half < 2; half++)
            _mm256_storeu_si256((__m256i *)(void *)wide[half * 8],
                                _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x[b].q + half)));
        for (int p = 0; p < 16; p++)
            memcpy(to[b].pairs[p][t], wide[p], sizeof wide[p]);
        to[b].scales[t] = x[b].scale;
        for (uint32_t pad = t + 1; pad < TILE_TOKENS && row + 1 == task->row_count; pad++) {
            for (int p = 0; p < 16; p++)
                to[b].pairs[p][pad][0] = to[b].pairs[p][pad][1] = 0;
            to[b].scales[pad] = 0.0f;
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
    quant_pack_panels(matrix, 0, to, panel_first, panel_end);
}

const gsrt_linear_ops gsrt__quant_avx2 = {
    .prepared_bytes = prepared_bytes,
    .prepare = prepare,
    .scratch_bytes = scratch_bytes,
    .linear = linear,
    .packed_bytes = quant_packed_bytes,
    .pack = pack,
};
