#include "launch/snapshots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gsrt_snapshots_init(gsrt_snapshots *s, const char *directory, const gsrt_snapshot_shape *shape,
                         gsrt_terminal *terminal)
{
    *s = (gsrt_snapshots){.directory = directory, .shape = *shape, .terminal = terminal};
    s->report.refused = s->refused;
}

void gsrt_snapshots_fini(gsrt_snapshots *s)
{
    gsrt_snapshots_forget(s);
}

void gsrt_snapshots_forget(gsrt_snapshots *s)
{
    s->restored = gsrt_snapshot_free(s->restored);
    free(s->files);
    s->files = NULL;
    s->pending = (gsrt_snapshot_manifest){0};
}

/* ---- what a view begins from ---- */

static void refuse(void *arg, uint64_t number, const char *why)
{
    gsrt_snapshots *s = arg;
    uint32_t at = s->report.refused_count;
    gsrt_terminal_note(s->terminal, "snapshot %llu is damaged and left out: %s", (unsigned long long)number, why);
    for (uint32_t i = 0; i < at; i++) {
        if (s->refused[i].number == number)
            return; /* in an earlier view */
    }
    if (at == GSRT_SNAPSHOTS_REFUSED_MAX)
        return;
    (void)snprintf(s->why[at], sizeof s->why[at], "%s", why);
    s->refused[at] = (gsrt_report_refused){.number = number, .why = s->why[at]};
    s->report.refused_count += 1;
}

gsrt_status gsrt_snapshots_find(gsrt_snapshots *s, bool is_wanted, uint64_t *out_number, uint64_t *out_next)
{
    gsrt_snapshots_forget(s);
    *out_number = 0;
    *out_next = 1;
    if (s->directory == NULL)
        return GSRT_OK;
    *out_next = gsrt_snapshot_next_number(s->directory);
    gsrt_status status = is_wanted ? gsrt_snapshot_find(s->directory, &s->shape, refuse, s, &s->restored) : GSRT_OK;
    if (status == GSRT_OK && s->restored != NULL) {
        *out_number = gsrt_snapshot_manifest_of(s->restored)->number;
        s->report.restored = *out_number;
    }
    return status;
}

uint32_t gsrt_snapshots_blocks(const gsrt_snapshots *s, uint32_t request)
{
    return s->restored == NULL ? 0 : gsrt_snapshot_blocks(s->restored, request);
}

/* ---- making one ---- */

static void give_up(gsrt_snapshots *s, const char *why)
{
    gsrt_terminal_note(s->terminal, "snapshot %llu could not be made: %s", (unsigned long long)s->pending.number, why);
    s->report.failed += 1;
}

static void list_parts(gsrt_snapshots *s, const gsrt_plan *plan)
{
    uint32_t at = 0;
    for (uint32_t stage = 0; stage < plan->stage_count; stage++) {
        for (uint32_t member = 0; member < plan->stages[stage].member_count; member++)
            s->files[at++] = (gsrt_snapshot_file){.stage = stage, .member = member};
    }
}

gsrt_status gsrt_snapshots_begin(gsrt_snapshots *s, const gsrt_msg_snapshot *message, const gsrt_plan *plan)
{
    uint32_t count = 0;
    if (s->directory == NULL || s->pending.number != 0)
        return GSRT_OK;
    for (uint32_t stage = 0; stage < plan->stage_count; stage++)
        count += plan->stages[stage].member_count;
    free(s->files);
    s->files = calloc(count, sizeof *s->files);
    if (s->files == NULL)
        return GSRT_ENOMEM;
    list_parts(s, plan);
    for (uint32_t i = 0; i < message->requests_count; i++)
        s->requests[i] =
            (gsrt_snapshot_request){.request = message->requests[i], .block_count = message->block_counts[i]};
    s->pending = (gsrt_snapshot_manifest){.number = message->number,
                                          .shape = s->shape,
                                          .requests = s->requests,
                                          .request_count = message->requests_count,
                                          .files = s->files,
                                          .file_count = count};
    s->durable_count = 0;
    s->has_failed = false;
    return GSRT_OK;
}

static void commit(gsrt_snapshots *s)
{
    gsrt_diag diag = {0};
    gsrt_status status = gsrt_snapshot_commit(s->directory, &s->pending, &diag);
    if (status == GSRT_OK)
        s->report.committed += 1;
    else
        give_up(s, diag.status != GSRT_OK ? diag.text : gsrt_status_text(status));
}

void gsrt_snapshots_part(gsrt_snapshots *s, const gsrt_msg_snapshot_part *message)
{
    gsrt_snapshot_file *file = NULL;
    if (message->number != s->pending.number || message->number == 0)
        return; /* of one that was left out */
    for (uint32_t i = 0; i < s->pending.file_count; i++) {
        if (s->files[i].stage == message->stage && s->files[i].member == message->member)
            file = &s->files[i];
    }
    if (file == NULL)
        return;
    if (message->status != 0 && !s->has_failed) {
        if (message->status != GSRT_EFULL) /* it still writes one that was left out here: so is this one */
            give_up(s, gsrt_status_text((gsrt_status)message->status));
        s->has_failed = true;
    }
    file->bytes = message->bytes;
    file->hash = message->hash;
    s->durable_count += 1;
    if (s->durable_count < s->pending.file_count)
        return;
    if (!s->has_failed)
        commit(s);
    s->pending.number = 0;
}
