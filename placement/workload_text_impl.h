/* Within placement/ only: the tables from which a workload's text is written and read. Both directions follow from one
 * table per record, so that neither can know a field that the other does not. */
#ifndef GSRT_PLACEMENT_WORKLOAD_TEXT_IMPL_H
#define GSRT_PLACEMENT_WORKLOAD_TEXT_IMPL_H

#include "placement/workload_text.h"

typedef enum gsrt__text_type {
    GSRT__TEXT_U32,
    GSRT__TEXT_U64,
    GSRT__TEXT_F32,
    GSRT__TEXT_BOOL,
    GSRT__TEXT_INDEX, /* uint32_t; absent: GSRT_NO_INDEX */
    GSRT__TEXT_TEXT,  /* const char *; always written */
    GSRT__TEXT_ENUM,  /* an enum of `count` names */
    GSRT__TEXT_FLAGS, /* uint32_t of `count` bits */
    GSRT__TEXT_KIND,  /* an enum of `count` names, always written */
    GSRT__TEXT_DTYPE, /* always written */
} gsrt__text_type;

typedef struct gsrt__text_field {
    const char *key;
    gsrt__text_type type;
    uint32_t offset;
    const char *const *names; /* [count] */
    uint32_t count;
} gsrt__text_field;

/* In the order in which they stand; ROPE and ROUTING belong to the op before. */
typedef enum gsrt__text_kind {
    GSRT__RECORD_WORKLOAD,
    GSRT__RECORD_TENSOR,
    GSRT__RECORD_VALUE,
    GSRT__RECORD_STATE,
    GSRT__RECORD_OP,
    GSRT__RECORD_ROPE,
    GSRT__RECORD_ROUTING,
    GSRT__RECORD_REGION,
} gsrt__text_kind;

typedef struct gsrt__text_record {
    const char *word;
    const gsrt__text_field *fields; /* [count] */
    uint32_t count;
} gsrt__text_record;

extern const gsrt__text_record gsrt__text_records[];

/* Has the field of *object its neutral value? Then it is not written. */
bool gsrt__text_is_neutral(const void *object, const gsrt__text_field *f);

/* Append the value of the field of *object in the one way in which it is written. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt__text_print(const void *object, const gsrt__text_field *f, gsrt_buffer *out);

#endif
