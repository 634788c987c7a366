"""Parts of windowed calls read and write what the whole call does, element by element."""

from itertools import product

import pytest

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Null, Number, Params, Scratch, call
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import ends_of, params_of
from tinyrt.ir import DType, QParams, Value

SCALAR, MVE = InstructionSet.SCALAR, InstructionSet.MVE
X, Y = (Value(name, DType.INT8, (1 << 20,), QParams((0.5,))) for name in "xy")


def made(kernel, image, window, **fields):
    """A call for an input of so many rows and columns, padded by a row and two columns.

    Its two channels of outputs are no parts.
    """
    names = ("kernel", "stride", "dilation")
    sides = {
        f"{n}_{axis}": size
        for n, pair in zip(names, window, strict=True)
        for axis, size in zip("hw", pair, strict=True)
    }
    sides |= {"pad_top": 1, "pad_left": 2}
    out = [
        (size + 2 * before - (k - 1) * d - 1) // s + 1
        for size, before, k, s, d in zip(image, (1, 2), *window, strict=True)
    ]
    shapes = {
        "x": {"n": 1, "h": image[0], "w": image[1], "c": 3},
        "y": {"n": 1, "h": out[0], "w": out[1], "c": 2},
    }
    params = Params("p_t", shapes | {"window": sides, "block": {"c_out": 2}} | fields)
    return call(f"tinyrt_{kernel}", params, X, Scratch(), Y)


def reads(one):
    """Where each output of a call lies, and the taps that lie in the image, with where they do."""
    p = params_of(one)
    x, y, window = p["x"], p["y"], p["window"]
    to_x, to_y = (one.args[i].skip for i in ends_of(one))
    line, point = p.get("x_line_step", x["w"] * x["c"]), p.get("x_point_step", x["c"])
    y_line, y_point = p.get("y_line_step", y["w"] * y["c"]), p.get("y_point_step", y["c"])
    pixels = [*product(range(y["h"]), range(y["w"]))]
    numbers = [int(arg.value) for arg in one.args if isinstance(arg, Number)]
    if numbers:
        first, count = numbers
        row, column = pixels[first]
        to_y -= row * y_line + column * y_point
        pixels = pixels[first : first + count]
    found = {}
    for row, column in pixels:
        top = row * window["stride_h"] - window["pad_top"]
        left = column * window["stride_w"] - window["pad_left"]
        taps = {}
        for i, j in product(range(window["kernel_h"]), range(window["kernel_w"])):
            at = top + i * window["dilation_h"], left + j * window["dilation_w"]
            if 0 <= at[0] < x["h"] and 0 <= at[1] < x["w"]:
                taps[i, j] = to_x + at[0] * line + at[1] * point
        found[to_y + row * y_line + column * y_point] = taps
    return found


def pieces(one, isa, size):
    """Parts of so many units, cut until none can be, or they are by channels."""
    cut = cut_of(one, isa, False)
    if cut is None:
        return [one]
    found = []
    for start in range(0, cut.units, size):
        found += pieces(cut.part(start, min(start + size, cut.units)), isa, max(1, size - 1))
    return found


STEPS = ((3, 2), (1, 2), (2, 1))
"""Three rows, every other of the image, of windows of two columns that are two columns apart."""

WHOLE = {
    "rows": made("conv2d_f32", (9, 9), STEPS),
    "rows of steps": made("conv2d_f32", (9, 9), ((2, 3), (2, 1), (1, 3))),
    "one row": made("conv2d_f32", (3, 40), STEPS),
    "pairs": made("window_block_s8", (7, 7), ((3, 3), (1, 1), (1, 1))),
    "pairs of two rows": made("window_block_s8", (4, 9), ((3, 5), (2, 1), (1, 1))),
    "pairs of rows of pairs": made("window_block_s8", (7, 8), ((3, 5), (1, 1), (1, 1))),
    "fours": made("window_four_s8", (5, 7), ((3, 3), (2, 1), (1, 1))),
    "fours of whole rows": made("window_four_s8", (5, 8), ((3, 5), (1, 1), (1, 1))),
    "fours of one row": made("window_four_s8", (3, 19), ((5, 3), (1, 2), (1, 1))),
    "tiles": made("winograd_s8", (7, 11), ((3, 3), (1, 1), (1, 1)), y_line_step=13 * 2),
    "lists": made("depthwise_block_spread_s8", (9, 9), STEPS, line_bytes=1),
    "lines of columns": made(
        *("conv2d_s8", (9, 8), STEPS),
        **{"at_once": 3, "x_line_step": 5, "x_point_step": 70},
        **{"y_line_step": 7, "y_point_step": 90},
    ),
    "a line of columns": made(
        *("conv2d_s8", (3, 24), ((5, 2), (1, 2), (1, 1))),
        **{"at_once": 3, "x_line_step": 5, "x_point_step": 70},
        **{"y_line_step": 7, "y_point_step": 90},
    ),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_parts_read_and_write_what_the_whole_does(name, size):
    one = WHOLE[name]
    isa = MVE if "conv2d_s8" in one.function else SCALAR
    expected, found = reads(one), {}
    parts = pieces(one, isa, size)
    assert len(parts) > 1
    for part in parts:
        own = reads(part)
        assert not own.keys() & found.keys()
        found |= own
    assert found == expected


@pytest.mark.parametrize(("is_copied", "step"), [(True, 6), (False, 2)])
def test_pixels_on_vectors_are_as_many_as_are_copied(is_copied, step):
    ones = dict.fromkeys(("kernel_h", "kernel_w", "stride_h", "stride_w"), 1)
    fields = {"window": ones, "at_once": 6, "groups": 1, "x_point_step": 3, "y_point_step": 8}
    shapes = {name: {"n": 1, "h": 3, "w": 5, "c": c} for name, c in (("x", 3), ("y", 8))}
    scratch = Scratch() if is_copied else Null()
    cut = cut_of(call("tinyrt_conv2d_s8", Params("p", fields | shapes), X, scratch, Y), MVE, True)
    assert cut.units == -(-15 // step)
    for start, stop in ((0, 1), (1, cut.units)):
        part = cut.part(start, stop)
        p = params_of(part)
        pixels = min(stop * step, 15) - start * step
        assert (p["x"]["h"], p["x"]["w"]) == (p["y"]["h"], p["y"]["w"]) == (1, pixels)
        assert (part.args[1].skip, part.args[-1].skip) == (3 * start * step, 8 * start * step)
    few = shapes | {"y": {"n": 1, "h": 1, "w": step, "c": 8}}
    assert (
        cut_of(call("tinyrt_conv2d_s8", Params("p", fields | few), X, scratch, Y), MVE, True)
        is None
    )


@pytest.mark.parametrize(("width", "last"), [(5, 0.75), (6, 1.0)])
def test_a_pixel_that_is_left_of_two_costs_more_than_half_of_them(width, last):
    one = made("window_block_s8", (1, width + 1), ((3, 4), (1, 1), (1, 1)))
    assert params_of(one)["y"]["w"] == width + 2
    rows = made("window_block_s8", (5, width + 1), ((3, 4), (1, 1), (1, 1)))
    assert cut_of(one, SCALAR, True).last == last
    assert (cut_of(rows, SCALAR, True).units, cut_of(rows, SCALAR, True).last) == (
        (3, 0.75) if width % 2 else (5, 1.0)
    )
