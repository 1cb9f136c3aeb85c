"""Every header compiles alone, whatever is or is not included before it, and twice."""
import os

import house

# Kernels written once for all widths of vectors: not alone, but after any of the headers that say how wide.
TEMPLATES = {
    "backends/float_lanes.h": "backends/lanes_avx2.h",
    "backends/lanes_rows.h": "backends/lanes_avx2.h",
}


def machine_flags():
    """The instruction sets that some source is compiled for: for the headers of the vector kernels."""
    flags = []
    for command in house.compile_commands():
        flags += [flag for flag in command["arguments"] if flag.startswith("-m") and flag not in flags]
    return flags


def check(root):
    compiler = os.environ["GSRT_CC"].split() + house.include_flags() + ["-I" + root, "-fsyntax-only", "-Werror"]
    violations = []
    for path in house.files(root, [".h"]):
        flags = machine_flags() if path.startswith("backends/") else []
        before = '#include "%s"\n' % TEMPLATES[path] if path in TEMPLATES else ""
        status, output = house.run_tool(compiler + flags + ["-x", "c", "-"],
                                        input=(before + '#include "%s"\n' % path * 2).encode())
        if status != 0:
            violations.append("%s does not compile alone (twice):\n%s" % (path, output))
    return violations


house.run(check, [
    ({"base/good.h": "#pragma once\n#include <stddef.h>\ntypedef size_t planted_size;\n"}, None),
    ({"base/bad.h": "#pragma once\nsize_t planted_count(void);\n"}, "base/bad.h"),
    ({"base/twice.h": "enum planted { PLANTED };\n"}, "base/twice.h"),
])
