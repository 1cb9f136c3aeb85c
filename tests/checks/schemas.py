"""The schemas, the documentation and the code say the same; what we ship and what we write is valid.

Without any library: every key of launch/scenario_{keys,faults,moves,planning}.c and model/synthetic.c is a property of the scenario's schema, in the same mapping, and the
other way round, and docs/scenario.md names it. With python3-jsonschema and python3-yaml: the schemas are schemas, the shipped
scenarios are valid, the samples that report_test and incident_test print are valid. A run directory as argument is checked as
well.
"""
import os
import re
import subprocess
import sys

import house

KEYS = ["launch/scenario_keys.c", "launch/scenario_faults.c", "launch/scenario_moves.c", "launch/scenario_planning.c",
        "model/synthetic.c"]
SCHEMA = "docs/schemas/scenario.schema.json"
# table of the C files -> where its properties are in the schema, by the words on the way
TABLES = {
    "root_fields": ["properties"],
    "workload_fields": ["properties", "workload", "properties"],
    "request_fields": ["definitions", "request", "properties"],
    "synthetic_fields": ["definitions", "synthetic", "properties"],
    "objective_fields": ["definitions", "objective", "properties"],
    "limit_fields": ["definitions", "limit", "properties"],
    "demand_fields": ["properties", "demand", "properties"],
    "rules_fields": ["properties", "rules", "properties"],
    "auto_fields": ["definitions", "auto", "properties"],
    "declares_fields": ["definitions", "declares", "properties"],
    "plan_fields": ["definitions", "plan", "properties"],
    "stage_fields": ["definitions", "stage", "properties"],
    "narrowed_fields": ["definitions", "narrowed", "properties"],
    "fault_fields": ["definitions", "fault", "properties"],
    "move_fields": ["definitions", "move", "properties"],
    "moment_fields": ["definitions", "moment", "properties"],
    "healing_fields": ["properties", "healing", "properties"],
    "output_fields": ["properties", "output", "properties"],
    "runtime_fields": ["properties", "runtime", "properties"],
    "fleet_fields": ["properties", "fleet", "properties"],
    "device_fields": ["definitions", "device", "properties"],
    "twin_fields": ["properties", "twin", "properties"],
    "link_fields": ["properties", "twin", "properties", "link", "properties"],
}


# definition of the fleet's schema -> the file and table of its fields, and the table of its quantities
FLEET_SCHEMA = "docs/schemas/fleet.schema.json"
FLEET_TABLES = {
    "fleet": ("placement/fleet_read.c", "fleet_fields", None),
    "catalogue": ("placement/fleet_read.c", "catalogue_fields", None),
    "place": ("placement/fleet_read.c", "place_fields", "place_properties"),
    "part": ("placement/fleet_parts.c", "part_fields", "part_properties"),
    "memory": ("placement/fleet_parts.c", "memory_fields", "onboard_properties"),
    "link": ("placement/fleet_links.c", "link_fields", "link_properties"),
    "path": ("placement/fleet_links.c", "path_fields", "path_properties"),
    "measurement": ("placement/fleet_links.c", "measurement_fields", None),
}


def fleet_keys_agree(root):
    import json
    definitions = json.loads(house.read(root, FLEET_SCHEMA))["definitions"]
    manual = house.read(root, "docs/fleet.md")
    quantities = house.read(root, "placement/fleet_tables.c")
    shared = set(re.findall(r'\{"(\w+)",', re.search(r"gsrt__provenance_fields\[.*?\] = \{(.*?)\n\};",
                                                   house.read(root, "placement/fleet_quantity.c"), re.S).group(1)))
    violations = []
    for name, (path, fields, properties) in sorted(FLEET_TABLES.items()):
        keys = tables(house.read(root, path)).get(fields, set()) | shared
        if properties:
            rows = re.search(r"gsrt__%s\[.*?\] = \{(.*?)\n\};" % properties, quantities, re.S).group(1)
            keys |= set(re.findall(r'\{"(\w+)",', rows))
        for key in sorted(keys ^ set(definitions[name]["properties"])):
            violations.append("%s: key '%s' of %s is in only one of %s and %s" % (FLEET_SCHEMA, key, name, path, FLEET_SCHEMA))
        violations += ["docs/fleet.md: key '%s' is not explained" % key for key in sorted(keys) if "`%s`" % key not in manual]
    return violations


def tables(text):
    found = {}
    for name, body in re.findall(r"gsrt_yaml_field (\w+_fields)\[\] = \{(.*?)\n\};", text, re.S):
        found[name] = set(re.findall(r'\{"(\w+)",', body))
    return found


def keys_agree(root):
    import json
    found = {}
    for path in KEYS:
        found.update(tables(house.read(root, path)))
    schema = json.loads(house.read(root, SCHEMA))
    manual = house.read(root, "docs/scenario.md")
    violations = []
    for name in sorted(set(found) | set(TABLES)):
        if name not in found or name not in TABLES:
            violations.append("table %s is not known to both %s and this check" % (name, " or ".join(KEYS)))
            continue
        at = schema
        for word in TABLES[name]:
            at = at.get(word, {})
        for key in sorted(found[name] ^ set(at)):
            violations.append("%s: key '%s' of %s is in only one of the C files and %s" % (SCHEMA, key, name, SCHEMA))
        for key in sorted(found[name]):
            if not re.search(r"[`.]%s[`.]" % key, manual):
                violations.append("docs/scenario.md: key '%s' is not explained" % key)
    return violations


GOOD_KEYS = "\n".join('static const gsrt_yaml_field %s[] = {\n    {"k", X},\n};' % name for name in TABLES)


def good_schema():
    """A schema in which every table has exactly the key "k", beside the mappings on the way."""
    import json
    schema = {}
    for words in TABLES.values():
        at = schema
        for word in words:
            at = at.setdefault(word, {})
        at["k"] = {}
    return json.dumps(schema)


def planted():
    # In the planted schema the mappings on the way are properties too: "workload" and others are violations there.
    def tree(keys, more, manual):
        return {**{path: "" for path in KEYS}, KEYS[0]: keys, KEYS[1]: more, SCHEMA: good_schema(), "docs/scenario.md": manual}

    half = GOOD_KEYS.index("static", GOOD_KEYS.index("plan_fields"))
    first, second = GOOD_KEYS[:half], GOOD_KEYS[half:]
    return [
        (tree(first, second, "`k`"), "key 'workload' of root_fields"),
        (tree(first.replace('"k"', '"new"'), second, "`k`"), "key 'new' is not explained"),
        (tree(first, second.replace('"k"', '"new"'), "`k`"), "key 'new' is not explained"),
        (tree(first, "", "`k`"), "table stage_fields is not known"),
        (tree("", "", ""), "table root_fields is not known"),
    ]


def planted_fleet(root):
    """The tree as it is, and with one key of each kind spelled otherwise."""
    paths = [FLEET_SCHEMA, "docs/fleet.md", "placement/fleet_tables.c", "placement/fleet_quantity.c"]
    paths += [row[0] for row in FLEET_TABLES.values()]
    good = {path: house.read(root, path) for path in paths}

    def tree(path, old, new):
        return {**good, path: good[path].replace(old, new)}

    return [
        (good, None),
        (tree("placement/fleet_tables.c", '{"capacity",', '{"size",'), "key 'size' of part"),
        (tree("placement/fleet_links.c", '{"pairing",', '{"pairs",'), "key 'pairs' of link"),
        (tree("docs/fleet.md", "`rates`", "rates"), "key 'rates' is not explained"),
    ]


def validate(name, value, validator):
    return ["%s: %s: %s" % (name, "/".join(map(str, error.path)), error.message) for error in validator.iter_errors(value)]


def as_written(value, key=None):
    """BaseLoader's texts as what the schema wants them to be."""
    if isinstance(value, dict):
        return {k: as_written(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [as_written(v) for v in value]
    if key == "count":
        return int(value)
    if key == "confidence":
        return float(value)
    return {"true": True, "false": False}.get(value, value) if key in ("both", "coherent") else value


def check_documents(root, run_directory):
    """Needs jsonschema and yaml; raises ImportError."""
    import json
    import jsonschema
    import yaml
    schemas, violations = {}, []
    for name in ["scenario", "plan", "report", "tokens", "incident", "profile", "fleet", "evidence"]:
        path = "docs/schemas/%s.schema.json" % name
        if name == "profile" and not os.path.exists(os.path.join(root, path)):
            continue
        schemas[name] = json.loads(house.read(root, path))
        jsonschema.Draft7Validator.check_schema(schemas[name])
    # A report holds a plan by reference to the plan's schema; validators differ in how they find it, so look at it apart.
    schemas["report"]["properties"]["plan"] = {"type": ["object", "null"]}

    def validator(name):
        return jsonschema.Draft7Validator(schemas[name])

    planted_report = {"schema": "gsrt-report/1", "exit": 99}
    if not validate("planted", planted_report, validator("report")):
        print("this check is broken: a planted report was valid")
        sys.exit(2)
    for name in sorted(os.listdir(os.path.join(root, "scenarios"))):
        if name.endswith(".yaml"):
            value = yaml.safe_load(house.read(root, "scenarios/" + name))
            violations += validate("scenarios/" + name, value, validator("scenario"))
            if value.get("name") != name[:-5]:
                violations.append("scenarios/%s: its name is '%s'" % (name, value.get("name")))
    for folder in ["scenarios/fleets", "scenarios/catalogue"]:
        for name in sorted(os.listdir(os.path.join(root, folder))):
            # yaml reads days as dates; the schema, and GSRT, as texts
            value = yaml.load(house.read(root, folder + "/" + name), Loader=yaml.BaseLoader)
            for version in ("gsrt_fleet", "gsrt_catalogue"):
                if version in value:
                    value[version] = int(value[version])
            violations += validate(folder + "/" + name, as_written(value), validator("fleet"))
    texts = {}
    for program, names in [("tests/launch/report_test", ["report", "plan", "tokens", "scenario"]),
                           ("tests/health/incident_test", ["incident", "incident-open", "incident-failed"]),
                           ("tests/placement/evidence_test", ["evidence"])]:
        for name in names:
            done = subprocess.run([os.path.join(os.environ["GSRT_BUILDDIR"], program), "--sample", name],
                                  stdout=subprocess.PIPE, check=True)
            texts["sample of " + name] = (name.split("-")[0], done.stdout.decode())
    if run_directory:
        for name, file in [("report", "report.json"), ("plan", "plan.json"), ("tokens", "tokens.jsonl"),
                           ("scenario", "scenario.yaml")]:
            texts[os.path.join(run_directory, file)] = (name, house.read(run_directory, file))
        incidents = os.path.join(run_directory, "incidents")
        for file in sorted(os.listdir(incidents)) if os.path.isdir(incidents) else []:
            texts[os.path.join(incidents, file)] = ("incident", house.read(incidents, file))
    for where, (name, text) in texts.items():
        if name == "scenario":
            values = [yaml.safe_load(text)]
        else:
            values = [json.loads(line) for line in (text.splitlines() if name == "tokens" else [text])]
        if not values:
            violations.append("%s: empty" % where)
        for value in values:
            violations += validate(where, value, validator(name))
            if name == "report" and value.get("plan") is not None:
                violations += validate(where + ": plan", value["plan"], validator("plan"))
    return violations


def main():
    root = os.environ["GSRT_SRCDIR"]
    try:
        violations = check_documents(root, sys.argv[1] if len(sys.argv) > 1 else None)
        skipped = None
    except ImportError as missing:
        violations, skipped = [], missing.name
    for line in violations:
        print(line)
    if violations:
        sys.exit(1)
    try:
        house.run(fleet_keys_agree, planted_fleet(root))
    except SystemExit as end:
        if end.code != 0:
            raise
    try:
        house.run(keys_agree, planted())
    except SystemExit as end:
        if end.code == 0 and skipped:
            print("no Python module '%s': scenarios and reports were not validated against the schemas" % skipped)
            sys.exit(77)
        raise


main()
