"""Federated averaging (McMahan et al. 2017): what devices have learnt, without their samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.dsp.checks import require, require_int
from tinyrt.dsp.learner import Learner, LearnerState
from tinyrt.dsp.saved import pack

MAX_SAMPLES = (1 << 31) - 1
"""Of all devices together: sums of 30 bits' biases times as many then fit into 64 bits."""


def federated_average(
    learner: Learner, saves: Sequence[tuple[bytes, int]], *, number: int = 0
) -> bytes:
    """A save with the mean weights of what devices have saved, for all of them to load.

    Each weight is the mean over the devices, weighted by their samples, rounded to nearest, halves
    up. It stays within the layer's drift, as theirs do.

    Args:
        learner: the layer that all devices have begun with.
        saves: of each device, what it has saved, and how many samples it has learnt since the last
            average.
        number: of the new save; it is taken by devices whose slots have lower ones.

    Raises:
        DataError: there are no samples, too many, or a save is damaged or another layer's.

    """
    counts = [samples for _, samples in saves]
    for count in counts:
        require_int(count, 0, MAX_SAMPLES, "samples")
    total = sum(counts)
    require(0 < total <= MAX_SAMPLES, "samples", total, f"1 to {MAX_SAMPLES} in all")
    state, words = LearnerState(learner), learner.classes * (learner.features + 1)
    sums = np.zeros(words, np.int64)
    for saved, count in saves:
        state.load(saved)
        sums += count * np.concatenate([state.weights.ravel(), state.biases]).astype(np.int64)
    mean = (2 * sums + total) // (2 * total)
    return pack(learner.identity, number, mean.astype(np.int32))
