/* Quantities: what is read, what is refused and with which word; printing reads back to the same bits; arithmetic
 * against its definition, point by point. */
#include "placement/quantity.h"

#include "base/random.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES                                                                                                          \
    {                                                                                                                  \
        .byte = 1                                                                                                      \
    }
#define BANDWIDTH                                                                                                      \
    {                                                                                                                  \
        .byte = 1, .second = -1                                                                                        \
    }
#define SECONDS                                                                                                        \
    {                                                                                                                  \
        .second = 1                                                                                                    \
    }
#define RATE                                                                                                           \
    {                                                                                                                  \
        .op = 1, .second = -1                                                                                          \
    }
#define POWER                                                                                                          \
    {                                                                                                                  \
        .joule = 1, .second = -1                                                                                       \
    }

static void print(const gsrt_quantity *quantity, char *room, size_t room_bytes)
{
    gsrt_buffer out;
    gsrt_buffer_init(&out, room_bytes - 1);
    ck_assert_int_eq(gsrt_quantity_print(quantity, &out), GSRT_OK);
    memcpy(room, out.data, out.len);
    room[out.len] = 0;
    gsrt_buffer_fini(&out);
}

START_TEST(what_people_write)
{
    static const struct {
        const char *text;
        gsrt_dimension dimension;
        double value, lo, hi;
        const char *printed;
    } cases[] = {
        {"80 GB", BYTES, 80e9, 80e9, 80e9, "80 GB"},
        {"80GiB", BYTES, 85899345920.0, 85899345920.0, 85899345920.0, "80 GiB"},
        {"3.35 TB/s [3, 3.4]", BANDWIDTH, 3.35e12, 3e12, 3.4e12, "3.35 TB/s [3 TB/s, 3.4 TB/s]"},
        {"3350 GB/s [ 3 TB/s , 3.4 TB/s ] ", BANDWIDTH, 3.35e12, 3e12, 3.4e12, "3.35 TB/s [3 TB/s, 3.4 TB/s]"},
        {"400 Gbit/s", BANDWIDTH, 5e10, 5e10, 5e10, "50 GB/s"},
        {"312 TFLOPS", RATE, 312e12, 312e12, 312e12, "312 Top/s"},
        {"624 TOPS", RATE, 624e12, 624e12, 624e12, "624 Top/s"},
        {"1.979 Pop/s", RATE, 1.979e15, 1.979e15, 1.979e15, "1979 Top/s"},
        {"400 W", POWER, 400, 400, 400, "400 W"},
        {"1.2 MW", POWER, 1.2e6, 1.2e6, 1.2e6, "1.2 MW"},
        {"0.4 kJ/s", POWER, 400, 400, 400, "400 W"},
        {"2 us", SECONDS, 2e-6, 2e-6, 2e-6, "2 us"},
        {"50000 h", SECONDS, 1.8e8, 1.8e8, 1.8e8, "50000 h"},
        {"2.5 $/h", {.dollar = 1, .second = -1}, 2.5 / 3600, 2.5 / 3600, 2.5 / 3600, "2.5 $/h"},
        {"0.08 $/kWh", {.dollar = 1, .joule = -1}, 0.08 / 3.6e6, 0.08 / 3.6e6, 0.08 / 3.6e6, "0.08 $/kWh"},
        {"5 pJ/bit", {.joule = 1, .byte = -1}, 40e-12, 40e-12, 40e-12, "40 pJ/B"},
        {"0.9", {0}, 0.9, 0.9, 0.9, "0.9"},
        {"90 %", {0}, 0.9, 0.9, 0.9, "0.9"},
        {"-3 [-4, 1]", {0}, -3, -4, 1, "-3 [-4, 1]"},
        {"1e3 s", SECONDS, 1000, 1000, 1000, "1000 s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gsrt_quantity q;
        gsrt_quantity_problem problem = {0};
        gsrt_status status = gsrt_quantity_parse(cases[i].text, cases[i].dimension, &q, &problem);
        ck_assert_msg(status == GSRT_OK, "%s: %s", cases[i].text, problem.text);
        ck_assert_msg(q.value == cases[i].value && q.lo == cases[i].lo && q.hi == cases[i].hi,
                      "%s: %.17g [%.17g, %.17g]", cases[i].text, q.value, q.lo, q.hi);
        char text[128];
        print(&q, text, sizeof text);
        ck_assert_str_eq(text, cases[i].printed);
    }
}
END_TEST

START_TEST(what_is_refused)
{
    static const struct {
        const char *text;
        gsrt_dimension dimension;
        const char *reason, *says;
    } cases[] = {
        {"", BYTES, "not_a_number", "does not begin with a number"},
        {"fast", BANDWIDTH, "not_a_number", "'fast'"},
        {"inf GB", BYTES, "not_a_number", "'inf GB'"},
        {"nan", {0}, "not_a_number", "'nan'"},
        {"0x10 B", BYTES, "unknown_unit", "'x10 B'"},
        {"1e400 B", BYTES, "not_a_number", "past what a number can hold"},
        {"80", BYTES, "missing_unit", "'1 TB'"},
        {"80 gigs", BYTES, "unknown_unit", "'gigs'"},
        {"80 mB", BYTES, "unknown_unit", "'mB'"},
        {"80 GB/fortnight", BANDWIDTH, "unknown_unit", "'GB/fortnight'"},
        {"100 Gb/s", BANDWIDTH, "ambiguous_unit", "bits or bytes"},
        {"80 GB", BANDWIDTH, "wrong_dimension", "'GB' is a unit of B, and this is measured in B/s"},
        {"80 GB", POWER, "wrong_dimension", "a unit of B, and this is measured in W"},
        {"3 GB/s", {0}, "wrong_dimension", "measured in a plain number"},
        {"3 GB [4, 2]", BYTES, "lo_above_hi", "above the highest"},
        {"5 GB [2, 4]", BYTES, "value_outside_interval", "outside of its own interval"},
        {"5 GB [2, 4", BYTES, "not_a_number", "does not end"},
        {"5 GB [2]", BYTES, "not_a_number", "begins an interval"},
        {"5 GB [2 s, 9]", BYTES, "wrong_dimension", "'s' is a unit of s"},
        {"5 GB [2, 9] x", BYTES, "not_a_number", "does not end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gsrt_quantity q = {0};
        gsrt_quantity_problem problem = {0};
        ck_assert_int_eq(gsrt_quantity_parse(cases[i].text, cases[i].dimension, &q, &problem), GSRT_EINPUT);
        ck_assert_msg(strcmp(problem.reason, cases[i].reason) == 0, "%s: %s", cases[i].text, problem.reason);
        ck_assert_msg(strstr(problem.text, cases[i].says) != NULL, "%s: %s", cases[i].text, problem.text);
        ck_assert(!q.is_known);
    }
}
END_TEST

/* Any double, in any dimension that has units: the printed text gives the same bits back. */
START_TEST(printing_reads_back_to_the_same_bits)
{
    static const gsrt_dimension dimensions[] = {
        BYTES, BANDWIDTH, SECONDS, RATE, POWER, {0}, {.dollar = 1, .joule = -1}};
    for (uint64_t i = 0; i < 4000; i++) {
        gsrt_dimension dimension = dimensions[i % (sizeof dimensions / sizeof dimensions[0])];
        double number = (gsrt_random_f64(1, 2, 2 * i) - 0.1) * pow(10, 40 * gsrt_random_f64(1, 2, 2 * i + 1) - 20);
        gsrt_quantity q = gsrt_quantity_exact(number, dimension), again;
        q.hi = number + fabs(number) / 3;
        gsrt_quantity_problem problem = {0};
        char text[192];
        print(&q, text, sizeof text);
        ck_assert_msg(gsrt_quantity_parse(text, dimension, &again, &problem) == GSRT_OK, "%s: %s", text, problem.text);
        ck_assert_msg(again.value == q.value && again.lo == q.lo && again.hi == q.hi, "%s", text);
    }
}
END_TEST

static gsrt_quantity between(double lo, double hi, gsrt_dimension dimension)
{
    gsrt_quantity q = gsrt_quantity_exact(lo + (hi - lo) / 2, dimension);
    q.lo = lo;
    q.hi = hi;
    return q;
}

/* Whatever the inputs are within their intervals, the result lies within its own, and the ends are reached. */
START_TEST(arithmetic_holds_every_point)
{
    enum { STEPS = 8 };
    for (uint64_t i = 0; i < 4000; i++) {
        double ends[4];
        for (uint64_t e = 0; e < 4; e++)
            ends[e] = trunc(20 * gsrt_random_f64(7, 7, 4 * i + e)) - 8;
        gsrt_quantity a = between(fmin(ends[0], ends[1]), fmax(ends[0], ends[1]), (gsrt_dimension)BYTES);
        gsrt_quantity b = between(fmin(ends[2], ends[3]), fmax(ends[2], ends[3]), (gsrt_dimension)BYTES);
        gsrt_quantity results[] = {gsrt_quantity_add(a, b), gsrt_quantity_sub(a, b), gsrt_quantity_mul(a, b),
                                   gsrt_quantity_div(a, b), gsrt_quantity_min(a, b), gsrt_quantity_max(a, b)};
        bool is_divisor_whole = b.lo > 0 || b.hi < 0;
        for (size_t op = 0; op < 6; op++) {
            double lo = INFINITY, hi = -INFINITY;
            for (int x = 0; x <= STEPS; x++) {
                for (int y = 0; y <= STEPS; y++) {
                    double u = a.lo + (a.hi - a.lo) * x / STEPS, v = b.lo + (b.hi - b.lo) * y / STEPS;
                    if (op == 3 && v == 0)
                        continue;
                    double all[] = {u + v, u - v, u * v, v == 0 ? 0 : u / v, fmin(u, v), fmax(u, v)};
                    lo = fmin(lo, all[op]);
                    hi = fmax(hi, all[op]);
                }
            }
            const gsrt_quantity *r = &results[op];
            ck_assert_msg(r->lo <= lo && hi <= r->hi, "op %zu: [%g, %g] and [%g, %g]: [%g, %g] misses [%g, %g]", op,
                          a.lo, a.hi, b.lo, b.hi, r->lo, r->hi, lo, hi);
            if (op != 3 || is_divisor_whole) {
                ck_assert_double_eq(r->lo, lo);
                ck_assert_double_eq(r->hi, hi);
                ck_assert(r->lo <= r->value && r->value <= r->hi);
            }
        }
    }
}
END_TEST

START_TEST(what_arithmetic_keeps)
{
    gsrt_quantity bytes = between(8e9, 10e9, (gsrt_dimension)BYTES);
    gsrt_quantity bandwidth = between(1e9, 2e9, (gsrt_dimension)BANDWIDTH);
    bytes.confidence = 0.9;
    bandwidth.confidence = 0.5;
    bytes.valid_from_day = 10;
    bandwidth.valid_from_day = 20;
    bandwidth.valid_until_day = 30;
    gsrt_quantity seconds = gsrt_quantity_div(bytes, bandwidth);
    ck_assert(gsrt_dimension_equal(seconds.dimension, (gsrt_dimension)SECONDS));
    ck_assert_double_eq(seconds.lo, 4);
    ck_assert_double_eq(seconds.hi, 10);
    ck_assert_double_eq(seconds.value, 6);
    ck_assert_double_eq(seconds.confidence, 0.45);
    ck_assert_int_eq(seconds.source, GSRT_SOURCE_DERIVED);
    ck_assert(!gsrt_quantity_is_valid_on(&seconds, 19) && gsrt_quantity_is_valid_on(&seconds, 20));
    ck_assert(gsrt_quantity_is_valid_on(&seconds, 30) && !gsrt_quantity_is_valid_on(&seconds, 31));

    gsrt_quantity unknown = {0};
    ck_assert(!gsrt_quantity_mul(seconds, unknown).is_known && !gsrt_quantity_add(unknown, seconds).is_known);
    ck_assert(!gsrt_quantity_is_valid_on(&unknown, 0));
    char text[64];
    print(&unknown, text, sizeof text);
    ck_assert_str_eq(text, "unknown");

    gsrt_quantity perhaps_down = between(0, 2e9, (gsrt_dimension)BANDWIDTH);
    gsrt_quantity forever = gsrt_quantity_div(bytes, perhaps_down);
    ck_assert_double_eq(forever.lo, 4);
    ck_assert(isinf(forever.hi) && forever.hi > 0);
    gsrt_quantity thrice = gsrt_quantity_scale(bytes, 3);
    ck_assert_double_eq(thrice.hi, 30e9);
    gsrt_quantity beside = between(10e9, 11e9, (gsrt_dimension)BYTES),
                  past = between(10.1e9, 11e9, (gsrt_dimension)BYTES);
    ck_assert(gsrt_quantity_overlap(&bytes, &beside) && !gsrt_quantity_overlap(&bytes, &past));
}
END_TEST

START_TEST(sources)
{
    gsrt_source source = GSRT_SOURCE_NONE;
    ck_assert(gsrt_source_parse("datasheet: part 7, 2024", &source));
    ck_assert_int_eq(source, GSRT_SOURCE_DATASHEET);
    static const char *const refused[] = {
        "", "datasheet", "datasheet:", "datasheet: ", "rumour: x", "derived: x", ": x"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        ck_assert_msg(!gsrt_source_parse(refused[i], &source), "%s", refused[i]);
}
END_TEST

START_TEST(days)
{
    int32_t day = 0;
    ck_assert(gsrt_day_parse("1970-01-01", &day) && day == 0);
    ck_assert(gsrt_day_parse("2000-02-29", &day) && day == 11016);
    char room[12];
    for (int32_t each = -300000; each < 2900000; each += 37) {
        gsrt_day_print(each, room);
        ck_assert(gsrt_day_parse(room, &day));
        ck_assert_int_eq(day, each);
    }
    static const char *const refused[] = {"2026-02-29", "2026-13-01", "2026-00-10",
                                          "2026-4-01",  "26-01-01",   "2026-01-01x"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        ck_assert_msg(!gsrt_day_parse(refused[i], &day), "%s", refused[i]);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_people_write,
                            what_is_refused,
                            printing_reads_back_to_the_same_bits,
                            arithmetic_holds_every_point,
                            what_arithmetic_keeps,
                            sources,
                            days};
    return unit_run("quantity", tests, sizeof tests / sizeof tests[0]);
}
