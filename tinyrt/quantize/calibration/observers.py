"""Calibrators: each watches one tensor over the calibration data and proposes its range."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import elementary
from tinyrt.quantize.calibration.histogram import Histogram
from tinyrt.quantize.config import Calibrator, QuantConfig
from tinyrt.quantize.ranges import Range

LEVELS = 256
SHRINKS = np.linspace(1.0, 0.1, 91)
"""Fractions of the full range that the searching calibrators try, largest first."""


class Watcher(Protocol):
    """Watches one tensor; needs the same memory however many values it is shown."""

    def add(self, x: NDArray[Any]) -> None:
        """Take a batch, samples first."""
        ...

    def merge(self, later: Self) -> None:
        """Take what another one saw, made for a part: as if its batches came next."""
        ...


class Observer(Watcher, Protocol):
    """Proposes the range of the tensor that it watches."""

    def range(self) -> Range:
        """The range to quantise the tensor with."""
        ...


class MinMax:
    """The least and the greatest value: nothing saturates, outliers cost precision."""

    def __init__(self) -> None:
        self._range: Range | None = None

    def add(self, x: NDArray[Any]) -> None:
        """Take a batch, samples first."""
        batch_range = Range.of(x)
        self._widen(batch_range)

    def merge(self, later: MinMax) -> None:
        """Take what another one saw."""
        self._widen(later.range())

    def _widen(self, seen: Range) -> None:
        self._range = seen if self._range is None else self._range.union(seen)

    def range(self) -> Range:
        """The values' range."""
        assert self._range is not None, "a range is asked for after calibration"
        return self._range


class MovingAverage:
    """Exponential moving average of the samples' least and greatest values.

    Jacob et al., "Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference", CVPR 2018, section 3.1. Averaged by sample, so that the
    result does not depend on the batches; early samples count less as more follow.

    Args:
        is_part: whether it sees a part of the samples, for another one that takes their ends in
            their order: averages of averages would differ in their last bits.

    """

    MOMENTUM = 0.95

    def __init__(self, *, is_part: bool = False) -> None:
        self._ends: NDArray[np.float64] | None = None
        self._seen: list[NDArray[np.float64]] | None = [] if is_part else None

    def add(self, x: NDArray[Any]) -> None:
        """Take a batch, samples first."""
        rows = np.asarray(x, np.float64).reshape(len(x), -1)
        self._follow(np.stack([rows.min(axis=1), rows.max(axis=1)], axis=1))

    def merge(self, later: MovingAverage) -> None:
        """Take what another one saw, which was made for a part."""
        assert later._seen is not None, "made for a part"
        for ends in later._seen:
            self._follow(ends)

    def _follow(self, samples: NDArray[np.float64]) -> None:
        if self._seen is not None:
            self._seen.append(samples)
            return
        for ends in samples:
            old = ends if self._ends is None else self._ends
            self._ends = self.MOMENTUM * old + (1 - self.MOMENTUM) * ends

    def range(self) -> Range:
        """The averaged range."""
        assert self._ends is not None, "a range is asked for after calibration"
        return Range(float(self._ends[0]), float(self._ends[1]))


class HistogramObserver:
    """Base of the calibrators that look at the distribution."""

    def __init__(self) -> None:
        self.histogram = Histogram()

    def add(self, x: NDArray[Any]) -> None:
        """Take a batch, samples first."""
        self.histogram.add(x)

    def merge(self, later: Self) -> None:
        """Take what another one saw."""
        self.histogram.merge(later.histogram)


class Percentile(HistogramObserver):
    """The range that holds all but the outermost values, on each side that has any.

    Wu et al., "Integer Quantization for Deep Learning Inference", arXiv:2004.09602, section 3.3.

    Args:
        percentile: share of the values that lie below the upper end, and above the lower one.

    """

    def __init__(self, percentile: float) -> None:
        super().__init__()
        self._outside = 1 - percentile / 100

    def range(self) -> Range:
        """The range between the percentiles; it always contains zero's side of the data."""
        h = self.histogram
        allowed = self._outside * (h.zeros + int(h.counts.sum()))
        edges = (h.first + np.arange(len(h.counts) + 1)) * h.width
        low, high = h.low, h.high
        if high > 0:
            above = np.concatenate([np.cumsum(h.counts[::-1])[::-1], [0]])
            high = min(high, max(float(edges[int(np.argmax(above <= allowed))]), h.width))
        if low < 0:
            below = np.concatenate([[0], np.cumsum(h.counts)])
            last = len(below) - 1 - int(np.argmax(below[::-1] <= allowed))
            low = max(low, min(float(edges[last]), -h.width))
        return Range(low, high)


class MeanSquaredError(HistogramObserver):
    """The range with the least mean squared error of rounding and saturation together.

    Banner, Nahshan and Soudry, "Post training 4-bit quantization of convolutional networks for
    rapid-deployment", NeurIPS 2019, section 2 (ACIQ's trade-off, measured here on the histogram
    itself instead of on a fitted distribution).
    """

    def range(self) -> Range:
        """The best of all pairs of shrunken ends."""
        h = self.histogram
        low, high = min(h.low, 0.0), max(h.high, 0.0)
        lows = low * (SHRINKS if low < 0 else SHRINKS[:1])
        highs = high * (SHRINKS if high > 0 else SHRINKS[:1])
        over = _cut_off(h.centres, h.counts, highs)
        under = _cut_off(-h.centres, h.counts, -lows)
        inside = h.counts.sum()
        steps = (highs[None, :] - lows[:, None]) / (LEVELS - 1)
        error = steps**2 / 12 * inside + over[None, :] + under[:, None]
        at_low, at_high = np.unravel_index(int(np.argmin(error)), error.shape)
        return Range(float(lows[at_low]), float(highs[at_high]))


def _cut_off(
    centres: NDArray[np.float64], counts: NDArray[np.int64], ends: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each end, the sum of squared distances of the values beyond it."""
    beyond = centres[None, :] - ends[:, None]
    # In place: new arrays of this size cost more than what is computed.
    np.maximum(beyond, 0.0, out=beyond)
    beyond *= beyond
    beyond *= counts
    return np.asarray(beyond.sum(axis=1))


class Entropy(HistogramObserver):
    """The range whose quantised distribution is closest to the original one (KL divergence).

    Migacz, "8-bit Inference with TensorRT", GPU Technology Conference 2017. The upper end shrinks
    first, then the lower one; zeros, which lose nothing, are left out.
    """

    def range(self) -> Range:
        """The range of least divergence."""
        h = self.histogram
        low, high = min(h.low, 0.0), max(h.high, 0.0)
        if high > 0:
            high = min((high * f for f in SHRINKS), key=lambda end: _divergence(h, low, end))
        if low < 0:
            low = min((low * f for f in SHRINKS), key=lambda end: _divergence(h, end, high))
        return Range(float(low), float(high))


def _divergence(h: Histogram, low: float, high: float) -> float:
    """KL divergence of the saturated distribution from the one that ``LEVELS`` levels keep."""
    centres, counts = h.centres, h.counts.astype(np.float64)
    inside = (centres >= low) & (centres <= high)
    if not counts[inside].any():
        return np.inf
    p = np.where(inside, counts, 0.0)
    first, last = np.flatnonzero(inside)[[0, -1]]
    p[first] += counts[centres < low].sum()
    p[last] += counts[centres > high].sum()
    level = np.rint((centres - low) * ((LEVELS - 1) / (high - low))).astype(np.int64)
    level = np.clip(level, 0, LEVELS - 1)
    mass = np.bincount(level[inside], counts[inside], LEVELS)
    used = inside & (p > 0)
    sharers = np.bincount(level[used], minlength=LEVELS)
    q = mass[level] / np.maximum(sharers[level], 1)
    # A saturated bin that held nothing itself has no counterpart: give it a trace.
    q = np.maximum(q, 1e-4)[used]
    p = p[used] / p.sum()
    return float((p * elementary.log(p / (q / q.sum()))).sum())


class Every:
    """Several calibrators side by side, those of the histogram on one."""

    def __init__(
        self, config: QuantConfig, calibrators: Iterable[Calibrator], *, is_part: bool = False
    ) -> None:
        self._observers = [make_observer(c, config, is_part=is_part) for c in calibrators]
        self._shared = Histogram()
        for observer in self._observers:
            if isinstance(observer, HistogramObserver):
                observer.histogram = self._shared

    def add(self, x: NDArray[Any]) -> None:
        """Take a batch, samples first."""
        self._shared.add(x)
        for observer in self._observers:
            if not isinstance(observer, HistogramObserver):
                observer.add(x)

    def merge(self, later: Every) -> None:
        """Take what another one saw, which was made for a part."""
        self._shared.merge(later._shared)
        for observer, other in zip(self._observers, later._observers, strict=True):
            if not isinstance(observer, HistogramObserver):
                observer.merge(other)

    def candidates(self) -> list[Range]:
        """Every calibrator's range, always in the same order."""
        return [observer.range() for observer in self._observers]


def make_observer(
    calibrator: Calibrator, config: QuantConfig, *, is_part: bool = False
) -> Observer:
    """An observer for one tensor.

    Args:
        calibrator: any but those that choose among the others.
        config: the calibrators' own choices.
        is_part: whether it sees a part of the samples, and another one is to take what it saw.

    """
    match calibrator:
        case Calibrator.MOVING_AVERAGE:
            return MovingAverage(is_part=is_part)
        case Calibrator.PERCENTILE:
            return Percentile(config.percentile)
        case Calibrator.MSE:
            return MeanSquaredError()
        case Calibrator.ENTROPY:
            return Entropy()
        case _:
            return MinMax()
