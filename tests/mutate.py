"""``python -m tests.mutate [COUNT]``: damaged ONNX and .tflite files give only ``TinyrtError``.

Bytes of small valid models are changed, removed, repeated or cut off, from a seed.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

from tests.convert.onnx_build import OnnxModel
from tests.convert.test_onnx_forms import CASES as FORMS
from tests.graphs import small_cnn
from tinyrt.api import open_model
from tinyrt.convert.tflite_writer import write_tflite
from tinyrt.errors import TinyrtError
from tinyrt.quantize.config import QuantizationWarning


def quantised() -> bytes:
    """A convolution and a product between roundings, their weights in integers."""
    m = OnnxModel(13)
    grid, plain = (m.const(0.1), m.const(3, np.int8)), (m.const(0.1), m.const(0, np.int8))
    weights, columns = (m.const(m.rng.integers(-9, 9, s), np.int8) for s in ((4, 3, 3, 3), (6, 5)))
    w = m.op("DequantizeLinear", weights, m.weights(4, low=0.1), m.const([0] * 4, np.int8), axis=0)
    x = m.op("DequantizeLinear", m.op("QuantizeLinear", m.input(1, 3, 8, 8), *grid), *grid)
    y = m.op("QuantizeLinear", m.op("Relu", m.op("Conv", x, w, m.weights(4))), *grid)
    y = m.op("QLinearMatMul", y, *grid, columns, *plain, *grid)
    return m.model(m.op("DequantizeLinear", y, *grid)).SerializeToString()


PICKED = ("a_loop_of_three", "a_branch_by_a_known_condition", "GRU_reverse_plain", "Resize cubic")


def cnn() -> bytes:
    """A small convolutional network in ONNX."""
    m = OnnxModel(13)
    x = m.op("Conv", m.input(1, 3, 8, 8), m.weights(4, 3, 3, 3), m.weights(4), pads=[1, 1, 1, 1])
    x = m.op("Relu", m.op("BatchNormalization", x, *(m.weights(4, low=0.1) for _ in range(4))))
    x = m.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    shape = m.op("Concat", m.ints(1), m.ints(-1), axis=0)
    y = m.op("Gemm", m.op("Reshape", x, shape), m.weights(64, 5), m.weights(5))
    return m.model(m.op("Softmax", y)).SerializeToString()


def seeds() -> list[tuple[str, bytes]]:
    """File endings and contents to damage."""
    found = [(".tflite", write_tflite(small_cnn())), (".onnx", cnn()), (".onnx", quantised())]
    for name in PICKED:
        build, opset = FORMS[name]
        model = OnnxModel(opset)
        found.append((".onnx", model.model(build(model)).SerializeToString()))
    return found


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one to eight changes."""
    result = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        at, kind = int(rng.integers(len(result))), int(rng.integers(5))
        length = int(rng.integers(1, 9))
        if kind == 0:
            result[at] = int(rng.integers(256))
        elif kind == 1:
            result[at] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del result[at : at + length]
        elif kind == 3:
            result[at:at] = result[at : at + length]
        else:
            result[at : at + length] = rng.bytes(length)
        result = result or bytearray(b"\0")
    return bytes(result[: int(rng.integers(len(result))) + 1] if rng.random() < 0.05 else result)


def run(count: int, seed: int = 0) -> list[str]:
    """What other errors came, with their tracebacks."""
    originals, rng, problems = seeds(), np.random.default_rng(seed), []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            suffix, data = originals[i % len(originals)]
            path = Path(folder) / f"model{suffix}"
            path.unlink(missing_ok=True)
            path.write_bytes(damaged(data, rng))
            try:
                with warnings.catch_warnings(action="ignore", category=QuantizationWarning):
                    open_model(path)
            except TinyrtError:
                continue
            except Exception:
                problems.append(f"file {i} ({suffix}):\n{traceback.format_exc()}")
    return problems


def main() -> int:
    """Print the errors that are no ``TinyrtError``, and their number."""
    count = int(sys.argv[1]) if sys.argv[1:] else 10_000
    problems = run(count)
    for problem in problems[:20]:
        print(problem)
    print(f"{count} files, {len(problems)} other errors")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
