"""compile_commands.json of this build, from what make would run: for editors, and for the checks that compile.

usage (by make): compile_commands.py SRCDIR BUILDDIR SOURCE...
"""
import os
import re
import shlex
import subprocess
import sys


def quote(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def entry(words, builddir):
    """The compiler's own arguments out of one command line of the makefile, or None."""
    if "-c" not in words or words[-1][-2:] != ".c":
        return None
    for start, word in enumerate(words):
        if word == "--mode=compile":
            words = words[start + 1:]
            break
    words = ["gsrt.d" if "$depbase" in word else word for word in words]
    return '  {"directory": %s, "file": %s, "arguments": [%s]}' % (
        quote(builddir), quote(os.path.normpath(os.path.join(builddir, words[-1]))), ", ".join(map(quote, words)))


def main():
    srcdir, builddir = map(os.path.abspath, sys.argv[1:3])
    pretend = [flag for source in sorted(set(sys.argv[3:])) if source.endswith(".c")
               for flag in ("-W", os.path.join(srcdir, source))]
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    output = subprocess.run(["make", "-n", "-k", "V=1", "build-tests"] + pretend, cwd=builddir, env=environment,
                            stdout=subprocess.PIPE, check=False).stdout.decode()
    entries = []
    for line in output.splitlines():
        if " -c " in line:
            line = re.sub(r"`test -f '[^']*' \|\| echo '([^']*)'`", r"\1", line.split("&&")[0].rstrip("\\"))
            found = entry(shlex.split(line), builddir)
            if found is not None and found not in entries:
                entries.append(found)
    if not entries:
        sys.exit("compile_commands.py: make printed no compilation")
    temporary = os.path.join(builddir, "compile_commands.json.new")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write("[\n%s\n]\n" % ",\n".join(entries))
    os.replace(temporary, os.path.join(builddir, "compile_commands.json"))


main()
