"""``python -m tests.mutate [COUNT]``: damaged ONNX and .tflite files give only ``TinyrtError``.

Bytes of small valid models are changed, removed, repeated or cut off, and numbers, shapes and
names of ONNX models exchanged, from a seed.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.convert.onnx_build import OnnxModel
from tests.convert.test_onnx_forms import CASES as FORMS
from tests.convert.tflite_files import FILES
from tests.graphs import small_cnn
from tinyrt.api import open_model
from tinyrt.convert.tflite_writer import write_tflite
from tinyrt.errors import DefectError, TinyrtError
from tinyrt.quantize.config import QuantizationWarning
from tinyrt.quantize.pipeline import quantize_graph


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


def cnn() -> bytes:
    """A small convolutional network in ONNX."""
    m = OnnxModel(13)
    x = m.op("Conv", m.input(1, 3, 8, 8), m.weights(4, 3, 3, 3), m.weights(4), pads=[1, 1, 1, 1])
    x = m.op("Relu", m.op("BatchNormalization", x, *(m.weights(4, low=0.1) for _ in range(4))))
    x = m.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    shape = m.op("Concat", m.ints(1), m.ints(-1), axis=0)
    y = m.op("Gemm", m.op("Reshape", x, shape), m.weights(64, 5), m.weights(5))
    return m.model(m.op("Softmax", y)).SerializeToString()


def tflite_seeds() -> list[bytes]:
    """Contents of .tflite files: networks in float and int8, one with variables, and single ops."""
    m = OnnxModel(17)
    y = m.op("LSTM", m.input(2, 1, 3), m.weights(1, 8, 3), m.weights(1, 8, 2), hidden_size=2)
    with tempfile.TemporaryDirectory() as folder:
        stateful = write_tflite(open_model(m.save(Path(folder), y), sequence_lstm=True))
    net = small_cnn()
    samples = np.random.default_rng(0).standard_normal((16, *net.input_values[0].shape[1:]))
    int8 = quantize_graph(net, samples.astype(np.float32))
    return [write_tflite(net), write_tflite(int8), stateful, *FILES.values()]


def onnx_seeds() -> list[bytes]:
    """Contents of ONNX files."""
    found = [cnn(), quantised()]
    for build, opset in FORMS.values():
        model = OnnxModel(opset)
        found.append(model.model(build(model)).SerializeToString())
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


NUMBERS = (-(2**63), -(2**31), -7, -1, 0, 1, 2, 3, 255, 65537, 2**31 - 1, 2**62)
REALS = (float("nan"), float("inf"), -1e30, -1.0, 0.0, 1e-30, 0.5, 1e30)


def altered(data: bytes, rng: np.random.Generator) -> bytes:
    """An ONNX file that is whole, one to three of its numbers or names changed."""
    model = onnx.ModelProto.FromString(data)
    for _ in range(int(rng.integers(1, 4))):
        node = model.graph.node[int(rng.integers(len(model.graph.node)))]
        kind = int(rng.integers(4))
        if kind == 0 and node.attribute:
            _alter_attribute(node.attribute[int(rng.integers(len(node.attribute)))], rng)
        elif kind == 1 and model.graph.initializer:
            tensors = model.graph.initializer
            _alter_constant(tensors[int(rng.integers(len(tensors)))], rng)
        elif kind == 2 and node.input:
            names = [name for other in model.graph.node for name in (*other.input, *other.output)]
            node.input[int(rng.integers(len(node.input)))] = str(rng.choice(names))
        elif node.input:
            del node.input[int(rng.integers(len(node.input)))]
    return model.SerializeToString()


def _alter_attribute(attribute: onnx.AttributeProto, rng: np.random.Generator) -> None:
    number = int(rng.choice(np.array(NUMBERS, np.int64)))
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = number
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = float(rng.choice(REALS))
    elif attribute.type == onnx.AttributeProto.STRING:
        attribute.s = b"other"
    elif attribute.ints:
        at = int(rng.integers(len(attribute.ints)))
        if rng.random() < 0.3:
            del attribute.ints[at]
        else:
            attribute.ints[at] = number


def _alter_constant(tensor: onnx.TensorProto, rng: np.random.Generator) -> None:
    """Another number in it, or another shape."""
    array = numpy_helper.to_array(tensor).copy()
    if rng.random() < 0.3:
        shapes = [array.reshape(-1), array[None], array.reshape(-1)[:0]]
        array = shapes[int(rng.integers(3))]
    elif array.size:
        choices = np.array(REALS if array.dtype.kind == "f" else NUMBERS)
        at = int(rng.integers(array.size))
        with np.errstate(all="ignore"):
            array.reshape(-1)[at] = rng.choice(choices).astype(array.dtype)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def run(count: int, seed: int = 0) -> list[str]:
    """What other errors came, and what no check foresaw, with their tracebacks."""
    kinds = ((".onnx", onnx_seeds()), (".tflite", tflite_seeds()))
    rng, problems = np.random.default_rng(seed), []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            suffix, originals = kinds[i % 2]
            data = originals[i // 2 % len(originals)]
            path = Path(folder) / f"model{suffix}"
            path.unlink(missing_ok=True)
            change = altered if suffix == ".onnx" and rng.random() < 0.5 else damaged
            path.write_bytes(change(data, rng))
            try:
                with warnings.catch_warnings(action="ignore", category=QuantizationWarning):
                    open_model(path)
            except DefectError:
                problems.append(f"file {i} ({suffix}):\n{traceback.format_exc()}")
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
