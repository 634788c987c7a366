"""The whole text of each refusal of a .tflite file, kept in a file beside the tests.

``python -m tests.convert.tflite_refusal_texts`` writes the file anew; read what differs.
"""

from __future__ import annotations

from pathlib import Path

from tests.convert import test_refusals_tflite_ops, test_tflite_refusals
from tests.convert.hostile_tflite import HOSTILE
from tinyrt.errors import TinyrtError
from tinyrt.interpreter import Interpreter

FILE = Path(__file__).with_suffix(".txt")
TABLES = (test_tflite_refusals.BROKEN, HOSTILE, test_refusals_tflite_ops.BROKEN)
CASES = {name: case[0] for table in TABLES for name, case in table.items()}


def text_of(data: bytes) -> str:
    """What is said about a file that is refused."""
    try:
        Interpreter(model_content=data, backend="reference").allocate_tensors()
    except TinyrtError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("the file is taken")


def kept_texts() -> dict[str, str]:
    """Name of a case -> what the file has for it."""
    blocks = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    return dict(block.split("\n", 1) for block in blocks)


if __name__ == "__main__":
    texts = (f"{name}\n{text_of(data)}\n" for name, data in CASES.items())
    FILE.write_text("\n".join(texts), encoding="utf-8")
