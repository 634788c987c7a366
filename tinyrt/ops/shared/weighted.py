"""The record of an op with weights: input 1 is constant, input 2 is an optional bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate

from tinyrt.ir import BoundNode
from tinyrt.ops.shared.rows import RowOp
from tinyrt.ops.shared.spec import (
    Array,
    AttrsT,
    Form,
    Infer,
    IntegerForm,
    OpSpec,
    Outputs,
    Quant,
    Vjp,
)
from tinyrt.ops.shared.traits import NO_TRAITS, Traits


def weighted_op(
    name: str,
    attrs: type[AttrsT],
    *,
    infer: Infer[AttrsT],
    ref_f32: Callable[Concatenate[AttrsT, ...], Outputs],
    vjp: Vjp[AttrsT],
    int8: IntegerForm[Any],
    int16x8: IntegerForm[Any],
    weight_axis: int,
    macs: Callable[[BoundNode], int],
    train_f32: Callable[Concatenate[AttrsT, ...], Array] | None = None,
    rows: Callable[[BoundNode], RowOp | None] | None = None,
    int4_weights: bool = False,
    traits: Traits = NO_TRAITS,
) -> OpSpec[AttrsT]:
    """The record of a convolution or dense layer; fields as in ``OpSpec``."""
    return OpSpec(
        name=name,
        attrs=attrs,
        arity=(2, 3),
        infer=infer,
        quant=Quant.WEIGHTED,
        ref_f32=ref_f32,
        train_f32=train_f32,
        vjp=vjp,
        forms={Form.INT8: int8, Form.INT16X8: int16x8},
        int4_weights=int4_weights,
        weight_axis=weight_axis,
        macs=macs,
        rows=rows,
        traits=traits,
    )
