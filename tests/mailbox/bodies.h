/* Random bodies of any kind, for the tests of mailbox/: seeded, within the table's limits, in one arena. */
#ifndef GSRT_TESTS_MAILBOX_BODIES_H
#define GSRT_TESTS_MAILBOX_BODIES_H

#include "base/arena.h"
#include "base/random.h"
#include "mailbox/kinds.h"

#include <check.h>

typedef struct bodies {
    uint64_t seed, counter;
    uint32_t count_max; /* of arrays, text and bytes */
    gsrt_arena arena;   /* bodies live until bodies_fini */
} bodies;

static inline void bodies_init(bodies *source, uint64_t seed, uint32_t count_max)
{
    *source = (bodies){.seed = seed, .count_max = count_max};
    gsrt_arena_init(&source->arena, (size_t)1 << 30);
}

static inline void bodies_fini(bodies *source)
{
    gsrt_arena_fini(&source->arena);
}

/* All widths equally often, so that each encoding occurs. */
static inline uint64_t bodies_number(bodies *source, uint64_t max)
{
    uint64_t bits = gsrt_random_u64(source->seed, 0, source->counter++);
    uint64_t value = gsrt_random_u64(source->seed, 1, source->counter++) >> (bits % 64);
    return max == UINT64_MAX ? value : value % (max + 1);
}

static inline void *bodies_bytes(bodies *source, size_t len)
{
    uint8_t *data = gsrt_arena_take(&source->arena, len, 1);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)gsrt_random_u64(source->seed, 2, source->counter++);
    return data;
}

static inline uint64_t bodies_limit(const gsrt_field_info *field, uint64_t widest)
{
    return field->limit == 0 || field->limit > widest ? widest : field->limit;
}

static inline void bodies_fill(bodies *source, const gsrt_field_info *field, uint8_t *body)
{
    uint8_t *place = body + field->offset;
    uint32_t count = (uint32_t)bodies_number(source, bodies_limit(field, source->count_max));
    switch (field->type) {
    case GSRT_FIELD_TYPE_u32: {
        uint32_t value = (uint32_t)bodies_number(source, bodies_limit(field, UINT32_MAX));
        memcpy(place, &value, sizeof value);
        return;
    }
    case GSRT_FIELD_TYPE_u64:
    case GSRT_FIELD_TYPE_i64: {
        uint64_t value = bodies_number(source, bodies_limit(field, UINT64_MAX));
        if (field->type == GSRT_FIELD_TYPE_i64 && (source->counter & 1) != 0)
            value = ~value;
        memcpy(place, &value, sizeof value);
        return;
    }
    case GSRT_FIELD_TYPE_f64: memcpy(place, bodies_bytes(source, sizeof(double)), sizeof(double)); return;
    case GSRT_FIELD_TYPE_f32: memcpy(place, bodies_bytes(source, sizeof(float)), sizeof(float)); return;
    case GSRT_FIELD_TYPE_boolean: *(bool *)place = bodies_number(source, 1) == 1; return;
    case GSRT_FIELD_TYPE_text:
    case GSRT_FIELD_TYPE_bytes: {
        gsrt_span span = gsrt_span_of(bodies_bytes(source, count), count);
        memcpy(place, &span, sizeof span);
        return;
    }
    case GSRT_FIELD_TYPE_u32s:
    case GSRT_FIELD_TYPE_u64s:
    case GSRT_FIELD_TYPE_f32s: break;
    }
    size_t size = field->type == GSRT_FIELD_TYPE_u64s ? sizeof(uint64_t) : sizeof(uint32_t);
    uint8_t *array = bodies_bytes(source, count * size);
    for (uint32_t i = 0; i < count && field->type != GSRT_FIELD_TYPE_f32s; i++) {
        uint64_t value = bodies_number(source, size == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX);
        memcpy(array + i * size, &value, size);
    }
    memcpy(place, &array, sizeof array);
    memcpy(body + field->count_offset, &count, sizeof count);
}

static inline void *bodies_take(bodies *source, const gsrt_kind_info *info)
{
    uint8_t *body = gsrt_arena_take(&source->arena, 1, info->body_bytes);
    ck_assert_ptr_nonnull(body);
    for (uint32_t i = 0; i < info->field_count; i++)
        bodies_fill(source, &info->fields[i], body);
    return body;
}

/* Two bodies say the same, bit by bit. */
static inline bool bodies_equal(const gsrt_kind_info *info, const void *a, const void *b)
{
    for (uint32_t i = 0; i < info->field_count; i++) {
        const gsrt_field_info *field = &info->fields[i];
        const uint8_t *in_a = (const uint8_t *)a + field->offset, *in_b = (const uint8_t *)b + field->offset;
        gsrt_span span_a = {0}, span_b = {0};
        if (field->type <= GSRT_FIELD_TYPE_boolean) {
            size_t size = field->type == GSRT_FIELD_TYPE_boolean                                     ? sizeof(bool)
                          : field->type == GSRT_FIELD_TYPE_u32 || field->type == GSRT_FIELD_TYPE_f32 ? 4
                                                                                                     : 8;
            span_a = gsrt_span_of(in_a, size);
            span_b = gsrt_span_of(in_b, size);
        } else if (field->type <= GSRT_FIELD_TYPE_bytes) {
            memcpy(&span_a, in_a, sizeof span_a);
            memcpy(&span_b, in_b, sizeof span_b);
        } else {
            uint32_t count_a, count_b;
            size_t size = field->type == GSRT_FIELD_TYPE_u64s ? sizeof(uint64_t) : sizeof(uint32_t);
            memcpy(&span_a.data, in_a, sizeof span_a.data);
            memcpy(&span_b.data, in_b, sizeof span_b.data);
            memcpy(&count_a, (const uint8_t *)a + field->count_offset, sizeof count_a);
            memcpy(&count_b, (const uint8_t *)b + field->count_offset, sizeof count_b);
            span_a.len = count_a * size;
            span_b.len = count_b * size;
        }
        if (!gsrt_span_equal(span_a, span_b))
            return false;
    }
    return true;
}

/* The numbers of all kinds. */
static const uint32_t bodies_kinds[] = {
#define BODIES_KIND(NAME, number, name, scope) number,
    GSRT_KINDS(BODIES_KIND)
#undef BODIES_KIND
};
enum { BODIES_KIND_COUNT = sizeof bodies_kinds / sizeof bodies_kinds[0] };

#endif
