"""Ops of .tflite files that the graph holds as several, or as none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.codec import (
    Operands,
    activation_of,
    constant_ints,
    only,
    operand,
    padding_of,
)
from tinyrt.convert.tflite.constants import (
    broadcast_args,
    densify,
    fill,
    number_range,
    zeros_like,
)
from tinyrt.convert.tflite.detection import DETECTION, detection_postprocess
from tinyrt.convert.tflite.index import reverse, strided_slice
from tinyrt.convert.tflite.one_hot import one_hot
from tinyrt.convert.tflite.parts import Parts
from tinyrt.convert.tflite.picking import embedding_lookup, gather
from tinyrt.convert.tflite.scatter import scatter_nd
from tinyrt.convert.tflite.sequence import reverse_sequence
from tinyrt.convert.tflite.topk import topk_v2
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Shape, Value
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

Expand = Callable[[Parts, Any, Operands, Sequence[Value]], None]

CLAMPS = {spec.traits.activation: name for name, spec in OPS.items() if spec.traits.activation}
"""Fused activation -> the op that it is on its own."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """How to read such an op: the schema table of its options, and what appends its parts."""

    table: str | None
    expand: Expand


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ModelFormatError(
            f"axis {axis} of {rank} dimensions", expected=f"{-rank} to {rank - 1}"
        )
    return axis % rank


def _check_count(count: int, expected: int, what: str) -> None:
    if count != expected:
        raise ModelFormatError(f"{count} {what}", expected=str(expected))


def _pack(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Inputs with a dimension of one more, joined along it."""
    y = only(outputs)
    axis = _axis(options.Axis(), len(operand(inputs, 0).shape) + 1)
    rows = []
    for i in range(len(inputs)):
        x = operand(inputs, i)
        shape = (*x.shape[:axis], 1, *x.shape[axis:])
        rows.append(parts.reshape(x, parts.new(f"{y.name}/row_{i}", x, shape)))
    parts.add("concatenation", rows, y, ConcatenationAttrs(axis))


def _cut(
    parts: Parts, x: Value, y: Value, axis: int, start: int, size: int, *, drop: bool = False
) -> None:
    begin = tuple(start if i == axis else 0 for i in range(len(x.shape)))
    sizes = tuple(size if i == axis else n for i, n in enumerate(x.shape))
    attrs = SliceAttrs(begin, sizes, (1,) * len(sizes), (axis,) if drop else ())
    parts.add("slice", [x], y, attrs)


def _unpack(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    x = operand(inputs, 0)
    axis = _axis(options.Axis(), len(x.shape))
    _check_count(len(outputs), x.shape[axis], "outputs")
    for i, y in enumerate(outputs):
        _cut(parts, x, y, axis, i, 1, drop=True)


def _split(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Equal parts; the axis comes first."""
    del options
    x, axes = operand(inputs, 1), constant_ints(inputs, 0, "the axis")
    _check_count(len(axes), 1, "axes")
    axis = _axis(axes[0], len(x.shape))
    size, rest = divmod(x.shape[axis], len(outputs))
    _check_count(rest, 0, "elements are left over")
    for i, y in enumerate(outputs):
        _cut(parts, x, y, axis, i * size, size)


def _split_v(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Parts of given sizes; one size may be -1, for the rest."""
    del options
    x, sizes = operand(inputs, 0), list(constant_ints(inputs, 1, "sizes"))
    axes = constant_ints(inputs, 2, "the axis")
    _check_count(len(axes), 1, "axes")
    _check_count(len(sizes), len(outputs), "sizes")
    axis = _axis(axes[0], len(x.shape))
    if sizes.count(-1) == 1:
        at = sizes.index(-1)
        sizes[at] = x.shape[axis] - sum(sizes) - 1
    start = 0
    for size, y in zip(sizes, outputs, strict=True):
        _cut(parts, x, y, axis, start, size)
        start += size
    _check_count(start, x.shape[axis], "elements in all parts")


def _gather_nd(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Constant indices into the first dimensions, taken as one; or those that are computed."""
    del options
    x, indices, y = operand(inputs, 0), operand(inputs, 1), only(outputs)
    if not indices.is_constant:
        parts.add("gather_nd", [x, indices], y, GatherNdAttrs())
        return
    flat = constant_ints(inputs, 1, "indices")
    depth = indices.shape[-1] if indices.shape else 0
    if not 1 <= depth <= len(x.shape):
        raise ModelFormatError(
            f"indices {indices.describe()}",
            expected=f"1 to {len(x.shape)} numbers for each element",
        )
    indexed = x.shape[:depth]
    rows = np.asarray(flat, np.int64).reshape(-1, depth)
    if (rows < 0).any() or (rows >= indexed).any():
        raise ModelFormatError("an index lies outside", expected=f"below {list(indexed)}")
    places = np.asarray(np.ravel_multi_index(tuple(rows.T), indexed))
    joined = parts.new(f"{y.name}/rows", x, (math.prod(indexed), *x.shape[depth:]))
    parts.reshape(x, joined)
    attrs = GatherAttrs(0, tuple(int(i) for i in places), indices.shape[:-1])
    parts.add("gather", [joined], y, attrs)


def _require_float(x: Value, builtin: str) -> None:
    if x.dtype is not DType.FLOAT32:
        raise UnsupportedError(
            f"{builtin} on {x.dtype.value}", tensor=x.describe(), expected="float32"
        )


def _before_activation(parts: Parts, options: Any, y: Value) -> Value:
    """The op's result before its fused activation."""
    return y if activation_of(options) == "NONE" else parts.new(f"{y.name}/real", y)


def _activate(parts: Parts, options: Any, inner: Value, y: Value) -> None:
    """The fused activation, if there is one."""
    if inner is not y:
        parts.add(CLAMPS[activation_of(options)], [inner], y)


def _l2_pool(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """``sqrt(average(x**2))``."""
    x, y = operand(inputs, 0), only(outputs)
    _require_float(x, "L2_POOL_2D")
    target = _before_activation(parts, options, y)
    squares = parts.add("square", [x], parts.new(f"{y.name}/squares", x))
    window = Pool2dAttrs(
        kernel=(options.FilterHeight(), options.FilterWidth()),
        stride=(options.StrideH(), options.StrideW()),
        padding=padding_of(options),
    )
    means = parts.add("average_pool2d", [squares], parts.new(f"{y.name}/means", y), window)
    parts.add("sqrt", [means], target)
    _activate(parts, options, target, y)


def _select(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """A condition of one dimension chooses rows; otherwise all shapes are equal."""
    del options
    condition, x, other = (operand(inputs, i) for i in range(3))
    y = only(outputs)
    if len(condition.shape) == 1 and len(x.shape) > 1:
        shape = (*condition.shape, *(1,) * (len(x.shape) - 1))
        wide = parts.new(f"{y.name}/condition", condition, shape)
        condition = parts.reshape(condition, wide)
    parts.add("select_v2", [condition, x, other], y)


def _reduce_logic(op: str) -> Expand:
    """Truth values as 0 and 1, their least or greatest, and back."""

    def expand(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
        x, y = operand(inputs, 0), only(outputs)
        axes = constant_ints(inputs, 1, "axes")
        numbers = Value(f"{y.name}/numbers", DType.FLOAT32, x.shape)
        floats = parts.new(numbers.name, numbers)
        parts.add("cast", [x], floats, CastAttrs(DType.FLOAT32))
        reduced = parts.new(f"{y.name}/found", numbers, y.shape)
        parts.add(op, [floats], reduced, ReduceAttrs(axes, keep_dims=bool(options.KeepDims())))
        parts.add("cast", [reduced], y, CastAttrs(DType.BOOL))

    return expand


def _compare(op: str) -> Expand:
    """Whether elements are equal, or not; of truth values, by logic."""

    def expand(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
        del options
        _check_count(len(inputs), 2, "inputs")
        pair, y = [operand(inputs, 0), operand(inputs, 1)], only(outputs)
        if any(value.dtype is not DType.BOOL for value in pair):
            parts.add(op, pair, y)
            return
        either = parts.add("logical_or", pair, parts.new(f"{y.name}/either", y))
        both = parts.add("logical_and", pair, parts.new(f"{y.name}/both", y))
        apart = parts.add("logical_not", [both], parts.new(f"{y.name}/not_both", y))
        if op == "not_equal":
            parts.add("logical_and", [either, apart], y)
        else:
            one = parts.add("logical_and", [either, apart], parts.new(f"{y.name}/one", y))
            parts.add("logical_not", [one], y)

    return expand


def _add_n(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Sums of two at a time."""
    del options
    total, y = operand(inputs, 0), only(outputs)
    _require_float(total, "ADD_N")
    for i in range(1, len(inputs)):
        target = y if i == len(inputs) - 1 else parts.new(f"{y.name}/sum_{i}", y)
        total = parts.add("add", [total, operand(inputs, i)], target, AddAttrs())
    if len(inputs) == 1:
        parts.reshape(total, y)


def _shape(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """The shape is known: it becomes a constant."""
    del options
    shape = operand(inputs, 0).shape
    parts.define(parts.state_shape(only(outputs), (len(shape),)), shape)


def _expand_dims(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """The same elements with a dimension of one more."""
    del options
    x, axes = operand(inputs, 0), constant_ints(inputs, 1, "the axis")
    _check_count(len(axes), 1, "axes")
    axis = _axis(axes[0], len(x.shape) + 1)
    parts.reshape(x, parts.state_shape(only(outputs), (*x.shape[:axis], 1, *x.shape[axis:])))


def _squeeze(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """The same elements without dimensions of one: those that are named, or all of them."""
    x = operand(inputs, 0)
    named = {
        _axis(int(options.SqueezeDims(i)), len(x.shape)) for i in range(options.SqueezeDimsLength())
    }
    kept = tuple(n for i, n in enumerate(x.shape) if (i not in named if named else n != 1))
    parts.reshape(x, parts.state_shape(only(outputs), kept))


def _blocks(inputs: Operands) -> tuple[Value, tuple[int, ...], list[tuple[int, int]]]:
    """The operand, the block's size along each of its dimensions from the second on, and pairs."""
    x = operand(inputs, 0)
    block = constant_ints(inputs, 1, "the block's size")
    flat = constant_ints(inputs, 2, "paddings or crops")
    if len(flat) != 2 * len(block) or len(block) >= len(x.shape) or min(block, default=1) < 1:
        raise ModelFormatError(
            f"blocks {list(block)} with pairs {list(flat)}", expected="a pair for each dimension"
        )
    return x, block, list(zip(flat[::2], flat[1::2], strict=True))


def _space_to_batch(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Pad, cut into blocks, move the places within a block to the front."""
    del options
    (x, block, pads), y = _blocks(inputs), only(outputs)
    rank = len(x.shape)
    paddings = ((0, 0), *pads, *(((0, 0),) * (rank - 1 - len(block))))
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, paddings, strict=True))
    padded = parts.new(f"{y.name}/padded", x, shape)
    parts.add("pad", [x], padded, PadAttrs(paddings))
    cut: Shape = (shape[0],)
    for n, b in zip(shape[1:], block, strict=False):
        cut += (n // b, b)
    cut += shape[1 + len(block) :]
    blocks = parts.reshape(padded, parts.new(f"{y.name}/blocks", x, cut))
    inner = tuple(range(2, 2 * len(block) + 1, 2))
    outer = tuple(range(1, 2 * len(block), 2))
    perm = (*inner, 0, *outer, *range(2 * len(block) + 1, len(cut)))
    transposed = parts.new(f"{y.name}/moved", x, tuple(cut[i] for i in perm))
    parts.add("transpose", [blocks], transposed, TransposeAttrs(perm))
    rows = (math.prod(block) * shape[0], *(cut[i] for i in outer), *shape[1 + len(block) :])
    parts.reshape(transposed, parts.state_shape(y, rows))


def _batch_to_space(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """The reverse, and a slice."""
    del options
    (x, block, crops), y = _blocks(inputs), only(outputs)
    count = len(block)
    batch = x.shape[0] // math.prod(block)
    cut = (*block, batch, *x.shape[1:])
    blocks = parts.reshape(x, parts.new(f"{y.name}/blocks", x, cut))
    pairs = [i for k in range(count) for i in (count + 1 + k, k)]
    perm = (count, *pairs, *range(2 * count + 1, len(cut)))
    transposed = parts.new(f"{y.name}/moved", x, tuple(cut[i] for i in perm))
    parts.add("transpose", [blocks], transposed, TransposeAttrs(perm))
    grown = tuple(n * b for n, b in zip(x.shape[1:], block, strict=False))
    whole = parts.new(f"{y.name}/whole", x, (batch, *grown, *x.shape[1 + count :]))
    parts.reshape(transposed, whole)
    rest = len(x.shape) - 1 - count
    begin = (0, *(first for first, _ in crops), *(0,) * rest)
    kept = tuple(n - first - last for n, (first, last) in zip(grown, crops, strict=False))
    size = (batch, *kept, *x.shape[1 + count :])
    parts.add("slice", [whole], y, SliceAttrs(begin, size, (1,) * len(size)))


EXPANSIONS: dict[str, Expansion] = {
    DETECTION.builtin: Expansion(schema.CUSTOM, detection_postprocess),
    "ADD_N": Expansion(None, _add_n),
    "BATCH_TO_SPACE_ND": Expansion(None, _batch_to_space),
    "BROADCAST_ARGS": Expansion(None, broadcast_args),
    "DENSIFY": Expansion(None, densify),
    "EQUAL": Expansion(None, _compare("equal")),
    "EXPAND_DIMS": Expansion(None, _expand_dims),
    "FILL": Expansion(None, fill),
    "GATHER": Expansion("GatherOptions", gather),
    "GATHER_ND": Expansion(None, _gather_nd),
    "L2_POOL_2D": Expansion("Pool2DOptions", _l2_pool),
    "EMBEDDING_LOOKUP": Expansion(None, embedding_lookup),
    "NOT_EQUAL": Expansion(None, _compare("not_equal")),
    "ONE_HOT": Expansion("OneHotOptions", one_hot),
    "PACK": Expansion("PackOptions", _pack),
    "RANGE": Expansion(None, number_range),
    "REDUCE_ALL": Expansion("ReducerOptions", _reduce_logic("reduce_min")),
    "REDUCE_ANY": Expansion("ReducerOptions", _reduce_logic("reduce_max")),
    "REVERSE_SEQUENCE": Expansion("ReverseSequenceOptions", reverse_sequence),
    "REVERSE_V2": Expansion(None, reverse),
    "SCATTER_ND": Expansion(None, scatter_nd),
    "SELECT": Expansion(None, _select),
    "SHAPE": Expansion(None, _shape),
    "SPACE_TO_BATCH_ND": Expansion(None, _space_to_batch),
    "SPLIT": Expansion(None, _split),
    "SPLIT_V": Expansion(None, _split_v),
    "SQUEEZE": Expansion("SqueezeOptions", _squeeze),
    "STRIDED_SLICE": Expansion("StridedSliceOptions", strided_slice),
    "TOPK_V2": Expansion("TopKV2Options", topk_v2),
    "UNPACK": Expansion("UnpackOptions", _unpack),
    "ZEROS_LIKE": Expansion(None, zeros_like),
}
"""Builtin op name -> how to read it."""
