/* Quantities as people write them. A unit is ATOM or ATOM/ATOM, each atom with a prefix where its row allows that.
 * Scales are kept as a numerator and a denominator, both exact in a double, so that "2 us" is the double nearest to
 * 2e-6 and "80 GB" is exact. */
#include "placement/quantity.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { UNIT_BYTES_MAX = 24, TEXT_BYTES_MAX = 64 };

typedef enum prefixes { PLAIN = 0, LARGER = 1, SMALLER = 2, BINARY = 4 } prefixes;

typedef struct atom {
    const char *name;
    gsrt_dimension dimension;
    double numerator, denominator; /* times base units */
    int prefixes;                  /* which are allowed */
} atom;

static const atom atoms[] = {
    {"B", {.byte = 1}, 1, 1, LARGER | BINARY},
    {"bit", {.byte = 1}, 1, 8, LARGER | BINARY},
    {"s", {.second = 1}, 1, 1, SMALLER},
    {"min", {.second = 1}, 60, 1, PLAIN},
    {"h", {.second = 1}, 3600, 1, PLAIN},
    {"d", {.second = 1}, 86400, 1, PLAIN},
    {"op", {.op = 1}, 1, 1, LARGER},
    {"ops", {.op = 1}, 1, 1, LARGER},
    {"FLOP", {.op = 1}, 1, 1, LARGER},
    {"FLOPS", {.op = 1, .second = -1}, 1, 1, LARGER},
    {"OPS", {.op = 1, .second = -1}, 1, 1, LARGER},
    {"J", {.joule = 1}, 1, 1, LARGER | SMALLER},
    {"W", {.joule = 1, .second = -1}, 1, 1, LARGER | SMALLER},
    {"Wh", {.joule = 1}, 3600, 1, LARGER},
    {"$", {.dollar = 1}, 1, 1, LARGER},
    {"tok", {.token = 1}, 1, 1, LARGER},
    {"%", {0}, 1, 100, PLAIN},
};

static const struct prefix {
    const char *name;
    double numerator, denominator;
    int kind;
} prefix_rows[] = {
    {"Ki", 1024.0, 1, BINARY},
    {"Mi", 1048576.0, 1, BINARY},
    {"Gi", 1073741824.0, 1, BINARY},
    {"Ti", 1099511627776.0, 1, BINARY},
    {"Pi", 1125899906842624.0, 1, BINARY},
    {"k", 1e3, 1, LARGER},
    {"M", 1e6, 1, LARGER},
    {"G", 1e9, 1, LARGER},
    {"T", 1e12, 1, LARGER},
    {"P", 1e15, 1, LARGER},
    {"E", 1e18, 1, LARGER},
    {"m", 1, 1e3, SMALLER},
    {"u", 1, 1e6, SMALLER},
    {"n", 1, 1e9, SMALLER},
    {"p", 1, 1e12, SMALLER},
};

enum { ATOM_COUNT = sizeof atoms / sizeof atoms[0], PREFIX_COUNT = sizeof prefix_rows / sizeof prefix_rows[0] };

/* A unit: number * numerator / denominator base units. */
typedef struct unit {
    gsrt_dimension dimension;
    double numerator, denominator;
} unit;

static double in_base(double number, const unit *of)
{
    return number * of->numerator / of->denominator;
}

/* ---- units ---- */

static bool find_atom(const char *name, size_t len, unit *out)
{
    for (size_t i = 0; i < ATOM_COUNT; i++) {
        const atom *row = &atoms[i];
        size_t row_len = strlen(row->name);
        if (len < row_len || memcmp(name + len - row_len, row->name, row_len) != 0)
            continue;
        size_t prefix_len = len - row_len;
        if (prefix_len == 0) {
            *out = (unit){row->dimension, row->numerator, row->denominator};
            return true;
        }
        for (size_t p = 0; p < PREFIX_COUNT; p++) {
            const struct prefix *prefix = &prefix_rows[p];
            if ((prefix->kind & row->prefixes) != 0 && strlen(prefix->name) == prefix_len &&
                memcmp(prefix->name, name, prefix_len) == 0) {
                *out =
                    (unit){row->dimension, row->numerator * prefix->numerator, row->denominator * prefix->denominator};
                return true;
            }
        }
    }
    return false;
}

static bool find_unit(const char *name, size_t len, unit *out)
{
    const char *slash = memchr(name, '/', len);
    size_t first_len = slash == NULL ? len : (size_t)(slash - name);
    unit first, second;
    if (!find_atom(name, first_len, &first))
        return false;
    if (slash == NULL) {
        *out = first;
        return true;
    }
    if (!find_atom(slash + 1, len - first_len - 1, &second))
        return false;
    const gsrt_dimension a = first.dimension, b = second.dimension;
    *out = (unit){{(int8_t)(a.byte - b.byte), (int8_t)(a.second - b.second), (int8_t)(a.op - b.op),
                   (int8_t)(a.joule - b.joule), (int8_t)(a.dollar - b.dollar), (int8_t)(a.token - b.token)},
                  first.numerator * second.denominator,
                  first.denominator * second.numerator};
    return true;
}

/* Units to print each dimension in, the preferred first where texts are equally short; the first words are also the
 * dimension's name, in base units. */
static const struct printed {
    gsrt_dimension dimension;
    const char *base;
    const char *units[10]; /* ends with NULL where it has fewer */
} printed_rows[] = {
    {{.byte = 1}, "B", {"TB", "GB", "MB", "kB", "TiB", "GiB", "MiB", "KiB", "B"}},
    {{.byte = 1, .second = -1}, "B/s", {"TB/s", "GB/s", "MB/s", "kB/s", "Gbit/s", "B/s"}},
    {{.second = 1}, "s", {"d", "h", "s", "ms", "us", "ns"}},
    {{.op = 1}, "op", {"Top", "Gop", "Mop", "op"}},
    {{.op = 1, .second = -1}, "op/s", {"Pop/s", "Top/s", "Gop/s", "Mop/s", "op/s"}},
    {{.joule = 1, .second = -1}, "W", {"MW", "kW", "W", "mW"}},
    {{.joule = 1}, "J", {"kWh", "kJ", "J", "mJ", "uJ", "nJ", "pJ"}},
    {{.joule = 1, .byte = -1}, "J/B", {"J/B", "uJ/B", "nJ/B", "pJ/B", "pJ/bit"}},
    {{.joule = 1, .op = -1}, "J/op", {"J/op", "nJ/op", "pJ/op"}},
    {{.joule = 1, .token = -1}, "J/tok", {"J/tok", "mJ/tok"}},
    {{.dollar = 1}, "$", {"$"}},
    {{.dollar = 1, .second = -1}, "$/s", {"$/h", "$/s"}},
    {{.dollar = 1, .byte = -1}, "$/B", {"$/TB", "$/GB", "$/B"}},
    {{.dollar = 1, .joule = -1}, "$/J", {"$/kWh", "$/J"}},
    {{.dollar = 1, .token = -1}, "$/tok", {"$/Mtok", "$/tok"}},
    {{.token = 1}, "tok", {"tok"}},
    {{.token = 1, .second = -1}, "tok/s", {"ktok/s", "tok/s"}},
    {{.token = 1, .dollar = -1}, "tok/$", {"Mtok/$", "tok/$"}},
};

static const struct printed *printed_of(gsrt_dimension dimension)
{
    for (size_t i = 0; i < sizeof printed_rows / sizeof printed_rows[0]; i++) {
        if (gsrt_dimension_equal(printed_rows[i].dimension, dimension))
            return &printed_rows[i];
    }
    return NULL;
}

const char *gsrt_dimension_name(gsrt_dimension dimension, char *room, size_t room_bytes)
{
    const struct printed *row = printed_of(dimension);
    if (row != NULL) {
        (void)snprintf(room, room_bytes, "%s", row->base);
        return room;
    }
    if (gsrt_dimension_equal(dimension, (gsrt_dimension){0})) {
        (void)snprintf(room, room_bytes, "a plain number");
        return room;
    }
    (void)snprintf(room, room_bytes, "B^%d s^%d op^%d J^%d $^%d tok^%d", dimension.byte, dimension.second, dimension.op,
                   dimension.joule, dimension.dollar, dimension.token);
    return room;
}

/* ---- reading ---- */

static gsrt_status refuse(gsrt_quantity_problem *problem, const char *reason, const char *format, ...)
    GSRT_PRINTF(3, 4);

static gsrt_status refuse(gsrt_quantity_problem *problem, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(problem->text, sizeof problem->text, format, args);
    va_end(args);
    problem->reason = reason;
    return GSRT_EINPUT;
}

static const char *skip_spaces(const char *at)
{
    return at + strspn(at, " \t");
}

static size_t digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* [-+]?D+(.D*)?([eE][-+]?D+)?, so neither inf nor hexadecimal. Bytes of it; 0: no number. */
static size_t number_bytes(const char *text)
{
    const char *at = text + (*text == '-' || *text == '+' ? 1 : 0);
    size_t whole = digits(at);
    at += whole;
    if (*at == '.') {
        size_t fraction = digits(at + 1);
        whole += fraction;
        at += 1 + fraction;
    }
    if (whole == 0)
        return 0;
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1 + (at[1] == '-' || at[1] == '+' ? 1 : 0);
        size_t count = digits(exponent);
        if (count > 0)
            at = exponent + count;
    }
    return (size_t)(at - text);
}

/* "Gb/s": bits or bytes? The readers of the world disagree, so it is not guessed. */
static bool is_ambiguous(const char *name, size_t len)
{
    const char *slash = memchr(name, '/', len);
    size_t first_len = slash == NULL ? len : (size_t)(slash - name);
    unit ignored;
    char bytes[UNIT_BYTES_MAX];
    if (first_len == 0 || first_len >= sizeof bytes || name[first_len - 1] != 'b')
        return false;
    memcpy(bytes, name, first_len);
    bytes[first_len - 1] = 'B';
    return find_atom(bytes, first_len, &ignored);
}

static gsrt_status read_unit(const char *name, size_t len, gsrt_dimension wanted, unit *out,
                             gsrt_quantity_problem *problem)
{
    char needed[TEXT_BYTES_MAX], found[TEXT_BYTES_MAX];
    gsrt_dimension_name(wanted, needed, sizeof needed);
    if (len == 0 && !gsrt_dimension_equal(wanted, (gsrt_dimension){0})) {
        const struct printed *row = printed_of(wanted);
        return refuse(problem, "missing_unit", "no unit; write one of %s, such as '1 %s'", needed,
                      row == NULL ? needed : row->units[0]);
    }
    if (len == 0) {
        *out = (unit){wanted, 1, 1};
        return GSRT_OK;
    }
    if (is_ambiguous(name, len))
        return refuse(problem, "ambiguous_unit", "'%.*s' may mean bits or bytes; write 'bit' or 'B'", (int)len, name);
    if (len >= UNIT_BYTES_MAX || !find_unit(name, len, out))
        return refuse(problem, "unknown_unit", "unknown unit '%.*s'; write one of %s",
                      (int)(len < UNIT_BYTES_MAX ? len : UNIT_BYTES_MAX), name, needed);
    if (!gsrt_dimension_equal(out->dimension, wanted))
        return refuse(problem, "wrong_dimension", "'%.*s' is a unit of %s, and this is measured in %s", (int)len, name,
                      gsrt_dimension_name(out->dimension, found, sizeof found), needed);
    return GSRT_OK;
}

/* NUMBER [UNIT] up to one of `ends`. *used: the unit found; where there is none, `used` as it was, if it is one. */
static gsrt_status read_number(const char **text, const char *ends, gsrt_dimension wanted, unit *used, double *out,
                               gsrt_quantity_problem *problem)
{
    const char *at = skip_spaces(*text);
    size_t len = number_bytes(at);
    if (len == 0)
        return refuse(problem, "not_a_number", "'%.40s' does not begin with a number; write it like '80 GB'", at);
    double number = strtod(at, NULL);
    at = skip_spaces(at + len);
    size_t unit_len = strcspn(at, ends);
    const char *rest = at + unit_len;
    while (unit_len > 0 && (at[unit_len - 1] == ' ' || at[unit_len - 1] == '\t'))
        unit_len--;
    if (unit_len > 0 || used->denominator == 0) {
        gsrt_status status = read_unit(at, unit_len, wanted, used, problem);
        if (status != GSRT_OK)
            return status;
    }
    double value = in_base(number, used);
    if (!isfinite(value))
        return refuse(problem, "not_a_number", "'%.40s' is past what a number can hold", *text);
    *out = value;
    *text = rest;
    return GSRT_OK;
}

gsrt_status gsrt_quantity_parse(const char *text, gsrt_dimension wanted, gsrt_quantity *out,
                                gsrt_quantity_problem *problem)
{
    unit used = {0};
    double value, lo, hi;
    const char *at = text;
    gsrt_status status = read_number(&at, "[", wanted, &used, &value, problem);
    if (status != GSRT_OK)
        return status;
    lo = hi = value;
    if (*at == '[') {
        at++;
        unit own = used;
        status = read_number(&at, ",]", wanted, &own, &lo, problem);
        if (status == GSRT_OK && *at != ',')
            status = refuse(problem, "not_a_number", "'[' begins an interval; write it like '80 GB [79, 81]'");
        at += status == GSRT_OK ? 1 : 0;
        own = used;
        if (status == GSRT_OK)
            status = read_number(&at, "]", wanted, &own, &hi, problem);
        if (status == GSRT_OK && (*at != ']' || *skip_spaces(at + 1) != 0))
            status = refuse(problem, "not_a_number", "the interval does not end; write it like '80 GB [79, 81]'");
        if (status != GSRT_OK)
            return status;
    }
    if (lo > hi)
        return refuse(problem, "lo_above_hi", "the lowest value is above the highest; write [lowest, highest]");
    if (value < lo || value > hi)
        return refuse(problem, "value_outside_interval", "the value is outside of its own interval; widen it");
    *out = gsrt_quantity_exact(value, wanted);
    out->lo = lo;
    out->hi = hi;
    return GSRT_OK;
}

/* ---- printing ---- */

/* `value` in the unit `name`; false: no text in it reads back as the same double. */
static bool print_in(double value, const char *name, char room[TEXT_BYTES_MAX])
{
    unit used;
    if (*name == 0)
        used = (unit){.numerator = 1, .denominator = 1};
    else if (!find_unit(name, strlen(name), &used))
        return false;
    double number = value * used.denominator / used.numerator;
    for (int count = 1; count <= 17; count++) {
        char text[40];
        (void)snprintf(text, sizeof text, "%.*g", count, number);
        if (fabs(number) < 1e6 && trunc(number) == number)
            (void)snprintf(text, sizeof text, "%.0f", number);
        if (in_base(strtod(text, NULL), &used) == value) {
            (void)snprintf(room, TEXT_BYTES_MAX, "%s%s%s", text, *name == 0 ? "" : " ", name);
            return true;
        }
    }
    return false;
}

/* The shortest text of all units of the dimension; the base unit, whose scale is 1, always has one. */
static void print_shortest(double value, gsrt_dimension dimension, char room[TEXT_BYTES_MAX])
{
    const struct printed *row = printed_of(dimension);
    room[0] = 0;
    if (row == NULL) {
        (void)print_in(value, "", room);
        return;
    }
    (void)print_in(value, row->base, room);
    for (size_t i = 0; i < sizeof row->units / sizeof row->units[0] && row->units[i] != NULL; i++) {
        char text[TEXT_BYTES_MAX];
        if (print_in(value, row->units[i], text) && (strlen(text) < strlen(room)))
            (void)snprintf(room, TEXT_BYTES_MAX, "%s", text);
    }
}

gsrt_status gsrt_quantity_print(const gsrt_quantity *quantity, gsrt_buffer *out)
{
    if (!quantity->is_known)
        return gsrt_buffer_append(out, "unknown", 7);
    char value[TEXT_BYTES_MAX], lo[TEXT_BYTES_MAX], hi[TEXT_BYTES_MAX];
    print_shortest(quantity->value, quantity->dimension, value);
    if (quantity->lo == quantity->hi)
        return gsrt_buffer_print(out, "%s", value);
    print_shortest(quantity->lo, quantity->dimension, lo);
    print_shortest(quantity->hi, quantity->dimension, hi);
    return gsrt_buffer_print(out, "%s [%s, %s]", value, lo, hi);
}
