/* The twin's disk against a model of what a death may leave. */
#include "actors/twin.h"
#include "actors/twin_disk.h"
#include "base/random.h"

#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

static void must(gsrt_status status)
{
    ck_assert_msg(status == GSRT_OK, "%s", gsrt_status_text(status));
}

static gsrt_span text(const char *bytes)
{
    return gsrt_span_of((const uint8_t *)bytes, strlen(bytes));
}

/* Its content with a zero behind it, or NULL: not there. Borrowed until the next call. */
static const char *content(gsrt_disk *disk, const char *name, gsrt_buffer *room)
{
    gsrt_buffer_reset(room);
    gsrt_status status = disk->ops->read(disk, name, room);
    if (status == GSRT_ENOTFOUND)
        return NULL;
    must(status);
    must(gsrt_buffer_append(room, "", 1));
    return (const char *)room->data;
}

START_TEST(what_a_death_leaves)
{
    uint32_t old = 0, new = 0, back = 0, cut[5] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        gsrt_twin_disk *twin = gsrt_twin_disk_create(seed, 3);
        ck_assert_ptr_nonnull(twin);
        gsrt_disk *disk = gsrt_twin_disk_door(twin);
        gsrt_buffer room;
        gsrt_buffer_init(&room, 1000);
        must(disk->ops->write(disk, "view", text("old")));
        must(disk->ops->write(disk, "gone", text("gone")));
        must(disk->ops->append(disk, "log", text("ab")));
        must(disk->ops->sync(disk, "view"));
        must(disk->ops->sync(disk, "gone"));
        must(disk->ops->sync(disk, "log"));
        must(disk->ops->write(disk, "view", text("lost")));
        must(disk->ops->write(disk, "view", text("new")));
        must(disk->ops->append(disk, "log", text("cd")));
        must(disk->ops->remove(disk, "gone"));
        ck_assert_str_eq(content(disk, "view", &room), "new"); /* to the living it is there */
        gsrt_twin_disk_fail(twin, true);
        ck_assert_int_eq(disk->ops->read(disk, "view", &room), GSRT_EIO);
        ck_assert_int_eq(disk->ops->write(disk, "view", text("x")), GSRT_EIO);
        gsrt_twin_disk_mend(twin);
        const char *view = content(disk, "view", &room);
        ck_assert_ptr_nonnull(view);
        ck_assert_msg(strcmp(view, "old") == 0 || strcmp(view, "new") == 0, "'%s'", view);
        old += strcmp(view, "old") == 0;
        new += strcmp(view, "new") == 0;
        back += content(disk, "gone", &room) != NULL;
        const char *log = content(disk, "log", &room);
        ck_assert_ptr_nonnull(log);
        size_t len = strlen(log);
        ck_assert_msg(len >= 2 && len <= 4 && strncmp("abcd", log, len) == 0, "'%s'", log);
        cut[len]++;
        gsrt_twin_disk_fail(twin, true); /* a second death changes nothing: it has been on the disk since */
        gsrt_twin_disk_mend(twin);
        ck_assert_uint_eq(strlen(content(disk, "log", &room)), len);
        gsrt_buffer_fini(&room);
        gsrt_twin_disk_free(twin);
    }
    ck_assert(old > 50 && new > 50 && back > 50 && back < 150);
    ck_assert(cut[2] > 30 && cut[3] > 30 && cut[4] > 30);
}
END_TEST

/* A model of one file: what may be there after a death. */
typedef struct model {
    char now[256];
    bool is_there, was_there; /* now; when it was last synced */
    char safe[256];
    size_t sure_len;   /* of now, when now survives */
    bool is_base_safe; /* the synced one cannot come back */
} model;

static void model_change(model *m)
{
    if (m->is_base_safe) {
        m->was_there = m->is_there;
        memcpy(m->safe, m->now, sizeof m->safe);
        m->safe[m->sure_len] = 0;
    }
    m->is_base_safe = false;
    m->sure_len = 0;
}

static void model_death(model *m, const char *found)
{
    bool is_new = (found != NULL) == m->is_there &&
                  (found == NULL || (strncmp(found, m->now, strlen(found)) == 0 && strlen(found) >= m->sure_len));
    bool is_old = !m->is_base_safe && (found != NULL) == m->was_there && (found == NULL || strcmp(found, m->safe) == 0);
    ck_assert_msg(is_new || is_old, "found '%s', was '%s', synced '%s'", found == NULL ? "nothing" : found, m->now,
                  m->safe);
    m->is_there = found != NULL;
    (void)strcpy(m->now, found == NULL ? "" : found);
    m->sure_len = strlen(m->now);
    m->is_base_safe = true;
}

static void model_step(model *m, gsrt_twin_disk *twin, uint64_t draw, gsrt_buffer *room)
{
    gsrt_disk *disk = gsrt_twin_disk_door(twin);
    char piece[4] = {(char)('a' + (draw >> 8) % 26), (char)('a' + (draw >> 16) % 26), 0};
    switch (draw % 6) {
    case 0:
        must(disk->ops->write(disk, "f", text(piece)));
        model_change(m);
        m->is_there = true;
        (void)strcpy(m->now, piece);
        m->sure_len = strlen(piece);
        break;
    case 1:
    case 2:
        if (strlen(m->now) > 200)
            break;
        must(disk->ops->append(disk, "f", text(piece)));
        if (!m->is_there)
            model_change(m);
        m->is_there = true;
        (void)strcat(m->now, piece);
        break;
    case 3:
        ck_assert_int_eq(disk->ops->sync(disk, "f"), m->is_there ? GSRT_OK : GSRT_ENOTFOUND);
        if (m->is_there) {
            m->sure_len = strlen(m->now);
            m->is_base_safe = true;
        }
        break;
    case 4:
        ck_assert_int_eq(disk->ops->remove(disk, "f"), m->is_there ? GSRT_OK : GSRT_ENOTFOUND);
        if (m->is_there) {
            model_change(m);
            m->is_there = false;
            m->now[0] = 0;
        }
        break;
    default:
        gsrt_twin_disk_fail(twin, true);
        gsrt_twin_disk_mend(twin);
        model_death(m, content(disk, "f", room));
        break;
    }
    const char *found = content(disk, "f", room);
    ck_assert_int_eq(found != NULL, m->is_there);
    ck_assert(found == NULL || strcmp(found, m->now) == 0);
}

START_TEST(random_histories_against_the_model)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        gsrt_twin_disk *twin = gsrt_twin_disk_create(seed, 0);
        ck_assert_ptr_nonnull(twin);
        gsrt_buffer room;
        gsrt_buffer_init(&room, 1000);
        model m = {.is_base_safe = true};
        for (uint64_t i = 0; i < 100; i++)
            model_step(&m, twin, gsrt_random_u64(seed, 5, i), &room);
        gsrt_buffer_fini(&room);
        gsrt_twin_disk_free(twin);
    }
}
END_TEST

static gsrt_status start_nothing(void *arg, gsrt_node *node, uint32_t rank, uint32_t incarnation)
{
    (void)arg;
    (void)node;
    (void)rank;
    (void)incarnation;
    return GSRT_OK;
}

START_TEST(a_rank_finds_its_disk_again)
{
    gsrt_twin_options options = {
        .rank_count = 2, .seed = 1, .link = {1000, 1}, .recovery = {.restart_max = 1, .on_start = start_nothing}};
    gsrt_twin *twin;
    must(gsrt_twin_create(&options, &twin));
    gsrt_disk *disk = gsrt_twin_disk_of(twin, 1);
    ck_assert_ptr_nonnull(disk);
    ck_assert_ptr_null(gsrt_twin_disk_of(twin, 2));
    must(disk->ops->append(disk, "log", text("sure")));
    must(disk->ops->sync(disk, "log"));
    gsrt_twin_kill(twin, 1);
    ck_assert_int_eq(disk->ops->append(disk, "log", text("late")), GSRT_EIO);
    (void)gsrt_twin_run(twin, 100000000, UINT64_MAX);
    gsrt_buffer room;
    gsrt_buffer_init(&room, 1000);
    ck_assert_ptr_eq(gsrt_twin_disk_of(twin, 1), disk);
    ck_assert_str_eq(content(disk, "log", &room), "sure");
    gsrt_buffer_fini(&room);
    gsrt_twin_free(twin);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_a_death_leaves, random_histories_against_the_model, a_rank_finds_its_disk_again};
    return unit_run("twin_disk", tests, sizeof tests / sizeof tests[0]);
}
