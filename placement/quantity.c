#include "placement/quantity.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

const char *gsrt_source_word(gsrt_source source)
{
    static const char *const words[GSRT_SOURCE_COUNT] = {
        [GSRT_SOURCE_NONE] = "",
        [GSRT_SOURCE_GUESS] = "guess",
        [GSRT_SOURCE_DECLARED] = "declared",
        [GSRT_SOURCE_DATASHEET] = "datasheet",
        [GSRT_SOURCE_PAPER] = "paper",
        [GSRT_SOURCE_DISCOVERED] = "discovered",
        [GSRT_SOURCE_MEASURED] = "measured",
        [GSRT_SOURCE_DERIVED] = "derived",
    };
    return words[source];
}

bool gsrt_source_parse(const char *text, gsrt_source *out)
{
    for (gsrt_source source = GSRT_SOURCE_GUESS; source < GSRT_SOURCE_DERIVED; source++) {
        const char *word = gsrt_source_word(source);
        size_t len = strlen(word);
        if (strncmp(text, word, len) != 0 || text[len] != ':' || text[len + 1 + strspn(text + len + 1, " ")] == 0)
            continue;
        *out = source;
        return true;
    }
    return false;
}

gsrt_quantity gsrt_quantity_exact(double value, gsrt_dimension dimension)
{
    return (gsrt_quantity){.value = value,
                           .lo = value,
                           .hi = value,
                           .dimension = dimension,
                           .is_known = true,
                           .confidence = 1,
                           .valid_from_day = GSRT_DAY_FIRST,
                           .valid_until_day = GSRT_DAY_LAST};
}

bool gsrt_quantity_is_valid_on(const gsrt_quantity *quantity, int32_t day)
{
    return quantity->is_known && quantity->valid_from_day <= day && day <= quantity->valid_until_day;
}

bool gsrt_quantity_overlap(const gsrt_quantity *a, const gsrt_quantity *b)
{
    assert(a->is_known && b->is_known);
    assert(gsrt_dimension_equal(a->dimension, b->dimension));
    return a->lo <= b->hi && b->lo <= a->hi;
}

/* ---- arithmetic ---- */

/* What a and b have in common; value and interval still to be set. */
static gsrt_quantity derived(gsrt_quantity a, gsrt_quantity b, gsrt_dimension dimension)
{
    if (!a.is_known || !b.is_known)
        return (gsrt_quantity){0};
    return (gsrt_quantity){
        .dimension = dimension,
        .is_known = true,
        .confidence = a.confidence * b.confidence,
        .source = GSRT_SOURCE_DERIVED,
        .valid_from_day = a.valid_from_day > b.valid_from_day ? a.valid_from_day : b.valid_from_day,
        .valid_until_day = a.valid_until_day < b.valid_until_day ? a.valid_until_day : b.valid_until_day,
    };
}

/* The sum of powers, or with sign -1 their difference. */
static gsrt_dimension combine(gsrt_dimension a, gsrt_dimension b, int sign)
{
    return (gsrt_dimension){.byte = (int8_t)(a.byte + sign * b.byte),
                            .second = (int8_t)(a.second + sign * b.second),
                            .op = (int8_t)(a.op + sign * b.op),
                            .joule = (int8_t)(a.joule + sign * b.joule),
                            .dollar = (int8_t)(a.dollar + sign * b.dollar),
                            .token = (int8_t)(a.token + sign * b.token)};
}

static gsrt_quantity with(gsrt_quantity base, double value, double lo, double hi)
{
    if (base.is_known) {
        base.value = value;
        base.lo = lo;
        base.hi = hi;
    }
    return base;
}

/* Both known: of one dimension. */
static bool may_meet(gsrt_quantity a, gsrt_quantity b)
{
    return !a.is_known || !b.is_known || gsrt_dimension_equal(a.dimension, b.dimension);
}

gsrt_quantity gsrt_quantity_add(gsrt_quantity a, gsrt_quantity b)
{
    assert(may_meet(a, b));
    return with(derived(a, b, a.dimension), a.value + b.value, a.lo + b.lo, a.hi + b.hi);
}

gsrt_quantity gsrt_quantity_sub(gsrt_quantity a, gsrt_quantity b)
{
    assert(may_meet(a, b));
    return with(derived(a, b, a.dimension), a.value - b.value, a.lo - b.hi, a.hi - b.lo);
}

/* 0 times infinity is 0 here: the limit of 0 times anything that is finite. */
static double product(double x, double y)
{
    return x == 0 || y == 0 ? 0 : x * y;
}

gsrt_quantity gsrt_quantity_mul(gsrt_quantity a, gsrt_quantity b)
{
    double ends[4] = {product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo), product(a.hi, b.hi)};
    double lo = fmin(fmin(ends[0], ends[1]), fmin(ends[2], ends[3]));
    double hi = fmax(fmax(ends[0], ends[1]), fmax(ends[2], ends[3]));
    return with(derived(a, b, combine(a.dimension, b.dimension, 1)), product(a.value, b.value), lo, hi);
}

gsrt_quantity gsrt_quantity_div(gsrt_quantity a, gsrt_quantity b)
{
    gsrt_quantity out = derived(a, b, combine(a.dimension, b.dimension, -1));
    if (!out.is_known)
        return out;
    double value = b.value == 0 ? (a.value == 0 ? 0 : copysign(INFINITY, a.value)) : a.value / b.value;
    if (b.lo > 0 || b.hi < 0) {
        double lo = fmin(fmin(a.lo / b.lo, a.lo / b.hi), fmin(a.hi / b.lo, a.hi / b.hi));
        double hi = fmax(fmax(a.lo / b.lo, a.lo / b.hi), fmax(a.hi / b.lo, a.hi / b.hi));
        return with(out, value, lo, hi);
    }
    if (a.lo >= 0 && b.lo >= 0)
        return with(out, value, b.hi == 0 ? value : a.lo / b.hi, INFINITY);
    return with(out, value, -INFINITY, INFINITY);
}

gsrt_quantity gsrt_quantity_min(gsrt_quantity a, gsrt_quantity b)
{
    assert(may_meet(a, b));
    return with(derived(a, b, a.dimension), fmin(a.value, b.value), fmin(a.lo, b.lo), fmin(a.hi, b.hi));
}

gsrt_quantity gsrt_quantity_max(gsrt_quantity a, gsrt_quantity b)
{
    assert(may_meet(a, b));
    return with(derived(a, b, a.dimension), fmax(a.value, b.value), fmax(a.lo, b.lo), fmax(a.hi, b.hi));
}

gsrt_quantity gsrt_quantity_scale(gsrt_quantity a, double factor)
{
    assert(isfinite(factor));
    return gsrt_quantity_mul(a, gsrt_quantity_exact(factor, (gsrt_dimension){0}));
}

/* ---- days ---- */

/* Days since 1970-01-01 of the proleptic Gregorian calendar. source: Howard Hinnant, "chrono-compatible low-level date
 * algorithms". */
static int32_t days_from(int32_t year, int32_t month, int32_t day)
{
    int32_t shifted = month <= 2 ? year - 1 : year;
    int32_t era = shifted / 400, of_era = shifted - era * 400;
    int32_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int32_t day, int32_t *year, int32_t *month, int32_t *of_month)
{
    int32_t shifted = day + 719468, era = shifted / 146097, of_era = shifted - era * 146097;
    int32_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int32_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int32_t from_march = (5 * of_year + 2) / 153;
    *of_month = of_year - (153 * from_march + 2) / 5 + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = year_of_era + era * 400 + (*month <= 2 ? 1 : 0);
}

bool gsrt_day_parse(const char *text, int32_t *out)
{
    static const char form[] = "dddd-dd-dd";
    int32_t parts[3] = {0}, part = 0;
    for (size_t i = 0; i < sizeof form - 1; i++) {
        if (form[i] == '-' && text[i] == '-')
            part++;
        else if (form[i] == 'd' && text[i] >= '0' && text[i] <= '9')
            parts[part] = parts[part] * 10 + (text[i] - '0');
        else
            return false;
    }
    if (text[sizeof form - 1] != 0 || parts[0] < 1000 || parts[1] < 1 || parts[1] > 12 || parts[2] < 1)
        return false;
    int32_t day = days_from(parts[0], parts[1], parts[2]), year, month, of_month;
    date_of(day, &year, &month, &of_month);
    if (month != parts[1] || of_month != parts[2])
        return false;
    *out = day;
    return true;
}

const char *gsrt_day_print(int32_t day, char room[12])
{
    int32_t year, month, of_month;
    date_of(day, &year, &month, &of_month);
    (void)snprintf(room, 12, "%04u-%02u-%02u", (unsigned)year % 10000, (unsigned)month % 100, (unsigned)of_month % 100);
    return room;
}
