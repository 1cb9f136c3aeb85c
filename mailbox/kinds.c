#include "mailbox/kinds.h"

/* Where an array's count lies; 0 for what is no array. */
#define COUNT_u32(kind, field) 0
#define COUNT_u64(kind, field) 0
#define COUNT_i64(kind, field) 0
#define COUNT_f32(kind, field) 0
#define COUNT_f64(kind, field) 0
#define COUNT_boolean(kind, field) 0
#define COUNT_text(kind, field) 0
#define COUNT_bytes(kind, field) 0
#define COUNT_u32s(kind, field) offsetof(kind, field##_count)
#define COUNT_u64s(kind, field) offsetof(kind, field##_count)
#define COUNT_f32s(kind, field) offsetof(kind, field##_count)

#define FIELD_INFO(type, field, limit)                                                                                 \
    {#field, GSRT_FIELD_TYPE_##type, offsetof(this_kind, field), COUNT_##type(this_kind, field), (limit)},
#define FIELD_IS_SCALAR(type, field, limit) &&GSRT_FIELD_TYPE_##type <= GSRT_FIELD_TYPE_boolean

#define SCOPE_WIRE false
#define SCOPE_LOCAL true

/* Each kind is described inside its own case, where `this_kind` is its struct. */
#define KIND_CASE(NAME, number, text, scope)                                                                           \
    case GSRT_KIND_##NAME: {                                                                                           \
        typedef gsrt_msg_##text this_kind;                                                                             \
        static const gsrt_field_info fields[] = {GSRT_FIELDS_##NAME(FIELD_INFO)};                                      \
        static const gsrt_kind_info info = {                                                                           \
            .name = #text,                                                                                             \
            .kind = GSRT_KIND_##NAME,                                                                                  \
            .is_local_only = SCOPE_##scope,                                                                            \
            .is_flat = true GSRT_FIELDS_##NAME(FIELD_IS_SCALAR),                                                       \
            .body_bytes = sizeof(this_kind),                                                                           \
            .field_count = sizeof fields / sizeof fields[0],                                                           \
            .fields = fields,                                                                                          \
        };                                                                                                             \
        return &info;                                                                                                  \
    }

const gsrt_kind_info *gsrt_kind_describe(uint64_t number)
{
    switch (number) {
        GSRT_KINDS(KIND_CASE)
    default: return NULL;
    }
}

bool gsrt_kind_is_known(uint64_t number)
{
    return gsrt_kind_describe(number) != NULL;
}

bool gsrt_kind_is_local_only(gsrt_kind kind)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    return info == NULL || info->is_local_only;
}

const char *gsrt_kind_name(gsrt_kind kind)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    return info == NULL ? "?" : info->name;
}
