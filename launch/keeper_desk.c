/* The keeper's desk: its listener, where orders come in, and its word, which goes out to every worker. */
#include "launch/keeper_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    GUEST_MS = 1000,
    WORD_MS = 2000,
    WORD_AGAIN_MS = 1000,
    SLOW_TURN_MS = 4,
    PROCESS_IS_EXITING = 4, /* PF_EXITING of the kernel */
};

/* ---- the word ---- */

static void start_word(gsrt__keeper *k, uint32_t rank)
{
    gsrt_card card;
    gsrt_note note = {.kind = GSRT_NOTE_WORD, .from = k->ticket.rank, .to = rank, .word = &k->word};
    gsrt_buffer bytes;
    gsrt_visit *visit = &k->words[rank];
    if (visit->state != GSRT_VISIT_IDLE || rank == k->ticket.rank ||
        gsrt_card_decode(k->ticket.cards[rank], &card) != GSRT_OK)
        return;
    gsrt_buffer_init(&bytes, GSRT_NOTE_BYTES_MAX);
    gsrt_route route = gsrt_place_route(&k->place, &card.place, card.place.port);
    if (gsrt_note_encode(&note, &bytes) == GSRT_OK &&
        gsrt_visit_call(visit, &route, &k->secret, gsrt_buffer_span(&bytes), true, gsrt_visit_now_ms() + WORD_MS) ==
            GSRT_OK)
        k->word_count++; /* timeless: who is dead stays dead */
    else
        gsrt_visit_fini(visit);
    gsrt_buffer_fini(&bytes);
}

static void end_word(gsrt__keeper *k, uint32_t rank)
{
    if (k->words[rank].state != GSRT_VISIT_IDLE)
        k->word_count--;
    gsrt_visit_fini(&k->words[rank]);
}

void gsrt__keeper_say_word(gsrt__keeper *k, bool is_new)
{
    if (k->words == NULL)
        k->words = calloc(k->ticket.rank_count, sizeof *k->words);
    if (k->words == NULL)
        return; /* the others have other ways to notice, slower ones */
    for (uint32_t rank = 0; rank < k->ticket.rank_count; rank++) {
        if (is_new)
            end_word(k, rank);
        start_word(k, rank);
    }
    k->say_again_ms = k->worker == 0 ? gsrt_visit_now_ms() + WORD_AGAIN_MS : UINT64_MAX;
}

static void move_words(gsrt__keeper *k)
{
    for (uint32_t rank = 0; k->words != NULL && rank < k->ticket.rank_count && k->word_count > 0; rank++) {
        if (k->words[rank].state == GSRT_VISIT_IDLE)
            continue;
        gsrt_visit_state state = gsrt_visit_move(&k->words[rank]);
        if (state == GSRT_VISIT_DONE)
            k->last_heard_ms = gsrt_visit_now_ms();
        if (state == GSRT_VISIT_DONE || state == GSRT_VISIT_FAILED)
            end_word(k, rank);
    }
}

/* ---- orders ---- */

/* proc(5). false: not known. */
static bool read_state(pid_t worker, char *out_state, unsigned *out_flags)
{
    char path[32], text[512];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)worker);
    FILE *file = fopen(path, "re");
    size_t len = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    if (file != NULL)
        (void)fclose(file);
    text[len] = '\0';
    const char *name_end = strrchr(text, ')'); /* then state, five numbers, flags */
    return name_end != NULL && sscanf(name_end + 1, " %c %*d %*d %*d %*d %*d %u", out_state, out_flags) == 2;
}

/* It is ending already, whoever notices that first: its sockets close before it can be waited for. */
static bool is_dying(pid_t worker)
{
    char state;
    unsigned flags;
    return read_state(worker, &state, &flags) && (flags & PROCESS_IS_EXITING) != 0;
}

static bool is_stopped(pid_t worker)
{
    char state;
    unsigned flags;
    return read_state(worker, &state, &flags) && state == 'T';
}

/* Turns of whole milliseconds whose lengths have the ratio asked for, the shorter one SLOW_TURN_MS at least. */
static void begin_slowness(gsrt__keeper *k, const gsrt_note *order)
{
    uint64_t more = order->factor_milli - 1000; /* stopped for each 1000 that it runs */
    uint64_t run = more >= 1000 ? SLOW_TURN_MS : (SLOW_TURN_MS * 1000 + more - 1) / more;
    k->slow_run_ms = (uint32_t)run;
    k->slow_stop_ms = (uint32_t)(run * more / 1000);
    k->slow_turn_ms = gsrt_visit_now_ms();
    k->slow_until_ms = k->slow_turn_ms + order->duration_ms;
}

static void do_drill(gsrt__keeper *k, const gsrt_note *order)
{
    if (k->worker == 0)
        return;
    switch (order->drill) {
    case GSRT_DRILL_KILL: (void)kill(k->worker, SIGKILL); break;
    case GSRT_DRILL_STOP:
        (void)kill(k->worker, SIGSTOP);
        k->continue_at_ms = gsrt_visit_now_ms() + order->duration_ms;
        break;
    case GSRT_DRILL_SLOW: begin_slowness(k, order); break;
    }
}

/* The worker runs, and has gone on without the one that asks, who does not know that yet. */
static bool must_refuse(gsrt__keeper *k, const gsrt_note *order)
{
    uint64_t now = gsrt_visit_now_ms();
    if (!gsrt_deposit_leaves_out(&k->ticket.deposit, order->from, order->asker, order->epoch) || is_stopped(k->worker))
        return false;
    k->refused_ms = k->refused_ms == 0 ? now : k->refused_ms;
    return now - k->refused_ms < GSRT_KEEPER_REFUSES_MS;
}

/* true: the answer is the word. */
static bool obey(gsrt__keeper *k, const gsrt_note *order)
{
    switch (order->order) {
    case GSRT_ORDER_END:
        if (k->has_word && order->incarnation <= k->word.incarnation)
            return true;
        if (k->worker != 0 && order->incarnation == k->incarnation && !must_refuse(k, order)) {
            k->was_ordered = k->was_ordered || !is_dying(k->worker);
            (void)kill(k->worker, SIGKILL);
        }
        break;
    case GSRT_ORDER_DRILL: do_drill(k, order); break;
    case GSRT_ORDER_FINISHED:
        k->is_finished = true;
        k->finished_code = (int)order->exit_code;
        break;
    }
    return false;
}

static void hear(gsrt__keeper *k, gsrt_visit *visit)
{
    gsrt_note note = {0};
    gsrt_buffer bytes;
    gsrt_status status = gsrt_note_decode(gsrt_visit_note(visit), k->ticket.rank_count, &note);
    if (status != GSRT_OK || note.kind != GSRT_NOTE_ORDER || note.to != k->ticket.rank || visit->is_timeless) {
        gsrt_visit_fini(visit);
        return;
    }
    gsrt_note reply = {.kind = obey(k, &note) ? GSRT_NOTE_WORD : GSRT_NOTE_HEARD,
                       .from = k->ticket.rank,
                       .to = note.from,
                       .incarnation = k->incarnation,
                       .word = &k->word};
    k->last_heard_ms = gsrt_visit_now_ms();
    gsrt_buffer_init(&bytes, GSRT_NOTE_BYTES_MAX);
    if (gsrt_note_encode(&reply, &bytes) != GSRT_OK || gsrt_visit_answer(visit, gsrt_buffer_span(&bytes)) != GSRT_OK)
        gsrt_visit_fini(visit);
    gsrt_buffer_fini(&bytes);
}

static void move_guests(gsrt__keeper *k)
{
    k->guest_count = 0;
    for (uint32_t i = 0; i < GSRT__KEEPER_GUEST_COUNT_MAX; i++) {
        gsrt_visit *visit = &k->guests[i];
        if (visit->state != GSRT_VISIT_IDLE && gsrt_visit_move(visit) == GSRT_VISIT_HEARD)
            hear(k, visit);
        if (visit->state == GSRT_VISIT_DONE || visit->state == GSRT_VISIT_FAILED)
            gsrt_visit_fini(visit);
        k->guest_count += visit->state != GSRT_VISIT_IDLE;
    }
}

/* The seat to take: a free one, or that of the guest who is due first. */
static gsrt_visit *find_seat(gsrt__keeper *k)
{
    gsrt_visit *first = &k->guests[0];
    for (uint32_t i = 0; i < GSRT__KEEPER_GUEST_COUNT_MAX; i++) {
        if (k->guests[i].state == GSRT_VISIT_IDLE)
            return &k->guests[i];
        if (k->guests[i].deadline_ms < first->deadline_ms)
            first = &k->guests[i];
    }
    return first;
}

/* At most as many as there are seats, so that nobody takes all of its time. */
static void accept_guests(gsrt__keeper *k)
{
    for (int i = 0; i < GSRT__KEEPER_GUEST_COUNT_MAX; i++) {
        int fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        gsrt_visit *visit = find_seat(k);
        gsrt_visit_fini(visit);
        if (gsrt_visit_receive(visit, fd, &k->secret, gsrt_visit_now_ms() + GUEST_MS) == GSRT_OK)
            (void)gsrt_visit_move(visit);
    }
}

/* ---- the desk ---- */

static uint32_t add(struct pollfd *out, uint32_t count, const gsrt_visit *visit)
{
    short events = gsrt_visit_events(visit);
    if (events != 0)
        out[count++] = (struct pollfd){.fd = visit->fd, .events = events};
    return count;
}

uint32_t gsrt__keeper_desk_poll(gsrt__keeper *k, struct pollfd *out)
{
    uint32_t count = 0;
    if (!k->has_ticket) /* nobody can prove anything yet */
        return 0;
    out[count++] = (struct pollfd){.fd = k->listener, .events = POLLIN};
    for (uint32_t i = 0; i < GSRT__KEEPER_GUEST_COUNT_MAX; i++)
        count = add(out, count, &k->guests[i]);
    for (uint32_t rank = 0; k->words != NULL && rank < k->ticket.rank_count && k->word_count > 0; rank++)
        count = add(out, count, &k->words[rank]);
    return count;
}

uint64_t gsrt__keeper_desk_due_ms(const gsrt__keeper *k)
{
    uint64_t due = k->say_again_ms;
    for (uint32_t i = 0; i < GSRT__KEEPER_GUEST_COUNT_MAX; i++)
        due = gsrt_visit_due_ms(&k->guests[i]) < due ? gsrt_visit_due_ms(&k->guests[i]) : due;
    for (uint32_t rank = 0; k->words != NULL && rank < k->ticket.rank_count && k->word_count > 0; rank++)
        due = gsrt_visit_due_ms(&k->words[rank]) < due ? gsrt_visit_due_ms(&k->words[rank]) : due;
    return due;
}

void gsrt__keeper_desk_work(gsrt__keeper *k)
{
    if (!k->has_ticket)
        return;
    accept_guests(k);
    move_guests(k);
    move_words(k);
    if (gsrt_visit_now_ms() >= k->say_again_ms)
        gsrt__keeper_say_word(k, false);
}

void gsrt__keeper_desk_fini(gsrt__keeper *k)
{
    for (uint32_t i = 0; i < GSRT__KEEPER_GUEST_COUNT_MAX; i++)
        gsrt_visit_fini(&k->guests[i]);
    for (uint32_t rank = 0; k->words != NULL && rank < k->ticket.rank_count; rank++)
        end_word(k, rank);
    free(k->words);
    k->words = NULL;
}
