/* Any bytes as msgpack: what our reader passes over as one value, msgpack-c accepts with the same length; and reading
 * it value by value consumes as much as passing over it. */
#include "base/msgpack.h"

#include <msgpack.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_value(gsrt_unpack *unpack)
{
    switch (gsrt_unpack_peek(unpack)) {
    case GSRT_UNPACK_NONE: gsrt_unpack_fail(unpack); break;
    case GSRT_UNPACK_NIL: gsrt_unpack_nil(unpack); break;
    case GSRT_UNPACK_BOOL: (void)gsrt_unpack_bool(unpack); break;
    case GSRT_UNPACK_UINT: (void)gsrt_unpack_uint(unpack, UINT64_MAX); break;
    case GSRT_UNPACK_INT: (void)gsrt_unpack_int(unpack, INT64_MIN, INT64_MAX); break;
    case GSRT_UNPACK_F32: (void)gsrt_unpack_f32(unpack); break;
    case GSRT_UNPACK_F64: (void)gsrt_unpack_f64(unpack); break;
    case GSRT_UNPACK_STR: (void)gsrt_unpack_str(unpack, SIZE_MAX); break;
    case GSRT_UNPACK_BIN: (void)gsrt_unpack_bin(unpack, SIZE_MAX); break;
    case GSRT_UNPACK_ARRAY:
        for (uint32_t i = gsrt_unpack_array(unpack, UINT32_MAX); i > 0 && gsrt_unpack_is_ok(unpack); i--)
            read_value(unpack);
        break;
    case GSRT_UNPACK_MAP:
        for (uint32_t i = gsrt_unpack_map(unpack, UINT32_MAX); i > 0 && gsrt_unpack_is_ok(unpack); i--) {
            read_value(unpack);
            read_value(unpack);
        }
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, gsrt_span_of(data, size));
    size_t len = gsrt_unpack_skip(&unpack).len;
    if (unpack.offset > size)
        abort();
    if (len == 0)
        return 0;
    gsrt_unpack_init(&unpack, gsrt_span_of(data, size));
    read_value(&unpack); /* as deep as was passed over, so the recursion is bounded */
    if (!gsrt_unpack_is_ok(&unpack) || unpack.offset != len)
        abort();
    msgpack_unpacked result;
    msgpack_unpacked_init(&result);
    size_t offset = 0;
    msgpack_unpack_return code = msgpack_unpack_next(&result, (const char *)data, size, &offset);
    if ((code != MSGPACK_UNPACK_SUCCESS && code != MSGPACK_UNPACK_EXTRA_BYTES) || offset != len)
        abort();
    msgpack_unpacked_destroy(&result);
    return 0;
}
