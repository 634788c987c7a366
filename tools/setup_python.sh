#!/usr/bin/env bash
# Create the virtual environment $1 and install tinyrt into it, editable, with all that the tests
# and the demo need: in the locked versions, where they were locked for such a Python and machine.
# LOCKED=no takes the newest that fit.
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
locked_for='3.11 Linux x86_64'
running="$("$venv/bin/python" -c 'import platform, sys
print("%d.%d" % sys.version_info[:2], platform.system(), platform.machine())')"
if [ "${LOCKED:-yes}" = yes ] && [ "$running" = "$locked_for" ]; then
    # By the variable it holds for the packages that build this one, too.
    export PIP_CONSTRAINT="$PWD/constraints.txt"
else
    echo "setup: the newest versions that fit; constraints.txt is for Python $locked_for" >&2
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
# Of aeon only data files are used, of cosmic-ray only what changes source text: what they require
# would hold back what tinyrt requires, or come for nothing.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    'aeon>=1.0' 'cosmic-ray>=8.7'
