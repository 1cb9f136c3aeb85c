/* GGUF files that broke other runtimes: each is refused with one message that names file and place, within bounded
 * memory. Needs the shared data. */
#include <dirent.h>
#include <string.h>
#include <sys/resource.h>

#include "model/import_llama.h"
#include "model/tokenizer.h"
#include "tests/model/shared_data.h"
#include "tests/unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEMORY_MIB_MAX = 2000 }; /* the sanitizers' own memory */
#else
enum { MEMORY_MIB_MAX = 200 };
#endif

/* Whoever loads a model goes through these three; the first that refuses decides. */
static gsrt_status load(const char *path, gsrt_diag *diag)
{
    gsrt_gguf *gguf = NULL;
    gsrt_workload *workload = NULL;
    gsrt_tokenizer *tokenizer = NULL;
    gsrt_status status = gsrt_gguf_open(path, &gguf, diag);
    if (status != GSRT_OK)
        return status;
    status = gsrt_tokenizer_create(gguf, &tokenizer, diag);
    if (status == GSRT_OK || status == GSRT_ENOTFOUND)
        status = gsrt_import_gguf(gguf, &workload, diag);
    gsrt_tokenizer_free(tokenizer);
    gsrt_workload_free(workload);
    gsrt_gguf_free(gguf);
    return status;
}

static size_t check_folder(const char *name)
{
    char folder[512], path[1024];
    shared_path(folder, sizeof folder, name);
    DIR *files = opendir(folder);
    ck_assert_ptr_nonnull(files);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        gsrt_diag diag = {0};
        gsrt_status status = load(path, &diag);
        ck_assert_msg(status == GSRT_EINPUT, "%s: %s", path, gsrt_status_name(status));
        ck_assert_msg(strncmp(diag.text, folder, strlen(folder)) == 0 && strstr(diag.text, "; ") != NULL, "%s: '%s'",
                      path, diag.text);
        printf("%s\n", diag.text + strlen(folder) + 1);
        count++;
    }
    (void)closedir(files);
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    ck_assert_int_lt(usage.ru_maxrss / 1024, MEMORY_MIB_MAX);
    return count;
}

START_TEST(files_that_broke_others)
{
    ck_assert_uint_ge(check_folder("bugs/gguf"), 9);
}
END_TEST

START_TEST(weights_that_are_no_gguf)
{
    ck_assert_uint_ge(check_folder("bugs/weights"), 1);
}
END_TEST

int main(void)
{
    if (shared_is_absent("gguf_bugs_test", "bugs/gguf"))
        return SKIPPED;
    const TTest *tests[] = {files_that_broke_others, weights_that_are_no_gguf};
    return unit_run("gguf_bugs", tests, sizeof tests / sizeof tests[0]);
}
