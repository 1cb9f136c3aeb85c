# SPDX-License-Identifier: Apache-2.0
"""The Llama architecture in torch, for training and for checking an exported file.

RoPE turns the neighbours (2i, 2i+1), the convention of GGUF files with general.architecture = "llama".
Weights are [out, in], named as in the GGUF file, so export and import need no table of names.
"""
import math

import torch
import torch.nn.functional as F

CONFIG = dict(vocab=1024, dim=192, layers=5, heads=6, kv_heads=3, ffn=512, context=512, theta=10000.0, eps=1e-5)


def shapes(c):
    """{name: shape} of all weights, in file order."""
    kv = c["dim"] // c["heads"] * c["kv_heads"]
    s = {"token_embd": (c["vocab"], c["dim"])}
    for i in range(c["layers"]):
        b = "blk.%d." % i
        s[b + "attn_norm"] = (c["dim"],)
        s[b + "attn_q"] = (c["dim"], c["dim"])
        s[b + "attn_k"] = (kv, c["dim"])
        s[b + "attn_v"] = (kv, c["dim"])
        s[b + "attn_output"] = (c["dim"], c["dim"])
        s[b + "ffn_norm"] = (c["dim"],)
        s[b + "ffn_gate"] = (c["ffn"], c["dim"])
        s[b + "ffn_up"] = (c["ffn"], c["dim"])
        s[b + "ffn_down"] = (c["dim"], c["ffn"])
    s["output_norm"] = (c["dim"],)
    return s


def init(c, seed):
    """Fresh weights; the layers that write to the residual stream start smaller."""
    gen = torch.Generator().manual_seed(seed)
    w = {}
    for name, shape in shapes(c).items():
        if len(shape) == 1:
            w[name] = torch.ones(shape)
        elif name == "token_embd":
            w[name] = torch.randn(shape, generator=gen) * 0.02
        else:
            std = 0.6 / math.sqrt(shape[1])
            if name.endswith(("attn_output", "ffn_down")):
                std /= math.sqrt(2 * c["layers"])
            w[name] = torch.randn(shape, generator=gen) * std
    return w


def rope_table(c, count):
    """cos, sin: [count, head_dim / 2]."""
    hd = c["dim"] // c["heads"]
    freq = c["theta"] ** (-torch.arange(0, hd, 2, dtype=torch.float64) / hd)
    angle = torch.arange(count, dtype=torch.float64)[:, None] * freq
    return angle.cos().float(), angle.sin().float()


def _norm(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w


def _rotate(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def _attend(q, k, v, mask):
    """Causal attention in strips of 128 queries, each over the keys it can see; mask is [n, n]."""
    out = []
    for at in range(0, q.shape[2], 128):
        end = min(at + 128, q.shape[2])
        p = torch.softmax(q[:, :, at:end] @ k[:, :, :end].transpose(2, 3) + mask[at:end, :end], -1)
        out.append(p @ v[:, :, :end])
    return torch.cat(out, 2)


def forward(w, c, tokens):
    """Logits [B, T, vocab] of tokens [B, T]; T <= context."""
    bsz, n = tokens.shape
    hd = c["dim"] // c["heads"]
    group = c["heads"] // c["kv_heads"]
    cos, sin = rope_table(c, n)
    mask = torch.full((n, n), float("-inf")).triu(1)
    x = w["token_embd"][tokens]
    for i in range(c["layers"]):
        b = "blk.%d." % i
        h = _norm(x, w[b + "attn_norm"], c["eps"])
        q = (h @ w[b + "attn_q"].T).view(bsz, n, c["heads"], hd).transpose(1, 2)
        k = (h @ w[b + "attn_k"].T).view(bsz, n, c["kv_heads"], hd).transpose(1, 2)
        v = (h @ w[b + "attn_v"].T).view(bsz, n, c["kv_heads"], hd).transpose(1, 2)
        q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        h = _attend(q * hd ** -0.5, k, v, mask).transpose(1, 2).reshape(bsz, n, c["dim"])
        x = x + h @ w[b + "attn_output"].T
        h = _norm(x, w[b + "ffn_norm"], c["eps"])
        h = F.silu(h @ w[b + "ffn_gate"].T) * (h @ w[b + "ffn_up"].T)
        x = x + h @ w[b + "ffn_down"].T
    return _norm(x, w["output_norm"], c["eps"]) @ w["token_embd"].T


def heldout_loss(w, c, stories):
    """(nats, tokens) summed over all tokens of the stories but <s>; each story is a list of ids <s> ... </s>."""
    nats, count = 0.0, 0
    with torch.no_grad():
        for at in range(0, len(stories), 16):
            rows = stories[at:at + 16]
            n = max(len(r) for r in rows)
            t = torch.zeros(len(rows), n, dtype=torch.long)
            target = torch.full((len(rows), n - 1), -100)
            for i, r in enumerate(rows):
                t[i, :len(r)] = torch.tensor(r)
                target[i, :len(r) - 1] = t[i, 1:len(r)]
            logits = forward(w, c, t[:, :-1])
            nats += F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-100, reduction="sum").item()
            count += sum(len(r) - 1 for r in rows)
    return nats, count
