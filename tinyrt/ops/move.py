"""What ops share that only move elements: one function of arrays says everything about each.

The same function computes float and raw values; applied to the input's positions it gives the
gradient. Those whose output is a regular walk over the input also have a C kernel: transposing with
other strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, Shape
from tinyrt.ops.emit import merge_axes
from tinyrt.ops.function import Gradient, linear_pair
from tinyrt.ops.spec import Array, CWriter, Infer, OpSpec, Quant, require_s8, require_same_q

Move = Callable[[Any, Array], Array]
"""``(attrs, x) -> y``; every element of y is one of x."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The output, element by element in order, as a walk over the input.

    Attributes:
        dims: how far the walk goes along each of its axes, the last one fastest.
        strides: what one step along each adds to the position in the input.
        begin: where it begins.

    """

    dims: tuple[int, ...]
    strides: tuple[int, ...]
    begin: int = 0


WalkOf = Callable[[Any, Shape], Walk]
"""``(attrs, input's shape) -> walk``."""


@dataclass(frozen=True, slots=True)
class MoveS8:
    """What the integer kernel knows beforehand; ``walk`` is None where there is no regular one."""

    move: Move
    attrs: Any
    walk: Walk | None

    def positions(self, shape: Shape) -> NDArray[np.int64]:
        """Where in an input of that shape each element of the output lies."""
        return _positions(self.move, self.attrs, shape)


@dataclass(frozen=True, slots=True)
class _Positions:
    """Where in the input, of some shape, each element of the output lies."""

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
    """Gradient of x: each element's, gathered from wherever it was moved to."""
    del output
    shape = tuple(inputs[0].shape)
    return (_SCATTER(_Positions(_positions(move, attrs, shape), shape), grad),)


def _positions(move: Move, attrs: Any, shape: Shape) -> NDArray[np.int64]:
    places: NDArray[np.int64] = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    return move(attrs, places)


def _prepare_s8(move: Move, walk_of: WalkOf | None, node: BoundNode) -> MoveS8:
    """Input and output share scale and zero point."""
    x = node.input(0)
    require_s8(x, node.output)
    require_same_q(node, x, node.output)
    return MoveS8(move, node.attrs, walk_of(node.attrs, x.shape) if walk_of else None)


def _ref_s8(p: MoveS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    return _ref_f32(p.move, p.attrs, x)


def _emit_c(node: BoundNode, p: MoveS8, c: CWriter) -> None:
    """Write the call of ``tinyrt_transpose_s8``, which walks with any strides."""
    assert p.walk is not None, "only ops with a walk have this emitter"
    dims, (steps,) = merge_axes(p.walk.dims, p.walk.strides)
    fields = {"rank": len(dims), "y_dims": dims, "x_strides": steps}
    params = c.params("tinyrt_transpose_s8_params", fields)
    x = c.pointer(node.input(0))
    first = f"{x} + {p.walk.begin}" if p.walk.begin else x
    c.call("tinyrt_transpose_s8", params, first, c.pointer(node.output))


def move_op(
    name: str, attrs: type, infer: Infer, move: Move, walk_of: WalkOf | None = None
) -> OpSpec:
    """The record of an op with one input that only moves elements."""
    return OpSpec(
        name=name,
        attrs=attrs,
        arity=(1, 1),
        infer=infer,
        quant=Quant.SAME_AS_INPUT,
        ref_f32=partial(_ref_f32, move),
        vjp=partial(_vjp, move),
        prepare_s8=partial(_prepare_s8, move, walk_of),
        ref_s8=_ref_s8,
        emit_c=_emit_c if walk_of else None,
    )
