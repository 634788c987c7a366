"""The formulas of costs, and the choice of kernels, against the emulator's counts.

Layers differ from those that the formulas' constants were read off. All layers of a core are one
image and one boot.
"""

from dataclasses import replace

import pytest

from benchmarks.kernels import Layer, graph_of, measure
from tests.c.tiles import by_tiles
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.backends.c.blocks import dense as dense_blocks
from tinyrt.backends.c.blocks import depthwise as depthwise_blocks
from tinyrt.backends.c.blocks import fours, winograd
from tinyrt.backends.c.blocks import groups as group_blocks
from tinyrt.backends.c.blocks.cost import (
    COSTS,
    LOOK_UP,
    dense_cost,
    depthwise_list_cost,
    max_pool_cost,
    slide_cost,
    window_cost,
)
from tinyrt.backends.c.blocks.four_cost import WindowGroups, dense_four_cost, window_four_cost
from tinyrt.backends.c.blocks.row_cost import dense_row_cost
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.weights import Weights
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs

CORES = ("cortex-m4", "cortex-m3")
TOLERANCE = 0.06
"""Part of the count by which a formula may be off."""


def conv(x, w, stride=1):
    return Layer("conv2d", Conv2dAttrs(stride=(stride, stride)), (x, w), 0.5)


def depthwise(x, w, stride=1, padding="SAME"):
    attrs = DepthwiseConv2dAttrs(stride=(stride, stride), padding=padding)
    return Layer("depthwise_conv2d", attrs, (x, w), 0.5)


def relu(layer):
    """The layer with the output zero point that a ReLU leaves, and a scale that sums allow."""
    return replace(layer, zero_point=-128, scale=0.25)


def dense(rows, taps, c_out):
    shapes = ((rows, taps), (c_out, taps))
    return Layer("fully_connected", FullyConnectedAttrs(), shapes, 1.0)


def rows_cost(isa, rows, taps, c_out, relu=False):
    """Of a dense layer of some rows: two at a time with dual multiplies, else four."""
    if isa is InstructionSet.SCALAR:
        return dense_four_cost(rows, taps, c_out, relu)
    return dense_cost(isa, rows, taps, c_out, relu)


def pixels_cost(isa, x, out, kernel, channels, stride=1, relu=False):
    """The same of a convolution from x to out, with the padding of SAME."""
    if isa is InstructionSet.DSP:
        return window_cost(isa, out[0] * out[1], kernel, *channels, relu)
    reach = [(n - 1) * stride + k for n, k in zip(out, kernel, strict=True)]
    before = tuple(max(r - size, 0) // 2 for r, size in zip(reach, x, strict=True))
    groups = WindowGroups.of(1, x, (kernel, (stride, stride)), (before, out))
    return window_four_cost(groups, kernel, *channels, relu)


def map_cost(isa, c_in, c_out):
    """Of a convolution of 3 x 3 on a map of 20 x 16."""
    return pixels_cost(isa, (20, 16), (20, 16), (3, 3), (c_in, c_out))


# Each shape class: a layer, and what its formula says.
LAYERS = {
    "1x1": (conv((1, 10, 10, 32), (24, 1, 1, 32)), lambda i: rows_cost(i, 100, 32, 24)),
    "3x3 of 1": (
        conv((1, 20, 16, 1), (8, 3, 3, 1)),
        lambda i: map_cost(i, 1, 8),
    ),
    "3x3 of 3": (
        conv((1, 20, 16, 3), (12, 3, 3, 3)),
        lambda i: map_cost(i, 3, 12),
    ),
    "3x3 of 8": (
        conv((1, 16, 16, 8), (16, 3, 3, 8), 2),
        lambda i: pixels_cost(i, (16, 16), (8, 8), (3, 3), (8, 16), 2),
    ),
    "nx1": (
        conv((1, 40, 1, 8), (24, 7, 1, 8)),
        lambda i: pixels_cost(i, (40, 1), (40, 1), (7, 1), (8, 24)),
    ),
    "depthwise 3x3": (
        depthwise((1, 16, 18, 16), (1, 3, 3, 16)),
        lambda i: slide_cost(i, (16, 18), 16, 1, signed=True),
    ),
    "depthwise 3x3, stride 2": (
        depthwise((1, 32, 32, 8), (1, 3, 3, 8), 2),
        lambda i: slide_cost(i, (16, 16), 8, 2),
    ),
    "depthwise 5x5": (
        depthwise((1, 16, 18, 16), (1, 5, 5, 16)),
        lambda i: depthwise_list_cost(i, (16, 18), (5, 5), 16, 1, border=True),
    ),
    "depthwise 5x5, stride 2": (
        depthwise((1, 32, 32, 8), (1, 5, 5, 8), 2),
        lambda i: depthwise_list_cost(i, (16, 16), (5, 5), 8, 2, border=True),
    ),
    "depthwise nx1": (
        depthwise((1, 48, 1, 16), (1, 8, 1, 16), padding="VALID"),
        lambda i: depthwise_list_cost(i, (41, 1), (8, 1), 16, 1, border=False),
    ),
    "large dense": (dense(1, 512, 64), lambda i: dense_row_cost(i, 512, 64)),
    "tiny dense": (dense(1, 24, 16), lambda i: dense_row_cost(i, 24, 16)),
    "dense rows": (dense(6, 96, 20), lambda i: rows_cost(i, 6, 96, 20)),
    "1x1 without a sign": (
        relu(conv((1, 10, 10, 32), (24, 1, 1, 32))),
        lambda i: rows_cost(i, 100, 32, 24, relu=True),
    ),
    "3x3 of 8 without a sign": (
        relu(conv((1, 16, 16, 8), (16, 3, 3, 8), 2)),
        lambda i: pixels_cost(i, (16, 16), (8, 8), (3, 3), (8, 16), 2, relu=True),
    ),
    "dense without a sign": (
        relu(dense(1, 128, 64)),
        lambda i: dense_row_cost(i, 128, 64, relu=True),
    ),
    "depthwise 3x3 without a sign": (
        relu(depthwise((1, 16, 18, 16), (1, 3, 3, 16))),
        lambda i: slide_cost(i, (16, 18), 16, 1, relu=True),
    ),
    "depthwise 3x3 of few pixels with a sign": (
        depthwise((1, 5, 5, 48), (1, 3, 3, 48)),
        lambda i: slide_cost(i, (5, 5), 48, 1, signed=True),
    ),
    "depthwise 3x3 of few pixels": (
        relu(depthwise((1, 6, 6, 24), (1, 3, 3, 24))),
        lambda i: slide_cost(i, (6, 6), 24, 1, relu=True),
    ),
}


ELEMENTWISE = {
    "add": Layer("add", AddAttrs(), ((1, 9, 9, 16), (1, 9, 9, 16))),
    "logistic": Layer("logistic", NoAttrs(), ((1, 9, 9, 16),)),
    "plain": conv((1, 12, 12, 8), (16, 1, 1, 8)),
    "limited": Layer(
        "conv2d", Conv2dAttrs(activation="RELU6"), ((1, 12, 12, 8), (16, 1, 1, 8)), 0.2
    ),
}


def instructions_of(core, layers):
    return {row["layer"]: row["instructions"] for row in measure(core, layers)}


def counts(core, names):
    return instructions_of(core, {name: LAYERS[name][0] for name in names})


@pytest.fixture(scope="module", params=sampled(CORES[:1], CORES))
def core(request):
    require_core(request.param)
    return request.param


@pytest.fixture(scope="module")
def chosen(core):
    return counts(core, LAYERS)


def test_formulas_say_what_kernels_cost(core, chosen):
    isa = find_core(core).isa
    said = {name: formula(isa) for name, (_, formula) in LAYERS.items()}
    off = {name: round(said[name] / chosen[name] - 1, 3) for name in LAYERS}
    assert not {name: part for name, part in off.items() if abs(part) > TOLERANCE}


PAIRS = {
    "1x1": lambda i: dense_cost(i, 100, 32, 24),
    "3x3 of 8": lambda i: window_cost(i, 64, (3, 3), 8, 16),
    "1x1 without a sign": lambda i: dense_cost(i, 100, 32, 24, relu=True),
}
"""Layers by pairs of pixels on cores that take four where they may."""


@pytest.mark.whole
def test_pairs_of_pixels_cost_what_their_formulas_say(monkeypatch):
    require_core("cortex-m3")
    fast = counts("cortex-m3", PAIRS)
    monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)
    found = counts("cortex-m3", PAIRS)
    for name, formula in PAIRS.items():
        said = formula(InstructionSet.SCALAR)
        assert found[name] == pytest.approx(said, rel=TOLERANCE)
        assert fast[name] < 0.9 * found[name]


TILES = {
    "whole tiles": conv((1, 24, 24, 16), (16, 3, 3, 16)),
    "border for the most part": conv((1, 7, 10, 24), (20, 3, 3, 24)),
    "two images": conv((2, 11, 14, 12), (40, 3, 3, 12)),
}
"""Tiles that end inside of the map and outside, in whole turns of the loop and not."""
TILES_TOLERANCE = 0.01


@pytest.mark.whole
def test_tiles_cost_what_their_formula_says(core, monkeypatch):
    target = target_of(find_core(core), Optimize.BALANCED)
    graph, _ = graph_of(TILES)
    forms = {node.name: choose(node, target).stored.forms for node in graph.bound()}
    by_tiles(monkeypatch)
    found = instructions_of(core, TILES)
    said = {name: forms[name][Weights.WINOGRAD].instructions for name in TILES}
    off = {name: round(said[name] / found[name] - 1, 4) for name in TILES}
    assert not {name: part for name, part in off.items() if abs(part) > TILES_TOLERANCE}
    monkeypatch.setattr(winograd, "fits", lambda block, window, target: False)
    monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)
    columns = instructions_of(core, TILES)
    assert not {name for name in TILES if found[name] > 0.9 * columns[name]}


def test_layers_without_a_sign_are_measured_as_such(core):
    names = [n for n in LAYERS if "without a sign" in n and "depthwise" not in n]
    graph, _ = graph_of({name: LAYERS[name][0] for name in names})
    target = target_of(find_core(core), Optimize.BALANCED)
    chosen = {node.name: choose(node, target).name for node in graph.bound()}
    signed = {name for name, kernel in chosen.items() if not kernel.endswith("_relu_s8")}
    # A row of eight channels, on cores without dual multiplies, takes the kernel with a sign.
    assert signed == ({"dense without a sign"} if core == "cortex-m3" else set())
    assert len(chosen) == 3


def test_elements_cost_what_their_formulas_say(core):
    found = {r["layer"]: r["instructions"] for r in measure(core, ELEMENTWISE)}
    k = COSTS[find_core(core).isa]
    n = 9 * 9 * 16
    assert found["add"] == pytest.approx(n * k.add, rel=TOLERANCE)
    assert found["logistic"] == pytest.approx(n * LOOK_UP, rel=TOLERANCE)
    limits = 12 * 12 * 16 * k.clamp
    assert found["limited"] - found["plain"] == pytest.approx(limits, rel=TOLERANCE)


def test_pools_cost_what_their_formula_says():
    require_core("cortex-m4")
    layer = Layer("max_pool2d", Pool2dAttrs((2, 2), (2, 2)), ((1, 16, 16, 16),))
    (row,) = measure("cortex-m4", {"pool": layer})
    assert row["instructions"] == pytest.approx(max_pool_cost(8 * 8 * 16, 4), rel=0.1)


@pytest.mark.whole
def test_every_packed_kernel_beats_the_general_one(core, chosen, monkeypatch):
    for module in (dense_blocks, depthwise_blocks, group_blocks):
        monkeypatch.setattr(module, "BLOCK_SETS", frozenset())
    general = counts(core, LAYERS)
    assert not {n for n in LAYERS if chosen[n] >= general[n]}


@pytest.mark.whole
def test_sliding_beats_a_list_of_taps(core, chosen, monkeypatch):
    names = [name for name in LAYERS if name.startswith("depthwise 3x3")]
    monkeypatch.setattr(depthwise_blocks, "is_3x3", lambda window: False)
    listed = counts(core, names)
    assert not {n for n in names if chosen[n] >= listed[n]}
    isa = find_core(core).isa
    assert slide_cost(isa, (16, 18), 16, 1) < depthwise_list_cost(
        isa, (16, 18), (3, 3), 16, 1, border=True
    )


@pytest.mark.whole
def test_a_row_in_place_beats_a_column(core, chosen, monkeypatch):
    names = ["large dense", "tiny dense"]
    monkeypatch.setattr(dense_blocks._Dense, "is_row", False)
    copied = counts(core, names)
    assert not {n for n in names if chosen[n] >= copied[n]}


VECTOR_LAYERS = {
    "1x1": conv((1, 10, 10, 32), (24, 1, 1, 32)),
    "1x1 on a row": conv((1, 1, 7, 64), (48, 1, 1, 64)),
    "1x1, stride 2": conv((1, 12, 16, 32), (32, 1, 1, 32), 2),
    "3x3 of 3": conv((1, 20, 16, 3), (12, 3, 3, 3)),
    "3x3": conv((1, 3, 20, 16), (32, 3, 3, 16)),
    "5x5, stride 2": conv((1, 21, 18, 8), (16, 5, 5, 8), 2),
    "depthwise 3x3": depthwise((1, 16, 18, 16), (1, 3, 3, 16)),
    "depthwise 3x3 on rows": depthwise((1, 4, 5, 64), (1, 3, 3, 64)),
    "depthwise 3x3, stride 2": depthwise((1, 32, 32, 8), (1, 3, 3, 8), 2),
    "depthwise 3x3 in bands": depthwise((1, 26, 22, 8), (1, 3, 3, 8)),
    "depthwise nx1": depthwise((1, 30, 1, 24), (1, 7, 1, 24), padding="VALID"),
    "depthwise 5x5": depthwise((1, 9, 12, 16), (1, 5, 5, 16)),
}
VECTOR_TOLERANCE = 0.12


def test_formulas_say_what_vector_kernels_cost():
    require_core("cortex-m55")
    graph, _ = graph_of(VECTOR_LAYERS)
    vectors = Target(InstructionSet.MVE)
    said = {node.name: choose(node, vectors).cost() for node in graph.bound()}
    found = {r["layer"]: r["instructions"] for r in measure("cortex-m55", VECTOR_LAYERS)}
    off = {name: round(said[name] / found[name] - 1, 3) for name in VECTOR_LAYERS}
    assert not {name: part for name, part in off.items() if abs(part) > VECTOR_TOLERANCE}
