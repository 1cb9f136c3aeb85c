"""clang-format decides the layout."""
import os
import shutil

import house


def check(root):
    style = os.path.join(os.environ["GSRT_SRCDIR"], ".clang-format")
    if not os.path.exists(os.path.join(root, ".clang-format")):
        shutil.copy(style, root)
    sources = house.files(root, [".c", ".h"])
    status, output = house.run_tool(["clang-format", "--dry-run", "-Werror", "--ferror-limit=1"] + sources, cwd=root)
    return [] if status == 0 else [line for line in output.splitlines() if "error:" in line] or [output]


house.require_tool("clang-format")
house.run(check, [
    ({"base/good.c": "int planted(void)\n{\n    return 1;\n}\n"}, None),
    ({"base/bad.c": "int planted(void) {\n  return 1; }\n"}, "base/bad.c"),
])
