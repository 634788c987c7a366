"""Calls in parts: how long they are."""

from itertools import pairwise

import numpy as np
import pytest

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Call, Data, Null, Number, Params, Place, Scratch, call
from tinyrt.backends.c.parts import edit
from tinyrt.backends.c.parts.channels import starts_of_runs
from tinyrt.backends.c.parts.cutting import MARGIN, Part, cut_of, divided
from tinyrt.backends.c.parts.edit import Cut, edited, params_of
from tinyrt.backends.c.parts.rows import vector_lines
from tinyrt.ir import DType, QParams, Value

SCALAR = InstructionSet.SCALAR
X = Value("x", DType.INT8, (1, 40, 6, 8), QParams((0.5,)))
Y = Value("y", DType.INT8, (1, 40, 6, 4), QParams((0.5,)))


def numbered(first, count):
    return Call("f", (Number(first), Number(count)))


def halves(one):
    """A cut of a call on so many units into single ones, each of which can be cut no further."""
    first, count = (int(arg.value) for arg in one.args)
    if count == 1:
        return None
    return Cut(count, lambda a, b: numbered(first + a, b - a), fixed=10)


def spans(parts):
    return [tuple(int(arg.value) for arg in part.call.args) for part in parts]


@pytest.mark.parametrize("limit", [100, 180, 333, 500, 799, 5000])
def test_parts_are_even_short_and_in_order(limit):
    parts = list(divided(numbered(5, 12), 1200, limit, halves))
    found = spans(parts)
    assert found[0][0] == 5
    assert sum(count for _, count in found) == 12
    assert all(a + n == b for (a, n), (b, _) in pairwise(found))
    if limit >= 180:
        assert all(part.instructions <= limit for part in parts)
    if len(parts) > 1:
        counts = [count for _, count in found]
        assert max(counts) - counts[-1] < len(counts)
        assert set(counts[:-1]) == {counts[0]}
        assert [p.instructions for p in parts] == [10 + 100 * n for n in counts]


def test_a_call_within_the_margin_stays_whole():
    whole = numbered(0, 8)
    assert list(divided(whole, MARGIN * 100, 100, halves)) == [Part(whole, MARGIN * 100)]
    assert len(list(divided(whole, MARGIN * 100 + 1, 100, halves))) > 1
    assert list(divided(whole, 500, 100, lambda _: None)) == [Part(whole, 500)]


def test_what_is_still_too_long_is_cut_again():
    def nested(one):
        first, count = (int(arg.value) for arg in one.args)
        coarse = count // 4 if count > 4 else None
        if coarse:
            return Cut(coarse, lambda a, b: numbered(first + 4 * a, 4 * (b - a)), fixed=0)
        return halves(one)

    parts = list(divided(numbered(0, 16), 1600, 200, nested))
    assert spans(parts) == [(i, 1) for i in range(16)]


def test_a_part_has_at_most_so_many_units_and_the_last_may_be_less():
    def few(one):
        count = int(one.args[1].value)
        made = Cut(count, lambda a, b: numbered(a, b - a), fixed=0, most=2, last=0.5)
        return made if count > 2 else None

    parts = list(divided(numbered(0, 7), 650, 640, few))
    assert spans(parts) == [(0, 2), (2, 2), (4, 2), (6, 1)]
    assert [part.instructions for part in parts] == [200, 200, 200, 50]


# Which calls can be cut


def plain(function, *args, **fields):
    return call(f"tinyrt_{function}", Params("p_t", fields), *args, X, Y)


IMAGES = {
    "x": dict(zip("nhwc", X.shape, strict=True)),
    "y": dict(zip("nhwc", Y.shape, strict=True)),
    "window": {
        **{"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1},
        **{"dilation_h": 1, "dilation_w": 1, "pad_top": 1, "pad_left": 1},
    },
}
WHOLE = {
    "unknown": plain("softmax_s8", rows=9),
    "no type at the end": plain("gather", rank=1),
    "elements of two shapes": plain(
        "add_s8", shape={"rank": 2, "dims": [3, 4], "a_strides": [4, 1], "b_strides": [0, 1]}
    ),
    "few elements": plain("linear_sum_s8", size=64),
    "several images": plain("conv2d_f32", **IMAGES | {"y": {"n": 2, "h": 9, "w": 9, "c": 1}}),
    "several pools": plain("max_pool2d_s8", **IMAGES | {"y": {"n": 2, "h": 1, "w": 1, "c": 64}}),
    "a single output": plain("conv2d_f32", **IMAGES | {"y": {"n": 1, "h": 1, "w": 1, "c": 9}}),
    "one channel": plain("fully_connected_plain_s8", rows=1, c_in=8, c_out=1),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_cannot_be_cut_stays_whole(name):
    assert cut_of(WHOLE[name], SCALAR, False) is None


@pytest.mark.parametrize(
    "function",
    [
        "conv2d_f32",
        "conv2d_plain_s8",
        "conv2d_plain_f32",
        "conv2d_plain_s16",
        "depthwise_few_f32",
        "depthwise_conv2d_plain_s8",
        "average_pool2d_s8",
    ],
)
def test_general_kernels_are_whole_where_an_output_lies_on_an_input(function):
    one = plain(function, **IMAGES)
    assert cut_of(one, SCALAR, True) is None
    assert cut_of(one, SCALAR, False).units == Y.shape[1]


@pytest.mark.parametrize(("images", "groups"), [(2, 1), (1, 2)])
def test_pixels_on_vectors_are_whole_where_they_are_no_single_row(images, groups):
    window = dict.fromkeys(("kernel_h", "kernel_w", "stride_h", "stride_w"), 1)
    fields = {"window": window, "at_once": 8, "groups": groups}
    fields["y"] = {"n": images, "h": 9, "w": 9, "c": 4}
    assert vector_lines(call("tinyrt_f", Params("f_t", fields), X, Y)) is None
    alone = fields | {"y": fields["y"] | {"n": 1}, "groups": 1}
    assert vector_lines(call("tinyrt_f", Params("f_t", alone), X, Y)).units == -(-81 // 8)


def test_what_is_no_pointer_does_not_move():
    assert edit.moved(Null(), 3) == Null()
    assert edit.moved(Place(X, skip=4), 3).skip == 7


def test_rows_read_what_lies_under_their_windows():
    cut = cut_of(plain("conv2d_f32", **IMAGES), SCALAR, False)
    for start, stop, first, rows, pad in [(0, 10, 0, 11, 1), (10, 12, 9, 4, 0), (39, 40, 38, 2, 0)]:
        part = cut.part(start, stop)
        p = params_of(part)
        assert (p["x"]["h"], p["y"]["h"]) == (rows, stop - start)
        assert (p["window"]["pad_top"], p["window"]["pad_left"]) == (pad, 1)
        _, x, y = part.args
        assert (x.skip, y.skip) == (first * 6 * 8, start * 6 * 4)


def test_pixels_of_a_row_begin_at_the_first_window_that_lies_inside():
    row = plain("conv2d_f32", **IMAGES | {"y": {"n": 1, "h": 1, "w": 6, "c": 4}})
    cut = cut_of(row, SCALAR, False)
    found = []
    for start, stop in [(0, 2), (2, 4), (4, 6)]:
        part = cut.part(start, stop)
        p = params_of(part)
        assert (p["y"]["w"], p["x"]["w"]) == (2, 6)
        found.append((p["window"]["pad_left"], part.args[1].skip, part.args[2].skip))
    # The last window reaches over the end, which the kernel has to see where it is.
    assert found == [(1, 0, 0), (0, 8, 8), (-3, 0, 16)]


@pytest.mark.parametrize(("stride", "pads"), [(1, [1, -1, -3]), (2, [1, -3, -7])])
def test_lines_of_a_plane_begin_behind_those_that_are_saved(stride, pads):
    line = {"y_count": 5, "y_step": 24, "pad": 1}
    plane = plain("depthwise3x3_s8", images=1, channels=1, stride=stride, across=line)
    cut = cut_of(plane, SCALAR, True)
    parts = [cut.part(i, i + 1) for i in range(cut.units)]
    across = [params_of(part)["across"] for part in parts]
    assert [a["pad"] for a in across] == pads
    assert [a["y_count"] for a in across] == [2, 2, 1]
    assert [(p.args[1].skip, p.args[2].skip) for p in parts] == [(0, 0), (0, 48), (0, 96)]
    assert cut_of(plain("depthwise3x3_s8", images=2, channels=4), SCALAR, False) is None


def test_four_channels_of_taps_are_cut_by_lines_unless_outputs_lie_on_inputs():
    four = plain("depthwise_block_s8", **IMAGES, line_bytes=32)
    wide = IMAGES | {"y": IMAGES["y"] | {"c": 8}}
    eight = plain("depthwise_block_fine_s8", **wide, line_bytes=32)
    planes = cut_of(eight, SCALAR, True)
    assert planes.units == 2
    spread = plain("depthwise_block_spread_s8", **wide, line_bytes=32)
    for one, fours in ((four, 1), (planes.part(1, 2), 1), (spread, 2)):
        assert cut_of(one, SCALAR, True) is None
        lines = cut_of(one, SCALAR, False)
        assert (lines.units, lines.fixed) == (Y.shape[1], fours * (800 + 3 * (300 + 5 * 32)))
        assert params_of(lines.part(3, 5))["y"]["h"] == 2


def test_channels_of_a_plane_take_their_own_constants():
    arrays = {
        "w": Data("w", np.zeros((6, 9))),
        "init": Data("init", np.zeros(6)),
        "mult": Data("mult", np.zeros(8)),
        "shift": Data("shift", np.zeros(8)),
    }
    for step, scale in ((4, 2), (0, 0)):
        planes = plain("depthwise3x3_s8", images=1, channels=6, requant_step=step, **arrays)
        p = params_of(cut_of(planes, SCALAR, True).part(2, 5))
        skips = [p[name].skip for name in arrays]
        assert (p["channels"], skips) == (3, [18, 2, scale, scale])


def test_a_copy_counts_bytes_and_other_kernels_elements():
    x, y = (Value(name, DType.INT16, (150,), QParams((0.5,))) for name in "xy")
    for one, number in (
        (call("tinyrt_reshape", 300, x, y), 2),
        (call("tinyrt_map_f32", 150, x, y), 1),
    ):
        cut = cut_of(one, SCALAR, True)
        last = cut.part(cut.units - 1, cut.units)
        assert [arg.skip for arg in last.args[1:]] == [128, 128]
        assert last.args[0].value == 22 * number


def test_moves_are_cut_along_the_first_axis_of_their_output():
    x = Value("x", DType.INT16, (600,), QParams((0.5,)))
    walk = {"rank": 3, "dims": [5, 4, 3], "x_strides": [-6, 40, 2], "run": 4}
    move = call("tinyrt_move", Params("p_t", walk), Place(x, skip=70), x)
    cut = cut_of(move, SCALAR, True)
    part = cut.part(2, 4)
    assert (cut.units, params_of(part)["dims"]) == (5, [2, 4, 3])
    assert [arg.skip for arg in part.args[1:]] == [70 - 6, 2 * 4 * 3 * 2]
    alone = call("tinyrt_move", Params("p_t", walk | {"dims": [1, 4, 3]}), x, x)
    assert cut_of(alone, SCALAR, False) is None


def test_an_edit_changes_what_it_names_in_the_first_struct_alone():
    one = Call("f", (Params("a", {"n": {"h": 1, "w": 2}, "m": 3}), Params("b", {"m": 4})))
    first, second = edited(one, {"n.h": 7, "m": 8}, {}).args
    assert (first.fields, second.fields) == ({"n": {"h": 7, "w": 2}, "m": 8}, {"m": 4})
    assert one.args[0].fields == {"n": {"h": 1, "w": 2}, "m": 3}
    assert params_of(Call("f", (Scratch(),))) == {}


def test_blocks_without_zeros_begin_behind_their_last_run():
    # Two runs of 4 and 8 taps, a run of 4: heads say first tap, taps, and whether it is the last.
    words = np.array([4 << 1, *[7] * 4, 8 << 16 | 8 << 1 | 1, *[7] * 8, 4 << 1 | 1, *[7] * 4])
    assert starts_of_runs(words, 1) == [0, 14, 19]
    pairs = np.array([(1 << 31) - (1 << 16) | 4 << 1 | 1, *[7] * 8, 4 << 1 | 1, *[7] * 8])
    assert starts_of_runs(pairs, 2) == [0, 9, 18]
