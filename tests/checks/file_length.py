"""A file above 600 lines has a second noun in it (said, not failed); above 1000 it fails."""
import os

import house

LINES_WARN = 600
LINES_MAX = 1000


def check(root):
    violations = []
    for path in house.files(root, [".c", ".h", ".py", ".sh", ".am"]):
        lines = house.read(root, path).count("\n")
        if lines > LINES_MAX:
            violations.append("%s has %d lines, more than %d: split it" % (path, lines, LINES_MAX))
        elif lines > LINES_WARN and root == os.environ["GSRT_SRCDIR"]:
            print("note: %s has %d lines: find the second noun" % (path, lines))
    return violations


house.run(check, [
    ({"base/good.c": "\n" * LINES_MAX}, None),
    ({"model/bad.c": "\n" * (LINES_MAX + 1)}, "model/bad.c has 1001 lines"),
])
