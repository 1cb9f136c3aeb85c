/* The one table of message kinds. Encoder, decoder, validation and trace printing follow from it (mailbox/codec.h).
 *
 * GSRT_KINDS(K): K(NAME, number, name, scope). scope: WIRE = between ranks and locally, LOCAL = never accepted from
 * another rank (carries pointers or is made by the runtime itself).
 * GSRT_FIELDS_NAME(F): F(type, field, limit). Types:
 *   u32 u64 i64 f32 f64 boolean          scalars (limit: largest legal value for u32/u64, 0 = any)
 *   text bytes                           gsrt_span (limit: bytes)
 *   u32s u64s f32s                       const T *field; uint32_t field_count (limit: elements)
 * Body of kind NAME is the struct gsrt_msg_<name>. Numbers are part of the trace format: never reused.
 */
#ifndef GSRT_MAILBOX_KINDS_H
#define GSRT_MAILBOX_KINDS_H

#include "base/limits.h"
#include "base/span.h"
#include "mailbox/address.h"

#define GSRT_KINDS(K)                                                                                                  \
    /* the runtime's own */                                                                                            \
    K(DOWN, 1, down, WIRE)                                                                                             \
    K(EXIT, 2, exit, WIRE)                                                                                             \
    K(TIMER, 3, timer, LOCAL)                                                                                          \
    K(MONITOR, 4, monitor, WIRE)                                                                                       \
    K(UNMONITOR, 5, unmonitor, WIRE)                                                                                   \
    K(LINK, 6, link, WIRE)                                                                                             \
    K(UNLINK, 7, unlink, WIRE)                                                                                         \
    K(MOVED, 8, moved, WIRE)                                                                                           \
    K(WRITABLE, 9, writable, LOCAL)                                                                                    \
    K(ACK, 10, ack, WIRE)                                                                                              \
    K(PING, 11, ping, WIRE)                                                                                            \
    K(PONG, 12, pong, WIRE)                                                                                            \
    /* membership and its consequences: good in any epoch */                                                           \
    K(MEMBERSHIP, 13, membership, WIRE)                                                                                \
    K(VIEW, 14, view, LOCAL)                                                                                           \
    K(PRESENT, 15, present, WIRE)                                                                                      \
    K(END, 16, end, WIRE)                                                                                              \
    K(VERDICT, 17, verdict, LOCAL)                                                                                     \
    K(SUSPECT, 18, suspect, LOCAL)                                                                                     \
    K(JOINED, 19, joined, LOCAL)                                                                                       \
    K(WORD, 20, word, LOCAL)                                                                                           \
    K(DEPOSITED, 21, deposited, LOCAL)                                                                                 \
    K(UNREACHABLE, 22, unreachable, LOCAL)                                                                             \
    /* a run */                                                                                                        \
    K(START, 32, start, WIRE)                                                                                          \
    K(READY, 33, ready, WIRE)                                                                                          \
    K(ASK_FACTS, 34, ask_facts, WIRE)                                                                                  \
    K(FACTS, 35, facts, WIRE)                                                                                          \
    K(STOP, 36, stop, WIRE)                                                                                            \
    K(ROLES, 37, roles, WIRE)                                                                                          \
    K(CUT_OFF, 38, cut_off, WIRE)                                                                                      \
    K(CORRUPT, 39, corrupt, WIRE)                                                                                      \
    K(NARROWED, 40, narrowed, LOCAL)                                                                                   \
    /* a token's way */                                                                                                \
    K(SUBMIT, 64, submit, WIRE)                                                                                        \
    K(STEP, 65, step, WIRE)                                                                                            \
    K(ACTIVATION, 66, activation, WIRE)                                                                                \
    K(PIECE, 67, piece, WIRE)                                                                                          \
    K(JOB, 68, job, LOCAL)                                                                                             \
    K(JOB_DONE, 69, job_done, LOCAL)                                                                                   \
    K(TOKENS, 70, tokens, WIRE)                                                                                        \
    K(TOKEN, 71, token, WIRE)                                                                                          \
    K(FINISHED, 72, finished, WIRE)                                                                                    \
    K(LOGITS, 73, logits, WIRE)                                                                                        \
    /* 74 was CARRY */                                                                                                 \
    K(DRAIN, 75, drain, LOCAL)                                                                                         \
    K(DRAINED, 76, drained, LOCAL)                                                                                     \
    K(SNAPSHOT, 77, snapshot, WIRE)                                                                                    \
    K(SNAPSHOT_WRITTEN, 78, snapshot_written, LOCAL)                                                                   \
    K(SNAPSHOT_PART, 79, snapshot_part, WIRE)                                                                          \
    K(RESTORE, 80, restore, WIRE)                                                                                      \
    K(CELLS, 81, cells, WIRE)                                                                                          \
    K(KEPT, 82, kept, WIRE)                                                                                            \
    K(FORGET, 83, forget, WIRE)                                                                                        \
    K(GATHER, 84, gather, LOCAL)                                                                                       \
    K(GATHERED, 85, gathered, LOCAL)                                                                                   \
    /* a region moves to another rank */                                                                               \
    K(MOVE, 96, move, WIRE)                                                                                            \
    K(COPY, 97, copy, WIRE)                                                                                            \
    K(PAGES, 98, pages, WIRE)                                                                                          \
    K(PAGES_TAKEN, 99, pages_taken, WIRE)                                                                              \
    K(COPIED, 100, copied, WIRE)                                                                                       \
    K(HANDOVER, 101, handover, WIRE)                                                                                   \
    K(RESUME, 102, resume, WIRE)

/* a call, a monitor or a link has ended: subject is gone. call = of the open call that ends with it, 0 for a monitor */
#define GSRT_FIELDS_DOWN(F) F(u64, subject, 0) F(u64, call, 0) F(u32, reason, 0)
#define GSRT_FIELDS_EXIT(F) F(u64, subject, 0) F(u32, reason, 0)
#define GSRT_FIELDS_TIMER(F) F(u64, tag, 0)
#define GSRT_FIELDS_MONITOR(F) F(u64, watcher, 0)
#define GSRT_FIELDS_UNMONITOR(F) F(u64, watcher, 0)
#define GSRT_FIELDS_LINK(F) F(u64, other, 0)
#define GSRT_FIELDS_UNLINK(F) F(u64, other, 0)
#define GSRT_FIELDS_MOVED(F) F(u64, subject, 0) F(u32, rank, GSRT_RANK_COUNT_MAX)
#define GSRT_FIELDS_WRITABLE(F) F(u32, rank, GSRT_RANK_COUNT_MAX)
#define GSRT_FIELDS_ACK(F) F(u64, value, 0)
#define GSRT_FIELDS_PING(F) F(u64, number, 0) F(bytes, data, GSRT_BODY_BYTES_MAX - 64)
#define GSRT_FIELDS_PONG(F) F(u64, number, 0) F(bytes, data, GSRT_BODY_BYTES_MAX - 64)

/* member actor -> member actor: a gsrt_membership_message (health/membership.h) */
#define GSRT_FIELDS_MEMBERSHIP(F)                                                                                      \
    F(u32, type, 255)                                                                                                  \
    F(u32, from_rank, GSRT_RANK_COUNT_MAX)                                                                             \
    F(u32, from_incarnation, 0)                                                                                        \
    F(u32, rank, GSRT_RANK_COUNT_MAX)                                                                                  \
    F(u32, incarnation, 0)                                                                                             \
    F(u32, epoch, 0)                                                                                                   \
    F(u64, ballot, 0)                                                                                                  \
    F(u64, accepted_ballot, 0)                                                                                         \
    F(u64, time_ns, 0)                                                                                                 \
    F(u32, value_epoch, 0)                                                                                             \
    F(boolean, is_leased, 0)                                                                                           \
    F(u32s, incarnations, GSRT_RANK_COUNT_MAX)
/* what transport and keepers tell (mailbox/transport.h, mailbox/keepers.h) -> the member actor */
#define GSRT_FIELDS_SUSPECT(F) F(u32, rank, GSRT_RANK_COUNT_MAX) F(u32, incarnation, 0) F(u32, why, 255)
#define GSRT_FIELDS_JOINED(F) F(u32, rank, GSRT_RANK_COUNT_MAX) F(u32, incarnation, 0)
#define GSRT_FIELDS_WORD(F)                                                                                            \
    F(u32, rank, GSRT_RANK_COUNT_MAX)                                                                                  \
    F(u32, incarnation, 0)                                                                                             \
    F(boolean, is_last, 0)                                                                                             \
    F(boolean, was_ordered, 0)                                                                                         \
    F(u64, ballot, 0)                                                                                                  \
    F(u32, epoch, 0)                                                                                                   \
    F(u32s, incarnations, GSRT_RANK_COUNT_MAX)
#define GSRT_FIELDS_DEPOSITED(F) F(u32, epoch, 0)
#define GSRT_FIELDS_UNREACHABLE(F) F(u32, rank, GSRT_RANK_COUNT_MAX) F(u32, incarnation, 0)
/* membership -> the root of its rank: a view was agreed on and has begun; incarnations[rank] of its members,
 * GSRT_NOT_A_MEMBER of the others */
#define GSRT_FIELDS_VIEW(F)                                                                                            \
    F(u32, epoch, 0) F(u32, leader, GSRT_RANK_COUNT_MAX) F(u32s, incarnations, GSRT_RANK_COUNT_MAX)
/* the leader's root -> all roots: a drill, nothing is to pass between ranks of different sides[rank] for a while */
#define GSRT_FIELDS_CUT_OFF(F) F(u32s, sides, GSRT_RANK_COUNT_MAX) F(u32, duration_ms, GSRT_DRILL_MS_MAX)
/* the leader's root -> a root -> its region: a drill, what this rank has narrowed is to be damaged */
#define GSRT_FIELDS_CORRUPT(F) F(u32, rank, GSRT_RANK_COUNT_MAX)
/* a root's own thread -> it: its part is narrowed, with this gsrt_status */
#define GSRT_FIELDS_NARROWED(F) F(u32, status, 255)
/* a root -> the leader's root: this rank has begun that view, and nothing of the one before still runs here; what its
 * replica holds (ckpt/holdings.h). From the leader it is a question. */
#define GSRT_FIELDS_PRESENT(F) F(u32, rank, GSRT_RANK_COUNT_MAX) F(u32, epoch, 0) F(u32s, held, GSRT_BODY_BYTES_MAX / 8)

/* leader -> every node: the run is over */
#define GSRT_FIELDS_END(F) F(u32, exit_code, 255)
/* whoever wrote the report -> the leader's root: the run may end with this code */
#define GSRT_FIELDS_VERDICT(F) F(u32, exit_code, 255)

/* leader -> every node: where the run directory is, the plan of this view (placement/fallback.h: gsrt_plan_carrier),
 * the snapshot that it begins from (ckpt/snapshot.h; 0: none), the rank on which each rank keeps a copy of its KV
 * (empty: nowhere; UINT32_MAX: none), and who gives whom which cells first (ckpt/holdings.h: gsrt_transfer) */
#define GSRT_FIELDS_START(F)                                                                                           \
    F(text, directory, 4096)                                                                                           \
    F(u32s, layers, 2 * GSRT_STAGE_COUNT_MAX)                                                                          \
    F(u32s, member_counts, GSRT_STAGE_COUNT_MAX)                                                                       \
    F(u32s, ranks, GSRT_RANK_COUNT_MAX)                                                                                \
    F(u32s, shares, GSRT_RANK_COUNT_MAX)                                                                               \
    F(u32s, spares, GSRT_RANK_COUNT_MAX)                                                                               \
    F(u32, exchange, 255)                                                                                              \
    F(u32s, narrowed, 2 * (GSRT_LAYER_COUNT_MAX + 2))                                                                  \
    F(u64, snapshot, 0)                                                                                                \
    F(u32s, second_places, GSRT_RANK_COUNT_MAX)                                                                        \
    F(u32s, transfers, GSRT_BODY_BYTES_MAX / 8)
/* every node -> leader, in answer: its part is loaded (region: its address, or nobody), or why not (exit_code != 0) */
#define GSRT_FIELDS_READY(F)                                                                                           \
    F(u32, rank, GSRT_RANK_COUNT_MAX) F(u64, region, 0) F(u32, exit_code, 255) F(text, why, 2048)
#define GSRT_FIELDS_ASK_FACTS(F) F(u32, rank, GSRT_RANK_COUNT_MAX)
/* a rank's own account, for report.json; sizes in bytes, times in ns */
#define GSRT_FIELDS_FACTS(F)                                                                                           \
    F(u32, rank, GSRT_RANK_COUNT_MAX)                                                                                  \
    F(u64, pid, 0)                                                                                                     \
    F(boolean, has_role, 0)                                                                                            \
    F(u32, stage, 0)                                                                                                   \
    F(u32, member, 0)                                                                                                  \
    F(text, isa, 32)                                                                                                   \
    F(u32, threads, 0)                                                                                                 \
    F(u64, weight_touched, 0)                                                                                          \
    F(u64, weight_share, 0)                                                                                            \
    F(u64, weight_copies, 0)                                                                                           \
    F(u32, rows_max, 0)                                                                                                \
    F(u64, rows, 0)                                                                                                    \
    F(u64, steps, 0)                                                                                                   \
    F(u64, gathered, 0)                                                                                                \
    F(u64, reduced, 0)                                                                                                 \
    F(u64, packed, 0)                                                                                                  \
    F(u64, pack_ns, 0)                                                                                                 \
    F(u64, load_ns, 0)                                                                                                 \
    F(u64, kv_streamed, 0)                                                                                             \
    F(u64, kv_gathered, 0)                                                                                             \
    F(u64, kv_held, 0)                                                                                                 \
    F(u64, kv_left_out, 0)                                                                                             \
    F(u64, messages_sent, 0)                                                                                           \
    F(u64, messages_received, 0)                                                                                       \
    F(text, backend_kind, 32)                                                                                          \
    F(text, backend_name, 256)                                                                                         \
    F(boolean, is_simulated, 0)                                                                                        \
    F(u64, busy_ns, 0)                                                                                                 \
    F(f64, energy_j, 0)                                                                                                \
    F(f64, temperature_c, 0)
/* node 0 -> every node: who plays which role */
#define GSRT_FIELDS_ROLES(F) F(u64s, roles, 4096) F(u64s, actors, 4096)
/* anyone -> a supervisor: end, and your children before */
#define GSRT_FIELDS_STOP(F) F(u32, exit_code, 255)

/* gateway -> scheduler: a request; known: the answer's tokens that have been emitted before, which are computed again
 * and emitted again, to be compared; restored: leading positions of prompt and known whose KV is restored, whole
 * blocks: these are not computed again; is_logits_wanted: of every position; is_watched: of those that a token follows
 */
#define GSRT_FIELDS_SUBMIT(F)                                                                                          \
    F(u32, request, GSRT_REQUEST_COUNT_MAX)                                                                            \
    F(u32s, prompt, GSRT_CONTEXT_MAX)                                                                                  \
    F(u32s, known, GSRT_CONTEXT_MAX)                                                                                   \
    F(u32, restored, GSRT_CONTEXT_MAX)                                                                                 \
    F(u32, max_tokens, GSRT_CONTEXT_MAX)                                                                               \
    F(f32, temperature, 0)                                                                                             \
    F(u32, top_k, 0)                                                                                                   \
    F(f32, top_p, 0)                                                                                                   \
    F(u64, seed, 0)                                                                                                    \
    F(boolean, is_ignoring_eos, 0)                                                                                     \
    F(boolean, is_logits_wanted, 0)                                                                                    \
    F(boolean, is_watched, 0)
/* scheduler -> every region: rows of one step. Sequence i has row_counts[i] rows from positions[i] on; its KV blocks
 * are the next block_counts[i] of blocks. wanted: rows whose logits are wanted; is_sampled and the five sampling arrays
 * go with wanted. */
#define GSRT_FIELDS_STEP(F)                                                                                            \
    F(u64, step, 0)                                                                                                    \
    F(u32s, tokens, GSRT_BATCH_ROWS_MAX)                                                                               \
    F(u32s, requests, GSRT_BATCH_SEQUENCES_MAX)                                                                        \
    F(u32s, row_counts, GSRT_BATCH_SEQUENCES_MAX)                                                                      \
    F(u32s, positions, GSRT_BATCH_SEQUENCES_MAX)                                                                       \
    F(u32s, block_counts, GSRT_BATCH_SEQUENCES_MAX)                                                                    \
    F(u32s, blocks, GSRT_BODY_BYTES_MAX / 8)                                                                           \
    F(u32s, wanted, GSRT_BATCH_ROWS_MAX)                                                                               \
    F(u32s, is_sampled, GSRT_BATCH_ROWS_MAX)                                                                           \
    F(f32s, temperatures, GSRT_BATCH_ROWS_MAX)                                                                         \
    F(u32s, top_ks, GSRT_BATCH_ROWS_MAX)                                                                               \
    F(f32s, top_ps, GSRT_BATCH_ROWS_MAX)                                                                               \
    F(u64s, seeds, GSRT_BATCH_ROWS_MAX)                                                                                \
    F(boolean, is_logits_wanted, 0)
/* stage -> next stage; payload f32 [rows, dim] */
#define GSRT_FIELDS_ACTIVATION(F) F(u64, step, 0)
/* member -> member; payload: the member's piece of exchange number `exchange` of the step, in the slot's format */
#define GSRT_FIELDS_PIECE(F) F(u64, step, 0) F(u32, exchange, 65535) F(u32, member, GSRT_GROUP_RANKS_MAX)
/* root -> device: answered by DRAINED when it has no job left */
#define GSRT_FIELDS_DRAIN(F) F(u32, epoch, 0)
#define GSRT_FIELDS_DRAINED(F) F(u32, epoch, 0)
/* region -> device: pointer to a gsrt_job; answered by JOB_DONE */
#define GSRT_FIELDS_JOB(F) F(u64, job, 0)
#define GSRT_FIELDS_JOB_DONE(F) F(u64, job, 0) F(u32, status, 255) F(u64, work_ns, 0)
/* last region -> scheduler: one entry per wanted row of the step; tokens[i] is meaningless where not sampled */
#define GSRT_FIELDS_TOKENS(F)                                                                                          \
    F(u64, step, 0)                                                                                                    \
    F(u32s, tokens, GSRT_BATCH_ROWS_MAX)                                                                               \
    F(u64s, hash_lows, GSRT_BATCH_ROWS_MAX)                                                                            \
    F(u64s, hash_highs, GSRT_BATCH_ROWS_MAX)
/* scheduler -> every region and the gateway: keep the KV of the open requests. Of request i the next block_counts[i] of
 * blocks, whole and computed, from position 0 on */
#define GSRT_FIELDS_SNAPSHOT(F)                                                                                        \
    F(u64, number, 0)                                                                                                  \
    F(u32s, requests, GSRT_BATCH_SEQUENCES_MAX)                                                                        \
    F(u32s, block_counts, GSRT_BATCH_SEQUENCES_MAX)                                                                    \
    F(u32s, blocks, GSRT_BODY_BYTES_MAX / 8)
/* whoever wrote a part -> its region: it is durable, or could not be made so */
#define GSRT_FIELDS_SNAPSHOT_WRITTEN(F) F(u64, number, 0) F(u32, status, 255) F(u64, bytes, 0) F(u64, hash, 0)
/* region -> gateway: this member's part of the snapshot is durable (status 0), or there is none */
#define GSRT_FIELDS_SNAPSHOT_PART(F)                                                                                   \
    F(u64, number, 0)                                                                                                  \
    F(u32, stage, GSRT_STAGE_COUNT_MAX)                                                                                \
    F(u32, member, GSRT_GROUP_RANKS_MAX)                                                                               \
    F(u32, status, 255)                                                                                                \
    F(u64, bytes, 0)                                                                                                   \
    F(u64, hash, 0)
/* scheduler -> every region: put the request's leading blocks, from the replica of its rank or the snapshot that this
 * view began from, into these */
#define GSRT_FIELDS_RESTORE(F) F(u32, request, GSRT_REQUEST_COUNT_MAX) F(u32s, blocks, GSRT_BODY_BYTES_MAX / 8)
/* anyone -> replica of another rank: payload: KV cells of blocks that do not change any more, as a part of a snapshot
 * (ckpt/snapshot.h). wants_reply: it says KEPT */
#define GSRT_FIELDS_CELLS(F) F(boolean, wants_reply, 0)
/* replica -> who sent CELLS: of that request it holds the leading block_count blocks of all cells that came; is_full:
 * it had no room for them */
#define GSRT_FIELDS_KEPT(F)                                                                                            \
    F(u32, request, GSRT_REQUEST_COUNT_MAX) F(u32, block_count, GSRT_CONTEXT_MAX) F(boolean, is_full, 0)
/* gateway -> every replica: these requests are over */
#define GSRT_FIELDS_FORGET(F) F(u32s, requests, GSRT_REQUEST_COUNT_MAX)
/* root -> replica: the transfers of a START; answered by GATHERED when this rank has been given all that it was to be
 */
#define GSRT_FIELDS_GATHER(F) F(u32s, transfers, GSRT_BODY_BYTES_MAX / 8)
#define GSRT_FIELDS_GATHERED(F) F(u32, epoch, 0)
/* scheduler -> gateway */
#define GSRT_FIELDS_TOKEN(F)                                                                                           \
    F(u32, request, GSRT_REQUEST_COUNT_MAX)                                                                            \
    F(u32, index, GSRT_CONTEXT_MAX)                                                                                    \
    F(u32, token, 0)                                                                                                   \
    F(u64, hash_low, 0)                                                                                                \
    F(u64, hash_high, 0)
#define GSRT_FIELDS_FINISHED(F)                                                                                        \
    F(u32, request, GSRT_REQUEST_COUNT_MAX) F(u32, reason, 255) F(u32, prompt_tokens, 0) F(u32, prefix_tokens, 0)
/* last region -> gateway: payload f32 [positions_count, vocab]; rows of `requests[i]` at `positions[i]` */
#define GSRT_FIELDS_LOGITS(F) F(u32s, requests, GSRT_BATCH_ROWS_MAX) F(u32s, positions, GSRT_BATCH_ROWS_MAX)

/* gateway -> scheduler: this member's region is to give its KV to `region`, which is lowered alike, and to be left */
#define GSRT_FIELDS_MOVE(F) F(u32, stage, GSRT_STAGE_COUNT_MAX) F(u32, member, GSRT_GROUP_RANKS_MAX) F(u64, region, 0)
/* scheduler -> the region that moves, this member's: copy these blocks to `region`; is_held: no step will follow */
#define GSRT_FIELDS_COPY(F)                                                                                            \
    F(u32, stage, GSRT_STAGE_COUNT_MAX)                                                                                \
    F(u32, member, GSRT_GROUP_RANKS_MAX)                                                                               \
    F(u64, region, 0)                                                                                                  \
    F(boolean, is_held, 0)                                                                                             \
    F(u32s, blocks, GSRT_BODY_BYTES_MAX / 8)
/* region -> region; payload: the pages of these blocks (backends/kv.h), one after the other */
#define GSRT_FIELDS_PAGES(F) F(u32s, blocks, GSRT_BODY_BYTES_MAX / 8)
/* its answer: so many blocks are there */
#define GSRT_FIELDS_PAGES_TAKEN(F) F(u32, count, GSRT_KV_BLOCK_COUNT_MAX)
/* the region that moves -> scheduler: all blocks of its COPY are there */
#define GSRT_FIELDS_COPIED(F) F(u64, bytes, 0)
/* scheduler -> gateway: the new region has all that the old one had; no step is out, and none will be before RESUME */
#define GSRT_FIELDS_HANDOVER(F)                                                                                        \
    F(u32, stage, GSRT_STAGE_COUNT_MAX)                                                                                \
    F(u32, member, GSRT_GROUP_RANKS_MAX)                                                                               \
    F(u32, block_count, GSRT_KV_BLOCK_COUNT_MAX)                                                                       \
    F(u64, bytes, 0)
/* gateway -> scheduler: everybody knows the new region */
#define GSRT_FIELDS_RESUME(F) F(u32, stage, GSRT_STAGE_COUNT_MAX) F(u32, member, GSRT_GROUP_RANKS_MAX)

/* ---- what follows from the table ---- */

typedef enum gsrt_kind {
#define GSRT_KIND_ENUM(NAME, number, name, scope) GSRT_KIND_##NAME = (number),
    GSRT_KINDS(GSRT_KIND_ENUM)
#undef GSRT_KIND_ENUM
} gsrt_kind;

#define GSRT_FIELD_u32(field) uint32_t field;
#define GSRT_FIELD_u64(field) uint64_t field;
#define GSRT_FIELD_i64(field) int64_t field;
#define GSRT_FIELD_f32(field) float field;
#define GSRT_FIELD_f64(field) double field;
#define GSRT_FIELD_boolean(field) bool field;
#define GSRT_FIELD_text(field) gsrt_span field;
#define GSRT_FIELD_bytes(field) gsrt_span field;
#define GSRT_FIELD_u32s(field)                                                                                         \
    const uint32_t *field;                                                                                             \
    uint32_t field##_count;
#define GSRT_FIELD_u64s(field)                                                                                         \
    const uint64_t *field;                                                                                             \
    uint32_t field##_count;
#define GSRT_FIELD_f32s(field)                                                                                         \
    const float *field;                                                                                                \
    uint32_t field##_count;
#define GSRT_FIELD_STRUCT(type, field, limit) GSRT_FIELD_##type(field)

#define GSRT_KIND_STRUCT(NAME, number, name, scope)                                                                    \
    typedef struct gsrt_msg_##name {                                                                                   \
        GSRT_FIELDS_##NAME(GSRT_FIELD_STRUCT)                                                                          \
    } gsrt_msg_##name;
GSRT_KINDS(GSRT_KIND_STRUCT)
#undef GSRT_KIND_STRUCT

typedef enum gsrt_field_type {
    GSRT_FIELD_TYPE_u32,
    GSRT_FIELD_TYPE_u64,
    GSRT_FIELD_TYPE_i64,
    GSRT_FIELD_TYPE_f32,
    GSRT_FIELD_TYPE_f64,
    GSRT_FIELD_TYPE_boolean,
    GSRT_FIELD_TYPE_text,
    GSRT_FIELD_TYPE_bytes,
    GSRT_FIELD_TYPE_u32s,
    GSRT_FIELD_TYPE_u64s,
    GSRT_FIELD_TYPE_f32s,
} gsrt_field_type;

typedef struct gsrt_field_info {
    const char *name;
    gsrt_field_type type;
    uint16_t offset;       /* bytes from the start of the struct: the scalar, the span, or an array's pointer */
    uint16_t count_offset; /* of an array's count; else 0 */
    uint64_t limit;        /* as in the table */
} gsrt_field_info;

typedef struct gsrt_kind_info {
    const char *name; /* "step" */
    gsrt_kind kind;
    bool is_local_only;
    bool is_flat;        /* scalars only: the struct is the whole body */
    uint16_t body_bytes; /* sizeof(gsrt_msg_<name>) */
    uint16_t field_count;
    const gsrt_field_info *fields; /* [field_count], in table order */
} gsrt_kind_info;

/* The descriptor of kind `number`; static. NULL: no such kind. Any thread; O(1). */
const gsrt_kind_info *gsrt_kind_describe(uint64_t number);

bool gsrt_kind_is_known(uint64_t number);
bool gsrt_kind_is_local_only(gsrt_kind kind); /* true for unknown kinds too: never from another rank */
const char *gsrt_kind_name(gsrt_kind kind);   /* static, never NULL: "?" for an unknown kind */

#endif
