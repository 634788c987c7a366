"""Kernels with lanes: every tile, line and finish equals the integer reference."""

from functools import cache

import numpy as np
import pytest

from tests.backends.lane_cases import FINISHES, build, cases
from tests.c.conformance import other_data
from tests.ops.quantised import s8
from tests.sampling import sampled
from tinyrt.backends import lanes
from tinyrt.backends.finishes import (
    LANES,
    MAX_RIGHT,
    QUANT,
    SIGN,
    Finish,
    Weighted,
    channel_vectors,
    pack_finish,
)
from tinyrt.backends.lines import LanesLines, lanes_lines, lanes_strip
from tinyrt.backends.numba.fully_connected import is_single_row
from tinyrt.interpreter import Interpreter
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.requant import Requant

ALL = [pytest.param(case, finish, id=name) for name, case, finish in cases()]


def packed(case, finish, shapes=lanes.AVX512):
    """How a layer is packed; None where a depthwise one goes pixel by pixel."""
    node = build(case, np.random.default_rng(1), finish).graph.bind(0)
    p = OPS[node.op].prepared(node)
    bias = node.optional(2)
    layer = Weighted(node.input(1).data, bias and bias.data, p.x_zp, p.requant)
    x = node.input(0).shape
    if node.op == "fully_connected":
        return lanes.lanes_dense(x[0], layer, shapes)
    if node.op == "conv2d":
        return lanes.lanes_convolution(p.window, x, layer, shapes)
    return lanes_lines(p.window, x, layer) or lanes_strip(p.window, x, layer)


@cache
def all_packed():
    return [(packed(case, finish), finish) for _, case, finish in cases()]


def test_layers_finish_as_they_ask_to():
    for layer, finish in all_packed():
        assert layer is None or layer.finish is Finish[finish.upper()]
    assert [f.name.lower() for f in Finish] == list(FINISHES)


@pytest.mark.parametrize("shapes", [lanes.AVX512, lanes.AVX2])
def test_each_tile_has_a_layer(shapes):
    weighted = [(c, f) for _, c, f in cases() if c.op != "depthwise_conv2d"]
    found = {int(i) for c, f in weighted for i in packed(c, f, shapes).tiles}
    assert found == set(range(len(shapes)))


def test_each_kind_of_line_has_a_layer():
    layers = [layer for layer, _ in all_packed()]
    lines = [layer for layer in layers if isinstance(layer, LanesLines)]
    assert {(n.together, n.stride) for n in lines if not n.fours} == {(1, 2), (2, 1), (2, 2)}
    assert {n.fours for n in lines} == {0, 1, 2, 3, 4}
    assert any(layer is None for layer in layers)


@pytest.mark.parametrize(("case", "finish"), ALL)
def test_numba_equals_the_reference(case, finish):
    rng = np.random.default_rng(1)
    built = build(case, rng, finish)
    graph = built.graph
    interpreter = Interpreter.from_graph(graph, backend="numba")
    interpreter.allocate_tensors()
    (given,), (answer,) = interpreter.get_input_details(), interpreter.get_output_details()
    (name,), (y,) = built.feeds, graph.outputs
    for feeds in (built.feeds, *(other_data(built.feeds, rng) for _ in range(3))):
        interpreter.set_tensor(given["index"], feeds[name])
        interpreter.invoke()
        np.testing.assert_array_equal(
            interpreter.get_tensor(answer["index"]), evaluate(graph, feeds)[y]
        )


def layer_of(rng, finish, channels=40, length=9):
    """A layer of random weights, some of whose channels always have the same output."""
    w = rng.integers(-128, 128, (channels, length)).astype(np.int8)
    bias = rng.integers(-20_000, 20_000, channels).astype(np.int32)
    mult = rng.integers(1 << 30, 2**31 - 1, channels, endpoint=True).astype(np.int32)
    mult[:4] = 1 << 30
    shift = -rng.integers(1, 14, channels).astype(np.int32)
    if finish is Finish.GENERAL:
        shift[5:9] = 0, 1, 3, -MAX_RIGHT - 1
        bias[8] = 2**30
    else:
        shift[10:13], mult[10:13] = (-31, 0, 4), (2**31 - 1, 0, 0)
        bias[10] = 2**28
    zero_point = {Finish.RELU: -128, Finish.CLAMPED: -100}.get(finish, 11)
    low = zero_point if finish is Finish.CLAMPED else -128
    return Weighted(
        w, bias, int(rng.integers(-128, 128)), Requant(mult, shift, zero_point, low, 127)
    )


def finished(finish, requant, constants, acc):
    """What a kernel makes of sums, lane by lane, as its form says; all numbers are exact."""
    mult, right, *others = (part.astype(object) for part in constants)
    if finish is Finish.GENERAL:
        high = (acc * 2 ** others[0] * mult + 2**30) >> 31
        half = [1 << (r - 1) if r else 0 for r in right]
        return ((high + half - ((high < 0) & (right > 0))) >> right) + requant.y_zp
    addend = others[0]
    total = acc * mult if finish is Finish.RELU else 2 * acc * mult
    sign = 0 if finish is Finish.RELU else (acc < 0).astype(object)
    return (((total + addend) >> 32) - sign) >> right


@pytest.mark.parametrize("finish", list(Finish))
@pytest.mark.parametrize("seed", range(sampled(1, 6)))
def test_one_rounding_equals_two(finish, seed):
    rng = np.random.default_rng(seed)
    layer = layer_of(rng, finish)
    quant, found = pack_finish(layer, 0)
    assert found is finish
    channels = len(layer.w)
    assert quant.shape == (1, channel_vectors(channels), QUANT, LANES)
    lanes_of = [quant[0, :, which].reshape(-1) for which in range(QUANT)]
    halves = np.stack([quant[0, :, 3], quant[0, :, 4]], axis=1).view(np.int64)
    addends = halves.transpose(0, 2, 1).reshape(-1)
    third = lanes_of[3] if finish is Finish.GENERAL else addends
    constants = [part[:channels] for part in (lanes_of[1], lanes_of[2], third)]
    for part in (*lanes_of, addends):
        assert not part[channels:].any()
    for x in rng.integers(-128, 128, (200, layer.w.shape[1])):
        acc = layer.bias + layer.w.astype(np.int64) @ (x - layer.x_zp)
        seen = lanes_of[0][:channels] + layer.w.astype(np.int64) @ (x + SIGN)
        assert not ((acc - seen) % 2**32).any()
        check(finish, layer.requant, constants, acc)
    # Sums at which the reference's second rounding has to break a tie, and their neighbours.
    far = 255 * np.abs(layer.w.astype(int)).sum(axis=1) // 4
    mult, right = (part.astype(object) for part in (layer.requant.mult, -layer.requant.shift))
    for k in (*rng.integers(-130, 130, 300), -1, 0):
        tie = (2 * int(k) + 1) * 2 ** np.maximum(right - 1, 0) * 2**31 // np.maximum(mult, 1)
        for near in (-1, 0, 1, 2):
            is_near = np.abs(tie + near - layer.bias) < far
            check(finish, layer.requant, constants, np.where(is_near, tie + near, layer.bias))
    for acc in (-2, -1, 0, 1, 2):
        is_near = np.abs(acc - layer.bias) < far
        check(finish, layer.requant, constants, np.where(is_near, acc, layer.bias))


def check(finish, requant, constants, acc):
    found = finished(finish, requant, constants, acc.astype(object))
    clamped = np.clip(found.astype(np.int64), requant.act_min, requant.act_max)
    np.testing.assert_array_equal(clamped, requant.apply(acc.astype(np.int64)))


def test_tiles_take_all_vectors_and_fit():
    for shapes in (lanes.AVX512, lanes.AVX2):
        for pixels in range(1, 40):
            for channels in (1, 16, 17, 40, 64, 100, 129, 300):
                tiles = [shapes[i] for i in lanes.tiles_of(shapes, pixels, channels)]
                assert sum(tile.vectors for tile in tiles) == channel_vectors(channels)
                assert all(tile.pixels <= pixels and tile.step == 4 for tile in tiles)


def test_tiles_are_chosen_by_cost():
    chosen = {
        pixels: lanes.AVX512[lanes.tiles_of(lanes.AVX512, pixels, 128)[0]][:2]
        for pixels in (1, 9, 15, 36, 64)
    }
    assert chosen == {1: (1, 8), 9: (3, 8), 15: (3, 8), 36: (6, 4), 64: (8, 2)}


@pytest.mark.parametrize(
    ("rows", "length", "single"), [(1, 8, True), (2, 8, False), *((1, n, False) for n in (5, 6, 7))]
)
def test_a_row_is_read_where_it_lies_if_no_step_goes_beyond_its_end(rows, length, single):
    assert is_single_row(s8(rows, length), length) is single
