"""How each op streams: which rows it reads and writes when only the newest rows are new.

A rule gets the node and its streamed inputs. It returns None where the op needs its inputs whole.
Otherwise the streamed op must give exactly the rows that it computes from the whole window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Value
from tinyrt.ops import OPS
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared import pool
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs


@dataclass(frozen=True, slots=True)
class Track:
    """A tensor over time.

    Attributes:
        axis: its dimension that is time.
        rows: how many of them the window has.
        new: how many of them, the last ones, are new after each hop.

    """

    axis: int
    rows: int
    new: int


@dataclass(frozen=True, slots=True)
class Streamed:
    """An op on the newest rows.

    Attributes:
        reads: how many of the newest rows of each streamed input it reads.
        output: what its output is.
        attrs: its attributes; None for those it has.

    """

    reads: int
    output: Track
    attrs: object = None


Rule = Callable[[BoundNode, Track], Streamed | None]


def rule_of(node: BoundNode) -> Rule | None:
    """The op's rule; None where it needs all rows."""
    if OPS[node.op].traits.elementwise:
        return _elementwise
    return _RULES.get(node.op)


def _elementwise(node: BoundNode, x: Track) -> Streamed | None:
    """Row by row, where no constant differs from row to row and time is one dimension of all."""
    rank = len(node.output.shape)
    for value in node.operands:
        axis = x.axis - (rank - len(value.shape))
        if value.is_constant and axis >= 0 and value.shape[axis] != 1:
            return None
        if not value.is_constant and axis != x.axis:
            return None
    return Streamed(x.new, x)


def _softmax(node: BoundNode, x: Track) -> Streamed | None:
    return Streamed(x.new, x) if x.axis != len(node.output.shape) - 1 else None


def _window(node: BoundNode, x: Track) -> Streamed | None:
    """A window that slides along time without padding there."""
    if x.axis not in (1, 2):
        return None
    window, way = _window_of(node), x.axis - 1
    if window.before[way] or window.after[way]:
        return None
    stride, extent = window.stride[way], (window.kernel[way] - 1) * window.dilation[way] + 1
    if x.new % stride:
        raise UnsupportedError(
            f"a hop of {x.new} rows here does not fit a stride of {stride}",
            op=node.describe(),
            expected=f"a multiple of {stride}",
            hint=f"choose a hop that is {math.lcm(x.new, stride) // x.new} times as long",
        )
    new, out = x.new // stride, window.out[way]
    if new > out:
        return None
    ignored = x.rows - ((out - 1) * stride + extent)
    return Streamed((new - 1) * stride + extent + ignored, Track(x.axis, out, new))


def _window_of(node: BoundNode) -> Window:
    x = node.input(0).shape
    if isinstance(node.attrs, pool.Pool2dAttrs):
        return pool.window_of(node.attrs, x)
    attrs, w = node.attrs_as(ConvolutionAttrs), node.input(1).shape
    return Window.of((x[1], x[2]), (w[1], w[2]), attrs.stride, attrs.padding, attrs.dilation)


def _slice(node: BoundNode, x: Track) -> Streamed | None:
    """Rows that are cut off at the end delay the others; those at the beginning do not matter."""
    attrs = node.attrs_as(SliceAttrs)
    if attrs.strides[x.axis] != 1 or attrs.dropped:
        return None
    first, count = attrs.begin[x.axis], attrs.size[x.axis]
    if count < x.new:
        return None
    late = x.rows - (first + count)
    size = tuple(x.new if i == x.axis else n for i, n in enumerate(attrs.size))
    begin = tuple(0 if i == x.axis else n for i, n in enumerate(attrs.begin))
    return Streamed(
        x.new + late, Track(x.axis, count, x.new), replace(attrs, begin=begin, size=size)
    )


def _pad(node: BoundNode, x: Track) -> Streamed | None:
    return Streamed(x.new, x) if not any(node.attrs_as(PadAttrs).paddings[x.axis]) else None


def _concatenation(node: BoundNode, x: Track) -> Streamed | None:
    """Row by row beside time, where no part is a constant, which has all rows of the window."""
    axis = node.attrs_as(ConcatenationAttrs).axis % len(node.output.shape)
    has_constant = any(value.is_constant for value in node.operands)
    return Streamed(x.new, x) if axis != x.axis and not has_constant else None


def _transpose(node: BoundNode, x: Track) -> Streamed | None:
    axis = node.attrs_as(TransposeAttrs).perm.index(x.axis)
    return Streamed(x.new, replace(x, axis=axis))


def _reshape(node: BoundNode, x: Track) -> Streamed | None:
    """Time stays a dimension of its own, behind and before the same numbers of elements."""
    before, after = node.input(0).shape, node.output.shape
    outer = math.prod(before[: x.axis])
    for axis, size in enumerate(after):
        if size == x.rows and math.prod(after[:axis]) == outer:
            shape = (*after[:axis], x.new, *after[axis + 1 :])
            return Streamed(x.new, replace(x, axis=axis), ReshapeAttrs(shape))
    return None


def _reduce(node: BoundNode, x: Track) -> Streamed | None:
    attrs, rank = node.attrs_as(MeanAttrs), len(node.input(0).shape)
    axes = {axis % rank for axis in attrs.axes}
    if x.axis in axes:
        return None
    removed = 0 if attrs.keep_dims else sum(axis < x.axis for axis in axes)
    return Streamed(x.new, replace(x, axis=x.axis - removed))


def _choice(node: BoundNode, x: Track) -> Streamed | None:
    axis = node.attrs_as(ArgAttrs).axis % len(node.input(0).shape)
    return Streamed(x.new, replace(x, axis=x.axis - (axis < x.axis))) if x.axis != axis else None


def _fully_connected(node: BoundNode, x: Track) -> Streamed | None:
    """Each row by itself, where the rows stay a dimension of the output."""
    rank = len(node.input(0).shape)
    keeps_dims = node.attrs_as(FullyConnectedAttrs).keep_num_dims
    keeps_rows = keeps_dims or rank == len(node.output.shape) == 2
    return Streamed(x.new, x) if keeps_rows and x.axis != rank - 1 else None


_RULES: dict[str, Rule] = {
    "arg_max": _choice,
    "arg_min": _choice,
    "average_pool2d": _window,
    "concatenation": _concatenation,
    "conv2d": _window,
    "depthwise_conv2d": _window,
    "fully_connected": _fully_connected,
    "log_softmax": _softmax,
    "max_pool2d": _window,
    "mean": _reduce,
    "pad": _pad,
    "reduce_max": _reduce,
    "reduce_min": _reduce,
    "reshape": _reshape,
    "slice": _slice,
    "softmax": _softmax,
    "sum": _reduce,
    "transpose": _transpose,
}


def with_rows(value: Value, track: Track) -> Value:
    """The tensor with its new rows only."""
    shape = (*value.shape[: track.axis], track.new, *value.shape[track.axis + 1 :])
    return replace(value, shape=shape)
