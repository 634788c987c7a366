"""max_pool2d: greatest element under a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MIN
from tinyrt.floatmath import buffers
from tinyrt.floatmath.function import constant, linear_pair
from tinyrt.floatmath.parallel import each_part
from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.ops.shared.activation import activate, activation_grad
from tinyrt.ops.shared.pool import Pool2dAttrs, Pool2dS8, infer, prepare, window_of
from tinyrt.ops.shared.rows import RowOp, windowed_rows
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.shared.window import Pair, Window


def _greatest(window: Window, padded: Array) -> Array:
    first, *others = (where for _, _, where in window.taps())
    result = padded[first].copy()
    for where in others:
        np.maximum(result, padded[where], out=result)
    return result


def ref_f32(attrs: Pool2dAttrs, x: Array) -> Array:
    """Maximum of the elements under the window; padding does not count."""
    window = window_of(attrs, x.shape)
    return activate(_greatest(window, window.pad(x, -np.inf)), attrs.activation)


def train_f32(attrs: Pool2dAttrs, x: Array) -> Array:
    """As ``ref_f32``, by a compiled loop."""
    x, window = np.ascontiguousarray(x), window_of(attrs, x.shape)
    y = buffers.empty((len(x), *window.out, x.shape[3]), x.dtype)

    def work(part: slice) -> None:
        _loops().greatest(x[part], y[part], *_steps(window))

    each_part(len(x), x.nbytes, work)
    return activate(y, attrs.activation)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """For each output of a pooling, the element it was taken from: the first greatest element.

    Attributes:
        window: the sliding window.
        x_shape: the input's shape.
        taps: int32, in the output's shape: the tap that read the element, counted row by row.

    """

    window: Window
    x_shape: Shape
    taps: NDArray[np.int32]

    @classmethod
    def of(cls, window: Window, x: Array) -> Chosen:
        """The chosen elements for an input."""
        taps = np.empty((len(x), *window.out, x.shape[3]), np.int32)
        each_part(
            len(x), x.nbytes, lambda part: _loops().choose(x[part], taps[part], *_steps(window))
        )
        return cls(window, x.shape, taps)


def _scatter(chosen: Chosen, grad: Array) -> Array:
    grad = np.ascontiguousarray(grad)
    dx = np.zeros(chosen.x_shape, grad.dtype)
    steps = _steps(chosen.window)

    def work(part: slice) -> None:
        _loops().scatter(chosen.taps[part], grad[part], dx[part], *steps)

    each_part(len(dx), dx.nbytes, work)
    return dx


def _gather(chosen: Chosen, x: Array) -> Array:
    out = np.empty(chosen.taps.shape, x.dtype)
    _loops().gather(chosen.taps, np.ascontiguousarray(x), out, *_steps(chosen.window))
    return out


def _steps(window: Window) -> tuple[Pair, Pair, Pair]:
    return window.kernel, window.stride, window.before


def _loops() -> ModuleType:
    # Importing Numba is slow, and only training needs it.
    from tinyrt.floatmath import max_pool_loops

    return max_pool_loops


SCATTER, _ = linear_pair("max_pool2d_dx", _scatter, _gather)


def vjp(
    attrs: Pool2dAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: each output's gradient goes to the first greatest element of its window."""
    x = np.ascontiguousarray(constant(inputs[0]))
    chosen = Chosen.of(window_of(attrs, x.shape), x)
    return (SCATTER(chosen, activation_grad(output, grad, attrs.activation)),)


def ref_integer(p: Pool2dS8, x: Array) -> Array:
    """``clamp(max)`` of raw values."""
    greatest = _greatest(p.window, p.window.pad(x, np.iinfo(x.dtype).min))
    return np.clip(greatest, p.act_min, p.act_max).astype(x.dtype)


def rows(node: BoundNode) -> RowOp | None:
    """Rows under the window; padding has the least int8 value, so it is never the greatest.

    Padding rows are filled byte by byte, so an int16 input may have no padding.
    """
    fill = INT8_MIN if node.input(0).dtype is DType.INT8 else None
    return windowed_rows(node, window_of(node.attrs_as(Pool2dAttrs), node.input(0).shape), fill)


MAX_POOL2D = OpSpec(
    name="max_pool2d",
    attrs=Pool2dAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    train_f32=train_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    rows=rows,
    traits=Traits(channelwise=True, homogeneous=True, selects=True, fuses=True),
)
