"""pad: a constant border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.emit import in_runs, merge_axes, strides_of
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.places import Steps
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.rows import RowOp, RowWindow, one_row
from tinyrt.ops.shapes import operand
from tinyrt.ops.spec import (
    Array,
    CWriter,
    IntegerForm,
    OpSpec,
    Quant,
    qparams,
    require_alike,
    require_same_q,
)
from tinyrt.ops.sweep import Sweep, in_order

Paddings = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PadAttrs:
    """TFLite's PAD and PADV2.

    Attributes:
        paddings: elements before and after, for each dimension.
        value: what to fill with, as a real number.

    """

    paddings: Paddings
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class PadS8:
    """What the integer kernel knows beforehand; ``fill`` is a raw value."""

    paddings: Paddings
    fill: int


def infer(attrs: PadAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Each dimension grows by what is put before and after it."""
    x = operand(inputs, 0, "input")
    fits = all(len(pair) == 2 and min(pair) >= 0 for pair in attrs.paddings)
    if not fits or not x.shape or len(attrs.paddings) != len(x.shape):
        raise ShapeError(
            f"paddings {list(attrs.paddings)} of {x}",
            expected="for each of at least one dimension, two sizes that are not negative",
        )
    grown = (d + sum(pair) for d, pair in zip(x.shape, attrs.paddings, strict=True))
    return (TensorType(x.dtype, tuple(grown)),)


def ref_f32(attrs: PadAttrs, x: Array) -> Array:
    """The input inside a border of ``value``."""
    return np.pad(x, attrs.paddings, constant_values=attrs.value)


def vjp(
    attrs: PadAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: the output's, without the border."""
    del output
    inner = zip(attrs.paddings, inputs[0].shape, strict=True)
    return (grad[tuple(slice(before, before + d) for (before, _), d in inner)],)


def prepare(node: BoundNode) -> PadS8:
    """The raw fill value; input and output share scale and zero point."""
    require_alike(node.input(0), node.output)
    require_same_q(node, node.input(0), node.output)
    fill = quantize_array(np.asarray(node.attrs.value), *qparams(node.output), node.output.dtype)
    return PadS8(node.attrs.paddings, int(fill))


def ref_integer(p: PadS8, x: Array) -> Array:
    """The raw values inside a border of ``fill``."""
    return np.pad(x, p.paddings, constant_values=p.fill)


def emit_c(node: BoundNode, p: PadS8, c: CWriter) -> None:
    """Write the call of ``tinyrt_pad``."""
    _emit(node, np.asarray(p.fill, node.output.dtype.numpy), c)


def emit_f32(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_pad``."""
    _emit(node, np.asarray(node.attrs.value, np.float32), c)


def _emit(node: BoundNode, fill: Array, c: CWriter) -> None:
    x, y = node.input(0), node.output
    size = x.dtype.itemsize
    y_strides = strides_of(y.shape)
    dims, (_, strides) = merge_axes(x.shape, strides_of(x.shape), y_strides)
    dims, steps, run = in_runs(dims, strides, size)
    before = (pair[0] for pair in node.attrs.paddings)
    params = c.params(
        "tinyrt_pad_params",
        {
            "rank": len(dims),
            "dims": dims,
            "y_strides": steps,
            "run": run,
            "begin": sum(n * step for n, step in zip(before, y_strides, strict=True)) * size,
            "y_bytes": y.nbytes,
            "value": np.frombuffer(fill.tobytes() * (4 // size), np.uint8),
        },
    )
    c.call("tinyrt_pad", params, c.pointer(x), c.pointer(y))


def sweep(node: BoundNode, isa: InstructionSet) -> Sweep:
    """From front to back, with the border where it comes."""
    del isa  # the same on all
    x = node.input(0)
    sizes = zip(x.shape, strides_of(x.shape), node.attrs.paddings, strict=True)
    axes = [Steps(a + d + b, step, a, a + d) for d, step, (a, b) in sizes]
    return in_order(node, [axes])


def rows(node: BoundNode) -> RowOp | None:
    """A row at a time; rows above and below are padding of the input."""
    if len(node.attrs.paddings) != 4 or node.output.shape[0] != 1:
        return None
    first, (above, below), *others = node.attrs.paddings
    fill = prepare(node).fill
    if fill and node.input(0).dtype is not DType.INT8:
        return None
    window = RowWindow(above=above, below=below, fill=fill)
    attrs = replace(node.attrs, paddings=(first, (0, 0), *others))
    return RowOp(one_row(node, attrs), (window,))


PAD = OpSpec(
    name="pad",
    attrs=PadAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare_s8=prepare,
    ref_s8=ref_integer,
    int16x8=IntegerForm(prepare, ref_integer, sweep=sweep, emit_c=emit_c),
    sweep=sweep,
    rows=rows,
    emit_c=emit_c,
    emit_f32=emit_f32,
)
