"""clang finds nothing to warn about in any source, under the flags the build used for it."""
import os

import house

DROPPED_WITH_VALUE = {"-o", "-MT", "-MF"}
DROPPED = {"-c", "-MD", "-MP", "-O2", "-O3"}


def clang_arguments(arguments):
    kept = []
    skip = False
    for argument in arguments[1:]:
        if skip:
            skip = False
        elif argument in DROPPED_WITH_VALUE:
            skip = True
        elif argument not in DROPPED:
            kept.append(argument)
    return ["clang", "-fsyntax-only", "-Werror"] + kept


def check(root):
    violations = []
    commands = house.compile_commands()
    if root != os.environ["GSRT_SRCDIR"]:
        warnings = [flag for flag in commands[0]["arguments"] if flag.startswith("-W")]
        commands = [{"directory": root, "file": path, "arguments": ["cc", "-std=c17"] + warnings + ["-c", path]}
                    for path in house.files(root, [".c"])]
    seen = set()
    for command in commands:
        if command["file"] in seen:
            continue
        seen.add(command["file"])
        status, output = house.run_tool(clang_arguments(command["arguments"]), cwd=command["directory"])
        if status != 0:
            violations.append("%s: clang:\n%s" % (command["file"], output))
    return violations


house.require_tool("clang")
house.run(check, [
    ({"base/good.c": "int planted(long value);\nint planted(long value)\n{\n    return (int)value;\n}\n"}, None),
    ({"base/bad.c": "int planted(long value);\nint planted(long value)\n{\n    return value;\n}\n"}, "base/bad.c"),
])
