"""The pure folders link without MPI and UCX: no object of theirs names a symbol of either, and no unit test program of
theirs is linked with a library of either."""
import os
import re

import house

FOREIGN = re.compile(r"^(MPI|PMPI|OMPI|ompi|ucp|ucs|uct|ucm)_")
FOREIGN_LIBRARY = re.compile(r"NEEDED.*\[lib(mpi|open-pal|open-rte|ucp|ucs|uct|ucm)\b")
PURE = [folder for folder in house.FOLDERS if folder not in ("mailbox", "launch")]


def check(root):
    violations = []
    where = os.environ["GSRT_BUILDDIR"]
    if root != os.environ["GSRT_SRCDIR"]:
        where = root
        for path in house.files(root, [".c"]):
            status, output = house.run_tool(os.environ["GSRT_CC"].split() + ["-c", path, "-o", path[:-2] + ".o"], cwd=root)
            assert status == 0, output
    paths = house.files(where, [".o"], PURE)
    if not paths:
        violations.append("no object files below %s: nothing was checked" % where)
    for path in paths:
        _, output = house.run_tool(["nm", "-u", os.path.join(where, path)])
        for name in (line.split()[-1] for line in output.splitlines() if line.split()):
            if FOREIGN.match(name):
                violations.append("%s calls %s: only mailbox/'s UCX transport and launch/ may" % (path, name))
    for path in house.files(where, ["_test"], [os.path.join("tests", folder) for folder in PURE]):
        _, output = house.run_tool(["readelf", "-d", os.path.join(where, path)])
        violations += ["%s: %s" % (path, line.strip()) for line in output.splitlines() if FOREIGN_LIBRARY.search(line)]
    return violations


house.require_tool("nm")
house.require_tool("readelf")
house.run(check, [
    ({"placement/good.c": "int planted(void)\n{\n    return 1;\n}\n"}, None),
    ({"placement/bad.c": "int MPI_Barrier(void *);\nint planted(void)\n{\n    return MPI_Barrier(0);\n}\n"}, "MPI_Barrier"),
    ({"actors/bad.c": "void ucp_worker_progress(void *);\nvoid planted(void)\n{\n    ucp_worker_progress(0);\n}\n"},
     "ucp_worker_progress"),
])
