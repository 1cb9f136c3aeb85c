# SPDX-License-Identifier: Apache-2.0
"""Trains the model on a corpus.

usage: train.py --text train.txt --heldout heldout.txt --vocab vocab.json --out model.pt --steps N [--minutes M]
Ends after N steps or M minutes, whichever comes first; the learning rate follows the larger fraction of the two,
so a run cut by time still ends with a small rate. With --steps alone the run is a pure function of its inputs (up
to the summation order of the BLAS).
Each row of a batch starts with a story; rows are 256 tokens, and 512 for the last fifth of the run.
Matrices are trained by Muon (momentum, orthogonalised by five Newton-Schulz steps; Jordan 2024) or AdamW, the
embedding and the norms always by AdamW. A checkpoint is written every five minutes and at the end.
"""
import argparse
import math
import time

import numpy as np
import torch
import torch.nn.functional as F

import model
import tokenizer


def load_stories(path, tok):
    """[[<s> ... </s>], ...] of a text with a story a line."""
    with open(path, encoding="utf-8") as f:
        return [tok.encode(s) + [tokenizer.EOS] for s in f.read().splitlines()]


def orthogonal(m):
    """The nearest (half-)orthogonal matrix, roughly: all singular values near 1."""
    x = m if m.shape[0] <= m.shape[1] else m.T
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x if m.shape[0] <= m.shape[1] else x.T


class Muon:
    """Nesterov momentum 0.95, orthogonalised; steps are scaled so that one rate fits all shapes."""

    def __init__(self, params):
        self.params = params
        self.momentum = [torch.zeros_like(p) for p in params]

    def step(self, rate):
        for p, m in zip(self.params, self.momentum):
            m.mul_(0.95).add_(p.grad)
            u = orthogonal(p.grad + 0.95 * m)
            p.data.mul_(1 - 0.1 * rate).add_(u, alpha=-rate * math.sqrt(max(1.0, p.shape[0] / p.shape[1])))


def rate_at(done):
    """Share of the peak rate at a fraction of the run: 3 % warm-up, then a cosine down to 3 %."""
    if done < 0.03:
        return max(done / 0.03, 0.01)
    return 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * (done - 0.03) / 0.97))


def batch(flat, starts, rows, length, rng):
    """tokens, targets: [rows, length], each row from the start of a random story."""
    at = rng.choice(starts[:np.searchsorted(starts, len(flat) - length - 1)], rows)
    x = torch.from_numpy(np.stack([flat[s:s + length + 1] for s in at]).astype(np.int64))
    return x[:, :-1], x[:, 1:]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("text", "heldout", "vocab", "out"):
        a.add_argument("--" + name, required=True)
    a.add_argument("--steps", type=int, required=True)
    a.add_argument("--minutes", type=float, default=math.inf)
    a.add_argument("--rows", type=int, default=12, help="rows of 256 tokens a step")
    a.add_argument("--optimizer", choices=("muon", "adamw"), default="muon")
    a.add_argument("--rate", type=float, default=3e-3, help="peak rate of AdamW")
    a.add_argument("--muon-rate", type=float, default=0.02)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--threads", type=int, default=1, help="one is as fast as two hardware threads of one core")
    o = a.parse_args()
    torch.set_num_threads(o.threads)
    torch.set_flush_denormal(True)  # masked attention is full of denormals; they cost a tenth of the time
    tok = tokenizer.load(o.vocab)
    stories = load_stories(o.text, tok)
    held = load_stories(o.heldout, tok)
    starts = np.cumsum([0] + [len(s) for s in stories[:-1]])
    flat = np.concatenate([np.array(s, dtype=np.uint16) for s in stories])
    print("%d stories, %d tokens" % (len(stories), len(flat)), flush=True)

    c = model.CONFIG
    w = {k: v.requires_grad_() for k, v in model.init(c, o.seed).items()}
    matrices = [p for k, p in w.items() if p.dim() == 2 and k != "token_embd"] if o.optimizer == "muon" else []
    ours = {id(p) for p in matrices}
    rest = [p for p in w.values() if id(p) not in ours]
    adam = torch.optim.AdamW([dict(params=[p for p in rest if p.dim() == 2], weight_decay=0.05),
                              dict(params=[p for p in rest if p.dim() == 1], weight_decay=0.0)], betas=(0.9, 0.95))
    muon = Muon(matrices)
    rng = np.random.default_rng(o.seed)

    def save(step, seen):
        torch.save(dict(weights={k: v.detach() for k, v in w.items()}, config=c, step=step, tokens=seen), o.out)

    began = saved = said = time.time()
    seen, mean = 0, None
    for step in range(o.steps):
        now = time.time()
        done = max(step / o.steps, (now - began) / 60 / o.minutes)
        if done >= 1:
            break
        length = 512 if done >= 0.8 else 256
        x, y = batch(flat, starts, max(1, o.rows * 256 // length), length, rng)
        loss = F.cross_entropy(model.forward(w, c, x).flatten(0, 1), y.flatten())
        adam.zero_grad(set_to_none=True)
        for p in matrices:
            p.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(rest, 1.0)
        r = rate_at(done)
        for group in adam.param_groups:
            group["lr"] = o.rate * r
        adam.step()
        muon.step(o.muon_rate * r)
        seen += x.numel()
        mean = loss.item() if mean is None else 0.97 * mean + 0.03 * loss.item()
        if now - said > 20:
            said = now
            print("step %d done %.3f loss %.4f rate %.5f tokens/s %.0f" % (step, done, mean, o.rate * r, seen / (now - began)), flush=True)
        if now - saved > 300:
            saved = now
            save(step + 1, seen)
    save(step + 1, seen)
    nats, count = model.heldout_loss(w, c, held[:200])
    print("end: step %d tokens %d minutes %.1f held-out %.4f nats/token (float32, %d stories)"
          % (step + 1, seen, (time.time() - began) / 60, nats / count, len(held[:200])), flush=True)


if __name__ == "__main__":
    main()
