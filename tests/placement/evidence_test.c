/* evidence.json: the same bytes again, and what is no evidence is refused by name.
 *
 * usage: evidence_test [--sample evidence]      prints a document, for tests/checks/schemas.py */
#include "placement/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tests/unit.h"

#define HASH "0123456789abcdef0123456789abcdef"

static const char *const regions[] = {"layer.0", "layer.1"};
static const gsrt_evidence_change changes[] = {
    {.transformation = "weights:f16->q8_0", .regions = regions, .region_count = 2},
    {.transformation = "kv:f32->f16", .regions = regions, .region_count = 1},
};
static const gsrt_evidence_figure figures[] = {
    {.statistic = GSRT_CONTRACT_ABSOLUTE_ERROR, .measured = 0.125, .upper = 0.125},
    {.statistic = GSRT_CONTRACT_RELATIVE_ERROR, .region = "layer.0", .measured = 1e-3, .upper = 0.1},
    {.statistic = GSRT_CONTRACT_RELATIVE_ERROR, .region = "layer.1", .measured = 1e-3, .upper = 0.1},
    {.statistic = GSRT_CONTRACT_QUALITY, .measured = 0.99, .upper = 1.002},
    {.statistic = GSRT_CONTRACT_EXACT_PATHS, .measured = 0, .upper = 0},
};
static const gsrt_evidence sample = {.workload_hash = HASH,
                                     .weights_hash = HASH,
                                     .changes = changes,
                                     .change_count = 2,
                                     .corpus = "/texts/a \"b\".txt",
                                     .corpus_hash = HASH,
                                     .sequence_count = 64,
                                     .position_count = 4096,
                                     .confidence = 0.95,
                                     .coverage = 0.95,
                                     .method = "made up",
                                     .figures = figures,
                                     .figure_count = 5};

/* Twice the sample. Also called where no test runs, so it does not assert. */
static void print_sample(gsrt_buffer *out)
{
    gsrt_evidence_list list;
    gsrt_evidence_list_init(&list);
    if (gsrt_evidence_list_add(&list, &sample, NULL) != GSRT_OK ||
        gsrt_evidence_list_add(&list, &sample, NULL) != GSRT_OK || gsrt_evidence_list_print(&list, out) != GSRT_OK)
        abort();
    gsrt_evidence_list_fini(&list);
}

START_TEST(the_same_bytes_again)
{
    gsrt_buffer first, second;
    gsrt_evidence_list list;
    gsrt_diag diag = {0};
    gsrt_buffer_init(&first, 1 << 20);
    gsrt_buffer_init(&second, 1 << 20);
    gsrt_evidence_list_init(&list);
    print_sample(&first);
    ck_assert_msg(gsrt_evidence_list_read(&list, gsrt_buffer_span(&first), "e.json", &diag) == GSRT_OK, "%s",
                  diag.text);
    ck_assert_uint_eq(list.count, 2);
    const gsrt_evidence *e = &list.items[1];
    ck_assert_str_eq(e->changes[0].regions[1], "layer.1");
    ck_assert_str_eq(e->figures[1].region, "layer.0");
    ck_assert_ptr_null(e->figures[0].region);
    ck_assert_double_eq(e->figures[3].upper, 1.002);
    ck_assert_uint_eq(e->position_count, 4096);
    ck_assert_int_eq(gsrt_evidence_list_print(&list, &second), GSRT_OK);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    /* What is refused leaves the list as it was. */
    ck_assert_int_eq(gsrt_evidence_list_read(&list, gsrt_span_of_text("{}"), "e.json", NULL), GSRT_EINPUT);
    ck_assert_uint_eq(list.count, 2);
    gsrt_evidence_list_fini(&list);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
}
END_TEST

/* Each row replaces the first `old` of the sample's text by `new`. */
START_TEST(documents_are_refused)
{
    static const struct row {
        const char *old, *new, *says;
    } rows[] = {
        {"{", "", "no valid JSON"},
        {"gsrt-evidence/1", "gsrt-evidence/2",
         "e.json: schema: must be \"gsrt-evidence/1\"; is it a file of evidence?"},
        {"\"evidence\"", "\"evidenec\"", "evidenec: unknown key; did you mean 'evidence'?"},
        {"\"corpus_hash\": \"" HASH "\"", "\"corpus_hash\": 5", "e.json: evidence[0].corpus_hash: must be text"},
        {"\"corpus_hash\": \"0", "\"corpus_hash\": \"g", "evidence[0].corpus_hash: must be the hash of the text"},
        {"\"workload\": \"0", "\"workload\": \"", "evidence[0].workload: must be the workload's hash"},
        {"\"weights\": \"0", "\"weights\": \"", "evidence[0].weights: must be the hash of the weights"},
        {"\"method\": \"made up\"", "\"method\": \"\"", "must say how the limits were made"},
        {"\"sequences\": 64", "\"sequences\": 0", "must be at least one for each sequence"},
        {"\"sequences\": 64", "\"sequences\": -1", "evidence[0].sequences: must be a count"},
        {"\"sequences\": 64", "\"sequences\": 58", "coverage: is more than so many sequences can show"},
        {"\"positions\": 4096", "\"positions\": 4.5", "evidence[0].positions: must be a count"},
        {"\"confidence\": 0.95", "\"confidence\": 0", "must be above 0"},
        {"\"confidence\": 0.95", "\"confidence\": 0.999", "coverage: is more than"},
        {"\"coverage\": 0.95", "\"coverage\": 1.5", "must be above 0"},
        {"\"coverage\": 0.95", "\"coverage\": null", "evidence[0].coverage: must be a number"},
        {"\"coverage\": 0.95,", "", "evidence[0].coverage: is missing"},
        {"\"weights:f16->q8_0\"", "\"\"", "evidence[0].changes[0]: names no transformation"},
        {"\"weights:f16->q8_0\"", "\"kv:f32->f16\"", "changes[1]: names a transformation that was named before"},
        {"[\"layer.0\", \"layer.1\"]", "[]", "changes[0]: must name the regions"},
        {"[\"layer.0\", \"layer.1\"]", "[\"layer.0\", \"layer.0\"]", "names a region twice"},
        {"[\"layer.0\", \"layer.1\"]", "[\"layer.0\", 1]", "evidence[0].changes[0].regions: must be names"},
        {"[\"layer.0\", \"layer.1\"]", "\"layer.0\"", "evidence[0].changes[0].regions: must be a list"},
        {"\"absolute_error\"", "\"bitwise\"", "figures[0].statistic: must be absolute_error"},
        {"\"absolute_error\"", "\"relative_error\"", "figures[0]: a relative error is of a region's output"},
        {"\"absolute_error\"", "\"quality\"", "figures[3]: states a statistic twice"},
        {"\"region\": \"layer.1\"", "\"region\": \"layer.0\"", "figures[2]: states a statistic twice"},
        {"\"measured\": 0.125", "\"measured\": -0.125", "figures[0]: needs 0 <= measured <= upper"},
        {"\"measured\": 0.125", "\"measured\": 0.126", "figures[0]: needs 0 <= measured <= upper"},
        {"\"measured\": 0.125", "\"measured\": \"0\"", "evidence[0].figures[0].measured: must be a number"},
        {"\"measured\": 0.125", "\"measured\": 0.125, \"extra\": 1", "figures[0].extra: unknown key"},
    };
    gsrt_buffer text;
    gsrt_buffer_init(&text, 1 << 20);
    print_sample(&text);
    ck_assert_int_eq(gsrt_buffer_append(&text, "", 1), GSRT_OK);
    const char *good = (const char *)text.data;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char changed[8192];
        gsrt_evidence_list list;
        gsrt_diag diag = {0};
        const char *at = strstr(good, rows[i].old);
        ck_assert_msg(at != NULL, "%s", rows[i].old);
        (void)snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - good), good, rows[i].new,
                       at + strlen(rows[i].old));
        gsrt_evidence_list_init(&list);
        ck_assert_msg(gsrt_evidence_list_read(&list, gsrt_span_of_text(changed), "e.json", &diag) == GSRT_EINPUT,
                      "row %zu was taken", i);
        ck_assert_msg(strstr(diag.text, rows[i].says) != NULL, "'%s' instead of '%s'", diag.text, rows[i].says);
        ck_assert_uint_eq(list.count, 0);
        gsrt_evidence_list_fini(&list);
    }
    gsrt_buffer_fini(&text);
}
END_TEST

START_TEST(callers_are_checked_too)
{
    gsrt_evidence_list list;
    gsrt_diag diag = {0};
    gsrt_evidence_list_init(&list);
    gsrt_evidence e = sample;
    e.change_count = 0;
    ck_assert_int_eq(gsrt_evidence_list_add(&list, &e, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "evidence[0].changes: must say what was changed"));
    gsrt_evidence_figure infinite = {.statistic = GSRT_CONTRACT_DIVERGENCE, .measured = 0, .upper = INFINITY};
    e = sample;
    e.figures = &infinite;
    e.figure_count = 1;
    ck_assert_int_eq(gsrt_evidence_list_add(&list, &e, NULL), GSRT_EINPUT);
    infinite.upper = 0;
    ck_assert_int_eq(gsrt_evidence_list_add(&list, &e, NULL), GSRT_OK);
    ck_assert_uint_eq(list.count, 1);
    gsrt_evidence_list_fini(&list);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--sample") == 0) {
        gsrt_buffer out;
        gsrt_buffer_init(&out, 1 << 20);
        print_sample(&out);
        (void)fwrite(out.data, 1, out.len, stdout);
        gsrt_buffer_fini(&out);
        return 0;
    }
    const TTest *tests[] = {the_same_bytes_again, documents_are_refused, callers_are_checked_too};
    return unit_run("evidence", tests, sizeof tests / sizeof tests[0]);
}
