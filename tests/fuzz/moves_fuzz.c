/* A line of moves.jsonl, and an order: what is accepted is within the limits, and is the same when it is written and
 * read again. */
#include "launch/moves.h"

#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void check_role(uint32_t stage, uint32_t member, uint32_t to)
{
    must(stage < GSRT_STAGE_COUNT_MAX && member < GSRT_GROUP_RANKS_MAX && to < GSRT_RANK_COUNT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_diag diag = {0};
    gsrt_move order;
    gsrt_report_move line, again;
    gsrt_buffer text;
    if (gsrt_move_parse_order(gsrt_span_of(data, size), "fuzz", &order, &diag) == GSRT_OK) {
        check_role(order.stage, order.member, order.to);
        must(order.order != 0);
    } else {
        must(diag.text[0] != 0);
    }
    diag = (gsrt_diag){0};
    if (gsrt_move_read_line(gsrt_span_of(data, size), &line, &diag) != GSRT_OK) {
        must(diag.text[0] != 0);
        return 0;
    }
    check_role(line.stage, line.member, line.to);
    must(line.from < GSRT_RANK_COUNT_MAX && memchr(line.why, 0, sizeof line.why) != NULL);
    gsrt_buffer_init(&text, SIZE_MAX / 2);
    must(gsrt_move_write_line(&line, &text) == GSRT_OK && text.data[text.len - 1] == '\n');
    must(gsrt_move_read_line(gsrt_span_of(text.data, text.len - 1), &again, &diag) == GSRT_OK);
    must(line.stage == again.stage && line.member == again.member && line.from == again.from && line.to == again.to &&
         line.outcome == again.outcome && line.bytes == again.bytes && line.order == again.order &&
         strcmp(line.why, again.why) == 0);
    gsrt_buffer_fini(&text);
    return 0;
}
