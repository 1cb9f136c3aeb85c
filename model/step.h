/* Inside model/: a step as a region keeps it: an owned copy of the STEP message, laid out as the device wants it. */
#ifndef GSRT_MODEL_STEP_H
#define GSRT_MODEL_STEP_H

#include "backends/program.h"
#include "mailbox/kinds.h"

typedef struct gsrt__step {
    struct gsrt__step *next;
    uint64_t number;
    uint32_t row_count, sequence_count, wanted_count;
    bool is_logits_wanted;
    uint32_t *tokens;             /* [row_count] */
    gsrt_job_sequence *sequences; /* [sequence_count] */
    uint32_t *requests;           /* [sequence_count] */
    uint32_t *wanted;             /* [wanted_count] rows */
    uint32_t *wanted_requests;    /* [wanted_count] whose row it is */
    uint32_t *wanted_positions;   /* [wanted_count] position of the row */
    gsrt_sampling *sampling;      /* [wanted_count] */
    gsrt_sample_result *results;  /* [wanted_count] */
} gsrt__step;

/* Limits that a STEP is checked against: the message came from another rank. */
typedef struct gsrt__step_limits {
    uint32_t rows_max, vocab_count, block_count, position_count;
} gsrt__step_limits;

/* An owned copy. GSRT_OK | GSRT_EINVAL (arrays that do not fit together, numbers out of range) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__step_create(const gsrt_msg_step *message, const gsrt__step_limits *limits,
                                              gsrt__step **out);
gsrt__step *gsrt__step_free(gsrt__step *step);

#endif
