"""One answer, all factors together: a pairwise covering array of runs of the whole cluster in one process (gsrt twin).

The number of threads is no factor: the device of the twin computes on the calling thread (backends/device_inline.c), and
would not honour it; one_answer.sh has it, with the device of a real run.

Every pair of levels of any two factors occurs in some run. Each run's tokens and logit hashes equal those of one rank in
plain C without packing, batching or reuse, which itself is compared with the reference pass; and each run shows in its
report that what it names has happened: instruction set, rows per step, reused prefixes, bytes gathered and reduced,
packing, weights touched at most the share plus declared copies.
"""

import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get("GSRT_BUILDDIR", ".")
PROMPT = 70  # tokens of each prompt; the first 64, a KV block, are common
ANSWER = 6
DIM, LAYERS, VOCAB = 512, 5, 512

PLANS = {
    "1 rank": "{layers: [0, 4], ranks: [0]}",
    "2 even": "{layers: [0, 4], ranks: [0, 1]}",
    "2 uneven": "{layers: [0, 4], ranks: [1, 0], split: [3, 5]}",
    "3": "{layers: [0, 4], ranks: [0, 1, 2]}",
    "4": "{layers: [0, 4], ranks: [0, 1, 2, 3]}",
    "8 uneven": "{layers: [0, 4], ranks: [0, 1, 2, 3, 4, 5, 6, 7], split: [3, 1, 1, 0, 1, 2, 1, 1]}",
    "2 stages": "{layers: [0, 2], ranks: [0]}, {layers: [3, 4], ranks: [1]}",
    "5 stages": ", ".join("{layers: [%d, %d], ranks: [%d]}" % (i, i, 4 - i) for i in range(5)),
    "mixed": "{layers: [0, 1], ranks: [2, 0]}, {layers: [2, 4], ranks: [1, 4, 3], split: [4, 2, 2]}",
}
FACTORS = {
    "dtype": ["f32", "f16", "bf16", "q8_0", "q4_0"],
    "plan": list(PLANS),
    "exchange": ["auto", "gather", "reduce", "scatter"],
    "isa": ["avx2", "scalar"],
    "chunk": [1, 7, 64, 512],
    "batch": [1, 8],
    "packing": ["false", "true"],
    "reuse": ["false", "true"],
}


def pairwise(factors):
    """Greedy: each row takes, factor by factor, the level that covers most pairs not yet covered; ties to the first, which is
    the faster one."""
    names = list(factors)
    left = {
        (a, x, b, y)
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        for x in factors[a]
        for y in factors[b]
    }

    def pair(a, x, b, y):
        return (a, x, b, y) if names.index(a) < names.index(b) else (b, y, a, x)

    rows = []
    while left:
        a, x, b, y = min(left, key=lambda p: [str(v) for v in p])
        row = {a: x, b: y}
        for name in names:
            if name not in row:
                row[name] = max(
                    factors[name],
                    key=lambda level: sum(pair(name, level, other, row[other]) in left for other in row),
                )
        rows.append(row)
        left -= {pair(a, row[a], b, row[b]) for a in names for b in names if names.index(a) < names.index(b)}
    return rows


def fail(what):
    print(what)
    sys.exit(1)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    # python3-minimal has no json module; reports hold no strings with these words
    return eval(text, {"__builtins__": {}}, {"true": True, "false": False, "null": None})


def prompts():
    common = [1] + [3 + (i * 37) % (VOCAB - 3) for i in range(63)]
    return [common + [3 + (r * 101 + i * 11) % (VOCAB - 3) for i in range(PROMPT - 64)] for r in range(3)]


def run(work, row, name, model, verify="none"):
    path = os.path.join(work, name + ".yaml")
    requests = "".join(
        "    - {prompt_tokens: %s, max_tokens: %d, ignore_eos: true}\n" % (tokens, ANSWER) for tokens in prompts()
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            "gsrt: 1\nname: covering\nworkload:\n  model: %s\n  requests:\n%scontract: bitwise\n"
            "plan:\n  stages: [%s]\n  exchange: %s\nverify: %s\n"
            "runtime: {prefill_chunk: %d, batch: %d, packing: %s, prefix_reuse: %s}\n"
            % (
                model,
                requests,
                PLANS[row["plan"]],
                row["exchange"],
                verify,
                row["chunk"],
                row["batch"],
                row["packing"],
                row["reuse"],
            )
        )
    directory = os.path.join(work, "run-" + name)
    done = subprocess.run(
        [os.path.join(BUILD, "gsrt"), "twin", path, "-o", directory],
        env=dict(os.environ, GSRT_ISA=row["isa"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        fail("%s: exit code %d: %s" % (row, done.returncode, done.stdout.decode("utf-8", "replace")))
    with open(os.path.join(directory, "tokens.jsonl"), encoding="utf-8") as file:
        return sorted(file), read_json(os.path.join(directory, "report.json"))


def check_facts(row, report):
    ranks = [rank for rank in report["ranks"] if rank["stage"] is not None]

    def want(holds, what):
        if not holds:
            fail("%s: %s: %s" % (row, what, report["ranks"]))

    grouped = row["plan"] in ("2 even", "2 uneven", "3", "4", "8 uneven", "mixed")
    # K = 512 is two chunks of 256: a split over K needs shares of whole chunks
    reducible = row["plan"] in ("2 even", "mixed")
    want(all(rank["isa"] == row["isa"] for rank in ranks), "the instruction set")
    want(max(r["rows_per_step_max"] for r in ranks) <= max(row["chunk"] + row["batch"], 3), "rows of a step")
    want(row["chunk"] == 1 or max(r["rows_per_step_max"] for r in ranks) >= min(row["chunk"], 6), "prefill in chunks")
    want((sum(r["gathered_bytes"] for r in ranks) > 0) == grouped, "bytes gathered")
    want(row["exchange"] != "gather" or sum(r["reduced_bytes"] for r in ranks) == 0, "nothing reduced")
    is_reduced = row["exchange"] in ("reduce", "scatter") and reducible
    want(not is_reduced or sum(r["reduced_bytes"] for r in ranks) > 0, "bytes reduced")
    want(row["packing"] == "true" or sum(r["packed_bytes"] for r in ranks) == 0, "not packed")
    embedding = VOCAB * DIM * 4
    for r in ranks:
        want(
            r["weight_bytes_touched"] <= r["weight_bytes_share"] + r["weight_bytes_copies"] + embedding,
            "weights touched",
        )
    total = sum(r["weight_bytes_share"] for r in ranks)
    want(len(ranks) == 1 or max(r["weight_bytes_share"] for r in ranks) < total, "the weights are shared out")
    reused = [request["prefix_tokens_reused"] for request in report["requests"]]
    # one after the other, the later ones find the first one's block; all at once nobody can
    if row["batch"] == 1:
        want(reused == ([0, 64, 64] if row["reuse"] == "true" else [0, 0, 0]), "prefixes reused: %s" % reused)


def main():
    mkmodel = os.path.join(BUILD, "bench", "mkmodel")
    has_avx2 = "avx2" in open("/proc/cpuinfo", encoding="ascii").read()
    if not has_avx2:
        FACTORS["isa"] = ["scalar"]
    rows = pairwise(FACTORS)
    with tempfile.TemporaryDirectory() as work:
        base = {}
        for dtype in FACTORS["dtype"]:
            model = os.path.join(work, dtype + ".gguf")
            shape = ["--dim", DIM, "--layers", LAYERS, "--hidden", 256, "--heads", 8, "--kv-heads", 2]
            shape += ["--vocab", VOCAB, "--context", 128]
            command = [mkmodel, "-q", "--shape", "small", "--dtype", dtype, "-o", model] + [str(x) for x in shape]
            subprocess.run(command, check=True)
            plain = dict(plan="1 rank", exchange="auto", isa="scalar", chunk=512, batch=1, packing="false", reuse="false")
            base[dtype], report = run(work, plain, "base-" + dtype, model, "reference")
            if not report["contract"]["kept"] or report["contract"]["compared"] != 3 * ANSWER:
                fail("%s: the base does not keep its contract" % dtype)
        for number, row in enumerate(rows):
            model = os.path.join(work, row["dtype"] + ".gguf")
            tokens, report = run(work, row, str(number), model)
            if tokens != base[row["dtype"]]:
                fail("%s: another answer" % row)
            check_facts(row, report)
    print("%d runs cover every pair of %s; one answer" % (len(rows), ", ".join(FACTORS)))


main()
