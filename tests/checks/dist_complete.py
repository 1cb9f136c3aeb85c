"""make dist forgets nothing: every tracked file is in it, but for what only git and npm read."""
import os
import subprocess
import sys

import house

ONLY_HERE = {".gitignore"}


def tracked(root):
    if root != os.environ["GSRT_SRCDIR"]:
        return house.read(root, "tracked").split()
    if not os.path.exists(os.path.join(root, ".git")):
        print("not a git checkout")
        sys.exit(77)
    status, output = house.run_tool(["git", "-c", "safe.directory=*", "-C", root, "ls-files"])
    assert status == 0, output
    return output.split("\n")


def distributed(root):
    """Files and folders that make dist copies."""
    if root != os.environ["GSRT_SRCDIR"]:
        return set(house.read(root, "distributed").split())
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    output = subprocess.run(["make", "-s", "print-list", "LIST=DISTFILES"], cwd=os.environ["GSRT_BUILDDIR"], env=environment,
                            stdout=subprocess.PIPE, check=True).stdout.decode()
    where = os.path.join(os.environ["GSRT_BUILDDIR"], "")
    return {os.path.relpath(os.path.join(where, name), root) if name.startswith(("/", "..")) else name
            for name in output.split()}


def check(root):
    names = distributed(root)
    violations = []
    for path in tracked(root):
        parts = path.split("/")
        folders = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
        if path and parts[-1] not in ONLY_HERE and not folders & names:
            violations.append("%s is not in make dist: add it to a module.am (sources, or EXTRA_DIST)" % path)
    return violations


house.run(check, [
    ({"tracked": "a.c docs/adr/x.md bench/.gitignore", "distributed": "a.c docs/adr"}, None),
    ({"tracked": "a.c b.c", "distributed": "a.c"}, "b.c is not in make dist"),
    ({"tracked": "doc/x.md", "distributed": "docs d"}, "doc/x.md"),
])
