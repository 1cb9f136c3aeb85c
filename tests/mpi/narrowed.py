"""Weights that the contract lets a plan narrow: gsrt plan --validate measures it, plan: auto under mpirun then narrows exactly the
regions with a budget, and the answer's hashes are those of the plain executor with the same narrowed weights, whatever the split;
what a bitwise contract, or one without evidence, does not admit is refused by name.
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


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1")


def call(arguments, code=0, says=""):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, env=environment())
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


def main():
    if not os.path.exists(MODEL):
        print("no", MODEL, "(set GSRT_SHARED_DATA)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        place = lambda name: os.path.join(work, name)
        path = scenario(work)
        # without evidence nothing is narrowed; what is measured then admits layers 1 and 2, and nothing else
        call(launch(2, path, "-o", place("given")))
        given = check(place("given"), "without evidence", [])
        call([os.path.join(BUILD, "gsrt"), "plan", path, "--validate", "-q", "-o", place("planned")])
        evidence = ["--set", "evidence=" + place("planned/evidence.json")]
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
    print("layers 1 and 2 in q8_0 by evidence: %d hashes, the same on 4 splits and in the twin; %d plans refused" %
          (len(answer), len(refused)))


if __name__ == "__main__":
    main()
