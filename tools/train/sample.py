# SPDX-License-Identifier: Apache-2.0
"""Greedy text and held-out loss of a GGUF file, computed from its (dequantised) weights.

usage: sample.py --gguf models/tiny.gguf [--prompt TEXT] [--tokens 200] [--heldout heldout.txt]
Reads everything from the file, tokenizer included, so it also checks the export.
"""
import argparse
import math

import torch

import gguf
import model
import tokenizer


def load(path):
    """(weights, config, tokenizer) of a GGUF file."""
    meta, tensors = gguf.read(path)
    c = dict(vocab=meta["llama.vocab_size"], dim=meta["llama.embedding_length"], layers=meta["llama.block_count"],
             heads=meta["llama.attention.head_count"], kv_heads=meta["llama.attention.head_count_kv"],
             ffn=meta["llama.feed_forward_length"], context=meta["llama.context_length"],
             theta=meta["llama.rope.freq_base"], eps=meta["llama.attention.layer_norm_rms_epsilon"])
    weights = {k[:-len(".weight")]: torch.from_numpy(v.copy()) for k, v in tensors.items()}
    for name, shape in model.shapes(c).items():
        assert tuple(weights[name].shape) == shape, name
    vocab = zip(meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.scores"], meta["tokenizer.ggml.token_type"])
    return weights, c, tokenizer.Tokenizer(list(vocab))


def greedy(weights, c, ids, count):
    """Appends up to `count` most likely tokens; ends after </s>. Recomputes the whole context each time: slow, plain."""
    ids = list(ids)
    with torch.no_grad():
        for _ in range(min(count, c["context"] - len(ids))):
            ids.append(int(model.forward(weights, c, torch.tensor([ids]))[0, -1].argmax()))
            if ids[-1] == tokenizer.EOS:
                break
    return ids


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--gguf", required=True)
    a.add_argument("--prompt", default="Once upon a time")
    a.add_argument("--tokens", type=int, default=200)
    a.add_argument("--ids", action="store_true", help="print the token ids, too")
    a.add_argument("--heldout", help="measure the loss on this text, a story a line")
    o = a.parse_args()
    torch.set_num_threads(1)
    weights, c, tok = load(o.gguf)
    ids = greedy(weights, c, tok.encode(o.prompt), o.tokens)
    print(tok.decode(ids))
    print("(%d tokens%s)" % (len(ids), ", ends by itself" if ids[-1] == tokenizer.EOS else ""))
    if o.ids:
        print(ids)
    if o.heldout:
        with open(o.heldout, encoding="utf-8") as f:
            lines = f.read().splitlines()
        nats, count = model.heldout_loss(weights, c, [tok.encode(s) + [tokenizer.EOS] for s in lines])
        text_bytes = sum(len(s.encode()) for s in lines)
        print("held-out: %d stories, %d tokens, %.4f nats/token, %.4f bits per byte"
              % (len(lines), count, nats / count, nats / math.log(2) / text_bytes))


if __name__ == "__main__":
    main()
