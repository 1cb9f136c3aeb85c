#include "launch/loaded.h"

#include "model/import_llama.h"

gsrt_status gsrt_loaded_open(const char *path, bool is_hashed, gsrt_loaded *out, gsrt_diag *diag)
{
    gsrt_loaded l = {0};
    gsrt_status status = gsrt_gguf_open(path, &l.gguf, diag);
    if (status == GSRT_OK && is_hashed)
        status = gsrt_manifest_check(l.gguf, &l.manifest, diag);
    if (status == GSRT_OK)
        status = gsrt_import_gguf(l.gguf, &l.workload, diag);
    if (status == GSRT_OK)
        status = gsrt_weights_create(l.gguf, l.workload, &l.weights, diag);
    if (status == GSRT_OK)
        status = gsrt_tokenizer_create(l.gguf, &l.tokenizer, diag);
    if (status == GSRT_ENOTFOUND)
        status = GSRT_OK; /* prompts must be token ids then */
    if (status != GSRT_OK) {
        gsrt_loaded_close(&l);
        return status;
    }
    *out = l;
    return GSRT_OK;
}

void gsrt_loaded_close(gsrt_loaded *loaded)
{
    gsrt_tokenizer_free(loaded->tokenizer);
    gsrt_weights_free(loaded->weights);
    gsrt_workload_free(loaded->workload);
    gsrt_gguf_free(loaded->gguf);
    *loaded = (gsrt_loaded){0};
}
