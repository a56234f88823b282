#!/bin/sh
# serve.sh FOLDER BACKEND PYTHON...: for each interpreter, what it takes from the folder is installed into an empty
# environment and serves a compaction there, with that backend.
set -eu
folder=$1 backend=$2
shift 2
for python in "$@"; do
    environment=$(mktemp -d)/empty
    "$python" -m venv "$environment"
    scripts=$environment/bin
    [ -d "$scripts" ] || scripts=$environment/Scripts
    # In two steps, so that it is the file from the folder whatever the index has.
    "$scripts/python" -m pip install --quiet --no-deps --no-index --find-links "$folder" rehydrate
    "$scripts/python" -m pip install --quiet rehydrate
    "$scripts/python" tests/dist/field.py "$backend" "$scripts/rehydrate"
done
