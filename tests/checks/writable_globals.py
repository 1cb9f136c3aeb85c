"""No writable globals in the folders that run in both worlds: the same code runs many simulated ranks in one process.
Reads the symbol tables of the objects; tables of constant pointers (.data.rel.ro) are not writable."""
import os

import house

# (source's path prefix, symbol prefix): why it must be.
ALLOWED = {
}


def is_writable(section):
    return section == "*COM*" or (section.startswith((".data", ".bss", ".tdata", ".tbss"))
                                  and not section.startswith(".data.rel.ro"))


def symbols(path):
    """(section, name) of the objects defined in an object file."""
    status, output = house.run_tool(["objdump", "-t", path])
    assert status == 0, output
    for line in output.splitlines():
        parts = line.split()
        flags = line[17:24] if len(line) > 24 else ""
        if "d" in flags[5:6] or "f" in flags[6:7] or len(parts) < 5:
            continue
        after = line[25:].split()
        yield after[0], after[-1]


def objects(root):
    if root != os.environ["GSRT_SRCDIR"]:
        for path in house.files(root, [".c"]):
            status, output = house.run_tool(os.environ["GSRT_CC"].split() + ["-O2", "-c", path, "-o", path[:-2] + ".o"], cwd=root)
            assert status == 0, output
        where = root
    else:
        where = os.environ["GSRT_BUILDDIR"]
    folders = [folder for folder in house.FOLDERS if folder != "launch"]
    return where, house.files(where, [".o"], folders)


def check(root):
    violations = []
    where, paths = objects(root)
    if not paths:
        violations.append("no object files below %s: nothing was checked" % where)
    for path in paths:
        for section, name in symbols(os.path.join(where, path)):
            if is_writable(section) and not any(path.startswith(p) and name.startswith(s) for p, s in ALLOWED):
                violations.append("%s: '%s' is a writable global (%s); pass it in, or make it const" % (path, name, section))
    return violations


house.require_tool("objdump")
house.run(check, [
    ({"base/good.c": "static const char *const names[] = {\"a\", \"b\"};\nconst int table[3] = {1, 2, 3};\n"
                     "const char *planted(int i)\n{\n    return names[i + table[1]];\n}\n"}, None),
    ({"base/bss.c": "int planted(void)\n{\n    static int count;\n    return ++count;\n}\n"}, "count"),
    ({"model/data.c": "int planted = 3;\n"}, "planted"),
    ({"ckpt/tls.c": "_Thread_local int planted;\n"}, "planted"),
    ({"ckpt/array.c": "char *planted[] = {\"a\"};\n"}, "planted"),
])
