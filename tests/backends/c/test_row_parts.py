"""Rows, points and pixels of calls in parts: all of them, once, and what they read."""

from itertools import combinations

import pytest

from tests.backends.c.test_parts import IMAGES, SCALAR, plain
from tinyrt.backends.c.kernel import Null, Number, Place
from tinyrt.backends.c.parts import rows
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.parts.rows import pixels, pixels_of_fours


def sized(function, high, wide, *args, images=1, **others):
    """A call whose input and output have so many rows and columns."""
    sizes = {"n": images, "h": high, "w": wide}
    fields = {"x": sizes | {"c": 8}, "y": sizes | {"c": 4}} | others
    return plain(function, *args, **IMAGES | fields)


def skips(part):
    """Where a part begins to read, and to write."""
    places = [arg.skip for arg in part.args if isinstance(arg, Place)]
    return places[0], places[-1]


def written_and_read(part, whole):
    """Pixels of a part of a convolution: by where it writes, and by the windows it reads."""
    p, inner = params_of(part), params_of(whole)["window"]
    x, y = (arg for arg in part.args if isinstance(arg, Place))
    numbers = [int(arg.value) for arg in part.args if isinstance(arg, Number)]
    wide = params_of(whole)["y"]["w"]
    line, column = divmod(x.skip // p["x"]["c"], p["x"]["w"])
    row = line + inner["pad_top"] - p["window"]["pad_top"]
    column += inner["pad_left"] - p["window"]["pad_left"]
    first, count = numbers or (0, p["y"]["h"] * p["y"]["w"])
    written, rest = divmod(y.skip, p["y"]["c"])
    assert rest == 0
    assert row + -(-(first + count) // wide) <= line + p["x"]["h"] + (line + p["x"]["h"] == 40)
    return range(written, written + count), row * wide + column + first


@pytest.mark.parametrize(
    ("function", "high", "wide", "together"),
    [
        ("window_four_s8", 5, 6, 4),
        ("window_four_s8", 3, 5, 4),
        ("window_block_s8", 2, 5, 2),
        ("window_block_s8", 2, 7, 2),
    ],
)
def test_parts_of_parts_are_the_pixels_from_their_first_to_their_last(
    function, high, wide, together
):
    """Each cut from each unit to each later one, then once more: of pixels, or of rows of them."""
    whole = sized(function, high, wide)
    cut = cut_of(whole, SCALAR, False)
    by_pixels = pixels_of_fours if together == 4 else pixels
    total = high * wide
    assert cut.units == -(-total // together)
    for a, b in combinations(range(cut.units + 1), 2):
        part = cut.part(a, b)
        first, end = a * together, min(b * together, total)
        assert written_and_read(part, whole) == (range(first, end), first)
        rows = {4: first % wide == end % wide == 0, 2: first // wide == (end - 1) // wide}
        assert ("_pixels_" in part.function) is not rows[together]
        again = not rows[together] and by_pixels(part)
        if not again:
            continue
        step = 4 if together == 4 else 1
        assert again.units == -(-(end - first) // step)
        for c, d in combinations(range(again.units + 1), 2):
            begin = first + c * step
            found = written_and_read(again.part(c, d), whole)
            assert found == (range(begin, min(first + d * step, end)), begin)


@pytest.mark.parametrize(
    ("high", "wide", "units"), [(1, 4, None), (1, 9, 3), (1, 12, 3), (4, 8, 4), (2, 6, 3)]
)
def test_the_last_of_four_pixels_costs_as_four(high, wide, units):
    """Of a row; of rows of fours these are cut one by one, of others pixels."""
    cut = rows.fours(sized("window_four_s8", high, wide))
    assert (cut and (cut.units, cut.last)) == (units and (units, 1))
    assert rows.fours(sized("window_four_s8", high, wide, images=2)) is None


@pytest.mark.parametrize(
    ("count", "step", "share"),
    [(8, 4, 1), (9, 4, 0.375), (10, 4, 0.75), (11, 4, 1), (3, 2, 0.75), (4, 2, 1), (5, 1, 1)],
)
def test_the_last_unit_is_no_more_than_one(count, step, share):
    """Alone, a pixel costs half as much again as one of several."""
    assert rows.share_of_last(count, step) == share


@pytest.mark.parametrize(
    ("count", "step", "units", "last"), [(2, 2, 0, 0), (3, 2, 2, 0.75), (6, 2, 3, 1), (2, 1, 2, 1)]
)
def test_rows_of_a_dense_layer_are_its_own_channels_apart(count, step, units, last):
    call = plain("fully_connected_s8", rows=count)
    cut = rows.matrix_rows(call, step, 24, 6)
    assert (cut and (cut.units, cut.last)) == ((units, last) if units else None)
    for a, b in combinations(range(units + 1), 2):
        part, start = cut.part(a, b), a * step
        assert params_of(part)["rows"] == min(b * step, count) - start
        assert skips(part) == (24 * start, 6 * start)


@pytest.mark.parametrize(("count", "units"), [(4, None), (5, 2), (8, 2)])
def test_fewer_than_four_rows_of_a_dense_layer_cost_as_four(count, units):
    cut = rows.matrix_fours(plain("dense_four_s8", rows=count, c_in=24, block={"c_out": 6}))
    assert (cut and (cut.units, cut.last)) == (units and (units, 1))
    if cut:
        assert skips(cut.part(1, 2)) == (4 * 24, 4 * 6)
        assert params_of(cut.part(1, 2))["rows"] == count - 4


TILES = {
    # Images, rows and columns; units, and rows and columns of the second.
    "two tiles": (1, 2, 4, None, None),
    "two images": (2, 9, 9, None, None),
    "an odd row": (1, 3, 4, 2, (1, 4)),
    "rows": (1, 6, 9, 3, (2, 9)),
    "a row of three pairs": (1, 2, 9, 3, (2, 4)),
    "a row of a pair and a point": (1, 1, 5, 2, (1, 1)),
}


@pytest.mark.parametrize(("images", "high", "wide", "units", "second"), TILES.values(), ids=TILES)
def test_tiles_are_cut_by_pairs_of_rows_then_by_four_columns(images, high, wide, units, second):
    cut = rows.tiles(sized("winograd_s8", high, wide, images=images))
    assert (cut and (cut.units, cut.last)) == (units and (units, 1))
    if cut:
        y = params_of(cut.part(1, 2))["y"]
        assert (y["h"], y["w"]) == second
        assert skips(cut.part(1, 2))[1] == 4 * (2 * wide if high > 2 else 4)


@pytest.mark.parametrize(("end", "inside"), [(6, True), (7, True), (8, False)])
def test_points_of_a_row_begin_anew_where_all_that_are_read_at_once_lie_inside(end, inside):
    """A point alone reads the windows of four, six columns: of ten they fit from the fifth on."""
    part = rows._points(sized("winograd_s8", 1, 10), end - 2, end - 1, 4)
    assert skips(part) == ((8 * (end - 3) if inside else 0), 4 * (end - 2))
    p = params_of(part)
    assert (p["y"]["w"], p["window"]["pad_left"]) == (1, 0 if inside else 3 - end)
    assert skips(rows._points(sized("winograd_s8", 1, 10), 8, 9))[0] == 7 * 8
    last = rows.tiles(sized("winograd_s8", 1, 9, x=IMAGES["x"] | {"h": 1, "w": 12})).part(2, 3)
    assert skips(last) == (0, 4 * 8)


@pytest.mark.parametrize(
    ("high", "wide", "pads", "units", "last"),
    [(1, 8, (), None, None), (3, 3, (), 2, 0.1875), (2, 8, (), 2, 1), (1, 3, (Null(),), 2, 0.75)],
)
def test_pixels_of_vectors_are_those_that_are_copied_at_once(high, wide, pads, units, last):
    """Eight at once; two where nothing is copied."""
    one = dict.fromkeys(("kernel_h", "kernel_w", "stride_h", "stride_w"), 1)
    others = {"window": one, "at_once": 8, "groups": 1, "x_point_step": 16, "y_point_step": 12}
    cut = rows.vector_lines(sized("conv2d_s8", high, wide, *pads, **others))
    assert (cut and (cut.units, cut.last)) == (units and (units, last))
    if cut:
        part, step = cut.part(1, 2), 2 if pads else 8
        p, left = params_of(part), high * wide - step
        sizes = [p[name][side] for name in "xy" for side in "hw"]
        assert sizes == [1, left, 1, left]
        assert skips(part) == (16 * step, 12 * step)


@pytest.mark.parametrize("name", ["kernel_h", "kernel_w", "stride_h", "stride_w"])
def test_windows_on_vectors_that_are_more_than_a_pixel_each_are_cut_by_lines(name):
    """Longer or farther from each other, along either axis."""
    window = dict.fromkeys(("kernel_h", "kernel_w", "stride_h", "stride_w"), 1) | {name: 2}
    window |= {"dilation_h": 1, "dilation_w": 1, "pad_top": 0, "pad_left": 0}
    steps = {"x_point_step": 8, "y_point_step": 4}
    one = sized("conv2d_s8", 2, 12, window=window, at_once=8, groups=1, **steps)
    cut = rows.vector_lines(one)
    y = params_of(cut.part(0, 1))["y"]
    assert (cut.units, y["h"], y["w"]) == (2, 1, 12)
