"""A drill: one run under mpirun in which processes are killed or stopped, and what must be true after it.

Whatever happened: mpirun and report.json say the same code; every request is complete; tokens.jsonl has each (request, index)
once and in order, with the token and the hash of the logits of a run that nobody disturbed; standard output is that run's, byte
for byte; each fault is in incidents/*.json and in report.json, with its rank and kind, and struck between two tokens; no process
and no shared memory is left.
"""

import glob
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("GSRT_BUILDDIR", "."))
SOURCE = os.path.abspath(os.environ.get("GSRT_SRCDIR", "."))
MPIRUN = os.environ.get("GSRT_MPIRUN", "mpirun")
MODEL = os.path.join(SOURCE, "models/tiny.gguf")
LENGTHS = (240, 180)  # tokens of the two answers: they are not through when a lost rank is back
PLANS = {
    4: "stages: [{layers: [0, 2], ranks: [0, 1], split: [3, 5]}, {layers: [3, 4], ranks: [2]}], spares: [3]",
    3: "stages: [{layers: [0, 2], ranks: [0, 1]}, {layers: [3, 4], ranks: [2]}]",
    2: "stages: [{layers: [0, 4], ranks: [0, 1]}]",
    1: "stages: [{layers: [0, 4], ranks: [0]}]",
}
FULL = "stages: [{layers: [0, 2], ranks: [0, 1], split: [3, 5]}, {layers: [3, 4], ranks: [2, 3]}]"  # without a spare
RECOVERY = ("--enable-recovery",)  # where keepers die: Open MPI 4 and 5
POLL_S = 0.005


def scenario(plan, faults=(), healing="", moves=(), runtime="", fleet=""):
    return f"""gsrt: 1
name: drill
workload:
  model: {json.dumps(MODEL)}
  requests:
    - {{prompt: "Once upon a time", max_tokens: {LENGTHS[0]}, temperature: 0, ignore_eos: true}}
    - {{prompt: "One day", max_tokens: {LENGTHS[1]}, temperature: 0.8, top_k: 40, seed: 7, ignore_eos: true}}
contract: bitwise
plan: {{{plan}}}
verify: none
faults: [{", ".join(faults)}]
moves: [{", ".join(moves)}]
healing: {{{healing}}}
runtime: {{{runtime}}}
fleet: {{{fleet}}}
"""


def environment():
    env = dict(os.environ)
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    return env


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


class Failure(Exception):
    pass


class Run:
    """One run in its own directory. Its processes are known by that directory, which is on their command line."""

    def __init__(self, work, name, text, ranks, flags=(), launcher=None, env=None):
        self.directory = os.path.join(work, re.sub(r"[^a-z0-9]+", "-", name))
        os.makedirs(self.directory)
        self.out = os.path.join(self.directory, "run")
        self.began = time.time()
        self.pids = set()  # all that it ever had
        self.is_late = False  # whoever was struck had done all before
        with open(os.path.join(self.directory, "scenario.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        command = launcher or [MPIRUN, "-q", *flags, "-n", str(ranks), os.path.join(BUILD, "gsrt-launch")]
        self.limit_s = 120
        self.files = [open(os.path.join(self.directory, n), "wb") for n in ("stdout", "stderr")]
        self.process = subprocess.Popen(
            ["timeout", "-k", "5", str(self.limit_s), *command]
            + [os.path.join(self.directory, "scenario.yaml"), "-o", self.out],
            stdin=subprocess.DEVNULL,
            stdout=self.files[0],
            stderr=self.files[1],
            env={**environment(), **(env or {})},
        )

    # ---- while it runs ----

    def mine(self):
        """{pid: environment} of keepers and workers that live."""
        found = {}
        mark = self.out.encode()
        for entry in os.listdir("/proc"):
            if entry.isdigit() and mark in (line := read(f"/proc/{entry}/cmdline")).split(b"\0"):
                if os.path.basename(line.split(b"\0")[0]) == b"gsrt-launch":
                    found[int(entry)] = dict(
                        pair.split(b"=", 1) for pair in read(f"/proc/{entry}/environ").split(b"\0") if b"=" in pair
                    )
        self.pids.update(found)
        return found

    def ranks(self):
        """({rank: pid of its worker}, {rank: pid of its keeper})"""
        workers, keepers = {}, {}
        for pid, env in self.mine().items():
            if b"PMIX_RANK" in env:
                (workers if b"GSRT_WORKER" in env else keepers)[int(env[b"PMIX_RANK"])] = pid
        return workers, keepers

    def tokens(self):
        return read(os.path.join(self.out, "tokens.jsonl")).count(b"\n")

    def has_ended(self):
        return self.process.poll() is not None

    def await_(self, condition, limit_s=60.0):
        """Until it is true, or the run has ended: what it said last."""
        until = time.monotonic() + limit_s
        while not (value := condition()) and not self.has_ended():
            if time.monotonic() > until:
                raise Failure("waited in vain")
            time.sleep(POLL_S)
        return value

    def await_tokens(self, count):
        if not self.await_(lambda: self.tokens() >= count):
            raise Failure(f"ended before {count} tokens")

    def pause(self, seconds):
        """How long a fault lasts."""
        until = time.monotonic() + seconds
        self.await_(lambda: time.monotonic() >= until)

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def kill_worker(self, rank):
        pid = self.await_(lambda: self.ranks()[0].get(rank))
        if pid:
            self.signal(pid, signal.SIGKILL)

    # ---- after it ----

    def end(self):
        """Its exit code. Nobody must be left."""
        while not self.has_ended():
            self.mine()
            time.sleep(0.05)
        code = self.process.returncode
        for file in self.files:
            file.close()
        until = time.monotonic() + 10
        while (left := self.mine()) or (memory := self.left_memory()):
            if time.monotonic() > until:
                for pid in left:
                    self.signal(pid, signal.SIGKILL)
                raise Failure(f"left behind: processes {sorted(left)}" if left else f"left behind: {memory}")
            time.sleep(POLL_S)
        return code

    def left_memory(self):
        """Shared memory that its processes made. What other jobs on this machine have does not count."""
        segments = [line.split() for line in read("/proc/sysvipc/shm").decode().splitlines()[1:]]
        left = [f"segment {s[1]}" for s in segments if int(s[4]) in self.pids]
        files = [f for f in glob.glob("/dev/shm/*") if os.path.exists(f) and os.stat(f).st_mtime >= self.began]
        if files:
            maps = b"".join(read(f) for f in glob.glob("/proc/[0-9]*/maps"))
            left += [f for f in files if f.encode() not in maps and os.path.exists(f)]
        return left

    def stdout(self):
        return read(os.path.join(self.directory, "stdout"))

    def shown(self):
        """Bytes of the answer that are out, as the keepers have counted."""
        lines = read(os.path.join(self.out, "shown")).split(b"\n")
        return int(lines[-2].split()[0]) if len(lines) > 1 else 0

    def stderr(self):
        return read(os.path.join(self.directory, "stderr")).decode(errors="replace")

    def report(self):
        return json.loads(read(os.path.join(self.out, "report.json")) or b"null")

    def incidents(self):
        files = glob.glob(os.path.join(self.out, "incidents", "*.json"))
        return [json.loads(read(f)) for f in sorted(files, key=lambda f: int(os.path.basename(f)[:-5]))]

    def answer(self):
        """[(request, index, token, hash)] as they stand in the file."""
        lines = read(os.path.join(self.out, "tokens.jsonl")).decode().splitlines()
        return [(t["request"], t["index"], t["token"], t["logits"]) for t in map(json.loads, lines)]


class Base:
    """The answer that nobody disturbed."""

    def __init__(self, work):
        run = Run(work, "undisturbed", scenario(PLANS[1]), 1)
        code = run.end()
        if code != 0:
            raise SystemExit(f"{run.stderr()}\nthe undisturbed run ended with {code}")
        self.answer = sorted(run.answer())
        self.stdout = read(os.path.join(run.directory, "stdout"))
        if [len([t for t in self.answer if t[0] == r]) for r in (0, 1)] != list(LENGTHS):
            raise SystemExit("the undisturbed run is not complete")


def demand(what, why):
    if not what:
        raise Failure(why)


def check_tokens(base, run, is_complete=True):
    got = run.answer()
    for request, length in enumerate(LENGTHS):
        mine = [t for t in got if t[0] == request]
        demand([t[1] for t in mine] == list(range(len(mine))), f"request {request}: an index is missing, twice or late")
        demand(not is_complete or len(mine) == length, f"request {request}: {len(mine)} of {length} tokens")
        want = [t for t in base.answer if t[0] == request][: len(mine)]
        for a, b in zip(mine, want):
            demand(a == b, f"request {request}, token {a[1]}: {a[2:]} instead of {b[2:]}")


def check_incidents(run, faults, is_hit):
    """Each of `faults`, (rank, kinds), was seen; report.json lists what incidents/ has; answers went on after it."""
    incidents, report = run.incidents(), run.report()
    listed = [(f["incident"], f["kind"], f["ranks"], f["method"]) for f in report["failures"]]
    found = []
    for i in incidents:
        ranks = list(dict.fromkeys(f["rank"] for f in i["faults"]))
        demand((i["incident"], i["kind"], ranks, i["method"]) in listed, f"incident {i['incident']} is not in report.json")
        demand(i["rpo_tokens"] == 0, f"incident {i['incident']}: {i['rpo_tokens']} tokens were lost")
        demand(report["exit"] != 0 or i["state"] != "open", f"incident {i['incident']} is still open")
        for f in i["faults"]:
            found.append((f["rank"], f["kind"], f, i))
    demand(len(listed) == len(incidents), f"{len(listed)} failures in report.json, {len(incidents)} incidents")
    for rank, kinds in faults:
        match = next((e for e in found if e[0] == rank and e[1] in kinds), None)
        demand(match, f"no incident of rank {rank}, {' or '.join(kinds)}; there are {[e[:2] for e in found]}")
        found.remove(match)
        if is_hit:
            fault, incident = match[2:]
            demand(fault["view"] > 0 or fault["token"] > 0, f"rank {rank} was hit before the first token")
            demand(incident["state"] == "recovered", f"no token came after rank {rank} was hit: {incident['state']}")
    # on a loaded machine somebody may be taken for dead, and is ended; nobody dies by himself, but for who hears no more
    deaf = {int(rank) for rank in re.findall(r"rank (\d+) starts again: a process that died left", run.stderr())}
    for rank, kind, fault, _ in found:
        is_taken_for_dead = kind in ("stopped", "link", "partition") or (kind == "unknown" and fault["proof"] == "ended")
        demand(is_taken_for_dead or (kind == "killed" and rank in deaf), f"nobody had ordered that rank {rank} is {kind}")
    extra = [e[:2] for e in found]
    return extra


LATE = 210  # a token of the first answer: three blocks of it are complete


def recomputed(run):
    """Of the last fault."""
    return run.report()["failures"][-1]["recomputed_tokens"]


def restores(run):
    """What a rank is lost of at LATE comes back from replicas."""
    positions = run.report()["replicas"]["restored_positions"]
    demand(positions >= 128, f"{positions} positions were restored")
    demand(0 < recomputed(run) < LATE - 30, f"{recomputed(run)} tokens were computed again, though three blocks were kept")


class Table:
    """Time to recovery by phase, by way back."""

    PHASES = ("detection", "agreement", "restart", "restoring", "first_token", "total")

    def __init__(self):
        self.drills, self.extra, self.failed = 0, [], []
        self.times = {}

    def note(self, run, extra):
        self.drills += 1
        self.extra += extra
        for incident in run.incidents():
            if incident["method"] and incident["state"] == "recovered":
                self.times.setdefault(incident["method"], []).append(incident["rto_ms"])

    def print(self):
        print(f"{self.drills} drills, {len(self.failed)} failed; {len(self.extra)} faults that no drill had ordered")
        print("time to recovery, ms: median (worst)")
        print(f"{'way':10} {'count':>5} " + " ".join(f"{p:>17}" for p in self.PHASES))
        for method, times in sorted(self.times.items()):
            cells = []
            for phase in self.PHASES:
                values = [t[phase] for t in times if t[phase] is not None]
                cells.append(f"{statistics.median(values):.1f} ({max(values):.1f})" if values else "unknown")
            print(f"{method:10} {len(times):5} " + " ".join(f"{c:>17}" for c in cells))


class Campaign:
    def __init__(self, keep):
        self.work = tempfile.mkdtemp(prefix="gsrt-drill-")
        self.keep = keep
        self.base = Base(self.work)
        self.table = Table()

    def drill(self, name, *, ranks=4, plan=None, faults=(), healing="", runtime="", expect=(), act=None, code=0, method=None,
               is_passing=False, is_hit=True, moves=(), fleet="",
               flags=(), launcher=None, env=None, also=None):
        """faults: of the scenario; expect: (rank, kinds) of each fault; act(run): from outside; method: that way back occurs, and
        is named in report.json (is_passing: or it did until another followed). also(run): what else must be true. code: what mpirun and report.json say;
        None: `also` looks at all. Returns None: skipped, self.skipped says why."""
        run = Run(self.work, name, scenario(plan or PLANS[ranks], faults, healing, moves, runtime, fleet), ranks, flags, launcher, env)
        run.base = self.base
        began = time.monotonic()
        why, extra = None, []
        try:
            if act:
                act(run)
            got = run.end()
            demand(got != 77 or launcher is None, "skipped")
            if code is not None:
                demand(got in (code if isinstance(code, tuple) else (code,)), f"mpirun returned {got}, not {code}")
            if code is not None and (run.report() is not None or got == 0):
                demand(run.report()["exit"] == got, f"report.json says {run.report()['exit']}, mpirun {got}")
                check_tokens(self.base, run, got == 0)
                extra = check_incidents(run, [] if run.is_late else expect, is_hit)
                if got == 0:
                    demand(run.stdout() == self.base.stdout, "standard output is not that of the undisturbed run")
                if method:
                    named = [f["method"] for f in run.report()["failures"]]
                    ways = [w["way"] for i in run.incidents() for w in i["alternatives"] if w["chosen"]]
                    demand(method in (ways if is_passing else named), f"the way back was {ways}, not {method}")
            if also:
                also(run)
        except Failure as failure:
            if run.process.poll() is None:
                run.process.terminate()
                run.process.wait()
            for pid in run.mine():
                run.signal(pid, signal.SIGKILL)
            if str(failure) == "skipped":
                output = read(os.path.join(run.directory, "stdout")).decode(errors="replace").splitlines()
                self.skipped = output[-1] if output else "two_hosts.sh skipped"
                return None
            why = str(failure)
        took = time.monotonic() - began
        ways = [f"{i['method'] or i['state']}" for i in run.incidents()]
        print(f"{'FAILED' if why else 'ok':6} {took:5.1f} s  {name}: {', '.join(ways) or 'no incident'}"
              + (f"; also {extra}" if extra else ""), flush=True)
        self.table.note(run, extra)
        if why:
            print(f"  {why}\n  files: {run.directory}\n" + "".join(f"  | {l}\n" for l in run.stderr().splitlines()[-20:]))
            self.table.failed.append(name)
        elif not self.keep:
            subprocess.run(["rm", "-rf", run.directory], check=True)
        return not why

    def end(self):
        self.table.print()
        return self.close()

    def close(self):
        if not self.keep and not self.table.failed:
            subprocess.run(["rm", "-rf", self.work], check=True)
        return 1 if self.table.failed else 0
