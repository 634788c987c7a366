"""Cases of ops that keep state; their states are inputs like others here."""

from __future__ import annotations

import numpy as np

from tests.ops.build import Case, Rng
from tinyrt.ops.svdf import SvdfAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs


def svdf(rng: Rng) -> Case:
    """1 to 3 samples, rank 1 to 3, with and without an activation."""
    n, k, units, rank, memory = (int(rng.integers(1, most)) for most in (4, 20, 9, 4, 12))
    filters = units * rank
    shapes = ((n, k), (filters, k), (filters, memory), (units,), (n, filters * memory))
    attrs = SvdfAttrs(rank, str(rng.choice(["NONE", "RELU"])))
    return Case("svdf", attrs, shapes, constant=frozenset({1, 2, 3}))


def lstm(rng: Rng) -> Case:
    """1 to 3 samples, 1 to 5 steps, either order of time and samples, now and then a clip."""
    n, t, k, units = (int(rng.integers(1, most)) for most in (4, 6, 20, 12))
    time_major = bool(rng.integers(2))
    clip = float(np.float32(rng.uniform(0.1, 3))) if rng.random() < 0.3 else 0.0
    shapes = (
        (t, n, k) if time_major else (n, t, k),
        *((units, k),) * 4,
        *((units, units),) * 4,
        *((units,),) * 4,
        *((n, units),) * 2,
    )
    attrs = LstmAttrs(clip, time_major)
    return Case("unidirectional_sequence_lstm", attrs, shapes, constant=frozenset(range(1, 13)))
