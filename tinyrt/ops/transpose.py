"""transpose: dimensions in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import (
    Array,
    OpSpec,
    Quant,
    both_forms,
    require_alike,
    require_same_q,
)
from tinyrt.ops.shared.traits import Traits


@dataclass(frozen=True, slots=True)
class TransposeAttrs:
    """Output dimension ``i`` is input dimension ``perm[i]``."""

    perm: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TransposeS8:
    """Precomputed constants of the integer kernel."""

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
    """Gradient of x: the output's gradient, permuted back."""
    del inputs, output
    return (grad.transpose(tuple(int(i) for i in np.argsort(attrs.perm))),)


def prepare(node: BoundNode) -> TransposeS8:
    """Input and output share scale and zero point."""
    require_alike(node.input(0), node.output)
    require_same_q(node, node.input(0), node.output)
    return TransposeS8(node.attrs_as(TransposeAttrs).perm)


def ref_integer(p: TransposeS8, x: Array) -> Array:
    """The same raw values in another order."""
    return x.transpose(p.perm).copy()


TRANSPOSE = OpSpec(
    name="transpose",
    attrs=TransposeAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    traits=Traits(selects=True),
)
