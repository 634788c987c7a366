"""transpose: dimensions in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, Shape, TensorType
from tinyrt.ops.emit import strides_of
from tinyrt.ops.move import Walk, emit_walk, sweep_of_move
from tinyrt.ops.shapes import operand
from tinyrt.ops.spec import (
    Array,
    CWriter,
    IntegerForm,
    OpSpec,
    Quant,
    require_alike,
    require_same_q,
)


@dataclass(frozen=True, slots=True)
class TransposeAttrs:
    """Output dimension ``i`` is input dimension ``perm[i]``."""

    perm: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TransposeS8:
    """What the integer kernel knows beforehand."""

    perm: tuple[int, ...]


def infer(attrs: TransposeAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(d0, d1, ...) -> (d[perm[0]], d[perm[1]], ...)."""
    x = operand(inputs, 0, "input")
    if sorted(attrs.perm) != list(range(len(x.shape))):
        raise ShapeError(
            f"permutation {list(attrs.perm)} of {x}",
            expected=f"each of 0 to {len(x.shape) - 1} once",
        )
    return (TensorType(x.dtype, tuple(x.shape[i] for i in attrs.perm)),)


def ref_f32(attrs: TransposeAttrs, x: Array) -> Array:
    """The same elements in another order; any dtype."""
    return x.transpose(attrs.perm).copy()


def vjp(
    attrs: TransposeAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: the output's, permuted back."""
    del inputs, output
    return (grad.transpose(tuple(int(i) for i in np.argsort(attrs.perm))),)


def prepare(node: BoundNode) -> TransposeS8:
    """Input and output share scale and zero point."""
    require_alike(node.input(0), node.output)
    require_same_q(node, node.input(0), node.output)
    return TransposeS8(node.attrs.perm)


def ref_integer(p: TransposeS8, x: Array) -> Array:
    """The same raw values in another order."""
    return x.transpose(p.perm).copy()


def emit_c(node: BoundNode, p: TransposeS8, c: CWriter) -> None:
    """Write the call of ``tinyrt_move``."""
    del p
    emit_f32(node, c)


def emit_f32(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_move``, which moves any element type."""
    emit_walk(node, _walk(node.attrs, node.input(0).shape), c)


def _walk(attrs: TransposeAttrs, shape: Shape) -> Walk:
    strides = strides_of(shape)
    return Walk(tuple(shape[i] for i in attrs.perm), tuple(strides[i] for i in attrs.perm))


SWEEP = partial(sweep_of_move, _walk)

TRANSPOSE = OpSpec(
    name="transpose",
    attrs=TransposeAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare_s8=prepare,
    ref_s8=ref_integer,
    int16x8=IntegerForm(prepare, ref_integer, sweep=SWEEP, emit_c=emit_c),
    sweep=SWEEP,
    emit_c=emit_c,
    emit_f32=emit_f32,
)
