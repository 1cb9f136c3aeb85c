"""No path of somebody's machine in the tree: it would mean nothing elsewhere."""
import os
import re

import house

# written apart, so that this file does not match itself
PATHS = re.compile("(?<![A-Za-z0-9_.$}])/" + "(?:work|root|home|farm|Users)/[A-Za-z]|(?<![A-Za-z0-9_.$}])/" + "tmp/[a-z]")
ENDINGS = [".c", ".h", ".py", ".sh", ".am", ".ac", ".m4", ".md", ".yaml", ".json", ".1", "bootstrap", "run"]
FOLDERS = house.FOLDERS + house.BESIDE + ["docs", "scenarios", "m4", ".ci"]


def check(root):
    paths = house.files(root, ENDINGS, FOLDERS)
    paths += [name for name in os.listdir(root) if name.endswith((".am", ".ac", ".md", "bootstrap"))]
    violations = []
    for path in paths:
        for number, line in enumerate(house.read(root, path).splitlines(), 1):
            found = PATHS.search(line)
            if found:
                violations.append("%s:%d: '%s' is a path of one machine" % (path, number, found.group()))
    return violations


house.run(check, [
    ({"base/good.c": "/* see docs/work/x and $HOME/root/x */\n"}, None),
    ({"base/bad.c": "// /" + "root/x\n"}, "base/bad.c:1"),
    ({"README.md": "\nrun /" + "tmp/mine/b\n"}, "README.md:2"),
    ({"scenarios/a.yaml": "model: /" + "home/me/m.gguf\n"}, "scenarios/a.yaml:1"),
])
