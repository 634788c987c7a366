"""reshape: other dimensions, the same elements in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, Shape, TensorType
from tinyrt.ops.shared.shapes import operand, size_of
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
class ReshapeAttrs:
    """TFLite's ReshapeOptions: the output's dimensions, one of which may be -1."""

    new_shape: Shape


@dataclass(frozen=True, slots=True)
class ReshapeS8:
    """Precomputed constants of the integer kernel."""

    new_shape: Shape


def infer(attrs: ReshapeAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Any shape -> ``new_shape`` with the same number of elements."""
    x = operand(inputs, 0, "input")
    count, new_shape = size_of(x.shape), attrs.new_shape
    product = size_of(tuple(d for d in new_shape if d != -1))
    open_ = new_shape.count(-1)
    if open_ > 1 or product < 1 or any(d < -1 for d in new_shape):
        raise ShapeError(
            f"new shape {list(new_shape)}", expected="positive dimensions, at most one of them -1"
        )
    if count % product if open_ else count != product:
        raise ShapeError(f"input {x} to {list(new_shape)}", expected=f"{count} elements")
    return (TensorType(x.dtype, tuple(count // product if d == -1 else d for d in new_shape)),)


def ref_f32(attrs: ReshapeAttrs, x: Array) -> Array:
    """The same elements; any dtype."""
    return x.reshape(attrs.new_shape)


def vjp(
    attrs: ReshapeAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: the output's gradient, reshaped back."""
    del attrs, output
    return (grad.reshape(inputs[0].shape),)


def prepare(node: BoundNode) -> ReshapeS8:
    """Input and output share scale and zero point."""
    require_alike(node.input(0), node.output)
    require_same_q(node, node.input(0), node.output)
    return ReshapeS8(node.attrs_as(ReshapeAttrs).new_shape)


def ref_integer(p: ReshapeS8, x: Array) -> Array:
    """The same raw values."""
    return x.reshape(p.new_shape)


def rebatch(attrs: ReshapeAttrs, old: int, new: int) -> ReshapeAttrs:
    """The attributes for batch size ``new`` instead of ``old``.

    Raises:
        ShapeError: the leading dimension is not the batch.

    """
    leading, *rest = attrs.new_shape or (0,)
    if leading not in (old, -1):
        raise ShapeError(
            f"reshape to {list(attrs.new_shape)} does not keep a batch of {old}",
            expected=f"{old} or -1 as the leading dimension",
        )
    return ReshapeAttrs((-1 if leading == -1 else new, *rest))


RESHAPE = OpSpec(
    name="reshape",
    attrs=ReshapeAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    rebatch=rebatch,
    traits=Traits(homogeneous=True, selects=True, plain_integers=True),
)
