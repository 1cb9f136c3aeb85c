# SPDX-License-Identifier: Apache-2.0
"""Writes the story corpus: one story a line, a pure function of (seed, count).

usage: corpus.py --seed 1 --count 60000 --out train.txt
A story is told as: opening, sometimes a friend, the beats of one plot, one ending (grammar.py).
The held-out text is the same grammar under another seed; lines that also occur in the training text are
removed by `--without train.txt`.
"""
import argparse
import random
import re

import grammar as g

PRONOUNS = {"he": ("he", "him", "his"), "she": ("she", "her", "her")}
_ALT = re.compile(r"\{([^{}]*)\}")
_SLOT = re.compile(r"\$([A-Za-z]+[0-9]?)")
_START = re.compile(r"(^|[.!?] \"?|\.\" \"?|(?:^|\s)\")([a-z])")
_AN = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])")


def expand(template, slots, rng):
    """One text of the template: innermost alternatives first, then the slots (a slot's text may hold slots)."""
    while True:
        m = _ALT.search(template)
        if m is None:
            break
        template = template[: m.start()] + rng.choice(m.group(1).split("|")) + template[m.end():]
    while "$" in template:
        template = _SLOT.sub(lambda m: slots[m.group(1)], template)
    return template


def polish(text):
    """Spaces, capitals at the start of sentences and quotations, a/an."""
    text = re.sub(r"\s+", " ", text).strip()
    text = _START.sub(lambda m: m.group(1) + m.group(2).upper(), text)
    text = re.sub(r"\^(.)", lambda m: m.group(1).upper(), text)
    return _AN.sub(r"\1n ", text)


def cast(rng):
    """The slots of one story: who, where, when. Hero and friend never share a name."""
    def someone(taken):
        if rng.random() < 0.55:
            boy = rng.random() < 0.5
            names, kind, he = (g.BOYS, "boy", "he") if boy else (g.GIRLS, "girl", "she")
        else:
            names, kind, he = g.PETS, rng.choice(g.ANIMALS), rng.choice(("he", "she"))
        return rng.choice([n for n in names if n != taken]), kind, rng.choice(g.TRAITS), PRONOUNS[he]

    hero, kind, trait, (he, him, his) = someone(None)
    friend, fkind, ftrait, (fhe, fhim, fhis) = someone(hero)
    elder, elder_he = rng.choice(g.ELDERS)
    ehe, ehim, ehis = PRONOUNS[elder_he]
    return dict(H=hero, kind=kind, trait=trait, he=he, him=him, his=his, F=friend, fkind=fkind, ftrait=ftrait,
                fhe=fhe, fhim=fhim, fhis=fhis, elder=elder, ehe=ehe, ehim=ehim, ehis=ehis,
                town=rng.choice(g.TOWNS), home=rng.choice(g.HOMES), hobby=rng.choice(g.HOBBIES),
                weather=rng.choice(g.WEATHERS), time=rng.choice(g.TIMES))


def story(rng):
    """One whole story as one line of text."""
    slots = cast(rng)
    name = rng.choice(sorted(g.PLOTS))
    plot = g.PLOTS[name]
    for keys, rows in plot["pick"].items():
        slots.update(zip(keys, rng.choice(rows)))
    # Three openings in four are the classic one.
    classic = [o for o in g.OPENINGS if o.startswith("Once upon")]
    parts = [rng.choice(classic if rng.random() < 0.5 else g.OPENINGS)]
    if name != "newcomer" and (name in ("storm", "night", "race", "gift") or rng.random() < 0.75):
        parts.append(rng.choice(g.MEET))
    parts += [rng.choice(beat) for beat in plot["beats"]]
    parts.append(rng.choice(g.ENDINGS))
    return polish(" ".join(polish(expand(p, slots, rng)) for p in parts if p))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seed", type=int, required=True)
    a.add_argument("--count", type=int, required=True, help="stories")
    a.add_argument("--out", required=True)
    a.add_argument("--without", help="leave out every line of this file")
    o = a.parse_args()
    rng = random.Random(o.seed)
    seen = set()
    if o.without:
        with open(o.without, encoding="utf-8") as f:
            seen.update(line.rstrip("\n") for line in f)
    with open(o.out, "w", encoding="utf-8") as f:
        for _ in range(o.count):
            s = story(rng)
            if s not in seen:
                f.write(s + "\n")


if __name__ == "__main__":
    main()
