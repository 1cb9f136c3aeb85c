/* The outer half of encoding: find the special tokens in the text, encode what lies between, frame it all. */
#include <stdio.h>
#include <stdlib.h>

#include "model/tokenizer_impl.h"

typedef struct partition {
    gsrt_span text;
    uint8_t *is_taken; /* [text.len] */
    gsrt__place *places;
    size_t count, room;
} partition;

static int compare_places(const void *a, const void *b)
{
    uint32_t left = ((const gsrt__place *)a)->at, right = ((const gsrt__place *)b)->at;
    return (left > right) - (left < right);
}

static gsrt_status take(partition *p, uint32_t at, uint32_t len, uint32_t token)
{
    if (p->count == p->room) {
        size_t room = p->room == 0 ? 16 : p->room * 2;
        gsrt__place *places = realloc(p->places, room * sizeof *places);
        if (places == NULL)
            return GSRT_ENOMEM;
        p->places = places;
        p->room = room;
    }
    memset(p->is_taken + at, 1, len);
    p->places[p->count++] = (gsrt__place){.at = at, .len = len, .token = token};
    return GSRT_OK;
}

/* All places of the texts of one length in what is not taken yet. What is taken is never shorter than `len`, so a
 * stretch that overlaps a place covers one of its ends. */
static gsrt_status take_length(partition *p, const gsrt__specials *specials, uint32_t len)
{
    gsrt_status status = GSRT_OK;
    for (size_t at = 0; at + len <= p->text.len && status == GSRT_OK; at++) {
        unsigned begin = p->text.data[at] + (len > 1 ? 256u * p->text.data[at + 1] : 0u);
        if ((specials->begins[begin / 8] & 1u << begin % 8) == 0 || p->is_taken[at] || p->is_taken[at + len - 1])
            continue;
        uint32_t token = gsrt__dictionary_find(&specials->dictionary, p->text.data + at, len);
        if (token != GSRT_TOKEN_NONE)
            status = take(p, (uint32_t)at, len, token);
    }
    return status;
}

gsrt_status gsrt__specials_find(const gsrt__specials *specials, gsrt_span text, gsrt__place **out_places,
                                size_t *out_count)
{
    partition p = {.text = text};
    gsrt_status status = GSRT_OK;
    if (specials->length_count > 0 && text.len > 0) {
        p.is_taken = calloc(text.len, 1);
        status = p.is_taken == NULL ? GSRT_ENOMEM : GSRT_OK;
    }
    for (uint32_t i = 0; p.is_taken != NULL && i < specials->length_count && status == GSRT_OK; i++)
        status = take_length(&p, specials, specials->lengths[i]);
    free(p.is_taken);
    if (status != GSRT_OK) {
        free(p.places);
        return status;
    }
    if (p.count > 0)
        qsort(p.places, p.count, sizeof *p.places, compare_places);
    *out_places = p.places;
    *out_count = p.count;
    return GSRT_OK;
}

gsrt_status gsrt__encode_byte(const gsrt_tokenizer *tokenizer, uint8_t byte, gsrt__ids *ids, gsrt_diag *diag)
{
    uint32_t token = tokenizer->byte_token[byte];
    if (token == GSRT_TOKEN_NONE)
        token = tokenizer->unknown;
    if (token == GSRT_TOKEN_NONE)
        return gsrt_diag_set(diag, GSRT_EINPUT, tokenizer->file, "prompt",
                             "the vocabulary has no token for byte 0x%02x and none for what is unknown; leave it out",
                             byte);
    return gsrt__ids_push(ids, token);
}

static gsrt_status encode_plain(const gsrt_tokenizer *t, gsrt_span text, bool is_after_special, gsrt__ids *ids,
                                gsrt_diag *diag)
{
    if (text.len == 0)
        return GSRT_OK;
    return t->is_bpe ? gsrt__encode_bpe(t, text, ids, diag) : gsrt__encode_spm(t, text, is_after_special, ids, diag);
}

static gsrt_status encode_parts(const gsrt_tokenizer *t, gsrt_span text, const gsrt__place *places, size_t count,
                                gsrt__ids *ids, gsrt_diag *diag)
{
    gsrt_status status = GSRT_OK;
    size_t at = 0;
    bool is_after_special = true; /* the start counts as one: SPM puts its space there */
    for (size_t i = 0; i < count && status == GSRT_OK; i++) {
        status = encode_plain(t, gsrt_span_of(text.data + at, places[i].at - at), is_after_special, ids, diag);
        if (status == GSRT_OK)
            status = gsrt__ids_push(ids, places[i].token);
        at = places[i].at + places[i].len;
        is_after_special = true;
    }
    if (status == GSRT_OK && at < text.len)
        status = encode_plain(t, gsrt_span_of(text.data + at, text.len - at), is_after_special, ids, diag);
    return status;
}

gsrt_status gsrt_tokenizer_encode(const gsrt_tokenizer *tokenizer, gsrt_span text, const gsrt_encode_options *options,
                                  uint32_t **out_ids, size_t *out_count, gsrt_diag *diag)
{
    if (text.len > GSRT_PROMPT_BYTES_MAX)
        return gsrt_diag_set(diag, GSRT_ELIMIT, NULL, "prompt", "it has %zu bytes, allowed are %u; shorten it",
                             text.len, GSRT_PROMPT_BYTES_MAX);
    gsrt__place *places = NULL;
    size_t count = 0;
    gsrt__ids ids = {0};
    gsrt_status status =
        gsrt__specials_find(options->is_special_parsed ? &tokenizer->special : &tokenizer->user, text, &places, &count);
    if (status == GSRT_OK && options->is_framed && tokenizer->adds_bos)
        status = gsrt__ids_push(&ids, tokenizer->bos);
    if (status == GSRT_OK)
        status = encode_parts(tokenizer, text, places, count, &ids, diag);
    if (status == GSRT_OK && options->is_framed && tokenizer->adds_eos)
        status = gsrt__ids_push(&ids, tokenizer->eos);
    free(places);
    if (status != GSRT_OK) {
        free(ids.data);
        return gsrt_diag_set(diag, status, NULL, "prompt", "could not be encoded: %s; shorten it",
                             gsrt_status_text(status));
    }
    *out_ids = ids.data;
    *out_count = ids.count;
    return GSRT_OK;
}
