/* Inside placement: what the scheduler holds. */
#ifndef GSRT_PLACEMENT_SCHEDULER_IMPL_H
#define GSRT_PLACEMENT_SCHEDULER_IMPL_H

#include "placement/block_pool.h"
#include "placement/scheduler.h"

typedef enum request_state { WAITING, PREFILL, DECODE, FINISHED } request_state;

typedef struct request {
    request_state state;
    bool is_reported; /* its FINISHED was drawn */
    gsrt_finish finish;
    uint32_t number, max_tokens, prompt_count;
    uint32_t token_count;  /* prompt and answer so far */
    uint32_t issued;       /* positions in steps sent so far, reused ones included */
    uint32_t computed;     /* positions whose KV is complete */
    uint32_t noted_blocks; /* leading full blocks that were offered to the prefix table */
    uint32_t prefix_count; /* positions reused at admission */
    uint32_t restored;     /* leading positions whose KV somebody holds: whole blocks */
    bool is_restoring;     /* admitted, and its RESTORE not yet drawn */
    uint32_t known_count;  /* of the answer, given with the request: computed again, and compared by the gateway */
    uint32_t drawn;        /* of the answer: tokens whose logits have come back */
    uint32_t emitted;      /* TOKENs drawn by the owner */
    uint32_t block_count;
    bool is_ignoring_eos, is_logits_wanted, is_watched;
    float temperature, top_p;
    uint32_t top_k;
    uint64_t seed;
    uint32_t *tokens; /* [prompt_count + max_tokens] */
    uint64_t *hashes; /* [max_tokens][2]: low, high */
    uint32_t *blocks; /* [block_count] from admission on */
} request;

/* A step in flight: which rows belong to whom. */
typedef struct flight {
    uint64_t step;
    uint32_t sequence_count, wanted_count;
    struct {
        request *request;
        uint32_t row_count, end;                            /* rows up to position `end`, not included */
        uint32_t wanted_first, wanted_count, sampled_count; /* the last sampled_count of the wanted rows draw a token */
    } sequences[GSRT_BATCH_SEQUENCES_MAX];
} flight;

/* The arrays of the STEP that is being made. */
typedef struct draft {
    uint32_t row_count, sequence_count, wanted_count, block_total;
    uint32_t tokens[GSRT_BATCH_ROWS_MAX];
    uint32_t requests[GSRT_BATCH_SEQUENCES_MAX], row_counts[GSRT_BATCH_SEQUENCES_MAX];
    uint32_t positions[GSRT_BATCH_SEQUENCES_MAX], block_counts[GSRT_BATCH_SEQUENCES_MAX];
    uint32_t blocks[GSRT_BODY_BYTES_MAX / 8];
    uint32_t wanted[GSRT_BATCH_ROWS_MAX], is_sampled[GSRT_BATCH_ROWS_MAX], top_ks[GSRT_BATCH_ROWS_MAX];
    float temperatures[GSRT_BATCH_ROWS_MAX], top_ps[GSRT_BATCH_ROWS_MAX];
    uint64_t seeds[GSRT_BATCH_ROWS_MAX];
    bool is_logits_wanted;
} draft;

/* A region that moves (placement/scheduler_move.c). */
typedef enum move_phase { STAYING, AHEAD, HOLDING, COPYING, HANDED_OVER } move_phase;

typedef struct move {
    move_phase phase;
    gsrt_msg_move what;
    bool is_ahead_done; /* AHEAD: what was whole has been copied */
    bool is_out;        /* a COPY has not come back */
    bool is_settled;    /* COPYING: a COPY was drawn: only then is it certain that the region has ended its last step */
    bool is_said;       /* HANDED_OVER: drawn */
    bool *is_copied;    /* [block_count] since it was taken last */
    uint32_t copied_count;
    uint64_t copied_bytes;
} move;

struct gsrt_scheduler {
    gsrt_scheduler_options options;
    uint32_t stops[GSRT_SCHEDULER_STOPS_MAX];
    gsrt_block_pool *pool;
    request **requests; /* [request_count] in order of submission */
    uint32_t request_count, request_capacity;
    uint32_t live_first; /* requests before it are finished and reported */
    uint32_t admitted_count;
    uint64_t step_last;
    uint64_t snapshot_next;
    uint32_t token_count; /* new ones since the last snapshot */
    flight *flights;      /* ring [window] */
    uint32_t flight_first, flight_count;
    draft draft;
    move move;
};

/* The next action of a move; false: none now. */
bool gsrt__scheduler_poll_move(gsrt_scheduler *scheduler, gsrt_scheduler_action *out);

#endif
