/* Run directories: made with their parents, numbered, never written over; files all or nothing. */
#include "launch/run_directory.h"

#include "tests/launch/scratch.h"
#include "tests/unit.h"

static gsrt_run_directory *create(const scratch_directory *scratch, const char *name)
{
    char path[512];
    gsrt_diag diag = {0};
    gsrt_run_directory *directory = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", scratch->path, name);
    gsrt_status status = gsrt_run_directory_create(path, "n", &directory, &diag);
    ck_assert_msg(status == GSRT_OK, "%s", diag.text);
    return directory;
}

static void refuse(const char *wanted, const char *text)
{
    gsrt_diag diag = {0};
    gsrt_run_directory *directory = NULL;
    ck_assert_int_eq(gsrt_run_directory_create(wanted, "n", &directory, &diag), GSRT_EINPUT);
    ck_assert_ptr_null(directory);
    ck_assert_msg(strstr(diag.text, text) != NULL, "%s", diag.text);
}

START_TEST(made_with_parents)
{
    scratch_directory scratch = scratch_make();
    gsrt_run_directory *directory = create(&scratch, "a/b/c///");
    ck_assert(scratch_has(&scratch, "a/b/c/trace"));
    const char *path = gsrt_run_directory_path(directory);
    ck_assert_str_eq(path + strlen(path) - 4, "/b/c");
    ck_assert_ptr_null(gsrt_run_directory_free(directory));
    ck_assert_ptr_null(gsrt_run_directory_free(NULL));
    scratch_remove(&scratch);
}
END_TEST

START_TEST(numbered)
{
    scratch_directory scratch = scratch_make();
    ck_assert_int_eq(chdir(scratch.path), 0);
    static const char *const wanted[] = {"runs/n-1", "runs/n-2", "runs/n-3"};
    for (size_t i = 0; i < 3; i++) {
        gsrt_run_directory *directory;
        ck_assert_int_eq(gsrt_run_directory_create(NULL, "n", &directory, NULL), GSRT_OK);
        ck_assert_str_eq(gsrt_run_directory_path(directory), wanted[i]);
        (void)gsrt_run_directory_free(directory);
    }
    ck_assert_int_eq(chdir("/"), 0);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(never_written_over)
{
    scratch_directory scratch = scratch_make();
    char path[512];
    (void)snprintf(path, sizeof path, "%s/empty", scratch.path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)gsrt_run_directory_free(create(&scratch, "empty"));
    refuse(
        path,
        "empty: the run directory is not empty, and runs are not written over; choose another with -o, or remove it");
    (void)close(scratch_open(&scratch, "file"));
    (void)snprintf(path, sizeof path, "%s/file", scratch.path);
    refuse(path, "file: exists and is no directory; choose another run directory with -o");
    (void)snprintf(path, sizeof path, "%s/file/below", scratch.path);
    refuse(path, "below: the run directory cannot be created: Not a directory; choose another with -o");
    refuse("/proc/nothing/here", "cannot be created: ");
    scratch_remove(&scratch);
}
END_TEST

START_TEST(files_appear_whole)
{
    scratch_directory scratch = scratch_make();
    gsrt_run_directory *directory = create(&scratch, "run");
    ck_assert_int_eq(gsrt_run_directory_write(directory, "report.json", gsrt_span_of_text("{}"), NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_run_directory_write(directory, "report.json", gsrt_span_of_text("longer"), NULL), GSRT_OK);
    char *text = scratch_read(&scratch, "run/report.json", NULL);
    ck_assert_str_eq(text, "longer");
    free(text);
    ck_assert(!scratch_has(&scratch, "run/report.json.part"));
    ck_assert_int_eq(gsrt_run_directory_write(directory, "trace/x", gsrt_span_of(NULL, 0), NULL), GSRT_OK);
    ck_assert(scratch_has(&scratch, "run/trace/x"));
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_run_directory_write(directory, "no/x", gsrt_span_of_text("a"), &diag), GSRT_EIO);
    ck_assert_ptr_nonnull(strstr(diag.text, "run: no/x: cannot be written: No such file or directory"));
    /* A directory stands where the file should: the rename fails, the temporary file goes. */
    diag = (gsrt_diag){0};
    ck_assert_int_eq(gsrt_run_directory_write(directory, "trace", gsrt_span_of_text("a"), &diag), GSRT_EIO);
    ck_assert(!scratch_has(&scratch, "run/trace.part"));
    (void)gsrt_run_directory_free(directory);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(opened_by_another_rank)
{
    scratch_directory scratch = scratch_make();
    (void)gsrt_run_directory_free(create(&scratch, "run"));
    char path[512];
    (void)snprintf(path, sizeof path, "%s/run", scratch.path);
    gsrt_run_directory *directory;
    ck_assert_int_eq(gsrt_run_directory_open(path, &directory, NULL), GSRT_OK);
    int descriptor;
    ck_assert_int_eq(gsrt_run_directory_open_file(directory, "t", &descriptor, NULL), GSRT_OK);
    ck_assert_int_eq((int)write(descriptor, "ab", 2), 2);
    (void)close(descriptor);
    ck_assert_int_eq(gsrt_run_directory_reopen_file(directory, "t", &descriptor, NULL), GSRT_OK);
    ck_assert_int_eq((int)write(descriptor, "c", 1), 1);
    (void)close(descriptor);
    char *text = scratch_read(&scratch, "run/t", NULL);
    ck_assert_str_eq(text, "cb");
    free(text);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(gsrt_run_directory_append_file(directory, "lines", &descriptor, NULL), GSRT_OK);
        ck_assert_int_eq((int)write(descriptor, "x\n", 2), 2);
        (void)close(descriptor);
    }
    text = scratch_read(&scratch, "run/lines", NULL);
    ck_assert_str_eq(text, "x\nx\n");
    free(text);
    ck_assert_int_eq(gsrt_run_directory_reopen_file(directory, "absent", &descriptor, NULL), GSRT_EIO);
    (void)gsrt_run_directory_free(directory);
    gsrt_diag diag = {0};
    (void)snprintf(path, sizeof path, "%s/absent", scratch.path);
    ck_assert_int_eq(gsrt_run_directory_open(path, &directory, &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "absent: the run directory cannot be opened: No such file or directory"));
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {made_with_parents, numbered, never_written_over, files_appear_whole,
                            opened_by_another_rank};
    return unit_run("run_directory", tests, sizeof tests / sizeof tests[0]);
}
