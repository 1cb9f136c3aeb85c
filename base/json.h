/* JSON, written the same way every time; read with limits. An adapter over jansson, which keeps the values.
 *
 * Writing: keys in the order in which they were set, two spaces of indentation, an array of plain values on one line,
 * integers as they are, reals in the fewest digits that give the same double back. The same values give the same bytes.
 * Reading: duplicate keys refused, nesting and bytes bounded, errors with line and column.
 */
#ifndef GSRT_BASE_JSON_H
#define GSRT_BASE_JSON_H

#include "base/buffer.h"
#include "base/diag.h"

#include <jansson.h>

/* Append `value` as JSON. is_compact: on one line ("{"a": 1}" without the spaces), as JSON Lines need it; else pretty,
 * with a newline at the end. Errors as gsrt_buffer_append, on which nothing is appended. GSRT_EINVAL: value is NULL
 * (building it failed for want of memory). */
GSRT_MUST_CHECK gsrt_status gsrt_json_print(const json_t *value, bool is_compact, gsrt_buffer *out);

/* Append `text` as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD. Errors as
 * gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_json_print_text(gsrt_buffer *out, gsrt_span text);

/* Append `number` in the fewest significant digits from which strtod gets the same double (or float) back. NaN and
 * infinities, which JSON lacks, become null. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_json_print_f64(gsrt_buffer *out, double number);
GSRT_MUST_CHECK gsrt_status gsrt_json_print_f32(gsrt_buffer *out, float number);

/* A new jansson value, owned; NaN and infinities become null. NULL: no memory. */
json_t *gsrt_json_real(double number);
json_t *gsrt_json_u64(uint64_t number);   /* past 2^63 - 1, which jansson cannot hold: a real */
json_t *gsrt_json_text(const char *text); /* NULL becomes null; no UTF-8 becomes U+FFFD */

/* Parse one value. *out owned: json_decref. `file` names the bytes in *diag. Nesting past GSRT_JSON_DEPTH_MAX is
 * refused. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_json_parse(gsrt_span bytes, const char *file, json_t **out, gsrt_diag *diag);

#endif
