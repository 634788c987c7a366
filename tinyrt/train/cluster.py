"""Weight clustering: every layer's weights share a few values.

Han, Mao & Dally 2016, "Deep Compression", section 3. A clustered file is no smaller by itself, but
it compresses better, which counts where a model is sent over the air: ``compressed_bytes`` tells.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import DataError
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.prune import prunable

ROUNDS = 20


class Clusterer:
    """Moves every weight to the centre of its cluster after each step.

    Which cluster a weight belongs to is decided once, from the weights it is given. From then on
    the members of a cluster move together: by the mean of their steps, as the gradient of a shared
    weight would move them. Zeros stay zeros, so that a pruned layer stays pruned.

    Args:
        module: whose weights are clustered, those that pruning may touch, too.
        clusters: values per layer, zero among them if there is one.

    Raises:
        DataError: fewer than two clusters.

    """

    def __init__(self, module: Module, clusters: int) -> None:
        if clusters < 2:
            raise DataError(f"{clusters} clusters", expected="2 or more; 16 and 32 are usual")
        self.weights = prunable(module)
        self._members = {n: assign(w.data, clusters) for n, w in self.weights.items()}
        self(0, 0)

    def __call__(self, step: int, steps: int) -> None:
        """Bring the clusters' members together; fits ``fit``'s ``on_step``."""
        del step, steps
        for name, weight in self.weights.items():
            members = self._members[name].ravel()
            counts = np.bincount(members)
            sums = np.bincount(members, weight.data.ravel().astype(np.float64))
            centres = sums / np.maximum(counts, 1)
            centres[0] = 0  # the pruned ones
            weight.data = centres[members].reshape(weight.shape).astype(weight.dtype)


def assign(weights: Array, clusters: int) -> NDArray[np.intp]:
    """The cluster of each weight, from 1; 0 for zeros.

    k-means in one dimension (Lloyd 1982), started from centres that lie evenly between the least
    and the greatest weight, which keeps clusters for the few great ones.

    Args:
        weights: any shape.
        clusters: how many at most, the zeros among them if there are any.

    """
    values = weights[weights != 0].astype(np.float64)
    assignment = np.zeros(weights.shape, np.intp)
    if not values.size:
        return assignment
    count = clusters - bool(values.size < weights.size)
    centres = np.linspace(values.min(), values.max(), count)
    for _ in range(ROUNDS):
        borders = (centres[1:] + centres[:-1]) / 2
        nearest = np.searchsorted(borders, values)
        counts = np.bincount(nearest, minlength=count)
        sums = np.bincount(nearest, values, minlength=count)
        new_centres = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
        if np.array_equal(new_centres, centres):
            break
        centres = new_centres
    assignment[weights != 0] = 1 + np.searchsorted((centres[1:] + centres[:-1]) / 2, values)
    return assignment


def compressed_bytes(data: bytes) -> int:
    """Bytes that are left of a file when it is compressed for transport (deflate)."""
    return len(zlib.compress(data, 9))
