/* Any bytes as a model file. What is accepted keeps its promises: tensors lie inside the file and do not overlap,
 * getters agree, the workload passes its check and can be run, the tokenizer gives back what it was given.
 */
#include <stdlib.h>

#include "model/gguf.h"
#include "model/import_llama.h"
#include "model/reference.h"
#include "model/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void check_tensors(const gsrt_gguf *gguf, size_t size)
{
    for (uint32_t i = 0; i < gsrt_gguf_tensor_count(gguf); i++) {
        const gsrt_gguf_tensor *t = gsrt_gguf_tensor_at(gguf, i);
        must(t->offset_bytes <= size && t->size_bytes <= size - t->offset_bytes && t->size_bytes > 0);
        must(gsrt_gguf_tensor_find(gguf, t->name) == t);
        for (uint32_t k = 0; k < i && i < 64; k++) {
            const gsrt_gguf_tensor *other = gsrt_gguf_tensor_at(gguf, k);
            must(other->offset_bytes + other->size_bytes <= t->offset_bytes ||
                 t->offset_bytes + t->size_bytes <= other->offset_bytes);
        }
    }
}

static void check_keys(const gsrt_gguf *gguf)
{
    static const char *const keys[] = {"general.alignment", "general.name", "tokenizer.ggml.scores",
                                       "llama.block_count"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        uint32_t number;
        float real;
        bool is_set;
        gsrt_span text, rest;
        gsrt_gguf_array array;
        int right = 0;
        right += gsrt_gguf_u32(gguf, keys[i], &number, NULL) == GSRT_OK;
        right += gsrt_gguf_f32(gguf, keys[i], &real, NULL) == GSRT_OK;
        right += gsrt_gguf_bool(gguf, keys[i], &is_set, NULL) == GSRT_OK;
        right += gsrt_gguf_text(gguf, keys[i], &text, NULL) == GSRT_OK;
        bool is_array = gsrt_gguf_array_of(gguf, keys[i], &array, NULL) == GSRT_OK;
        must(right + is_array <= (gsrt_gguf_has(gguf, keys[i]) ? 1 : 0));
        if (!is_array)
            continue;
        for (uint64_t k = 0; k <= array.count; k++) /* one past the end, too */
            (void)(gsrt_gguf_array_integer(&array, k) + (int64_t)gsrt_gguf_type_is_float(array.type));
        rest = array.bytes;
        uint64_t texts = 0;
        while (array.type == GSRT_GGUF_TEXT && gsrt_gguf_array_next_text(&rest, &text))
            texts++;
        must(array.type != GSRT_GGUF_TEXT || texts == array.count);
    }
}

static void check_workload(const gsrt_gguf *gguf)
{
    gsrt_workload *workload = NULL;
    gsrt_weights *weights = NULL;
    gsrt_reference *reference = NULL;
    gsrt_diag diag = {0};
    if (gsrt_import_gguf(gguf, &workload, &diag) != GSRT_OK) {
        must(diag.text[0] != 0);
        return;
    }
    must(gsrt_workload_check(workload, "fuzz", NULL) == GSRT_OK);
    must(gsrt_weights_create(gguf, workload, &weights, NULL) == GSRT_OK);
    must(gsrt_reference_create(weights, 1, &reference) == GSRT_OK);
    const float *logits;
    must(gsrt_reference_step(reference, workload->vocab_count - 1, 0, &logits) == GSRT_OK);
    gsrt_reference_free(reference);
    gsrt_weights_free(weights);
    gsrt_workload_free(workload);
}

static void check_tokenizer(const gsrt_gguf *gguf, gsrt_span text)
{
    gsrt_tokenizer *tokenizer = NULL;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_tokenizer_create(gguf, &tokenizer, &diag);
    if (status != GSRT_OK) {
        must(status == GSRT_ENOTFOUND || diag.text[0] != 0);
        return;
    }
    for (int options = 0; options < 4; options++) {
        gsrt_encode_options how = {.is_framed = options % 2 == 1, .is_special_parsed = options / 2 == 1};
        uint32_t *ids = NULL;
        size_t count = 0;
        if (gsrt_tokenizer_encode(tokenizer, text, &how, &ids, &count, NULL) != GSRT_OK)
            continue;
        for (size_t i = 0; i < count; i++) {
            must(ids[i] < gsrt_tokenizer_count(tokenizer));
            (void)gsrt_tokenizer_piece(tokenizer, ids[i], i == 0 ? GSRT_TOKEN_NONE : ids[i - 1]);
        }
        free(ids);
    }
    gsrt_tokenizer_free(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_gguf *gguf = NULL;
    gsrt_diag diag = {0};
    /* Tensors are aligned in the file; the file must be, too. */
    void *copy = NULL;
    must(posix_memalign(&copy, 64, size > 0 ? size : 1) == 0);
    if (size > 0)
        memcpy(copy, data, size);
    if (gsrt_gguf_open_span(gsrt_span_of(copy, size), "fuzz", &gguf, &diag) == GSRT_OK) {
        check_tensors(gguf, size);
        check_keys(gguf);
        check_workload(gguf);
        check_tokenizer(gguf, gsrt_span_of(data, size < 256 ? size : 256));
        gsrt_gguf_free(gguf);
    } else {
        must(diag.status != GSRT_OK && diag.text[0] != 0);
    }
    free(copy);
    return 0;
}
