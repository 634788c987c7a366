"""Where the batches of an epoch come from: arrays that are held, or an iterable of batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from tinyrt.errors import DataError
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.data import batches
from tinyrt.train.fit_state import FitConfig

Arrays = Array | tuple[Array, ...]
"""One array with the samples in front, or a tuple of them, for several inputs or outputs."""
Pairs = Iterable[tuple[Any, Any]]
Stream = Pairs | Callable[[np.random.Generator], Pairs]
"""Batches of samples and labels; a function gives those of an epoch, drawing from a generator."""
Augment = Callable[[Any, np.random.Generator], Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some samples.

    Attributes:
        samples: (count, ...), or a tuple of such arrays.
        labels: as the samples.
        count: how many samples.
        share: what part of the samples that its step sees these are.
        ends_step: whether the optimiser steps behind it.

    """

    samples: Any
    labels: Any
    count: int
    share: float
    ends_step: bool


class Feed(ABC):
    """What a training learns from.

    Attributes:
        facts: what a state file must be of, for samples and labels.

    """

    facts: tuple[Any, Any]

    @abstractmethod
    def steps(self) -> int | None:
        """Of the optimiser, in an epoch; None where only the iterable knows."""

    @abstractmethod
    def jobs(
        self, augment: Augment | None, rng: np.random.Generator
    ) -> Iterator[Callable[[], Batch]]:
        """One epoch: what gives each batch. Random choices of which and how are made in order."""


class ArrayFeed(Feed):
    """Arrays, in batches of a random order.

    Raises:
        DataError: they differ in their number of samples, or ``config.batches`` is set.

    """

    def __init__(self, x: Arrays, y: Arrays, config: FitConfig) -> None:
        self.x, self.y, self.config = x, y, config
        self.count = _count(x, y)
        self.facts = _shapes(x), _shapes(y)
        if config.batches is not None:
            raise DataError(
                f"batches is {config.batches}, but the samples are arrays",
                expected="batches=None, since batch says how many there are",
            )

    def steps(self) -> int:
        """Of the optimiser, in an epoch."""
        return -(-self.count // (self.config.batch * self.config.accumulate))

    def jobs(
        self, augment: Augment | None, rng: np.random.Generator
    ) -> Iterator[Callable[[], Batch]]:
        """One epoch."""
        size, whole = self.config.batch, self.config.batch * self.config.accumulate
        places = np.arange(self.count)
        for i, (rows, _) in enumerate(batches(places, places, size, rng)):
            before = i * size // whole * whole
            share = len(rows) / min(whole, self.count - before)
            ends = (i + 1) % self.config.accumulate == 0 or (i + 1) * size >= self.count
            yield _job(_rows(self.x, rows), _rows(self.y, rows), share, ends, augment, rng)


class StreamFeed(Feed):
    """Batches as an iterable gives them, anew in each epoch.

    Batches whose gradients are added up to a step count alike.

    Raises:
        DataError: the iterable can be gone through once only, or it must be known how many batches
            there are.

    """

    def __init__(self, stream: Stream, config: FitConfig) -> None:
        self.stream, self.config = stream, config
        count = "all" if config.batches is None else config.batches
        self.facts = "from an iterable", f"of {count} batches"
        if not callable(stream) and iter(stream) is stream:
            raise DataError(
                "the batches come from an iterator, which is at its end after one epoch",
                expected="an iterable that begins anew, or a function that gives one",
                hint="write fit(module, optimizer, lambda rng: batches(rng), None, ...)",
            )
        if config.accumulate > 1 and config.batches is None:
            raise DataError(
                "it is not known which batch is the last, where batches add up to steps",
                expected="FitConfig(batches=...), as many as an epoch has",
            )

    def steps(self) -> int | None:
        """Of the optimiser, in an epoch."""
        count = self.config.batches
        return None if count is None else -(-count // self.config.accumulate)

    def jobs(
        self, augment: Augment | None, rng: np.random.Generator
    ) -> Iterator[Callable[[], Batch]]:
        """One epoch."""
        own = np.random.default_rng(rng.integers(2**63))
        pairs = iter(self.stream(own) if callable(self.stream) else self.stream)
        most, together, found = self.config.batches, self.config.accumulate, 0
        for samples, labels in (_pair(p) for p in islice(pairs, most)):
            _count(samples, labels)
            of_step = (
                together if most is None else min(together, most - found // together * together)
            )
            found += 1
            ends = found % together == 0 or found == most
            yield _job(samples, labels, 1 / of_step, ends, augment, rng)
        if not found or (most is not None and found < most):
            raise DataError(
                f"an epoch gives {found} batches",
                expected=f"{most}" if most is not None else "at least one",
                hint="give what begins anew at each pass: a list, or a function of a generator",
            )


def feed_of(x: Arrays | Stream, y: Arrays | None, config: FitConfig) -> Feed:
    """Arrays of samples and labels, or an iterable of batches and no labels.

    Raises:
        DataError: it is neither, or as ``ArrayFeed`` and ``StreamFeed`` say.

    """
    is_arrays = isinstance(x, np.ndarray) or (
        isinstance(x, tuple) and all(isinstance(a, np.ndarray) for a in x)
    )
    if is_arrays and y is not None:
        return ArrayFeed(x, y, config)  # type: ignore[arg-type]
    if not is_arrays and y is None and (callable(x) or isinstance(x, Iterable)):
        return StreamFeed(x, config)  # type: ignore[arg-type]
    raise DataError(
        f"samples are {type(x).__name__}, labels {type(y).__name__}",
        expected="arrays and arrays, tuples of arrays for several inputs or outputs; or an "
        "iterable of pairs, or a function that gives one, and None",
    )


def inputs_of(samples: Arrays) -> tuple[Tensor, ...]:
    """What a module is called with, of a batch's samples."""
    return tuple(map(Tensor, _parts(samples)))


def _job(
    samples: Any,
    labels: Any,
    share: float,
    ends_step: bool,
    augment: Augment | None,
    rng: np.random.Generator,
) -> Callable[[], Batch]:
    """What gives a batch; the seed of its augmentation is drawn now."""
    count = len(labels[0] if isinstance(labels, tuple) else labels)
    if augment is None:
        return partial(Batch, samples, labels, count, share, ends_step)
    own = np.random.default_rng(rng.integers(2**63))
    return lambda: Batch(augment(samples, own), labels, count, share, ends_step)


def _pair(pair: Any) -> tuple[Arrays, Arrays]:
    """A batch of an iterable: samples and labels as arrays, whatever they are held in."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        size = f" of {len(pair)}" if isinstance(pair, tuple | list) else ""
        raise DataError(
            f"the iterable gives a {type(pair).__name__}{size}",
            expected="pairs (samples, labels); a tuple of arrays for several inputs",
        )
    samples, labels = (
        tuple(map(np.asarray, part)) if isinstance(part, tuple) else np.asarray(part)
        for part in pair
    )
    return samples, labels


def _parts(arrays: Arrays) -> tuple[Array, ...]:
    return arrays if isinstance(arrays, tuple) else (arrays,)


def _rows(arrays: Arrays, rows: Array) -> Arrays:
    return tuple(a[rows] for a in arrays) if isinstance(arrays, tuple) else arrays[rows]


def _shapes(arrays: Arrays) -> Any:
    return [a.shape for a in arrays] if isinstance(arrays, tuple) else arrays.shape


def _count(x: Arrays, y: Arrays) -> int:
    """How many samples all arrays have."""
    samples, labels = ([len(a) for a in _parts(arrays)] for arrays in (x, y))
    if len({*samples, *labels}) != 1:
        found = [" and ".join(map(str, counts)) for counts in (samples, labels)]
        raise DataError(
            f"{found[0]} samples, but {found[1]} labels", expected="a label for each sample"
        )
    return samples[0]
