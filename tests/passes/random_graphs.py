"""Random float graphs, drawn by Hypothesis, that give every pass an occasion."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from tests.passes.random_attention import unmoved, windowed
from tests.passes.random_functions import (
    by_root,
    by_truth,
    chosen,
    constant_operand,
    cut,
    gated,
    gelu,
    joined,
    on_constants,
    padded,
    pair,
    picked,
    power,
    regrouped,
    repeated,
    reshaped,
    rounded,
    rounded_twice,
    signs,
    softmax,
    transposed,
    twice,
    two_reshaped,
    unary,
    uniform_operand,
)
from tests.passes.random_layers import (
    attention,
    averaged,
    channels_first,
    cut_layer,
    halved,
    inserted,
    layer,
    normalised,
    one_pixel,
    padded_convolution,
    parallel,
    picked_channels,
    pixels,
    pooled,
    shuffled,
    siblings,
    turned_rows,
    weighted,
)
from tests.passes.random_net import RandomNet, Step
from tinyrt.ir import Graph, Shape

LARGEST = 2000
"""Elements of a tensor, at most."""

LAST = ("chosen",)
"""Steps whose tensors no other step can read."""

STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        *(attention, averaged, by_root, channels_first, constant_operand, cut, cut_layer),
        *(gated, gelu, inserted, layer, one_pixel, pixels, repeated, rounded_twice, shuffled),
        *(
            parallel,
            turned_rows,
            two_reshaped,
            normalised,
            on_constants,
            padded,
            padded_convolution,
            pair,
        ),
        *(picked, pooled, power, reshaped, rounded, siblings, signs, softmax, transposed, twice),
        *(halved, unmoved, joined, picked_channels, regrouped),
        *(unary, by_truth, chosen, parallel, uniform_operand, weighted, windowed),
    )
}


def _is_small(shape: Shape) -> bool:
    return math.prod(shape) <= LARGEST and len(shape) <= 5


def build(steps: list[tuple[str, int]], channels_last: bool) -> Graph:
    """The graph that the steps make; those that do not fit are left out."""
    net = RandomNet((1, 5, 6, 3) if channels_last else (1, 3, 5, 6))
    for i, (name, seed) in enumerate(steps):
        if name in LAST and i < len(steps) - 1:
            continue
        rng = np.random.default_rng(seed)
        at = -1 if rng.random() < 0.8 else int(rng.integers(len(net.tensors)))
        made = STEPS[name](net, net.tensors[at], rng)
        if made is not None and _is_small(net.shape(made)):
            net.tensors.append(made)
    if len(net.tensors) == 1:
        net.tensors.append(net.op("relu", ("x",)))
    return net.graph(net.tensors[-1])


def seeded(seed: int) -> Graph:
    """As ``graphs`` draws them, but the same whatever else is loaded."""
    rng = np.random.default_rng(seed)
    names = rng.choice(sorted(STEPS), rng.integers(2, 9))
    return build([(str(name), int(rng.integers(256))) for name in names], bool(rng.integers(2)))


steps = st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 255))
graphs = st.builds(build, st.lists(steps, min_size=2, max_size=8), st.booleans())
