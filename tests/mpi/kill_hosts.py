"""Kill hosts: ranks of another host, all of a host's workers, a host with its keepers, the link between two hosts.

    kill_hosts.py            the most telling drills; --all, --only REGEX and --keep as kill_anyone.py

Two hosts are network namespaces (two_hosts.sh); ranks 0 and 2 are on the first, 1 and 3 on the second. Half of the ranks hold
the quorum if rank 0 is among them. Where a host is lost for good, Open MPI may wait for it for ever: the verdict is report.json
then, and the drill ends mpirun itself.
"""

import argparse
import re
import signal
import subprocess
import sys

import drill
from drill import BUILD, SOURCE, demand

HERE, THERE = (0, 2), (1, 3)
GONE = ("partition", "left", "killed", "stopped", "link")  # whatever is seen first
LAUNCHER = ["bash", f"{SOURCE}/tests/mpi/two_hosts.sh", "-n", "4", f"{BUILD}/gsrt-launch"]
RECOVERY = {"OMPI_MCA_orte_enable_recovery": "1"}
AT = 60  # tokens of both answers
drills = []


def add(name, is_short=False, **what):
    drills.append((name, is_short, dict(launcher=LAUNCHER, **what)))


def signal_all(run, ranks, number, also_keepers=False):
    workers, keepers = run.ranks()
    for rank in ranks:
        for found in (keepers, workers) if also_keepers else (workers,):
            run.signal(found[rank], number)


def kill_workers(ranks):
    def act(run):
        run.await_tokens(AT)
        signal_all(run, ranks, signal.SIGKILL)

    return act


def end_mpirun(run):
    """The survivors have said all; mpirun may wait for the lost host for ever."""
    run.await_(lambda: not run.mine() or run.has_ended(), 60)
    if not run.has_ended():
        run.process.terminate()


def lose_host(ranks, has_quorum):
    def act(run):
        run.await_tokens(AT)
        signal_all(run, ranks, signal.SIGKILL, True)
        if has_quorum:
            run.await_(lambda: run.report() is not None)
        end_mpirun(run)

    return act


def says_why(run):
    demand("gives up" in run.stderr(), "nobody said why")
    demand(run.report() is None or run.report()["exit"] == 5, "report.json looks like a good run")


def report_is_good(run):
    demand(run.report() is not None and run.report()["exit"] == 0, "report.json does not say 0")
    drill.check_tokens(run.base, run)
    drill.check_incidents(run, [(rank, GONE) for rank in THERE], True)



def cut_link(seconds):
    def act(run):
        run.await_tokens(AT)
        keeper = str(run.ranks()[1][1])
        link = ["nsenter", "-t", keeper, "-n", "ip", "link", "set", "eth0"]
        subprocess.run([*link, "down"], check=True)
        if seconds is None:
            run.await_(lambda: run.report() is not None)
            end_mpirun(run)
            return
        run.pause(seconds)
        subprocess.run([*link, "up"], check=False)

    return act


for rank in (1, 3):
    add(f"remote rank {rank} killed", rank == 1, faults=[f"{{kill: {rank}, when: {{request: 0, token: 40}}}}"],
        expect=[(rank, ("killed",))])
add("all workers of the second host killed", True, act=kill_workers(THERE), expect=[(r, ("killed",)) for r in THERE])
add("all workers of the first host killed", act=kill_workers(HERE), expect=[(r, ("killed",)) for r in HERE])
add("the second host lost", True, act=lose_host(THERE, True), env=RECOVERY, code=None, also=report_is_good)
add("the first host's ranks lost: no quorum", act=lose_host(HERE, False), env=RECOVERY, code=None, also=says_why)
add("the link down for 3 s", True, act=cut_link(3), expect=[(r, GONE) for r in THERE], code=(0,))
add("the link down for good", act=cut_link(None), code=None, also=report_is_good)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--all", action="store_true")
    options.add_argument("--only", default=None)
    options.add_argument("--keep", action="store_true")
    options = options.parse_args()
    drill.LENGTHS = (400, 72)
    campaign = drill.Campaign(options.keep)
    for name, is_short, what in drills:
        if re.search(options.only, name) if options.only else is_short or options.all:
            if campaign.drill(name, **what) is None:
                print(campaign.skipped)
                campaign.close()
                return 77
    return campaign.end()


if __name__ == "__main__":
    sys.exit(main())
