/* A number about the world, and what is known of it: unit, lowest and highest, confidence, source, validity.
 *
 * The value is kept in base units (B, s, op, J, $, token); its dimension says which, and is checked wherever two
 * quantities meet. Texts are what people write: "80 GB", "3.35 TB/s", "312 TFLOPS [300, 312]", "2 us", "2.5 $/h".
 *
 *     gsrt_quantity_parse("3.35 TB/s [3, 3.4]", (gsrt_dimension){.byte = 1, .second = -1}, &q, &problem);
 *
 * No clock here: who asks whether a quantity is valid names the day. Thread: any. Nothing is allocated.
 */
#ifndef GSRT_PLACEMENT_QUANTITY_H
#define GSRT_PLACEMENT_QUANTITY_H

#include <string.h>

#include "base/buffer.h"

/* Powers of the base units; W is J/s, FLOPS is op/s. All 0: a plain number. */
typedef struct gsrt_dimension {
    int8_t byte, second, op, joule, dollar, token;
} gsrt_dimension;

/* Where a number comes from, the weakest first. In texts: the word before the first colon of a source. */
typedef enum gsrt_source {
    GSRT_SOURCE_NONE,       /* nobody said: debt */
    GSRT_SOURCE_GUESS,      /* "guess: ..." */
    GSRT_SOURCE_DECLARED,   /* "declared: ...": whoever offers the thing says so */
    GSRT_SOURCE_DATASHEET,  /* "datasheet: ..." */
    GSRT_SOURCE_PAPER,      /* "paper: ..." */
    GSRT_SOURCE_DISCOVERED, /* "discovered: ...": what the system says of itself */
    GSRT_SOURCE_MEASURED,   /* "measured: ..." */
    GSRT_SOURCE_DERIVED,    /* computed from other quantities */
    GSRT_SOURCE_COUNT,
} gsrt_source;

typedef struct gsrt_quantity {
    double value;  /* in base units; finite */
    double lo, hi; /* lo <= value <= hi; equal where no interval is known; hi may be infinite after a division */
    gsrt_dimension dimension;
    bool is_known;     /* false: nobody stated it, and it must not be used; all else is 0 then */
    double confidence; /* 0..1: how likely the truth lies in lo..hi */
    gsrt_source source;
    const char *source_text; /* "datasheet: H100, 2023", the kind included; borrowed; NULL: nothing */
    int32_t valid_from_day;  /* days since 1970-01-01, inclusive; GSRT_DAY_FIRST: no beginning */
    int32_t valid_until_day; /* inclusive; GSRT_DAY_LAST: no end */
} gsrt_quantity;

enum { GSRT_DAY_FIRST = INT32_MIN, GSRT_DAY_LAST = INT32_MAX };

/* Why a text is no quantity. reason: one word for programs, static: "not_a_number", "missing_unit", "unknown_unit",
 * "ambiguous_unit", "wrong_dimension", "lo_above_hi", "value_outside_interval". */
typedef struct gsrt_quantity_problem {
    const char *reason;
    char text[200]; /* what, and the remedy, for people */
} gsrt_quantity_problem;

/* Read "NUMBER UNIT" or "NUMBER UNIT [LO, HI]", where LO and HI may have units of their own. *out is known, with
 * confidence 1 and no source. GSRT_OK | GSRT_EINPUT: *problem says why. */
GSRT_MUST_CHECK gsrt_status gsrt_quantity_parse(const char *text, gsrt_dimension wanted, gsrt_quantity *out,
                                                gsrt_quantity_problem *problem);

/* Append value and interval as gsrt_quantity_parse takes them back, to the same bits: the shortest such text. Unknown:
 * "unknown". Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_quantity_print(const gsrt_quantity *quantity, gsrt_buffer *out);

/* The base unit: "B/s", "W", "$/h"; "a plain number" for none. Returns `room`. */
const char *gsrt_dimension_name(gsrt_dimension dimension, char *room, size_t room_bytes);

static inline bool gsrt_dimension_equal(gsrt_dimension a, gsrt_dimension b)
{
    return memcmp(&a, &b, sizeof a) == 0; /* bytes, no padding */
}

/* "datasheet", ...; "" for NONE. Static. */
const char *gsrt_source_word(gsrt_source source);

/* The kind of source that "datasheet: H100, 2023" names. false: no kind, or nothing behind the colon; DERIVED is none
 * that a text can claim. */
bool gsrt_source_parse(const char *text, gsrt_source *out);

/* A known quantity without interval or source. */
gsrt_quantity gsrt_quantity_exact(double value, gsrt_dimension dimension);

/* false: unknown, or the day is outside of its validity. */
bool gsrt_quantity_is_valid_on(const gsrt_quantity *quantity, int32_t day);

/* Interval arithmetic: value from the values, lo..hi every result that is possible for inputs within theirs. (Rounding
 * of doubles is not added.) The inputs are taken to be independent: the same quantity twice, x / x, gives a wider
 * interval than the truth, never a narrower one. Confidence is the product of the inputs', validity what they share,
 * source GSRT_SOURCE_DERIVED. Any input unknown: the result is unknown. Dimensions of add, sub, min and max must be
 * equal (asserted); mul and div combine them. A division by an interval that holds 0 gives -inf..inf, or 0..inf where
 * nothing is negative. */
gsrt_quantity gsrt_quantity_add(gsrt_quantity a, gsrt_quantity b);
gsrt_quantity gsrt_quantity_sub(gsrt_quantity a, gsrt_quantity b);
gsrt_quantity gsrt_quantity_mul(gsrt_quantity a, gsrt_quantity b);
gsrt_quantity gsrt_quantity_div(gsrt_quantity a, gsrt_quantity b);
gsrt_quantity gsrt_quantity_min(gsrt_quantity a, gsrt_quantity b);
gsrt_quantity gsrt_quantity_max(gsrt_quantity a, gsrt_quantity b);
gsrt_quantity gsrt_quantity_scale(gsrt_quantity a, double factor); /* factor: exact, finite */

/* Do the intervals have a point in common? Both known and of one dimension (asserted). */
bool gsrt_quantity_overlap(const gsrt_quantity *a, const gsrt_quantity *b);

/* "2026-11-30" to days since 1970-01-01, and back. false: no day of the calendar (years 1000 to 9999). */
bool gsrt_day_parse(const char *text, int32_t *out);
/* "2026-11-30"; returns `room`. */
const char *gsrt_day_print(int32_t day, char room[12]);

#endif
