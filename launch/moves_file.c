#include "base/json.h"
#include "base/limits.h"
#include "launch/moves.h"

#include <string.h>

enum { ORDER_BYTES_MAX = 1024 };

gsrt_status gsrt_move_write_line(const gsrt_report_move *move, gsrt_buffer *out)
{
    json_t *o =
        json_pack("{s:I, s:I, s:I, s:I, s:s, s:o, s:I, s:o, s:I}", "stage", (json_int_t)move->stage, "member",
                  (json_int_t)move->member, "from", (json_int_t)move->from, "to", (json_int_t)move->to, "outcome",
                  gsrt_move_outcome_name(move->outcome), "pause_ms",
                  move->pause_ms < 0 ? json_null() : gsrt_json_real(move->pause_ms), "bytes", (json_int_t)move->bytes,
                  "why", gsrt_json_text(move->why[0] == 0 ? NULL : move->why), "order", (json_int_t)move->order);
    gsrt_status status = o == NULL ? GSRT_ENOMEM : gsrt_json_print(o, true, out);
    json_decref(o);
    return status == GSRT_OK ? gsrt_buffer_append(out, "\n", 1) : status;
}

/* ---- reading, strictly: another program may have written it ---- */

static bool read_number(const json_t *object, const char *key, uint64_t max, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > max)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_u32(const json_t *object, const char *key, uint32_t max, uint32_t *out)
{
    uint64_t number = 0;
    bool is_there = read_number(object, key, max, &number);
    *out = (uint32_t)number;
    return is_there;
}

static bool read_role(const json_t *o, uint32_t *out_stage, uint32_t *out_member, uint32_t *out_to)
{
    return read_u32(o, "stage", GSRT_STAGE_COUNT_MAX - 1, out_stage) &&
           read_u32(o, "member", GSRT_GROUP_RANKS_MAX - 1, out_member) &&
           read_u32(o, "to", GSRT_RANK_COUNT_MAX - 1, out_to);
}

static bool read_move(const json_t *o, gsrt_report_move *out)
{
    const char *outcome = json_string_value(json_object_get(o, "outcome"));
    const json_t *why = json_object_get(o, "why"), *pause = json_object_get(o, "pause_ms");
    *out = (gsrt_report_move){.pause_ms = json_is_number(pause) ? json_number_value(pause) : -1};
    if (json_object_size(o) != 9 || outcome == NULL || (!json_is_string(why) && !json_is_null(why)) ||
        (!json_is_number(pause) && !json_is_null(pause)) || json_string_length(why) >= sizeof out->why)
        return false;
    for (int i = GSRT_MOVE_DONE; i <= GSRT_MOVE_ABANDONED; i++) {
        if (strcmp(outcome, gsrt_move_outcome_name((gsrt_move_outcome)i)) == 0)
            out->outcome = (gsrt_move_outcome)i;
    }
    if (json_is_string(why))
        memcpy(out->why, json_string_value(why), json_string_length(why) + 1);
    return out->outcome != 0 && read_role(o, &out->stage, &out->member, &out->to) &&
           read_u32(o, "from", GSRT_RANK_COUNT_MAX - 1, &out->from) &&
           read_number(o, "bytes", INT64_MAX, &out->bytes) && read_number(o, "order", INT64_MAX, &out->order);
}

gsrt_status gsrt_move_read_line(gsrt_span line, gsrt_report_move *out, gsrt_diag *diag)
{
    json_t *o;
    gsrt_report_move move;
    gsrt_status status = gsrt_json_parse(line, "moves.jsonl", &o, diag);
    if (status != GSRT_OK)
        return status;
    bool is_good = read_move(o, &move);
    json_decref(o);
    if (!is_good)
        return gsrt_diag_set(diag, GSRT_EINPUT, "moves.jsonl", NULL, "has a line that is no move");
    *out = move;
    return GSRT_OK;
}

gsrt_status gsrt_move_parse_order(gsrt_span bytes, const char *file, gsrt_move *out, gsrt_diag *diag)
{
    json_t *o;
    gsrt_move order = {0};
    gsrt_status status = gsrt_json_parse(bytes, file, &o, diag);
    if (status != GSRT_OK)
        return status;
    bool is_good = json_object_size(o) == 4 && read_role(o, &order.stage, &order.member, &order.to) &&
                   read_number(o, "order", INT64_MAX, &order.order) && order.order != 0;
    json_decref(o);
    if (!is_good)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "move", "is no order; it is removed");
    *out = order;
    return GSRT_OK;
}

gsrt_status gsrt_move_read_order(gsrt_run_directory *directory, gsrt_move *out, gsrt_diag *diag)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, ORDER_BYTES_MAX);
    gsrt_status status = gsrt_run_directory_read(directory, "move", &bytes, diag);
    if (status == GSRT_OK)
        status = gsrt_move_parse_order(gsrt_buffer_span(&bytes), gsrt_run_directory_path(directory), out, diag);
    gsrt_buffer_fini(&bytes);
    return status;
}
