"""Every header compiles alone, whatever is or is not included before it."""
import os

import house


def check(root):
    compiler = os.environ["GSRT_CC"].split()
    flags = house.include_flags()
    violations = []
    for path in house.files(root, [".h"]):
        status, output = house.run_tool(compiler + flags + ["-I" + root, "-fsyntax-only", "-Wall", "-Werror", "-x", "c", "-"],
                                        input=('#include "%s"\n#include "%s"\n' % (path, path)).encode())
        if status != 0:
            violations.append("%s does not compile alone (twice):\n%s" % (path, output))
    return violations


house.run(check, [
    ({"base/good.h": "#pragma once\n#include <stddef.h>\ntypedef size_t planted_size;\n"}, None),
    ({"base/bad.h": "#pragma once\nsize_t planted_count(void);\n"}, "base/bad.h"),
    ({"base/twice.h": "enum planted { PLANTED };\n"}, "base/twice.h"),
])
