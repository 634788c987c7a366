"""Convolutions by tiles: their arithmetic in NumPy, their bounds, and the layers that take them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.asked import asked
from tests.backends.c.test_choice import conv
from tests.ops.build import build_s8
from tests.sampling import sampled
from tinyrt.backends.c.blocks import winograd
from tinyrt.backends.c.blocks.block import PairBlock, pair_block
from tinyrt.backends.c.blocks.cost import TilePairs
from tinyrt.backends.c.blocks.layer import MAX_SUM
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Choices, Target
from tinyrt.backends.c.weights import FAST_BYTE_PAYS, Cost, Stored, Weights
from tinyrt.errors import BudgetError
from tinyrt.export import export_graph
from tinyrt.export.blob.choices import choices_of
from tinyrt.export.blob.record import read_record
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ir import QParams
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

SCALAR, DSP = InstructionSet.SCALAR, InstructionSet.DSP
BALANCED, FAST, SMALL = Target(DSP), Target(DSP, byte_pays=FAST_BYTE_PAYS), Target(DSP, small=True)

EVEN_FIRST = (0, 2, 1, 3)
"""Channels of four in the order in which words hold them."""


def block_of(w, bias, x_zp=3, isa=DSP):
    channels = len(w)
    shift = np.full(channels, -15, np.int32)
    requant = Requant(np.full(channels, 3 << 29, np.int32), shift, 5, -128, 127)
    return pair_block(w.reshape(channels, -1), bias, x_zp, requant, isa)


def unpacked(words, c_in, isa):
    """Transformed weights (c_out, 16, c_in) of packed words, as the kernel reads them."""
    halves = words.view(np.int16).astype(np.int64)
    if isa is SCALAR:
        return halves.reshape(-1, 16, c_in, 4).transpose(0, 3, 1, 2).reshape(-1, 16, c_in)
    by_channel = halves.reshape(-1, 16, c_in // 2, 4, 2).transpose(0, 3, 1, 2, 4)
    fours = by_channel.reshape(-1, 16, c_in // 4, 4)
    return fours[..., np.argsort(EVEN_FIRST)].reshape(-1, 16, c_in)


def rows_of_places(x):
    """Rows 3, 1, 2 and 0 of places of inputs (4, 4, c)."""
    return x[3] - x[1], x[1] + x[2], x[2] - x[1], x[0] - x[2]


def along(row):
    """Columns 1, 2, 0 and 3 of a row of places (4, c)."""
    return row[1] + row[2], row[2] - row[1], row[0] - row[2], row[3] - row[1]


def wrapped(numbers):
    return numbers.astype(np.int64).astype(np.uint64).astype(np.uint32).view(np.int32)


def tile(block, c_in, x):
    """Twice the accumulators (2, 2, c_out) of a tile's inputs (4, 4, c_in), in 32 bits."""
    packed = winograd.pack(block)
    u = unpacked(packed.w, c_in, block.isa)
    rows = [along(row) for row in rows_of_places(x.astype(np.int64))]
    sums = []
    for j in range(4):
        places = np.stack([u[:, 4 * j + i] @ rows[i][j] for i in range(4)])
        if j == 0:
            places[1] += packed.init.astype(np.int64)
        third, one, two, whole = wrapped(np.cumsum(places, axis=0)).astype(np.int64)
        sums.append((wrapped(whole - third), wrapped(2 * one - two)))
    return np.stack(
        [
            np.stack(
                [
                    (wrapped(sums[0][i].astype(np.int64) + sums[1][i]) >> 1) + sums[2][i],
                    (wrapped(sums[0][i].astype(np.int64) - sums[1][i]) >> 1) + sums[3][i],
                ]
            )
            for i in range(2)
        ]
    )


@pytest.mark.parametrize("isa", [SCALAR, DSP])
@pytest.mark.parametrize("seeds", [range(i, i + 50) for i in range(0, 200, 50)], ids=str)
def test_a_tile_is_what_its_windows_are(isa, seeds):
    for rng in map(np.random.default_rng, seeds):
        c_in, c_out = 4 * int(rng.integers(1, 7)), int(rng.integers(1, 10))
        w = rng.integers(-127, 128, (c_out, 3, 3, c_in)).astype(np.int8)
        x = rng.integers(-128, 128, (4, 4, c_in)).astype(np.int8)
        if rng.random() < 0.3:
            w, x = np.where(w < 0, -127, 127).astype(np.int8), np.where(x < 0, -128, 127)
        bias = rng.integers(-1 << 18, 1 << 18, c_out).astype(np.int32)
        x_zp = int(rng.choice([-128, -1, 0, 3, 127]))
        block = block_of(w, bias, x_zp, isa)
        assert block is not None
        found = tile(block, c_in, x)[..., :c_out]
        windows = np.lib.stride_tricks.sliding_window_view(
            x.astype(np.int64) - x_zp, (3, 3), (0, 1)
        )
        sums = np.einsum("orsc,ijcrs->ijo", w.astype(np.int64), windows)
        np.testing.assert_array_equal(found, 2 * (bias + sums))


def test_places_fit_sixteen_bits_and_reach_their_bound():
    w = np.full((1, 3, 3, 4), -128, np.int8)
    assert np.abs(winograd.transformed(w)).max() == 9 * 128 < 1 << 15


@pytest.mark.parametrize(("weight", "fit"), [(3640, True), (3641, False)])
@pytest.mark.parametrize("sign", [1, -1])
def test_weights_beyond_a_byte_are_as_wide_as_their_places_allow(weight, fit, sign):
    w = np.full((4, 3, 3, 4), sign * weight, np.int16)
    layer = replace(block_of(w // weight, None).layer, w=w.reshape(4, -1))
    window = Window.of((8, 8), (3, 3), (1, 1), "SAME")
    assert bool(winograd.fits(PairBlock(layer, 3, DSP), window, BALANCED)) is fit
    assert bool(np.abs(winograd.transformed(w)).max() < 1 << 15) is fit


def test_what_is_halved_fits_32_bits():
    """The largest sums that a layer may have: half its weights at either end, and all of them."""
    c_in = 4 * ((MAX_SUM // (255 * 127 * 9)) // 4)
    for sign in (1, -1):
        w = np.full((4, 3, 3, c_in), sign * 127, np.int8)
        block = block_of(w, None, x_zp=-128)
        assert block is not None
        for value in (-128, 127):
            x = np.full((4, 4, c_in), value)
            sums = 2 * 9 * c_in * 127 * sign * (value + 128)
            assert (tile(block, c_in, x)[..., :4] == sums).all()
        first, weights = block.layer.first_sums(-128), np.abs(w.astype(np.int64)).sum((1, 2, 3))
        assert (4 * (np.abs(first) + 128 * weights) < 1 << 27).all()


def test_pairs_of_tiles_are_counted():
    for height, width, above, left in [
        (1, 1, 1, 1),
        (8, 8, 1, 1),
        (9, 13, 1, 1),
        (9, 13, 0, 0),
        (3, 3, 0, 0),
        (24, 7, 1, 1),
        (8, 14, 1, 0),
        (8, 14, 0, 1),
    ]:
        out = height - 2 + 2 * above, width - 2 + 2 * left
        corners = [(y - above, x - left) for y in range(0, out[0], 2) for x in range(0, out[1], 4)]
        outside = sum(y < 0 or x < 0 or y + 4 > height or x + 6 > width for y, x in corners)
        found = TilePairs.of(3, (height, width), out, (above, left))
        assert (found.count, found.at_border) == (3 * len(corners), 3 * outside)


def graph_of(case):
    """The layer, whose output scale no packed kernel refuses."""
    graph = build_s8(case, np.random.default_rng(0)).graph
    values = dict(graph.values)
    values["out"] = replace(values["out"], q=QParams((2.0,), 0))
    return replace(graph, values=values)


def node_of(case):
    return graph_of(case).bind(0)


LARGE, MIDDLE, TINY = ((1, size, size, 16) for size in (32, 8, 4))
FILTERS = (16, 3, 3, 16)
CHOICES = Choices(frozenset(), frozenset())
BY_TILES = replace(CHOICES, tiles=frozenset({0}))


@pytest.mark.parametrize(
    ("target", "case", "kernel"),
    [
        (BALANCED, conv(LARGE, FILTERS), "winograd_s8"),
        (BALANCED, conv((2, *LARGE[1:]), FILTERS), "winograd_s8"),
        (BALANCED, conv(MIDDLE, FILTERS), "window_block_s8"),
        (FAST, conv(MIDDLE, FILTERS), "winograd_s8"),
        (FAST, conv(TINY, FILTERS), "window_block_s8"),
        (SMALL, conv(LARGE, FILTERS), "window_block_s8"),
        (BALANCED, conv((1, 32, 32, 18), (16, 3, 3, 18)), "window_block_s8"),
        (BALANCED, conv(LARGE, (16, 3, 1, 16)), "window_block_s8"),
        (BALANCED, conv(LARGE, (16, 5, 5, 16)), "window_block_s8"),
        (FAST, conv((1, 64, 64, 16), FILTERS, stride=2), "window_block_s8"),
        (FAST, conv(LARGE, FILTERS, dilation=(2, 2)), "group_block_s8"),
        (replace(BALANCED, choices=CHOICES), conv(LARGE, FILTERS), "window_block_s8"),
        (replace(BALANCED, choices=BY_TILES), conv(MIDDLE, FILTERS), "winograd_s8"),
        (replace(BALANCED, choices=BY_TILES), conv(MIDDLE, (16, 5, 5, 16)), "window_block_s8"),
        (replace(BALANCED, in_one_go=4_600), conv(LARGE, FILTERS), "window_block_s8"),
        (replace(BALANCED, in_one_go=4_700), conv(LARGE, FILTERS), "winograd_s8"),
        (Target(SCALAR), conv(LARGE, FILTERS), "window_block_s8"),
        (Target(SCALAR, high_products=True), conv(LARGE, FILTERS), "winograd_s8"),
    ],
)
def test_layers_by_tiles(target, case, kernel):
    assert choose(node_of(case), target).name == f"tinyrt_{kernel}"


def test_rows_are_not_computed_by_tiles():
    case = conv(LARGE, FILTERS)
    rows = replace(case, attrs=replace(case.attrs, padding="ROWS"))
    assert choose(node_of(rows), FAST).name == "tinyrt_window_rows_s8"


def test_zeros_that_are_left_out_may_pay_more():
    node = node_of(conv(LARGE, FILTERS))
    w = node.input(1)
    kept = np.zeros(w.shape, np.int8)
    kept[:, 1, 1] = np.asarray(w.data)[:, 1, 1]
    sparse = replace(node, inputs=(node.input(0), replace(w, data=kept), node.input(2)))
    kernel = choose(sparse, BALANCED)
    assert kernel.name == "tinyrt_window_block_sparse_s8"
    assert Weights.WINOGRAD in kernel.stored.forms


def test_scratch_memory_is_tiles_and_sums():
    """16 channels: of two tiles 16 places in 16 bits; sums, or 24 inputs where these are more."""
    assert choose(node_of(conv(LARGE, FILTERS)), BALANCED).scratch_bytes == 1024 + 512
    wide = conv((1, 32, 32, 32), (4, 3, 3, 32))
    assert choose(node_of(wide), BALANCED).scratch_bytes == 2048 + 24 * 32


@pytest.mark.parametrize(("saved", "chosen"), [(31, "dense"), (33, "winograd")])
def test_a_byte_of_flash_has_to_save_32_instructions(saved, chosen):
    forms = {
        Weights.DENSE: Cost(100_000, 1000),
        Weights.WINOGRAD: Cost(100_000 - saved * 2000, 3000),
    }
    assert Stored.cheapest(forms, small=False).form == chosen


def test_code_made_for_speed_spends_more_flash():
    core = find_core("cortex-m4")
    rates = {aim: target_of(core, aim).byte_pays for aim in Optimize}
    assert rates == {Optimize.SPEED: 4, Optimize.BALANCED: 32, Optimize.SIZE: 32}
    assert [target_of(core, aim).small for aim in Optimize] == [False, False, True]


@pytest.mark.parametrize(
    ("limit", "kernel"),
    [
        *sampled([], [(5_200, "window_part_s8")]),
        (5_600, "winograd_part_s8"),
        (16_000, "winograd_s8"),
    ],
)
def test_slices_are_of_tiles_where_four_channels_of_two_fit(tmp_path, limit, kernel):
    """Two tiles of 16 channels take 11,788 instructions, four channels of them 4,696.

    Slices take 0.84 of their limit at most.
    """
    graph = graph_of(conv(LARGE, FILTERS))
    project = export_graph(graph, tmp_path / "project", core="cortex-m4", **asked(slices=limit))
    assert f"tinyrt_{kernel}" in project.kernels
    by_tiles = {name for name in project.kernels if "winograd" in name}
    assert len(by_tiles) == ("winograd" in kernel)
    assert project.slices.longest.instructions <= limit


def test_an_arena_that_only_fits_without_tiles_goes_without(tmp_path):
    def arena_of(limit, blob=False):
        folder = tmp_path / f"{limit}{blob}"
        options = asked(max_arena=limit, blob=blob)
        project = export_graph(graph, folder, core="cortex-m4", **options)
        return project.arena_bytes, project.segments, "tinyrt_winograd_s8" in project.kernels

    graph = graph_of(conv(LARGE, FILTERS))
    most, _, by_tiles = arena_of(None)
    assert by_tiles
    assert arena_of(most) == (most, (), True)
    least, segments, by_tiles = arena_of(most - 1)
    assert (least < most, segments, by_tiles) == (True, (), False)
    assert arena_of(most - 1, blob=True) == (least, (), False)
    assert arena_of(least) == (least, (), False)
    with pytest.raises(BudgetError):
        arena_of(least // 2)


def test_code_for_a_blob_keeps_which_layers_are_by_tiles(tmp_path):
    graph = graph_of(conv(LARGE, FILTERS))
    assert choices_of(graph, BALANCED, sliced=False).tiles == {0}
    project = export_graph(graph, tmp_path / "project", core="cortex-m4", **asked(blob=True))
    assert read_record(project.directory).request.choices.tiles == {0}
    assert "tinyrt_winograd_s8" in project.kernels
