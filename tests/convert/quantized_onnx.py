"""ONNX models as onnxruntime quantises them, and how integer ops compare with what they round."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_static,
)

from tests.convert.onnx_build import OnnxModel
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.ir import Graph, Value
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.shared.evaluate import evaluate, reference_kernel
from tinyrt.quantize.imported.prequantized import quantize_on_own_grids

FORMATS = {"qdq": QuantFormat.QDQ, "qoperator": QuantFormat.QOperator}
DTYPES = {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8, "int16": QuantType.QInt16}


class Reader(CalibrationDataReader):
    def __init__(self, name: str, samples: np.ndarray) -> None:
        self.feeds = iter([{name: x[None]} for x in samples])

    def get_next(self):
        return next(self.feeds, None)


def quantized(
    model: onnx.ModelProto,
    path: Path,
    samples: np.ndarray,
    *,
    form: str = "qdq",
    activations: str = "uint8",
    per_channel: bool = True,
    weights: str = "int8",
    reduce_range: bool = False,
) -> Path:
    """The model as onnxruntime quantises it, at ``path``.

    With ``reduce_range`` weights have 7 bits: the products are exact on every processor.
    """
    logging.getLogger().setLevel(logging.ERROR)
    quantize_static(
        model,
        path,
        Reader(model.graph.input[0].name, samples),
        quant_format=FORMATS[form],
        per_channel=per_channel,
        activation_type=DTYPES[activations],
        weight_type=DTYPES[weights],
        reduce_range=reduce_range,
        extra_options={"ActivationSymmetric": activations == "int16"},
    )
    return path


def residual_net() -> onnx.ModelProto:
    """Convolutions, plain and depthwise, a sum, both poolings, a classifier."""
    m = OnnxModel(15, seed=4)
    x = m.op("Conv", m.input(1, 3, 13, 11), m.weights(8, 3, 3, 3), m.weights(8), pads=[1] * 4)
    x = m.op("MaxPool", m.op("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
    y = m.op("Clip", m.op("Conv", x, m.weights(8, 1, 3, 3), pads=[1] * 4, group=8), *limits(m))
    x = m.op("Relu", m.op("Add", x, m.op("Conv", y, m.weights(8, 8, 1, 1), m.weights(8))))
    x = m.op("Flatten", m.op("GlobalAveragePool", x))
    return m.model(m.op("Gemm", x, m.weights(5, 8), m.weights(5), transB=1))


def limits(m: OnnxModel) -> tuple[str, str]:
    return m.const(0.0), m.const(6.0)


def both(path: Path) -> tuple[Graph, Graph]:
    """The float graph that rounds as the file says, and the integer graph."""
    rounding = optimize(read_onnx(path))
    return rounding, quantize_on_own_grids(rounding)


def worst_steps(rounding: Graph, integers: Graph, feeds: dict[str, np.ndarray]) -> dict[str, int]:
    """Op -> greatest error in steps of its output, each on what the float graph feeds it."""
    real: dict[str, np.ndarray] = {}
    evaluate(rounding, feeds, lambda value, array: real.__setitem__(value.name, array))
    computed: dict[str, np.ndarray] = {}
    worst: dict[str, int] = {}

    def held(value: Value) -> np.ndarray | None:
        if value.data is not None or value.name not in real:
            return computed.get(value.name) if value.data is None else value.data
        if value.q is None:
            return real[value.name]
        scale = np.float32(value.q.scale)
        return quantize_array(real[value.name], scale, value.q.zero_point, value.dtype)

    for node in integers.bound():
        operands = [None if v is None else held(v) for v in node.inputs]
        result = reference_kernel(node)(*operands)
        computed[node.output.name] = result
        wanted = held(node.output) if node.output.name in real else result
        error = int(np.abs(result.astype(np.int64) - wanted.astype(np.int64)).max())
        worst[node.op] = max(worst.get(node.op, 0), error)
    return worst


def file_grids(path: Path) -> set[tuple[float, int]]:
    """Scale and zero point, in int8 or int16, of every activation that the file quantises."""
    model = onnx.load(path)
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    grids = set()
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and node.input[0] not in constants:
            scale, zero_point = (constants[n] for n in node.input[1:3])
            offset = {"uint8": 128, "uint16": 32768}.get(zero_point.dtype.name, 0)
            grids.add((float(scale), int(zero_point) - offset))
    return grids
