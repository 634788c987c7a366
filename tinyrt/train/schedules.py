"""The learning rate's way through training: functions of the step."""

from __future__ import annotations

import math

from tinyrt.floatmath import elementary


def cosine_lr(step: int, steps: int, peak: float, warmup: int = 0) -> float:
    """Learning rate of step ``step`` of ``steps``: a linear rise, then half a cosine down to 0.

    Loshchilov & Hutter 2017, without restarts; the rise takes ``warmup`` steps.
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return 0.5 * peak * (1 + _cosine(progress))


def _cosine(progress: float) -> float:
    return float(elementary.cos(math.pi * progress))


def step_lr(step: int, start: float, every: int, factor: float = 0.1) -> float:
    """Learning rate of step ``step``: multiplied by ``factor`` every ``every`` steps."""
    return start * float(elementary.whole_power(factor, step // every))


def one_cycle_lr(step: int, steps: int, peak: float, rise: float = 0.3, low: float = 25.0) -> float:
    """Learning rate of step ``step`` of ``steps``: up from ``peak / low``, down to nearly 0.

    Smith & Topin 2018, "Super-Convergence", with half cosines both ways.

    Args:
        step: from 0.
        steps: of the whole training.
        peak: the greatest rate.
        rise: share of the steps until the peak.
        low: how many times smaller than the peak the rate starts; it ends ``low ** 2`` times.

    """
    top = max(1.0, rise * steps)
    if step < top:
        start, progress = peak / low, step / top
    else:
        start, progress = peak / low**2, 1 - (step - top) / max(1.0, steps - 1 - top)
    return start + (peak - start) * 0.5 * (1 - _cosine(progress))
