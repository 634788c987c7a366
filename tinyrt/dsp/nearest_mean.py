"""The simplest layer that learns: the class whose mean is nearest.

It adds up features and counts samples (Hastie et al., The Elements of Statistical Learning,
18.2, without shrinking), in integers, so that host and device keep the same sums, bit for bit. It
begins with nothing at all, and knows a class after one sample.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.checks import known, require, require_int
from tinyrt.dsp.learner import MAX_CLASSES, MAX_FEATURES, Ints, stored_features
from tinyrt.dsp.saved import pack, unpack

LOWEST = -128
"""Features are added up from here, so that no sum is negative."""
MOST = 255
FRACTION_BITS = 8
"""Of a mean: its numerator just fits into 32 bits."""
SCORE_SHIFT = 13
"""From squares of 2 ** -16 to eighths: the farthest of 4,096 features fits into 31 bits."""
MAX_MEMORY = 1 << 15
UNKNOWN = np.iinfo(np.int32).min
"""The score of a class without samples."""


@dataclass(frozen=True, slots=True)
class NearestMean:
    """Means of int8 features by class.

    Attributes:
        sums: what it begins with, (classes, features): of features, each counted from -128.
        counts: samples that each class's sums are of, (classes,), up to ``memory``.
        memory: an even number of samples, 2 to 32,768. A class that has so many counts half from
            there on, so that it follows what changes, and no sum overflows.

    """

    sums: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]
    memory: int = 256
    start: tuple[Ints, Ints] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_int(self.classes, 2, MAX_CLASSES, "classes")
        require_int(self.features, 1, MAX_FEATURES, "features")
        require_int(self.memory, 2, MAX_MEMORY, "memory")
        require(self.memory % 2 == 0, "memory", self.memory, "an even number")
        even = all(len(row) == self.features for row in self.sums)
        require(even, "sums", "rows of different lengths", "(classes, features)")
        require(len(self.counts) == self.classes, "counts", len(self.counts), f"{self.classes}")
        for row, count in zip(self.sums, self.counts, strict=True):
            require_int(count, 0, self.memory, "counts")
            for value in row:
                require_int(value, 0, MOST * count, "sums")
        arrays = np.array(self.sums, np.int32), np.array(self.counts, np.int32)
        object.__setattr__(self, "start", arrays)

    @property
    def classes(self) -> int:
        """Scores of a sample."""
        return len(self.sums)

    @property
    def features(self) -> int:
        """Features of a sample."""
        return len(self.sums[0])

    @property
    def identity(self) -> int:
        """Tells what is saved by one from what is saved by another: a CRC-32 of all of it."""
        sums, counts = self.start
        whole = np.concatenate([sums.ravel(), counts, [self.memory, self.features]])
        return zlib.crc32(whole.astype("<i8").tobytes(), zlib.crc32(b"nearest mean"))

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        options = asdict(self)
        del options["start"]
        return options | {"sums": [list(row) for row in self.sums], "counts": list(self.counts)}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> NearestMean:
        """The value of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is unknown or out of range.

        """
        made = dict(known(cls, options))
        made["sums"] = tuple(tuple(row) for row in made.get("sums", ()))
        return cls(**made | {"counts": tuple(made.get("counts", ()))})

    @classmethod
    def empty(cls, classes: int, features: int, *, memory: int = 256) -> NearestMean:
        """The value that has seen nothing.

        Raises:
            DataError: an option is out of range.

        """
        require_int(classes, 2, MAX_CLASSES, "classes")
        require_int(features, 1, MAX_FEATURES, "features")
        return cls(((0,) * features,) * classes, (0,) * classes, memory)

    @classmethod
    def from_samples(
        cls, features: ArrayLike, labels: ArrayLike, *, classes: int, memory: int = 256
    ) -> NearestMean:
        """The value that has learnt these samples in their order.

        Args:
            features: int8 (samples, features).
            labels: (samples,), integers below ``classes``.
            classes: how many there are.
            memory: as the attribute.

        Raises:
            DataError: an option is out of range, or these are no such samples.

        """
        x, y = np.asarray(features), np.asarray(labels)
        fits = x.ndim == 2 and y.shape == x.shape[:1] and y.dtype.kind in "iu"
        require(fits, "labels", f"{y.dtype}{list(y.shape)}", "a class index for each sample")
        state = NearestMeanState(cls.empty(classes, x.shape[1], memory=memory))
        for row, label in zip(x, y.tolist(), strict=True):
            state.learn(row, label)
        sums = tuple(tuple(row) for row in state.sums.tolist())
        return cls(sums, tuple(state.counts.tolist()), memory)


class NearestMeanState:
    """Means at work: sums and counts as they are now.

    Args:
        learner: what they begin with.

    """

    def __init__(self, learner: NearestMean) -> None:
        self.learner = learner
        self.reset()

    def reset(self) -> None:
        """Begin anew, with the sums of the start."""
        sums, counts = self.learner.start
        self.sums, self.counts = sums.copy(), counts.copy()

    def scores(self, features: ArrayLike) -> NDArray[np.int32]:
        """How near each class's mean is, int32 (classes,), for int8 features (features,).

        The squared distance to the mean in eighths, with a minus, so that the greatest is nearest;
        ``UNKNOWN`` for a class without samples.

        Raises:
            DataError: these are no such features.

        """
        x = (stored_features(features, self.learner.features) - LOWEST) << FRACTION_BITS
        count = np.maximum(self.counts, 1).astype(np.int64)[:, None]
        means = ((self.sums.astype(np.int64) << FRACTION_BITS) + (count >> 1)) // count
        distances = ((x - means) ** 2).sum(axis=1) >> SCORE_SHIFT
        return np.where(self.counts > 0, -distances, UNKNOWN).astype(np.int32)

    def learn(self, features: ArrayLike, label: int) -> None:
        """Add a sample to its class.

        Raises:
            DataError: these are no such features, or there is no such class.

        """
        x = stored_features(features, self.learner.features) - LOWEST
        require_int(label, 0, self.learner.classes - 1, "label")
        if self.counts[label] == self.learner.memory:
            self.sums[label] = (self.sums[label] + 1) >> 1
            self.counts[label] >>= 1
        self.sums[label] += x.astype(np.int32)
        self.counts[label] += 1

    def save(self, number: int = 0) -> bytes:
        """What the C code saves: a header of four words, then all sums and counts."""
        words = np.concatenate([self.sums.ravel(), self.counts])
        return pack(self.learner.identity, number, words)

    def load(self, saved: bytes) -> int:
        """Take what was saved; gives its number.

        Raises:
            DataError: it is damaged, or another value's.

        """
        classes = self.learner.classes
        count = classes * (self.learner.features + 1)
        number, words = unpack(saved, self.learner.identity, count)
        self.sums = words[:-classes].reshape(self.sums.shape)
        self.counts = words[-classes:]
        return number
