"""Splitting, shuffling and augmenting arrays; all randomness comes from the generator given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.errors import DataError
from tinyrt.ops.shared.spec import Array

Labels = NDArray[np.int64]
Item = TypeVar("Item")


def stratified_split(
    labels: Labels, test_fraction: float, rng: np.random.Generator, fold: int = 0
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of a training and a test part that hold every class in the same proportion.

    Args:
        labels: (n,), the class of each sample.
        test_fraction: share of each class that is kept for the test, rounded to whole samples.
        rng: draws which.
        fold: of the test parts that follow each other in what is drawn, which one.

    Returns:
        Training and test indices, each in ascending order.

    """
    test = []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        test.append(members[part_of(len(members), test_fraction, fold)])
    test_indices = np.sort(np.concatenate(test))
    return np.setdiff1d(np.arange(len(labels)), test_indices), test_indices


def part_of(n: int, share: float, fold: int) -> slice:
    """Of n in a row, the part of that share which stands behind ``fold`` others."""
    return slice(round(n * share * fold), round(n * share * (fold + 1)))


def class_weights(labels: ArrayLike) -> Array:
    """For ``cross_entropy``: factors by which all classes count alike, whatever their numbers.

    ``w[k] = n / (classes * count[k])``, so that the mean over the samples is 1.

    Args:
        labels: (n,), integers from 0; every class up to the greatest has a sample.

    Returns:
        (classes,), float32.

    Raises:
        DataError: a class has none, or these are no classes.

    """
    classes = np.asarray(labels)
    if classes.ndim != 1 or classes.dtype.kind not in "iu" or not classes.size or classes.min() < 0:
        raise DataError(
            f"labels of type {classes.dtype} and shape {classes.shape}",
            expected="integers (n,) from 0, at least one",
        )
    counts = np.bincount(classes)
    if not counts.all():
        raise DataError(
            f"class {int(np.argmin(counts))} has no sample",
            expected=f"one or more of each class from 0 to {len(counts) - 1}",
        )
    return np.asarray(len(classes) / (len(counts) * counts), np.float32)


def batches(
    x: Array, y: Array, size: int, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """One pass over the data in random order, in batches of ``size``; the last may be smaller.

    Args:
        x: samples, (n, ...).
        y: labels, (n, ...).
        size: samples per batch.
        rng: draws the order.

    Raises:
        DataError: there are not as many labels as samples.

    """
    if len(x) != len(y):
        raise DataError(
            f"{len(x)} samples, but {len(y)} labels", expected="a label for each sample"
        )
    order = rng.permutation(len(x))
    for start in range(0, len(x), size):
        indices = order[start : start + size]
        yield x[indices], y[indices]


def in_order(jobs: Iterable[Callable[[], Item]], workers: int) -> Iterator[Item]:
    """The results of the jobs, in their order.

    Args:
        jobs: called once each; an exception of a job is raised here in its place.
        workers: threads that work ahead of the reader, on two jobs each at most; 0 to call each
            job only when its result is asked for.

    """
    if workers == 0:
        yield from (job() for job in jobs)
        return
    futures: deque[Future[Item]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for job in jobs:
                futures.append(pool.submit(job))
                if len(futures) > 2 * workers:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        finally:
            for future in futures:
                future.cancel()


def shift_images(
    x: Array, rng: np.random.Generator, *, pixels: int = 1, share: float = 1.0
) -> Array:
    """Move a random share of the images by up to ``pixels`` rows and columns.

    Args:
        x: images, (n, h, w, c); what moves in from the border is 0.
        rng: draws which images, and how far each goes.
        pixels: greatest distance, either way.
        share: how many of the images are moved, on average, as a fraction.

    """
    n, h, w, _ = x.shape
    padded = np.pad(x, ((0, 0), (pixels, pixels), (pixels, pixels), (0, 0)))
    by = rng.integers(-pixels, pixels + 1, (2, n)) * (rng.random(n) < share)
    top, left = by + pixels
    windows = np.lib.stride_tricks.sliding_window_view(padded, (h, w), axis=(1, 2))
    images = windows[np.arange(n), top, left]  # (n, c, h, w)
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1))
