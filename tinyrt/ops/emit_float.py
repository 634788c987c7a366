"""What C emitters of float ops share: functions as arguments of a few kernels, and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops.activation import clamp_of
from tinyrt.ops.emit import Fields, broadcast_fields, reduction_fields
from tinyrt.ops.spec import CWriter

EmitFloat = Callable[[BoundNode, CWriter], None]

BLOCK = 4
"""Output channels that ``tinyrt_conv2d_f32`` computes side by side."""


def act_fields(activation: str) -> Fields:
    """The bounds of a fused activation, as kernels have them last."""
    low, high = clamp_of(activation)
    return {"act_min": low, "act_max": high}


def _emit_map(function: str, node: BoundNode, c: CWriter) -> None:
    x, y = node.input(0), node.output
    c.call("tinyrt_map_f32", function, str(y.size), c.pointer(x), c.pointer(y))


def map_of(function: str) -> EmitFloat:
    """Writes the call of ``tinyrt_map_f32`` with a C function of one float."""
    return partial(_emit_map, function)


def _emit_zip(function: str, node: BoundNode, c: CWriter) -> None:
    if node.output.dtype is not DType.FLOAT32:
        raise UnsupportedError(
            f"{node.op} has no C kernel for {node.output.dtype.value} tensors",
            tensor=node.output.describe(),
            expected="float32, or int8 or int16 with scales",
            hint="compute places and sizes before export, or run the model on the host",
        )
    activation = getattr(node.attrs, "activation", "NONE")
    fields = {"shape": broadcast_fields(node), **act_fields(activation)}
    params = c.params("tinyrt_zip_f32_params", fields)
    values = (node.input(0), node.input(1), node.output)
    c.call("tinyrt_zip_f32", params, function, *(c.pointer(v) for v in values))


def zip_of(function: str) -> EmitFloat:
    """Writes the call of ``tinyrt_zip_f32`` with a C function of two floats."""
    return partial(_emit_zip, function)


def emit_fold(
    function: str, start: float, divisor: int, axes: Sequence[int], node: BoundNode, c: CWriter
) -> None:
    """Write the call of ``tinyrt_fold_f32`` with a C function of two floats.

    Args:
        function: takes what is known so far and an element.
        start: what is known before the first element.
        divisor: what the result is divided by.
        axes: the reduced dimensions, counted from the front.
        node: the op.
        c: the writer.

    """
    x = node.input(0)
    fields = {
        "axes": reduction_fields(x.shape, axes),
        "start": float(start),
        "divisor": float(divisor),
    }
    params = c.params("tinyrt_fold_f32_params", fields)
    c.call("tinyrt_fold_f32", params, function, c.pointer(x), c.pointer(node.output))


def _emit_clamp(activation: str, node: BoundNode, c: CWriter) -> None:
    x, y = node.input(0), node.output
    bounds = (c.number(bound) for bound in clamp_of(activation))
    c.call("tinyrt_clamp_f32", str(y.size), *bounds, c.pointer(x), c.pointer(y))


def clamp_to(activation: str) -> EmitFloat:
    """Writes the call of ``tinyrt_clamp_f32`` with the bounds of an activation."""
    return partial(_emit_clamp, activation)


def constant_data(value: Value) -> NDArray[Any]:
    """The data of a tensor that the exporter rearranges.

    Raises:
        UnsupportedError: it is computed while the model runs.

    """
    if value.data is None:
        raise UnsupportedError(
            "weights are computed while the model runs",
            tensor=value.describe(),
            expected="constants",
        )
    return value.data


def in_blocks(w: NDArray[Any], groups: int) -> NDArray[np.float32]:
    """Filters (c_out, ...) in the order in which ``tinyrt_conv2d_f32`` reads them, flattened.

    Each group's filters are taken four at a time, element by element; those left over come one
    after the other.
    """
    parts = []
    for filters in np.split(w.reshape(w.shape[0], -1), groups):
        whole = len(filters) // BLOCK * BLOCK
        blocks = filters[:whole].reshape(-1, BLOCK, filters.shape[1]).transpose(0, 2, 1)
        parts += [blocks.reshape(-1), filters[whole:].reshape(-1)]
    return np.concatenate(parts)


def emit_conv_f32(node: BoundNode, fields: Fields, groups: int, c: CWriter) -> None:
    """Write the call of ``tinyrt_conv2d_f32`` for an op with filters (c_out, ...).

    Args:
        node: the op; input 1 is the weights, input 2 the bias or absent.
        fields: shapes and window.
        groups: of input and output channels.
        c: the writer.

    Raises:
        UnsupportedError: weights are computed at run time.

    """
    weights = c.packed("w", in_blocks(constant_data(node.input(1)), groups))
    bounds = act_fields(node.attrs.activation)
    params = c.params("tinyrt_conv2d_f32_params", {**fields, "groups": groups, **bounds})
    x, bias = c.pointer(node.input(0)), c.pointer(node.optional(2))
    c.call("tinyrt_conv2d_f32", params, x, weights, bias, c.pointer(node.output))
