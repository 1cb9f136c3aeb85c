"""What is searched and predicted knows no vendor and no product: capability decides (DESIGN: names lie)."""
import re

import house

FILES = re.compile(r"placement/(search|cost|rejection|deployment|flow|contract)[a-z_]*\.[ch]$")
NAMES = re.compile(r"(?<![a-z0-9])(nvidia|geforce|tesla|hopper|blackwell|ampere|amd|instinct|radeon|epyc|intel|xeon|gaudi|google|"
                   r"trainium|inferentia|apple|qualcomm|huawei|ascend|cerebras|groq|tpu|cuda|rocm|nvlink|[ahblv]\d00|gb\d00|"
                   r"mi\d{3}x?|rtx)(?![a-z0-9])", re.IGNORECASE)
FIELDS = re.compile(r"(->|\.)(vendor|product)\b")
# a source may be told in a sentence; nothing can be decided by one
TOLD = re.compile(r"/\*.*?\*/|\"[^\"\n]*\s[^\"\n]*\"", re.DOTALL)


def check(root):
    violations = []
    for path in house.files(root, [".c", ".h"]):
        if not FILES.match(path):
            continue
        code = TOLD.sub(lambda m: "\n" * m.group().count("\n"), house.read(root, path))
        for number, line in enumerate(code.splitlines(), 1):
            found = FIELDS.search(line) or NAMES.search(line)
            if found:
                violations.append("%s:%d: '%s' names a maker or what it sells" % (path, number, found.group()))
    return violations


house.run(check, [
    ({"placement/cost_good.c": '/* as on an H100 */\nconst char *source = "measured on an H100";\n'}, None),
    ({"placement/search_bad.c": 'int rate;\nbool is = strcmp(name, "H100") == 0;\n'}, "placement/search_bad.c:2"),
    ({"placement/cost_bad.c": "\nreturn part->vendor;\n"}, "placement/cost_bad.c:2"),
    ({"placement/fleet_other.c": "return part->vendor;\n"}, None),
])
