"""gsrt plan and gsrt explain: what they print and keep, the same bytes twice, exit codes, and every bad input with file,
place and remedy."""
import json
import math
import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get("GSRT_BUILDDIR", ".")
SOURCE = os.path.realpath(os.environ.get("GSRT_SRCDIR", "."))
GSRT = os.path.join(BUILD, "gsrt")
IRREGULAR = os.path.join(SOURCE, "scenarios/irregular-node.yaml")
TWO_RACKS = os.path.join(SOURCE, "scenarios/fleets/two-racks.yaml")
CONFIG = os.path.join(SOURCE, "tests/fuzz/corpus/config_json/llama3")

# Two racks of two nodes of four accelerators.
FLEET = """
gsrt_fleet: 1
name: racks
source: "declared: the test"
places:
  - {name: rack, kind: rack, count: 2}
  - {name: node, kind: node, in: rack, count: 2}
parts:
  - {name: gpu, kind: engine, in: node, count: 4, rates: {matmul: {f32: "50 TFLOPS"}, attention: {f32: "50 TFLOPS"}, vector: {f32: "50 TFLOPS"}}, memory: [{tier: hbm, capacity: "40 GB", bandwidth: "2 TB/s"}], launch_overhead: "3 us", power_idle: "50 W", power_max: "400 W", price: "2 $/h"}
  - {name: mesh, kind: fabric, in: node, bandwidth: "2 TB/s"}
  - {name: spine, kind: switch, bandwidth: "1 TB/s"}
links:
  - {from: gpu, to: mesh, kind: coherent, both: true, bandwidth: "300 GB/s", latency: "1 us", contention: mesh}
  - {from: mesh, to: spine, kind: network, both: true, bandwidth: "50 GB/s", latency: "3 us"}
"""

HOSTED = """
gsrt_fleet: 1
name: hosted
source: "declared: the test"
places:
  - {name: node, kind: node}
parts:
  - {name: gpu, kind: engine, in: node, software: {gsrt-canonical: "1"}, rates: {matmul: {f32: "50 TFLOPS"}, attention: {f32: "50 TFLOPS"}, vector: {f32: "50 TFLOPS"}}, memory: [{tier: hbm, capacity: "550 MB", bandwidth: "2 TB/s"}], launch_overhead: "3 us", power_idle: "50 W", power_max: "400 W", price: "2 $/h"}
  - {name: dram, kind: memory, tier: ddr, in: node, capacity: "256 GB", bandwidth: "300 GB/s"}
links:
  - {from: gpu, to: dram, kind: pcie, both: true, bandwidth: "64 GB/s [40, 64]", latency: "1 us"}
"""

# Two regions of four accelerators; an ocean between them.
REGIONS = """
gsrt_fleet: 1
name: regions
source: "declared: the test"
places:
  - {name: eu, kind: region}
  - {name: us, kind: region}
  - {name: node-eu, kind: node, in: eu}
  - {name: node-us, kind: node, in: us}
  - {name: cells, kind: region, count: 2}
parts:
  - {name: gpu-eu, kind: engine, in: node-eu, count: 4, software: {gsrt-canonical: "1"}, rates: {matmul: {f32: "50 TFLOPS"}, vector: {f32: "50 TFLOPS"}}, memory: [{tier: hbm, capacity: "4 GB", bandwidth: "2 TB/s"}], launch_overhead: "3 us"}
  - {name: gpu-us, kind: engine, in: node-us, count: 4, software: {gsrt-canonical: "1"}, rates: {matmul: {f32: "50 TFLOPS"}, vector: {f32: "50 TFLOPS"}}, memory: [{tier: hbm, capacity: "4 GB", bandwidth: "2 TB/s"}], launch_overhead: "3 us"}
  - {name: gate-eu, kind: switch, in: node-eu}
  - {name: gate-us, kind: switch, in: node-us}
links:
  - {from: gpu-eu, to: gate-eu, kind: network, both: true, bandwidth: "50 GB/s", latency: "3 us"}
  - {from: gpu-us, to: gate-us, kind: network, both: true, bandwidth: "50 GB/s", latency: "3 us"}
  - {name: ocean, from: gate-eu, to: gate-us, kind: wan, both: true, bandwidth: "1 GB/s", latency: "42 ms"}
"""

CLASSES = """
gsrt_fleet: 1
name: two
source: "declared: the test"
places: [{name: node, kind: node}]
parts:
  - {name: old, kind: engine, in: node, count: 4, software: {gsrt-canonical: "1"}, rates: {matmul: {f32: "50 TFLOPS"}, attention: {f32: "50 TFLOPS"}, vector: {f32: "50 TFLOPS"}}, memory: [{tier: hbm, capacity: "40 GB", bandwidth: "1 TB/s"}], launch_overhead: "3 us"}
  - {name: new, kind: engine, in: node, count: 4, software: {gsrt-canonical: "1"}, rates: {matmul: {f32: "60 TFLOPS"}, attention: {f32: "60 TFLOPS"}, vector: {f32: "60 TFLOPS"}}, memory: [{tier: hbm, capacity: "40 GB", bandwidth: "1.2 TB/s"}], launch_overhead: "3 us"}
  - {name: mesh, kind: fabric, in: node, bandwidth: "2 TB/s"}
links:
  - {from: old, to: mesh, kind: coherent, both: true, bandwidth: "300 GB/s", latency: "1 us", contention: mesh}
  - {from: new, to: mesh, kind: coherent, both: true, bandwidth: "300 GB/s", latency: "1 us", contention: mesh}
"""

MEMORIES = """
gsrt_fleet: 1
name: memories
source: "declared: the test"
places:
  - {name: node, kind: node}
parts:
  - {name: gpu, kind: engine, in: node, software: {gsrt-canonical: "1"}, rates: {matmul: {f32: "50 TFLOPS"}, attention: {f32: "50 TFLOPS"}, vector: {f32: "50 TFLOPS"}}, launch_overhead: "3 us"}
  - {name: small, kind: memory, tier: hbm, in: node, capacity: "100 MB"}
  - {name: large, kind: memory, tier: hbm, in: node, capacity: "80 GB"}
links:
  - {from: small, to: gpu, kind: memory, bandwidth: "900 GB/s", latency: "100 ns"}
  - {from: gpu, to: large, kind: memory, both: true, bandwidth: "500 GB/s", latency: "100 ns"}
"""

SHARED = """
gsrt_fleet: 1
name: shared
source: "declared: the test"
places:
  - {name: node, kind: node}
parts:
  - {name: gpu, kind: engine, in: node, count: 8, software: {gsrt-canonical: "1"}, rates: {matmul: {f32: "50 TFLOPS", i8: "50 TOPS"}, attention: {f32: "50 TFLOPS"}, vector: {f32: "50 TFLOPS"}}, memory: [{tier: hbm, capacity: "1 MB", bandwidth: "20 GB/s"}], launch_overhead: "0.1 us"}
  - {name: bus, kind: switch, in: node}
links:
  - {from: gpu, to: bus, kind: network, both: true, bandwidth: "400 GB/s", latency: "0.05 us"}
"""

checked = 0


def fail(*words):
    print(*words)
    sys.exit(1)


def run(*arguments, code=0, words=(), says=()):
    """stdout of gsrt ARGUMENTS; it must end with `code`, print `words`, and say `says` on standard error."""
    global checked
    done = subprocess.run([GSRT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    out, err = done.stdout.decode(), done.stderr.decode()
    if done.returncode != code:
        fail("gsrt %s: exit code %d, expected %d\n%s%s" % (" ".join(arguments), done.returncode, code, out[-2000:], err))
    for word in words:
        if word not in out:
            fail("gsrt %s: no '%s' in\n%s" % (" ".join(arguments), word, out))
    for word in says:
        if word not in err:
            fail("gsrt %s: standard error has no '%s':\n%s" % (" ".join(arguments), word, err))
    if code != 0 and err.count("error:") != 1:
        fail("gsrt %s: not one error:\n%s" % (" ".join(arguments), err))
    checked += 1
    return out


def validator():
    try:
        import jsonschema
    except ImportError:
        return None
    with open(os.path.join(SOURCE, "docs/schemas/plan.schema.json")) as file:
        schema = json.load(file)
    del schema["oneOf"]
    schema["$ref"] = "#/definitions/planned"
    return jsonschema.Draft7Validator(schema)


def is_valid(plan, where):
    if VALIDATOR is not None:
        for error in VALIDATOR.iter_errors(plan):
            fail("%s: %s: %s" % (where, "/".join(map(str, error.path)), error.message[:300]))


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def scenario(folder, name="s", workload="synthetic: {layers: 4, dim: 1024, heads: 8, ffn: 4096, vocab: 32000}", more="",
             fleet="inventory: racks-fleet.yaml"):
    return write(folder, name + ".yaml",
                 "gsrt: 1\nname: %s\nworkload: {%s}\ndemand: {prompt_tokens: 512, output_tokens: 128, concurrency: 16}\n"
                 "contract: [{relative_error: 0.01}]\nplan: auto\nfleet: {%s}\n%s" % (name, workload, fleet, more))


VALIDATOR = validator()
with tempfile.TemporaryDirectory() as work:
    # a plan of ranks: the page, plan.json, both twice the same, kept with -o, explained from what was kept
    page = run("plan", IRREGULAR, words=["choice", "predicted", "why this one", "topology", "rejected", "when something is lost"])
    text = run("plan", "--json", IRREGULAR)
    if text != run("plan", "--json", IRREGULAR):
        fail("the same question gives two answers")
    plan = json.loads(text)
    is_valid(plan, "gsrt plan --json")
    if not plan["feasible"] or not plan["executable"] or plan["search"]["gap"] is None:
        fail("irregular-node: no plan that runs:", plan["feasible"], plan.get("missing"))
    if any(proof["admitted_by"] != "construction" for proof in plan["proofs"]):
        fail("a bitwise contract rests on more than proofs")
    if [fallback["without"] for fallback in plan["fallbacks"]] != ["rank0", "rank1", "rank2", "rank3"]:
        fail("not a fallback for each rank:", plan["fallbacks"])
    reasons = {rival["reason"] for rival in plan["rejected"]}
    if not {"contract_narrowed", "contract_unproven", "worse"} <= reasons:
        fail("the rejected have other reasons:", reasons)
    kept = os.path.join(work, "kept")
    run("plan", IRREGULAR, "-q", "-o", kept)
    if open(os.path.join(kept, "plan.json")).read() != text or sorted(os.listdir(kept)) != ["plan.json", "scenario.yaml"]:
        fail("-o keeps something else:", os.listdir(kept))
    if run("explain", kept) != page:
        fail("explain prints another page than plan")
    run("explain", os.path.join(kept, "plan.json"), "tpot.p99", words=["tpot p99: ", "moves it by", "it rests on"])
    run("explain", kept, "latency", words=["latency p50: "])
    for section in ["choice", "predictions", "memory", "topology", "why", "binding", "proofs", "assumptions", "debt",
                    "fallbacks", "rehearsal", "rejected", "search"]:
        run("explain", kept, section)
    run("explain", kept, "cost", words=["cost : unknown, because nobody states\n", "rank1: price\n"])
    run("explain", kept, "decisions", words=["nothing: no incident"])
    run("explain", kept, "latancy", code=1, says=["did you mean 'latency'?"])
    run("explain", kept, "everything", code=1, says=["ask for choice, ", "rehearsal, ", "decisions, or a prediction"])
    run("explain", kept, "rehearsal", words=["nothing of the kind"])
    run("plan", IRREGULAR, "-o", kept, code=2, says=["kept"])
    for policy in ["greedy", "local", "exhaustive"]:
        plan = json.loads(run("plan", "--json", "--policy", policy, "--budget", "300", IRREGULAR))
        if plan["search"]["policy"] != policy or plan["search"]["evaluations"] > 300:
            fail("--policy %s --budget 300: %s" % (policy, plan["search"]))

    # a rehearsal: each finalist ran in the twin with the reference's tokens; so did the plan without each rank
    rehearsed = os.path.join(work, "rehearsed")
    page = run("plan", IRREGULAR, "--rehearse", "2", "-o", rehearsed, words=["rehearsed in the twin", "same tokens as the reference"])
    plan = json.load(open(os.path.join(rehearsed, "plan.json")))
    is_valid(plan, "--rehearse")
    if [(r["chosen"], r["exit"], r["verified"], r["observed"] > 0) for r in plan["rehearsal"]] != [(True, 0, True, True), (False, 0, True, True)]:
        fail("not the first of two finalists:", plan["rehearsal"])
    if plan["choice"] != json.loads(text)["choice"]:
        fail("a rehearsal that agrees changes the choice")
    for rank, fallback in enumerate(plan["fallbacks"]):
        seen = fallback["rehearsed"]
        if seen["exit"] != 0 or not seen["verified"] or seen["method"] != fallback["way"] or not seen["recovered_ms"] > 0:
            fail("without rank %d the twin saw something else than was planned:" % rank, fallback)
        if (rank == 0) != (seen["detected_ms"] is None): # who led is gone, and with it when it was
            fail("without rank %d:" % rank, seen)
        report = json.load(open(os.path.join(rehearsed, seen["run"], "report.json")))
        rate = next(row["observed"] for row in report["predicted"]["rows"] if row["measure"] == "throughput")
        if not 0 < rate < 120000: # of the tokens that came in its time
            fail("%s: a rate with tokens of another's time:" % seen["run"], rate)
        for request in report["requests"]: # what a leader that died has timed is not known, and nothing is made of it
            if (request["ttft_ms"] is None) != (rank == 0) or (request["decode_tokens_per_s"] or 0) > 100000:
                fail("%s: times that nobody measured:" % seen["run"], request["ttft_ms"], request["decode_tokens_per_s"])
        if report["exit"] != 0 or [f["ranks"] for f in report["failures"]] != [[rank]]:
            fail("%s: not a run without rank %d" % (seen["run"], rank))
    if run("explain", rehearsed) != page:
        fail("explain prints another page than plan --rehearse")
    run("explain", rehearsed, "rehearsal", words=["finalist-2"])
    run("twin", os.path.join(rehearsed, "scenario.yaml"), "-q", "-o", os.path.join(work, "played"))
    stages = json.load(open(os.path.join(work, "played", "plan.json")))["stages"]
    if [s["ranks"] for s in stages] != [s["members"][0]["ranks"] for s in plan["choice"]["pools"][0]["stages"]]:
        fail("the kept scenario runs another plan:", stages)
    # over a slow link the pipeline of two is predicted to be better, and one rank alone is: three requests leave it bubbles
    other = os.path.join(work, "other")
    run("plan", IRREGULAR, "--set", "plan=auto", "--set", "fleet={devices: [{rank: 0}, {rank: 1}]}", "--set", "objective=throughput",
        "--set", "twin={link: {latency_us: 20}}", "--rehearse", "2", "-o", other,
        words=["of all plans that were rehearsed", "was predicted to be better; the objective as seen in the twin"])
    plan = json.load(open(os.path.join(other, "plan.json")))
    is_valid(plan, "--rehearse, another")
    first, second = plan["rehearsal"]
    if not second["chosen"] or first["chosen"] or not second["observed"] > first["observed"] or not second["predicted"]["value"] < first["predicted"]["value"]:
        fail("not chosen by what the twin has seen:", first, second)
    former = [rival for rival in plan["rejected"] if rival["reason"] == "rehearsed"]
    if len(former) != 1 or former[0]["plan"] != first["plan"] or plan["choice"]["words"] != second["plan"]:
        fail("the model's choice is not among the rejected:", former)
    if not math.isclose(former[0]["needed"]["value"], second["observed"]) or not math.isclose(former[0]["available"]["value"], first["observed"]):
        fail("rejected for other figures:", former)
    # a limit that the model keeps and the twin misses is told; so is what was lost too late; what is kept must run
    page = run("plan", IRREGULAR, "--rehearse", "1", "-o", os.path.join(work, "limited"), "--set",
               'objective={measure: latency, limits: [{measure: tpot, bound: "20 us"}]}',
               words=["MISSES A LIMIT: tpot p50 ", "and the limit is 20 us"])
    plan = json.load(open(os.path.join(work, "limited", "plan.json")))
    is_valid(plan, "--rehearse, a limit")
    if "the limit is 20 us" not in plan["rehearsal"][0]["misses_limit"] or plan["rehearsal"][0]["within"] is not True:
        fail("a limit that was missed is not told:", plan["rehearsal"])
    run("plan", IRREGULAR, "--rehearse", "1", "-o", os.path.join(work, "short"), "--set",
        "workload.requests=[{prompt: a, max_tokens: 1}]", words=["the answers had ended before it was missed"])
    if json.load(open(os.path.join(work, "short", "plan.json")))["rehearsal"][0]["observed"] is None:
        fail("the latency of one token is its first token's time")
    run("plan", IRREGULAR, "--rehearse", "1", "-o", os.path.join(work, "x"), "--set",
        "faults=[{kill: 9, when: {request: 0, token: 3}}]", code=3, says=["faults[0]: names rank 9"])
    run("plan", IRREGULAR, "--rehearse", "1", "-o", os.path.join(work, "moved-away"), "--set", "plan=auto", "--set",
        "moves=[{stage: 9, member: 0, to: 3, when: {request: 0, token: 2}}]", code=3, says=["moves[0].stage: the plan has no stage 9"])
    if os.path.exists(os.path.join(work, "moved-away", "plan.json")):
        fail("a plan is kept, though its scenario does not run")
    run("plan", IRREGULAR, "--rehearse", "1", "-o", os.path.join(work, "x"), "--set", "plan=auto", "--set",
        "moves=[{stage: 0, member: 0, to: 99, when: {request: 0, token: 2}}]", code=3, says=["moves[0]: names rank 99"])
    run("plan", IRREGULAR, "--rehearse", "2", code=1, says=["say where with '-o DIR'"])
    run("plan", IRREGULAR, "--rehearse", "0", "-o", other, code=1, says=["give one from 1 to 16"])
    run("plan", IRREGULAR, "--rehearse", "2", "--validate", "-o", other, code=1, says=["are two steps"])
    run("plan", IRREGULAR, "--live", code=1, says=["'--live' says how to rehearse; add '--rehearse 2'"])
    run("twin", IRREGULAR, "--live", code=1, says=["only 'plan' takes '--live'"])
    run("twin", IRREGULAR, "--rehearse", "2", "-o", other, code=1, says=["only 'plan' takes '--rehearse'"])

    # moves of a plan that is still to be made are looked at when it is there
    move = "moves=[{stage: %d, member: 0, to: 3, when: {request: 0, token: 2}}]"
    run("plan", IRREGULAR, "--set", "plan=auto", "--set", move % 0, words=["choice"])
    run("twin", IRREGULAR, "--set", "plan=auto", "--set", move % 0, "-o", os.path.join(work, "moved"))
    moves = json.load(open(os.path.join(work, "moved", "report.json")))["moves"]
    if [(m["to"], m["outcome"]) for m in moves] != [(3, "done")]:
        fail("a move of a plan that was made is not carried out:", moves)
    run("twin", IRREGULAR, "--set", "plan=auto", "--set", move % 9, "-o", os.path.join(work, "x"), code=3,
        says=["moves[0].stage: the plan has no stage 9"])

    # how another server schedules can be predicted, and is nothing that the ranks would do
    for key, value in [("prefills_first", "true"), ("gather_steps", "4")]:
        run("plan", IRREGULAR, "--set", "plan=auto", "--set", "demand={%s: %s}" % (key, value), code=2,
            says=["demand.%s: " % key, "the runtime"])

    # the ranks' plan is the same whichever explicit plan stands in the file, and the resolved scenario gives it again
    again = json.loads(run("plan", "--json", os.path.join(kept, "scenario.yaml")))
    if again["choice"] != json.loads(text)["choice"]:
        fail("the resolved scenario gives another plan")

    # what is proposed, rivals and all, is within what the runtime may take
    plan = json.loads(run("plan", "--json", IRREGULAR, "--set", "plan=auto", "--set", "runtime={batch: 3, prefill_chunk: 5}"))
    pool, first = plan["choice"]["pools"][0], [r for r in plan["rejected"] if r["reason"] == "worse"][0]
    if pool["batch_max"] > 3 or pool["prefill_tokens"] > 5 or not first["plan"].endswith(("batch 3", "batch 2", "batch 1")):
        fail("larger batches than the runtime takes:", pool, first["plan"])
    objective = next(r["value"]["value"] for r in plan["predictions"] if (r["measure"], r["percentile"]) == ("latency", "p50"))
    if not math.isclose(first["needed"]["value"], objective):
        fail("a rival is compared with another figure than the choice's:", first["needed"], objective)
    # of a fallback nothing may be known of the objective, and it protects all the same; what nobody stated is named
    plan = json.loads(run("plan", "--json", IRREGULAR, "--set", "objective=energy"))
    lost = [f for f in plan["fallbacks"] if f["objective"] is None]
    if not lost or not all(f["protected"] for f in plan["fallbacks"]):
        fail("not protected, because its energy is unknown:", plan["fallbacks"])
    run("plan", IRREGULAR, "--set", "objective=cost", code=3, says=["nobody stated the price of an engine", "admitted by stating it"])

    # machines of an inventory, a model without weights. Without canonical kernels nothing is proved, and nothing is a plan
    write(work, "plain-fleet.yaml", FLEET)
    write(work, "racks-fleet.yaml", FLEET.replace("count: 4, rates", 'count: 4, software: {gsrt-canonical: "1"}, rates'))
    out = run("plan", "--json", scenario(work, "plain", fleet="inventory: plain-fleet.yaml"), code=3, says=["no plan is feasible"])
    if "contract_unproven" not in {rival["reason"] for rival in json.loads(out)["rejected"]}:
        fail("kernels that nobody has proved are not what is wrong")
    big = scenario(work, "racks")
    plan = json.loads(run("plan", "--json", big))
    is_valid(plan, "racks")
    if plan["executable"] or "can be planned for, not run" not in plan["missing"]:
        fail("a plan on an inventory says that it runs")
    if not {"one of 2 rack", "mesh"} & {f["without"] for f in plan["fallbacks"]}:
        fail("no fallback for a rack:", [f["without"] for f in plan["fallbacks"]])
    run("plan", big, "--rehearse", "2", "-o", os.path.join(work, "none"), code=2, says=["on the ranks of a run"])
    # engines that lack a rate are no unknowns of the integer program
    half = FLEET.replace("links:", '  - {name: half, kind: engine, in: node, count: 2, software: {gsrt-canonical: "1"}, rates: {matmul: {i8: "50 TFLOPS"}, '
                         'vector: {f32: "50 TFLOPS"}}, memory: [{tier: hbm, capacity: "40 GB", bandwidth: "2 TB/s"}], launch_overhead: "3 us"}\nlinks:\n'
                         '  - {from: half, to: mesh, kind: coherent, both: true, bandwidth: "300 GB/s", latency: "1 us", contention: mesh}')
    write(work, "half-fleet.yaml", half.replace("count: 4, rates", 'count: 4, software: {gsrt-canonical: "1"}, rates'))
    run("plan", "--policy", "milp", scenario(work, "half", fleet="inventory: half-fleet.yaml", more="objective: throughput\n"), words=["choice", "gpu"])
    # traffic that neither class of engines serves alone, and both do
    write(work, "classes-fleet.yaml", CLASSES)
    classes = scenario(work, "classes", "synthetic: {layers: 16, dim: 1024, heads: 8, ffn: 4096, vocab: 32000}", fleet="inventory: classes-fleet.yaml")
    plan = json.loads(run("plan", "--json", classes, "--set", "demand={prompt_tokens: 512, output_tokens: 128, arrival_per_s: 500}", "--set", "contract=bitwise"))
    if {m["part"] for pool in plan["choice"]["pools"] for stage in pool["stages"] for m in stage["members"]} != {"old", "new"}:
        fail("not both classes:", plan["choice"]["words"])
    # regions are those that there are
    run("plan", big, "--set", "rules={regions: [moon]}", code=2, says=["rules.regions: 'moon' is no region of "])
    # of several memories the one that is read the fastest and joined both ways, for all who ask
    write(work, "memories-fleet.yaml", MEMORIES)
    plan = json.loads(run("plan", "--json", scenario(work, "memories", fleet="inventory: memories-fleet.yaml")))
    if plan["memory"][0]["capacity"]["value"] != 80e9:
        fail("another memory than what is laid out in:", plan["memory"])
    # the context in parts: eight that share four KV heads, and not even one sequence fits where each keeps all of its positions;
    # by evidence, here that of another transformation under this one's name
    write(work, "shared-fleet.yaml", SHARED)
    text = write(work, "text.txt", "".join("Once upon a time %d\n" % i for i in range(60)))
    parts = scenario(work, "parts", "model: %s, requests: [{prompt: a, max_tokens: 1}]" % os.path.join(SOURCE, "models/tiny.gguf"),
                     fleet="inventory: shared-fleet.yaml")
    quality = ["--set", "contract=[{divergence: 1, corpus: %s}]" % text]
    run("plan", parts, "-q", "--validate", *quality, "--set", "demand={prompt_tokens: 50, output_tokens: 50, concurrency: 1}",
        "-o", os.path.join(work, "measured"))
    with open(os.path.join(work, "measured", "evidence.json")) as file:
        evidence = json.load(file)
    evidence["evidence"] = evidence["evidence"][:1]
    evidence["evidence"][0]["changes"] = [{"transformation": "split:context", "regions": ["layer.%d" % i for i in range(5)]}]
    kept = write(work, "parts.json", json.dumps(evidence))
    demand = "demand={prompt_tokens: 100, output_tokens: 400, concurrency: 64, context_parallel: %s}"
    asked = [parts, *quality, "--set", "evidence=%s" % kept, "--set"]
    run("plan", *asked, demand % "false", code=3, says=["memory of 'gpu.hbm' (memory)"])
    plan = json.loads(run("plan", "--json", *asked, demand % "true"))
    is_valid(plan, "parts")
    stage = plan["choice"]["pools"][0]["stages"][0]
    if stage["context_width"] != 2 or "(context 2, " not in plan["choice"]["words"] or plan["executable"]:
        fail("the context is not in parts:", plan["choice"]["words"], stage)
    if ("split:context", "evidence") not in {(proof["transformation"], proof["admitted_by"]) for proof in plan["proofs"]}:
        fail("nothing admits attention in parts:", plan["proofs"])
    run("plan", *asked, demand % "true", "-o", os.path.join(work, "divided"), words=["the positions of a sequence in 2 parts"])
    run("explain", os.path.join(work, "divided"), "tpot.p50", words=["error of all-to-all"])
    # KV where there is room: a memory that weights nearly fill, and that of the host
    write(work, "host-fleet.yaml", HOSTED)
    host = scenario(work, "host", "synthetic: {layers: 12, dim: 1024, heads: 8, ffn: 4096, vocab: 32000}", fleet="inventory: host-fleet.yaml")
    run("plan", host, code=3, says=["no plan is feasible: ", "memory of 'gpu.hbm' (memory); admitted by a capacity of "])
    demand = "demand={prompt_tokens: 512, output_tokens: 128, concurrency: 16, kv_offload: true}"
    plan = json.loads(run("plan", "--json", host, "--set", demand))
    is_valid(plan, "host")
    if not plan["choice"]["pools"][0]["kv_offload"] > 0 or " in dram" not in plan["choice"]["words"]:
        fail("no KV in the host's memory:", plan["choice"]["words"])
    if plan["memory"][0]["offloaded"]["to"] != "dram" or plan["memory"][0]["offloaded"]["held"]["value"] != plan["memory"][0]["offloaded"]["state"]["value"] or plan["executable"]:
        fail("KV in the host's memory is not told:", plan["memory"], plan["missing"])
    if "kv:offload" not in {proof["transformation"] for proof in plan["proofs"]}:
        fail("nothing proves that KV may lie elsewhere")
    plan = json.loads(run("plan", "--json", "--policy", "milp", host, "--set", demand))
    if not plan["choice"]["pools"][0]["kv_offload"] > 0:
        fail("milp misses what dp finds:", plan["choice"]["words"])
    # eight that share the host's memory: how full it is, is of all that lies there
    write(work, "eight-fleet.yaml", HOSTED.replace("in: node, software", "in: node, count: 8, software").replace('"256 GB"', '"1.4 GB"'))
    eight = scenario(work, "eight", "synthetic: {layers: 12, dim: 1024, heads: 8, ffn: 4096, vocab: 32000}", fleet="inventory: eight-fleet.yaml")
    plan = json.loads(run("plan", "--json", eight, "--set", demand, "--set", "objective=throughput"))
    far, engines = plan["memory"][0]["offloaded"], plan["choice"]["engines"]
    if engines < 2 or not math.isclose(far["held"]["value"], engines * far["state"]["value"], rel_tol=1e-6):
        fail("the second tier holds what all engines put there:", engines, far)
    run("plan", host, "--set", demand, "-o", os.path.join(work, "hosted"), words=["of the KV in a second memory tier", "offloaded to dram"])
    run("explain", os.path.join(work, "hosted"), "tpot.p50", words=["gpu->dram"])
    # requests come from one region: they stay there while it suffices, and spill where policy allows
    write(work, "regions-fleet.yaml", REGIONS)
    write(work, "island-fleet.yaml", REGIONS[:REGIONS.index("  - {name: ocean")])
    synthetic = "synthetic: {layers: 12, dim: 1024, heads: 8, ffn: 4096, vocab: 32000}"
    near = scenario(work, "regions", synthetic, fleet="inventory: regions-fleet.yaml")
    island = scenario(work, "island", synthetic, fleet="inventory: island-fleet.yaml")
    asked = "demand={prompt_tokens: 512, output_tokens: 128, %s, origin: eu}"
    out = run("plan", near, "--set", asked % "concurrency: 4", "--set", "objective={measure: latency, percentile: p99}",
              words=["all requests are served in eu, where they come from", "they come from there"])
    if "spill" in out:
        fail("a few requests are sent over an ocean:", out)
    most = "objective=throughput"
    plan = json.loads(run("plan", "--json", near, "--set", asked % "concurrency: 100000", "--set", most))
    is_valid(plan, "regions")
    home, away = plan["served"]
    if (home["region"], home["origin"], away["region"], away["origin"]) != ("eu", True, "us", False) or not math.isclose(
            home["share"] + away["share"], 1) or not 0.4 < away["share"] < 0.6 or not math.isclose(away["more"]["value"], 0.084):
        fail("where requests are served:", plan["served"])
    if ", in us" not in plan["choice"]["words"] or plan["demand"]["origin"] != "eu":
        fail("the plan's words do not say that it spills:", plan["choice"]["words"])
    if not any(line.startswith("spills to us: 50 % of the requests, 84 ms more to the first token") for line in plan["why"]):
        fail("nothing says what spilling costs:", plan["why"])
    if not all(f["protected"] for f in plan["fallbacks"] if f["without"] in ("ocean", "gpu-us", "us", "node-us")):
        fail("home protects against what is lost elsewhere:", plan["fallbacks"])
    kept_far = os.path.join(work, "far")
    run("plan", near, "--set", asked % "concurrency: 100000", "--set", most, "-o", kept_far, words=["84 ms more: they spill"])
    run("explain", kept_far, "ttft.p99", words=["ocean", "there and back"])
    run("explain", kept_far, "served", words=["they come from there"])
    plan = json.loads(run("plan", "--json", near, "--set", asked % "concurrency: 100000", "--set", most, "--set", "rules={regions: [eu]}"))
    if [r["region"] for r in plan["served"]] != ["eu"] or "all requests are served in eu, where they come from" not in plan["why"]:
        fail("requests spill where policy forbids:", plan["served"], plan["why"])
    run("plan", island, "--set", asked % "concurrency: 8", "--set", "rules={regions: [us]}", code=3,
        words=["unreachable", "a way between it and where requests come from"], says=["no plan is feasible: "])
    for origin, says in [("asia", "demand.origin: 'asia' is no region of "), ("node-eu", "demand.origin: 'node-eu' is no region of "),
                         ("cells", "demand.origin: 'cells' is 2 regions of ")]:
        run("plan", near, "--set", "demand={prompt_tokens: 512, output_tokens: 128, origin: %s}" % origin, code=2,
            says=["regions.yaml", says, "give a place"])
    run("plan", IRREGULAR, "--set", "plan=auto", "--set", "demand={origin: eu}", code=2,
        says=["demand.origin: ", "the ranks stand in none", "remove it"])
    run("plan", scenario(work, "config", workload="config: %s" % CONFIG), code=3, says=["context"])
    run("plan", scenario(work, "config", workload="config: %s" % CONFIG), "--set",
        "demand={prompt_tokens: 64, output_tokens: 32, arrival_per_s: 1}", words=["llama", "choice"])

    # nothing fits: exit code 3, and the page says why and what would help
    no = scenario(work, "large", workload="synthetic: {layers: 100, dim: 16384, heads: 128, ffn: 65536, vocab: 32000}",
                  fleet="devices: [{rank: 0}]")
    out = run("plan", "--json", no, code=3, says=["no plan is feasible"])
    plan = json.loads(out)
    is_valid(plan, "large")
    if plan["feasible"] or not plan["rejected"]:
        fail("nothing is said of what does not fit")
    run("plan", no, code=3, words=["no plan is feasible", "rejected"], says=["large.yaml: plan: "])
    run("plan", scenario(work, "limit", more='objective: {measure: cost, limits: [{measure: tpot, bound: "1 ns"}]}\n'), code=3)

    # bad input: file, place, remedy
    run("plan", code=1, says=["write 'gsrt plan SCENARIO.yaml'"])
    run("plan", IRREGULAR, "--policy", "best", code=1, says=["give dp, greedy"])
    run("plan", IRREGULAR, "--budget", "0", code=1, says=["give one from 1 on"])
    run("twin", IRREGULAR, "--policy", "dp", code=1, says=["only 'plan' takes '--policy'"])
    run("explain", code=1, says=["no plan given"])
    run("explain", os.path.join(work, "none"), code=2, says=["none: could not open it", "give a plan.json"])
    run("explain", TWO_RACKS, code=2, says=["two-racks.yaml: "])
    run("explain", write(work, "other.json", "{}"), code=2, says=["other.json: schema: is no plan"])
    run("explain", write(work, "written.json", '{"schema": "gsrt-plan/1"}'), code=2, says=["written, not looked for"])
    run("twin", big, code=2, says=["racks.yaml: workload: has no weights to run"])
    run("twin", IRREGULAR, "--set", "plan=auto", "--set", "fleet={inventory: %s}" % TWO_RACKS, "-o", os.path.join(work, "x"),
        code=2, says=["fleet.inventory: describes machines"])
    for name in sorted(os.listdir(os.path.join(SOURCE, "scenarios/fleets"))):
        run("fleet", "check", os.path.join(SOURCE, "scenarios/fleets", name), words=["0 errors"])
    run("fleet", "check", IRREGULAR, code=2, says=["this is a scenario, not an inventory"])
    run("plan", scenario(work, "gone", fleet="inventory: none.yaml"), code=2, says=["none.yaml: could not open it"])
    broken = write(work, "broken.yaml", "{gsrt_fleet: 1, name: x, parts: [{name: a, kind: engine, rates: {matmul: {f32: '1 GB'}}}]}")
    run("plan", scenario(work, "broken-fleet", fleet="inventory: %s" % broken), code=2, says=["[wrong_dimension]", "1 error"])
    for edit, says in [
            ("objective: speed", "objective: unknown word 'speed'"),
            ("objective: {measure: cost, percentile: p99}", "objective.percentile: cost has no percentiles"),
            ('objective: {measure: ttft, limits: [{measure: tpot, bound: "5 GB"}]}', "objective.limits[0].bound: "),
            ("objective: {measure: ttft, limits: [{measure: tpot}]}", "key 'bound' is missing"),
            ("rules: {trust: friends}", "rules.trust: unknown word 'friends'"),
            ("rules: {regions: []}", "rules.regions"),
            ("evidence: none.json", "none.json: could not open it"),
    ]:
        run("plan", scenario(work, "bad", more=edit + "\n"), code=2, says=["bad.yaml" if "none" not in says else "none.json", says])
    for key, value, says in [
            ("demand", "{prompt_tokens: 0}", "demand.prompt_tokens: must be at least 1"),
            ("demand", "{arrival_per_s: 1, concurrency: 2}", "either arrive (open) or are always there (closed)"),
            ("demand", "{}", "demand: is not known, and there are no requests"),
            ("plan", "{auto: true, budget: 0}", "plan: a budget of 0 finds nothing"),
            ("plan", "{auto: false}", "has no stages, and 'auto: false'"),
            ("plan", "atuo", "did you mean 'auto'?"),
            ("workload", "{config: a, synthetic: {}}", "workload.synthetic: key 'layers' is missing"),
            ("workload", "{config: a, model: b}", "has more than one of 'model', 'config' and 'synthetic'"),
            ("fleet", "{devices: [{rank: 0}], inventory: x}", "has both 'devices' and 'inventory'"),
            ("fleet", "{devices: [{rank: 0, profile: x, declares: {f32: '1 GFLOPS'}}]}", "leave 'declares' out"),
            ("fleet", "{devices: [{rank: 0, declares: {f32: '1 GB'}}]}", "fleet.devices[0].declares.f32: "),
            ("contract", "[{regions: 'lyer.*', relative_error: 0.1}]", "lyer"),
    ]:
        run("plan", big, "--set", "%s=%s" % (key, value), code=2, says=[says])
print("gsrt plan and explain: %d calls%s" % (checked, "" if VALIDATOR else "; not validated: no Python module 'jsonschema'"))
