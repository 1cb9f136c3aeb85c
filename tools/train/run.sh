#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds models/tiny.gguf from nothing: corpus, vocabulary, training, export, check. See README.md in this folder.
#
# usage: tools/train/run.sh [work folder, default $TMPDIR/gsrt-train]
# environment: PYTHON (default /usr/bin/python3), MINUTES (time for the training, default 45; the rate schedule adapts to it), OUT (default models/tiny.gguf)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-${TMPDIR:-/tmp}/gsrt-train}
python=${PYTHON:-/usr/bin/python3}
out=${OUT:-$here/../../models/tiny.gguf}
mkdir -p "$work"
# One thread: the gains of a second hardware thread of the same core are lost to two thread pools that spin.
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1

"$python" "$here/corpus.py" --seed 1 --count 50000 --out "$work/train.txt"
"$python" "$here/corpus.py" --seed 2 --count 1000 --out "$work/heldout.txt" --without "$work/train.txt"
"$python" "$here/tokenizer.py" --text "$work/train.txt" --size 1024 --out "$work/vocab.json"
nice -n 19 "$python" "$here/train.py" --text "$work/train.txt" --heldout "$work/heldout.txt" --vocab "$work/vocab.json" \
    --out "$work/model.pt" --steps 2600 --minutes "${MINUTES:-45}" --seed 1
"$python" "$here/export.py" --model "$work/model.pt" --vocab "$work/vocab.json" --out "$out"
"$python" "$here/sample.py" --gguf "$out" --heldout "$work/heldout.txt"
