/* A directory as a disk: what each operation leaves, and what is refused. */
#include "base/disk.h"

#include "tests/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct scratch {
    char path[256];
    gsrt_disk *disk;
    gsrt_buffer got;
} scratch;

static void must(gsrt_status status)
{
    ck_assert_msg(status == GSRT_OK, "%s", gsrt_status_text(status));
}

static gsrt_span text(const char *bytes)
{
    return gsrt_span_of((const uint8_t *)bytes, strlen(bytes));
}

static scratch scratch_open(void)
{
    scratch s;
    const char *room = getenv("TMPDIR");
    (void)snprintf(s.path, sizeof s.path, "%.200s/gsrt-test-XXXXXX", room == NULL ? "/tmp" : room);
    ck_assert_ptr_nonnull(mkdtemp(s.path));
    must(gsrt_disk_open(s.path, &s.disk, NULL));
    gsrt_buffer_init(&s.got, 1 << 20);
    return s;
}

static void scratch_close(scratch *s, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        must(s->disk->ops->remove(s->disk, names[i]));
    gsrt_disk_close(s->disk);
    gsrt_buffer_fini(&s->got);
    ck_assert_int_eq(rmdir(s->path), 0); /* nothing else was left */
}

static void expect(scratch *s, const char *name, const char *content)
{
    gsrt_buffer_reset(&s->got);
    must(s->disk->ops->read(s->disk, name, &s->got));
    ck_assert_uint_eq(s->got.len, strlen(content));
    ck_assert_mem_eq(s->got.data, content, s->got.len);
}

START_TEST(files_are_replaced_whole_and_appended_to)
{
    scratch s = scratch_open();
    must(s.disk->ops->write(s.disk, "a.json", text("first")));
    must(s.disk->ops->write(s.disk, "a.json", text("2nd")));
    expect(&s, "a.json", "2nd");
    must(s.disk->ops->append(s.disk, "log", text("one ")));
    must(s.disk->ops->append(s.disk, "log", text("two")));
    must(s.disk->ops->sync(s.disk, "log"));
    must(s.disk->ops->sync(s.disk, "a.json"));
    expect(&s, "log", "one two");
    must(s.disk->ops->append(s.disk, "a.json", text("!")));
    expect(&s, "a.json", "2nd!");
    must(s.disk->ops->write(s.disk, "empty", text("")));
    expect(&s, "empty", "");
    scratch_close(&s, (const char *const[]){"a.json", "log", "empty"}, 3);
}
END_TEST

START_TEST(directories_are_made)
{
    scratch s = scratch_open();
    must(s.disk->ops->write(s.disk, "x/y/z", text("deep")));
    must(s.disk->ops->append(s.disk, "x/w", text("w")));
    must(s.disk->ops->sync(s.disk, "x/y/z"));
    expect(&s, "x/y/z", "deep");
    must(s.disk->ops->remove(s.disk, "x/y/z"));
    must(s.disk->ops->remove(s.disk, "x/w"));
    char path[300];
    (void)snprintf(path, sizeof path, "%s/x/y", s.path);
    ck_assert_int_eq(rmdir(path), 0);
    (void)snprintf(path, sizeof path, "%s/x", s.path);
    ck_assert_int_eq(rmdir(path), 0);
    scratch_close(&s, NULL, 0);
}
END_TEST

START_TEST(what_is_not_there_and_what_does_not_fit)
{
    scratch s = scratch_open();
    ck_assert_int_eq(s.disk->ops->read(s.disk, "none", &s.got), GSRT_ENOTFOUND);
    ck_assert_int_eq(s.disk->ops->sync(s.disk, "none"), GSRT_ENOTFOUND);
    ck_assert_int_eq(s.disk->ops->remove(s.disk, "none"), GSRT_ENOTFOUND);
    must(s.disk->ops->write(s.disk, "big", text("0123456789")));
    gsrt_buffer small;
    gsrt_buffer_init(&small, 8);
    must(gsrt_buffer_append(&small, "kept", 4));
    ck_assert_int_eq(s.disk->ops->read(s.disk, "big", &small), GSRT_ELIMIT);
    ck_assert_uint_eq(small.len, 4);
    gsrt_buffer_fini(&small);
    must(s.disk->ops->append(s.disk, "f", text("a file is no directory")));
    ck_assert_int_eq(s.disk->ops->write(s.disk, "f/g", text("x")), GSRT_EIO);
    gsrt_diag diag = {0};
    gsrt_disk *other;
    ck_assert_int_eq(gsrt_disk_open("/nowhere/at/all", &other, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "/nowhere/at/all"));
    ck_assert_ptr_null(gsrt_disk_close(NULL));
    scratch_close(&s, (const char *const[]){"big", "f"}, 2);
}
END_TEST

START_TEST(names_stay_below_the_directory)
{
    static const char *const bad[] = {"",     "/",      "/etc/x", "a//b", "a/",  ".",       "..",
                                      "../x", "a/../b", "a/.",    "a b",  "a\n", "\xc3\xa4"};
    static const char *const good[] = {"a", "a.b", "..a", "a..", "trace/0-1.bin", "A_b-9"};
    scratch s = scratch_open();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!gsrt_disk_is_name(bad[i]), "'%s' is taken for a name", bad[i]);
        ck_assert_int_eq(s.disk->ops->write(s.disk, bad[i], text("x")), GSRT_EINVAL);
        ck_assert_int_eq(s.disk->ops->append(s.disk, bad[i], text("x")), GSRT_EINVAL);
        ck_assert_int_eq(s.disk->ops->sync(s.disk, bad[i]), GSRT_EINVAL);
        ck_assert_int_eq(s.disk->ops->read(s.disk, bad[i], &s.got), GSRT_EINVAL);
        ck_assert_int_eq(s.disk->ops->remove(s.disk, bad[i]), GSRT_EINVAL);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(gsrt_disk_is_name(good[i]), "'%s' is not taken for a name", good[i]);
    char *name = malloc(8192);
    ck_assert_ptr_nonnull(name);
    memset(name, 'a', 8191);
    name[8191] = 0;
    ck_assert(!gsrt_disk_is_name(name));
    free(name);
    scratch_close(&s, NULL, 0);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {files_are_replaced_whole_and_appended_to, directories_are_made,
                            what_is_not_there_and_what_does_not_fit, names_stay_below_the_directory};
    return unit_run("disk", tests, sizeof tests / sizeof tests[0]);
}
