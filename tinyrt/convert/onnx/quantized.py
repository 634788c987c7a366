"""QuantizeLinear and DequantizeLinear, and the ops that ONNX defines by them.

``QLinearConv`` and its like are imported as what they stand for: DequantizeLinear on every operand,
the float op, QuantizeLinear. ``EXPANSIONS`` has the nodes of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx

from tinyrt.convert.onnx.call import Call, Operand
from tinyrt.convert.onnx.dynamic import BY_RANGE, dynamic_quantize_linear
from tinyrt.convert.onnx.expansion import MICROSOFT, WINDOW, Expansion
from tinyrt.convert.onnx.grid import (
    OFFSETS,
    SIGNED,
    Dequantized,
    Grid,
    Quantized,
    checked_scale,
    tensor_params,
)
from tinyrt.convert.onnx.proto import OnnxNode
from tinyrt.convert.onnx.weights import DTYPES, Array, element_type
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Node, Value


def _grid(call: Call, shape: Sequence[int], dtype: str) -> Grid:
    """Scale and zero point, inputs 1 and 2 of the node, for integers of that shape and type."""
    if call.node.get_int("block_size", 0):
        raise UnsupportedError(
            "scales per block",
            expected="one scale, or one per channel",
            hint="quantise the model per tensor or per channel",
        )
    scale = checked_scale(call.array(1, "the scale"))
    zero_point = call.optional_array(2, "the zero point")
    if zero_point is None:
        zero_point = np.zeros(scale.shape, dtype)
    if zero_point.dtype.name != dtype:
        raise ModelFormatError(
            f"integers of {dtype}, and a zero point of {zero_point.dtype.name}",
            expected="one element type",
        )
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
    return Grid(scale.reshape(-1), zero_point.reshape(-1), dtype, axis)


def quantize_linear(call: Call) -> Operand:
    """``clip(round(x / scale) + zero_point)``: the real value on the grid, and the grid."""
    to = call.node.get_int("output_dtype", 0)
    given = call.optional_array(2, "the zero point")
    dtype = "uint8" if given is None else given.dtype.name
    if to:
        dtype = DTYPES.get(to, element_type(to))
    if dtype not in OFFSETS:
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
    if q is None or q.axis is not None:
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
    if isinstance(x.grid, str):
        return _on_grid(call, x.value, grid)
    if grid.axis is None and (lookup := _lookup_of(call, x.value)) is not None:
        return _looked_up(call, lookup, grid)
    return x.value if x.grid.equals(grid) else _scaled(call, x.value, x.grid, grid)


def _lookup_of(call: Call, x: Value) -> Node | None:
    """The embedding that picks ``x`` from a table of integers, if one does."""
    node = call.builder.producers.get(x.name)
    if node is None or node.op != "embedding":
        return None
    return node if call.builder.values[node.inputs[0]].is_constant else None


def _looked_up(call: Call, lookup: Node, grid: Grid) -> Value:
    """Rows of the table's real values, instead of real values of its rows."""
    table, indices = (call.builder.values[name] for name in lookup.inputs)
    assert table.data is not None, "its table is a constant"
    scale, zero_point = grid.along(1)
    real = (table.data - zero_point.astype(np.float32)) * scale
    rows = Dequantized.of(np.asarray(real, np.float32), grid)
    named = call.constant(f"{call.result}.rows", rows, tensor_params(rows))
    return call.emit("embedding", named, indices)


def _integer_type(x: Array | Quantized) -> str:
    if isinstance(x, Quantized):
        return x.dtype
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


def _qlinear_conv(node: OnnxNode) -> list[onnx.NodeProto]:
    b = Expansion(node)
    operands = (b.real(0), b.real(3), b.bias(8, b.name(1), b.name(4)))
    return b.quantized(b.op("Conv", operands, WINDOW), 6)


def _qlinear_matmul(node: OnnxNode) -> list[onnx.NodeProto]:
    b = Expansion(node)
    return b.quantized(b.op("MatMul", (b.real(0), b.real(3, axis=-1))), 6)


def _qgemm(node: OnnxNode) -> list[onnx.NodeProto]:
    b = Expansion(node)
    by_row = node.get_int("transB", 0) != 0
    operands = (b.real(0), b.real(3, axis=0 if by_row else 1), b.bias(6, b.name(1), b.name(4)))
    y = b.op("Gemm", operands, ("alpha", "transA", "transB"))
    return b.quantized(y, 7) if b.name(7) else b.ended()


def _binary(op: str) -> Callable[[OnnxNode], list[onnx.NodeProto]]:
    def expand(node: OnnxNode) -> list[onnx.NodeProto]:
        b = Expansion(node)
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
        b = Expansion(node)
        return b.quantized(b.op(op, (b.real(0),), keep), 3)

    return expand


def _qlinear_concat(node: OnnxNode) -> list[onnx.NodeProto]:
    b = Expansion(node)
    operands = [b.real(i) for i in range(2, len(node.inputs), 3)]
    return b.quantized(b.op("Concat", operands, ("axis",)), 0)


EXPANSIONS: dict[tuple[str, str], Callable[[OnnxNode], list[onnx.NodeProto]]] = {
    **BY_RANGE,
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

QUANTIZED: dict[str, Callable[[Call], Sequence[Operand]]] = {
    "DequantizeLinear": lambda call: [dequantize_linear(call)],
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "QuantizeLinear": lambda call: [quantize_linear(call)],
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
