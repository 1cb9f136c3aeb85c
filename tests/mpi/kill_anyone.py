"""Kill anyone: a run goes on when any of its ranks is killed or stopped, at any token, and the answer is the same to the last bit.

    kill_anyone.py                 the most telling drills, and 5 with random victims at random tokens
    kill_anyone.py --all           every drill
    kill_anyone.py --random N      N with random victims (--seed S)
    kill_anyone.py --only REGEX    those whose name matches; --keep: leave the run directories

What must be true after each of them stands in drill.py.
"""

import argparse
import random
import re
import signal
import sys
import time

import drill
from drill import FULL, LENGTHS, PLANS, RECOVERY, Failure, demand

TOTAL = sum(LENGTHS)
KILLED, GONE = ("killed",), ("partition", "left")
STOPPED = ("stopped", "link")  # link: who had it ended, and who saw it end first, were two
drills = []  # (name, is it in the short form, keywords of Campaign.drill)


def add(name, is_short=False, **what):
    drills.append((name, is_short, what))


def kill(rank, token, request=0):
    return f"{{kill: {rank}, when: {{request: {request}, token: {token}}}}}"


# ---- with the scenario's faults ----

for rank in range(4):
    for token in (1, 20, 36, 56, 76):
        add(f"rank {rank} killed at token {token}", (rank, token) in ((0, 36), (2, 1)), faults=[kill(rank, token)],
            expect=[(rank, KILLED)])
    # its first incarnation must not speak again: each line of the answer and of the terminal comes once, and at its place
    add(f"rank {rank} stopped for 2 s", rank == 0, faults=[f"{{stop: {rank}, when: {{request: 0, token: 40}}, for: 2}}"],
        expect=[(rank, STOPPED)])

add("two ranks killed, one after the other", faults=[kill(1, 20), kill(2, 60)], expect=[(1, KILLED), (2, KILLED)])
add("rank 1, then the leader", True, faults=[kill(1, 30), kill(0, 70)], expect=[(1, KILLED), (0, KILLED)])
add("the same rank killed twice", faults=["{kill: 2, times: 2, when: {request: 0, token: 30}}"], expect=[(2, KILLED)] * 2)
add("the leader killed, then whoever leads", faults=[kill(0, 20), kill(1, 60)], expect=[(0, KILLED), (1, KILLED)])
add("two ranks killed at once", faults=[kill(1, 40), kill(2, 40)], expect=[(1, KILLED), (2, KILLED)])
for rank in (0, 2):
    add(f"rank {rank} killed while the run recovers", rank == 0,
        faults=[kill(1, 40), f"{{kill: {rank}, when: {{view: 2}}}}"], expect=[(1, KILLED), (rank, KILLED)])
for rank in (0, 1):
    add(f"rank {rank} dies at every restart, one is allowed", rank == 1, healing="restarts: 1",
        faults=[f"{{kill: {rank}, times: 8, when: {{request: 0, token: 30}}}}"], expect=[(rank, KILLED)] * 2)
    add(f"rank {rank} is not restarted", healing="restarts: 0", faults=[kill(rank, 30)], expect=[(rank, KILLED)],
        method="spare")

for rank in (0, 1):
    add(f"two ranks, {rank} killed", ranks=2, faults=[kill(rank, 40)], expect=[(rank, KILLED)])
    add(f"two ranks, {rank} killed for good", rank == 0, ranks=2, faults=[kill(rank, 40)], expect=[(rank, KILLED)],
        healing="restarts: 0", method="reshaped")
for first, second in ((1, 2), (0, 1), (2, 0)):
    add(f"three ranks, {first} and then {second} killed for good", first == 0, ranks=3, healing="restarts: 0",
        faults=[kill(first, 20), kill(second, 60)], expect=[(first, KILLED), (second, KILLED)], method="reshaped")

add("in place", healing="prefer: in_place", faults=[kill(1, 40)], expect=[(1, KILLED)], method="in_place")
add("in place without a spare", True, plan=FULL, healing="prefer: in_place", faults=[kill(3, 40)], expect=[(3, KILLED)],
    method="in_place")
# that rank does not come back: where its death is noticed late, it would be there before the view
add("by a spare", True, healing="prefer: spare, restarts: 0", faults=[kill(2, 40)], expect=[(2, KILLED)], method="spare")
add("reshaped", plan=FULL, healing="prefer: reshape", faults=[kill(1, 40)], expect=[(1, KILLED)], method="reshaped",
    is_passing=True)

# ---- replicas: three blocks of the first answer are complete long before one is lost ----

def computes_again(run):
    demand(run.report()["replicas"] is None, "there are replicas that nobody asked for")
    demand(drill.recomputed(run) >= drill.LATE, f"only {drill.recomputed(run)} tokens were computed again")


for rank in (0, 2):
    add(f"rank {rank} killed late, and back in place", rank == 2, healing="prefer: in_place", faults=[kill(rank, drill.LATE)],
        expect=[(rank, KILLED)], also=drill.restores)
add("rank 1 killed late, and the spare has its cells", True, healing="prefer: spare", faults=[kill(1, drill.LATE)],
    expect=[(1, KILLED)], method="spare", is_passing=True, also=drill.restores)
add("rank 1 killed late, and the others divide its work", True, plan=FULL, healing="prefer: reshape, restarts: 0",
    faults=[kill(1, drill.LATE)], expect=[(1, KILLED)], method="reshaped", also=drill.restores)
add("the second place killed, and late another", healing="prefer: spare",
    faults=[kill(3, 30), kill(1, drill.LATE)], expect=[(3, KILLED), (1, KILLED)], also=drill.restores)
add("rank 1 killed late, without replicas", True, runtime="kv_replicas: false", faults=[kill(1, drill.LATE)],
    expect=[(1, KILLED)], also=computes_again)

# ---- from outside ----


def before_the_wire_up(victim):
    def act(run):
        began = time.monotonic()
        run.kill_worker(victim)
        run.await_(run.has_ended)
        run.took_s = time.monotonic() - began

    return act


def ends_soon(run):
    demand(run.took_s < 5, f"it took {run.took_s:.1f} s to end")


for rank in (0, 3):
    add(f"rank {rank} killed before the wire-up ends", rank == 3, act=before_the_wire_up(rank), code=5, also=ends_soon)


def stop_keeper(run, pid):
    """Not right between writing and counting, where nobody could know what is out (launch/output.h)."""
    for _ in range(50):
        run.signal(pid, signal.SIGSTOP)
        try:
            run.await_(lambda: len(run.stdout()) == run.shown(), 0.5)
            return
        except Failure:
            run.signal(pid, signal.SIGCONT)
    raise Failure("what is out is never what was counted")


def stop_both(rank, continue_when):
    """The worker and its keeper, by pid; both go on later."""

    def act(run):
        run.await_tokens(50)
        workers, keepers = run.ranks()
        both = [keepers[rank], workers[rank]]
        if rank == 0:
            stop_keeper(run, keepers[rank])
        for pid in both:
            run.signal(pid, signal.SIGSTOP)
        before = run.tokens()
        try:
            run.await_(lambda: continue_when(run, before), 30)
        finally:
            for pid in both:
                run.signal(pid, signal.SIGCONT)

    return act


for rank in range(3): # the spare would not be missed within this answer
    add(f"rank {rank} and its keeper stopped, and continued amid the answer", rank == 0, expect=[(rank, GONE)],
        act=stop_both(rank, lambda run, before: run.tokens() > before + 20))
for rank in range(3):
    add(f"rank {rank} and its keeper stopped, and continued when all is done", expect=[(rank, GONE)],
        act=stop_both(rank, lambda run, before: run.report() is not None))


def is_stopped(run, rank):
    pid = run.ranks()[0].get(rank)
    return drill.read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] == [b"T"]


def see_slow(rank):
    """It is stopped, and it goes on, again and again."""

    def act(run):
        for _ in range(3):
            demand(run.await_(lambda: is_stopped(run, rank)), "it was never stopped")
            demand(run.await_(lambda: not is_stopped(run, rank)), "it never went on")

    return act


add("rank 1 slowed to a third", True, faults=["{slow: 1, factor: 3, when: {request: 0, token: 20}, for: 0.4}"], act=see_slow(1),
    is_hit=False)


# the side with the quorum (half and the lowest rank is one) goes on; the others fence themselves, and come back when they hear it
for sides, cut, is_short in (("[[0], [1, 2, 3]]", (0,), True), ("[[0, 1, 3], [2]]", (2,), False),
                             ("[[0, 1], [2, 3]]", (2, 3), True), ("[[0, 2], [1, 3]]", (1, 3), False)):
    add(f"ranks {', '.join(map(str, cut))} cut off for 2 s", is_short,
        faults=[f"{{partition: {sides}, when: {{request: 0, token: 40}}, for: 2}}"], expect=[(rank, GONE + STOPPED) for rank in cut])


def kill_keeper(rank):
    def act(run):
        run.await_tokens(50)
        run.signal(run.ranks()[1][rank], signal.SIGKILL)

    return act


for rank in (0, 2):
    add(f"the keeper of rank {rank} killed", rank == 2, flags=RECOVERY, act=kill_keeper(rank), expect=[(rank, GONE)])


def at_random(number, source):
    """One or two victims, at one or two instants."""
    count = source.choice((1, 1, 2))
    victims = sorted(source.sample(range(4), count))
    tokens = source.randrange(2, TOTAL - 40)

    def act(run):
        run.await_tokens(tokens)
        workers = run.ranks()[0]
        for rank in victims:
            demand(rank in workers, f"rank {rank} has no worker")
            run.signal(workers[rank], signal.SIGKILL)
        run.is_late = run.tokens() == TOTAL  # on a loaded machine this process may be late

    name = f"random {number}: ranks {', '.join(map(str, victims))} killed after {tokens} tokens of both answers"
    return name, dict(act=act, expect=[(rank, KILLED) for rank in victims], is_hit=False)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--all", action="store_true")
    options.add_argument("--random", type=int, default=None)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default=None)
    options.add_argument("--keep", action="store_true")
    options = options.parse_args()
    chosen = [d for d in drills if options.all or (options.random is None and d[1])]
    if options.only:
        chosen = [d for d in drills if re.search(options.only, d[0])]
    count = options.random if options.random is not None else 0 if options.only else 5
    source = random.Random(options.seed)
    campaign = drill.Campaign(options.keep)
    for name, _, what in chosen:
        campaign.drill(name, **what)
    for number in range(count):
        name, what = at_random(number, source)
        campaign.drill(name, **what)
    return campaign.end()


if __name__ == "__main__":
    sys.exit(main())
