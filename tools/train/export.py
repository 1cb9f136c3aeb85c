# SPDX-License-Identifier: Apache-2.0
"""Writes a trained checkpoint as a GGUF file (q8_0 matrices, f32 norms) and, beside it, its manifest.

usage: export.py --model model.pt --vocab vocab.json --out models/tiny.gguf
The manifest <out without .gguf>.gguf.xxh3 holds one line, "<xxh3-128 of the file>  <file name>", made by xxhsum.
"""
import argparse
import os
import subprocess

import torch

import gguf
import model
import tokenizer

SIZE_MAX = 3_000_000  # bytes: what a file that lives in the source tree may cost


def metadata(c, vocab, tokens):
    """[(key, kind, value)], in the order other writers use."""
    u, s, f, b = gguf.U32, gguf.STRING, gguf.FLOAT, gguf.BOOL
    return [
        ("general.architecture", s, "llama"),
        ("general.name", s, "gsrt-tiny"),
        ("general.description", s, "Children's stories for the GSRT quickstart, trained from nothing on %.1f million tokens of a generated corpus" % (tokens / 1e6)),
        ("general.license", s, "apache-2.0"),
        ("general.alignment", u, gguf.ALIGN),
        ("general.file_type", u, 7),  # mostly q8_0
        ("general.quantization_version", u, 2),
        ("llama.context_length", u, c["context"]),
        ("llama.embedding_length", u, c["dim"]),
        ("llama.block_count", u, c["layers"]),
        ("llama.feed_forward_length", u, c["ffn"]),
        ("llama.attention.head_count", u, c["heads"]),
        ("llama.attention.head_count_kv", u, c["kv_heads"]),
        ("llama.attention.layer_norm_rms_epsilon", f, c["eps"]),
        ("llama.rope.freq_base", f, c["theta"]),
        ("llama.rope.dimension_count", u, c["dim"] // c["heads"]),
        ("llama.vocab_size", u, c["vocab"]),
        ("tokenizer.ggml.model", s, "llama"),
        ("tokenizer.ggml.pre", s, "default"),
        ("tokenizer.ggml.tokens", gguf.ARRAY, (s, [p for p, _, _ in vocab])),
        ("tokenizer.ggml.scores", gguf.ARRAY, (f, [x for _, x, _ in vocab])),
        ("tokenizer.ggml.token_type", gguf.ARRAY, (gguf.I32, [t for _, _, t in vocab])),
        ("tokenizer.ggml.bos_token_id", u, tokenizer.BOS),
        ("tokenizer.ggml.eos_token_id", u, tokenizer.EOS),
        ("tokenizer.ggml.unknown_token_id", u, tokenizer.UNK),
        ("tokenizer.ggml.add_space_prefix", b, True),
        ("tokenizer.ggml.add_bos_token", b, True),
        ("tokenizer.ggml.add_eos_token", b, False),
    ]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "vocab", "out"):
        a.add_argument("--" + name, required=True)
    o = a.parse_args()
    saved = torch.load(o.model)
    vocab = tokenizer.load(o.vocab).vocab
    tensors = []
    for name, shape in model.shapes(saved["config"]).items():
        x = saved["weights"][name].numpy()
        assert x.shape == shape, name
        tensors.append((name + ".weight", x, gguf.Q8_0 if x.ndim == 2 else gguf.F32))
    gguf.write(o.out, metadata(saved["config"], vocab, saved["tokens"]), tensors)
    size = os.path.getsize(o.out)
    if size > SIZE_MAX:
        raise SystemExit("%s: %d bytes, more than %d" % (o.out, size, SIZE_MAX))
    folder, name = os.path.split(o.out)
    line = subprocess.run(["xxhsum", "-H128", name], cwd=folder or ".", check=True, capture_output=True, text=True).stdout
    with open(o.out + ".xxh3", "w", encoding="ascii") as f:
        f.write(line)
    print("%s: %d bytes, step %d, %s" % (o.out, size, saved["step"], line.split()[0]))


if __name__ == "__main__":
    main()
