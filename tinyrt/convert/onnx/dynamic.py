"""Dynamic quantisation: integer products whose operands are rounded by the range that they have.

Scales are computed as the model runs, and nothing depends on them but what is rounded. Here nothing
is: products of real numbers with the stored weights are what the file's integers approximate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import helper

from tinyrt.convert.onnx.call import Call, Operand
from tinyrt.convert.onnx.expansion import MICROSOFT, WINDOW, Expansion, stands_for
from tinyrt.convert.onnx.grid import Grid, Quantized
from tinyrt.convert.onnx.proto import OnnxNode


def dynamic_quantize_linear(call: Call) -> Sequence[Operand]:
    """Quantisation whose scale and zero point are computed at run time: here it is skipped.

    The output is the input itself, with scale 1 and zero point 0, and nothing is rounded. A later
    product with the scale gives the exact value, which the file's integers only approximate.
    """
    grid = Grid(np.ones(1, np.float32), np.zeros(1, np.uint8), "uint8")
    one, zero = np.ones((), np.float32), np.zeros((), np.uint8)
    return [Quantized(call.value(0), grid), one, zero]


def _integer_product(op: str, axis: int) -> Callable[[OnnxNode], list[onnx.NodeProto]]:
    """A product of integers, without their zero points."""

    def expand(node: OnnxNode) -> list[onnx.NodeProto]:
        b = Expansion(node)
        x = b.real(0, names=(b.name(0), b.ones(2), b.name(2)))
        w = b.real(1, axis, (b.name(1), b.ones(3), b.name(3)))
        b.op(op, (x, w), WINDOW if op == "Conv" else ())
        return b.ended()

    return expand


def _product_to_float(
    x: Sequence[int], w: Sequence[int], bias: int
) -> Callable[[OnnxNode], list[onnx.NodeProto]]:
    """A product with stored weights, and a bias.

    Args:
        x: inputs that are the first operand: real numbers, or integers, scale and zero point.
        w: weights, their scale and their zero point.
        bias: that input.

    """

    def expand(node: OnnxNode) -> list[onnx.NodeProto]:
        e = Expansion(node)
        first = e.name(x[0]) if len(x) == 1 else e.real(x[0], names=[e.name(i) for i in x])
        y = e.op("MatMul", (first, e.real(w[0], axis=-1, names=[e.name(i) for i in w])))
        if e.name(bias):
            e.op("Add", (y, e.name(bias)))
        return e.ended()

    return expand


def _lstm(node: OnnxNode) -> list[onnx.NodeProto]:
    """An LSTM; its weights are turned, with scales for a direction or for each of their columns."""
    e = Expansion(node)
    sides = 2 if node.get_string("direction", "forward") == "bidirectional" else 1
    prefix = next(name for name in node.outputs if name)
    shape = helper.make_tensor("shape", onnx.TensorProto.INT64, [3], [sides, 1, -1])
    by_side = f"{prefix}/by_side"
    e.nodes.append(stands_for("Constant", (), by_side, value=shape))
    weights = []
    for i, scale in ((1, 8), (2, 10)):
        at = f"{prefix}/weights{i}"
        zero_point = stands_for("Reshape", (e.name(scale + 1), by_side), f"{at}/zero_point")
        e.nodes += [
            zero_point,
            stands_for("Cast", (zero_point.name,), f"{at}/real_zero_point", to=1),
            stands_for("Reshape", (e.name(scale), by_side), f"{at}/scale"),
            stands_for("Cast", (e.name(i),), f"{at}/numbers", to=1),
            stands_for("Sub", (f"{at}/numbers", f"{at}/real_zero_point"), f"{at}/steps"),
            stands_for("Mul", (f"{at}/steps", f"{at}/scale"), f"{at}/real"),
            stands_for("Transpose", (f"{at}/real",), f"{at}/rows", perm=(0, 2, 1)),
        ]
        weights.append(f"{at}/rows")
    names = (e.name(0), *weights, *(e.name(i) for i in range(3, 8)))
    proto = helper.make_node("LSTM", names, [*node.outputs], name=prefix)
    proto.attribute.extend(node.attributes.values())
    return [*e.nodes, proto]


BY_RANGE: dict[tuple[str, str], Callable[[OnnxNode], list[onnx.NodeProto]]] = {
    ("", "ConvInteger"): _integer_product("Conv", 0),
    ("", "MatMulInteger"): _integer_product("MatMul", -1),
    (MICROSOFT, "DynamicQuantizeLSTM"): _lstm,
    (MICROSOFT, "DynamicQuantizeMatMul"): _product_to_float((0,), (1, 2, 3), 4),
    (MICROSOFT, "MatMulIntegerToFloat"): _product_to_float((0, 2, 4), (1, 3, 5), 6),
}
"""Domain and op type -> the nodes that it stands for."""
