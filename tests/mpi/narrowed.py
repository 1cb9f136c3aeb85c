"""Strictness. Weights that the contract lets a plan narrow: gsrt plan --validate measures it, plan: auto under mpirun then narrows
exactly the regions with a budget, and the answer's hashes are those of the plain executor with the same narrowed weights, whatever
the split; what a bitwise contract, or one without evidence, does not admit is refused by name.

Then the narrowed weights of one rank are damaged while tokens go on: the watch sees the budget exceeded, evidence.json of the run
says so, a view begins in which nobody narrows anything, and every token from then on has the hash that weights as given give.
"""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("GSRT_BUILDDIR", "."))
SOURCE = os.path.abspath(os.environ.get("GSRT_SRCDIR", "."))
MPIRUN = os.environ.get("GSRT_MPIRUN", "mpirun")
MODEL = os.path.join(os.environ.get("GSRT_SHARED_DATA", os.path.join(SOURCE, "../shared/data")),
                     "models/stories260K/stories260K-f32.gguf")
WORDS = "Once One A The big dog cat sun day girl boy tree bird ran saw was had went play fun happy sad mom dad toy box red blue".split()
NARROWED = [{"region": "layer.1", "weights": "q8_0"}, {"region": "layer.2", "weights": "q8_0"}]
DRILLED, FAULT_TOKEN = (100, 60, 240), 10  # tokens of the answers of drills, and of the first when its weights are damaged
REASONS = [("weights:", "contract_narrowed"), ("kv:", "contract_narrowed"), ("compute:", "contract_narrowed"),
           ("reduce:", "contract_reordered"), ("kernels:", "contract_unproven")]
CONTRACT = "[{regions: layer.1, divergence: 0.01, corpus: %s}, {regions: layer.2, divergence: 0.01, corpus: %s}]"


def fail(*words):
    print(*words)
    sys.exit(1)


def scenario(folder, more=""):
    text = os.path.join(folder, "text.txt")
    with open(text, "w") as file:
        file.writelines("%s %s\n" % (WORDS[i % len(WORDS)], WORDS[(5 * i + 3) % len(WORDS)]) for i in range(60))
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w") as file:
        file.write("gsrt: 1\nname: narrowed\nworkload:\n  model: %s\n  requests:\n"
                   "    - {prompt: 'Once upon a time', max_tokens: 50, ignore_eos: true}\n"
                   "    - {prompt: 'One day', max_tokens: 30, temperature: 0.8, top_k: 40, seed: 7, ignore_eos: true}\n"
                   "contract: %s\nplan: auto\nobjective: tpot\nverify: reference\ntwin: {ranks: 4}\n%s"
                   % (json.dumps(MODEL), CONTRACT % (text, text), more))
    return path


def drilled_scenario(stages, evidence, more=0):
    """The answers of DRILLED, and so many more of the last kind."""
    rows = list(zip(["Once upon a time", "One day", "The big"], DRILLED))
    requests = ", ".join("{prompt: '%s', max_tokens: %d, ignore_eos: true}" % row for row in rows + more * rows[-1:])
    rank = 1 if "[1, 2]" in stages else 0
    return ["--set", "workload.requests=[%s]" % requests, "--set", "runtime={batch: 2}", *evidence,
            "--set", "plan={stages: %s, narrowed: %s}" % (stages, json.dumps(NARROWED)),
            "--set", "faults=[{corrupt: %d, when: {request: 0, token: %d}}]" % (rank, FAULT_TOKEN)]


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1")


def call(arguments, code=0, says=""):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, env=environment())
    out = done.stdout.decode()
    if done.returncode != code or says not in out:
        fail(" ".join(arguments), ": exit code", done.returncode, "expected", code, says, "\n", out[-3000:])
    return out


def launch(ranks, path, *more):
    return [MPIRUN, "-q", "-n", str(ranks), os.path.join(BUILD, "gsrt-launch"), path, *more]


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def hashes(folder):
    with open(os.path.join(folder, "tokens.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    return {(line["request"], line["index"]): (line["token"], line["logits"]) for line in lines}


def check(folder, what, narrowed):
    report, plan = read(folder, "report.json"), read(folder, "plan.json")
    contract = report["contract"]
    if not contract["kept"] or contract["compared"] != 80 or contract["kind"] != ("budgets" if narrowed else "bitwise"):
        fail(what, contract)
    if plan["narrowed"] != narrowed:
        fail(what, "narrows", plan["narrowed"])
    return hashes(folder)


def check_strict(text):
    """A bitwise contract: whatever quantises, sums in another order or has no proof is rejected with that reason."""
    plan, counts = json.loads(text), {}
    for rival in plan["rejected"]:
        changes = [(kind, reason) for kind, reason in REASONS if ": " + kind in rival["constraint"]]
        if (changes[0][1] if changes else None) != (rival["reason"] if rival["reason"].startswith("contract_") else None):
            fail("rejected with another reason:", rival)
        counts[rival["reason"]] = counts.get(rival["reason"], 0) + 1
    if any(counts.get(reason, 0) == 0 for _, reason in REASONS):
        fail("not tried:", counts)
    if any(proof["admitted_by"] != "construction" for proof in plan["proofs"]):
        fail("the plan rests on more than proofs:", plan["proofs"])
    return sum(count for reason, count in counts.items() if reason.startswith("contract_"))


def check_drilled(folder, what, kind):
    """The violation is told everywhere; what follows it is right, and only tokens between fault and violation are not."""
    report, eras = read(folder, "report.json"), read(folder, "narrowed.json")["eras"]
    narrowed, contract = report["narrowed"], report["contract"]
    violation = narrowed["violations"][0]
    if report["exit"] != 4 or contract["kept"] is not False or len(narrowed["violations"]) != 1 or violation["left"] != []:
        fail(what, "reports something else:", contract, narrowed)
    if violation["statistic"] != "divergence" or violation["seen"] <= violation["bound"] or violation["request"] != 0:
        fail(what, "saw something else:", violation)
    if any(len(request["tokens"]) != count for request, count in zip(report["requests"], DRILLED)):
        fail(what, "an answer is not complete")
    made_damaged = sum(eras[0]["first"]) - FAULT_TOKEN
    if len(eras) != 1 or eras[0]["narrowed"] != [] or made_damaged < 0:
        fail(what, "has other eras:", eras)
    if contract["compared"] != sum(DRILLED) or contract["different"] > made_damaged:
        fail(what, "what followed is not computed with weights as given:", contract, eras)
    if [failure["kind"] for failure in report["failures"]][:1] != [kind]:
        fail(what, "has other incidents:", report["failures"])
    seen = read(folder, "evidence.json")["evidence"][-1]
    if seen["figures"] != [{"statistic": "divergence", "measured": violation["seen"], "upper": violation["seen"]}]:
        fail(what, "evidence.json does not say what was seen:", seen)
    return report


def main():
    if not os.path.exists(MODEL):
        print("no", MODEL, "(set GSRT_SHARED_DATA)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        place = lambda name: os.path.join(work, name)
        path = scenario(work)
        # what is measured admits layers 1 and 2, and nothing else; under a bitwise contract not even that
        call([os.path.join(BUILD, "gsrt"), "plan", path, "--validate", "-q", "-o", place("planned")])
        evidence = ["--set", "evidence=" + place("planned/evidence.json")]
        # before anything fails: regions as given fit, too
        trust = read(place("planned"), "plan.json")["fallbacks"][0]
        if trust["without"] != "what rests on evidence" or not trust["protected"] or trust["way"] != "as given":
            fail("no fallback for a violation:", trust)
        strict = [*evidence, "--set", "contract=bitwise"]
        kinds = check_strict(call([os.path.join(BUILD, "gsrt"), "plan", path, "--json", *strict]))
        call(launch(2, path, "-o", place("given"), *strict))
        given = check(place("given"), "bitwise", [])
        call(launch(4, path, "-o", place("auto"), *evidence))
        answer = check(place("auto"), "auto", NARROWED)
        if answer == given:
            fail("narrowed weights give the logits of those that were given")
        call([os.path.join(BUILD, "gsrt"), "twin", path, "-o", place("twin"), *evidence])
        if check(place("twin"), "the twin", NARROWED) != answer:
            fail("the twin has another answer")
        # the same bits whatever the split; what was kept of a run runs again
        written = "{stages: %s, exchange: %s, narrowed: %s}"
        uneven = "[{layers: [0, 1], ranks: [0, 1, 2], split: [3, 5, 1]}, {layers: [2, 4], ranks: [3]}]"
        for name, ranks, stages, exchange in [("two", 2, "[{layers: [0, 4], ranks: [0, 1]}]", "reduce"),
                                              ("uneven", 4, uneven, "scatter")]:
            plan = "plan=" + written % (stages, exchange, json.dumps(NARROWED))
            call(launch(ranks, path, "-o", place(name), "--set", plan, *evidence))
            if check(place(name), name, NARROWED) != answer:
                fail(name, "has another answer")
        call(launch(4, place("uneven/scenario.yaml"), "-o", place("again")))
        if check(place("again"), "again", NARROWED) != answer:
            fail("the kept scenario has another answer")
        # refused by name: bitwise, other formats than were measured, no evidence
        stages = "[{layers: [0, 4], ranks: [0]}]"
        plan = lambda narrowed: ["--set", "plan=" + written % (stages, "auto", json.dumps(narrowed))]
        refused = [(["--set", "contract=bitwise", *plan(NARROWED), *evidence], "contract_narrowed"),
                   ([*plan(NARROWED[:1]), *evidence], "contract_evidence"),
                   ([*plan(NARROWED)], "contract_evidence"),
                   ([*plan([{"region": "layer.3", "weights": "f16"}]), *evidence], "contract_narrowed")]
        for more, reason in refused:
            call([os.path.join(BUILD, "gsrt"), "twin", path, "-o", place("refused"), *more], code=3, says=reason)
        # damaged in use: in the twin, on ranks of their own, and where one rank alone has to be resumed
        stages = "[{layers: [0, 0], ranks: [0]}, {layers: [1, 4], ranks: [1, 2]}]"
        call([os.path.join(BUILD, "gsrt"), "twin", path, "-o", place("twin-drill"), *drilled_scenario(stages, evidence)], code=4)
        check_drilled(place("twin-drill"), "the twin's drill", "violated")
        call(launch(4, path, "-o", place("drill"), *drilled_scenario(stages, evidence)), code=4,
             says="rank 1 was corrupted")
        drill = check_drilled(place("drill"), "the drill", "violated")
        incident = read(place("drill"), "incidents/1.json")
        if "corrupt: 1" not in incident["reproduce"] or incident["faults"][0]["detector"] != "watch":
            fail("the incident says something else:", incident)
        refused.append(None)
        again = drilled_scenario(stages, ["--set", "evidence=" + place("drill/evidence.json")])
        call([os.path.join(BUILD, "gsrt"), "twin", path, "-o", place("refused"), *again], code=3, says="contract_evidence")
        # one rank has nobody to begin anew with: it is resumed, and then narrows nothing
        alone = [*drilled_scenario("[{layers: [0, 4], ranks: [0]}]", evidence, more=9), "--set", "verify=none"]
        call(launch(1, path, "-o", place("alone"), *alone), code=5, says="one rank alone cannot begin anew")
        call([MPIRUN, "-q", "-n", "1", os.path.join(BUILD, "gsrt-launch"), "--resume", place("alone")], code=4)
        resumed, first = read(place("alone"), "report.json"), read(place("alone"), "narrowed.json")["eras"][0]["first"]
        if resumed["narrowed"]["violations"][0]["left"] != [] or first[-1] != 0:
            fail("resumed:", resumed["narrowed"], first)
        twin, alone = hashes(place("twin-drill")), hashes(place("alone"))
        if read(place("twin-drill"), "narrowed.json")["eras"][0]["first"][2] != 0:
            fail("the twin saw it later than it should")
        if [alone[(11, i)] for i in range(DRILLED[2])] != [twin[(2, i)] for i in range(DRILLED[2])]:
            fail("resumed, it does not compute with weights as given")
        seen = drill["narrowed"]["violations"][0]
        print("damaged: a divergence of %.3g (at most %.3g) seen at position %d; weights as given after %.0f ms" %
              (seen["seen"], seen["bound"], seen["position"], drill["failures"][0]["recovered_ms"]))
    print("bitwise: %d rivals rejected, each with its reason; layers 1 and 2 in q8_0 by evidence: %d hashes, the same on 4 splits "
          "and in the twin; %d plans refused" % (kinds, len(answer), len(refused)))


if __name__ == "__main__":
    main()
