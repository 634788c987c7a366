"""Round weights so that the layer's outputs, not the weights themselves, are closest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath.products import matmul
from tinyrt.quantize.methods.triangular import inverse_root
from tinyrt.quantize.ranges import WEIGHT_MAX

Batch = NDArray[np.float64]
SWEEPS = 4
TURNS = 4
SHRINKS = np.linspace(1.0, 0.5, 26)


def second_moments(rows: NDArray[np.floating]) -> Batch:
    """Centred second moments of the inputs of the weights, with shrinkage for few rows.

    Centred, since the bias makes up for the mean. Off-diagonal elements shrink with the ratio of
    taps to rows: correlations that few rows show may not hold beyond them (Ledoit and Wolf, "A
    well-conditioned estimator for large-dimensional covariance matrices", J. Multivariate
    Analysis 88, 2004). Without any, the nearest weights are the best ones.

    Args:
        rows: (blocks, rows, taps).

    Returns:
        (blocks, taps, taps), positive definite.

    """
    count, taps = rows.shape[1:]
    centred = rows.astype(np.float64) - rows.mean(axis=1, keepdims=True, dtype=np.float64)
    moments = matmul(centred.transpose(0, 2, 1), centred) / count
    diagonal = np.einsum("bkk->bk", moments).copy()
    # Taps that never changed must still be rounded to something near.
    floor = 1e-4 * diagonal.mean(axis=1, keepdims=True) + 1e-30
    moments *= count / (count + taps)
    moments[:, range(taps), range(taps)] = np.maximum(diagonal, floor)
    return np.asarray(moments)


def round_weights(
    weights: Batch, scales: Batch, moments: Batch, most: int = WEIGHT_MAX
) -> NDArray[np.int8]:
    """Integer weights with a small mean squared error of the outputs.

    The objective is AdaRound's: ``d' M d`` for the weights' errors d and the inputs' moments M
    (Nagel et al., "Up or Down? Adaptive Rounding for Post-Training Quantization", ICML 2020,
    section 3). It starts from nearest rounding with error feedback (Frantar et al., "GPTQ",
    ICLR 2023, section 3) and descends coordinate by coordinate (Nair and Suggala, "CDQuant",
    arXiv:2406.17542, algorithm 1), which may move a weight by more than one step.

    Args:
        weights: (blocks, outputs, taps) real weights.
        scales: (blocks, outputs) steps.
        moments: (blocks, taps, taps), positive definite.
        most: largest magnitude of a stored weight.

    Returns:
        (blocks, outputs, taps) in [-most, most].

    """
    steps = scales[..., None]
    nearest = _nearest(weights / steps, most)
    candidates = (_fed_back(weights, steps, moments, most), nearest)
    results = [_descend(weights, steps, moments, start, most) for start in candidates]
    errors = [_error(weights, steps, moments, result) for result in results]
    return np.where((errors[0] <= errors[1])[..., None], *results).astype(np.int8)


def round_with_scales(
    weights: Batch, scales: Batch, moments: Batch, most: int, tied: bool
) -> tuple[NDArray[np.int8], Batch]:
    """Integer weights of few bits, and the scales that suit them.

    With few steps, cutting off the largest weights costs less than coarse steps for all (Banner
    et al., "Post-training 4-bit quantization of convolution networks for rapid-deployment",
    NeurIPS 2019): scales are shrunk as far as nearest rounding gains by it. Then weights are
    rounded and scales solved for, in turns; both lower the error of ``round_weights``.

    Args:
        weights: (blocks, outputs, taps) real weights.
        scales: (blocks, outputs) steps with which nothing is cut off.
        moments: (blocks, taps, taps), positive definite.
        most: largest magnitude of a stored weight.
        tied: whether all scales are to be one.

    Returns:
        Weights as from ``round_weights``, and scales as given, float32 values.

    """

    def total(error: Batch) -> Batch:
        return np.broadcast_to(error.sum(), error.shape) if tied else error

    best, fitted = np.full(scales.shape, np.inf), scales
    for shrink in SHRINKS:
        steps = (scales * shrink)[..., None]
        error = total(_error(weights, steps, moments, _nearest(weights / steps, most)))
        better = error < best
        best, fitted = np.where(better, error, best), np.where(better, scales * shrink, fitted)
    integers = round_weights(weights, _as_float32(fitted), moments, most).astype(np.float64)
    best = total(_error(weights, fitted[..., None], moments, integers))
    for _ in range(TURNS):
        projected = matmul(integers, moments)
        gain, power = ((projected * other).sum(axis=2) for other in (weights, integers))
        gain, power = total(gain), total(power)
        solved = _as_float32(
            np.where((gain > 0) & (power > 0), gain / np.maximum(power, 1e-30), fitted)
        )
        rounded = round_weights(weights, solved, moments, most).astype(np.float64)
        error = total(_error(weights, solved[..., None], moments, rounded))
        better = error < best
        best, fitted = np.where(better, error, best), np.where(better, solved, fitted)
        integers = np.where(better[..., None], rounded, integers)
    return integers.astype(np.int8), _as_float32(fitted)


def _as_float32(scales: Batch) -> Batch:
    return scales.astype(np.float32).astype(np.float64)


def _nearest(steps: Batch, most: int) -> Batch:
    return np.clip(np.rint(steps), -most, most)


def _error(weights: Batch, steps: Batch, moments: Batch, rounded: Batch) -> Batch:
    error = rounded * steps - weights
    return np.asarray((matmul(error, moments) * error).sum(axis=2))


def _fed_back(weights: Batch, steps: Batch, moments: Batch, most: int) -> Batch:
    """Nearest rounding, tap by tap; the following taps compensate for each error."""
    taps = weights.shape[2]
    feedback = inverse_root(moments)
    targets, integers = weights.copy(), np.empty_like(weights)
    for k in range(taps):
        integers[..., k] = _nearest(targets[..., k] / steps[..., 0], most)
        error = (targets[..., k] - integers[..., k] * steps[..., 0]) / feedback[:, k, k, None]
        targets[..., k + 1 :] -= error[..., None] * feedback[:, None, k, k + 1 :]
    return integers


def _descend(weights: Batch, steps: Batch, moments: Batch, start: Batch, most: int) -> Batch:
    """Coordinate descent: move one tap of all outputs at a time to its optimum."""
    integers = start.copy()
    slope = matmul(integers * steps - weights, moments)
    curvature = np.einsum("bkk->bk", moments)
    for _ in range(SWEEPS):
        moved = False
        for k in range(weights.shape[2]):
            optimum = integers[..., k] - slope[..., k] / (curvature[:, None, k] * steps[..., 0])
            change = _nearest(optimum, most) - integers[..., k]
            if change.any():
                moved = True
                integers[..., k] += change
                slope += (change * steps[..., 0])[..., None] * moments[:, None, k, :]
        if not moved:
            break
    return integers
