"""Writes the seeds of gguf_fuzz and tokenizer_fuzz: small files, right ones and wrong ones.

usage: make_gguf_corpus.py CORPUS_DIRECTORY        (tests/fuzz/corpus)
"""

import os
import struct
import sys

U32, F32, BOOL, TEXT, ARRAY, I32 = 4, 6, 7, 8, 9, 5


def text(value):
    return struct.pack("<Q", len(value)) + value


def key(name, kind, value):
    return text(name.encode()) + struct.pack("<I", kind) + value


def u32(name, value):
    return key(name, U32, struct.pack("<I", value))


def f32(name, value):
    return key(name, F32, struct.pack("<f", value))


def string(name, value):
    return key(name, TEXT, text(value.encode()))


def array(name, kind, count, data):
    return key(name, ARRAY, struct.pack("<IQ", kind, count) + data)


def texts(name, values):
    return array(name, TEXT, len(values), b"".join(text(v) for v in values))


def write(path, keys, tensors=(), alignment=32, version=3):
    """tensors: (name, dims, type, bytes)"""
    table, data = b"", b""
    for name, dims, kind, content in tensors:
        data += bytes(-len(data) % alignment)
        table += text(name.encode()) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        table += struct.pack("<IQ", kind, len(data))
        data += content
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + table
    if tensors:
        head += bytes(-len(head) % alignment)
    with open(path, "wb") as file:
        file.write(head + data)


def floats(count):
    return struct.pack(f"<{count}f", *((i * 37 % 23 - 11) / 16 for i in range(count)))


LLAMA = [
    string("general.architecture", "llama"),
    u32("llama.block_count", 1),
    u32("llama.embedding_length", 4),
    u32("llama.feed_forward_length", 4),
    u32("llama.attention.head_count", 2),
    u32("llama.attention.head_count_kv", 1),
    u32("llama.context_length", 8),
    f32("llama.attention.layer_norm_rms_epsilon", 1e-5),
]


def matrices():
    shapes = {"attn_norm": [4], "attn_q": [4, 4], "attn_k": [4, 2], "attn_v": [4, 2], "attn_output": [4, 4],
              "ffn_norm": [4], "ffn_gate": [4, 4], "ffn_up": [4, 4], "ffn_down": [4, 4]}
    yield "token_embd.weight", [4, 3], 0, floats(12)
    for name, dims in shapes.items():
        count = dims[0] * (dims[1] if len(dims) > 1 else 1)
        yield f"blk.0.{name}.weight", dims, 0, floats(count)
    yield "output_norm.weight", [4], 0, floats(4)


SPM = ["<unk>", "<s>", "</s>", "<0x0A>", "\u2581", "a", "b", "ab", "\u2581ab", "<tool>"]


def spm_keys():
    count = len(SPM)
    return [
        string("tokenizer.ggml.model", "llama"),
        texts("tokenizer.ggml.tokens", [t.encode() for t in SPM]),
        array("tokenizer.ggml.scores", F32, count, struct.pack(f"<{count}f", *(-float(i) for i in range(count)))),
        array("tokenizer.ggml.token_type", I32, count, struct.pack(f"<{count}i", 2, 3, 3, 6, 1, 1, 1, 1, 1, 4)),
        key("tokenizer.ggml.add_bos_token", BOOL, b"\x01"),
    ]


def bpe_keys():
    tokens = ["a", "b", "\u0120", "\u010a", "ab", "\u0120ab", "<|end|>"]
    count = len(tokens)
    return [
        string("tokenizer.ggml.model", "gpt2"),
        string("tokenizer.ggml.pre", "llama-bpe"),
        texts("tokenizer.ggml.tokens", [t.encode() for t in tokens]),
        texts("tokenizer.ggml.merges", ["a b".encode(), "\u0120 ab".encode()]),
        array("tokenizer.ggml.token_type", I32, count, struct.pack(f"<{count}i", 1, 1, 1, 1, 1, 1, 3)),
        u32("tokenizer.ggml.eos_token_id", 6),
        u32("tokenizer.ggml.unknown_token_id", 0),
    ]


def main():
    gguf = os.path.join(sys.argv[1], "gguf")
    prompts = os.path.join(sys.argv[1], "tokenizer")
    os.makedirs(gguf, exist_ok=True)
    os.makedirs(prompts, exist_ok=True)
    write(f"{gguf}/llama", LLAMA, list(matrices()))
    write(f"{gguf}/llama-version-2", LLAMA, list(matrices()), version=2)
    write(f"{gguf}/yarn", LLAMA + [string("llama.rope.scaling.type", "yarn"), f32("llama.rope.scaling.factor", 4.0)],
          list(matrices()))
    write(f"{gguf}/spm", spm_keys())
    write(f"{gguf}/bpe", bpe_keys())
    write(f"{gguf}/quantised", [u32("general.alignment", 64)], [("q", [64, 2], 8, bytes(136)), ("p", [32], 2, bytes(18))],
          alignment=64)
    write(f"{gguf}/array-that-lies", [array("a", TEXT, 1 << 40, b"")])
    write(f"{gguf}/dimensions-that-wrap", [], [("t", [1 << 33, 1 << 33], 0, bytes(64))])
    write(f"{gguf}/empty", [])
    write(f"{gguf}/big-endian", [], version=3 << 24)
    for name, content in {
        "words": "ab aba  a\n\n ba 12345 e\u0301\u00e9 don't \u2581a".encode(),
        "half-characters": b"a\xe6\xad \xe2\x80 \xf0\x9f\x9a b\xff\xfe",
        "runs": b"a" * 200 + b" " * 200 + b"1" * 100 + b"\n" * 50,
        "marks": "\u2581\u2581a \u2581 \u3000\u00a0\u200a\u0085".encode(),
    }.items():
        for first in (b"a", b"d") if name == "words" else (b"",):
            with open(f"{prompts}/{name}{'-' + first.decode() if first else ''}", "wb") as file:
                file.write(first + content)


main()
