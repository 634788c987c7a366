"""``python -m tests.frameworks NAME ...``: pages carried out with the frameworks themselves.

And models of transformers and Keras as their users export them, beside onnxruntime and Keras: what
tinyrt answers in float32, and the quantised model's signal-to-noise ratio.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

from tests.frameworks.pages import PAGES, carried_out, packages, program

MODELS = {"transformers": "tests.frameworks.hugging_face", "keras": "tests.frameworks.keras_models"}
"""Framework -> the module whose ``check`` compares its models."""


def main(names: list[str]) -> None:
    """Run the pages that need the packages, and print what they print."""
    for name in names:
        for page in (page for page in PAGES if packages(page) == {name}):
            with tempfile.TemporaryDirectory() as folder:
                print(f"{page}:\n{carried_out(program(page), Path(folder))}", flush=True)
        if name in MODELS:
            with tempfile.TemporaryDirectory() as folder:
                import_module(MODELS[name]).check(Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
