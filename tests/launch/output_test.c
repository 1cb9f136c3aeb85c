/* Standard output across those who lead: every byte once, wherever a worker ends, and none of one who is behind. */
#include "launch/output.h"

#include "tests/launch/scratch.h"
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000, FOREVER_MS = 1 << 30 };

typedef struct stage {
    scratch_directory directory; /* of the position */
    char path[300];
    int pipe_ends[2];
} stage;

static int open_shown(const stage *s)
{
    int descriptor = open(s->path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(descriptor, 0);
    return descriptor;
}

static void set_up(stage *s)
{
    s->directory = scratch_make();
    (void)snprintf(s->path, sizeof s->path, "%s/shown", s->directory.path);
    int descriptor = scratch_open(&s->directory, "shown");
    (void)close(descriptor);
    ck_assert_int_eq(pipe2(s->pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
}

static void tear_down(stage *s)
{
    scratch_remove(&s->directory);
    (void)close(s->pipe_ends[0]);
    if (s->pipe_ends[1] >= 0)
        (void)close(s->pipe_ends[1]);
}

static int begin(const stage *s, gsrt_output *output)
{
    int end;
    ck_assert_int_eq(gsrt_output_open(output, s->pipe_ends[1], &end), GSRT_OK);
    return end;
}

/* As a leader does: from where whoever led before has come to. */
static void announce(const stage *s, int end)
{
    int descriptor = open_shown(s);
    uint64_t shown = 0;
    uint32_t owner;
    (void)(gsrt_output_read_position(descriptor, &shown, &owner) == GSRT_OK);
    ck_assert_int_eq(gsrt_output_add_position(descriptor, shown, 7), GSRT_OK);
    ck_assert_int_eq(gsrt_output_announce(end, descriptor), GSRT_OK);
    (void)close(descriptor);
}

static void say(int end, const char *text)
{
    ck_assert_int_eq(write(end, text, strlen(text)), (ssize_t)strlen(text));
}

static void expect(const stage *s, const char *text)
{
    char got[256] = {0};
    ssize_t n = read(s->pipe_ends[0], got, sizeof got - 1);
    ck_assert_int_eq(n < 0 ? 0 : n, (ssize_t)strlen(text));
    ck_assert_str_eq(got, text);
}

static uint64_t position(const stage *s)
{
    uint64_t found = UINT64_MAX;
    uint32_t owner;
    int descriptor = open_shown(s);
    ck_assert_int_eq(gsrt_output_read_position(descriptor, &found, &owner), GSRT_OK);
    ck_assert_uint_eq(owner, 7);
    (void)close(descriptor);
    return found;
}

START_TEST(what_a_dead_worker_wrote_is_out_and_counted)
{
    stage s;
    gsrt_output output;
    set_up(&s);
    int end = begin(&s, &output);
    announce(&s, end);
    say(end, "Once upon");
    gsrt_output_work(&output);
    expect(&s, "Once upon");
    ck_assert_uint_eq(position(&s), 9);
    say(end, " a time");
    (void)close(end); /* killed: nobody has taken that yet */
    ck_assert(gsrt_output_close(&output, PATIENCE_MS));
    expect(&s, " a time");
    ck_assert_uint_eq(position(&s), 16);
    tear_down(&s);
}
END_TEST

START_TEST(the_next_leader_is_counted_from_there)
{
    stage s;
    gsrt_output first, second;
    set_up(&s);
    int ends[2] = {begin(&s, &first), begin(&s, &second)};
    say(ends[0], "a remark ahead of it\n"); /* no position yet: not part of the answer */
    announce(&s, ends[0]);
    say(ends[0], "one");
    gsrt_output_work(&first);
    announce(&s, ends[1]);
    say(ends[1], "two");
    gsrt_output_work(&second);
    expect(&s, "a remark ahead of it\nonetwo");
    ck_assert_uint_eq(position(&s), 6);
    say(ends[0], "late"); /* it was stopped, and does not know that it is behind */
    gsrt_output_work(&first);
    announce(&s, ends[0]); /* until it leads again */
    say(ends[0], "three");
    gsrt_output_work(&first);
    expect(&s, "three");
    ck_assert_uint_eq(position(&s), 11);
    for (int i = 0; i < 2; i++)
        (void)close(ends[i]);
    ck_assert(gsrt_output_close(&first, PATIENCE_MS) && gsrt_output_close(&second, PATIENCE_MS));
    tear_down(&s);
}
END_TEST

START_TEST(a_reader_that_does_not_read)
{
    static char text[GSRT_OUTPUT_CHUNK_BYTES];
    stage s;
    gsrt_output output;
    size_t total = 0, got = 0;
    set_up(&s);
    memset(text, 'x', sizeof text);
    int end = begin(&s, &output);
    ck_assert_int_eq(fcntl(end, F_SETFL, O_NONBLOCK), 0);
    announce(&s, end);
    for (ssize_t n = 1; n > 0; total += n > 0 ? (size_t)n : 0) { /* until everything on the way is full */
        n = write(end, text, sizeof text);
        gsrt_output_work(&output);
    }
    ck_assert_int_eq(gsrt_output_poll(&output).fd, s.pipe_ends[1]);
    ck_assert_uint_lt(position(&s), total);
    for (ssize_t n = 1; n > 0; got += n > 0 ? (size_t)n : 0) {
        n = read(s.pipe_ends[0], text, sizeof text);
        gsrt_output_work(&output);
    }
    ck_assert_uint_eq(got, total);
    ck_assert_uint_eq(position(&s), total);
    memset(text, 'y', sizeof text);
    while (write(end, text, sizeof text) > 0)
        gsrt_output_work(&output);
    (void)close(end);
    ck_assert(!gsrt_output_close(&output, 0)); /* what did not fit is not counted as shown */
    uint64_t shown = position(&s);
    for (ssize_t n = 1; n > 0; got += n > 0 ? (size_t)n : 0)
        n = read(s.pipe_ends[0], text, sizeof text);
    ck_assert_uint_eq(got, shown);
    tear_down(&s);
}
END_TEST

START_TEST(one_keeper_that_is_behind_counts_in_vain)
{
    stage s;
    gsrt_output first, second;
    set_up(&s);
    int ends[2] = {begin(&s, &first), begin(&s, &second)};
    announce(&s, ends[0]);
    say(ends[0], "onetwo");
    gsrt_output_work(&first);
    ck_assert_uint_eq(position(&s), 6);
    announce(&s, ends[1]);
    say(ends[1], "three");
    gsrt_output_work(&second);
    say(ends[0], "late");
    gsrt_output_work(&first);
    ck_assert_uint_eq(position(&s), 11);
    say(ends[1], "four");
    gsrt_output_work(&second);
    expect(&s, "onetwothreefour");
    for (int i = 0; i < 2; i++)
        (void)close(ends[i]);
    ck_assert(gsrt_output_close(&first, PATIENCE_MS) && gsrt_output_close(&second, PATIENCE_MS));
    tear_down(&s);
}
END_TEST

START_TEST(who_is_interrupted_waits_for_the_reader)
{
    stage s;
    char text[2];
    set_up(&s);
    gsrt_output_linger(s.pipe_ends[1], PATIENCE_MS); /* nothing is left */
    say(s.pipe_ends[1], "x");
    gsrt_output_linger(s.pipe_ends[1], 1); /* nobody reads: it ends all the same */
    ck_assert_int_eq(read(s.pipe_ends[0], text, sizeof text), 1);
    gsrt_output_linger(s.pipe_ends[1], PATIENCE_MS);
    say(s.pipe_ends[1], "y");
    (void)close(s.pipe_ends[0]);
    s.pipe_ends[0] = -1;
    gsrt_output_linger(s.pipe_ends[1], FOREVER_MS); /* the reader has gone: nobody is waited for */
    tear_down(&s);
}
END_TEST

START_TEST(nobody_reads_any_more)
{
    stage s;
    gsrt_output output;
    set_up(&s);
    int end = begin(&s, &output);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)close(s.pipe_ends[0]);
    s.pipe_ends[0] = -1;
    say(end, "x");
    gsrt_output_work(&output);
    ck_assert_int_lt(write(end, "y", 1), 0); /* the worker knows, too */
    ck_assert_int_eq(errno, EPIPE);
    (void)close(end);
    ck_assert(gsrt_output_close(&output, PATIENCE_MS));
    tear_down(&s);
}
END_TEST

START_TEST(positions_are_not_believed)
{
    static const char *const texts[] = {"",
                                        "12\n",
                                        "0000000000000000000x 0000000007\n",
                                        "99999999999999999999 0000000007\n",
                                        "00000000000000000001 9999999999\n",
                                        "00000000000000000001 0000000007 "};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stage s;
        gsrt_output output;
        uint64_t found;
        uint32_t owner;
        set_up(&s);
        int descriptor = open(s.path, O_RDWR | O_CLOEXEC | O_TRUNC);
        say(descriptor, texts[i]);
        ck_assert_int_eq(gsrt_output_read_position(descriptor, &found, &owner), GSRT_EINPUT);
        ck_assert_int_eq(lseek(descriptor, 0, SEEK_SET), 0);
        int end = begin(&s, &output);
        ck_assert_int_eq(gsrt_output_announce(end, descriptor), GSRT_OK);
        say(end, "what nobody can count");
        (void)close(end);
        ck_assert(gsrt_output_close(&output, PATIENCE_MS));
        expect(&s, "");
        (void)close(descriptor);
        tear_down(&s);
    }
}
END_TEST

START_TEST(without_a_keeper_nobody_counts)
{
    stage s;
    set_up(&s);
    int descriptor = open_shown(&s);
    ck_assert_int_eq(gsrt_output_announce(s.pipe_ends[1], descriptor), GSRT_ENOTFOUND);
    (void)close(descriptor);
    tear_down(&s);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_a_dead_worker_wrote_is_out_and_counted,
                            the_next_leader_is_counted_from_there,
                            a_reader_that_does_not_read,
                            one_keeper_that_is_behind_counts_in_vain,
                            who_is_interrupted_waits_for_the_reader,
                            nobody_reads_any_more,
                            positions_are_not_believed,
                            without_a_keeper_nobody_counts};
    return unit_run("output", tests, sizeof tests / sizeof tests[0]);
}
