"""gsrt plan and limits: what a plan is predicted to do, loosened by 2 %, is a limit that can be kept, whatever the objective; a
power budget leaves the engines that fit it; no power cap is below what an engine draws when it does nothing."""
import json
import os
import subprocess
import sys
import tempfile

GSRT = os.path.join(os.environ.get("GSRT_BUILDDIR", "."), "gsrt")
FLEET = """
gsrt_fleet: 1
name: two-nodes
source: "declared: the test"
places:
  - {name: eu, kind: region, energy_price: "0.2 $/kWh"}
  - {name: node, kind: node, in: eu, count: 2, power_budget: "6 kW"}
parts:
  - {name: gpu, kind: engine, in: node, count: 4, rates: {matmul: {f32: "60 TFLOPS", bf16: "400 TFLOPS", i8: "800 TOPS"}, vector: {f32: "60 TFLOPS"}}, memory: [{tier: hbm, capacity: "80 GB", bandwidth: "2 TB/s"}], launch_overhead: "4 us", power_idle: "60 W", power_max: "400 W", price: "2 $/h", mttf: "20000 h", software: {gsrt-canonical: "1"}}
  - {name: cpu, kind: engine, in: node, count: 2, rates: {matmul: {f32: "3 TFLOPS", bf16: "6 TFLOPS"}, vector: {f32: "1 TFLOPS"}}, memory: [{tier: ddr, capacity: "256 GB", bandwidth: "200 GB/s", name: dram}], launch_overhead: "1 us", power_idle: "60 W", power_max: "250 W", price: "0.2 $/h", mttf: "50000 h", software: {gsrt-canonical: "1"}}
  - {name: mesh, kind: fabric, in: node, bandwidth: "2.4 TB/s"}
  - {name: root, kind: root, in: node, bandwidth: "128 GB/s"}
  - {name: nic, kind: nic, in: node, count: 2, bandwidth: "50 GB/s"}
  - {name: leaf, kind: switch, in: eu}
links:
  - {from: gpu, to: mesh, kind: coherent, both: true, bandwidth: "300 GB/s", latency: "1 us", contention: mesh}
  - {from: gpu, to: root, kind: pcie, both: true, bandwidth: "32 GB/s", latency: "1 us", contention: root}
  - {from: cpu, to: root, kind: pcie, both: true, bandwidth: "32 GB/s", latency: "1 us", contention: root}
  - {from: root, to: nic, kind: pcie, both: true, bandwidth: "32 GB/s", latency: "1 us"}
  - {from: nic, to: leaf, kind: network, both: true, bandwidth: "400 Gbit/s", latency: "2 us"}
"""
SCENARIO = """
gsrt: 1
name: limits
workload:
  synthetic: {layers: 32, dim: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256, context: 32768}
contract: %s
objective: {measure: %s, limits: [%s]}
demand: {prompt_tokens: 1000, output_tokens: 200, concurrency: %d}
plan: auto
fleet: {inventory: %s}
"""


def fail(*words):
    print(*words)
    sys.exit(1)


def plan(work, contract, objective, limits=(), fleet="fleet.yaml", concurrency=64):
    path = os.path.join(work, "s.yaml")
    with open(path, "w") as file:
        file.write(SCENARIO % (contract, objective, ", ".join(limits), concurrency, fleet))
    done = subprocess.run([GSRT, "plan", "--json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if done.returncode != 0:
        fail(contract, objective, limits, done.stderr.decode())
    return json.loads(done.stdout)


def limit(row):
    value = row["value"]["value"] * (0.98 if row["measure"] in ("throughput", "mttf") else 1.02)
    percentile = ", percentile: %s" % row["percentile"] if row.get("percentile") else ""
    return '{measure: %s, bound: "%.12g %s"%s}' % (row["measure"], value, row["value"]["unit"], percentile)


def figure(plan, measure, percentile=None):
    return next(r["value"]["value"] for r in plan["predictions"] if (r["measure"], r.get("percentile")) == (measure, percentile))


def write(work, name, text):
    with open(os.path.join(work, name), "w") as file:
        file.write(text)
    return name


with tempfile.TemporaryDirectory() as work:
    write(work, "fleet.yaml", FLEET)
    checked = 0
    for contract in ["bitwise", "deterministic"]:
        for first in ["cost", "ttft"]:
            rows = plan(work, contract, first)["predictions"]
            for chosen in [["cost"], ["ttft", "energy"]]:
                limits = [limit(row) for row in rows if row["measure"] in chosen and row.get("percentile") in (None, "p99")]
                for second in ["throughput", "latency"]:
                    plan(work, contract, second, limits)
                    checked += 1
    # of four of 400 W one keeps a budget of 500 W: no reason to do without all of them
    tight = plan(work, "deterministic", "throughput", fleet=write(work, "tight.yaml", FLEET.replace("6 kW", "500 W")))
    if "gpu" not in tight["choice"]["words"]:
        fail("no engine of those of which some fit the budget:", tight["choice"]["words"])
    # a rule that asks for the same answer each time admits by itself: there is no evidence
    admitted = {proof["admitted_by"] for proof in plan(work, "deterministic", "throughput")["proofs"]}
    if "evidence" in admitted or "contract" not in admitted:
        fail("admitted by evidence that nobody gave:", admitted)
    # Little's law: one request is served at the rate of its latency, however many replicas there are; and of what is apart, what
    # nobody holds waits
    for contract in ["bitwise", "deterministic"]:
        alone = plan(work, contract, "throughput", concurrency=1)
        if len(alone["choice"]["pools"]) == 1 and figure(alone, "throughput") * figure(alone, "latency", "p50") > 200 * 1.1:
            fail("more of one request than its latency allows:", alone["choice"]["words"])
        many = plan(work, contract, "latency", concurrency=4096)
        if len(many["choice"]["pools"]) > 1 and figure(many, "throughput") * figure(many, "latency", "p50") < 4096 * 200 * 0.99:
            fail("requests that wait nowhere:", many["choice"]["words"])
        if figure(many, "throughput") < 500:
            fail("a plan that serves next to nothing has the least latency:", many["choice"]["words"])
    # the least power is no cap below idle
    idle = plan(work, "bitwise", "power", fleet=write(work, "idle.yaml", FLEET.replace('power_idle: "60 W", power_max: "400 W"', 'power_idle: "190 W", power_max: "400 W"')))
    for pool in idle["choice"]["pools"]:
        if pool["power_cap_w"] is not None and "gpu" in idle["choice"]["words"] and pool["power_cap_w"] <= 190:
            fail("a cap that leaves nothing:", pool)
    for row in idle["predictions"]:
        if row["measure"] not in ("mttf",) and (row["value"] is None or not row["value"]["value"] > 0):
            fail("not a figure:", row)
print("gsrt plan: %d sets of limits kept" % checked)
