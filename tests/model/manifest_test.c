/* The manifest: the hash that says whether this is the file that was meant. */
#include "model/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "tests/model/tiny_llama.h"
#include "tests/unit.h"

typedef struct place {
    char folder[32], model[64], manifest[64];
} place;

static place make_place(void)
{
    place p = {.folder = "manifest_test.XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(p.folder));
    (void)snprintf(p.model, sizeof p.model, "%s/m.gguf", p.folder);
    (void)snprintf(p.manifest, sizeof p.manifest, "%s/m.gguf.xxh3", p.folder);
    return p;
}

static void remove_place(const place *p)
{
    (void)unlink(p->model);
    (void)unlink(p->manifest);
    (void)rmdir(p->manifest);
    (void)rmdir(p->folder);
}

static void write_file(const char *path, const void *data, size_t len)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

/* A model, with byte `flipped` of it changed (0: none); *hash is that of the right one. */
static void write_model(const place *p, size_t flipped, char *hash)
{
    gguf_writer w;
    gsrt_buffer bytes;
    tiny_write(&w, &tiny_usual);
    gguf_end(&w, &bytes);
    XXH128_hash_t value = XXH3_128bits(bytes.data, bytes.len);
    (void)snprintf(hash, 33, "%016" PRIx64 "%016" PRIx64, value.high64, value.low64);
    if (flipped > 0)
        bytes.data[bytes.len - flipped] ^= 1;
    write_file(p->model, bytes.data, bytes.len);
    gsrt_buffer_fini(&bytes);
}

static gsrt_status check(const place *p, gsrt_manifest *out, gsrt_diag *diag)
{
    gsrt_gguf *gguf = NULL;
    ck_assert_msg(gsrt_gguf_open(p->model, &gguf, diag) == GSRT_OK, "%s", diag->text);
    gsrt_status status = gsrt_manifest_check(gguf, out, diag);
    gsrt_gguf_free(gguf);
    return status;
}

START_TEST(no_manifest_checks_nothing)
{
    place p = make_place();
    char hash[33];
    gsrt_manifest m = {.is_present = true};
    gsrt_diag diag = {0};
    write_model(&p, 0, hash);
    ck_assert_int_eq(check(&p, &m, &diag), GSRT_OK);
    ck_assert(!m.is_present && m.hashed_bytes == 0);
    remove_place(&p);
}
END_TEST

START_TEST(the_right_file_passes)
{
    static const char *const behind[] = {"  m.gguf\n", "", "\n"};
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        place p = make_place();
        char hash[33], line[64];
        gsrt_manifest m;
        gsrt_diag diag = {0};
        write_model(&p, 0, hash);
        int len = snprintf(line, sizeof line, "%s%s", hash, behind[i]);
        write_file(p.manifest, line, (size_t)len);
        ck_assert_msg(check(&p, &m, &diag) == GSRT_OK, "%s", diag.text);
        ck_assert(m.is_present && m.hashed_bytes > 0);
        remove_place(&p);
    }
}
END_TEST

/* A flipped bit in the weights is well-formed GGUF: only the manifest finds it. */
START_TEST(another_file_is_refused)
{
    place p = make_place();
    char hash[33];
    gsrt_manifest m;
    gsrt_diag diag = {0};
    write_model(&p, 5, hash);
    write_file(p.manifest, hash, 32);
    ck_assert_int_eq(check(&p, &m, &diag), GSRT_EINPUT);
    ck_assert_msg(strncmp(diag.text, p.model, strlen(p.model)) == 0 && strstr(diag.text, hash) != NULL &&
                      strstr(diag.text, "; fetch the file again") != NULL,
                  "'%s'", diag.text);
    remove_place(&p);
}
END_TEST

START_TEST(manifests_that_are_none)
{
    static const char *const lines[] = {"", "xyz", "0123456789abcdef0123456789abcde",
                                        "0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdef0123"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        place p = make_place();
        char hash[33];
        gsrt_manifest m;
        gsrt_diag diag = {0};
        write_model(&p, 0, hash);
        write_file(p.manifest, lines[i], strlen(lines[i]));
        ck_assert_int_eq(check(&p, &m, &diag), GSRT_EINPUT);
        ck_assert_msg(strncmp(diag.text, p.manifest, strlen(p.manifest)) == 0, "'%s'", diag.text);
        remove_place(&p);
    }
    place p = make_place();
    char hash[33];
    gsrt_manifest m;
    gsrt_diag diag = {0};
    write_model(&p, 0, hash);
    ck_assert_int_eq(mkdir(p.manifest, 0700), 0);
    ck_assert_int_eq(check(&p, &m, &diag), GSRT_EINPUT);
    remove_place(&p);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {no_manifest_checks_nothing, the_right_file_passes, another_file_is_refused,
                            manifests_that_are_none};
    return unit_run("manifest", tests, sizeof tests / sizeof tests[0]);
}
