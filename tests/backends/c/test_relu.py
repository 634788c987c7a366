"""Scales for outputs whose zero point is -128: the same outputs for every sum, or none."""

from dataclasses import replace

import numpy as np
import pytest

from tests.c.packed_cases import relu_outputs
from tests.ops.build import Case
from tests.sampling import sampled
from tinyrt.backends.c.blocks.layer import MAX_SUM, simplify
from tinyrt.backends.c.blocks.relu import relu_scales
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices, Target
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.requant import Requant

NONE = Choices(frozenset(), frozenset())


def layer_of(w, bias, shift, mult, x_zp=-128, y_zp=-128):
    requant = Requant(np.asarray(mult, np.int32), -np.asarray(shift, np.int32), y_zp, -128, 127)
    layer = simplify(np.asarray(w, np.int8), np.asarray(bias, np.int32), x_zp, requant)
    assert layer is not None
    return layer, requant


def counted(scales, layer, x_zp, channel, sums):
    """What the kernel answers."""
    pairs = scales.scales.reshape(-1, 3)
    pair = list(map(int, pairs[channel // 2 if scales.step else channel // 2 % 2]))
    moved = sums + int(scales.first[channel] - layer.first_sums(x_zp)[channel])
    assert np.abs(moved).max() << scales.raised < MAX_SUM
    high = (moved * pair[2 * (channel % 2)] << 8 + scales.raised) >> 32
    return np.clip((high + pair[1]) >> 16, 0, 255) - 128


def all_sums(layer, channel, x_zp):
    least, greatest = (int(ends[channel]) for ends in layer.reach(x_zp))
    return np.arange(least, greatest + 1, dtype=np.int64)


@pytest.mark.parametrize("seed", range(sampled(1, 12)))
def test_every_sum_has_the_references_output(seed):
    rng = np.random.default_rng(seed)
    c_out, taps, x_zp = (
        int(rng.integers(1, 10)),
        int(rng.integers(1, 40)),
        int(rng.choice([-128, 5])),
    )
    w = rng.integers(-127, 128, (c_out, taps))
    bias = rng.integers(-20_000, 20_000, c_out)
    mult = rng.integers(1 << 30, 1 << 31, c_out)
    shift = rng.integers(6, 12, c_out)
    layer, requant = layer_of(w, bias, shift, mult, x_zp)
    scales = relu_scales(layer, x_zp, -128)
    assert scales is not None
    assert scales.scales.shape == (6 * -(-c_out // 4),)
    for channel in range(c_out):
        sums = all_sums(layer, channel, x_zp)
        acc = np.zeros((sums.size, c_out), np.int64)
        acc[:, channel] = sums
        np.testing.assert_array_equal(
            counted(scales, layer, x_zp, channel, sums), requant.apply(acc)[:, channel]
        )


def test_alike_channels_share_one_quad():
    layer, _ = layer_of(np.full((6, 8), 50), np.zeros(6), [8] * 6, [3 << 29] * 6)
    scales = relu_scales(layer, -128, -128)
    assert scales.step == 0
    np.testing.assert_array_equal(scales.scales, [3 << 29, 32768 + 128, 3 << 29] * 2)
    np.testing.assert_array_equal(scales.first, layer.first_sums(-128))
    assert scales.raised == 1


@pytest.mark.parametrize("channels", [[0], [1, 0], [0, 0, 1]])
def test_channels_of_one_output_keep_it(channels):
    """They may begin with any sum: those beside them have the addend that they need."""
    w = np.array([[0, 0], [9, 9]])[channels]
    bias, shift = np.array([500, 0])[channels], np.array([3, 9])[channels]
    layer, requant = layer_of(w, bias, shift, [1 << 30] * len(channels))
    scales = relu_scales(layer, -128, -128)
    assert scales.raised == 0
    for i, live in enumerate(channels):
        sums = all_sums(layer, i, -128)
        acc = np.zeros((sums.size, len(channels)), np.int64)
        acc[:, i] = sums if live else 500
        expected = requant.apply(acc)[:, i]
        assert expected.max() > -128
        np.testing.assert_array_equal(counted(scales, layer, -128, i, sums), expected)


def test_other_zero_points_need_a_sign():
    layer, _ = layer_of([[1, 2]], [0], [9], [1 << 30], y_zp=-127)
    assert relu_scales(layer, -128, -127) is None


@pytest.mark.parametrize(("taps", "fits"), [(64, True), (65, False)])
def test_raised_sums_keep_to_what_channels_can_share(taps, fits):
    """128 * 255 * 64 is just below 2**21, and shifts of 7 raise by two bits."""
    layer, _ = layer_of(np.full((1, taps), 128 - 1), [64 * 255], [7], [1 << 30])
    assert (relu_scales(layer, -128, -128) is not None) is fits


FAR_APART = [(1 << 30) + 12_345, (1 << 30) + 987_654_321]
"""Mantissas of channels whose shifts are far apart."""


def test_channels_whose_shifts_are_far_apart_begin_with_other_sums():
    layer, requant = layer_of(np.full((2, 100), 127), [0, 0], [9, 14], FAR_APART)
    scales = relu_scales(layer, -128, -128)
    assert (scales.first != layer.first_sums(-128)).all()
    sums = all_sums(layer, 1, -128)
    expected = requant.apply(np.stack([sums, sums], axis=1))
    for channel in range(2):
        found = counted(scales, layer, -128, channel, sums)
        np.testing.assert_array_equal(found, expected[:, channel])


def test_scales_that_lose_too_many_bits_are_refused():
    """Beside a shift of 9, one of 15 leaves 25 bits of the mantissa, and sums go up to 2**23."""
    layer, _ = layer_of(np.full((2, 250), 127), [0, 0], [9, 15], FAR_APART)
    assert relu_scales(layer, -128, -128) is None


HIGH = Target(InstructionSet.SCALAR, high_products=True, fours=True)
RELUS = Choices(frozenset(), frozenset(), relus=frozenset({0}))


@pytest.mark.parametrize(
    ("target", "kernel"),
    [
        (Target(InstructionSet.DSP), "tinyrt_dense_row_relu_s8"),
        (Target(InstructionSet.DSP, small=True), "tinyrt_dense_row_s8"),
        (Target(InstructionSet.DSP, choices=NONE), "tinyrt_dense_row_s8"),
        (Target(InstructionSet.SCALAR), "tinyrt_dense_row_s8"),
    ],
)
def test_who_takes_the_kernel_without_a_sign(target, kernel):
    shapes = ((1, 16), (8, 16), (8,))
    case = Case("fully_connected", FullyConnectedAttrs(), shapes, frozenset({1, 2}))
    graph = relu_outputs(case, np.random.default_rng(0)).graph
    assert choose(graph.bind(0), target).name == kernel


@pytest.mark.parametrize(
    ("target", "kernel"),
    [
        (HIGH, "tinyrt_dense_four_relu_s8"),
        (replace(HIGH, small=True), "tinyrt_dense_s8"),
        (replace(HIGH, choices=NONE), "tinyrt_dense_four_s8"),
        (replace(HIGH, choices=NONE, mla=True), "tinyrt_dense_s8"),
        (replace(HIGH, choices=RELUS, mla=True), "tinyrt_dense_any_s8"),
        (replace(HIGH, choices=RELUS), "tinyrt_dense_four_s8"),
        (replace(HIGH, high_products=False), "tinyrt_dense_four_s8"),
    ],
)
def test_scalar_cores_need_the_upper_half_of_a_product(target, kernel):
    shapes = ((8, 16), (8, 16), (8,))
    case = Case("fully_connected", FullyConnectedAttrs(), shapes, frozenset({1, 2}))
    graph = relu_outputs(case, np.random.default_rng(0)).graph
    assert choose(graph.bind(0), target).name == kernel
