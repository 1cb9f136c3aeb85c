# SPDX-License-Identifier: Apache-2.0
"""A SentencePiece-style BPE vocabulary: training and encoding, without any library.

usage: tokenizer.py --text train.txt --size 1024 --out vocab.json

Vocabulary, as a GGUF reader with tokenizer.ggml.model = "llama" expects it:
  0 <unk>, 1 <s>, 2 </s>, 3..258 the bytes <0x00>..<0xFF>,
  then merged pieces in the order they were learned (score = -rank), then single characters (lower scores).
A space is written U+2581 and one is put before the text. Merges never join letters with punctuation and never
run over a word's end, so encoding a word at a time gives the same tokens as encoding the whole text.
Encoding: of all neighbours whose join is a piece, join the pair of highest score, leftmost first; what is left
and is no piece falls back to bytes.
"""
import argparse
import collections
import json
import re

SPACE = "\u2581"
UNK, BOS, EOS, BYTE0 = 0, 1, 2, 3
WORD = re.compile(SPACE + r"?(?:[A-Za-z]+|[^A-Za-z\u2581]+)|" + SPACE)


def words(text):
    """The text as the chunks that merges stay inside of."""
    return WORD.findall(SPACE + text.replace(" ", SPACE))


def train(lines, size):
    """[(piece, score, type)] of `size` entries; ties between pairs go to the lexicographically smaller one."""
    counts = collections.Counter(w for line in lines for w in words(line))
    split = {w: list(w) for w in sorted(counts)}
    # Every printable ASCII character is a piece, so that any English prompt avoids byte tokens.
    chars = sorted(set("".join(chr(c) for c in range(33, 127))) | {SPACE} | {c for w in counts for c in w})
    merges = size - BYTE0 - 256 - len(chars)
    pieces = []
    pairs = collections.Counter()
    for w, s in split.items():
        for p in zip(s, s[1:]):
            pairs[p] += counts[w]
    known = set(chars)
    while len(pieces) < merges:
        best = min((p for p in pairs if p[0] + p[1] not in known), key=lambda p: (-pairs[p], p))
        joined = best[0] + best[1]
        known.add(joined)
        pieces.append(joined)
        for w, s in split.items():
            if not any(a + b == joined for a, b in zip(s, s[1:])):
                continue
            for p in zip(s, s[1:]):
                pairs[p] -= counts[w]
            out, i = [], 0
            while i < len(s):
                step = 2 if i + 1 < len(s) and s[i] + s[i + 1] == joined else 1
                out.append("".join(s[i:i + step]))
                i += step
            split[w] = out
            for p in zip(out, out[1:]):
                pairs[p] += counts[w]
        pairs = +pairs
    vocab = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    vocab += [("<0x%02X>" % b, 0.0, 6) for b in range(256)]
    vocab += [(p, -float(i), 1) for i, p in enumerate(pieces + chars)]
    return vocab


class Tokenizer:
    """Encodes and decodes with a vocabulary [(piece, score, type)]."""

    def __init__(self, vocab):
        self.vocab = vocab
        self.ids = {p: i for i, (p, _, t) in enumerate(vocab) if t == 1}
        self.cache = {}

    def _word(self, word):
        s = list(word)
        while True:
            best, at = None, -1
            for i in range(len(s) - 1):
                t = self.ids.get(s[i] + s[i + 1])
                if t is not None and (best is None or self.vocab[t][1] > best):
                    best, at = self.vocab[t][1], i
            if at < 0:
                break
            s[at:at + 2] = [s[at] + s[at + 1]]
        out = []
        for p in s:
            t = self.ids.get(p)
            out += [t] if t is not None else [BYTE0 + b for b in p.encode()]
        return out

    def encode(self, text, bos=True):
        """Token ids of the text, with <s> in front if asked."""
        out = [BOS] if bos else []
        for w in words(text):
            if w not in self.cache:
                self.cache[w] = self._word(w)
            out += self.cache[w]
        return out

    def encode_whole(self, text):
        """The slow twin of encode(): no split into words; used by the self-test."""
        return [BOS] + self._word(SPACE + text.replace(" ", SPACE))

    def decode(self, ids):
        """The text of the ids; <s>, </s> are silent, the space in front of the text is dropped."""
        raw = b""
        for t in ids:
            piece, _, kind = self.vocab[t]
            if kind == 6:
                raw += bytes([t - BYTE0])
            elif kind == 1:
                raw += piece.replace(SPACE, " ").encode()
        text = raw.decode("utf-8", "replace")
        return text[1:] if text.startswith(" ") else text


def load(path):
    """The tokenizer of a vocab.json."""
    with open(path, encoding="utf-8") as f:
        return Tokenizer([tuple(e) for e in json.load(f)])


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--text", required=True)
    a.add_argument("--size", type=int, default=1024)
    a.add_argument("--out", required=True)
    o = a.parse_args()
    with open(o.text, encoding="utf-8") as f:
        lines = f.read().splitlines()
    vocab = train(lines, o.size)
    tok = Tokenizer(vocab)
    for line in lines[:20] + ["Once upon a time", "Füße 42 \u4f60\u597d!", ""]:
        assert tok.encode(line) == tok.encode_whole(line), line
        assert tok.decode(tok.encode(line)) == line, line
    with open(o.out, "w", encoding="utf-8") as f:
        json.dump(vocab, f, ensure_ascii=True, indent=0)
    n = sum(len(tok.encode(line)) for line in lines[:1000])
    print("%d pieces, %.2f bytes per token" % (len(vocab), sum(len(s) + 1 for s in lines[:1000]) / n))


if __name__ == "__main__":
    main()
