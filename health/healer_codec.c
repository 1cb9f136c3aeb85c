/* The healer's questions and answers as msgpack, for trace and replay.
 *
 *   options   [rank_count, exchange, [first layer, last layer, ...], [members of each stage], [ranks], [shares],
 * [spares]] question  [[ranks that are there], is_last, prefer, respawn, take, recompute, step, steps_left] answer
 * [method, [loss or nil, ...] of the methods from 1 on]
 */
#include "base/msgpack.h"
#include "health/healer.h"

#include <stdlib.h>

enum { OPTIONS_FIELD_COUNT = 7, QUESTION_FIELD_COUNT = 8, ANSWER_FIELD_COUNT = 2 };

static void pack_list(gsrt_pack *pack, const uint32_t *list, uint32_t count)
{
    gsrt_pack_array(pack, count);
    for (uint32_t i = 0; i < count; i++)
        gsrt_pack_uint(pack, list[i]);
}

static uint32_t unpack_list(gsrt_unpack *unpack, uint32_t *list, uint32_t count_max)
{
    uint32_t count = gsrt_unpack_array(unpack, count_max);
    for (uint32_t i = 0; i < count; i++)
        list[i] = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
    return count;
}

gsrt_status gsrt_heal_options_encode(const gsrt_plan *full, uint32_t rank_count, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_plan_carrier *c = malloc(sizeof *c);
    if (c == NULL)
        return GSRT_ENOMEM;
    gsrt_plan_pack(full, c);
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, OPTIONS_FIELD_COUNT);
    gsrt_pack_uint(&pack, rank_count);
    gsrt_pack_uint(&pack, c->exchange);
    pack_list(&pack, c->layers, 2 * c->stage_count);
    pack_list(&pack, c->member_counts, c->stage_count);
    pack_list(&pack, c->ranks, c->role_count);
    pack_list(&pack, c->shares, c->role_count);
    pack_list(&pack, c->spares, c->spare_count);
    free(c);
    return gsrt_pack_end(&pack);
}

static gsrt_status read_options(gsrt_span bytes, gsrt_plan_carrier *c, uint32_t *out_rank_count)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, OPTIONS_FIELD_COUNT);
    *out_rank_count = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RANK_COUNT_MAX);
    c->narrowed_count = 0; /* who takes a role does not depend on it */
    c->exchange = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_EXCHANGE_SCATTER);
    uint32_t layers = unpack_list(&unpack, c->layers, 2 * GSRT_STAGE_COUNT_MAX);
    c->stage_count = unpack_list(&unpack, c->member_counts, GSRT_STAGE_COUNT_MAX);
    c->role_count = unpack_list(&unpack, c->ranks, GSRT_RANK_COUNT_MAX);
    uint32_t shares = unpack_list(&unpack, c->shares, GSRT_RANK_COUNT_MAX);
    c->spare_count = unpack_list(&unpack, c->spares, GSRT_RANK_COUNT_MAX);
    bool is_sound = layers == 2 * c->stage_count && shares == c->role_count;
    return gsrt_unpack_end(&unpack) == GSRT_OK && is_sound ? GSRT_OK : GSRT_EDECODE;
}

gsrt_status gsrt_heal_options_decode(gsrt_span bytes, gsrt_plan **out, uint32_t *out_rank_count)
{
    gsrt_plan_carrier *c = malloc(sizeof *c);
    gsrt_plan *plan;
    gsrt_diag diag = {0};
    if (c == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = read_options(bytes, c, out_rank_count);
    if (status == GSRT_OK)
        status = gsrt_plan_unpack(c, &plan);
    free(c);
    if (status != GSRT_OK)
        return status;
    if (gsrt_plan_check(plan, NULL, *out_rank_count, NULL, &diag) != GSRT_OK) {
        gsrt_plan_free(plan);
        return GSRT_EDECODE;
    }
    *out = plan;
    return GSRT_OK;
}

gsrt_status gsrt_heal_question_encode(const gsrt_heal_question *q, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    uint32_t there[GSRT_RANK_COUNT_MAX], count = 0;
    for (uint32_t rank = 0; rank < q->rank_count; rank++)
        if (q->is_there[rank])
            there[count++] = rank;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, QUESTION_FIELD_COUNT);
    pack_list(&pack, there, count);
    gsrt_pack_bool(&pack, q->is_last);
    gsrt_pack_uint(&pack, q->prefer);
    gsrt_pack_uint(&pack, q->respawn_ns);
    gsrt_pack_uint(&pack, q->take_ns);
    gsrt_pack_uint(&pack, q->recompute_ns);
    gsrt_pack_uint(&pack, q->step_ns);
    gsrt_pack_uint(&pack, q->steps_left);
    return gsrt_pack_end(&pack);
}

gsrt_status gsrt_heal_question_decode(gsrt_span bytes, uint32_t rank_count, bool *is_there, gsrt_heal_question *out)
{
    gsrt_unpack unpack;
    uint32_t there[GSRT_RANK_COUNT_MAX];
    bool is_sound = true;
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, QUESTION_FIELD_COUNT);
    uint32_t count = unpack_list(&unpack, there, rank_count);
    gsrt_heal_question q = {.is_there = is_there, .rank_count = rank_count};
    q.is_last = gsrt_unpack_bool(&unpack);
    q.prefer = (gsrt_incident_method)gsrt_unpack_uint(&unpack, GSRT_HEAL_METHOD_COUNT - 1);
    q.respawn_ns = gsrt_unpack_uint(&unpack, GSRT_TIMEOUT_NS_MAX);
    q.take_ns = gsrt_unpack_uint(&unpack, GSRT_TIMEOUT_NS_MAX);
    q.recompute_ns = gsrt_unpack_uint(&unpack, UINT64_MAX);
    q.step_ns = gsrt_unpack_uint(&unpack, GSRT_TIMEOUT_NS_MAX);
    q.steps_left = (uint32_t)gsrt_unpack_uint(&unpack, UINT32_MAX);
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return GSRT_EDECODE;
    memset(is_there, 0, rank_count * sizeof *is_there);
    for (uint32_t i = 0; i < count; i++) {
        is_sound = is_sound && there[i] < rank_count && (i == 0 || there[i] > there[i - 1]);
        if (is_sound)
            is_there[there[i]] = true;
    }
    *out = q;
    return is_sound ? GSRT_OK : GSRT_EDECODE;
}

gsrt_status gsrt_heal_answer_encode(const gsrt_heal_answer *answer, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, ANSWER_FIELD_COUNT);
    gsrt_pack_uint(&pack, answer->method);
    gsrt_pack_array(&pack, GSRT_HEAL_METHOD_COUNT - 1);
    for (int m = 1; m < GSRT_HEAL_METHOD_COUNT; m++)
        if (answer->is_possible[m])
            gsrt_pack_uint(&pack, answer->loss_ns[m]);
        else
            gsrt_pack_nil(&pack);
    return gsrt_pack_end(&pack);
}
