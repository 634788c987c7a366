"""A last dense layer that goes on learning on the device: softmax regression in fixed point.

A network without its last layer gives features. This layer gives scores, and with each labelled
sample moves its weights a step down the gradient of the cross entropy (Bishop, Pattern Recognition
and Machine Learning, 4.3.4). All numbers are integers, so that host and device keep the same
weights, bit for bit, after any number of steps.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.checks import known, require, require_int, require_real
from tinyrt.dsp.saved import pack, unpack
from tinyrt.errors import DataError

Ints = NDArray[np.int32]

MAX_CLASSES, MAX_FEATURES = 256, 4096
MIN_BITS, MAX_BITS = 8, 24
MAX_WEIGHT, MAX_BIAS = (1 << 22) - 1, (1 << 30) - 1
"""What weights and biases are held to: sums of 4,096 products then fit into 64 bits with room."""

POWER_BITS, TABLE_BITS = 12, 6
POWERS = np.array(
    [round(2**15 * 2 ** (-i / 2**TABLE_BITS)) for i in range(2**TABLE_BITS + 1)], np.int32
)
"""``2 ** -x`` for x from 0 to 1 in 64 steps, in Q15."""
LOG2E = round(math.log2(math.e) * 2**14)
"""In Q14."""
FAR = 16
"""Logits so far below the greatest have no share: e ** -16 is below 2 ** -23."""

RATE_BITS = 15
"""Bits of the rate's multiplier."""

MIN_SHIFT, MAX_SHIFT = 0, 32
"""Beyond these, the error of a class that is wholly wrong moves no weight, or all the way."""


@dataclass(frozen=True, slots=True)
class Learner:
    """A dense layer behind int8 features, with softmax, that learns one sample at a time.

    The logit of a class is ``sum(w[k, j] * (x[j] - zero_point)) + b[k]``, in units of
    ``2 ** -bits``.

    Attributes:
        weights: what it begins with, (classes, features), integers up to 2 ** 22.
        biases: (classes,), integers up to 2 ** 30.
        zero_point: of the features.
        scale: of the features; it turns the rate into the step of an integer.
        bits: fraction bits of a logit.
        rate: learning rate, for features in real units.
        max_step: the most that one sample moves a weight, in real units of a logit per feature.
        max_drift: the most that a weight or bias ever moves from where it began, likewise.

    """

    weights: tuple[tuple[int, ...], ...]
    biases: tuple[int, ...]
    zero_point: int
    scale: float
    bits: int = 16
    rate: float = 0.05
    max_step: float = 0.25
    max_drift: float = 4.0
    start: tuple[Ints, Ints] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_int(self.classes, 2, MAX_CLASSES, "classes")
        require_int(self.features, 1, MAX_FEATURES, "features")
        require_int(self.zero_point, -128, 127, "zero_point")
        require_int(self.bits, MIN_BITS, MAX_BITS, "bits")
        require_real(self.scale, 1e-9, 1e3, "scale")
        require_real(self.rate, 1e-6, 10, "rate")
        require_real(self.max_step, 1e-6, 1e3, "max_step")
        require_real(self.max_drift, 1e-6, 1e3, "max_drift")
        even = all(len(row) == self.features for row in self.weights)
        require(even, "weights", "rows of different lengths", "(classes, features)")
        require(
            len(self.biases) == self.classes, "biases", len(self.biases), f"{self.classes} numbers"
        )
        for row in self.weights:
            for w in row:
                require_int(w, -MAX_WEIGHT, MAX_WEIGHT, "weights")
        for b in self.biases:
            require_int(b, -MAX_BIAS, MAX_BIAS, "biases")
        arrays = np.array(self.weights, np.int32), np.array(self.biases, np.int32)
        object.__setattr__(self, "start", arrays)
        _, shift = self.rate_step
        fits = MIN_SHIFT <= shift <= MAX_SHIFT
        require(
            fits, "rate", self.rate, "steps of weights that 32 bits can hold, more or fewer bits"
        )

    @property
    def classes(self) -> int:
        """Scores of a sample."""
        return len(self.weights)

    @property
    def features(self) -> int:
        """Features of a sample."""
        return len(self.weights[0])

    @property
    def rate_step(self) -> tuple[int, int]:
        """The rate as ``multiplier * 2 ** -shift``: of an error in Q15 and a feature's integer.

        A logit's gradient by the integer weight is the feature's integer; in real units both the
        feature and the weight have the feature's scale, hence its square.
        """
        step = self.rate * self.scale**2 * 2.0 ** (self.bits - 15)
        mantissa, exponent = math.frexp(step)
        return round(mantissa * 2**RATE_BITS), RATE_BITS - exponent

    @property
    def bias_step(self) -> tuple[int, int]:
        """The same for a bias, whose feature is 1."""
        mantissa, exponent = math.frexp(self.rate * 2.0 ** (self.bits - 15))
        return round(mantissa * 2**RATE_BITS), RATE_BITS - exponent

    @property
    def limits(self) -> tuple[int, int, int, int]:
        """Most step and drift of a weight, and of a bias, as integers, at least 1."""
        per_weight, per_bias = self.scale * 2**self.bits, 2.0**self.bits
        return (
            *(_limit(self.max_step * per_weight), _limit(self.max_drift * per_weight)),
            *(_limit(self.max_step * per_bias), _limit(self.max_drift * per_bias)),
        )

    @property
    def identity(self) -> int:
        """Tells what is saved by one layer from what is saved by another: a CRC-32 of all of it."""
        numbers = [*self.rate_step, *self.bias_step, *self.limits, self.bits, self.zero_point]
        numbers.append(self.features)
        weights, biases = self.start
        whole = np.concatenate([weights.ravel(), biases, np.array(numbers, np.int64)])
        return zlib.crc32(whole.astype("<i8").tobytes())

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        options = asdict(self)
        del options["start"]
        return options | {"weights": [list(row) for row in self.weights]}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Learner:
        """The layer of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is unknown or out of range.

        """
        made = dict(known(cls, options))
        made["weights"] = tuple(tuple(row) for row in made.get("weights", ()))
        return cls(**made | {"biases": tuple(made.get("biases", ()))})

    @classmethod
    def from_layer(
        cls,
        weights: ArrayLike,
        biases: ArrayLike,
        *,
        scale: float,
        zero_point: int,
        bits: int | None = None,
        rate: float = 0.05,
        max_step: float = 0.25,
        max_drift: float = 4.0,
    ) -> Learner:
        """The layer that begins as a float one, rounded.

        Args:
            weights: real, (classes, features).
            biases: real, (classes,).
            scale: of the int8 features.
            zero_point: of the features.
            bits: fraction bits of a logit; None for as many as leave weights and biases room to
                become four times as large.
            rate: learning rate.
            max_step: as the attribute.
            max_drift: as the attribute.

        Raises:
            DataError: an option is out of range.

        """
        w, b = np.asarray(weights, np.float64) * scale, np.asarray(biases, np.float64)
        if bits is None:
            bits = min(_bits(w, MAX_WEIGHT), _bits(b, MAX_BIAS))
        w, b = np.rint(w * 2.0**bits), np.rint(b * 2.0**bits)
        limits = {"rate": rate, "max_step": max_step, "max_drift": max_drift}
        rows = tuple(tuple(int(v) for v in row) for row in w)
        return cls(rows, tuple(int(v) for v in b), zero_point, scale, bits, **limits)


def _bits(values: NDArray[np.float64], most: int) -> int:
    """Most fraction bits of values that may become four times as large."""
    greatest = max(float(np.abs(values).max(initial=0.0)), 2.0**-MAX_BITS)
    return min(max(math.floor(math.log2(most / (4 * greatest))), MIN_BITS), MAX_BITS)


def _limit(value: float) -> int:
    return int(min(max(round(value), 1), MAX_BIAS))


class LearnerState:
    """A layer at work: its weights as they are now.

    Args:
        learner: what it begins with.

    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.reset()

    def reset(self) -> None:
        """Begin anew, with the weights of the start."""
        weights, biases = self.learner.start
        self.weights, self.biases = weights.copy(), biases.copy()

    def scores(self, features: ArrayLike) -> NDArray[np.int32]:
        """Shares of each class in Q15, int32 (classes,), for int8 features (features,).

        Raises:
            DataError: these are no such features.

        """
        return shares(self.learner, self._logits(self._checked(features)))

    def learn(self, features: ArrayLike, label: int) -> None:
        """Move the weights a step towards a sample's class.

        Raises:
            DataError: these are no such features, or there is no such class.

        """
        learner, x = self.learner, self._checked(features)
        require_int(label, 0, learner.classes - 1, "label")
        error = shares(learner, self._logits(x)).astype(np.int64)
        error[label] -= 1 << 15
        weight_step, weight_drift, bias_step, bias_drift = learner.limits
        first, first_bias = learner.start
        multiplier, shift = learner.rate_step
        move = _scaled(error[:, None] * multiplier * x, shift, weight_step)
        self.weights = _held(self.weights - move, first, weight_drift, MAX_WEIGHT)
        multiplier, shift = learner.bias_step
        move = _scaled(error * multiplier, shift, bias_step)
        self.biases = _held(self.biases - move, first_bias, bias_drift, MAX_BIAS)

    def save(self, number: int = 0) -> bytes:
        """What the C code saves: a header of four words, then all weights and biases."""
        words = np.concatenate([self.weights.ravel(), self.biases])
        return pack(self.learner.identity, number, words)

    def load(self, saved: bytes) -> int:
        """Take what was saved; gives its number.

        Raises:
            DataError: it is damaged, or another layer's.

        """
        count = self.learner.classes * (self.learner.features + 1)
        number, body = unpack(saved, self.learner.identity, count)
        self.weights = body[: -self.learner.classes].reshape(self.weights.shape)
        self.biases = body[-self.learner.classes :]
        return number

    def _checked(self, features: ArrayLike) -> NDArray[np.int64]:
        x = stored_features(features, self.learner.features)
        return x - self.learner.zero_point

    def _logits(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.weights.astype(np.int64) @ x + self.biases


def stored_features(features: ArrayLike, count: int) -> NDArray[np.int64]:
    """The integers of that many int8 features.

    Raises:
        DataError: these are no such features.

    """
    x = np.asarray(features)
    if x.dtype != np.int8 or x.shape != (count,):
        raise DataError(
            f"features are {x.dtype} of the shape {list(x.shape)}",
            expected=f"{count} features, int8",
            hint="take the integers of the network's output, not their real values",
        )
    return x.astype(np.int64)


def shares(learner: Learner, logits: NDArray[np.int64]) -> NDArray[np.int32]:
    """Softmax in Q15 of logits in ``2 ** -bits``, rounded down: the sum is 2 ** 15 at most."""
    below = np.minimum(logits.max() - logits, FAR << learner.bits)
    power = (below * LOG2E) >> (learner.bits + 14 - POWER_BITS)
    part = power & ((1 << POWER_BITS) - 1)
    at, rest = part >> (POWER_BITS - TABLE_BITS), part & ((1 << (POWER_BITS - TABLE_BITS)) - 1)
    table = POWERS.astype(np.int64)
    steps = POWER_BITS - TABLE_BITS
    value = table[at] - (((table[at] - table[at + 1]) * rest + (1 << (steps - 1))) >> steps)
    value = value >> (power >> POWER_BITS)
    return np.asarray((value << 15) // value.sum(), np.int32)


def _scaled(products: NDArray[np.int64], shift: int, most: int) -> NDArray[np.int64]:
    """``products * 2 ** -shift``, rounded to nearest, halves up, held to ``most`` either way."""
    half = (1 << shift) >> 1
    return np.asarray(np.clip((products + half) >> shift, -most, most))


def _held(values: NDArray[np.int64], first: Ints, drift: int, most: int) -> Ints:
    """Values not further than ``drift`` from the first ones, nor beyond ``most``."""
    start = first.astype(np.int64)
    low, high = np.maximum(start - drift, -most), np.minimum(start + drift, most)
    return np.clip(values, low, high).astype(np.int32)
