"""What calls are said to cost, against the emulator's counts: more rather than less."""

from dataclasses import replace

import pytest

from benchmarks.kernels import INPUT_SCALE, LAYERS, Layer, graph_of, int16, measure
from benchmarks.unsigned import UNSIGNED, count, weighted
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.backends.c.blocks import fours
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.parts.cost import instructions_of
from tinyrt.backends.c.parts.pace import pace_of
from tinyrt.export.blob.choices import choices_of
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.transpose import TransposeAttrs

pytestmark = pytest.mark.slow

MORE = {
    "join": Layer("concatenation", ConcatenationAttrs(3), ((1, 16, 16, 32), (1, 16, 16, 32))),
    "join of rows": Layer("concatenation", ConcatenationAttrs(1), ((1, 16, 16, 32),) * 2),
    "border": Layer("pad", PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0))), ((1, 16, 16, 32),)),
    "turned": Layer("transpose", TransposeAttrs((0, 3, 1, 2)), ((1, 16, 16, 32),)),
    "dense row": Layer("fully_connected", FullyConnectedAttrs(), ((1, 200), (40, 200)), 1.0),
    "dense rows": Layer("fully_connected", FullyConnectedAttrs(), ((7, 96), (20, 96)), 1.0),
}
MOST_OF_WIDE = 2.5
"""The same of layers on uint8: of dilated ones there is a rough formula."""

LEAST, MOST = 0.82, 25
"""Bounds of an estimate, as a share of the count. Kernels without a formula have the upper one."""

POOLS = {
    f"{op} {kernel}, {channels}, {'int16' if wide else 'int8'}": layer
    for op in ("average_pool2d", "max_pool2d")
    for kernel, channels in (((3, 3), 16), ((2, 2), 7), ((1, 4), 40))
    for layer8 in [Layer(op, Pool2dAttrs(kernel, kernel), ((1, 12, 12, channels),))]
    for wide, layer in ((False, layer8), (True, int16(replace(layer8, scale=INPUT_SCALE / 4))))
}
"""Pools on vectors: of whole ones, and of channels that are left."""

CONVOLUTIONS = {
    f"{op} {w}, int16": int16(Layer(op, attrs, (x, w), 0.5))
    for op, attrs, x, w in (
        ("conv2d", Conv2dAttrs(), (1, 9, 12, 24), (20, 3, 3, 24)),
        ("conv2d", Conv2dAttrs(), (1, 9, 12, 24), (16, 1, 1, 12)),
        ("fully_connected", FullyConnectedAttrs(), (3, 120), (24, 120)),
    )
}
"""Convolutions on vectors: with a column, without, and a dense layer."""

PLAIN = {
    f"{op} {x} {w}": int16(Layer(op, attrs, (x, w), 0.5))
    for op, attrs, x, w in (
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), (1, 9, 12, 6), (1, 3, 3, 6)),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), (1, 12, 12, 1), (1, 3, 3, 1)),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), (1, 9, 9, 9), (1, 1, 1, 9)),
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), (1, 9, 12, 6), (1, 2, 3, 12)),
        ("conv2d", Conv2dAttrs(), (1, 9, 12, 8), (8, 3, 3, 2)),
        ("conv2d", Conv2dAttrs(), (1, 9, 12, 8), (8, 3, 3, 1)),
    )
}
"""Layers on int16 that take the general kernels: channels are no multiple of four, groups small."""

CURVES = ("logistic, int16", "tanh, int16")

KNOWN = ("block_s8", "dense", "depthwise3x3", "linear_sum_s8", "lut_s8", "average_pool2d")


FOURS = {
    "1x1": Layer("conv2d", Conv2dAttrs(), ((1, 10, 10, 32), (24, 1, 1, 32)), 0.5),
    "1x1 of every other": Layer(
        "conv2d", Conv2dAttrs(stride=(2, 2)), ((1, 9, 9, 16), (16, 1, 1, 16)), 0.5
    ),
    "3x3 of 3": Layer("conv2d", Conv2dAttrs(), ((1, 20, 16, 3), (12, 3, 3, 3)), 0.5),
    "3x3 of 16": Layer("conv2d", Conv2dAttrs(stride=(2, 2)), ((1, 11, 13, 16), (8, 3, 3, 16)), 0.5),
    "7x1": Layer("conv2d", Conv2dAttrs(), ((1, 40, 1, 8), (24, 7, 1, 8)), 0.5),
    "10x4": Layer("conv2d", Conv2dAttrs(stride=(2, 2)), ((1, 50, 10, 1), (64, 10, 4, 1)), 0.5),
    "dense rows": MORE["dense rows"],
}
"""Convolutions and rows by four pixels: whole quads of a row, in two rows, and one below the
other."""

CORES = ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc", "rv32imcb", "rv32imcv"]
SAMPLE = [
    ("cortex-m4", False),
]
"""A core with formulas, and one of each pace."""


def ratios_of(core, layers):
    """Layer -> what its calls are said to cost, to their count; and the kernel's name."""
    target = find_core(core)
    graph, _ = graph_of(layers)
    said, kernels = {}, {}
    for node in graph.bound():
        kernel = choose(node, target_of(target, Optimize.BALANCED))
        parts = [
            instructions_of(one, node, kernel, target.general_isa, pace=pace_of(core))
            for one in kernel.calls
        ]
        said[node.name], kernels[node.name] = sum(parts), kernel.name
    counts = {row["layer"]: row["instructions"] for row in measure(core, layers)}
    return {name: round(said[name] / counts[name], 2) for name in layers}, kernels


@pytest.mark.parametrize(
    ("core", "pairs"), sampled(SAMPLE, [(core, pairs) for core in CORES for pairs in (False, True)])
)
def test_estimates_are_no_less_than_counts(core, pairs, monkeypatch):
    """Of kernels as they are, and of those that slices are made of."""
    require_core(core)
    if pairs:
        monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)
    layers = LAYERS | MORE
    layers = {name: layers[name] for name in [*layers][:: sampled(2, 1)]}
    ratios, kernels = ratios_of(core, layers)
    assert not {n: r for n, r in ratios.items() if not LEAST <= r <= MOST}
    if core == "cortex-m4":
        known = {n for n in layers if any(part in kernels[n] for part in KNOWN)}
        assert len(known) > 8
        assert not {n: ratios[n] for n in known if ratios[n] > 1.35 and "group" not in kernels[n]}


@pytest.mark.parametrize(
    "core", sampled(["cortex-m0"], ["cortex-m0", "cortex-m3", "rv32imc", "rv32imcb"])
)
def test_four_pixels_cost_what_is_said(core):
    require_core(core)
    ratios, kernels = ratios_of(core, FOURS)
    assert all("_four_" in kernel for kernel in kernels.values())
    assert not {name: r for name, r in ratios.items() if not 0.94 <= r <= 1.07}


def test_layers_on_vectors_cost_what_is_said():
    require_core("cortex-m55")
    ratios, _ = ratios_of("cortex-m55", POOLS | CONVOLUTIONS)
    most = {name: 1.2 if "int16" in name else 1.5 for name in ratios}
    assert not {name: r for name, r in ratios.items() if not 0.85 <= r <= most[name]}


@pytest.mark.whole
def test_channels_that_are_left_of_four_cost_what_is_said():
    require_core("cortex-m4")
    left = {name: layer for name, layer in POOLS.items() if "7, int16" in name}
    ratios, _ = ratios_of("cortex-m4", left)
    assert len(ratios) == 2
    assert not {name: r for name, r in ratios.items() if not 0.9 <= r <= 1.15}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("core", "blob"),
    [(core, blob) for core in CORES for blob in (False, True)],
)
def test_weights_around_any_zero_point_cost_what_is_said(core, blob):
    """In groups, with dilation, and where later weights may be others."""
    require_core(core)
    graph, feeds = graph_of(UNSIGNED)
    called, costs = count(core, weighted(graph, unsigned=True), feeds, blob=blob)
    target = find_core(core)
    own = target_of(target, Optimize.BALANCED)
    if blob:
        own = replace(own, choices=choices_of(called, own, sliced=False))
    ratios, kernels = {}, set()
    for node, cost in zip(called.bound(), costs, strict=True):
        kernel = choose(node, own)
        said = [instructions_of(c, node, kernel, own.isa, pace=pace_of(core)) for c in kernel.calls]
        ratios[node.name] = round(sum(said) / cost.instructions, 2)
        kernels.add(kernel.name)
    assert any("_more_" in name for name in kernels)
    assert not {name: r for name, r in ratios.items() if not LEAST <= r <= MOST_OF_WIDE}


@pytest.mark.whole
@pytest.mark.parametrize("core", sampled(["cortex-m55"], CORES))
def test_general_kernels_on_int16_cost_what_is_said(core):
    require_core(core)
    ratios, kernels = ratios_of(core, PLAIN)
    names = {kernels[name] for name in PLAIN}
    assert names == {"tinyrt_depthwise_conv2d_s16", "tinyrt_conv2d_s16"}
    assert not {name: r for name, r in ratios.items() if not 0.9 <= r <= 1.4}


@pytest.mark.whole
@pytest.mark.parametrize("core", sampled(["cortex-m4"], CORES))
def test_functions_of_int16_cost_what_is_said(core):
    require_core(core)
    ratios, kernels = ratios_of(core, {name: LAYERS[name] for name in CURVES})
    assert set(kernels.values()) == {f"tinyrt_{op}_short_s16" for op in ("logistic", "tanh")}
    assert not {name: r for name, r in ratios.items() if not 0.97 <= r <= 1.2}
