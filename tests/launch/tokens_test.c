/* tokens.jsonl takes each (request, index) once and in order; the logits file puts rows at their place. */
#include "launch/tokens.h"

#include "launch/logits_file.h"
#include "launch/run_directory.h"
#include "tests/launch/scratch.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <unistd.h>

START_TEST(lines_as_documented)
{
    scratch_directory scratch = scratch_make();
    gsrt_tokens *tokens;
    ck_assert_int_eq(gsrt_tokens_create(scratch_open(&scratch, "tokens.jsonl"), 2, &tokens), GSRT_OK);
    gsrt_token token = {.request = 0,
                        .index = 0,
                        .token = 403,
                        .text = gsrt_span_of_text("Once"),
                        .hash_high = 0x0123456789abcdef,
                        .hash_low = 0xf};
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_OK);
    token = (gsrt_token){.request = 1, .index = 0, .token = 7, .text = gsrt_span_of_text("\"\n\xc3\xa9\xff")};
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_OK);
    token = (gsrt_token){.request = 0, .index = 1, .token = 1};
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_OK);
    ck_assert_uint_eq(gsrt_tokens_count(tokens, 0), 2);
    ck_assert_uint_eq(gsrt_tokens_count(tokens, 1), 1);
    ck_assert_uint_eq(gsrt_tokens_count(tokens, 9), 0);
    ck_assert_ptr_null(gsrt_tokens_free(tokens));
    ck_assert_ptr_null(gsrt_tokens_free(NULL));
    char *text = scratch_read(&scratch, "tokens.jsonl", NULL);
    ck_assert_str_eq(
        text,
        "{\"request\":0,\"index\":0,\"token\":403,\"text\":\"Once\",\"logits\":\"0123456789abcdef000000000000000f\"}\n"
        "{\"request\":1,\"index\":0,\"token\":7,\"text\":\"\\\"\\n\xc3\xa9\xef\xbf\xbd\",\"logits\":"
        "\"00000000000000000000000000000000\"}\n"
        "{\"request\":0,\"index\":1,\"token\":1,\"text\":\"\",\"logits\":\"00000000000000000000000000000000\"}\n");
    free(text);
    scratch_remove(&scratch);
}
END_TEST

static gsrt_status count_token(void *arg, const gsrt_token *token)
{
    uint32_t *count = arg;
    *count += 1;
    return token->token == 666 ? GSRT_ELIMIT : GSRT_OK;
}

#define LINE(request, index, token)                                                                                    \
    "{\"request\":" request ",\"index\":" index ",\"token\":" token                                                    \
    ",\"text\":\"a\",\"logits\":\"0123456789abcdef00000000000000ff\"}\n"

/* Another process takes the file up: whole lines count, a torn end is cut off, and it goes on from there. */
START_TEST(a_file_is_taken_up)
{
    static const char whole[] = LINE("0", "0", "5") LINE("1", "0", "6") LINE("0", "1", "7");
    scratch_directory scratch = scratch_make();
    for (size_t torn = 0; torn < sizeof LINE("1", "1", "8") - 1; torn += 7) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%zu", torn);
        int descriptor = scratch_open(&scratch, name);
        ck_assert_int_eq(write(descriptor, whole, sizeof whole - 1), sizeof whole - 1);
        ck_assert_int_eq(write(descriptor, LINE("1", "1", "8"), torn), (ssize_t)torn);
        gsrt_tokens *tokens;
        gsrt_diag diag = {0};
        uint32_t count = 0;
        ck_assert_int_eq(gsrt_tokens_create(descriptor, 2, &tokens), GSRT_OK);
        ck_assert_int_eq(gsrt_tokens_restore(tokens, "t", true, count_token, &count, &diag), GSRT_OK);
        ck_assert_uint_eq(count, 3);
        ck_assert_uint_eq(gsrt_tokens_count(tokens, 0), 2);
        ck_assert_uint_eq(gsrt_tokens_count(tokens, 1), 1);
        gsrt_token next = {.request = 1,
                           .index = 1,
                           .token = 8,
                           .text = gsrt_span_of_text("a"),
                           .hash_high = 0x0123456789abcdef,
                           .hash_low = 0xff};
        ck_assert_int_eq(gsrt_tokens_append(tokens, &next), GSRT_OK);
        next.index = 0;
        ck_assert_int_eq(gsrt_tokens_append(tokens, &next), GSRT_ESTALE);
        (void)gsrt_tokens_free(tokens);
        char *text = scratch_read(&scratch, name, NULL);
        ck_assert_str_eq(text, LINE("0", "0", "5") LINE("1", "0", "6") LINE("0", "1", "7") LINE("1", "1", "8"));
        free(text);
    }
    scratch_remove(&scratch);
}
END_TEST

/* Another process may still write: a look cuts nothing off, and what came after it is there when the file is ours. */
START_TEST(a_look_leaves_the_file_to_its_writer)
{
    static const char first[] = LINE("0", "0", "5"), second[] = LINE("0", "1", "7");
    enum { TORN = 20 };
    scratch_directory scratch = scratch_make();
    int writer = scratch_open(&scratch, "t"), reader = dup(writer);
    gsrt_tokens *tokens;
    gsrt_diag diag = {0};
    uint32_t count = 0;
    ck_assert_int_eq(write(writer, first, sizeof first - 1), sizeof first - 1);
    ck_assert_int_eq(write(writer, second, TORN), TORN);
    ck_assert_int_eq(gsrt_tokens_create(reader, 1, &tokens), GSRT_OK);
    ck_assert_int_eq(gsrt_tokens_restore(tokens, "t", false, count_token, &count, &diag), GSRT_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(write(writer, second + TORN, sizeof second - 1 - TORN), sizeof second - 1 - TORN);
    ck_assert_int_eq(gsrt_tokens_restore(tokens, "t", true, count_token, &count, &diag), GSRT_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(gsrt_tokens_count(tokens, 0), 2);
    gsrt_token again = {.request = 0, .index = 1, .token = 7, .text = gsrt_span_of_text("a")};
    ck_assert_int_eq(gsrt_tokens_append(tokens, &again), GSRT_ESTALE);
    (void)gsrt_tokens_free(tokens);
    (void)close(writer);
    char *text = scratch_read(&scratch, "t", NULL);
    ck_assert_str_eq(text, LINE("0", "0", "5") LINE("0", "1", "7"));
    free(text);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(what_is_no_such_file_is_refused)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {LINE("0", "1", "5"), "t: line 1: request 0, index 1 is out of its order; the file is another run's"},
        {LINE("0", "0", "5") LINE("0", "0", "5"),
         "t: line 2: request 0, index 0 is out of its order; the file is another run's"},
        {LINE("2", "0", "5"), "t: line 1: request 2, index 0 is out of its order; the file is another run's"},
        {LINE("-1", "0", "5"), "t: line 1: this is no line of tokens.jsonl"},
        {LINE("0", "0", "4294967296"), "t: line 1: this is no line of tokens.jsonl"},
        {"{}\n", "t: line 1: this is no line of tokens.jsonl"},
        {"[\n", "t: line 1: this is no line of tokens.jsonl: it is not JSON"},
        {"{\"request\":0,\"index\":0,\"token\":5,\"text\":\"\",\"logits\":\"0123456789ABCDEF0000000000000000\"}\n",
         "t: line 1: this is no line of tokens.jsonl"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gsrt_tokens *tokens;
        gsrt_diag diag = {0};
        size_t len;
        ck_assert_int_eq(gsrt_tokens_create(open("/dev/null", O_RDWR), 2, &tokens), GSRT_OK);
        ck_assert_int_eq(gsrt_tokens_read(tokens, gsrt_span_of_text(cases[i].text), "t", NULL, NULL, &len, &diag),
                         GSRT_EINPUT);
        ck_assert_str_eq(diag.text, cases[i].wanted);
        (void)gsrt_tokens_free(tokens);
    }
    gsrt_tokens *tokens;
    uint32_t count = 0;
    size_t len;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_tokens_create(open("/dev/null", O_RDWR), 2, &tokens), GSRT_OK);
    ck_assert_int_eq(gsrt_tokens_read(tokens, gsrt_span_of_text(LINE("0", "0", "666") LINE("0", "1", "1")), "t",
                                      count_token, &count, &len, &diag),
                     GSRT_ELIMIT); /* whoever takes them says no */
    ck_assert_uint_eq(count, 1);
    (void)gsrt_tokens_free(tokens);
}
END_TEST

START_TEST(each_index_once_and_in_order)
{
    scratch_directory scratch = scratch_make();
    gsrt_tokens *tokens;
    ck_assert_int_eq(gsrt_tokens_create(scratch_open(&scratch, "t"), 2, &tokens), GSRT_OK);
    gsrt_token token = {.request = 1};
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_OK);
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_ESTALE);
    token.index = 2;
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_ESTATE);
    token.index = 1;
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_OK);
    token = (gsrt_token){.request = 2};
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_EINVAL);
    (void)gsrt_tokens_free(tokens);
    char *text = scratch_read(&scratch, "t", NULL);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    ck_assert_uint_eq(lines, 2);
    free(text);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(a_failed_write_is_not_counted)
{
    gsrt_tokens *tokens;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(full, 0);
    ck_assert_int_eq(gsrt_tokens_create(full, 1, &tokens), GSRT_OK);
    const gsrt_token token = {.request = 0};
    ck_assert_int_eq(gsrt_tokens_append(tokens, &token), GSRT_EIO);
    ck_assert_uint_eq(gsrt_tokens_count(tokens, 0), 0);
    (void)gsrt_tokens_free(tokens);
}
END_TEST

/* ---- logits ---- */

START_TEST(one_request_one_file)
{
    scratch_directory scratch = scratch_make();
    gsrt_run_directory *directory;
    gsrt_logits_file *file;
    ck_assert_int_eq(gsrt_run_directory_open(scratch.path, &directory, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_logits_file_open(directory, "l.f32", true, 1, 3, &file, NULL), GSRT_OK);
    const float second[] = {4, 5, 6}, first[] = {1, 2, 3};
    ck_assert_int_eq(gsrt_logits_file_write(file, 0, 1, second, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_logits_file_write(file, 0, 0, first, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_logits_file_write(file, 1, 0, first, NULL), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_logits_file_write(file, 0, UINT32_MAX, first, NULL), GSRT_EINVAL);
    ck_assert_ptr_null(gsrt_logits_file_free(file));
    size_t len;
    char *bytes = scratch_read(&scratch, "l.f32", &len);
    const float wanted[] = {1, 2, 3, 4, 5, 6};
    ck_assert_uint_eq(len, sizeof wanted);
    ck_assert_mem_eq(bytes, wanted, sizeof wanted);
    free(bytes);
    (void)gsrt_run_directory_free(directory);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(several_requests_several_files)
{
    static const struct {
        const char *name, *second;
    } cases[] = {{"l.f32", "l-1.f32"}, {"plain", "plain-1"}, {"a.b.c", "a.b-1.c"}, {".hidden", ".hidden-1"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scratch_directory scratch = scratch_make();
        gsrt_run_directory *directory;
        gsrt_logits_file *file;
        ck_assert_int_eq(gsrt_run_directory_open(scratch.path, &directory, NULL), GSRT_OK);
        ck_assert_int_eq(gsrt_logits_file_open(directory, cases[i].name, true, 2, 1, &file, NULL), GSRT_OK);
        for (uint32_t round = 0; round < 3; round++) {
            for (uint32_t request = 0; request < 2; request++) {
                const float logit = (float)(10 * request + round);
                ck_assert_int_eq(gsrt_logits_file_write(file, request, round, &logit, NULL), GSRT_OK);
            }
        }
        (void)gsrt_logits_file_free(file);
        size_t len;
        char *bytes = scratch_read(&scratch, cases[i].second, &len);
        const float wanted[] = {10, 11, 12};
        ck_assert_uint_eq(len, sizeof wanted);
        ck_assert_mem_eq(bytes, wanted, sizeof wanted);
        free(bytes);
        (void)gsrt_run_directory_free(directory);
        scratch_remove(&scratch);
    }
}
END_TEST

START_TEST(absolute_names_are_outside)
{
    scratch_directory inside = scratch_make(), outside = scratch_make();
    gsrt_run_directory *directory;
    gsrt_logits_file *file;
    char name[512];
    (void)snprintf(name, sizeof name, "%s/l", outside.path);
    ck_assert_int_eq(gsrt_run_directory_open(inside.path, &directory, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_logits_file_open(directory, name, true, 1, 1, &file, NULL), GSRT_OK);
    (void)gsrt_logits_file_free(file);
    size_t len;
    free(scratch_read(&outside, "l", &len));
    ck_assert_uint_eq(len, 0);
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_logits_file_open(directory, "no/such/l", true, 1, 1, &file, &diag), GSRT_EIO);
    ck_assert_ptr_nonnull(strstr(diag.text, "no/such/l: cannot be opened for writing: No such file or directory"));
    (void)gsrt_run_directory_free(directory);
    scratch_remove(&inside);
    scratch_remove(&outside);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {lines_as_documented,
                            each_index_once_and_in_order,
                            a_file_is_taken_up,
                            a_look_leaves_the_file_to_its_writer,
                            what_is_no_such_file_is_refused,
                            a_failed_write_is_not_counted,
                            one_request_one_file,
                            several_requests_several_files,
                            absolute_names_are_outside};
    return unit_run("tokens", tests, sizeof tests / sizeof tests[0]);
}
