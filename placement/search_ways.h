/* The ways in which engines can share a stage, and what they take for a layer of one token: what search_stages.c
 * prices. */
#ifndef GSRT_PLACEMENT_SEARCH_WAYS_H
#define GSRT_PLACEMENT_SEARCH_WAYS_H

#include "placement/cost_impl.h"
#include "placement/search_impl.h"

enum {
    GSRT__KINDS_MAX = 8,                        /* layers that are alike */
    GSRT__BATCHES_MAX = 144,                    /* batches at which stages are looked at */
    GSRT__WIDTHS = 8,                           /* of a group, 1 to 8, are looked at one by one */
    GSRT__WIDES = 5,                            /* then: all that are wider, in one place; in up to 2, 4, 8 and more */
    GSRT__ENTRIES = GSRT__WIDTHS + GSRT__WIDES, /* of one class */
};

/* A way for engines of one class to share a stage. */
typedef struct gsrt__way {
    uint32_t class, entry; /* entry: width - 1; or WIDTHS and which of the wider ones */
    double *prefill;       /* [kind] engine-seconds of a layer for a prompt's share of one token of the output */
    double *decode;        /* [batch][kind] engine-seconds of a layer for one token */
} gsrt__way;

typedef struct gsrt__ways {
    gsrt__search *s;
    uint32_t numeric;
    gsrt_deployment *d; /* one pool, one stage: what is asked about */
    gsrt_cost_question question;
    gsrt__request request;
    uint32_t region[GSRT__KINDS_MAX], layer[GSRT__KINDS_MAX]; /* one of each kind */
    double count[GSRT__KINDS_MAX];
    uint32_t kind_count;
    double batches[GSRT__BATCHES_MAX]; /* ascending; a batch stands for all above the one before it */
    uint32_t batch_count;
    double state_bytes; /* of a sequence */
    gsrt__way *ways;
    uint32_t way_count, way_capacity;
    double *categories; /* [class][batch + 1: of a prompt][kind][category] seconds of one engine for one token */
    bool *is_usable, *is_mixed; /* [class]; mixed: engines of it may share a stage with others */
    double engine_count;        /* of all classes */
} gsrt__ways;

/* Kinds of layers under one numeric choice, and what the cost model is asked about. *out is of s->scratch, freed with
 * gsrt__ways_fini in any case. No kinds: there are too many to say anything. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__ways_begin(gsrt__search *s, uint32_t numeric, gsrt__ways *out);
/* All ways of these kinds, at all batches. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__ways_find(gsrt__ways *x);
void gsrt__ways_fini(gsrt__ways *x);

/* Set what is asked about: engines of one class, and how they share a stage. */
void gsrt__ways_members(gsrt__ways *x, uint32_t class, uint32_t width);
void gsrt__ways_group(gsrt__ways *x, uint32_t data, uint32_t experts, gsrt_collective_algorithm algorithm);
/* Positions that a row sees, on average. */
double gsrt__ways_seen(const gsrt__ways *x, gsrt_phase phase);
bool gsrt__ways_admit(const gsrt__ways *x, uint32_t class, uint32_t algorithm);

/* [GSRT__BOUND_CATEGORIES] of one kind; batch: index, past the last: of prompts. */
double *gsrt__category_at(const gsrt__ways *x, uint32_t class, uint32_t batch, uint32_t kind);

/* The smallest of the wider groups of each kind; past the last kind: one more than all engines. */
uint64_t gsrt__wide_from(const gsrt__engine_class *class, uint32_t wide);

#endif
