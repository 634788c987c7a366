"""Batch normalisation with the batch's own statistics, which only training does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.train.function import Array, Function, Gradient
from tinyrt.train.tensor import Tensor, apply


@dataclass(frozen=True, slots=True, eq=False)
class BatchStatistics:
    """What batch normalisation knows of the batch, per channel.

    Attributes:
        mean: (c,).
        variance: (c,), over n elements, not n - 1.
        epsilon: added to the variance before the root.

    """

    mean: Array
    variance: Array
    epsilon: float

    @classmethod
    def of(cls, x: Array, epsilon: float) -> BatchStatistics:
        """Statistics over all dimensions but the last."""
        rows = x.reshape(-1, x.shape[-1])
        mean = _column_mean(rows)
        centred = rows - mean
        return cls(mean, _column_mean(centred * centred), epsilon)

    @property
    def inverse_std(self) -> Array:
        """``1 / sqrt(variance + epsilon)``, (c,)."""
        return (self.variance + self.epsilon) ** -0.5


def _column_mean(rows: Array) -> Array:
    """Mean over the first of two dimensions, as a matrix product: the fastest form of it."""
    count = rows.shape[0]
    return (np.full((1, count), 1 / count, rows.dtype) @ rows).reshape(-1)


def _normalise(stats: BatchStatistics, x: Array, gamma: Array, beta: Array) -> Array:
    scale = gamma * stats.inverse_std
    return np.asarray(x * scale + (beta - stats.mean * scale))


def _normalise_vjp(
    stats: BatchStatistics, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of x, gamma and beta; mean and variance depend on x as well.

    With ``n`` the normalised x and averages over the batch, ``dx = gamma / std * (grad -
    mean(grad) - n * mean(grad * n))`` (Ioffe & Szegedy 2015, section 3, collected).
    """
    del output
    x, gamma, _ = inputs
    if not isinstance(x, np.ndarray):
        # What depends on x must be computed from it on the tape, to be differentiated again.
        stats = BatchStatistics.of(x, stats.epsilon)
    channels = x.shape[-1]
    rows = grad.reshape(-1, channels)
    dx = x.reshape(-1, channels) - stats.mean
    mean_grad, mean_grad_normal = _column_mean(rows), _column_mean(rows * dx) * stats.inverse_std
    # In place, since a fresh array costs more than the arithmetic.
    dx *= -mean_grad_normal * stats.inverse_std
    dx += rows
    dx -= mean_grad
    dx *= gamma * stats.inverse_std
    return dx.reshape(x.shape), mean_grad_normal * rows.shape[0], mean_grad * rows.shape[0]


NORMALISE_BATCH = Function("normalise_batch", _normalise, _normalise_vjp)


def normalise_batch(
    x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float
) -> tuple[Tensor, BatchStatistics]:
    """Batch normalisation with the batch's own mean and variance.

    Args:
        x: (..., c).
        gamma: scale, (c,).
        beta: shift, (c,).
        epsilon: added to the variance.

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
    stats = BatchStatistics.of(x.data, epsilon)
    return apply(NORMALISE_BATCH, stats, x, gamma, beta), stats
