"""Each folder has a README of at most two screens, and says nothing about a file that is not there."""
import os
import re

import house

LINES_MAX = 120
MENTION = re.compile(r"`((?:%s)/[A-Za-z0-9_./-]+\.(?:[ch]|py|sh|md|am))`" % "|".join(house.FOLDERS + house.BESIDE + ["docs"]))


def check(root):
    violations = []
    for folder in house.FOLDERS + ["tests", "bench", "scenarios"]:
        path = os.path.join(folder, "README.md")
        if not os.path.isdir(os.path.join(root, folder)):
            continue
        if not os.path.exists(os.path.join(root, path)):
            violations.append("%s is missing" % path)
            continue
        text = house.read(root, path)
        if text.count("\n") > LINES_MAX:
            violations.append("%s has %d lines, more than two screens (%d)" % (path, text.count("\n"), LINES_MAX))
        for name in MENTION.findall(text):
            if not os.path.exists(os.path.join(root, name)):
                violations.append("%s mentions %s, which does not exist" % (path, name))
    return violations


house.run(check, [
    ({"base/README.md": "# base\nSee `base/a.h`.\n", "base/a.h": ""}, None),
    ({"base/a.h": ""}, "base/README.md is missing"),
    ({"base/README.md": "\n" * 121}, "more than two screens"),
    ({"base/README.md": "See `base/gone.h`.\n"}, "base/gone.h, which does not exist"),
])
