/* Snapshots: parts and manifests, committed and found again; every kind of damage is refused, and the one before taken.
 */
#include "ckpt/snapshot.h"

#include "base/limits.h"
#include "tests/launch/scratch.h"

#include <check.h>

enum { LAYERS = 3, HEADS = 2, DIM = 4, REQUESTS = 2, FLOATS = GSRT_KV_BLOCK_POSITIONS * DIM };

static const gsrt_snapshot_shape shape = {.layer_count = LAYERS, .kv_head_count = HEADS, .head_dim = DIM};
static const gsrt_snapshot_request requests[REQUESTS] = {{1, 2}, {5, 1}};

static float value_of(const gsrt_snapshot_cell *cell, uint32_t at)
{
    return (float)(((cell->request * 8 + cell->layer) * 8 + cell->head) * 8 + cell->block) + (float)at / 1024;
}

/* A part with the layers [first, end) of all requests. */
static gsrt_snapshot_part *make_part(uint64_t number, uint32_t first, uint32_t end)
{
    gsrt_snapshot_part *part = gsrt_snapshot_part_create(number, DIM, 3 * HEADS * (end - first));
    ck_assert_ptr_nonnull(part);
    for (uint32_t r = 0; r < REQUESTS; r++) {
        gsrt_snapshot_cell cell = {.request = requests[r].request};
        for (cell.layer = first; cell.layer < end; cell.layer++)
            for (cell.head = 0; cell.head < HEADS; cell.head++)
                for (cell.block = 0; cell.block < requests[r].block_count; cell.block++) {
                    float *k, *v;
                    gsrt_snapshot_cells_add(gsrt_snapshot_part_cells(part), &cell, &k, &v);
                    for (uint32_t i = 0; i < FLOATS; i++) {
                        k[i] = value_of(&cell, i);
                        v[i] = -k[i];
                    }
                }
    }
    return part;
}

typedef struct stored {
    gsrt_status status;
    gsrt_snapshot_file file;
    uint32_t count;
} stored;

static void note_stored(void *arg, uint64_t number, gsrt_status status, uint64_t bytes, uint64_t hash)
{
    stored *s = arg;
    (void)number;
    s->status = status;
    s->file.bytes = bytes;
    s->file.hash = hash;
    s->count += 1;
}

/* Store a part; free waits for its writer. */
static gsrt_snapshot_file store(const char *path, uint64_t number, uint32_t stage, uint32_t first, uint32_t end)
{
    stored s = {.file = {.stage = stage}};
    gsrt_snapshot_part *part = make_part(number, first, end);
    ck_assert_int_eq(gsrt_snapshot_part_store(part, path, stage, 0, note_stored, &s), GSRT_OK);
    ck_assert_ptr_null(gsrt_snapshot_part_free(part));
    ck_assert_uint_eq(s.count, 1);
    ck_assert_int_eq(s.status, GSRT_OK);
    return s.file;
}

static void commit(const char *path, uint64_t number)
{
    gsrt_diag diag = {0};
    gsrt_snapshot_file files[2] = {store(path, number, 0, 0, 2), store(path, number, 1, 2, LAYERS)};
    gsrt_snapshot_manifest manifest = {.number = number,
                                       .shape = shape,
                                       .requests = requests,
                                       .request_count = REQUESTS,
                                       .files = files,
                                       .file_count = 2};
    ck_assert_int_eq(gsrt_snapshot_commit(path, &manifest, &diag), GSRT_OK);
}

typedef struct refusals {
    uint32_t count;
    uint64_t last;
    char why[512];
} refusals;

static void note_refused(void *arg, uint64_t number, const char *why)
{
    refusals *r = arg;
    r->count += 1;
    r->last = number;
    (void)snprintf(r->why, sizeof r->why, "%s", why);
}

static uint64_t find(const char *path, refusals *refused)
{
    gsrt_snapshot *snapshot;
    *refused = (refusals){0};
    ck_assert_int_eq(gsrt_snapshot_find(path, &shape, note_refused, refused, &snapshot), GSRT_OK);
    uint64_t number = snapshot == NULL ? 0 : gsrt_snapshot_manifest_of(snapshot)->number;
    gsrt_snapshot_free(snapshot);
    return number;
}

START_TEST(what_was_kept_comes_back)
{
    scratch_directory scratch = scratch_make();
    refusals refused;
    gsrt_snapshot *snapshot;
    gsrt_diag diag = {0};
    const float *k, *v;
    ck_assert_uint_eq(find(scratch.path, &refused), 0);
    ck_assert_uint_eq(gsrt_snapshot_next_number(scratch.path), 1);
    commit(scratch.path, 1);
    ck_assert_int_eq(gsrt_snapshot_open(scratch.path, 1, true, &snapshot, &diag), GSRT_OK);
    ck_assert_uint_eq(gsrt_snapshot_blocks(snapshot, 1), 2);
    ck_assert_uint_eq(gsrt_snapshot_blocks(snapshot, 2), 0);
    ck_assert_uint_eq(gsrt_snapshot_blocks(snapshot, 5), 1);
    for (uint32_t r = 0; r < REQUESTS; r++) {
        gsrt_snapshot_cell cell = {.request = requests[r].request};
        for (cell.layer = 0; cell.layer < LAYERS; cell.layer++)
            for (cell.head = 0; cell.head < HEADS; cell.head++)
                for (cell.block = 0; cell.block < requests[r].block_count; cell.block++) {
                    ck_assert(gsrt_snapshot_get(snapshot, &cell, &k, &v));
                    for (uint32_t i = 0; i < FLOATS; i++)
                        ck_assert(k[i] == value_of(&cell, i) && v[i] == -value_of(&cell, i));
                }
        ck_assert(!gsrt_snapshot_get(snapshot, &cell, &k, &v));
    }
    gsrt_snapshot_free(snapshot);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(the_newest_two_are_kept)
{
    scratch_directory scratch = scratch_make();
    refusals refused;
    (void)store(scratch.path, 1, 0, 0, 2); /* never committed */
    for (uint64_t number = 2; number <= 5; number++) {
        commit(scratch.path, number);
        ck_assert_uint_eq(find(scratch.path, &refused), number);
        ck_assert_uint_eq(refused.count, 0);
    }
    (void)store(scratch.path, 6, 0, 0, 2); /* dies before the second phase */
    ck_assert_uint_eq(find(scratch.path, &refused), 5);
    ck_assert_uint_eq(gsrt_snapshot_next_number(scratch.path), 7);
    static const char *const gone[] = {"1.part", "1", "2", "2.part", "3", "3.part", "5.part"};
    char name[64];
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        (void)snprintf(name, sizeof name, "snapshots/%s", gone[i]);
        ck_assert_msg(!scratch_has(&scratch, name), "%s", name);
    }
    commit(scratch.path, 7);
    ck_assert(scratch_has(&scratch, "snapshots/5") && !scratch_has(&scratch, "snapshots/4"));
    ck_assert(!scratch_has(&scratch, "snapshots/6.part"));
    scratch_remove(&scratch);
}
END_TEST

static void put_bytes(const scratch_directory *scratch, const char *name, const char *bytes, size_t len)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", scratch->path, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

/* Each byte of each file's head flipped in turn, of the rest some; and lengths that it can be cut to. */
START_TEST(every_damage_is_refused)
{
    static const char *const names[] = {"snapshots/2/manifest", "snapshots/2/0-0", "snapshots/2/1-0"};
    scratch_directory scratch = scratch_make();
    refusals refused;
    commit(scratch.path, 1);
    commit(scratch.path, 2);
    for (size_t n = 0; n < 3; n++) {
        size_t len;
        char *bytes = scratch_read(&scratch, names[n], &len);
        for (size_t at = 0; at < len; at += at < 140 ? 1 : at < 300 ? 7 : 4001) {
            bytes[at] ^= (char)(1 << at % 8);
            put_bytes(&scratch, names[n], bytes, len);
            ck_assert_uint_eq(find(scratch.path, &refused), 1);
            ck_assert(refused.count == 1 && refused.last == 2);
            bytes[at] ^= (char)(1 << at % 8);
            if (at % 3 != 0)
                continue;
            put_bytes(&scratch, names[n], bytes, at);
            ck_assert_uint_eq(find(scratch.path, &refused), 1);
        }
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", scratch.path, names[n]);
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_uint_eq(find(scratch.path, &refused), 1);
        put_bytes(&scratch, names[n], bytes, len);
        free(bytes);
        ck_assert_uint_eq(find(scratch.path, &refused), 2);
    }
    scratch_remove(&scratch);
}
END_TEST

START_TEST(sound_files_that_do_not_fit_are_refused)
{
    scratch_directory scratch = scratch_make();
    refusals refused;
    gsrt_diag diag = {0};
    gsrt_snapshot *snapshot;
    /* a layer twice, and one never */
    gsrt_snapshot_file files[2] = {store(scratch.path, 1, 0, 0, 2), store(scratch.path, 1, 1, 1, 2)};
    gsrt_snapshot_manifest manifest = {
        .number = 1, .shape = shape, .requests = requests, .request_count = REQUESTS, .files = files, .file_count = 2};
    ck_assert_int_eq(gsrt_snapshot_commit(scratch.path, &manifest, &diag), GSRT_OK);
    ck_assert_uint_eq(find(scratch.path, &refused), 0);
    ck_assert_ptr_nonnull(strstr(refused.why, "request 1, layer 2, head 0, block 0 is missing"));
    /* a part too many */
    files[0] = store(scratch.path, 2, 0, 0, LAYERS);
    files[1] = store(scratch.path, 2, 1, 1, 2);
    manifest.number = 2;
    ck_assert_int_eq(gsrt_snapshot_commit(scratch.path, &manifest, &diag), GSRT_OK);
    ck_assert_uint_eq(find(scratch.path, &refused), 0);
    /* another model's */
    commit(scratch.path, 3);
    gsrt_snapshot_shape other = shape;
    other.head_dim += 1;
    ck_assert_int_eq(gsrt_snapshot_find(scratch.path, &other, note_refused, &refused, &snapshot), GSRT_OK);
    ck_assert_ptr_null(snapshot);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(what_cannot_be_written_is_said)
{
    stored s = {0};
    gsrt_diag diag = {0};
    gsrt_snapshot_part *part = make_part(1, 0, 1);
    ck_assert_int_eq(gsrt_snapshot_part_store(part, "/nonexistent/run", 0, 0, note_stored, &s), GSRT_OK);
    gsrt_snapshot_part_free(part);
    ck_assert_int_eq(s.status, GSRT_EIO);
    gsrt_snapshot_manifest manifest = {.number = 1, .shape = shape};
    ck_assert_int_eq(gsrt_snapshot_commit("/nonexistent/run", &manifest, &diag), GSRT_EIO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *cases = tcase_create("snapshot");
    tcase_set_timeout(cases, 240); /* seconds: each commit waits for the disk, which others may keep busy */
    tcase_add_test(cases, what_was_kept_comes_back);
    tcase_add_test(cases, the_newest_two_are_kept);
    tcase_add_test(cases, every_damage_is_refused);
    tcase_add_test(cases, sound_files_that_do_not_fit_are_refused);
    tcase_add_test(cases, what_cannot_be_written_is_said);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
