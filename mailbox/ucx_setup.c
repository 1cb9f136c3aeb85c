/* Opening and closing: environment, context, worker, card, peers, endpoints. */
#include "mailbox/ucx_impl.h"

#include "mailbox/payload.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINGER_MS = 300, DRAIN_MS = 1000 };

static gsrt_status ucx_error(gsrt_diag *diag, const char *what, ucs_status_t status)
{
    return gsrt_diag_set(diag, GSRT_EIO, NULL, NULL, "UCX: %s: %s", what, ucs_status_string(status));
}

/* ---- context and worker ---- */

/* Shared memory is System V's: its segments are marked for removal as soon as they are attached, so that even a killed
 * process leaves nothing behind (POSIX segments stay in /dev/shm). */
static gsrt_status choose_transports(const char *transport, gsrt_diag *diag)
{
    if (transport == NULL)
        transport = getenv("GSRT_TRANSPORT");
    bool is_shm = transport != NULL && strcmp(transport, "shm") == 0;
    bool is_tcp = transport != NULL && strcmp(transport, "tcp") == 0;
    if (transport != NULL && !is_shm && !is_tcp && transport[0] != '\0')
        return gsrt_diag_set(diag, GSRT_EINVAL, NULL, "GSRT_TRANSPORT", "'%s' is not known; say shm or tcp", transport);
    /* without "self": what a rank sends itself (ucx_echo.c) takes the way that the others' messages take */
    if (is_tcp)
        (void)setenv("UCX_TLS", "tcp", 1);
    else if (is_shm)
        (void)setenv("UCX_TLS", "sysv,cma", 1);
    else
        (void)setenv("UCX_TLS", "^posix,self", 0);
    if (is_tcp)
        return GSRT_OK;
    /* without it, endpoints in peer-failure mode silently leave shared memory out */
    (void)setenv("UCX_SYSV_ERROR_HANDLING", "y", 1);
    /* a 64-byte message with its envelope (165 bytes) fits a FIFO element, instead of taking a buffer */
    (void)setenv("UCX_SYSV_FIFO_ELEM_SIZE", "256", 0);
    (void)setenv("UCX_SYSV_FIFO_SIZE", "256", 0);
    return GSRT_OK;
}

static gsrt_status open_worker(gsrt__ucx *ucx, gsrt_diag *diag)
{
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return ucx_error(diag, "cannot read the configuration", status);
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS |
                                               UCP_PARAM_FIELD_NAME,
                                 .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
                                 .estimated_num_eps = ucx->options.rank_count,
                                 .name = "gsrt"};
    status = ucp_init(&params, config, &ucx->context);
    ucp_config_release(config);
    if (status != UCS_OK)
        return ucx_error(diag, "cannot start", status);
    const ucp_worker_params_t worker_params = {.field_mask =
                                                   UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS,
                                               .thread_mode = UCS_THREAD_MODE_SINGLE,
                                               .events = UCP_WAKEUP_RX | UCP_WAKEUP_TX};
    status = ucp_worker_create(ucx->context, &worker_params, &ucx->worker);
    if (status != UCS_OK)
        return ucx_error(diag, "cannot create a worker", status);
    const ucp_am_handler_param_t handler = {.field_mask =
                                                UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                                                UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                            .id = GSRT__UCX_AM_ID,
                                            .flags = UCP_AM_FLAG_WHOLE_MSG,
                                            .cb = gsrt__ucx_on_message,
                                            .arg = ucx};
    status = ucp_worker_set_am_recv_handler(ucx->worker, &handler);
    if (status != UCS_OK)
        return ucx_error(diag, "cannot set the message handler", status);
    status = ucp_worker_get_address(ucx->worker, &ucx->address, &ucx->address_bytes);
    return status == UCS_OK ? GSRT_OK : ucx_error(diag, "has no address", status);
}

static gsrt_status write_card(gsrt__ucx *ucx)
{
    gsrt_card card = {.incarnation = ucx->options.incarnation,
                      .address = gsrt_span_of(ucx->address, ucx->address_bytes),
                      .place = *gsrt_sentinel_place(ucx->sentinel),
                      .keeper_port = ucx->options.keeper_port};
    return gsrt_card_encode(&card, &ucx->card);
}

static gsrt_status create(gsrt__ucx *ucx, gsrt_diag *diag)
{
    gsrt_payload_keep_memory();
    gsrt_status status = choose_transports(ucx->options.transport, diag);
    if (status == GSRT_OK)
        status = gsrt_sentinel_create(ucx->options.rank, ucx->options.rank_count,
                                      ucx->options.listener > 0 ? ucx->options.listener : -1, &ucx->sentinel, diag);
    if (status == GSRT_OK)
        status = open_worker(ucx, diag);
    if (status == GSRT_OK)
        status = write_card(ucx);
    return status;
}

gsrt_status gsrt_ucx_create(const gsrt_ucx_options *options, gsrt_transport **out, gsrt_diag *diag)
{
    if (options->rank_count == 0 || options->rank_count > GSRT_RANK_COUNT_MAX || options->rank >= options->rank_count ||
        options->incarnation > UINT8_MAX)
        return gsrt_diag_set(diag, GSRT_EINVAL, NULL, NULL, "rank %u of %u, incarnation %u: out of range",
                             options->rank, options->rank_count, options->incarnation);
    gsrt__ucx_transport *transport = calloc(1, sizeof *transport);
    gsrt__ucx *ucx = calloc(1, sizeof *ucx);
    gsrt__peer_state *peers = calloc(options->rank_count, sizeof *peers);
    if (transport == NULL || ucx == NULL || peers == NULL) {
        free(transport);
        free(ucx);
        free(peers);
        return GSRT_ENOMEM;
    }
    *transport = (gsrt__ucx_transport){.base.ops = &gsrt__ucx_ops, .ucx = ucx};
    *ucx = (gsrt__ucx){.options = *options, .transport = &transport->base, .peers = peers, .facts.name = "ucx"};
    gsrt_buffer_init(&ucx->card, GSRT_CARD_BYTES_MAX);
    gsrt__ucx_keepers_init(ucx);
    for (uint32_t rank = 0; rank < options->rank_count; rank++)
        peers[rank] = (gsrt__peer_state){.ucx = ucx, .rank = rank};
    gsrt_status status = create(ucx, diag);
    if (status == GSRT_OK)
        *out = &transport->base;
    else
        gsrt__ucx_free(&transport->base);
    return status;
}

gsrt_span gsrt_ucx_card(const gsrt_transport *transport)
{
    return gsrt_buffer_span(&gsrt__ucx_of(transport)->card);
}

/* ---- endpoints ---- */

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    gsrt__peer_state *peer = arg;
    (void)status;
    if (ep == peer->ep) /* not that of an incarnation that has been replaced */
        gsrt__ucx_suspect(peer, GSRT_ELINK);
}

gsrt_status gsrt__ucx_endpoint(gsrt__peer_state *peer)
{
    if (peer->ep != NULL)
        return GSRT_OK;
    if (peer->life != GSRT__PEER_UP || peer->address == NULL)
        return GSRT_ELINK;
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                                                  UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                                    .address = peer->address,
                                    .err_mode = UCP_ERR_HANDLING_MODE_PEER,
                                    .err_handler = {.cb = on_error, .arg = peer}};
    if (ucp_ep_create(peer->ucx->worker, &params, &peer->ep) == UCS_OK)
        return GSRT_OK;
    peer->ep = NULL;
    gsrt__ucx_suspect(peer, GSRT_ELINK);
    return GSRT_ELINK;
}

/* UCX 1.13 says it only in print: "#   lane[0]:  2:sysv/memory.0 md[2]  -> md[2]/sysv/sysdev[255]  am am_bw#0 ..." */
static void parse_lane(const char *text, char out[GSRT_UCX_LANE_BYTES_MAX])
{
    (void)snprintf(out, GSRT_UCX_LANE_BYTES_MAX, "?");
    for (const char *line = text; line != NULL; line = strchr(line + 1, '\n')) {
        const char *end = strchr(line + 1, '\n');
        const char *lane = strstr(line, "lane["), *use = strstr(line, " am ");
        if (lane == NULL || use == NULL || (end != NULL && (lane > end || use > end)))
            continue;
        const char *name = strchr(lane + strlen("lane["), ':');
        name = name == NULL ? NULL : strchr(name + 1, ':');
        if (name != NULL)
            (void)snprintf(out, GSRT_UCX_LANE_BYTES_MAX, "%.*s", (int)strcspn(name + 1, ". \n"), name + 1);
        return;
    }
}

gsrt_status gsrt_ucx_read_lane(gsrt_transport *transport, uint32_t peer, char out[GSRT_UCX_LANE_BYTES_MAX])
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    if (peer >= ucx->options.rank_count || gsrt__ucx_endpoint(&ucx->peers[peer]) != GSRT_OK)
        return GSRT_ELINK;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return GSRT_ENOMEM;
    ucp_ep_print_info(ucx->peers[peer].ep, stream);
    fclose(stream);
    parse_lane(text, out);
    free(text);
    return GSRT_OK;
}

bool gsrt_ucx_is_same_host(const gsrt_transport *transport, uint32_t peer)
{
    const gsrt__ucx *ucx = gsrt__ucx_of(transport);
    const char *mine = ucx->peers[ucx->options.rank].host;
    return peer < ucx->options.rank_count && mine != NULL && strcmp(mine, ucx->peers[peer].host) == 0;
}

const char *gsrt_ucx_host(const gsrt_transport *transport, uint32_t peer)
{
    const gsrt__ucx *ucx = gsrt__ucx_of(transport);
    return peer < ucx->options.rank_count && ucx->peers[peer].host != NULL ? ucx->peers[peer].host : "?";
}

/* ---- closing ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Tell the others, and wait a moment until they leave too: a socket closed while data still comes in would take back
 * what we sent last. */
static void leave(gsrt__ucx *ucx)
{
    uint64_t until_ms = now_ms() + LINGER_MS;
    ucx->transport->events = (gsrt_transport_events){0};
    ucx->keepers.base.events = (gsrt_keepers_events){0};
    gsrt__ucx_say_goodbye(ucx);
    gsrt_sentinel_leave(ucx->sentinel);
    for (;;) {
        (void)gsrt__ucx_progress(ucx->transport);
        if (gsrt_sentinel_peer_count(ucx->sentinel) == 0 && ucx->keepers.order_count == 0)
            return;
        uint64_t now = now_ms();
        int fd;
        if (now >= until_ms)
            return;
        if (ucx->transport->ops->arm(ucx->transport, &fd) != GSRT_OK)
            continue;
        struct pollfd one = {.fd = fd, .events = POLLIN};
        (void)poll(&one, 1, (int)(until_ms - now));
    }
}

/* By force, and bounded: what UCX has not given back by then goes with its worker. */
static void close_peers(gsrt__ucx *ucx)
{
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++)
        gsrt__ucx_cut(ucx->transport, rank);
    gsrt__ucx_echo_close(ucx);
    gsrt__ucx_cut_off_close(ucx);
    uint64_t until_ms = now_ms() + (ucx->echo.is_deaf ? 0 : DRAIN_MS);
    while ((ucx->busy_count > 0 || ucx->orphan_count > 0) && now_ms() < until_ms)
        (void)gsrt__ucx_progress(ucx->transport);
}

void gsrt__ucx_free(gsrt_transport *transport)
{
    if (transport == NULL)
        return;
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    if (ucx->worker != NULL && ucx->sentinel != NULL) {
        if (ucx->is_connected && !ucx->echo.is_deaf) /* it could not hear that they leave */
            leave(ucx);
        close_peers(ucx);
    }
    if (ucx->address != NULL)
        ucp_worker_release_address(ucx->worker, ucx->address);
    if (ucx->worker != NULL)
        ucp_worker_destroy(ucx->worker);
    if (ucx->context != NULL)
        ucp_cleanup(ucx->context);
    gsrt__ucx_keepers_fini(ucx);
    ucx->sentinel = gsrt_sentinel_free(ucx->sentinel);
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++) {
        free(ucx->peers[rank].host);
        free(ucx->peers[rank].card);
    }
    gsrt__ucx_free_sends(ucx);
    gsrt_buffer_fini(&ucx->card);
    free(ucx->peers);
    free(ucx);
    free((gsrt__ucx_transport *)(void *)transport);
}
