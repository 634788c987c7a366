"""Fuzz target for Atheris: ``python -m tests.fuzz.fuzz_tflite CORPUS_FOLDER``.

Needs ``pip install atheris``. Seed the folder with small .tflite files.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["tinyrt", "tflite", "flatbuffers"]):
    from tests.fuzz.target import open_and_run


def main() -> None:
    """Run until an exception that is none of ours, or until stopped."""
    atheris.Setup(sys.argv, lambda data: open_and_run(data, backend="reference"))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
