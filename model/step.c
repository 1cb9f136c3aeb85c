#include "model/step.h"

#include <stdlib.h>
#include <string.h>

gsrt__step *gsrt__step_free(gsrt__step *step)
{
    free(step);
    return NULL;
}

/* Parts of one allocation, each aligned to 8. */
static void *part(uint8_t **at, size_t count, size_t size)
{
    void *here = *at;
    *at += (count * size + 7) / 8 * 8;
    return here;
}

static bool fits(const gsrt_msg_step *m, const gsrt__step_limits *limits)
{
    uint64_t rows = 0, blocks = 0;
    if (m->tokens_count == 0 || m->tokens_count > limits->rows_max || m->row_counts_count != m->requests_count ||
        m->positions_count != m->requests_count || m->block_counts_count != m->requests_count ||
        m->is_sampled_count != m->wanted_count || m->temperatures_count != m->wanted_count ||
        m->top_ks_count != m->wanted_count || m->top_ps_count != m->wanted_count || m->seeds_count != m->wanted_count)
        return false;
    for (uint32_t i = 0; i < m->tokens_count; i++) {
        if (m->tokens[i] >= limits->vocab_count)
            return false;
    }
    for (uint32_t i = 0; i < m->requests_count; i++) {
        uint64_t end = (uint64_t)m->positions[i] + m->row_counts[i];
        if (m->row_counts[i] == 0 || end > limits->position_count ||
            end > (uint64_t)m->block_counts[i] * GSRT_KV_BLOCK_POSITIONS)
            return false;
        rows += m->row_counts[i];
        blocks += m->block_counts[i];
    }
    for (uint32_t i = 0; i < m->blocks_count; i++) {
        if (m->blocks[i] >= limits->block_count)
            return false;
    }
    for (uint32_t i = 0; i < m->wanted_count; i++) {
        if (m->wanted[i] >= m->tokens_count || (i > 0 && m->wanted[i] <= m->wanted[i - 1]))
            return false;
    }
    return rows == m->tokens_count && blocks == m->blocks_count;
}

static void fill_sequences(gsrt__step *step, const gsrt_msg_step *m, const uint32_t *blocks)
{
    uint32_t row = 0, wanted = 0;
    for (uint32_t i = 0; i < m->requests_count; i++) {
        step->sequences[i] = (gsrt_job_sequence){
            .row_first = row, .row_count = m->row_counts[i], .position_first = m->positions[i], .blocks = blocks};
        blocks += m->block_counts[i];
        for (; wanted < m->wanted_count && m->wanted[wanted] < row + m->row_counts[i]; wanted++) {
            step->wanted_requests[wanted] = m->requests[i];
            step->wanted_positions[wanted] = m->positions[i] + m->wanted[wanted] - row;
        }
        row += m->row_counts[i];
    }
}

gsrt_status gsrt__step_create(const gsrt_msg_step *m, const gsrt__step_limits *limits, gsrt__step **out)
{
    if (!fits(m, limits))
        return GSRT_EINVAL;
    size_t words = (size_t)m->tokens_count + m->requests_count + m->blocks_count + 3 * (size_t)m->wanted_count;
    size_t bytes = sizeof(gsrt__step) + 4 * words + 64 + m->requests_count * sizeof(gsrt_job_sequence) +
                   m->wanted_count * (sizeof(gsrt_sampling) + sizeof(gsrt_sample_result));
    gsrt__step *step = calloc(1, bytes);
    if (step == NULL)
        return GSRT_ENOMEM;
    uint8_t *at = (uint8_t *)(step + 1);
    step->number = m->step;
    step->row_count = m->tokens_count;
    step->sequence_count = m->requests_count;
    step->wanted_count = m->wanted_count;
    step->is_logits_wanted = m->is_logits_wanted;
    step->sequences = part(&at, m->requests_count, sizeof *step->sequences);
    step->sampling = part(&at, m->wanted_count, sizeof *step->sampling);
    step->results = part(&at, m->wanted_count, sizeof *step->results);
    step->tokens = part(&at, m->tokens_count, sizeof *step->tokens);
    step->requests = part(&at, m->requests_count, sizeof *step->requests);
    step->wanted = part(&at, m->wanted_count, sizeof *step->wanted);
    step->wanted_requests = part(&at, m->wanted_count, sizeof *step->wanted_requests);
    step->wanted_positions = part(&at, m->wanted_count, sizeof *step->wanted_positions);
    uint32_t *blocks = part(&at, m->blocks_count, sizeof *blocks);
    memcpy(step->tokens, m->tokens, m->tokens_count * sizeof *m->tokens);
    memcpy(step->requests, m->requests, m->requests_count * sizeof *m->requests);
    memcpy(blocks, m->blocks, m->blocks_count * sizeof *m->blocks);
    if (m->wanted_count > 0)
        memcpy(step->wanted, m->wanted, m->wanted_count * sizeof *m->wanted);
    fill_sequences(step, m, blocks);
    for (uint32_t i = 0; i < m->wanted_count; i++)
        step->sampling[i] = (gsrt_sampling){.is_sampled = m->is_sampled[i] != 0,
                                            .temperature = m->temperatures[i],
                                            .top_k = m->top_ks[i],
                                            .top_p = m->top_ps[i],
                                            .seed = m->seeds[i],
                                            .position = (uint64_t)step->wanted_positions[i] + 1};
    *out = step;
    return GSRT_OK;
}
