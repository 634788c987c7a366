"""Parts by channels take their own weights and scales, wherever they begin and however they end."""

import numpy as np
import pytest

from tests.backends.c.test_near_cuts import WAYS
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Number, Params, Place, Scratch, call
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import edited, moved_data, params_of
from tinyrt.backends.c.parts.rounds import _step
from tinyrt.ir import DType, QParams, Value

SCALAR, MVE = InstructionSet.SCALAR, InstructionSet.MVE
X, Y = (Value(name, DType.INT8, (1, 9, 9, 16), QParams((0.5,))) for name in "xy")
ONE = dict.fromkeys(("kernel_h", "kernel_w", "stride_h", "stride_w"), 1)


def image(channels, n=1, h=1, w=1):
    return {"n": n, "h": h, "w": w, "c": channels}


def scales(step):
    return {"step": step} | {name: Data(name, np.zeros(40)) for name in ("mult", "shift")}


@pytest.mark.parametrize("name", [name for name, way in WAYS.items() if way[1] > 2])
def test_outputs_of_parts_lie_evenly(name):
    one, units, *_ = WAYS[name]
    cut = cut_of(one, SCALAR, False)
    second = cut.part(1, 2).args[-1].skip
    for start in range(2, units):
        assert cut.part(start, units).args[-1].skip == start * second


@pytest.mark.parametrize(
    ("kind", "words", "step"), [("", 2, 1), ("", 2, 0), ("relu_", 3, 1), ("relu_", 3, 0)]
)
def test_pairs_of_channels_of_four_pixels_take_their_scales(kind, words, step):
    """Two mantissas lie side by side, or three words; and two shifts."""
    arrays = {name: Data(name, np.zeros(8 * 16)) for name in ("w", "init", "mult", "shift")}
    block = arrays | {"w": Data("w", np.zeros(12 * 18)), "init": Data("init", np.zeros(12))}
    block |= {"c_out": 11, "taps": 18, "requant_step": step}
    params = Params("p_t", {"rows": 4, "c_in": 18, "block": block})
    cut = cut_of(call(f"tinyrt_dense_four_{kind}s8", params, X, Scratch(), Y), SCALAR, True)
    assert cut.units == 6
    for start, stop in ((2, 3), (3, 5), (5, 6)):
        part = cut.part(start, stop)
        own = params_of(part)["block"]
        assert own["c_out"] == min(2 * stop, 11) - 2 * start
        assert (own["w"].skip, own["init"].skip) == (2 * start * 18, 2 * start)
        assert (own["mult"].skip, own["shift"].skip) == (
            words * start * step,
            2 * start * step,
        )
        assert part.args[-1].skip == 2 * start
        assert [int(arg.value) for arg in part.args if isinstance(arg, Number)] == [0, 11]
    assert cut.part(0, 2).args[1] == Number(1)
    words, behind, same = cut.after(0, 0), cut.after(2, 3), cut.part(2, 3)
    assert (words.args[1], params_of(words)["block"]["c_out"]) == (Number(1), 0)
    assert (words.function, words.args[-1]) == (same.function, Place(Y))
    assert (behind.args[1:], behind.function) == (same.args[1:], same.function)


def test_channels_of_a_pool_end_where_the_last_four_do():
    pool = Params("p_t", {"x": image(10, h=3, w=3), "y": image(10), "window": ONE})
    cut = cut_of(call("tinyrt_max_pool2d_s8", pool, X, Y), SCALAR, False)
    assert cut.units == 3
    for start, stop in ((0, 2), (2, 3)):
        part = cut.part(start, stop)
        assert params_of(part)["y"]["c"] == min(4 * stop, 10) - 4 * start
        assert [arg.skip for arg in part.args[1:]] == [4 * start] * 2


def test_four_channels_by_lists_are_named_by_the_first_and_the_end():
    lists = Params("p_t", {"x": image(16), "y": image(16), "window": ONE, "line_bytes": 0})
    cut = cut_of(call("tinyrt_depthwise_block_s8", lists, X, Y), SCALAR, True)
    part = cut.part(2, 4)
    assert part.function == "tinyrt_depthwise_part_s8"
    assert [arg.value for arg in part.args[1:3]] == [8, 16]
    tall = {"kernel_h": 3, "dilation_h": 2, "stride_h": 1, "pad_top": 0}
    fields = params_of(part) | {"window": ONE | tall, "line_bytes": 16}
    many = edited(part, fields | {"x": image(16, h=7), "y": image(16, h=3)}, {})
    assert cut_of(many, SCALAR, False).fixed == 2 * (800 + 5 * (300 + 5 * 16))


@pytest.mark.parametrize("step", [0, 1])
def test_channels_of_a_general_dense_layer_share_scales_or_have_their_own(step):
    params = Params("p_t", {"rows": 1, "c_in": 6, "c_out": 5, "requant": scales(step)})
    data = Data("w", np.zeros(30)), Data("bias", np.zeros(5))
    cut = cut_of(call("tinyrt_fully_connected_plain_s8", params, X, *data, Y), SCALAR, True)
    part = cut.part(2, 5)
    p = params_of(part)
    assert (cut.units, p["c_out"]) == (5, 3)
    assert [p["requant"][name].skip for name in ("mult", "shift")] == [2 * step] * 2
    assert [arg.skip for arg in part.args[1:]] == [0, 2 * 6, 2, 2]


def planes(name, channels=20, h=9, n=1, **fields):
    shapes = {side: image(channels, n, h, 5) for side in "xy"}
    window = {"stride_w": 2, "kernel_w": 1, "dilation_w": 1, "pad_left": 0, "pad_top": 0}
    window |= {"stride_h": 1, "kernel_h": 1, "dilation_h": 1}
    fields = shapes | {"window": window, "band": 4, "requant": scales(1)} | fields
    data = Data("w", np.zeros(9 * 24)), Data("bias", np.zeros(24))
    return call(f"tinyrt_depthwise_{name}_s8", Params("p_t", fields), X, *data, Scratch(), Y)


def test_eights_of_channels_on_vectors_take_their_own_constants():
    """Those of a copy of lines have places of two bytes, or of a column's, by the stride."""
    cut = cut_of(planes("planes", column=0, positions=1), MVE, True)
    assert (cut.units, cut.fixed) == (3, 400 + 14 + 2 * 2)
    first, last = cut.part(0, 2), cut.part(2, 3)
    assert (params_of(first)["x"]["c"], params_of(first)["y"]["c"]) == (16, 16)
    assert (params_of(last)["x"]["c"], params_of(last)["y"]["c"]) == (4, 4)
    assert [last.args[i].skip for i in (1, 2, 3, 5)] == [16, 2 * 9 * 8, 16, 16]
    wide = cut_of(planes("planes", column=5, positions=7), MVE, True)
    assert wide.fixed == 400 + (14 + 5 * 2) * 7


def test_bands_of_lines_end_where_the_lines_do():
    cut = cut_of(planes("planes", channels=8, column=4, positions=7), MVE, True)
    assert cut.units == 3
    for a, b in ((0, 2), (2, 3)):
        ends = [arg.value for arg in cut.part(a, b).args[1:3]]
        assert ends == [4 * a, min(4 * b, 9)]
    assert cut_of(planes("planes", channels=8, h=4, column=4, positions=7), MVE, True) is None


def test_depthwise_layers_of_one_band_are_cut_by_lines_where_they_lie_apart():
    few = planes("conv2d", channels=8, h=4)
    assert cut_of(few, SCALAR, True) is None
    assert cut_of(few, SCALAR, False).units == 4
    assert cut_of(planes("conv2d", channels=8), MVE, True).part(1, 2).function == (
        "tinyrt_depthwise_bands_s8"
    )


def dense_on_vectors(kernel, rows, c_out):
    product = {"length": 20, "c_out": c_out, "rounding": 1}
    params = Params("p_t", {"rows": rows, "product": product} | scales(1))
    # Of two blocks for the first four channels, and of one for every other.
    words = [np.r_[one, np.zeros(16 * one + 19 + one)] for one in (1, 0, 0)[: c_out // 4]]
    data = Data("w", np.concatenate(words).astype(np.int32)), Data("scales", np.zeros((3, 9)))
    return call(f"tinyrt_fully_connected_{kernel}", params, X, *data, Y)


def test_a_matrix_on_vectors_is_cut_by_pairs_of_rows_and_a_row_by_channels():
    for kernel in ("s8", "sparse_s8"):
        pairs = cut_of(dense_on_vectors(kernel, 5, 12), MVE, True)
        assert (pairs.units, pairs.last) == (3, 0.75)
        part = pairs.part(1, 3)
        assert params_of(part)["rows"] == 3
        assert (part.args[1].skip, part.args[-1].skip) == (2 * 20, 2 * 12)
    assert cut_of(dense_on_vectors("s8", 1, 12), MVE, True) is None
    assert cut_of(dense_on_vectors("sparse_s8", 1, 4), MVE, True) is None


# Elements


def shaped(nested, a, b):
    shape = {"rank": 1, "dims": [150], "a_strides": [a], "b_strides": [b]}
    return call("tinyrt_add_s8", Params("p_t", {"shape": shape} if nested else shape), X, Y, Y)


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("strides", [(1, 0), (0, 1), (1, 1)])
def test_elements_of_two_inputs_are_cut_at_64(strides, nested):
    """An input of one element stays where it is, whichever it is."""
    cut = cut_of(shaped(nested, *strides), SCALAR, True)
    assert cut.units == 3
    for a, b in ((0, 1), (1, 3)):
        part = cut.part(a, b)
        p = params_of(part)
        assert (p["shape"] if nested else p)["dims"] == [min(64 * b, 150) - 64 * a]
        assert [arg.skip for arg in part.args[1:]] == [64 * a * step for step in (*strides, 1)]


def test_the_first_number_is_that_of_elements():
    """A struct stands before it, and another number behind."""
    one = call("tinyrt_map_f32", Params("p_t", {}), 150, X, Y, 7)
    part = cut_of(one, SCALAR, True).part(1, 2)
    assert [arg.value for arg in part.args if isinstance(arg, Number)] == [64, 7]
    assert [arg.skip for arg in part.args if isinstance(arg, Place)] == [64, 64]


def test_pointers_advance_from_where_they_are():
    array = np.zeros(4)
    assert moved_data(Data("w", array, skip=3), 4).skip == 7
    assert _step(Place(X, skip=3), Place(X, skip=8)) == (5,)
    assert _step(Place(X, skip=3), Place(Y, skip=8)) is None
    assert _step(Place(X), Place(X, each=(1, 0))) is None
    assert _step(Place(X), Place(X, pointer="int8_t *")) is None
