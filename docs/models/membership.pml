/* The membership protocol of health/membership.h for three ranks, for SPIN. tests/checks/spin_model.sh runs it.
 *
 * What is kept: ballots with claims, testaments, deposits before acknowledgements, adoption of decided words, leases,
 * exclusion, a second incarnation of each rank, views 1 to EPOCHS.
 * What is abstracted:
 *   - messages. What was said once can be heard at any later time, never, and again: an acceptor acts on a proposal
 *     whenever it likes, which covers loss, repetition, delay and reordering, stopped processes, and partitions.
 *   - time. TICK lets every contact and every wait of a lease run out together; contact is confirmed whenever it may be.
 *   - suspicion. In the safety model anybody may propose at any time and hold anybody for unreachable; an order to end a
 *     silent worker is KILL. With -DPROGRESS only the smallest live member proposes, when a change is due, and hosts
 *     that are lost are seen to be; then each run must end with the survivors in one view.
 * Bounds, all declared: KILLS deaths with a word, LOST hosts without, SLOTS ballots per epoch, TICKS leases, EPOCHS.
 *
 * Properties: one value per epoch; no unfenced member of an older view that a newer unfenced view does not name; at most
 * one unfenced coordinator; with PROGRESS: no run ends unsettled. The runs have no cycles, so each ends: that is
 * progress under weak fairness. Planted bugs: -DPLANT_DOUBLE_VOTE, -DPLANT_NO_LEASE, -DPLANT_PONG.
 */
#ifndef KILLS
#define KILLS 1
#endif
#ifndef LOST
#define LOST 0
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef TICKS
#define TICKS 1
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif

#define FINAL 255
#define LEASED 64

#define B(r) (1 << (r))
#define HAS(set, r) (((set) >> (r)) & 1)
#define MEMBERS(v) ((v) & 7)
#define COUNT(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2))
#define LOW(set) ((set) & (-(set)))
/* every member weighs 2, the lowest 3 */
#define W(set, v) (2 * COUNT((set) & MEMBERS(v)) + (((set) & LOW(MEMBERS(v))) != 0))
/* a view is members (bits 0 to 2), which of them are second incarnations (3 to 5), and LEASED */
#define NAMES(v, r) (HAS(v, r) && HAS((v) >> 3, r) == HAS(fresh, r))
/* the coordinator: the smallest (incarnation, rank) */
#define FIRSTS(v) (MEMBERS(v) & ~((v) >> 3))
#define COORDINATOR(v) (FIRSTS(v) != 0 -> LOW(FIRSTS(v)) : LOW(MEMBERS(v)))
#define CLAIM(n) ((n) >> 4)

byte up = 7;    /* live processes */
byte fresh = 0; /* ranks at their second incarnation */
byte gone = 0;  /* lost with their keepers */
byte words = 0; /* first incarnations whose keeper has said their word */
byte word_epoch[3], word_ballot[3], word_value[3];
byte known[3]; /* words that a rank has heard */

byte epoch[3], view[3];
byte promised[3], accepted[3], value[3];
byte held_epoch[3], held_ballot[3], held_value[3]; /* the keeper's */
byte contact[3];
byte waits = 0; /* in a leased view that has not begun */
byte saw = 0;   /* accepted a leased value less than a lease ago */

/* ballots of the epoch e + 2, by their order of appearance */
#define AT(e, s) ((e) * SLOTS + (s))
byte slot_count[2];
byte owner[2 * SLOTS], number[2 * SLOTS], promises[2 * SLOTS], best[2 * SLOTS], best_value[2 * SLOTS];
byte proposed[2 * SLOTS], acks[2 * SLOTS];

byte chosen[5]; /* the members of each epoch */
byte kills = KILLS, losses = LOST, ticks = TICKS;

byte t, u, x, d; /* scratch, 0 outside of steps */

#define VOTES(r, e) (HAS(up, r) && epoch[r] == (e) + 1)
#define TESTAMENT(r, d) (HAS(known[r], d) && HAS(view[r], d) && !HAS(view[r] >> 3, d) && word_epoch[d] <= epoch[r] + 1)
#define TESTAMENTS(r) (TESTAMENT(r, 0) + 2 * TESTAMENT(r, 1) + 4 * TESTAMENT(r, 2))
#define UNFENCED(r) (HAS(up, r) && epoch[r] != 0 && !HAS(waits, r) && 2 * W(contact[r], view[r]) > W(7, view[r]))

inline forget(r)
{
    epoch[r] = 0; view[r] = 0; promised[r] = 0; accepted[r] = 0; value[r] = 0; contact[r] = 0; known[r] = 0;
    held_epoch[r] = 0; held_ballot[r] = 0; held_value[r] = 0;
    waits = waits & ~B(r); saw = saw & ~B(r)
}

inline die(r)
{
    up = up & ~B(r);
    if
    :: !HAS(fresh, r) ->
        words = words | B(r);
        word_epoch[r] = held_epoch[r]; word_ballot[r] = held_ballot[r]; word_value[r] = held_value[r]
    :: else
    fi;
    forget(r)
}

inline check()
{
    t = 0;
    do
    :: t < 3 ->
        u = 0;
        do
        :: u < 3 ->
            assert(!(t != u && UNFENCED(t) && UNFENCED(u) && epoch[t] < epoch[u]) || NAMES(view[u], t));
            assert(t == u || !(UNFENCED(t) && UNFENCED(u) && COORDINATOR(view[t]) == B(t) && COORDINATOR(view[u]) == B(u)));
            u++
        :: else -> break
        od;
        t++
    :: else -> break
    od;
    t = 0; u = 0
}

#ifdef PLANT_PONG
#define CONFIRMS(p) true
#else
#define CONFIRMS(p) (promised[p] == 0)
#endif

/* Whoever may confirm contact, does, and at once: with more contact more is unfenced, so this is the worst case. */
inline confirm()
{
    t = 0;
    do
    :: t < 3 ->
        u = 0;
        do
        :: u < 3 ->
            if
            :: HAS(up, t) && HAS(up, u) && epoch[t] != 0 && epoch[t] == epoch[u] && CONFIRMS(u) ->
                contact[t] = contact[t] | B(u)
            :: else
            fi;
            u++
        :: else -> break
        od;
        t++
    :: else -> break
    od;
    t = 0; u = 0;
    check()
}

inline install(r, e, v)
{
    assert(chosen[e] == 0 || chosen[e] == ((v) & 63));
    chosen[e] = (v) & 63;
#ifndef PLANT_NO_LEASE
    if
    :: ((v) & LEASED) && !(accepted[r] != 0 && value[r] == (v) && !HAS(saw, r)) -> waits = waits | B(r)
    :: else -> waits = waits & ~B(r)
    fi;
#endif
    epoch[r] = e; view[r] = (v);
    promised[r] = 0; accepted[r] = 0; value[r] = 0; contact[r] = 0; saw = saw & ~B(r);
    held_epoch[r] = e; held_ballot[r] = FINAL; held_value[r] = (v);
    confirm()
}

/* take over what was decided: install it, or leave */
inline learn(r, e, v)
{
    if
    :: NAMES(v, r) -> install(r, e, v)
    :: else -> die(r)
    fi
}

/* the next ballot: above what was promised here, and perhaps above what was promised anywhere */
inline prepare(r)
{
    x = promised[r];
    t = 0;
    do
    :: t < 3 ->
        if
        :: HAS(up, t) && epoch[t] == epoch[r] && promised[t] > x -> x = promised[t]
        :: else
        fi;
        t++
    :: else -> break
    od;
    t = W(TESTAMENTS(r), view[r]);
    if
    :: t > CLAIM(x) -> x = t * 16 + r + 1
    :: else -> x = (x & 252) + 4 + r + 1
    fi;
    t = AT(epoch[r] - 1, slot_count[epoch[r] - 1]);
    slot_count[epoch[r] - 1]++;
    owner[t] = r; number[t] = x; promises[t] = B(r); best[t] = accepted[r]; best_value[t] = value[r];
    promised[r] = x;
    x = 0; t = 0
}

inline promise(r, s)
{
    promised[r] = number[s];
#ifdef PLANT_DOUBLE_VOTE
    accepted[r] = 0; value[r] = 0;
#endif
    promises[s] = promises[s] | B(r);
    if
    :: accepted[r] > best[s] -> best[s] = accepted[r]; best_value[s] = value[r]
    :: else
    fi;
}

inline accept(r, s)
{
    if
    :: (accepted[r] == 0 || value[r] != proposed[s]) && (proposed[s] & LEASED) -> saw = saw | B(r)
    :: (accepted[r] == 0 || value[r] != proposed[s]) && !(proposed[s] & LEASED) -> saw = saw & ~B(r)
    :: else
    fi;
    promised[r] = number[s]; accepted[r] = number[s]; value[r] = proposed[s];
    held_epoch[r] = epoch[r] + 1; held_ballot[r] = number[s]; held_value[r] = proposed[s]
}

/* a value of our own: who is dead goes, who has come back comes in, who is held for unreachable goes at a price */
inline compose(r)
{
    x = LEASED * HAS(waits, r);
    d = 0;
    do
    :: d < 3 ->
        if
        :: d == r -> x = x | B(d) | (HAS(fresh, d) << (3 + d))
        :: d != r && HAS(fresh, d) && HAS(up, d) -> x = x | B(d) | (8 << d)
        :: d != r && HAS(view[r], d) && HAS(view[r] >> 3, d) && !HAS(up, d) -> skip /* its word was said too */
        :: d != r && HAS(view[r], d) && !HAS(view[r] >> 3, d) && HAS(known[r], d) -> skip
#ifdef PROGRESS
        :: d != r && HAS(view[r], d) && !HAS(fresh, d) && !HAS(known[r], d) && !HAS(gone, d) -> x = x | B(d)
        :: d != r && HAS(view[r], d) && HAS(gone, d) -> x = x | LEASED
#else
        :: d != r && HAS(view[r], d) && !HAS(view[r] >> 3, d) && !HAS(known[r], d) -> x = x | B(d)
        :: d != r && HAS(view[r], d) && !HAS(view[r] >> 3, d) && !HAS(known[r], d) -> x = x | LEASED
        :: d != r && HAS(view[r], d) && HAS(view[r] >> 3, d) -> x = x | LEASED
#endif
        :: d != r && !HAS(view[r], d) -> skip
        fi;
        d++
    :: else -> break
    od;
    /* the coordinator changes, and the old one is not known to be dead */
    if
    :: COORDINATOR(x) != COORDINATOR(view[r]) && !(COORDINATOR(view[r]) & (known[r] & ~(view[r] >> 3))) -> x = x | LEASED
    :: else
    fi;
    d = 0
}

inline propose(r, s)
{
    d = 0;
    do
    :: d < 3 ->
        if
        :: TESTAMENT(r, d) && word_epoch[d] == epoch[r] + 1 && word_ballot[d] > best[s] ->
            best[s] = word_ballot[d]; best_value[s] = word_value[d] | LEASED
        :: else
        fi;
        d++
    :: else -> break
    od;
    d = 0;
    if
    :: best[s] != 0 -> x = best_value[s]
    :: else -> compose(r)
    fi;
    proposed[s] = x;
    accept(r, s);
    x = 0
}

#ifdef PROGRESS
#define SMALLEST(r) ((MEMBERS(view[r]) & up & ~(fresh ^ (view[r] >> 3)) & (B(r) - 1)) == 0)
#define CHANGE(r) (promised[r] != 0 || (MEMBERS(view[r]) & (known[r] & ~(view[r] >> 3))) != 0 || \
                   (MEMBERS(view[r]) & gone) != 0 || (up & fresh & ~(view[r] >> 3)) != 0)
/* the own ballot is still under way: nothing is gained by another, unless a death came to be known */
#define IS_UNDER_WAY(r, s) (owner[s] == r && number[s] == promised[r] && CLAIM(number[s]) >= W(TESTAMENTS(r), view[r]))
#define MAY_PREPARE(r) (SMALLEST(r) && CHANGE(r) && !(slot_count[epoch[r] - 1] > 0 && \
                        IS_UNDER_WAY(r, AT(epoch[r] - 1, slot_count[epoch[r] - 1] - 1))))
#else
#define MAY_PREPARE(r) true
#endif

#define CAN_PROPOSE(r, s) (2 * W(promises[s] | TESTAMENTS(r), view[r]) > W(7, view[r]) + CLAIM(number[s]))
#define CAN_DECIDE(r, s) (2 * W(acks[s], view[r]) + CLAIM(number[s]) > W(7, view[r]))
#define BALLOT_STEPS(r, e, s) \
    :: atomic { VOTES(r, e) && number[s] > promised[r] -> promise(r, s) } \
    :: atomic { VOTES(r, e) && owner[s] == r && number[s] == promised[r] && proposed[s] == 0 && CAN_PROPOSE(r, s) -> \
                propose(r, s) } \
    :: atomic { VOTES(r, e) && proposed[s] != 0 && number[s] >= promised[r] && accepted[r] != number[s] -> accept(r, s) } \
    :: atomic { VOTES(r, e) && number[s] != 0 && accepted[r] == number[s] && promised[r] == number[s] && \
                !HAS(acks[s], r) -> acks[s] = acks[s] | B(r) } \
    :: atomic { VOTES(r, e) && owner[s] == r && number[s] == promised[r] && proposed[s] != 0 && CAN_DECIDE(r, s) -> \
                learn(r, (e) + 2, proposed[s]) }

#if SLOTS == 1
#define EPOCH_STEPS(r, e) BALLOT_STEPS(r, e, AT(e, 0))
#elif SLOTS == 2
#define EPOCH_STEPS(r, e) BALLOT_STEPS(r, e, AT(e, 0)) BALLOT_STEPS(r, e, AT(e, 1))
#else
#define EPOCH_STEPS(r, e) BALLOT_STEPS(r, e, AT(e, 0)) BALLOT_STEPS(r, e, AT(e, 1)) BALLOT_STEPS(r, e, AT(e, 2))
#endif

#define PAIR_STEPS(r, o) \
    :: atomic { HAS(up, r) && HAS(words, o) && !HAS(known[r], o) && r != o -> known[r] = known[r] | B(o) } \
    :: atomic { HAS(up, r) && HAS(up, o) && epoch[o] > epoch[r] && (epoch[r] != 0 || NAMES(view[o], r)) -> \
                learn(r, epoch[o], view[o]) } \
    :: atomic { HAS(up, r) && HAS(known[r], o) && word_ballot[o] == FINAL && word_epoch[o] > epoch[r] && \
                (epoch[r] != 0 || NAMES(word_value[o], r)) -> learn(r, word_epoch[o], word_value[o] | LEASED) }

#define RANK_STEPS(r) \
    :: atomic { kills > 0 && HAS(up, r) && !HAS(fresh, r) -> kills--; die(r) } \
    :: atomic { losses > 0 && HAS(up, r) && !HAS(fresh, r) -> losses--; up = up & ~B(r); gone = gone | B(r); forget(r) } \
    :: atomic { HAS(words, r) && !HAS(fresh, r) -> fresh = fresh | B(r); up = up | B(r) } \
    :: atomic { HAS(up, r) && epoch[r] != 0 && epoch[r] < EPOCHS && slot_count[epoch[r] - 1] < SLOTS && MAY_PREPARE(r) -> \
                prepare(r) } \
    EPOCH_STEPS(r, 0) \
    EPOCH_STEPS(r, 1) \
    PAIR_STEPS(r, 0) \
    PAIR_STEPS(r, 1) \
    PAIR_STEPS(r, 2)

/* the latest view among the live */
#define NEWEST (epoch[0] > epoch[1] -> (epoch[0] > epoch[2] -> epoch[0] : epoch[2]) : (epoch[1] > epoch[2] -> epoch[1] : epoch[2]))
/* a wait ends by itself */
#define SETTLED(r) (!HAS(up, r) || (epoch[r] == x && 2 * W(contact[r], view[r]) > W(7, view[r])))

inline judge()
{
#ifdef PROGRESS
    x = NEWEST;
    /* out of epochs, or nobody is left of the last view, or its quorum was lost with keepers */
    if
    :: x == EPOCHS || x == 0 -> skip
    :: else ->
        u = chosen[x];
        if
        :: 2 * W(7 & ~gone, u) <= W(7, u) + W(words & ~(u >> 3), u) -> skip
        :: else -> assert(SETTLED(0) && SETTLED(1) && SETTLED(2) && (MEMBERS(u) & ~up) == 0)
        fi
    fi
#else
    skip
#endif
}

init
{
    atomic {
        chosen[1] = 7;
        t = 0;
        do
        :: t < 3 -> epoch[t] = 1; view[t] = 7; held_epoch[t] = 1; held_ballot[t] = FINAL; held_value[t] = 7; t++
        :: else -> break
        od;
        t = 0;
        confirm()
    };
    do
    RANK_STEPS(0)
    RANK_STEPS(1)
    RANK_STEPS(2)
    :: atomic { ticks > 0 -> ticks--; contact[0] = 0; contact[1] = 0; contact[2] = 0; waits = 0; saw = 0;
                confirm() }
    :: else -> break
    od;
    judge()
}
