#!/usr/bin/env bash
# Create the virtual environment $1 and install tinyrt into it, editable, with all that the tests
# and the demo need.
set -euo pipefail
venv=$1
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "setup: tinyrt needs Python 3.11 or later, and '$python' is not." >&2
    echo "  try: make setup PYTHON=/path/to/python3.11" >&2
    exit 1
fi
echo "setup: Python packages into $venv"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
# Only its data files are used, and what it requires would hold back what tinyrt requires.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps 'aeon>=1.0'
