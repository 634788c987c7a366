"""What C emitters share: parameter structs of shapes, windows and multipliers, and their checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyrt.errors import UnsupportedError
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT32_MAX
from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.ops.lut import LutS8
from tinyrt.ops.requant import Requant
from tinyrt.ops.spec import CWriter
from tinyrt.ops.window import Window

MAX_RANK = 6
"""TINYRT_MAX_RANK of the C library."""

Fields = dict[str, object]


def nhwc(shape: Shape) -> Fields:
    """``tinyrt_nhwc``."""
    return dict(zip("nhwc", shape, strict=True))


def window_fields(window: Window) -> Fields:
    """``tinyrt_window``; the C library derives what lies after from the output's shape."""
    pairs = {
        "kernel_h": window.kernel[0],
        "kernel_w": window.kernel[1],
        "stride_h": window.stride[0],
        "stride_w": window.stride[1],
        "dilation_h": window.dilation[0],
        "dilation_w": window.dilation[1],
    }
    return {**pairs, "pad_top": window.before[0], "pad_left": window.before[1]}


def requant_fields(c: CWriter, requant: Requant) -> Fields:
    """``tinyrt_requant_params``, with tables of one entry where all channels are alike."""
    mult, shift = requant.mult, requant.shift
    alike = bool((mult == mult[0]).all() and (shift == shift[0]).all())
    if alike:
        mult, shift = mult[:1], shift[:1]
    return {
        "mult": c.array("int32_t", "mult", mult),
        "shift": c.array("int8_t", "shift", shift),
        "step": 0 if alike else 1,
        "y_zp": requant.y_zp,
        "act_min": requant.act_min,
        "act_max": requant.act_max,
    }


def strides_of(shape: Shape) -> list[int]:
    """Strides in elements of a dense tensor."""
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def merge_axes(
    dims: Sequence[int], *strides: Sequence[int]
) -> tuple[list[int], tuple[list[int], ...]]:
    """The same walk over as few axes as possible, at least one.

    Args:
        dims: sizes of the axes, the last one fastest.
        strides: for each tensor that is walked over, its strides in elements.

    Raises:
        UnsupportedError: more than ``MAX_RANK`` axes are left.

    """
    sizes: list[int] = []
    steps: list[tuple[int, ...]] = []
    for size, *step in zip(dims, *strides, strict=True):
        if size == 1:
            continue
        if sizes and all(before == s * size for before, s in zip(steps[-1], step, strict=True)):
            sizes[-1] *= size
            steps[-1] = tuple(step)
        else:
            sizes.append(size)
            steps.append(tuple(step))
    if not sizes:
        sizes, steps = [1], [(0,) * len(strides)]
    if len(sizes) > MAX_RANK:
        raise UnsupportedError(
            f"{len(sizes)} dimensions that cannot be merged", expected=f"at most {MAX_RANK}"
        )
    return sizes, tuple([step[i] for step in steps] for i in range(len(strides)))


def in_runs(
    dims: Sequence[int], strides: Sequence[int], itemsize: int
) -> tuple[list[int], list[int], int]:
    """A walk over elements as one over runs of neighbouring bytes.

    Returns:
        Sizes of the axes, their strides in bytes, and the length of a run.

    """
    dims, steps, run = list(dims), [step * itemsize for step in strides], itemsize
    if strides[-1] == 1:
        run *= dims[-1]
        dims, steps = (dims[:-1], steps[:-1]) if len(dims) > 1 else ([1], [0])
    return dims, steps, run


def broadcast_fields(node: BoundNode) -> Fields:
    """``tinyrt_broadcast`` of a node with two inputs."""
    y = node.output.shape
    a, b = (repeating_strides(node.input(i).shape, y) for i in (0, 1))
    dims, (a_strides, b_strides) = merge_axes(y, a, b)
    return {"rank": len(dims), "dims": dims, "a_strides": a_strides, "b_strides": b_strides}


def reduction_fields(shape: Shape, axes: Sequence[int]) -> Fields:
    """``tinyrt_reduction``; axes are counted from the front."""
    strides = strides_of(shape)
    fields: Fields = {}
    for name, gone in (("kept", False), ("reduced", True)):
        chosen = [i for i in range(len(shape)) if (i in axes) is gone]
        dims, (steps,) = merge_axes([shape[i] for i in chosen], [strides[i] for i in chosen])
        fields |= {f"{name}_rank": len(dims), f"{name}_dims": dims, f"{name}_strides": steps}
    return fields


def line_fields(shape: Shape, axis: int) -> Fields:
    """A tensor as (outer, depth, inner), with lines of ``depth`` elements along the axis."""
    at = axis % len(shape)
    return {
        "outer": math.prod(shape[:at]),
        "depth": shape[at],
        "inner": math.prod(shape[at + 1 :]),
    }


def repeating_strides(shape: Shape, y: Shape) -> list[int]:
    """Strides in elements of a tensor that is broadcast to ``y``; 0 where it repeats."""
    aligned = (1,) * (len(y) - len(shape)) + shape
    return [0 if d == 1 else s for d, s in zip(aligned, strides_of(aligned), strict=True)]


def emit_lut(node: BoundNode, p: LutS8, c: CWriter) -> None:
    """Write the call of an op that is a table."""
    x, y = node.input(0), node.output
    table = c.array("int8_t", "table", p.table)
    source, target = c.pointer(x), c.pointer(y)
    if x.dtype is DType.UINT8:
        source = f"(const int8_t *)({source})"
    if y.dtype in (DType.UINT8, DType.BOOL):
        target = f"(int8_t *)({target})"
    c.call("tinyrt_lut_s8", table, str(y.size), source, target)


def emit_rescale(
    node: BoundNode,
    sides: Sequence[tuple[int, int]],
    limits: tuple[int, int],
    c: CWriter,
    zero_points: tuple[int, int] = (0, 0),
) -> None:
    """Write the call of ``tinyrt_rescale_s16``, or of that from or to int8.

    Args:
        node: the op, with one input.
        sides: mantissa and exponent for inputs from the zero point on, and for those below.
        limits: least and greatest output.
        c: the writer.
        zero_points: the input's and the output's.

    """
    x, y = node.input(0), node.output
    fields = {
        "size": y.size,
        "x_zp": zero_points[0],
        "mult": sides[0][0],
        "shift": sides[0][1],
        "neg_mult": sides[1][0],
        "neg_shift": sides[1][1],
        "y_zp": zero_points[1],
        "act_min": limits[0],
        "act_max": limits[1],
    }
    types = x.dtype.short if x.dtype is y.dtype else f"{x.dtype.short}_{y.dtype.short}"
    params = c.params("tinyrt_rescale_params", fields)
    c.call(f"tinyrt_rescale_{types}", params, c.pointer(x), c.pointer(y))


def emit_weighted(
    kernel: str, node: BoundNode, p: Any, c: CWriter, fields: Fields, channel_axis: int
) -> None:
    """Write the call of an op with weights and bias.

    Args:
        kernel: the C function; its parameter type is named after it.
        node: the op; input 1 is the weights, input 2 the bias or absent.
        p: its integer record, with ``x_zp`` and ``requant``.
        c: the writer.
        fields: what the kernel's parameters begin with.
        channel_axis: the weights' axis of output channels.

    Raises:
        UnsupportedError: weights are computed at run time, or an accumulator could overflow.

    """
    x, w, bias, y = node.input(0), node.input(1), node.optional(2), node.output
    check_accumulator(node, p.x_zp, channel_axis)
    requant = requant_fields(c, p.requant)
    params = c.params(f"{kernel}_params", {**fields, "x_zp": p.x_zp, "requant": requant})
    c.call(kernel, params, c.pointer(x), c.pointer(w), c.pointer(bias), c.pointer(y))


def check_accumulator(node: BoundNode, x_zp: int, channel_axis: int) -> None:
    """Raise ``UnsupportedError`` if some input could overflow an int32 accumulator.

    The bound is exact for the model's own weights: ``max|x - x_zp| * sum|w| + |bias|``.
    """
    w, bias = node.input(1), node.optional(2)
    if w.data is None or (bias is not None and bias.data is None):
        raise UnsupportedError(
            "weights or bias are computed while the model runs",
            tensor=w.describe(),
            expected="constants",
        )
    others = tuple(i for i in range(w.data.ndim) if i != channel_axis)
    reach = max(INT8_MAX - x_zp, x_zp - INT8_MIN)
    largest = np.abs(w.data.astype(np.int64)).sum(axis=others) * reach
    if bias is not None and bias.data is not None:
        largest = largest + np.abs(bias.data.astype(np.int64))
    channel = int(np.argmax(largest))
    if largest[channel] > INT32_MAX:
        raise UnsupportedError(
            f"the accumulator of output channel {channel} can reach {largest[channel]}",
            tensor=w.describe(),
            expected=f"at most {INT32_MAX}, what an int32 holds",
            hint="split the layer, or train with smaller weights and biases",
        )
