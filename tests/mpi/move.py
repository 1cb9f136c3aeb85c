"""Moves: a region goes to another rank in the middle of the answer, which stays the same to the last bit; nothing is computed
again for it, and a failure in the middle of it is recovered like any other.

    move.py                the most telling drills
    move.py --all          all of them; --only REGEX: those whose name matches; --keep: leave the run directories

What must be true after each of them stands in drill.py.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import drill
from drill import BUILD, SOURCE, demand

KILLED = ("killed",)
PLAN = "stages: [{layers: [0, 2], ranks: [0, 1], split: [3, 5]}, {layers: [3, 4], ranks: [2]}], spares: [3]"
PROFILE = os.path.join(SOURCE, "scenarios/profiles/edge-5w.json")
SLOWLY = f"time_scale: 20, devices: [{{rank: 2, profile: {json.dumps(PROFILE)}}}]"  # so that there is time
drills = []  # (name, keywords of Campaign.drill)


def add(name, is_telling=False, **what):
    drills.append((name, is_telling, what))


def move(stage, member, to, token):
    return f"{{stage: {stage}, member: {member}, to: {to}, when: {{request: 0, token: {token}}}}}"


def kill(rank, when):
    return f"{{kill: {rank}, when: {when}}}"


def roles(run):
    return {(r["stage"], r["member"]): r["rank"] for r in run.report()["ranks"] if r["stage"] is not None}


def moved(*wanted):
    """report.json and moves.jsonl say these moves, (stage, member, from, to, outcome); the roles are where they lead."""

    def check(run):
        report = run.report()
        got = [(m["stage"], m["member"], m["from"], m["to"], m["outcome"]) for m in report["moves"]]
        demand(got == list(wanted), f"the moves were {got}")
        lines = drill.read(os.path.join(run.out, "moves.jsonl")).decode().splitlines()
        demand([json.loads(line)["outcome"] for line in lines] == [m[4] for m in wanted], "moves.jsonl says otherwise")
        for m in report["moves"]:
            if m["outcome"] != "done":
                demand(m["pause_ms"] is None and m["why"], f"{m} has no reason")
                continue
            demand(m["pause_ms"] is not None and m["bytes"] > 0, f"{m} has no cost")
            demand(f"moved: stage {m['stage']} member {m['member']} from rank {m['from']} to rank {m['to']}" in run.stderr(),
                   "the terminal does not say it")
        last = {(m["stage"], m["member"]): m["to"] for m in report["moves"] if m["outcome"] == "done"}
        for role, rank in last.items():
            demand(roles(run).get(role) == rank, f"stage {role[0]} member {role[1]} is not on rank {rank}: {roles(run)}")

    return check


def nothing_twice(check):
    """Besides: each step was computed once by each role, whoever had it: as many as where nothing moves."""

    def both(run):
        check(run)
        steps = {r["rank"]: r["steps"] for r in run.report()["ranks"]}
        demand(sum(steps.values()) % 3 == 0, f"a step was not computed by all three roles, or twice by one: {steps}")
        demand(run.report()["failures"] == [], "there was a failure")
        replay = subprocess.run([os.path.join(BUILD, "gsrt"), "replay", run.out], capture_output=True, text=True, check=False)
        demand(replay.returncode == 0 and "replay equal" in replay.stdout, f"it is not replayed: {replay.stdout}")
        for m in run.report()["moves"]:
            demand(steps[m["to"]] > 0 and steps[m["from"]] > 0, f"not both ranks of {m} have computed: {steps}")

    return both


DONE = (0, 1, 1, 3, "done")
add("a member of a group", True, moves=[move(0, 1, 3, 40)], also=nothing_twice(moved(DONE)))
add("the last stage, to the leader's own rank after the leader's role has gone",
    moves=[move(0, 0, 3, 30), move(1, 0, 0, 60)],
    also=nothing_twice(moved((0, 0, 0, 3, "done"), (1, 0, 2, 0, "done"))))
add("there and back", moves=[move(0, 1, 3, 30), move(0, 1, 1, 60)],
    also=nothing_twice(moved(DONE, (0, 1, 3, 1, "done"))))
add("two at the same token", moves=[move(0, 1, 3, 40), move(1, 0, 1, 40)],
    also=nothing_twice(moved(DONE, (1, 0, 2, 1, "done"))))
add("at the first token", moves=[move(0, 1, 3, 1)], also=nothing_twice(moved(DONE)))
add("with snapshots", True, moves=[move(0, 1, 3, 40)], runtime="snapshot_tokens: 8", also=nothing_twice(moved(DONE)))
add("what was moved stays so after a failure", moves=[move(0, 1, 3, 30)], faults=[kill(2, "{request: 0, token: 60}")],
    expect=[(2, KILLED)], also=lambda run: demand(roles(run)[(0, 1)] == 3, f"the roles are {roles(run)}"))
add("the leader that has moved something is killed", moves=[move(0, 1, 3, 30)],
    faults=[kill(0, "{request: 0, token: 60}")], expect=[(0, KILLED)],
    also=lambda run: demand(roles(run)[(0, 1)] == 3 and run.report()["moves"][0]["outcome"] == "done",
                            f"the roles are {roles(run)}, the moves {run.report()['moves']}"))


add("what has moved has a second place there too", True, moves=[move(0, 1, 3, 30)],
    faults=[kill(3, f"{{request: 0, token: {drill.LATE}}}")], expect=[(3, KILLED)], also=drill.restores)


def came_back(run):
    """Another has led tokens to their end meanwhile, or the role is its own rank's again, by a move."""
    back = [(m["to"], m["outcome"]) for m in run.report()["moves"]]
    demand(back in ([], [(1, "abandoned")]) or (back == [(1, "done")] and roles(run)[(0, 1)] == 1),
           f"the way back: {back}, {roles(run)}")


add("the way back is a move", True, healing="prefer: spare", faults=[kill(1, "{request: 0, token: 8}")], expect=[(1, KILLED)],
    method="spare", fleet=SLOWLY, also=lambda run: (came_back(run), demand(run.report()["moves"], "nothing has moved back")))
for rank, who in ((1, "the rank that is left"), (3, "the rank that takes it"), (2, "another rank"), (0, "the leader")):
    # at the same token: the move has begun, and cannot have ended before the fault is done
    add(f"{who} is killed in the middle of it", rank in (0, 3), moves=[move(0, 1, 3, 40)], faults=[kill(rank, "{request: 0, token: 40}")],
        expect=[(rank, KILLED)])
add("a rank that took a role after a failure is no target", moves=[move(1, 0, 3, 60)], healing="restarts: 0",
    faults=[kill(1, "{request: 0, token: 30}")], expect=[(1, KILLED)], method="spare",
    also=moved((1, 0, 2, 3, "refused")))


def order(run, *words, code, says):
    done = subprocess.run([os.path.join(BUILD, "gsrt-launch"), "move", run.out, *words], capture_output=True, text=True,
                          timeout=300, env=drill.environment(), check=False)
    demand(done.returncode == code, f"gsrt-launch move ended with {done.returncode}: {done.stdout}{done.stderr}")
    demand(re.search(says, done.stdout + done.stderr), f"gsrt-launch move says {done.stdout}{done.stderr}")


def from_outside(run):
    run.await_tokens(20)
    role = ("--stage", "0", "--member", "1")
    order(run, *role, "--to", "3", code=0, says=r"moved: stage 0 member 1 from rank 1 to rank 3; steps were held for \d")
    order(run, *role, "--to", "2", code=3, says="refused: rank 2 has stage 1 member 0")
    order(run, *role, "--to", "9", code=3, says="refused: rank 9 is not there")
    order(run, *role, "--to", "1", code=0, says="moved: stage 0 member 1 from rank 3 to rank 1")


def after_its_end(run):
    moved(DONE, (0, 1, 3, 2, "refused"), (0, 1, 3, 9, "refused"), (0, 1, 3, 1, "done"))(run)
    role = ("--stage", "0", "--member", "1", "--to", "3")
    order(run, *role, code=2, says="this run has ended")
    demand(not os.path.exists(os.path.join(run.out, "move")), "an order was left behind")


add("ordered from outside", True, act=from_outside, also=after_its_end, # a device that takes its time, so that there is some
    fleet=SLOWLY)
add("in the twin", True, moves=[move(0, 1, 3, 40), move(1, 0, 1, 40)], launcher=[os.path.join(BUILD, "gsrt"), "twin"],
    also=nothing_twice(moved(DONE, (1, 0, 2, 1, "done"))))
add("in the twin, and the rank that takes it is killed", True, moves=[move(0, 1, 3, 40)],
    faults=[kill(3, "{request: 0, token: 40}")], launcher=[os.path.join(BUILD, "gsrt"), "twin"], expect=[(3, KILLED)])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only", default=None)
    options.add_argument("--all", action="store_true")
    options.add_argument("--keep", action="store_true")
    options = options.parse_args()
    campaign = drill.Campaign(options.keep)
    for name, is_telling, what in drills:
        if re.search(options.only, name) if options.only else is_telling or options.all:
            campaign.drill(name, **{"plan": PLAN, **what})
    return campaign.end()


if __name__ == "__main__":
    sys.exit(main())
