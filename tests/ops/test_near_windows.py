"""Windows: how large they may be, turned ones, and taps that lie outside of what they read."""

import numpy as np
import pytest

from tinyrt.errors import ShapeError
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.conv2d import ref_f32 as convolution
from tinyrt.ops.shared.window import BARE_ROWS, MAX_AREA, ROWS, Window, pair


@pytest.mark.parametrize(("side", "dilation"), [(3, 1), (3, 7), (2, 40)])
def test_a_window_s_area_counts_what_lies_between_its_taps(side, dilation, monkeypatch):
    extent = (side - 1) * dilation + 1
    for limit, fits in ((extent * extent, True), (extent * extent - 1, False)):
        monkeypatch.setattr("tinyrt.ops.shared.window.MAX_AREA", limit)
        arguments = ((200, 200), (side, side), (1, 1), "VALID", (dilation, dilation))
        if fits:
            assert Window.of(*arguments).out == (201 - extent, 201 - extent)
        else:
            with pytest.raises(ShapeError, match=f"reaches over {extent * extent:,} elements"):
                Window.of(*arguments)
    assert extent * extent < MAX_AREA


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_turned_window_is_that_of_a_turned_image(padding):
    pairs = (8, 13), (3, 2), (2, 3), padding, (1, 5)
    turned = (p if isinstance(p, str) else p[::-1] for p in pairs)
    assert Window.of(*pairs).turned() == Window.of(*turned)


@pytest.mark.parametrize(
    ("padding", "on_rows", "before"),
    [
        ("SAME", False, (1, 2)),
        ("VALID", False, (0, 0)),
        (ROWS, True, (0, 2)),
        (BARE_ROWS, True, (0, 0)),
    ],
)
def test_a_window_on_rows_pads_columns_alone(padding, on_rows, before):
    window = Window.of((9, 9), (3, 5), (1, 1), padding, (1, 1))
    assert (window.on_rows, window.before) == (on_rows, before)


def test_one_number_is_for_height_and_width():
    assert (pair(3), pair((3, 2))) == ((3, 3), (3, 2))


@pytest.mark.parametrize(
    ("size", "dilation"), [((2, 3), (3, 2)), ((5, 2), (2, 4)), ((1, 1), (1, 1))]
)
def test_taps_outside_of_the_image_add_nothing_whatever_their_weights(size, dilation):
    """A tap that lies in the padding at all places does not even take 0 times infinity."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, *size, 2)), rng.normal(size=(3, 3, 3, 2))
    attrs, bias = Conv2dAttrs(dilation=dilation), rng.normal(size=3)
    wanted = convolution(attrs, x, w, bias)
    outside = [
        t
        for t in np.ndindex(3, 3)
        if any(abs(i - 1) * d >= n for i, d, n in zip(t, dilation, size, strict=True))
    ]
    assert outside
    for tap in outside:
        w[(slice(None), *tap)] = np.inf
    np.testing.assert_allclose(convolution(attrs, x, w, bias), wanted)
