#!/bin/bash
# gsrt model: a GGUF file, a config.json and a workload's text; for people, as JSON, and refused.
set -u
build=${GSRT_BUILDDIR:-.}
source=${GSRT_SRCDIR:-.}
corpus=$source/tests/fuzz/corpus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# show CODE TEXT ARGUMENT...: it ends with CODE, and what it prints holds TEXT
show() {
    local code=$1 text=$2 got
    shift 2
    timeout 300 "$build/gsrt" model "$@" >"$work/out" 2>&1
    got=$?
    if [ "$got" -ne "$code" ] || ! grep -qF -- "$text" "$work/out"; then
        cat "$work/out"
        echo "gsrt model $*: exit code $got, expected $code and '$text'"
        exit 1
    fi
}

show 0 'runs         yes' "$source/models/tiny.gguf"
show 0 'attention' -v "$source/models/tiny.gguf"
show 0 '"runs": true' --json "$source/models/tiny.gguf"
show 0 'runs         no: there are no weights' "$corpus/config_json/deepseek-v3"
show 0 'left out: 1 layers that draft tokens' "$corpus/config_json/deepseek-v3"
show 0 '2 of 8 experts' -v "$corpus/config_json/deepseek-v3"
show 0 '"missing": "there are no weights; it can be planned for, not run"' --json "$corpus/config_json/gpt-oss"
show 0 '"total": 612,' --json "$corpus/workload/mixed"

cp "$corpus/config_json/llama3" "$work/Llama-8B.json"
show 0 "contradiction: the name 'Llama-8B' states 8 B parameters" "$work/Llama-8B.json"
show 0 '"is_contradicted": true' --json "$work/Llama-8B.json"
"$build/gsrt" model -q "$work/Llama-8B.json" | grep -q contradiction && { echo "-q: it prints notes"; exit 1; }

show 2 "key 'architectures': is missing: this file describes a quantisation" "$corpus/config_json/quantisation"
show 2 "$work/none: could not open it" "$work/none"
show 2 'README.md: is no model: neither a GGUF file, nor a config.json' "$source/README.md"
printf '{"a": ' >"$work/half.json"
show 2 'no valid JSON' "$work/half.json"
show 2 "$work: is no regular file" "$work"
head -c 100 "$source/models/tiny.gguf" >"$work/cut.gguf"
show 2 "$work/cut.gguf: " "$work/cut.gguf"
sed 's/columns=8 bytes=80/columns=8 bytes=81/' "$corpus/workload/mixed" >"$work/wrong"
show 2 "$work/wrong: tensor 'embed': its size" "$work/wrong"

# What --json prints is JSON, with the keys that launch/model_show.h lists.
"$build/gsrt" model --json "$corpus/config_json/qwen3-moe-fp8" >"$work/json"
python3 - "$work/json" <<'PYTHON' || exit 1
import json, sys
shown = json.load(open(sys.argv[1]))
wanted = ["schema", "name", "architecture", "hash", "layers", "context", "parameters", "weight_bytes",
          "state_bytes_per_position", "state_bytes_per_position_later", "ops", "runs", "missing", "notes"]
if list(shown) != wanted or shown["schema"] != "gsrt-model/1" or len(shown["hash"]) != 32:
    sys.exit("other keys: %s" % list(shown))
PYTHON
echo "gsrt model: 18 files shown or refused"
