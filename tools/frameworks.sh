#!/usr/bin/env bash
# Carry out the pages for users of the frameworks that are named (extras of pyproject.toml), each with
# the framework itself, in an environment of its own below build/frameworks.
set -euo pipefail
python=${PYTHON:-python3}

for name in "$@"; do
    venv=build/frameworks/$name
    echo "frameworks: $name into $venv"
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --editable ".[$name]" onnxruntime
    "$venv/bin/python" -m tests.frameworks "$name"
done
