"""Dense layers that are rounded as on uint8: packed kernels count thresholds, or none take them."""

from itertools import product

import numpy as np
import pytest

from tests.backends.c.test_relu import all_sums, counted
from tests.c.wide_layers import dense
from tests.sampling import sampled
from tinyrt.backends.c.blocks.dense import block_of
from tinyrt.backends.c.blocks.relu import legacy_scales
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices, Target
from tinyrt.ops import prepared
from tinyrt.ops.fully_connected import WEIGHT_AXIS, FullyConnectedS8
from tinyrt.ops.shared.requant import legacy_thresholds, weighted_requant

DSP = InstructionSet.DSP


def node_of(graph):
    return next(n for n in graph.bound() if n.op == "fully_connected")


Y_ZPS, SEEDS = (0, 3, 128, 200, 255), range(4)
EACH_ONCE = [(i % len(SEEDS), y_zp) for i, y_zp in enumerate(Y_ZPS)]


@pytest.mark.parametrize(("seed", "y_zp"), sampled(EACH_ONCE, [*product(SEEDS, Y_ZPS)]))
def test_every_sum_has_the_references_output(seed, y_zp):
    """Halves go away from zero: both signs occur, and every sum that the weights let occur."""
    node = node_of(dense(seed, 1, y_zp=y_zp))
    p = prepared(node, FullyConnectedS8)
    requant = weighted_requant(node, WEIGHT_AXIS)
    layer = block_of(node, p.x_zp, requant, DSP).layer
    assert layer.is_as(node.input(1).data, requant)
    scales = legacy_scales(layer, p.x_zp, y_zp - 128, legacy_thresholds(node, WEIGHT_AXIS))
    assert scales is not None
    for channel in range(layer.c_out):
        sums = all_sums(layer, channel, p.x_zp)
        np.testing.assert_array_equal(
            counted(scales, layer, p.x_zp, channel, sums), p.requant.apply(sums)
        )


KERNELS = [
    (Target(DSP), 1, "dense_row_relu_s8"),
    (Target(DSP), 3, "dense_relu_s8"),
    (Target(InstructionSet.SCALAR, mla=True, fours=True), 1, "dense_relu_s8"),
    (Target(InstructionSet.SCALAR, mla=True, fours=True), 4, "dense_four_relu_s8"),
    (Target(InstructionSet.SCALAR, fours=True, raised=True), 1, "dense_relu_s8"),
    (Target(InstructionSet.SCALAR, fours=True, raised=True), 4, "dense_four_relu_s8"),
    (Target(InstructionSet.MVE), 1, "fully_connected_legacy_s8"),
    (Target(DSP, small=True), 1, "fully_connected_legacy_s8"),
    (Target(DSP, in_one_go=1e5), 1, "fully_connected_legacy_s8"),
    (Target(DSP, choices=Choices(frozenset(), frozenset())), 1, "fully_connected_legacy_s8"),
]


@pytest.mark.parametrize(("target", "rows", "name"), KERNELS)
def test_the_kernel_by_core_and_rows(target, rows, name):
    assert choose(node_of(dense(0, rows)), target).name == f"tinyrt_{name}"


@pytest.mark.parametrize(("target", "at_once"), [(KERNELS[1][0], 2), (KERNELS[3][0], 4)])
@pytest.mark.parametrize("rows", [4, 5])
def test_rows_are_copied_together_before_their_outputs_are_written(target, at_once, rows):
    node = node_of(dense(0, rows))
    x, y = (v.nbytes // rows for v in (node.input(0), node.output))
    starts = range(0, rows, at_once)
    spans = [(start, min(start + at_once, rows)) for start in starts]
    sweep = choose(node, target).sweep()
    found = [(step.reads[0], step.writes, step.reads_first) for step in sweep]
    assert found == [((x * a, x * b), (y * a, y * b), True) for a, b in spans]


def test_layers_with_resolved_channels_keep_the_general_kernel():
    """A channel of one output has its own integers, which only the other rounding knows."""
    graph = dense(0, 1, y_scale=4000.0)
    assert choose(node_of(graph), Target(DSP)).name == "tinyrt_fully_connected_legacy_s8"
