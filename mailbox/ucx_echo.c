/* Can this rank still hear? UCX's shared-memory queue belongs to the receiver, and all senders of its host take places
 * in it in turn. One that is killed after it took its place and before it filled it leaves a place at which the
 * receiver waits for ever: all that comes later, from whomever, stays behind it. Nothing but a new queue mends that,
 * which is the next incarnation's.
 *
 * So this rank sends itself a message by way of its own queue when somebody of its host has died, and when it has heard
 * nobody for a while. When that message does not come back, the rank is deaf. Time counts only while this process runs,
 * because one that was taken off its processor has not listened; and it is longer than a living sender is usually
 * taken off its own in the middle of a message.
 *
 *   idle -- somebody died, or nobody was heard --> wanted -- progress --> out -- it comes back --> idle
 *                                                                        out -- limit -----------> deaf
 */
#include "mailbox/ucx_impl.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    AFTER_A_DEATH_MS = 40,
    AFTER_SILENCE_MS = 400,
    SILENCE_MS = 250, /* five times the usual contact (docs/scenario.md, healing.contact_ms) */
    TICK_MS = 2,
    TICK_MAX_MS = 5, /* what a tick counts at most, however late it comes */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void set_timer(const gsrt__echo *echo, long period_ns)
{
    const struct itimerspec period = {.it_interval.tv_nsec = period_ns, .it_value.tv_nsec = period_ns};
    (void)timerfd_settime(echo->timer, 0, &period, NULL);
}

gsrt_status gsrt__ucx_echo_open(gsrt__ucx *ucx)
{
    gsrt__echo *echo = &ucx->echo;
    echo->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (echo->timer < 0)
        return GSRT_EIO;
    echo->heard_ns = now_ns();
    return gsrt_sentinel_watch(ucx->sentinel, echo->timer, UINT32_MAX, false);
}

void gsrt__ucx_echo_close(gsrt__ucx *ucx)
{
    gsrt__ucx_close_endpoint(ucx, &ucx->echo.ep);
    ucx->echo.is_wanted = ucx->echo.is_out = false;
    if (ucx->echo.timer > 0)
        (void)close(ucx->echo.timer);
    ucx->echo.timer = 0;
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    gsrt__ucx *ucx = arg;
    (void)status;
    ucp_request_free(request);
    ucx->echo.is_sending = false;
    ucx->busy_count--;
}

/* Its memory is the last one's: only one is under way. */
static void send_one(gsrt__ucx *ucx)
{
    gsrt__echo *echo = &ucx->echo;
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = ucx->address};
    if (echo->ep == NULL && ucp_ep_create(ucx->worker, &params, &echo->ep) != UCS_OK)
        return;
    echo->link = (gsrt__link_header){.token = ucx->token,
                                     .number = ++echo->number,
                                     .rank = (uint16_t)ucx->options.rank,
                                     .incarnation = (uint8_t)ucx->options.incarnation,
                                     .shape = GSRT__LINK_ECHO};
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                       UCP_OP_ATTR_FIELD_FLAGS,
                                       .flags = UCP_AM_SEND_FLAG_EAGER,
                                       .cb.send = on_sent,
                                       .user_data = ucx};
    ucs_status_ptr_t request =
        ucp_am_send_nbx(echo->ep, GSRT__UCX_AM_ID, NULL, 0, &echo->link, sizeof echo->link, &param);
    if (UCS_PTR_IS_ERR(request))
        return;
    echo->is_sending = request != NULL;
    ucx->busy_count += request != NULL;
    echo->is_out = true;
    echo->counted_ns = 0;
    echo->tick_ns = now_ns();
    set_timer(echo, TICK_MS * 1000000);
}

static void want(gsrt__ucx *ucx, uint64_t limit_ns)
{
    gsrt__echo *echo = &ucx->echo;
    if (echo->is_deaf || !ucx->is_connected)
        return;
    bool is_sooner = !echo->is_wanted || limit_ns < echo->limit_ns;
    echo->limit_ns = is_sooner ? limit_ns : echo->limit_ns;
    echo->is_wanted = true;
}

void gsrt__ucx_echo_after_death(gsrt__ucx *ucx, uint32_t rank)
{
    if (rank != ucx->options.rank && gsrt_ucx_is_same_host(ucx->transport, rank))
        want(ucx, (uint64_t)AFTER_A_DEATH_MS * 1000000);
}

void gsrt__ucx_echo_after_silence(gsrt__ucx *ucx)
{
    gsrt__echo *echo = &ucx->echo;
    uint64_t now = now_ns();
    if (echo->arrivals != echo->heard_arrivals || echo->is_out) {
        echo->heard_arrivals = echo->arrivals;
        echo->heard_ns = now;
    } else if (now - echo->heard_ns > (uint64_t)SILENCE_MS * 1000000) {
        echo->heard_ns = now;
        want(ucx, (uint64_t)AFTER_SILENCE_MS * 1000000);
    }
}

void gsrt__ucx_echo_hear(gsrt__ucx *ucx, const gsrt__link_header *link)
{
    gsrt__echo *echo = &ucx->echo;
    if (!echo->is_out || link->rank != ucx->options.rank || link->number != echo->number)
        return;
    echo->is_out = false;
    set_timer(echo, 0);
}

void gsrt__ucx_echo_work(gsrt__ucx *ucx)
{
    gsrt__echo *echo = &ucx->echo;
    if (echo->is_wanted && !echo->is_out && !echo->is_sending) {
        echo->is_wanted = false;
        send_one(ucx);
        return;
    }
    if (!echo->is_out)
        return;
    uint64_t ticks, now = now_ns(), passed = now - echo->tick_ns;
    ssize_t n = read(echo->timer, &ticks, sizeof ticks);
    (void)n; /* it need only be read */
    uint64_t limit = (uint64_t)TICK_MAX_MS * 1000000;
    echo->counted_ns += passed < limit ? passed : limit;
    echo->tick_ns = now;
    if (echo->counted_ns < echo->limit_ns)
        return;
    echo->is_out = false;
    echo->is_deaf = true;
    set_timer(echo, 0);
    ucx->callbacks++;
    if (ucx->transport->events.on_deaf != NULL)
        ucx->transport->events.on_deaf(ucx->transport->events.arg);
}

bool gsrt_ucx_is_deaf(const gsrt_transport *transport)
{
    return gsrt__ucx_of(transport)->echo.is_deaf;
}
