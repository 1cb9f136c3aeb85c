"""What the checks of the tree share: the list of files, and the proof that a check can fail.

A check is a function check(root) that returns a list of violations, one line each. run(check, cases) first applies it to
small planted trees: cases is a list of (files, expected), where files maps path to text and expected is a text that one
violation must contain, or None when there must be no violation. Only then the real tree is checked. Exit status: 0 clean,
1 violations, 2 the check itself is broken, 77 skipped (last line: why).
"""
import ast
import os
import subprocess
import sys
import tempfile

FOLDERS = ["base", "mailbox", "actors", "placement", "backends", "collectives", "ckpt", "model", "health", "launch"]
LEVELS = {"base": 0, "mailbox": 1, "actors": 2, "placement": 3, "backends": 3, "collectives": 3, "ckpt": 3,
          "model": 4, "health": 4, "launch": 5}
BESIDE = ["tests", "bench", "tools"]
IGNORED = ["node_modules", "__pycache__", ".libs", ".deps"]  # made or fetched, never tracked


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def files(root, endings, folders=None):
    """Paths under root, sorted, that git tracks or could track (build products are not in these folders)."""
    found = []
    for folder in folders or FOLDERS + BESIDE:
        for where, inner, names in os.walk(os.path.join(root, folder)):
            inner[:] = [name for name in inner if name not in IGNORED]
            for name in names:
                if name.endswith(tuple(endings)):
                    found.append(os.path.relpath(os.path.join(where, name), root))
    return sorted(found)


def run_tool(arguments, **options):
    """(exit status, stdout and stderr together)."""
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    return done.returncode, done.stdout.decode("utf-8", errors="replace")


def require_tool(name):
    try:
        run_tool([name, "--version"])
    except FileNotFoundError:
        print("no %s on this machine" % name)
        sys.exit(77)


def compile_commands():
    """[{directory, file, arguments}] of the build that runs this check. The file is JSON without true, false and null, so
    it is Python too (python3-minimal has no json module)."""
    return ast.literal_eval(read(os.environ["GSRT_BUILDDIR"], "compile_commands.json"))


def include_flags():
    """Every -I and -D that some source is compiled with, and the language standard."""
    flags = ["-std=c17"]
    for command in compile_commands():
        for flag in command["arguments"]:
            if flag[:2] in ("-I", "-D") and flag not in flags:
                flags.append(flag if not flag.startswith("-I.") else "-I" + os.path.join(command["directory"], flag[2:]))
    return flags


def plant(root, tree):
    for path, text in tree.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)


def run(check, cases):
    for number, (tree, expected) in enumerate(cases):
        with tempfile.TemporaryDirectory() as root:
            plant(root, tree)
            violations = check(root)
        is_right = any(expected in line for line in violations) if expected is not None else not violations
        if not is_right:
            print("this check is broken: planted case %d, expected %r, got %r" % (number, expected, violations))
            sys.exit(2)
    violations = check(os.environ["GSRT_SRCDIR"])
    for line in violations:
        print(line)
    sys.exit(1 if violations else 0)
