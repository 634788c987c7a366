"""average_pool2d: mean of the elements under a window; padding does not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.floatmath.function import linear_pair
from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.ops.shared.activation import activate, activation_grad
from tinyrt.ops.shared.pool import Pool2dAttrs, Pool2dS8, infer, prepare, window_of
from tinyrt.ops.shared.rows import Fold, RowOp, folded_rows, windowed_rows
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.shared.window import Window


def _sums(window: Window, x: Array) -> Array:
    """Sum over taps, in the dtype of ``x``."""
    padded = window.pad(x)
    acc = np.zeros((x.shape[0], *window.out, x.shape[3]), x.dtype)
    for _, _, where in window.taps():
        acc += padded[where]
    return acc


def _spread(where: tuple[Window, Shape], grad: Array) -> Array:
    """The adjoint of the sums: adds each output's value to every element under its window."""
    window, x_shape = where
    dx = window.padded_zeros(x_shape, grad.dtype)
    for _, _, taps in window.taps():
        dx[taps] += grad
    return window.crop(dx, x_shape)


def _gather(where: tuple[Window, Shape], x: Array) -> Array:
    return _sums(where[0], x)


SPREAD, _ = linear_pair("average_pool2d_dx", _spread, _gather)


def _counts(window: Window, x: Array) -> Array:
    """Number of taps inside the input: (1, out_h, out_w, 1), in the dtype of ``x``."""
    return _sums(window, np.ones((1, *x.shape[1:3], 1), x.dtype))


def ref_f32(attrs: Pool2dAttrs, x: Array) -> Array:
    """Mean of the elements under the window; padding does not count."""
    window = window_of(attrs, x.shape)
    return activate(_sums(window, x) / _counts(window, x), attrs.activation)


def vjp(
    attrs: Pool2dAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: each output's gradient, shared equally among the elements it averages."""
    (x,) = inputs
    window = window_of(attrs, x.shape)
    share = activation_grad(output, grad, attrs.activation) / _counts(window, x)
    return (SPREAD((window, x.shape), share),)


def ref_integer(p: Pool2dS8, x: Array) -> Array:
    """``clamp(round(sum / count))`` of raw values, halves away from zero, or up."""
    wide = x.astype(np.int32)
    return _mean(p, _sums(p.window, wide), _counts(p.window, wide)).astype(x.dtype)


def _mean(p: Pool2dS8, total: Array, count: Array) -> Array:
    if p.legacy:
        mean = (total + count // 2) // count
    else:
        mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    return np.asarray(np.clip(mean, p.act_min, p.act_max))


def rows(node: BoundNode) -> RowOp | None:
    """A fold over rows if the window covers the whole input, else the rows under the window.

    None if a window overlaps padding: an average leaves padding out, so no fill value serves. None
    for a fold that rounds as on uint8, too, which files seldom have.
    """
    x = node.input(0).shape
    window = window_of(node.attrs_as(Pool2dAttrs), x)
    if window.kernel != x[1:3] or window.out != (1, 1):
        return windowed_rows(node, window, None)
    p, count = prepare(node), x[1] * x[2]
    if node.input(0).dtype is not DType.INT8 or p.legacy:
        return None
    return folded_rows(node, Fold(x[3], lambda sums: _mean(p, sums, np.asarray(count))))


AVERAGE_POOL2D = OpSpec(
    name="average_pool2d",
    attrs=Pool2dAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    rows=rows,
    traits=Traits(channelwise=True, homogeneous=True, fuses=True),
)
