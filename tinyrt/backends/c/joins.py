"""Ops that copy their inputs whole or row by row: concatenation, pad, reshape."""

from __future__ import annotations

import math
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.kernel import Calls, Data, Fields, Params, Places, Target, call
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode
from tinyrt.memory.indices import Steps
from tinyrt.memory.sweep import Sweep, in_order
from tinyrt.ops import prepared
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.pad import PadAttrs, PadS8
from tinyrt.ops.shared.shapes import axis_of
from tinyrt.ops.shared.spec import Array, Form, is_integer
from tinyrt.ops.shared.walks import in_runs, merge_axes, strides_of

VALUE_BYTES = 4
"""Bytes of ``value`` in ``tinyrt_pad_params``, which repeats the border's element to fill them."""


def concatenation_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_concatenation``, which joins any element type."""
    del target
    axis = axis_of(node.attrs_as(ConcatenationAttrs).axis, len(node.output.shape))
    inputs = node.operands
    row_bytes = [math.prod(x.shape[axis:]) * x.dtype.itemsize for x in inputs]
    fields: Fields = {
        "inputs": len(inputs),
        "rows": math.prod(node.output.shape[:axis]),
        "x_row_bytes": Data("row_bytes", np.array(row_bytes), "int32_t"),
    }
    params = Params("tinyrt_concatenation_params", fields)
    return (call("tinyrt_concatenation", params, Places("void", inputs), node.output),)


def concatenation_sweep(node: BoundNode) -> Sweep:
    """From front to back, a part of each input in turn."""
    y = node.output
    axis, joined, places = axis_of(node.attrs_as(ConcatenationAttrs).axis, len(y.shape)), 0, []
    for x in node.operands:
        behind = joined + x.shape[axis]
        axes = list(starmap(Steps, zip(x.shape, strides_of(x.shape), strict=True)))
        axes[axis] = Steps(y.shape[axis], axes[axis].step, joined, behind)
        places.append(axes)
        joined = behind
    return in_order(node, places)


def pad_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_pad``."""
    del target
    x, y = node.input(0), node.output
    size = x.dtype.itemsize
    y_strides = strides_of(y.shape)
    dims, (_, strides) = merge_axes(x.shape, strides_of(x.shape), y_strides)
    dims, steps, run = in_runs(dims, strides, size)
    before = (pair[0] for pair in node.attrs_as(PadAttrs).paddings)
    fields: Fields = {
        "rank": len(dims),
        "dims": dims,
        "y_strides": steps,
        "run": run,
        "begin": sum(n * step for n, step in zip(before, y_strides, strict=True)) * size,
        "y_bytes": y.nbytes,
        "value": _value(node).tolist(),
    }
    return (call("tinyrt_pad", Params("tinyrt_pad_params", fields), x, y),)


def _fill(node: BoundNode) -> Array:
    """The border's element."""
    if is_integer(node):
        return np.asarray(prepared(node, PadS8).fill, node.output.dtype.numpy)
    return np.asarray(node.attrs_as(PadAttrs).value, node.output.dtype.numpy)


def _value(node: BoundNode) -> NDArray[np.uint8]:
    """The border's element, repeated to fill ``VALUE_BYTES``.

    Raises:
        UnsupportedError: the element has more bytes than that, and they do not repeat.

    """
    data = _fill(node).tobytes()
    if len(data) > VALUE_BYTES:
        if data != 2 * data[:VALUE_BYTES]:
            border = node.attrs_as(PadAttrs).value
            raise UnsupportedError(
                f"a border of {border:g} around {node.output.dtype.value} elements",
                tensor=node.output.describe(),
                expected="a border of zeros, or int32 elements",
                hint="compute places and sizes before export, or run the model on the host",
            )
        data = data[:VALUE_BYTES]
    return np.frombuffer(data * (VALUE_BYTES // len(data)), np.uint8)


def pad_sweep(node: BoundNode) -> Sweep:
    """From front to back, input rows and border in the order of the output."""
    x = node.input(0)
    sizes = zip(x.shape, strides_of(x.shape), node.attrs_as(PadAttrs).paddings, strict=True)
    axes = [Steps(a + d + b, step, a, a + d) for d, step, (a, b) in sizes]
    return in_order(node, [axes])


def reshape_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_reshape``, which copies any element type."""
    del target
    return (call("tinyrt_reshape", node.output.nbytes, node.input(0), node.output),)


KERNELS: Choosers = {
    "concatenation": dict.fromkeys(Form, always(concatenation_calls, concatenation_sweep)),
    "pad": dict.fromkeys(Form, always(pad_calls, pad_sweep)),
    "reshape": dict.fromkeys(Form, always(reshape_calls)),
}
