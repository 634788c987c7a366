"""One row by bytes: three sums for four channels in NumPy, the layers that go by it, and parts."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.sparse import stored_as
from tests.backends.c.test_choice import conv, dense
from tests.backends.c.test_winograd import block_of, node_of
from tests.firmware.test_sparse import ROW, pruned
from tinyrt.backends.c.blocks import row_bytes
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Number, Place
from tinyrt.backends.c.parts.cost import instructions_of
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.weights import Weights
from tinyrt.export.target import Optimize, find_core, target_of

SCALAR = InstructionSet.SCALAR
M3 = target_of(find_core("cortex-m3"), Optimize.BALANCED)
WORD = 1 << 32


def signed(number, bits):
    """The low bits of a number, with their sign."""
    low = number % (1 << bits)
    return low - (low >> (bits - 1) << bits)


def apart(sums):
    """Four sums of the three words that hold them, by steps modulo powers of two alone."""
    all_of, upper, swapped = (int(one) % WORD for one in sums)
    lower = (all_of - (upper << 16)) % WORD
    s1_low = (swapped - (lower << 8)) % (1 << 16)
    s0 = signed(lower - (s1_low << 8), 24)
    s1 = signed(lower - s0, 32) >> 8
    left = (swapped - s1 - (s0 << 8)) % WORD
    assert left % (1 << 16) == 0
    s3_low = ((left >> 16) - (upper << 8)) % (1 << 16)
    s2 = signed(upper - (s3_low << 8), 24)
    s3 = signed(upper - s2, 32) >> 8
    return [s0, s1, s2, s3]


def swapped_bytes(words):
    """Words whose bytes have changed places in each half."""
    return (words >> 8 & 0xFF00FF) | (words & 0xFF00FF) << 8


@pytest.mark.parametrize("extreme", [False, True])
def test_three_sums_hold_those_of_four_channels(extreme):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        taps, c_out = int(rng.integers(1, 260)), int(rng.choice([5, 8, 13, 16]))
        w = rng.integers(-127, 128, (c_out, taps)).astype(np.int8)
        x = rng.integers(-128, 128, taps)
        if extreme:
            w = np.where(w[:, :1] < 0, -127, 127).astype(np.int8) + np.zeros_like(w)
            x = np.full_like(x, rng.choice([-128, 127]))
        x_zp = int(rng.choice([-128, 0, 127]))
        bias = rng.integers(-1 << 12, 1 << 12, c_out).astype(np.int32)
        block = block_of(w, bias, x_zp, SCALAR)
        packed = row_bytes.pack(block)
        words = packed.w.view(np.uint32).astype(np.int64).reshape(-1, taps, 2)
        words = words.transpose(0, 2, 1).reshape(-1, taps)
        raised = 128 * int(x.sum())
        found = []
        for quad, first in zip(words, packed.init.reshape(-1, 3).astype(np.int64), strict=True):
            products = [quad @ x, (quad >> 16) @ x, swapped_bytes(quad) @ x]
            less = np.array([0x1010101, 0x101, 0x1010101]) * raised
            found += apart(first + products - less)
        own = block.layer.bias + block.layer.w.astype(np.int64) @ (x - x_zp)
        assert found[:c_out] == own.tolist()
        assert not any(found[c_out:])
        assert packed.w.nbytes == len(found) * taps
        assert packed.init.size == len(found) * 3 // 4


def test_sums_at_both_ends_of_their_range_come_apart():
    ends = (-(1 << 23) + 1, -(1 << 16), -1, 0, 1, 255, (1 << 23) - 1)
    for sums in np.stack(np.meshgrid(ends, ends, ends, ends), -1).reshape(-1, 4):
        assert apart(row_bytes.first_words(sums.astype(np.int64))) == sums.tolist()


@pytest.mark.parametrize(
    ("case", "kernel", "sliced", "scratch"),
    [
        (dense(1, 18, 16), "dense_row_s8", "dense_row_part_s8", 4),
        (dense(1, 18, 13), "dense_row_s8", "dense_row_part_s8", 4),
        (conv((1, 1, 1, 8), (8, 1, 1, 8)), "dense_row_s8", "dense_row_part_s8", 4),
        (dense(1, 18, 12), "dense_s8", "dense_s8", 4 * 20),
        (dense(2, 18, 16), "dense_s8", "dense_s8", 2 * 4 * 20),
    ],
)
def test_layers_of_one_row(case, kernel, sliced, scratch):
    whole = choose(node_of(case), M3)
    assert whole.name == f"tinyrt_{kernel}"
    in_parts = choose(node_of(case), replace(M3, in_one_go=5_000))
    assert in_parts.name == f"tinyrt_{sliced}"
    assert in_parts.scratch_bytes == scratch
    assert whole.scratch_bytes == (0 if "row" in kernel else scratch)


@pytest.mark.parametrize("pattern", [Weights.BLOCKS, Weights.ONE_OF_4, Weights.TWO_OF_4])
def test_parts_of_a_row_without_its_zeros_keep_no_sum(pattern):
    """Only the kernel that reads all weights by bytes has parts that do."""
    (node,) = pruned(ROW, pattern).bound()
    for limit in (np.inf, 5_000):
        with stored_as(pattern):
            kernel = choose(node, replace(M3, in_one_go=limit))
        assert "_part" not in kernel.name
        assert kernel.stored.form is pattern
        assert kernel.scratch_bytes == 0


def test_dual_multiplies_keep_no_sum():
    node = node_of(dense(1, 16, 16))
    m4 = target_of(find_core("cortex-m4"), Optimize.BALANCED)
    kernel = choose(node, replace(m4, in_one_go=5_000))
    assert (kernel.name, kernel.scratch_bytes) == ("tinyrt_dense_row_s8", 0)


def test_the_first_part_of_a_row_leaves_the_sum_for_the_others():
    kernel = choose(node_of(dense(1, 18, 29)), replace(M3, in_one_go=5_000))
    (whole,) = kernel.calls
    assert [arg.value for arg in whole.args if isinstance(arg, Number)] == [1]
    step = params_of(whole)["block"]["requant_step"]
    cut = cut_of(whole, SCALAR, False)
    assert cut.units == 4
    for a, b in ((0, 1), (1, 3), (3, 4)):
        part = cut.part(a, b)
        block = params_of(part)["block"]
        assert part.function == whole.function
        assert [arg.value for arg in part.args if isinstance(arg, Number)] == [int(a == 0)]
        assert block["c_out"] == min(8 * b, 29) - 8 * a
        assert block["w"].skip == 36 * a
        assert block["init"].skip == 6 * a
        assert block["mult"].skip == block["shift"].skip == 2 * step * a
        x, y = (arg for arg in part.args if isinstance(arg, Place))
        assert (x.skip, y.skip) == (0, 8 * a)


def test_a_row_without_zeros_or_of_long_sums_is_cut_by_its_own_rules():
    node = node_of(dense(1, 1000, 16))
    kernel = choose(node, replace(M3, in_one_go=5_000))
    assert kernel.name == "tinyrt_dense_row_long_s8"
    cut = cut_of(kernel.calls[0], SCALAR, False)
    part = cut.part(1, 2)
    assert not [arg for arg in part.args if isinstance(arg, Number)]
    assert params_of(part)["block"]["init"].skip == 8
    bytes_of = choose(node_of(dense(1, 500, 16)), M3)
    long, short = (
        instructions_of(one.calls[0], own, one, SCALAR)
        for one, own in ((kernel, node), (bytes_of, node_of(dense(1, 500, 16))))
    )
    assert 2.4 < long / short < 2.5
