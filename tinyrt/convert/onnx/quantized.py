"""QuantizeLinear and DequantizeLinear, and the ops that ONNX defines by them.

``QLinearConv`` and its like are imported as what they stand for: DequantizeLinear on every operand,
the float op, QuantizeLinear. ``EXPANSIONS`` has the nodes of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tinyrt.convert.onnx.call import Call, Operand
from tinyrt.convert.onnx.grid import (
    OFFSETS,
    SIGNED,
    Dequantized,
    Grid,
    Quantized,
    checked_scale,
)
from tinyrt.convert.onnx.proto import OnnxNode
from tinyrt.convert.onnx.weights import DTYPES, Array, element_type
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value
from tinyrt.ops.shared.spec import limits_of

MICROSOFT = "com.microsoft"
"""The domain of the quantised ops that onnxruntime adds."""


def _grid(call: Call, shape: Sequence[int], dtype: str | None) -> Grid:
    """Scale and zero point, inputs 1 and 2 of the node, for a tensor of that shape."""
    if call.node.get_int("block_size", 0):
        raise UnsupportedError(
            "scales per block",
            expected="one scale, or one per channel",
            hint="quantise the model per tensor or per channel",
        )
    scale = checked_scale(call.array(1, "the scale"))
    zero_point = call.optional_array(2, "the zero point")
    if zero_point is None:
        zero_point = np.zeros(scale.shape, dtype or "uint8")
    if zero_point.size != scale.size:
        raise ModelFormatError(
            f"{scale.size} scales and {zero_point.size} zero points", expected="as many"
        )
    axis: int | None = None
    if scale.size > 1:
        axis = call.node.get_int("axis", 1)
        axis = axis + len(shape) if axis < 0 else axis
        if not 0 <= axis < len(shape) or shape[axis] != scale.size or scale.ndim > 1:
            raise ModelFormatError(
                f"{scale.size} scales along axis {axis} of {list(shape)}",
                expected="one scale, or one per slice",
            )
    return Grid(scale.reshape(-1), zero_point.reshape(-1), dtype or zero_point.dtype.name, axis)


def quantize_linear(call: Call) -> Operand:
    """``clip(round(x / scale) + zero_point)``: the real value on the grid, and the grid."""
    to = call.node.get_int("output_dtype", 0)
    dtype = None
    if to and not call.has(2):
        dtype = DTYPES.get(to, element_type(to))
    given = call.optional_array(2, "the zero point")
    if given is not None:
        dtype = given.dtype.name
    if (dtype or "uint8") not in OFFSETS:
        raise UnsupportedError(
            f"a tensor is quantised to {dtype}",
            expected=", ".join(OFFSETS),
            hint="quantise the model to 8 or 16 bits",
        )
    grid = _grid(call, call.shape(0), dtype)
    if call.is_constant_input(0):
        return _stored(call.array(0), grid)
    return Quantized(_on_grid(call, call.value(0), grid), grid)


def _stored(real: Array, grid: Grid) -> Array:
    scale, zero_point = grid.along(real.ndim)
    limits = np.iinfo(grid.dtype)
    steps = np.rint(np.asarray(real, np.float32) / scale) + zero_point.astype(np.float64)
    return np.asarray(np.clip(steps, limits.min, limits.max), grid.dtype)


def _on_grid(call: Call, x: Value, grid: Grid) -> Value:
    """``x`` rounded to the grid."""
    q, dtype = grid.params(), SIGNED[grid.dtype]
    low, high = limits_of(dtype)
    if q is None or q.axis is not None or not low <= q.zero_point <= high:
        raise UnsupportedError(
            "an activation has several scales",
            tensor=x.describe(),
            expected="one scale and one zero point per activation",
            hint="quantise activations per tensor",
        )
    return call.emit("fake_quantize", x, scale=q.scale, zero_point=q.zero_point, dtype=dtype)


def dequantize_linear(call: Call) -> Operand:
    """``(q - zero_point) * scale``."""
    x = call.operand(0)
    if isinstance(x, Value):
        return _scaled(call, x, 1.0, _grid(call, x.shape, "int32"))
    grid = _grid(call, x.shape, _integer_type(x))
    if not isinstance(x, Quantized):
        scale, zero_point = grid.along(x.ndim)
        # Differences of 32-bit integers are exact in float64; the product is rounded once.
        steps = x.astype(np.float64) - zero_point.astype(np.float64)
        real = (steps * scale.astype(np.float64)).astype(np.float32)
        return Dequantized.of(real, grid) if grid.dtype in OFFSETS else real
    if x.grid is None:
        return _on_grid(call, x.value, grid)
    return x.value if x.grid.equals(grid) else _scaled(call, x.value, x.grid, grid)


def _integer_type(x: Array | Quantized) -> str | None:
    if isinstance(x, Quantized):
        return x.grid.dtype if x.grid is not None else None
    if x.dtype.kind not in "iu":
        raise ModelFormatError(f"the operand is {x.dtype.name}", expected="integers")
    return x.dtype.name


def _scaled(call: Call, x: Value, source: Grid | float, target: Grid) -> Value:
    """Integers ``q``, stored as real values, with another scale and zero point.

    ``x = t * (q - u)`` of the source grid becomes ``s * (q - z)`` of the target grid.
    """
    t, u = (source.along(1)) if isinstance(source, Grid) else (np.float32(source), np.zeros(()))
    s, z = target.along(len(x.shape))
    factor = np.asarray(s / np.asarray(t, np.float32), np.float32)
    shift = np.asarray(s * (np.asarray(u, np.float64) - z.astype(np.float64)), np.float32)
    if np.any(factor != 1):
        constant = call.constant(f"{call.result}.factor", factor)
        x = call.emit("mul", x, constant, name=f"{call.result}.scaled" if shift.any() else "")
    if np.any(shift != 0):
        x = call.emit("add", x, call.constant(f"{call.result}.shift", shift))
    return x


def dynamic_quantize_linear(call: Call) -> Sequence[Operand]:
    """Quantisation whose scale and zero point are computed at run time: here it is skipped.

    The output is the input itself, with scale 1 and zero point 0, and nothing is rounded. A later
    product with the scale gives the exact value, which the file's integers only approximate.
    """
    grid = Grid(np.ones(1, np.float32), np.zeros(1, np.uint8), "uint8")
    one, zero = np.ones((), np.float32), np.zeros((), np.uint8)
    return [Quantized(call.value(0), grid), one, zero]


def _node(op: str, inputs: Sequence[str], output: str, **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(op, list(inputs), [output], name=output, **attrs)


class _Body:
    """The nodes that an op stands for, with its own inputs and attributes."""

    def __init__(self, node: OnnxNode) -> None:
        self.node = node
        self.nodes: list[onnx.NodeProto] = []

    def name(self, i: int) -> str:
        """The name of input ``i``, empty where it is absent."""
        return self.node.inputs[i] if i < len(self.node.inputs) else ""

    def real(self, i: int, axis: int = 0, names: Sequence[str] = ()) -> str:
        """Input ``i``, whose scale and zero point follow it, as real numbers."""
        x, scale, zero_point = names or (self.name(i), self.name(i + 1), self.name(i + 2))
        output = f"{self.node.outputs[0]}/real{i}"
        self.nodes.append(_node("DequantizeLinear", (x, scale, zero_point), output, axis=axis))
        return output

    def bias(self, i: int, x_scale: str, w_scale: str) -> str:
        """Input ``i``, integers in steps of the product of both scales; empty where absent."""
        if not self.name(i):
            return ""
        product = f"{self.node.outputs[0]}/bias_scale"
        self.nodes.append(_node("Mul", (x_scale, w_scale), product))
        return self.real(i, names=(self.name(i), product, ""))

    def op(self, op: str, inputs: Sequence[str], keep: Sequence[str] = (), **attrs: Any) -> str:
        """A float op with the attributes named in ``keep``; its output's name."""
        output = f"{self.node.outputs[0]}/{op}"
        proto = _node(op, inputs, output, **attrs)
        for name in keep:
            if name in self.node.attributes:
                proto.attribute.append(self.node.attributes[name])
        self.nodes.append(proto)
        return output

    def quantized(self, x: str, scale: int) -> list[onnx.NodeProto]:
        """All nodes, the last of which brings ``x`` to the scale, input number ``scale``."""
        inputs = (x, self.name(scale), self.name(scale + 1))
        return [*self.nodes, _node("QuantizeLinear", inputs, self.node.outputs[0])]

    def ended(self) -> list[onnx.NodeProto]:
        """All nodes, the last of which has the op's own output."""
        self.nodes[-1].output[0] = self.node.outputs[0]
        return self.nodes


WINDOW = (
    *("auto_pad", "ceil_mode", "count_include_pad", "dilations", "group", "kernel_shape"),
    *("pads", "strides"),
)
"""Attributes of ops with a window."""


def _qlinear_conv(node: OnnxNode) -> list[onnx.NodeProto]:
    b = _Body(node)
    operands = (b.real(0), b.real(3), b.bias(8, b.name(1), b.name(4)))
    return b.quantized(b.op("Conv", operands, WINDOW), 6)


def _qlinear_matmul(node: OnnxNode) -> list[onnx.NodeProto]:
    b = _Body(node)
    return b.quantized(b.op("MatMul", (b.real(0), b.real(3, axis=-1))), 6)


def _qgemm(node: OnnxNode) -> list[onnx.NodeProto]:
    b = _Body(node)
    by_row = "transB" in node.attributes and node.get_int("transB", 0) != 0
    operands = (b.real(0), b.real(3, axis=0 if by_row else 1), b.bias(6, b.name(1), b.name(4)))
    y = b.op("Gemm", operands, ("alpha", "transA", "transB"))
    return b.quantized(y, 7) if b.name(7) else b.ended()


def _integer_product(op: str, axis: int) -> Callable[[OnnxNode], list[onnx.NodeProto]]:
    """A product of integers, without their zero points."""

    def expand(node: OnnxNode) -> list[onnx.NodeProto]:
        b = _Body(node)
        one = f"{node.outputs[0]}/one"
        b.nodes.append(_node("Constant", (), one, value_float=1.0))
        x = b.real(0, names=(b.name(0), one, b.name(2)))
        w_scale, w_zero_point = one, b.name(3)
        w = b.real(1, axis, (b.name(1), w_scale, w_zero_point))
        b.op(op, (x, w), WINDOW if op == "Conv" else ())
        return b.ended()

    return expand


def _binary(op: str) -> Callable[[OnnxNode], list[onnx.NodeProto]]:
    def expand(node: OnnxNode) -> list[onnx.NodeProto]:
        b = _Body(node)
        return b.quantized(b.op(op, (b.real(0), b.real(3))), 6)

    return expand


def _unary(op: str, *keep: str) -> Callable[[OnnxNode], list[onnx.NodeProto]]:
    def expand(node: OnnxNode) -> list[onnx.NodeProto]:
        if node.get_int("channels_last", 0):
            raise UnsupportedError(
                f"{node.op} with channels last",
                expected="channels_last = 0",
                hint="save the model without onnxruntime's layout optimisation",
            )
        b = _Body(node)
        return b.quantized(b.op(op, (b.real(0),), keep), 3)

    return expand


def _qlinear_concat(node: OnnxNode) -> list[onnx.NodeProto]:
    b = _Body(node)
    operands = [b.real(i) for i in range(2, len(node.inputs), 3)]
    return b.quantized(b.op("Concat", operands, ("axis",)), 0)


EXPANSIONS: dict[tuple[str, str], Callable[[OnnxNode], list[onnx.NodeProto]]] = {
    ("", "ConvInteger"): _integer_product("Conv", 0),
    ("", "MatMulInteger"): _integer_product("MatMul", -1),
    ("", "QLinearConv"): _qlinear_conv,
    ("", "QLinearMatMul"): _qlinear_matmul,
    (MICROSOFT, "QGemm"): _qgemm,
    (MICROSOFT, "QLinearAdd"): _binary("Add"),
    (MICROSOFT, "QLinearAveragePool"): _unary("AveragePool", *WINDOW),
    (MICROSOFT, "QLinearConcat"): _qlinear_concat,
    (MICROSOFT, "QLinearGlobalAveragePool"): _unary("GlobalAveragePool"),
    (MICROSOFT, "QLinearLeakyRelu"): _unary("LeakyRelu", "alpha"),
    (MICROSOFT, "QLinearMul"): _binary("Mul"),
    (MICROSOFT, "QLinearSigmoid"): _unary("Sigmoid"),
    (MICROSOFT, "QLinearSoftmax"): _unary("Softmax", "axis"),
}
"""Domain and op type -> the nodes that it stands for."""

QUANTIZED: dict[str, Callable[[Call], Operand]] = {
    "DequantizeLinear": dequantize_linear,
    "QuantizeLinear": quantize_linear,
}
"""Ops between integers and real numbers; onnxruntime's domain has them too."""

MOVES = frozenset(
    {
        *("Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "MaxPool", "Pad"),
        *("Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose"),
        *("Unsqueeze", "ReduceMax", "ReduceMin", "Resize", "Upsample"),
    }
)
"""Ops that move integers and leave their values as they are."""

PLACES = frozenset({"ArgMax", "ArgMin", "Shape", "Size"})
"""Ops whose results do not depend on what integers stand for."""
