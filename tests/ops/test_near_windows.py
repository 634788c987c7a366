"""Windows that are too large by what lies between their taps."""

import pytest

from tinyrt.errors import ShapeError
from tinyrt.ops.shared.window import MAX_AREA, Window


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
