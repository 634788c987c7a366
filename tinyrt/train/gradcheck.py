"""Gradients and gradients of gradients, held against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tinyrt.errors import GradientError
from tinyrt.train.core.autograd import partial_derivatives
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.products import inner_product


def gradcheck(
    function: Callable[..., Tensor],
    inputs: Sequence[Tensor],
    *,
    step: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    seed: int = 0,
) -> None:
    """Compare ``function``'s gradients with central differences.

    The outputs are weighted at random, and each input is moved along a random direction: two
    evaluations per input, whatever its size.

    Args:
        function: of tensors, giving a tensor of any shape; the same each time it is called.
        inputs: float64 tensors with ``requires_grad``; moved during the check, then restored. The
            function may also reach them by other ways than as arguments.
        step: how far the inputs are moved.
        rtol: relative tolerance of the slope.
        atol: absolute tolerance of the slope.
        seed: of weights and directions.

    Raises:
        GradientError: a gradient is wrong, or an input is not float64.

    """
    for i, x in enumerate(inputs):
        if x.dtype != np.float64 or not x.requires_grad:
            raise GradientError(
                f"input {i} is {x.dtype}, requires_grad={x.requires_grad}",
                expected="float64, whose differences are precise, and requires_grad=True",
            )
    rng = np.random.default_rng(seed)
    output = function(*inputs)
    weights = rng.normal(size=output.shape)
    gradients = partial_derivatives(output, inputs, weights)
    for i, (x, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        direction = rng.normal(size=x.shape)
        derivative = 0.0 if gradient is None else float((gradient.data * direction).sum())
        slope = _slope(function, inputs, x, step * direction, weights) / step
        if not np.isclose(derivative, slope, rtol=rtol, atol=atol):
            raise GradientError(
                f"the gradient of input {i} gives slope {derivative:.9g}, "
                f"differences give {slope:.9g}",
                tensor=f"shape {x.shape}",
                hint="check the function's vjp; at a kink, move the inputs away from it",
            )


def gradgradcheck(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], *, seed: int = 0, **options: float
) -> None:
    """Compare second derivatives with differences of the first, as ``gradcheck`` does.

    Differentiated are the gradients of all inputs, in the inputs and in what they are multiplied
    with from the left. Options are those of ``gradcheck``: ``step``, ``rtol``, ``atol``. These
    gradients must also be those that are computed without ``create_graph``.

    Raises:
        GradientError: a second derivative is wrong, a first one differs with ``create_graph``, or
            an input is not float64.

    """
    rng = np.random.default_rng(seed + 1)
    u = Tensor(rng.normal(size=function(*inputs).shape), requires_grad=True)
    weights = [rng.normal(size=x.shape) for x in inputs]

    def gradients(*_: Tensor) -> Tensor:
        derivatives = partial_derivatives(function(*inputs), inputs, u, create_graph=True)
        return inner_product(derivatives, weights)

    gradcheck(gradients, [*inputs, u], seed=seed, **options)
    _compare_on_tape(function, inputs, u)


def _compare_on_tape(function: Callable[..., Tensor], inputs: Sequence[Tensor], u: Tensor) -> None:
    """Refuse gradients that differ when they are computed to be differentiated again."""
    plain, taped = (
        partial_derivatives(function(*inputs), inputs, u, create_graph=again)
        for again in (False, True)
    )
    for i, pair in enumerate(zip(plain, taped, strict=True)):
        once, again = (0.0 if gradient is None else gradient.data for gradient in pair)
        if not np.allclose(once, again, rtol=1e-6, atol=1e-9):
            raise GradientError(
                f"the gradient of input {i} differs by up to {np.abs(once - again).max():.3g} "
                "when it is computed to be differentiated again",
                tensor=f"shape {inputs[i].shape}",
                expected="the same gradient with create_graph=True as without",
                hint="check what the function's vjp does with tensors: it gets arrays otherwise",
            )


def _slope(
    function: Callable[..., Tensor],
    inputs: Sequence[Tensor],
    x: Tensor,
    change: Array,
    weights: Array,
) -> float:
    """Half the difference of the weighted output between ``x + change`` and ``x - change``."""
    start, values = x.data, []
    for sign in (1, -1):
        x.data = start + sign * change
        values.append(float((function(*inputs).data * weights).sum()))
    x.data = start
    return (values[0] - values[1]) / 2
