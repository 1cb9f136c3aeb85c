/* The answers of a run as they come in: tokens, text, hashes, times; and where they go (tokens.jsonl, logits,
 * terminal). Node's thread. Legal order: init, token / finished / logits in any number, read, fini. */
#ifndef GSRT_LAUNCH_ANSWERS_H
#define GSRT_LAUNCH_ANSWERS_H

#include "launch/eras.h"
#include "launch/loaded.h"
#include "launch/logits_file.h"
#include "launch/scenario.h"
#include "launch/terminal.h"
#include "launch/tokens.h"
#include "mailbox/envelope.h"
#include "model/utf8.h"

typedef struct gsrt_answer {
    uint32_t *prompt; /* [prompt_count]; owned */
    uint32_t prompt_count;
    uint32_t *tokens; /* [max_tokens]; owned */
    uint64_t *hashes; /* [max_tokens][2]: low, high; owned */
    uint32_t token_count, max_tokens;
    uint32_t finish; /* gsrt_finish; 0: has not ended */
    uint32_t prefix_tokens;
    uint64_t submitted_ns;
    uint64_t first_ns, last_ns; /* of the tokens that this process saw emitted; 0: it saw none */
    uint32_t first_timed;       /* index of the first of these: whoever led before had the others */
    gsrt_buffer text;
    size_t shown_bytes; /* of text: given to the terminal */
    gsrt_utf8 utf8;
} gsrt_answer;

typedef struct gsrt_answers {
    const gsrt_scenario *scenario; /* borrowed, like all below */
    const gsrt_loaded *loaded;
    gsrt_tokens *sink;
    gsrt_logits_file *logits; /* NULL: not wanted */
    gsrt_terminal *terminal;
    gsrt_answer *items; /* [scenario->request_count]; owned */
    gsrt_eras eras;     /* which regions were narrowed when */
    uint32_t finished_count;
    uint64_t token_total, token_goal;
    /* Told of each token: the sink has taken it (is_new), or it was there and had the same bits. NULL: nobody is. */
    void (*on_token)(void *arg, const gsrt_msg_token *token, bool is_new);
    void *on_token_arg;
} gsrt_answers;

/* The tokens of a request's prompt. *out owned: free; NULL where the count is 0. tokenizer NULL: there is none.
 * GSRT_OK | GSRT_EINPUT (*diag) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_request_tokens(const gsrt_scenario *scenario, const gsrt_scenario_request *request,
                                                const gsrt_tokenizer *tokenizer, uint32_t **out, size_t *out_count,
                                                gsrt_diag *diag);

/* Tokenises every prompt; a request that cannot fit the model's context is refused by name.
 * GSRT_OK | GSRT_EINPUT (*diag) | GSRT_ENOMEM. Call fini in any case. */
GSRT_MUST_CHECK gsrt_status gsrt_answers_init(gsrt_answers *answers, const gsrt_scenario *scenario,
                                              const gsrt_loaded *loaded, gsrt_diag *diag);
void gsrt_answers_fini(gsrt_answers *answers);

/* A token: to every sink, once and in order. One that was there before (its step was run again) is compared with it,
 * where both are of one era.
 * GSRT_OK | GSRT_ECONTRACT: it differs, *diag says where | GSRT_EIO | GSRT_ENOMEM | GSRT_ESTATE. */
GSRT_MUST_CHECK gsrt_status gsrt_answers_token(gsrt_answers *answers, const gsrt_msg_token *token, uint64_t now_ns,
                                               gsrt_diag *diag);
/* Take up what another process has emitted: the sink holds its file. is_ours: as gsrt_tokens_restore. Nothing of it is
 * shown, and when it was emitted is not known. Answers that are complete have ended. Errors as gsrt_tokens_restore, and
 * GSRT_EINPUT: more than was asked for. */
GSRT_MUST_CHECK gsrt_status gsrt_answers_restore(gsrt_answers *answers, const char *file, bool is_ours,
                                                 gsrt_diag *diag);
/* Give the terminal what it has not got yet. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_answers_show(gsrt_answers *answers);
GSRT_MUST_CHECK gsrt_status gsrt_answers_finished(gsrt_answers *answers, const gsrt_msg_finished *finished);
/* Leading whole blocks of KV that a view need not compute again, if somebody holds them: what is left shows the last
 * known token's logits once more. */
uint32_t gsrt_answer_restorable(const gsrt_answer *answer);
/* Raw logits f32 [positions_count, vocab]. */
GSRT_MUST_CHECK gsrt_status gsrt_answers_logits(gsrt_answers *answers, const gsrt_msg_logits *message,
                                                const gsrt_payload *payload);

/* Was this one emitted in the present era, so that computed again it has the same bits? */
bool gsrt_answers_is_of_era(const gsrt_answers *answers, uint32_t request, uint32_t index);

/* The plain reference pass over every answer, with weights as each token's era has them: compare each logit hash.
 * Blocks; any thread, once the answers are complete. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_answers_verify(const gsrt_answers *answers, gsrt_report_contract *out);

#endif
