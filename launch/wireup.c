#include "launch/wireup.h"

#include "base/limits.h"
#include "launch/start_mpirun.h"
#include "mailbox/channel.h"
#include "mailbox/ticket.h"
#include "mailbox/ucx.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the exchange: each rank's card to all, the secret from rank 0 ---- */

typedef struct cards {
    uint8_t *bytes;   /* all cards, one after the other; owned */
    gsrt_span *spans; /* [rank_count]; owned */
} cards;

static void cards_fini(cards *all)
{
    free(all->bytes);
    free(all->spans);
    *all = (cards){0};
}

/* MPI is kept plain: its own UCX and its own shared memory (files in /dev/shm) are not needed for one exchange. */
static void start_mpi(void)
{
    (void)setenv("OMPI_MCA_pml", "ob1", 0);
    (void)setenv("OMPI_MCA_btl", "self,tcp", 0);
    (void)setenv("OMPI_MCA_osc", "^ucx", 0);
    MPI_Init(NULL, NULL);
}

static gsrt_status gather_cards(gsrt_span mine, uint32_t rank_count, cards *all)
{
    int *counts = calloc(rank_count, sizeof *counts), *offsets = calloc(rank_count, sizeof *offsets);
    int my_count = (int)mine.len;
    size_t total = 0;
    all->spans = calloc(rank_count, sizeof *all->spans);
    /* a rank without memory would leave the others waiting */
    if (counts == NULL || offsets == NULL || all->spans == NULL) {
        fprintf(stderr, "gsrt: out of memory during wire-up\n");
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Allgather(&my_count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    bool is_good = true;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        is_good = is_good && counts[rank] > 0 && counts[rank] <= GSRT_CARD_BYTES_MAX;
        offsets[rank] = (int)total;
        total += is_good ? (size_t)counts[rank] : 0;
    }
    gsrt_status status = is_good ? GSRT_OK : GSRT_EIO; /* the same on every rank: some rank had no card to give */
    if (status == GSRT_OK) {
        all->bytes = malloc(total);
        if (all->bytes == NULL) {
            fprintf(stderr, "gsrt: out of memory during wire-up\n");
            MPI_Abort(MPI_COMM_WORLD, 5);
        }
        MPI_Allgatherv(mine.data, my_count, MPI_BYTE, all->bytes, counts, offsets, MPI_BYTE, MPI_COMM_WORLD);
        for (uint32_t rank = 0; rank < rank_count; rank++)
            all->spans[rank] = gsrt_span_of(all->bytes + offsets[rank], (size_t)counts[rank]);
    }
    free(counts);
    free(offsets);
    return status;
}

/* The rank's transport, with what the keeper has for it. */
static gsrt_status create_transport(const gsrt_wireup_options *options, gsrt_wireup *out, gsrt_diag *diag)
{
    gsrt_keeper_handover *keeper = options->keeper;
    gsrt_ucx_options ucx = {.rank = out->rank,
                            .rank_count = out->rank_count,
                            .incarnation = out->incarnation,
                            .transport = options->transport};
    out->channel = -1;
    if (keeper != NULL) {
        ucx.listener = keeper->listener;
        ucx.keeper_port = keeper->keeper_port;
        out->channel = keeper->channel;
        keeper->listener = keeper->channel = -1;
    }
    return gsrt_ucx_create(&ucx, &out->transport, diag);
}

/* Everything between MPI_Init and MPI_Finalize. A rank whose transport cannot be opened takes part with an empty card,
 * so that nobody waits for it; then all fail, each with its own reason. */
static gsrt_status exchange(const gsrt_wireup_options *options, gsrt_wireup *out, cards *all, gsrt_diag *diag)
{
    int rank, rank_count;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    if (rank_count > GSRT_RANK_COUNT_MAX)
        return gsrt_diag_set(diag, GSRT_EINVAL, NULL, NULL, "%d ranks; at most %d are possible", rank_count,
                             GSRT_RANK_COUNT_MAX);
    out->rank = (uint32_t)rank;
    out->rank_count = (uint32_t)rank_count;
    gsrt_status status = create_transport(options, out, diag);
    if (status == GSRT_OK && rank == 0)
        status = gsrt_secret_draw(&out->secret, sizeof out->secret);
    gsrt_span card = status == GSRT_OK ? gsrt_ucx_card(out->transport) : (gsrt_span){0};
    gsrt_status gathered = gather_cards(card, out->rank_count, all);
    MPI_Bcast(&out->secret, sizeof out->secret, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (status == GSRT_OK && gathered != GSRT_OK)
        status = gsrt_diag_set(diag, gathered, NULL, NULL, "another rank could not open its transport");
    return status;
}

/* ---- what is known afterwards ---- */

/* The part of a host's identity that a person knows. */
static char *host_name(const char *identity)
{
    return strndup(identity, strcspn(identity, "/"));
}

static gsrt_status number_hosts(gsrt_wireup *out)
{
    out->host_of = calloc(out->rank_count, sizeof *out->host_of);
    out->hosts = calloc(out->rank_count, sizeof *out->hosts);
    uint32_t *first = calloc(out->rank_count, sizeof *first); /* rank that a host was first seen with */
    gsrt_status status = out->host_of == NULL || out->hosts == NULL || first == NULL ? GSRT_ENOMEM : GSRT_OK;
    for (uint32_t rank = 0; rank < out->rank_count && status == GSRT_OK; rank++) {
        const char *identity = gsrt_ucx_host(out->transport, rank);
        uint32_t host = 0;
        while (host < out->host_count && strcmp(gsrt_ucx_host(out->transport, first[host]), identity) != 0)
            host++;
        out->host_of[rank] = host;
        if (host < out->host_count)
            continue;
        first[host] = rank;
        out->hosts[host] = host_name(identity);
        out->host_count++;
        status = out->hosts[host] == NULL ? GSRT_ENOMEM : GSRT_OK;
    }
    free(first);
    return status;
}

/* Of the first peer of either sort. */
static void read_lanes(gsrt_wireup *out)
{
    for (uint32_t rank = 0; rank < out->rank_count; rank++) {
        bool is_near = gsrt_ucx_is_same_host(out->transport, rank);
        char *lane = is_near ? out->near_lane : out->far_lane;
        if (rank != out->rank && lane[0] == '\0')
            if (gsrt_ucx_read_lane(out->transport, rank, lane) != GSRT_OK)
                continue; /* a peer that went already: the run will tell */
    }
}

/* The transport is there. *out is written on GSRT_OK; else everything is freed. */
static gsrt_status conclude(gsrt_status status, gsrt_wireup *wireup, gsrt_wireup *out)
{
    _Static_assert(sizeof out->near_lane == GSRT_UCX_LANE_BYTES_MAX, "a lane's name fits");
    if (status == GSRT_OK)
        status = number_hosts(wireup);
    if (status != GSRT_OK) {
        gsrt_wireup_fini(wireup);
        return status;
    }
    read_lanes(wireup);
    wireup->keepers = gsrt_ucx_keepers(wireup->transport);
    *out = *wireup;
    return GSRT_OK;
}

/* spans: the cards [rank_count]; NULL: this rank is alone. */
static gsrt_status connect_all(const gsrt_wireup_options *options, const gsrt_wireup *wireup, const gsrt_span *spans,
                               gsrt_diag *diag)
{
    gsrt_span own = gsrt_ucx_card(wireup->transport);
    uint32_t timeout_ms = options->timeout_ms == 0 ? GSRT_WIREUP_TIMEOUT_MS : options->timeout_ms;
    return gsrt_ucx_connect(wireup->transport, spans == NULL ? &own : spans, &wireup->secret, timeout_ms, diag);
}

gsrt_status gsrt_wireup_mpi(const gsrt_wireup_options *options, gsrt_wireup *out, gsrt_diag *diag)
{
    gsrt_wireup wireup = {.rank_count = 1, .channel = -1};
    cards all = {0};
    gsrt_status status;
    gsrt_buffer_init(&wireup.blob, GSRT_BLOB_BYTES_MAX);
    if (gsrt_mpirun_is_around()) {
        start_mpi();
        status = exchange(options, &wireup, &all, diag);
        if (status == GSRT_OK)
            status = connect_all(options, &wireup, all.spans, diag);
        /* nobody goes on, and perhaps ends at once, while another still speaks with it to connect */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    } else {
        status = create_transport(options, &wireup, diag);
        if (status == GSRT_OK)
            status = gsrt_secret_draw(&wireup.secret, sizeof wireup.secret);
        if (status == GSRT_OK)
            status = connect_all(options, &wireup, NULL, diag);
    }
    cards_fini(&all);
    return conclude(status, &wireup, out);
}

/* ---- later incarnations ---- */

static gsrt_status join(const gsrt_wireup_options *options, const gsrt_ticket *ticket, gsrt_wireup *wireup,
                        gsrt_diag *diag)
{
    uint32_t timeout_ms = options->timeout_ms == 0 ? GSRT_JOIN_TIMEOUT_MS : options->timeout_ms;
    wireup->rank = ticket->rank;
    wireup->rank_count = ticket->rank_count;
    wireup->incarnation = options->keeper->incarnation;
    wireup->secret = ticket->secret;
    wireup->deposit = ticket->deposit;
    gsrt_status status = gsrt_buffer_append(&wireup->blob, ticket->blob.data, ticket->blob.len);
    if (status == GSRT_OK)
        status = create_transport(options, wireup, diag);
    if (status == GSRT_OK)
        status = gsrt_ucx_join(wireup->transport, ticket->cards, &ticket->secret, timeout_ms, diag);
    return status;
}

gsrt_status gsrt_wireup_join(const gsrt_wireup_options *options, gsrt_wireup *out, gsrt_diag *diag)
{
    gsrt_wireup wireup = {.channel = -1};
    gsrt_ticket ticket;
    gsrt_buffer_init(&wireup.blob, GSRT_BLOB_BYTES_MAX);
    gsrt_status status = gsrt_ticket_decode(gsrt_buffer_span(&options->keeper->ticket), &ticket);
    if (status == GSRT_OK && ticket.incarnation >= options->keeper->incarnation) {
        gsrt_ticket_fini(&ticket);
        status = GSRT_EDECODE;
    }
    if (status != GSRT_OK)
        return gsrt_diag_set(diag, status, NULL, NULL, "incarnation %u cannot join: its ticket cannot be read",
                             options->keeper->incarnation);
    status = join(options, &ticket, &wireup, diag);
    gsrt_ticket_fini(&ticket);
    return conclude(status, &wireup, out);
}

gsrt_status gsrt_wireup_give_budget(const gsrt_wireup *wireup, uint32_t restarts, uint32_t window_ms)
{
    uint8_t heads[2 * GSRT_CHANNEL_HEAD_BYTES];
    if (wireup->channel < 0)
        return GSRT_OK;
    gsrt_channel_write_head(heads, GSRT_CHANNEL_RESTARTS, restarts);
    gsrt_channel_write_head(heads + GSRT_CHANNEL_HEAD_BYTES, GSRT_CHANNEL_WINDOW, window_ms);
    /* nothing was written to it yet: there is room */
    return send(wireup->channel, heads, sizeof heads, MSG_NOSIGNAL) == sizeof heads ? GSRT_OK : GSRT_EIO;
}

gsrt_status gsrt_wireup_give_ticket(gsrt_wireup *wireup, gsrt_transport *transport, gsrt_span blob)
{
    gsrt_status status = gsrt_ucx_give_ticket(transport, wireup->channel, blob, &wireup->deposit);
    if (status == GSRT_OK)
        wireup->channel = -1;
    return status;
}

void gsrt_wireup_fini(gsrt_wireup *wireup)
{
    if (wireup->transport != NULL)
        wireup->transport->ops->free(wireup->transport);
    if (wireup->channel > 0)
        close(wireup->channel);
    for (uint32_t host = 0; host < wireup->host_count; host++)
        free(wireup->hosts[host]);
    gsrt_buffer_fini(&wireup->blob);
    free(wireup->hosts);
    free(wireup->host_of);
    *wireup = (gsrt_wireup){.channel = -1};
}
