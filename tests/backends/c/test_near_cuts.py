"""Calls that nearly can be made in parts, and which of several ways is taken."""

import numpy as np
import pytest

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Number, Params, Scratch, call
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.parts.rounds import _step
from tinyrt.ir import DType, QParams, Value

SCALAR, MVE = InstructionSet.SCALAR, InstructionSet.MVE
WINDOW = {
    **{"kernel_h": 3, "kernel_w": 3, "stride_h": 1, "stride_w": 1},
    **{"dilation_h": 1, "dilation_w": 1, "pad_top": 1, "pad_left": 1},
}
X = Value("x", DType.INT8, (1, 8, 8, 16), QParams((0.5,)))
Y = Value("y", DType.INT8, (1, 8, 8, 16), QParams((0.5,)))
WORDS = np.zeros(8 * 144, np.int32)


def block(c_out):
    """A packed layer of so many channels."""
    whole = -(-c_out // 4) * 4
    arrays = {"w": WORDS[: whole * 16], "init": WORDS[:whole], "mult": WORDS[: 2 * whole]}
    data = {name: Data(name, array) for name, array in arrays.items()}
    shift = Data("shift", np.zeros(whole, np.int8))
    return {"c_out": c_out, "taps": 16, "requant_step": 4, "shift": shift, **data}


def made(function, *numbers, n=1, h=1, w=1, c=16, scratch=1, **fields):
    """A call on images of so many rows and columns, with so many channels of outputs."""
    shapes = {
        "x": {"n": n, "h": h, "w": w, "c": 16},
        "y": {"n": n, "h": h, "w": w, "c": c},
        "window": WINDOW,
    }
    params = Params("p_t", shapes | {"block": block(c)} | fields)
    own = (Scratch(),) * scratch
    return call(f"tinyrt_{function}", params, *map(Number, numbers), X, *own, Y)


def dense(function, rows, c_out, **fields):
    params = Params(
        "p_t", {"rows": rows, "c_in": 16, "c_out": c_out, "block": block(c_out)} | fields
    )
    return call(f"tinyrt_{function}", params, X, Scratch(), Y)


LINES = {"across": {"y_count": 2, "y_step": 8, "pad": 1}}
WHOLE = {
    "two channels of four pixels": made("window_four_s8", w=4, c=2),
    "two channels of four rows": dense("dense_four_s8", 4, 2),
    "several images of four pixels": made("window_four_s8", n=2, w=2),
    "four channels of a pool": made("max_pool2d_s8", c=4),
    "two images of a pool": made("max_pool2d_s8", n=2),
    "four channels by lists": made("depthwise_block_s8", c=4),
    "two images by lists": made("depthwise_block_s8", n=2, h=3, w=3, line_bytes=48),
    "four channels of a pixel": made("window_block_s8", c=4),
    "four channels of tiles": made("winograd_s8", h=2, w=4, c=4),
    "two images of tiles": made("winograd_s8", n=2, h=2, w=4),
    "four channels of two rows": dense("dense_s8", 2, 4),
    "eight channels of a row": dense("dense_row_s8", 1, 8),
    "two images of planes": made("depthwise3x3_s8", images=2, channels=16),
    "a plane of two lines": made("depthwise3x3_s8", images=1, channels=1, stride=1, **LINES),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_nearly_can_be_cut_stays_whole(name):
    assert cut_of(WHOLE[name], SCALAR, True) is None
    assert cut_of(WHOLE[name], SCALAR, False) is None


WAYS = {
    "rows of a pool": (made("max_pool2d_s8", h=3), 3, "max_pool2d_s8", []),
    "channels of a pool": (made("max_pool2d_s8"), 4, "max_pool2d_s8", []),
    "rows of pixels": (made("window_block_s8", h=2), 2, "window_block_s8", []),
    "channels of two pixels": (made("window_block_s8", w=2), 4, "window_part_s8", [0, 16]),
    "channels of two images": (made("window_block_s8", n=2), 4, "window_part_s8", [0, 16]),
    "four pixels in two rows": (
        made("window_four_s8", h=2, w=2),
        *(8, "window_four_part_s8", [0, 4, 0, 16]),
    ),
    "a row of six pixels": (made("window_four_s8", w=6), 2, "window_four_s8", []),
    "some of four pixels": (
        made("window_four_pixels_s8", 3, 4, h=2, w=5),
        *(8, "window_four_part_s8", [3, 4, 0, 16]),
    ),
    "fours of rows": (dense("dense_four_s8", 5, 16), 2, "dense_four_s8", []),
    "channels of four rows": (dense("dense_four_s8", 4, 16), 8, "dense_four_part_s8", [0, 16]),
    "channels of tiles": (made("winograd_s8", h=2, w=4), 4, "winograd_part_s8", [0]),
    "rows of tiles": (made("winograd_s8", h=4, w=4), 2, "winograd_s8", []),
    "tiles of a row": (made("winograd_s8", h=2, w=8), 2, "winograd_s8", []),
    "pairs of rows": (dense("dense_s8", 3, 16), 2, "dense_s8", []),
    "channels of two rows": (dense("dense_s8", 2, 16), 4, "dense_part_s8", [0, 16]),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_call_is_cut_in_the_largest_pieces(name):
    """The second part: its function and its numbers."""
    one, units, function, numbers = WAYS[name]
    cut = cut_of(one, SCALAR, False)
    assert cut.units == units
    part = cut.part(1, 2)
    assert part.function == f"tinyrt_{function}"
    assert [int(arg.value) for arg in part.args if isinstance(arg, Number)] == numbers
    end = Y.size if "rows" not in params_of(one) else params_of(one)["rows"] * 16
    assert 0 < part.args[-1].skip < end


def test_rows_of_a_general_dense_layer_then_channels_of_one():
    scales = {"requant": {"step": 1, **{n: Data(n, WORDS[:4]) for n in ("mult", "shift")}}}
    for rows, units in ((3, 3), (1, 4)):
        params = Params("p_t", {"rows": rows, "c_in": 16, "c_out": 4, **scales})
        w, bias = Data("w", WORDS[:64]), Data("bias", WORDS[:4])
        cut = cut_of(call("tinyrt_fully_connected_plain_s8", params, X, w, bias, Y), SCALAR, True)
        assert cut.units == units
        part = cut.part(1, 2)
        assert params_of(part)["rows"] == 1
        assert part.args[-1].skip == (4 if rows > 1 else 1)


def test_what_advances_otherwise_is_no_round():
    """Steps between arguments of two calls, of which one advances with turns of its own."""
    array = np.zeros(4, np.int32)
    own, turned = Data("w", array, skip=4), Data("w", array, skip=6, each=(1, 0))
    assert _step(own, Data("w", array, skip=6)) == (2,)
    assert _step(own, turned) is None
    assert _step(Number(4), Number(6)) == (2,)
    assert _step(Number(4), Number(6, (1, 0))) is None
