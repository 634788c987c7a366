"""Random convolutions that tiles can compute, and their kernel for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.ops.build import Built, Case, Rng, build_s8
from tests.ops.cases.windowed import activation
from tinyrt.backends.c.blocks import winograd
from tinyrt.backends.c.weights import Cost
from tinyrt.ops.conv2d import Conv2dAttrs

KERNEL = "tinyrt_winograd_s8"


def tiles(rng: Rng) -> Case:
    """Maps from one output on, borders on all sides, and channels that fill no block."""
    padding = str(rng.choice(["SAME", "VALID"]))
    least = 3 if padding == "VALID" else 1
    c_in, c_out = 4 * int(rng.integers(1, 10)), int(rng.integers(2, 14))
    size = int(rng.integers(least, 10)), int(rng.integers(least, 18))
    x = (int(rng.choice([1, 1, 1, 2, 3])), *size, c_in)
    attrs = Conv2dAttrs(padding=padding, activation=activation(rng))
    return Case("conv2d", attrs, (x, (c_out, 3, 3, c_in), (c_out,)), frozenset({1, 2}))


def even_tiles(rng: Rng) -> Case:
    """Whole tiles of a padded map, some of which lie at a single border."""
    case = tiles(rng)
    (*_, c_in), *others = case.shapes
    size = 2 * int(rng.integers(2, 4)), 4 * int(rng.integers(3, 5))
    return replace(case, attrs=Conv2dAttrs(padding="SAME"), shapes=((1, *size, c_in), *others))


TILES = {"tiles": tiles, "even": even_tiles}


def extreme_tiles(case: Case, rng: Rng) -> Built:
    """The case with all weights and inputs at one of their ends, and so with the largest sums."""
    built = build_s8(case, rng)
    w = np.asarray(built.graph.value("in1").data)
    w[:] = rng.choice(np.array([-127, 127], np.int8), w.shape)
    if rng.random() < 0.5:
        w[:] = 127
    x = built.feeds["in0"]
    x[:] = rng.choice(np.array([-128, 127], np.int8))
    return built


def by_tiles(monkeypatch) -> None:
    """Let every layer that tiles can compute take their kernel."""
    monkeypatch.setattr(winograd, "form", lambda block, pairs, pace: Cost(0, 0))
    monkeypatch.setattr(winograd, "least", lambda block: 0)
