"""Four pixels in three words: their arithmetic in NumPy, and the layers that go by it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.asked import asked
from tests.backends.c.test_choice import conv, dense
from tests.backends.c.test_winograd import CHOICES, block_of, graph_of, node_of, wrapped
from tinyrt.backends.c.blocks import fours
from tinyrt.backends.c.blocks.four_cost import WindowGroups
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.export import export_graph
from tinyrt.export.target import Optimize, find_core, target_of

M3 = target_of(find_core("cortex-m3"), Optimize.BALANCED)
M0 = target_of(find_core("cortex-m0"), Optimize.BALANCED)


def triples(x):
    """Words (taps, 3) of four pixels' activations (4, taps)."""
    first, second, third, fourth = x.astype(np.int64)
    words = [first + (fourth << 24), second + (fourth << 16), third + (fourth << 8)]
    return wrapped(np.stack(words, axis=1)).astype(np.int64)


def signed(words):
    """The low 24 bits of words, with their sign."""
    low = words & 0xFFFFFF
    return low - ((low >> 23) << 24)


def apart(words):
    """Four sums of the three words that hold them."""
    first, second, third = (int(word) & 0xFFFFFFFF for word in words)
    low = ((first - signed(first)) >> 24) & 0xFF
    second = (second - (low << 16)) & 0xFFFFFFFF
    middle = ((second - signed(second)) >> 24) & 0xFF
    third = (third - (low << 8) - (middle << 16)) & 0xFFFFFFFF
    high = ((third - signed(third)) >> 24) & 0xFF
    fourth = low + (middle << 8) + (high << 16)
    return [signed(first), signed(second), signed(third), signed(fourth)]


@pytest.mark.parametrize("raised", [False, True])
def test_three_words_hold_four_sums(raised):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        taps, c_out = int(rng.integers(1, 240)), int(rng.integers(1, 6))
        w = rng.integers(-127, 128, (c_out, 1, 1, taps)).astype(np.int8)
        x = rng.integers(-128, 128, (4, taps))
        if seed % 3 == 0:
            w = np.where(w < 0, -127, 127).astype(np.int8)
            x = np.where(x[:, :1] < 0, -128, 127) + np.zeros_like(x)
        x_zp = int(rng.choice([-128, 0, 127]))
        block = block_of(w, rng.integers(-1 << 12, 1 << 12, c_out).astype(np.int32), x_zp)
        if block is None:
            continue
        packed = fours.pack(block, raised)
        kind = np.uint8 if raised else np.int8
        by_tap = packed.w.view(kind).astype(np.int64).reshape(-1, block.taps, 2)
        weights = by_tap.transpose(0, 2, 1).reshape(-1, block.taps)
        words = np.pad(triples(x), ((0, block.taps - taps), (0, 0)))
        start = -128 * words.sum(axis=0) if raised else np.zeros(3, np.int64)
        for channel in range(c_out):
            first = int(packed.init[channel])
            begin = [first + (first << 24), first + (first << 16), first + (first << 8)]
            sums = weights[channel] @ words + np.array(begin) + start
            own = block.layer.bias[channel] + (x - x_zp) @ block.layer.w[channel].astype(np.int64)
            assert apart(sums) == own.tolist()


def test_sums_at_both_ends_of_their_range_come_apart():
    ends = (-(1 << 23) + 1, -1, 0, 1, (1 << 23) - 1)
    for sums in np.stack(np.meshgrid(ends, ends, ends, ends), -1).reshape(-1, 4):
        words = sums[:3] + (sums[3] << np.array([24, 16, 8]))
        assert apart(words) == sums.tolist()


@pytest.mark.parametrize(
    ("target", "case", "kernel"),
    [
        (M3, dense(4, 16, 8), "dense_four_s8"),
        (M0, dense(4, 16, 8), "dense_four_raised_s8"),
        (M3, dense(3, 16, 8), "dense_s8"),
        (M3, conv((1, 5, 5, 8), (8, 1, 1, 8), stride=2), "window_four_s8"),
        (M0, conv((1, 5, 5, 8), (8, 3, 3, 8)), "window_four_raised_s8"),
        (Target(InstructionSet.SCALAR), dense(4, 16, 8), "dense_s8"),
        (Target(InstructionSet.DSP, fours=False), dense(4, 16, 8), "dense_s8"),
        (replace(M3, small=True), dense(4, 16, 8), "dense_s8"),
        (replace(M3, tiles=False), dense(4, 16, 8), "dense_s8"),
        (replace(M3, in_one_go=5_000), dense(4, 16, 8), "dense_four_s8"),
        (replace(M3, choices=CHOICES), dense(4, 16, 8), "dense_s8"),
        (replace(M0, choices=CHOICES), dense(4, 16, 8), "dense_four_raised_s8"),
        (replace(M3, choices=CHOICES), conv((1, 5, 5, 8), (8, 3, 3, 8)), "window_block_s8"),
    ],
)
def test_layers_by_fours(target, case, kernel):
    assert choose(node_of(case), target).name == f"tinyrt_{kernel}"


def test_rows_of_a_segment_go_by_pairs():
    case = conv((1, 8, 8, 8), (8, 3, 3, 8))
    rows = replace(case, attrs=replace(case.attrs, padding="ROWS"))
    assert choose(node_of(rows), M3).name == "tinyrt_window_rows_s8"


def test_scratch_memory_is_three_words_to_a_tap_and_four_rows():
    assert choose(node_of(dense(4, 18, 8)), M3).scratch_bytes == 12 * 20
    window = conv((1, 5, 5, 3), (8, 3, 2, 3))
    assert choose(node_of(window), M3).scratch_bytes == 12 * 20 + 4 * 6


def test_groups_of_windows_are_counted():
    for x, out, before, kernel, stride in [
        ((8, 8), (8, 8), (1, 1), (3, 3), (1, 1)),
        ((9, 7), (7, 5), (0, 0), (3, 3), (1, 1)),
        ((10, 20), (5, 10), (0, 0), (2, 3), (2, 2)),
        ((9, 11), (5, 11), (1, 1), (3, 3), (2, 1)),
        ((7, 12), (7, 6), (1, 0), (3, 2), (1, 2)),
        ((5, 3), (5, 3), (1, 1), (3, 3), (1, 1)),
        ((6, 1), (6, 1), (1, 0), (3, 1), (1, 1)),
        ((12, 12), (6, 6), (0, 0), (1, 1), (2, 2)),
    ]:
        rows = [(n, r, c) for n in range(2) for r in range(out[0]) for c in range(out[1])]
        copies = columns = 0
        for group in [rows[i : i + 4] for i in range(0, len(rows), 4)]:
            corners = [(r * stride[0] - before[0], c * stride[1] - before[1]) for _, r, c in group]
            fits = all(
                y >= 0 and y + kernel[0] <= x[0] and i >= 0 and i + kernel[1] <= x[1]
                for y, i in corners
            )
            beside = {place[:2] for place in group}
            if fits and len(group) == 4 and len(beside) == 1:
                continue
            # Outputs side by side share a copy, but where steps leave pixels out.
            apart = len(group) if stride[1] > kernel[1] else len(beside)
            copies += apart
            columns += apart * kernel[1] + (len(group) - apart) * stride[1]
        found = WindowGroups.of(2, x, (kernel, stride), (before, out))
        assert (found.count, found.copies, found.columns) == (-(-len(rows) // 4), copies, columns)


@pytest.mark.parametrize(("columns", "runs"), [(1, 4), (2, 3), (3, 2), (4, 2), (9, 2)])
def test_groups_anywhere_lie_in_as_many_rows_as_they_can(columns, runs):
    found = WindowGroups.anywhere(3, columns, kernel=3, stride=2)
    assert found == WindowGroups(3, 3 * runs, 3 * (3 * runs + 2 * (4 - runs)))
    assert WindowGroups.anywhere(3, columns, kernel=1, stride=2) == WindowGroups(3, 12, 12)
    assert WindowGroups.anywhere(3, columns, kernel=2, stride=2).copies == 3 * runs


def test_an_arena_that_only_fits_with_pairs_takes_pairs(tmp_path):
    def arena_of(limit):
        options = asked(max_arena=limit)
        project = export_graph(graph, tmp_path / str(limit), core="cortex-m0", **options)
        fours_taken = "tinyrt_window_four_raised_s8" in project.kernels
        return project.arena_bytes, fours_taken

    graph = graph_of(conv((1, 6, 6, 32), (4, 3, 3, 32)))
    most, by_fours = arena_of(None)
    assert by_fours
    least, by_fours = arena_of(most - 1)
    assert least < most
    assert not by_fours
