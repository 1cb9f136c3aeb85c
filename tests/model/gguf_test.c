/* The GGUF reader: what it reads, and every way in which a file can be wrong. */
#include "model/gguf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/model/gguf_writer.h"
#include "tests/unit.h"

static const uint64_t dims_4x2[] = {4, 2};

/* A small right file with one of everything. */
static void write_small(gguf_writer *w)
{
    static const char *const texts[] = {"one", "", "three"};
    static const int16_t shorts[] = {-1, 2};
    static const double doubles[] = {0.5, 2.5};
    gguf_begin(w);
    gguf_text(w, "general.architecture", "llama");
    gguf_u32(w, "u32", 4000000000u);
    gguf_key(w, "i8", GSRT_GGUF_I8, "\xff", 1);
    gguf_key(w, "u64", GSRT_GGUF_U64, "\x07\0\0\0\0\0\0\0", 8);
    gguf_key(w, "u64.big", GSRT_GGUF_U64, "\0\0\0\0\x01\0\0\0", 8);
    gguf_f32(w, "f32", 1.5f);
    gguf_key(w, "f64", GSRT_GGUF_F64, &doubles[1], 8);
    gguf_bool(w, "bool", true);
    gguf_texts(w, "texts", texts, 3);
    gguf_array(w, "shorts", GSRT_GGUF_I16, 2, shorts, sizeof shorts);
    gguf_array(w, "doubles", GSRT_GGUF_F64, 2, doubles, sizeof doubles);
    gguf_add(w, "b.weight", 4, 2, 0, "0123456789abcdef0123456789abcdef", 32);
    gguf_add(w, "a.norm", 4, 0, 0, NULL, 16);
    gguf_add(w, "q", 64, 3, 8, NULL, 3 * 2 * 34);
}

static gsrt_status open_writer(gguf_writer *w, gsrt_diag *diag)
{
    gsrt_buffer file;
    gguf_end(w, &file);
    gsrt_gguf *gguf = NULL;
    gsrt_status status = gsrt_gguf_open_span(gsrt_buffer_span(&file), "m.gguf", &gguf, diag);
    gsrt_gguf_free(gguf);
    gsrt_buffer_fini(&file);
    return status;
}

/* The file is refused with a message that starts with its name and holds `what`. */
static void refuse(gguf_writer *w, const char *what)
{
    gsrt_diag diag = {0};
    gsrt_status status = open_writer(w, &diag);
    ck_assert_msg(status == GSRT_EINPUT, "wanted a refusal with '%s', got %s", what, gsrt_status_name(status));
    ck_assert_msg(strncmp(diag.text, "m.gguf: ", 8) == 0 && strstr(diag.text, what) != NULL, "wanted '%s' in '%s'",
                  what, diag.text);
    ck_assert_msg(strstr(diag.text, "; ") != NULL, "no remedy in '%s'", diag.text);
}

START_TEST(values_are_read)
{
    gguf_writer w;
    gsrt_buffer file;
    gsrt_gguf *g = NULL;
    gsrt_diag diag = {0};
    write_small(&w);
    gguf_end(&w, &file);
    ck_assert_msg(gsrt_gguf_open_span(gsrt_buffer_span(&file), "m.gguf", &g, &diag) == GSRT_OK, "%s", diag.text);
    uint32_t u;
    float f;
    bool b;
    gsrt_span text;
    ck_assert_int_eq(gsrt_gguf_u32(g, "u32", &u, &diag), GSRT_OK);
    ck_assert_uint_eq(u, 4000000000u);
    ck_assert_int_eq(gsrt_gguf_u32(g, "u64", &u, &diag), GSRT_OK);
    ck_assert_uint_eq(u, 7);
    ck_assert_int_eq(gsrt_gguf_f32(g, "f32", &f, &diag), GSRT_OK);
    ck_assert_float_eq(f, 1.5f);
    ck_assert_int_eq(gsrt_gguf_f32(g, "f64", &f, &diag), GSRT_OK);
    ck_assert_float_eq(f, 2.5f);
    ck_assert_int_eq(gsrt_gguf_bool(g, "bool", &b, &diag), GSRT_OK);
    ck_assert(b);
    ck_assert_int_eq(gsrt_gguf_text(g, "general.architecture", &text, &diag), GSRT_OK);
    ck_assert(gsrt_span_equal(text, gsrt_span_of_text("llama")));
    ck_assert_int_eq(gsrt_gguf_u32(g, "absent", &u, &diag), GSRT_ENOTFOUND);
    ck_assert_int_eq(gsrt_gguf_u32_or(g, "absent", 5, &u, &diag), GSRT_OK);
    ck_assert_uint_eq(u, 5);
    ck_assert_int_eq(diag.status, GSRT_OK);
    ck_assert(gsrt_gguf_has(g, "shorts") && !gsrt_gguf_has(g, "short"));
    ck_assert_uint_eq(gsrt_gguf_key_count(g), 11);
    gsrt_gguf_free(g);
    gsrt_buffer_fini(&file);
}
END_TEST

START_TEST(wrong_types_are_refused)
{
    gguf_writer w;
    gsrt_buffer file;
    gsrt_gguf *g = NULL;
    write_small(&w);
    gguf_end(&w, &file);
    ck_assert_int_eq(gsrt_gguf_open_span(gsrt_buffer_span(&file), "m.gguf", &g, NULL), GSRT_OK);
    uint32_t u = 99;
    float f = 99;
    bool b;
    gsrt_span text;
    gsrt_gguf_array array;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_gguf_u32(g, "i8", &u, &diag), GSRT_EINPUT); /* -1 */
    ck_assert_ptr_nonnull(strstr(diag.text, "m.gguf: key 'i8': the value -1 is not in 0..4294967295; "));
    ck_assert_int_eq(gsrt_gguf_u32(g, "u64.big", &u, NULL), GSRT_EINPUT);
    ck_assert_int_eq(gsrt_gguf_u32(g, "f32", &u, NULL), GSRT_EINPUT);
    ck_assert_int_eq(gsrt_gguf_u32_or(g, "f32", 1, &u, NULL), GSRT_EINPUT);
    ck_assert_int_eq(gsrt_gguf_f32(g, "u32", &f, NULL), GSRT_EINPUT);
    ck_assert_int_eq(gsrt_gguf_bool(g, "u32", &b, NULL), GSRT_EINPUT);
    ck_assert_int_eq(gsrt_gguf_text(g, "u32", &text, NULL), GSRT_EINPUT);
    ck_assert_int_eq(gsrt_gguf_array_of(g, "u32", &array, NULL), GSRT_EINPUT);
    ck_assert_uint_eq(u, 99); /* untouched on failure */
    ck_assert_float_eq(f, 99);
    gsrt_gguf_free(g);
    gsrt_buffer_fini(&file);
}
END_TEST

START_TEST(arrays_are_read)
{
    gguf_writer w;
    gsrt_buffer file;
    gsrt_gguf *g = NULL;
    gsrt_gguf_array array;
    write_small(&w);
    gguf_end(&w, &file);
    ck_assert_int_eq(gsrt_gguf_open_span(gsrt_buffer_span(&file), "m.gguf", &g, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_gguf_array_of(g, "shorts", &array, NULL), GSRT_OK);
    ck_assert_uint_eq(array.count, 2);
    ck_assert_int_eq(gsrt_gguf_array_integer(&array, 0), -1);
    ck_assert_int_eq(gsrt_gguf_array_integer(&array, 1), 2);
    ck_assert_int_eq(gsrt_gguf_array_integer(&array, 2), 0); /* past the end */
    ck_assert_int_eq(gsrt_gguf_array_of(g, "doubles", &array, NULL), GSRT_OK);
    ck_assert_double_eq(gsrt_gguf_array_float(&array, 1), 2.5);
    ck_assert_int_eq(gsrt_gguf_array_of(g, "texts", &array, NULL), GSRT_OK);
    gsrt_span rest = array.bytes, text;
    static const char *const wanted[] = {"one", "", "three"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert(gsrt_gguf_array_next_text(&rest, &text));
        ck_assert(gsrt_span_equal(text, gsrt_span_of_text(wanted[i])));
    }
    ck_assert(!gsrt_gguf_array_next_text(&rest, &text));
    gsrt_gguf_free(g);
    gsrt_buffer_fini(&file);
}
END_TEST

START_TEST(tensors_are_found)
{
    gguf_writer w;
    gsrt_buffer file;
    gsrt_gguf *g = NULL;
    write_small(&w);
    gguf_end(&w, &file);
    ck_assert_int_eq(gsrt_gguf_open_span(gsrt_buffer_span(&file), "m.gguf", &g, NULL), GSRT_OK);
    ck_assert_uint_eq(gsrt_gguf_tensor_count(g), 3);
    ck_assert_str_eq(gsrt_gguf_tensor_at(g, 0)->name, "b.weight");
    ck_assert_ptr_null(gsrt_gguf_tensor_at(g, 3));
    const gsrt_gguf_tensor *t = gsrt_gguf_tensor_find(g, "b.weight");
    ck_assert_ptr_nonnull(t);
    ck_assert(t->dims[0] == 4 && t->dims[1] == 2 && t->dims[2] == 1 && t->dim_count == 2 && t->size_bytes == 32);
    ck_assert_int_eq(memcmp(gsrt_gguf_bytes(g).data + t->offset_bytes, "0123456789abcdef", 16), 0);
    ck_assert_uint_eq(gsrt_gguf_tensor_find(g, "q")->size_bytes, 3 * 2 * 34);
    ck_assert_str_eq(gsrt_gguf_tensor_find(g, "q")->type_name, "q8_0");
    ck_assert_ptr_null(gsrt_gguf_tensor_find(g, "b"));
    gsrt_gguf_free(g);
    gsrt_buffer_fini(&file);
}
END_TEST

/* A file that was cut short anywhere is refused, with a message. */
START_TEST(every_prefix_is_refused)
{
    gguf_writer w;
    gsrt_buffer file;
    write_small(&w);
    gguf_end(&w, &file);
    for (size_t len = 0; len < file.len; len++) {
        uint8_t *copy = malloc(len + 1); /* exact size: a sanitizer sees every byte read past it */
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, file.data, len);
        copy = realloc(copy, len == 0 ? 1 : len);
        gsrt_gguf *g = NULL;
        gsrt_diag diag = {0};
        gsrt_status status = gsrt_gguf_open_span(gsrt_span_of(copy, len), "m.gguf", &g, &diag);
        ck_assert_msg(status == GSRT_EINPUT, "%zu bytes: %s", len, gsrt_status_name(status));
        ck_assert_msg(strncmp(diag.text, "m.gguf: ", 8) == 0, "%zu bytes: '%s'", len, diag.text);
        free(copy);
    }
    gsrt_buffer_fini(&file);
}
END_TEST

/* Any single byte may be anything: refused or read, but never past the end. */
START_TEST(every_byte_may_be_wrong)
{
    static const uint8_t wrong[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    gguf_writer w;
    gsrt_buffer file;
    write_small(&w);
    gguf_end(&w, &file);
    for (size_t at = 0; at < file.len; at++) {
        uint8_t right = file.data[at];
        for (size_t i = 0; i < sizeof wrong; i++) {
            file.data[at] = wrong[i];
            gsrt_gguf *g = NULL;
            gsrt_diag diag = {0};
            gsrt_status status = gsrt_gguf_open_span(gsrt_buffer_span(&file), "m.gguf", &g, &diag);
            ck_assert(status == GSRT_OK || (status == GSRT_EINPUT && diag.text[0] != 0));
            gsrt_gguf_free(g);
        }
        file.data[at] = right;
    }
    gsrt_buffer_fini(&file);
}
END_TEST

START_TEST(headers_that_lie)
{
    gguf_writer w;
    write_small(&w);
    w.version = 1;
    refuse(&w, "byte 4: GGUF version 1 is not supported");
    write_small(&w);
    w.version = 3u << 24;
    refuse(&w, "big-endian");
    write_small(&w);
    w.version = 4;
    refuse(&w, "GGUF version 4 is not supported");
    write_small(&w);
    w.tensor_count = 1ull << 40;
    refuse(&w, "1099511627776 tensors");
    write_small(&w);
    w.key_count = UINT64_MAX;
    refuse(&w, "18446744073709551615 keys");
    write_small(&w);
    w.key_count++;
    refuse(&w, "; ");
    write_small(&w);
    w.version = 2;
    gsrt_diag diag = {0};
    ck_assert_int_eq(open_writer(&w, &diag), GSRT_OK);
}
END_TEST

START_TEST(keys_that_lie)
{
    gguf_writer w;
    gguf_begin(&w);
    gguf_u32(&w, "", 1);
    refuse(&w, "a key is empty");
    gguf_begin(&w);
    gguf_u32(&w, "a\nb", 1);
    refuse(&w, "control byte 0x0a");
    gguf_begin(&w);
    gguf_u32(&w, "twice", 1);
    gguf_f32(&w, "twice", 1);
    refuse(&w, "key 'twice': the key occurs twice");
    gguf_begin(&w);
    gguf_key(&w, "odd", 13, "\0\0\0\0", 4);
    refuse(&w, "key 'odd': unknown value type 13");
    gguf_begin(&w);
    gguf_key(&w, "b", GSRT_GGUF_BOOL, "\x02", 1);
    refuse(&w, "a bool must be 0 or 1, not 2");
    gguf_begin(&w);
    gguf_array(&w, "nested", GSRT_GGUF_ARRAY, 1, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    refuse(&w, "arrays of arrays are not supported");
    gguf_begin(&w);
    gguf_array(&w, "odd", 77, 1, "\0\0\0\0", 4);
    refuse(&w, "unknown array element type 77");
    gguf_begin(&w);
    gguf_array(&w, "long", GSRT_GGUF_U64, 1ull << 61, "\0\0\0\0\0\0\0\0", 8); /* 8 * 2^61 wraps to 0 */
    refuse(&w, "too short for the array's element count");
    gguf_begin(&w);
    char key[GSRT_NAME_BYTES_MAX + 2];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = 0;
    gguf_u32(&w, key, 1);
    refuse(&w, "is 257 bytes long");
}
END_TEST

START_TEST(tensors_that_lie)
{
    static const uint64_t wraps[] = {1ull << 33, 1ull << 33, 1, 1, 1}, none[] = {4, 0}, huge[] = {1ull << 60};
    static const uint64_t half_block[] = {48, 2};
    gguf_writer w;
    gguf_begin(&w);
    gguf_entry(&w, "t", 2, wraps, 0, 0);
    refuse(&w, "tensor 't': its dimensions need more bytes than the file has");
    gguf_begin(&w);
    gguf_entry(&w, "t", 1, huge, 0, 0);
    refuse(&w, "its dimensions need more bytes");
    gguf_begin(&w);
    gguf_entry(&w, "t", 5, wraps, 0, 0);
    refuse(&w, "a tensor has 1 to 4 dimensions, not 5");
    gguf_begin(&w);
    gguf_entry(&w, "t", 0, NULL, 0, 0);
    gguf_put(&w.data, wraps, 32);
    refuse(&w, "a tensor has 1 to 4 dimensions, not 0");
    gguf_begin(&w);
    gguf_entry(&w, "t", 2, none, 0, 0);
    refuse(&w, "a dimension must not be 0");
    gguf_begin(&w);
    gguf_entry(&w, "t", 2, dims_4x2, 31, 0);
    refuse(&w, "unknown tensor type 31");
    gguf_begin(&w);
    gguf_entry(&w, "t", 2, half_block, 8, 0);
    refuse(&w, "no whole number of quantisation blocks");
    gguf_begin(&w);
    gguf_add(&w, "t", 4, 2, 0, NULL, 32);
    gguf_entry(&w, "t", 2, dims_4x2, 0, 32);
    gguf_put(&w.data, wraps, 32);
    refuse(&w, "tensor 't': two tensors have this name");
    gguf_begin(&w);
    gguf_add(&w, "a", 16, 2, 0, NULL, 128);
    gguf_entry(&w, "b", 2, dims_4x2, 0, 96);
    refuse(&w, "tensor 'b': it overlaps tensor 'a'");
    gguf_begin(&w);
    gguf_entry(&w, "t", 2, dims_4x2, 0, 16);
    gguf_put(&w.data, wraps, 40);
    gguf_put(&w.data, wraps, 40);
    refuse(&w, "not a multiple of the alignment");
    gguf_begin(&w);
    gguf_add(&w, "a", 4, 2, 0, NULL, 32);
    gguf_entry(&w, "b", 2, dims_4x2, 0, 32);
    refuse(&w, "tensor 'b': it ends past the end of the file");
    gguf_begin(&w);
    gguf_add(&w, "a", 4, 2, 0, NULL, 32);
    gguf_entry(&w, "b", 2, dims_4x2, 0, UINT64_MAX - 31); /* offset + size wraps */
    refuse(&w, "tensor 'b': it ends past the end of the file");
}
END_TEST

START_TEST(alignments)
{
    static const uint32_t wrong[] = {0, 1, 3, 4, 33, 1u << 21, 1u << 30};
    gguf_writer w;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_small(&w);
        gguf_u32(&w, "general.alignment", wrong[i]);
        refuse(&w, "key 'general.alignment': an alignment is a power of two");
    }
    for (uint32_t right = 8; right <= 256; right *= 2) {
        gguf_begin(&w);
        w.alignment = right;
        gguf_u32(&w, "general.alignment", right);
        gguf_add(&w, "a", 4, 2, 0, NULL, 32);
        gguf_add(&w, "b", 4, 2, 0, NULL, 32);
        gsrt_diag diag = {0};
        ck_assert_msg(open_writer(&w, &diag) == GSRT_OK, "%u: %s", right, diag.text);
    }
}
END_TEST

static void refuse_path(const char *path, const char *what)
{
    gsrt_gguf *g = NULL;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_gguf_open(path, &g, &diag), GSRT_EINPUT);
    ck_assert_msg(strncmp(diag.text, path, strlen(path)) == 0 && strstr(diag.text, what) != NULL, "'%s'", diag.text);
}

START_TEST(paths_that_are_no_model)
{
    char folder[] = "gguf_test.XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    refuse_path(folder, "is a directory");
    (void)snprintf(path, sizeof path, "%s/missing", folder);
    refuse_path(path, "No such file");
    (void)snprintf(path, sizeof path, "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* must not wait for a writer */
    refuse_path(path, "not a regular file");
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
    refuse_path(path, "the file is empty");
    file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    (void)fputs("GGML is something else", file);
    ck_assert_int_eq(fclose(file), 0);
    refuse_path(path, "not a GGUF file");
    (void)unlink(path);
    (void)rmdir(folder);
    refuse_path("/dev/null", "not a regular file");
}
END_TEST

START_TEST(a_file_is_mapped)
{
    char path[] = "gguf_test.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    gguf_writer w;
    gsrt_buffer bytes;
    write_small(&w);
    gguf_end(&w, &bytes);
    ck_assert_int_eq(write(fd, bytes.data, bytes.len), (ssize_t)bytes.len);
    (void)close(fd);
    gsrt_gguf *g = NULL;
    gsrt_diag diag = {0};
    ck_assert_msg(gsrt_gguf_open(path, &g, &diag) == GSRT_OK, "%s", diag.text);
    (void)unlink(path);
    ck_assert(gsrt_gguf_is_mapped(g));
    ck_assert(gsrt_span_equal(gsrt_gguf_bytes(g), gsrt_buffer_span(&bytes)));
    ck_assert_str_eq(gsrt_gguf_name(g), path);
    gsrt_gguf_free(g);
    gsrt_buffer_fini(&bytes);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {values_are_read,   wrong_types_are_refused, arrays_are_read,
                            tensors_are_found, every_prefix_is_refused, every_byte_may_be_wrong,
                            headers_that_lie,  keys_that_lie,           tensors_that_lie,
                            alignments,        paths_that_are_no_model, a_file_is_mapped};
    return unit_run("gguf", tests, sizeof tests / sizeof tests[0]);
}
