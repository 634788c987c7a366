"""Parts of depthwise layers on vectors, one channel after the other."""

import numpy as np
import pytest

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Params, Scratch, call
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.ir import DType, QParams, Value

X = Value("x", DType.INT8, (1, 9, 5, 20), QParams((0.5,)))
Y = Value("y", DType.INT8, (1, 9, 5, 20), QParams((0.5,)))
PLANES = {"band": 4, "column": 4, "positions": 7, "window": {"stride_w": 1}}


def test_planes_are_cut_by_eight_channels_then_by_bands():
    """What comes before the first channels: 18 instructions for a window's place, and 400."""
    arrays = {name: Data(name, np.zeros(24)) for name in ("mult", "shift")}
    requant = {"requant": {"step": 1, **arrays}}
    shapes = {"x": {"n": 1, "h": 9, "w": 5, "c": 20}, "y": {"n": 1, "h": 9, "w": 5, "c": 20}}
    fields = PLANES | requant | shapes
    data = Data("w", np.zeros(9 * 24)), Data("bias", np.zeros(24))
    layer = call("tinyrt_depthwise_planes_s8", Params("p", fields), X, *data, Scratch(), Y)
    cut = cut_of(layer, InstructionSet.MVE, True)
    assert (cut.units, cut.fixed) == (3, 400 + 18 * 7)
    last = cut.part(2, 3)
    p = params_of(last)
    assert (p["y"]["c"], p["requant"]["shift"].skip, last.function) == (4, 16, layer.function)
    assert [last.args[i].skip for i in (1, 2, 3, 5)] == [16, 2 * 9 * 8, 16, 16]
    bands = cut_of(last, InstructionSet.MVE, True)
    assert (bands.units, bands.fixed) == (3, 400 + 18 * 7)
    part = bands.part(1, 3)
    assert part.function == "tinyrt_depthwise_plane_bands_s8"
    assert [int(arg.value) for arg in part.args[1:3]] == [4, 9]
    whole = call("tinyrt_depthwise_planes_s8", Params("p", fields | {"band": 9}), X, *data, Y)
    eight = cut_of(whole, InstructionSet.MVE, True)
    assert eight.fixed == 400 + 18 * 7 * 5
    assert cut_of(eight.part(0, 1), InstructionSet.MVE, True) is None


@pytest.mark.parametrize(("images", "c_in"), [(2, 20), (1, 10)])
def test_several_images_or_filters_to_a_channel_stay_whole(images, c_in):
    """Channels of two images are no piece, and filters of one channel read the same."""
    shapes = {"x": {"n": images, "c": c_in}, "y": {"n": images, "h": 9, "w": 5, "c": 20}}
    data = Data("w", np.zeros(9 * 24)), Data("bias", np.zeros(24))
    for name in ("planes", "conv2d"):
        kernel = f"tinyrt_depthwise_{name}_s8"
        layer = call(kernel, Params("p", PLANES | shapes), X, *data, Scratch(), Y)
        assert cut_of(layer, InstructionSet.MVE, True) is None
