/* The one list of results that a function of GSRT can have.
 *
 * Functions that can fail return gsrt_status and write their outputs only on GSRT_OK. Expected results (full, empty,
 * timed out) are statuses too, never log lines. The number ranges say what broke:
 *   1..31 the operation, 32..63 a link, 64..95 an actor, 96..127 a group of ranks.
 * What a person must read is in a gsrt_diag (base/diag.h) beside the status.
 */
#ifndef GSRT_BASE_STATUS_H
#define GSRT_BASE_STATUS_H

#define GSRT_STATUS_LIST(X)                                                                                            \
    X(OK, 0, "done")                                                                                                   \
    X(EINVAL, 1, "invalid argument")                                                                                   \
    X(ENOMEM, 2, "out of memory")                                                                                      \
    X(EINPUT, 3, "bad input")                                                                                          \
    X(EIO, 4, "input or output failed")                                                                                \
    X(ELIMIT, 5, "a limit was reached")                                                                                \
    X(EFULL, 6, "full")                                                                                                \
    X(EEMPTY, 7, "empty")                                                                                              \
    X(ETIMEDOUT, 8, "timed out")                                                                                       \
    X(ENOTFOUND, 9, "not found")                                                                                       \
    X(EUNSUPPORTED, 10, "not supported")                                                                               \
    X(ESTATE, 11, "not legal in this state")                                                                           \
    X(EINFEASIBLE, 12, "no feasible plan")                                                                             \
    X(ECONTRACT, 13, "the numerical contract was violated")                                                            \
    X(ECANCELED, 14, "cancelled")                                                                                      \
    X(ELINK, 32, "the link failed")                                                                                    \
    X(EDECODE, 33, "a message could not be decoded")                                                                   \
    X(EKIND, 34, "unknown message kind")                                                                               \
    X(ESTALE, 35, "a message of an old epoch or incarnation")                                                          \
    X(EDOWN, 64, "the actor is down")                                                                                  \
    X(ENOACTOR, 65, "no such actor")                                                                                   \
    X(EPEER, 96, "a rank was lost")                                                                                    \
    X(EQUORUM, 97, "no quorum")

typedef enum gsrt_status {
#define GSRT_STATUS_ENUM(name, number, text) GSRT_##name = (number),
    GSRT_STATUS_LIST(GSRT_STATUS_ENUM)
#undef GSRT_STATUS_ENUM
} gsrt_status;

#define GSRT_MUST_CHECK __attribute__((warn_unused_result))
#define GSRT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* The text of `status`, lower case; static, never NULL. Any thread. */
const char *gsrt_status_text(gsrt_status status);

/* The name of `status` without its prefix ("EINPUT"); static, never NULL. Any thread. */
const char *gsrt_status_name(gsrt_status status);

#endif
