"""Ops that only move elements: each op is defined by one function of arrays.

That function moves float values and raw values alike. Applied to the positions of the input's
elements, it gives the index that the gradient needs. Each op also describes for C kernels where its
elements lie in the input: as a walk with constant strides, or as tables of rows and columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath.function import Gradient, constant, linear_pair
from tinyrt.ir import BoundNode, Shape
from tinyrt.ops.shared.spec import (
    Array,
    AttrsT,
    Form,
    Infer,
    OpSpec,
    Quant,
    both_forms,
    qparams,
    require_alike,
    require_same_q,
)
from tinyrt.ops.shared.traits import Traits

Move = Callable[[Any, Array], Array]
"""``(attrs, x) -> y``; every element of y is one of x."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The output's elements in order, as a walk over the input with constant strides.

    Attributes:
        dims: steps along each axis of the walk; the last axis runs fastest.
        strides: strides of these axes in the input, in elements.
        begin: position of the first element in the input.

    """

    dims: tuple[int, ...]
    strides: tuple[int, ...]
    begin: int = 0


@dataclass(frozen=True, slots=True)
class Picks:
    """The output as images of rows and columns, with tables of offsets into the input's images.

    Attributes:
        n: number of images.
        x_size: elements of one image of the input.
        rows: for each output row, its offset in the input's image.
        columns: for each output column, its offset from the row's offset.
        run: contiguous elements at each row and column.

    """

    n: int
    x_size: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    run: int


LayoutOf = Callable[[Any, Shape], Walk | Picks]
"""``(attrs, input's shape) -> layout``: where the output's elements lie in the input."""


@dataclass(frozen=True, slots=True)
class MoveS8:
    """Precomputed constants of the integer kernel."""

    move: Move
    attrs: Any
    layout: Walk | Picks


@dataclass(frozen=True, slots=True)
class _Positions:
    """For each output element, its position in the input; and the input's shape."""

    index: NDArray[np.int64]
    shape: Shape


def _gather(at: _Positions, x: Array) -> Array:
    return np.asarray(x.reshape(-1)[at.index])


def _scatter(at: _Positions, u: Array) -> Array:
    result = np.zeros(at.shape, u.dtype)
    np.add.at(result.reshape(-1), at.index, u)
    return result


_GATHER, _SCATTER = linear_pair("gather_positions", _gather, _scatter)


def _ref_f32(move: Move, attrs: Any, x: Array) -> Array:
    return np.array(move(attrs, x), order="C")


def _vjp(
    move: Move, attrs: Any, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    """Gradient of x: for each element, the sum of the gradients where it was moved to."""
    del output
    shape = tuple(inputs[0].shape)
    return (_SCATTER(_Positions(_positions(move, attrs, shape), shape), grad),)


def picking_vjp(
    move: Callable[[Any, Array, Array], Array],
    attrs: Any,
    inputs: Sequence[Array],
    output: Array,
    grad: Array,
) -> tuple[Gradient, ...]:
    """As for ops that only move elements, where ``move`` is told the places by a second input."""
    del output
    x, places = inputs

    def moved(attrs: Any, x: Array) -> Array:
        return move(attrs, x, constant(places))

    shape = tuple(x.shape)
    return _SCATTER(_Positions(_positions(moved, attrs, shape), shape), grad), None


def _positions(move: Move, attrs: Any, shape: Shape) -> NDArray[np.int64]:
    places: NDArray[np.int64] = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    return move(attrs, places)


def _prepare(move: Move, layout_of: LayoutOf, as_stored: bool, node: BoundNode) -> MoveS8:
    """Input and output share scale and zero point, unless integers are moved as they are stored."""
    require_alike(node.input(0), node.output)
    if as_stored:
        qparams(node.input(0))
        qparams(node.output)
    else:
        require_same_q(node, node.input(0), node.output)
    return MoveS8(move, node.attrs, layout_of(node.attrs, node.input(0).shape))


def _ref_integer(p: MoveS8, x: Array) -> Array:
    return _ref_f32(p.move, p.attrs, x)


def move_op(
    name: str,
    attrs: type[AttrsT],
    infer: Infer[AttrsT],
    move: Callable[[AttrsT, Array], Array],
    layout_of: Callable[[AttrsT, Shape], Walk | Picks],
    traits: Traits,
    *,
    int16: bool = True,
    as_stored: bool = False,
) -> OpSpec[AttrsT]:
    """The record of an op with one input that only moves elements.

    Args:
        name: name of the op.
        attrs: class of its attributes.
        infer: its shape rule.
        move: the function that moves the elements.
        layout_of: gives the positions of the output's elements in the input.
        traits: its traits.
        int16: whether TFLite has the op for int16.
        as_stored: whether all runtimes move integers as they are, whatever the output's scale is.

    """
    forms = both_forms(partial(_prepare, move, layout_of, as_stored), _ref_integer)
    if not int16:
        del forms[Form.INT16X8]
    return OpSpec(
        name=name,
        attrs=attrs,
        arity=(1, 1),
        infer=infer,
        quant=Quant.SAME_AS_INPUT,
        ref_f32=partial(_ref_f32, move),
        vjp=partial(_vjp, move),
        forms=forms,
        traits=replace(traits, plain_integers=True),
    )
