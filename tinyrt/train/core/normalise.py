"""Batch normalisation with the batch's own statistics, which only training does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.floatmath import columns
from tinyrt.ops.shared.activation import activation_grad
from tinyrt.train.core.function import Array, Function, Gradient
from tinyrt.train.core.tensor import Tensor, apply


@dataclass(frozen=True, slots=True, eq=False)
class BatchStatistics:
    """What batch normalisation knows of the batch, per channel.

    Attributes:
        mean: (c,).
        variance: (c,), over n elements, not n - 1.
        inverse_std: ``1 / sqrt(variance + epsilon)``, (c,).
        epsilon: added to the variance before the root.
        relu: whether a ReLU follows, in the same passes over memory.

    """

    mean: Array
    variance: Array
    inverse_std: Array
    epsilon: float
    relu: bool = False

    @classmethod
    def of(cls, x: Array, epsilon: float, *, relu: bool = False) -> BatchStatistics:
        """Statistics over all dimensions but the last."""
        rows = x.reshape(-1, x.shape[-1])
        mean, variance, inverse_std = columns.statistics(rows, epsilon)
        return cls(mean, variance, inverse_std, epsilon, relu)


def _normalise(stats: BatchStatistics, x: Array, gamma: Array, beta: Array) -> Array:
    rows = x.reshape(-1, x.shape[-1])
    scale = gamma * stats.inverse_std
    return columns.scaled(rows, stats.mean, scale, beta, relu=stats.relu).reshape(x.shape)


def _normalise_vjp(
    stats: BatchStatistics, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of x, gamma and beta; mean and variance depend on x as well."""
    x, gamma, beta = inputs
    rows, grads = (a.reshape(-1, x.shape[-1]) for a in (x, grad))
    if isinstance(x, np.ndarray):
        found = columns.normalised_gradients(
            rows, grads, stats.mean, stats.inverse_std, gamma, beta if stats.relu else None
        )
    else:
        if stats.relu:
            grads = activation_grad(output.reshape(rows.shape), grads, "RELU")
        found = _vjp_on_tape(stats.epsilon, rows, gamma, grads)
    dx, *others = found
    return dx.reshape(x.shape), *others


def _vjp_on_tape(epsilon: float, rows: Array, gamma: Array, grads: Array) -> tuple[Gradient, ...]:
    """The same from (n, c), all of it computed from x, to be differentiated again."""
    centred = rows - rows.mean((0,))
    inverse_std = ((centred * centred).mean((0,)) + epsilon) ** -0.5
    normal = centred * inverse_std
    dx = gamma * inverse_std * (grads - grads.mean((0,)) - normal * (grads * normal).mean((0,)))
    return dx, (grads * normal).sum((0,)), grads.sum((0,))


NORMALISE_BATCH = Function("normalise_batch", _normalise, _normalise_vjp)


def normalise_batch(
    x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float, *, relu: bool = False
) -> tuple[Tensor, BatchStatistics]:
    """Batch normalisation with the batch's own mean and variance.

    Args:
        x: (..., c).
        gamma: scale, (c,).
        beta: shift, (c,).
        epsilon: added to the variance.
        relu: give the result's positive part.

    Returns:
        The normalised tensor, shape of x, and the statistics, for running averages.

    Raises:
        ShapeError: scale or shift do not have one element per channel.

    """
    for parameter in (gamma, beta):
        if parameter.shape != x.shape[-1:]:
            raise ShapeError(
                f"batch norm over {x.shape} with parameters of shape {parameter.shape}",
                op=NORMALISE_BATCH.name,
                expected=f"one element per channel: {x.shape[-1:]}",
            )
    if not x.data.size:
        raise ShapeError(f"batch norm over {x.shape}", expected="at least one element")
    stats = BatchStatistics.of(x.data, epsilon, relu=relu)
    return apply(NORMALISE_BATCH, stats, x, gamma, beta), stats
