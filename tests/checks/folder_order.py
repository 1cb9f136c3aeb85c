"""The order of the folders, read from the includes (DESIGN, "Folders"):
base <- mailbox <- actors <- {placement, backends, collectives, ckpt} <- {model, health} <- launch; folders in one brace
do not include each other, and a header of another folder must be one of its public ones, listed in its module.am."""
import os
import re

import house

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)


def public_headers(root, folder):
    path = os.path.join(folder, "module.am")
    if not os.path.exists(os.path.join(root, path)):
        return set()
    text = house.read(root, path).replace("\\\n", " ")
    found = set()
    for line in re.findall(r"^%s_public[ \t]*\+?=(.*)$" % folder, text, re.M):
        found.update(word.replace("%D%", folder) for word in line.split())
    return found


def owner(path):
    """The folder whose rights a file has: tests/model/x.c may include what model/ may, and its private headers; a fuzz
    target belongs to the folder whose parser it feeds, which its name does not say, so it may include any."""
    parts = path.split("/")
    return parts[1] if parts[0] == "tests" and parts[1] in house.FOLDERS else parts[0]


def check(root):
    violations = []
    public = {folder: public_headers(root, folder) for folder in house.FOLDERS}
    for path in house.files(root, [".c", ".h"]):
        mine = owner(path)
        for header in INCLUDE.findall(house.read(root, path)):
            folder = header.split("/")[0]
            if not os.path.exists(os.path.join(root, header)):
                violations.append('%s: "%s" is not a path from the root of the tree' % (path, header))
            elif folder in house.FOLDERS and mine != folder and not path.startswith("tests/fuzz/"):
                is_source = path.split("/")[0] in house.FOLDERS
                if is_source and house.LEVELS[mine] <= house.LEVELS[folder]:
                    violations.append('%s: %s/ must not include "%s"' % (path, mine, header))
                elif header not in public[folder]:
                    violations.append('%s: "%s" is private: not in %s_public of %s/module.am'
                                      % (path, header, folder, folder))
            elif folder not in house.FOLDERS and path.split("/")[0] in house.FOLDERS:
                violations.append('%s: must not include "%s" from outside the program' % (path, header))
    return violations


MODULES = {"base/module.am": "base_public = \\\n  %D%/a.h\n", "base/a.h": "", "base/hidden.h": "",
           "mailbox/module.am": "mailbox_public = %D%/m.h\n", "mailbox/m.h": "",
           "ckpt/module.am": "ckpt_public = %D%/c.h\n", "ckpt/c.h": "", "tests/unit.h": ""}
house.run(check, [
    ({**MODULES, "mailbox/m.c": '#include "base/a.h"\n#include "mailbox/m.h"\n', "tests/base/t.c": '#include "base/hidden.h"\n',
      "launch/l.c": '#include "ckpt/c.h"\n'}, None),
    ({**MODULES, "base/b.c": '#include "mailbox/m.h"\n'}, "base/ must not include"),
    ({**MODULES, "backends/b.c": '  #  include "ckpt/c.h"\n'}, "backends/ must not include"),
    ({**MODULES, "mailbox/m.c": '#include "base/hidden.h"\n'}, "is private"),
    ({**MODULES, "tests/mailbox/m.c": '#include "base/hidden.h"\n'}, "is private"),
    ({**MODULES, "tests/fuzz/f.c": '#include "base/hidden.h"\n'}, None),
    ({**MODULES, "base/b.c": '#include "a.h"\n'}, "not a path from the root"),
    ({**MODULES, "base/b.c": '#include "tests/unit.h"\n'}, "from outside the program"),
])
