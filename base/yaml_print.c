/* The quoted form is JSON's, which YAML 1.2 contains, with one more rule: what libyaml's reader does not take raw, or
 * would fold as a line break, is escaped too. */
#include "base/yaml.h"

/* Decode one code point; *len its bytes. Malformed input yields the byte itself, which is then escaped. */
static uint32_t decode(const unsigned char *at, size_t *len)
{
    static const struct {
        unsigned char mask, lead, bits;
    } forms[] = {{0x80, 0x00, 0x7f}, {0xe0, 0xc0, 0x1f}, {0xf0, 0xe0, 0x0f}, {0xf8, 0xf0, 0x07}};
    for (size_t n = 0; n < 4; n++) {
        if ((at[0] & forms[n].mask) != forms[n].lead)
            continue;
        uint32_t point = at[0] & forms[n].bits;
        for (size_t i = 1; i <= n; i++) {
            if ((at[i] & 0xc0) != 0x80)
                break;
            point = point << 6 | (at[i] & 0x3f);
            if (i == n) {
                *len = n + 1;
                return point;
            }
        }
        if (n == 0) {
            *len = 1;
            return point;
        }
    }
    *len = 1;
    return at[0];
}

static bool must_be_escaped(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029 || point == 0xfeff ||
           (point >= 0xd800 && point < 0xe000) || point == 0xfffe || point == 0xffff;
}

gsrt_status gsrt_yaml_print_text(gsrt_buffer *out, const char *text)
{
    size_t start = out->len;
    gsrt_status status = gsrt_buffer_append(out, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)text; *at != 0 && status == GSRT_OK;) {
        size_t len;
        uint32_t point = decode(at, &len);
        if (point == '"' || point == '\\')
            status = gsrt_buffer_print(out, "\\%c", (int)point);
        else if (point == '\n')
            status = gsrt_buffer_append(out, "\\n", 2);
        else if (point == '\t')
            status = gsrt_buffer_append(out, "\\t", 2);
        else if (must_be_escaped(point) || (len == 1 && point >= 0x80))
            status = gsrt_buffer_print(out, "\\u%04x", (unsigned)point);
        else
            status = gsrt_buffer_append(out, at, len);
        at += len;
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_append(out, "\"", 1);
    if (status != GSRT_OK)
        out->len = start;
    return status;
}
