"""gsrt plan --rehearse --live: finalists and losses are run by ranks of this machine; what fails there is told, and where
its output lies."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ.get("GSRT_BUILDDIR", ".")
SOURCE = os.path.realpath(os.environ.get("GSRT_SRCDIR", "."))
IRREGULAR = os.path.join(SOURCE, "scenarios/irregular-node.yaml")


def fail(*words):
    print(*words)
    sys.exit(1)


def plan(directory, code=0, says=(), gsrt=os.path.join(BUILD, "gsrt"), **environment):
    done = subprocess.run([gsrt, "plan", IRREGULAR, "--rehearse", "2", "--live", "-o", directory], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=dict(os.environ, **environment), timeout=300)
    err = done.stderr.decode()
    if done.returncode != code or not all(word in err for word in says):
        fail("exit code %d, expected %d\n%s%s" % (done.returncode, code, done.stdout.decode()[-3000:], err))
    return done.stdout.decode()


with tempfile.TemporaryDirectory() as work:
    directory = os.path.join(work, "plan")
    page = plan(directory)
    for words in ["rehearsed on this machine", "on this machine: spare, the next token "]:
        if words not in page:
            fail("no '%s' in\n%s" % (words, page))
    found = json.load(open(os.path.join(directory, "plan.json")))
    for finalist in found["rehearsal"]:
        if (finalist["world"], finalist["exit"], finalist["verified"]) != ("real", 0, True) or not finalist["observed"] > 0:
            fail("a finalist was not run, or not measured:", finalist)
    best = min(found["rehearsal"], key=lambda finalist: finalist["observed"])
    if [finalist["chosen"] for finalist in found["rehearsal"]] != [finalist is best for finalist in found["rehearsal"]]:
        fail("not the one that was observed to be best:", found["rehearsal"])
    for rank, fallback in enumerate(found["fallbacks"]):
        seen = fallback["rehearsed"]
        report = json.load(open(os.path.join(directory, seen["run"], "report.json")))
        if report["world"] != "real" or [f["ranks"] for f in report["failures"]] != [[rank]] or not seen["verified"]:
            fail("without rank %d:" % rank, seen, report["failures"])
    left = [name for name in os.listdir(os.path.join(directory, "rehearsal")) if name.endswith((".yaml", ".log"))]
    if left:
        fail("files of runs that ended well are left:", left)

    # what does not run is told, and what it said is kept
    plan(os.path.join(work, "no-mpirun"), code=5, PATH="/nowhere",
         says=["no finalist came through its rehearsal: on this machine it ends with exit code 1: see ", "finalist-1.log"])
    with open(os.path.join(work, "no-mpirun/rehearsal/finalist-1.log")) as file:
        if "cannot start mpirun" not in file.read():
            fail("the output of a run that failed is not kept")
    plan(os.path.join(work, "nested"), code=2, PMIX_RANK="0", says=["--live: starts mpirun itself"])
    alone = shutil.copy(os.path.join(BUILD, "gsrt"), work)
    plan(os.path.join(work, "alone"), code=2, gsrt=alone, says=["gsrt-launch: is not there to run; install it"])
print("gsrt plan --live: %d finalists, %d losses" % (len(found["rehearsal"]), len(found["fallbacks"])))
