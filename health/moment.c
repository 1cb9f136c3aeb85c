#include "health/moment.h"

#include "base/limits.h"

static const uint64_t at_ns_max = GSRT_FAULT_SECONDS_MAX * UINT64_C(1000000000);

bool gsrt_moment_is_legal(const gsrt_moment *m)
{
    bool has_token = m->request != 0 || m->token != 0;
    switch (m->kind) {
    case GSRT_MOMENT_TOKEN:
        return m->request < GSRT_REQUEST_COUNT_MAX && m->token >= 1 && m->token <= GSRT_CONTEXT_MAX && m->at_ns == 0 &&
               m->epoch == 0;
    case GSRT_MOMENT_TIME: return m->at_ns <= at_ns_max && !has_token && m->epoch == 0;
    case GSRT_MOMENT_VIEW: return m->epoch >= 2 && m->epoch <= GSRT_FAULT_EPOCH_MAX && !has_token && m->at_ns == 0;
    }
    return false;
}

bool gsrt_moment_has_come_by_token(const gsrt_moment *m, uint32_t request, uint32_t token_count)
{
    return m->kind == GSRT_MOMENT_TOKEN && m->request == request && token_count >= m->token;
}

bool gsrt_moment_has_come_by_time(const gsrt_moment *m, uint64_t now_ns)
{
    return m->kind == GSRT_MOMENT_TIME && now_ns >= m->at_ns;
}

bool gsrt_moment_has_come_by_view(const gsrt_moment *m, uint32_t epoch)
{
    return m->kind == GSRT_MOMENT_VIEW && epoch >= m->epoch;
}

bool gsrt_moment_is_past(const gsrt_moment *m, const uint32_t *token_counts, uint32_t request_count, uint64_t now_ns,
                         uint32_t epoch)
{
    switch (m->kind) {
    case GSRT_MOMENT_TOKEN: return m->request < request_count && token_counts[m->request] >= m->token;
    case GSRT_MOMENT_TIME: return now_ns >= m->at_ns;
    case GSRT_MOMENT_VIEW: return epoch > m->epoch;
    }
    return false;
}
