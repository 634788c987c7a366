"""Parts of convolutions that are pairs of pixels or channels of tiles, and what parts cost."""

import re

import numpy as np
import pytest

from tinyrt import kernels_c
from tinyrt.backends.c.blocks.cost import TilePairs, transform_share, winograd_cost
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Call, Data, Number, Params, Scratch, call
from tinyrt.backends.c.parts import channels
from tinyrt.backends.c.parts.cutting import cut_of, divided
from tinyrt.backends.c.parts.edit import Cut, edited, params_of
from tinyrt.backends.c.parts.pace import (
    AS_SAID,
    RISCV,
    RISCV_BITS,
    RISCV_VECTORS,
    SHORT,
    SMALL,
    Pace,
    pace_of,
)
from tinyrt.export.target import CORES
from tinyrt.ir import DType, QParams, Value

SCALAR = InstructionSet.SCALAR
X = Value("x", DType.INT8, (1, 2, 5, 3), QParams((0.5,)))
Y = Value("y", DType.INT8, (1, 2, 5, 4), QParams((0.5,)))
WINDOW = {
    **{"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1},
    **{"dilation_h": 1, "dilation_w": 1, "pad_top": 1, "pad_left": 1},
}


def window(n=1, h=2, w=5, kernel="window_block_s8"):
    x, y = ({"n": n, "h": h, "w": w, "c": c} for c in (3, 4))
    params = Params("p_t", {"x": x, "y": y, "window": WINDOW})
    return call(f"tinyrt_{kernel}", params, X, Scratch(), Scratch(), Y)


def seen(part):
    """Where a part writes, its numbers or its rows and columns, and its padding."""
    p = params_of(part)
    numbers = [arg.value for arg in part.args if isinstance(arg, Number)]
    what = tuple(numbers) or (p["y"]["h"], p["y"]["w"])
    return part.function, part.args[-1].skip, what, p["window"]["pad_top"], p["window"]["pad_left"]


BLOCK, PIXELS = "tinyrt_window_block_s8", "tinyrt_window_pixels_s8"


def test_pairs_of_two_rows_are_calls_on_one_row_or_on_both():
    cut = cut_of(window(), SCALAR, True)
    assert cut.units == 5
    assert [seen(cut.part(i, i + 1)) for i in range(5)] == [
        (BLOCK, 0, (1, 2), 1, 1),
        (BLOCK, 8, (1, 2), 1, 0),
        (PIXELS, 16, (4, 2), 1, 1),
        (BLOCK, 24, (1, 2), 0, 0),
        (BLOCK, 32, (1, 2), 0, -2),
    ]
    assert seen(cut.part(0, 2)) == (BLOCK, 0, (1, 4), 1, 1)
    assert seen(cut.part(0, 3)) == (PIXELS, 0, (0, 6), 1, 1)
    both = cut.part(1, 5)
    assert seen(both) == (PIXELS, 8, (2, 8), 1, 1)
    assert (both.args[3].skip, params_of(both)) == (0, params_of(window()))


def test_a_pair_in_two_rows_is_cut_into_its_pixels():
    pair = cut_of(window(), SCALAR, True).part(2, 3)
    cut = cut_of(pair, SCALAR, True)
    assert cut.units == 2
    ends = [seen(cut.part(i, i + 1)) for i in range(2)]
    assert ends == [(BLOCK, 16, (1, 1), 1, -3), (BLOCK, 20, (1, 1), 0, 1)]
    assert seen(cut.part(0, 2)) == seen(pair)


@pytest.mark.parametrize(
    ("sizes", "units"),
    [((1, 2, 4), 2), ((1, 3, 5), 2), ((1, 1, 5), 3), ((1, 2, 1), 2), ((2, 2, 5), None)],
)
def test_other_sizes_are_cut_by_rows_and_pixels(sizes, units):
    cut = cut_of(window(*sizes), SCALAR, True)
    assert (cut and cut.units) == units
    if cut:
        assert cut.part(0, 1).function == BLOCK


@pytest.mark.parametrize("kind", ["s4", "sparse_s8", "relu_s8"])
def test_pairs_keep_the_format_of_their_weights(kind):
    cut = cut_of(window(kernel=f"window_block_{kind}"), SCALAR, True)
    assert cut.part(2, 3).function == f"tinyrt_window_pixels_{kind}"


def tiles(n=1, h=2, w=4, c_out=10):
    words = Data("w", np.arange(3 * 16 * 4 * 2))
    arrays = {"init": Data("init", np.arange(12)), "mult": Data("mult", np.arange(12))}
    block = {"w": words, **arrays, "shift": Data("shift", np.arange(12)), "requant_step": 4}
    x, y = ({"n": n, "h": h, "w": w, "c": c} for c in (4, c_out))
    fields = {"x": x, "y": y, "window": WINDOW, "block": block | {"c_out": c_out}}
    return call(
        "tinyrt_winograd_s8",
        Params("p_t", fields | {"y_line_step": 40}),
        X,
        Scratch(),
        Scratch(),
        Y,
    )


def test_channels_of_two_tiles_take_their_own_constants_and_transform_once():
    cut = cut_of(tiles(), SCALAR, True)
    assert (cut.units, cut.first) == (3, transform_share(SCALAR, 4, 10))
    for (start, stop), fills, count in [((0, 1), 1, 4), ((1, 3), 0, 6)]:
        part = cut.part(start, stop)
        block = params_of(part)["block"]
        assert part.function == "tinyrt_winograd_part_s8"
        assert part.args[1] == Number(fills)
        assert (block["c_out"], params_of(part)["y"]["c"]) == (count, 10)
        skips = [block[name].skip for name in ("w", "init", "mult", "shift")]
        assert skips == [start * 16 * 4 * 2, start * 4, start * 4, start * 4]
        assert (part.args[2].skip, part.args[-1].skip) == (0, start * 4)


@pytest.mark.parametrize(("wide", "inside"), [(9, False), (11, False), (13, True)])
def test_tiles_read_as_many_inputs_as_two_of_them_have(wide, inside):
    """The last two tiles of a row have a single output, and read what windows of four would."""
    row = edited(tiles(w=9), {"x.w": wide}, {})
    cut = cut_of(row, SCALAR, True)
    parts = [cut.part(i, i + 1) for i in range(cut.units)]
    pads = [(params_of(p)["window"]["pad_left"], p.args[1].skip) for p in parts]
    assert pads == [(1, 0), (0, 3 * 4), (0, 7 * 4) if inside else (-7, 0)]


@pytest.mark.parametrize("sizes", [{"n": 2}, {"c_out": 4}])
def test_tiles_of_several_images_or_of_four_channels_are_whole(sizes):
    assert cut_of(tiles(**sizes), SCALAR, True) is None


def test_larger_maps_are_cut_by_tiles_first():
    for sizes in ({"h": 3}, {"w": 5}):
        assert cut_of(tiles(**sizes), SCALAR, True).part(0, 1).function == "tinyrt_winograd_s8"


def test_a_transform_is_what_no_output_channel_takes():
    once = TilePairs(1, 1)
    told = 243 + 153.1 * 16 + 117 + 26.3 * 16
    assert winograd_cost(SCALAR, once, 16, 0) == pytest.approx(told)
    share = transform_share(SCALAR, 16, 8)
    assert share * winograd_cost(SCALAR, once, 16, 8) == pytest.approx(told)


def test_what_the_first_part_alone_does_counts_once():
    def cut(one):
        made = Cut(8, lambda a, b: Call("f", (Number(a), Number(b - a))), fixed=10, first=0.2)
        return made if one.function == "whole" else None

    parts = list(divided(Call("whole", ()), 1000, 600, cut))
    assert [tuple(a.value for a in part.call.args) for part in parts] == [
        (0, 2),
        (2, 2),
        (4, 2),
        (6, 2),
    ]
    assert [part.instructions for part in parts] == [410, 210, 210, 210]


@pytest.mark.parametrize(("limit", "alone"), [(1_000, False), (999, True)])
def test_what_the_first_part_does_is_a_part_of_its_own_where_it_is_long(limit, alone):
    """More than a fifth of the limit: 200 of 1,000 are not, of 999 they are."""

    def call_of(name, a, b):
        return Call(name, (Number(a), Number(b)))

    def cut(one):
        made = Cut(
            *(8, lambda a, b: call_of("part", a, b)),
            fixed=10,
            first=0.2,
            after=lambda a, b: call_of("after", a, b),
        )
        return made if one.function == "whole" else None

    parts = list(divided(Call("whole", ()), 1_000, limit, cut))
    seen = [(part.call.function, *(int(a.value) for a in part.call.args)) for part in parts]
    if alone:
        assert seen == [("after", 0, 0), ("after", 0, 8)]
        assert [part.instructions for part in parts] == [210, 810]
    else:
        assert seen == [("part", 0, 4), ("part", 4, 8)]
        assert [part.instructions for part in parts] == [610, 410]


def test_parts_with_a_formula_take_what_it_says():
    def cut(one):
        calls = {"whole": Cut(2, lambda a, b: Call("known" if a else "other", ()), fixed=0)}
        return calls.get(one.function)

    known = {"known": 70}
    parts = list(divided(Call("whole", ()), 200, 150, cut, lambda part: known.get(part.function)))
    assert [(part.call.function, part.instructions) for part in parts] == [
        ("other", 100),
        ("known", 70),
    ]


FOUR, FOUR_PIXELS = "tinyrt_window_four_s8", "tinyrt_window_four_pixels_s8"


def places(call):
    """Function and numbers of a call, rows and columns of its outputs, and where they lie."""
    y = params_of(call)["y"]
    numbers = [int(arg.value) for arg in call.args if isinstance(arg, Number)]
    return call.function, numbers, (y["h"], y["w"]), call.args[-1].skip


def test_fours_lie_in_rows_where_these_are_whole_fours():
    cut = cut_of(window(1, 3, 8, kernel="window_four_s8"), SCALAR, True)
    assert cut.units == 3
    assert places(cut.part(1, 2)) == (FOUR, [], (1, 8), 32)
    row = cut_of(cut.part(1, 2), SCALAR, True)
    assert (row.units, row.last) == (2, 1)
    assert places(row.part(1, 2)) == (FOUR, [], (1, 4), 48)


def test_other_fours_lie_in_several_rows():
    cut = cut_of(window(1, 3, 5, kernel="window_four_s8"), SCALAR, True)
    assert cut.units == 4
    assert places(cut.part(0, 1)) == (FOUR_PIXELS, [0, 4], (1, 5), 0)
    assert places(cut.part(1, 2)) == (FOUR_PIXELS, [4, 4], (2, 5), 16)
    assert places(cut.part(2, 4)) == (FOUR_PIXELS, [3, 7], (2, 5), 32)
    again = cut_of(cut.part(2, 4), SCALAR, True)
    assert again.units == 2
    assert places(again.part(1, 2)) == (FOUR_PIXELS, [2, 3], (1, 5), 48)
    assert cut_of(window(2, 3, 5, kernel="window_four_s8"), SCALAR, True) is None


# Cores without formulas of their own


def test_the_longest_beginning_of_a_name_has_the_factor():
    pace = Pace({"dense": 2.0, "dense_row": 3.0, "short": 4.0}, others=5.0)
    named = {"dense_s8": 2.0, "dense_row_s8": 3.0, "window_block_s8": 5.0, "a_dense": 5.0}
    assert {name: pace.factor(Call(f"tinyrt_{name}", ()), False) for name in named} == named
    assert pace.factor(Call("tinyrt_dense_s8", ()), True) == 4.0
    assert AS_SAID.factor(Call("tinyrt_dense_s8", ()), True) == 1.0


def test_every_core_has_the_formulas_or_a_pace():
    paces = {name: pace_of(name) for name in CORES}
    small = {name for name, pace in paces.items() if pace is SMALL}
    assert small == {"cortex-m0", "cortex-m0plus", "cortex-m23"}
    riscv = {"rv32imc": RISCV, "rv32imcb": RISCV_BITS, "rv32imcv": RISCV_VECTORS}
    assert {name: paces[name] for name in riscv} == riscv
    others = [pace for name, pace in paces.items() if name not in small | set(riscv)]
    assert all(pace is AS_SAID for pace in others)


@pytest.mark.parametrize("pace", [SMALL, RISCV, RISCV_BITS, RISCV_VECTORS])
def test_factors_are_those_of_kernels(pace):
    kernels = [path.stem.removeprefix("tinyrt_") for path in kernels_c.ROOT.glob("src*/*.c")]
    begins = set(pace.factors) - {SHORT}
    assert begins == {begin for begin in begins if any(k.startswith(begin) for k in kernels)}


def test_parts_have_as_many_channels_as_their_function_has_room_for():
    text = (kernels_c.ROOT / "internal" / "tinyrt_part_of_columns.h").read_text("utf-8")
    (room,) = re.findall(r"#define TINYRT_MOST_OF_COLUMNS (\d+)", text)
    assert int(room) == channels.MOST * channels.QUAD
