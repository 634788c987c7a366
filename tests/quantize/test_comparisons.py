"""Comparisons, choices and masks in quantised models."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.peers import run_litert, run_tflm
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.interpreter import Model
from tinyrt.ir import DType, Graph, QParams
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.comparison import ACCEPTED
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.compared import COARSEST, FINEST, factor_for, number_for

SPANS = (1e-3, 0.1, 1.0, 7.0, 255.0, 1e6)
"""Of inputs: TFLite's kernels alone tell values apart in the middle ones only."""


def real_and_found(graph: Graph, data: dict[str, np.ndarray], scheme: Scheme):
    """What the quantised inputs stand for, and the answer; the peer's is the same."""
    quantized = quantize_graph(graph, data, QuantConfig(scheme=scheme))
    model = Model(parse_tflite(write_tflite(quantized)))
    stored = model.stored_inputs({name: x[:1] for name, x in data.items()})
    found = model.run_raw(stored)[quantized.outputs[0]]
    peer = run_tflm if scheme is Scheme.INT8 else run_litert
    expected = peer(quantized, [stored[name] for name in quantized.inputs])
    np.testing.assert_array_equal(found, expected, strict=True)
    values = [quantized.value(name) for name in quantized.inputs]
    return [(stored[v.name].astype(float) - v.q.zero_point) * v.q.scale for v in values], found


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [Scheme.INT8, Scheme.INT16X8])
@pytest.mark.parametrize("op", ACCEPTED)
def test_a_number_divides_quantised_values_as_it_divides_reals(op, scheme):
    rng = np.random.default_rng(0)
    numbers = (0.0, 2.0, -2.0, np.inf, -np.inf)
    numbers += () if "equal" in (op, op.removeprefix("not_")) else (0.3, -0.97)
    first = [*ACCEPTED].index(op) + 2 * (scheme is Scheme.INT16X8)
    for i, span in [*enumerate(SPANS)][sampled(first % 3, 0) :: sampled(3, 1)]:
        x = (rng.uniform(-1, 1, (16, 40)) * span).astype(np.float32)
        for number in np.float32(numbers) * np.float32(span):
            b = Builder((1, 40))
            pair = ("x", b.constant(np.array([number], np.float32)))
            turn = (-1) ** (i // 2)
            graph = b.graph(b.op(op, pair[::turn], NoAttrs()))
            (real,), found = real_and_found(graph, {"x": x}, scheme)
            np.testing.assert_array_equal(found, getattr(np, op)(*(real, number)[::turn]))


@pytest.mark.parametrize("scheme", [Scheme.INT8, Scheme.INT16X8])
@pytest.mark.parametrize("op", ["less", "greater_equal"])
def test_two_tensors_are_compared_wherever_their_steps_tell_them_apart(op, scheme):
    rng = np.random.default_rng(1)
    for span in SPANS:
        b = Builder((1, 200), (1, 200))
        graph = b.graph(b.op(op, ("x", "x1"), NoAttrs()))
        data = {
            "x": (rng.uniform(-1, 1, (16, 200)) * span).astype(np.float32),
            "x1": (rng.uniform(-0.6, 0.6, (16, 200)) * span).astype(np.float32),
        }
        (first, other), found = real_and_found(graph, data, scheme)
        apart = np.abs(first - other) > span / 100
        assert apart.mean() > 0.9
        np.testing.assert_array_equal(found[apart], getattr(np, op)(first, other)[apart])


def test_inputs_of_usual_ranges_need_nothing_in_front():
    b = Builder((1, 8, 8, 3))
    above = b.op("greater", ("x", b.constant(np.zeros(1, np.float32))), NoAttrs())
    graph = b.graph(b.op("select_v2", (above, "x", b.constant(np.ones(1, np.float32))), NoAttrs()))
    x = np.random.default_rng(2).normal(size=(16, 8, 8, 3)).astype(np.float32)
    quantized = quantize_graph(graph, x, QuantConfig(tables=False))
    assert [n.op for n in quantized.nodes] == ["greater", "select_v2"]
    assert quantized.value(quantized.outputs[0]).q == quantized.value("x").q
    assert quantized.value(quantized.nodes[0].outputs[0]).dtype is DType.BOOL


def attention(kind: str, hidden: float) -> Graph:
    """One head over eight steps; the input x1 says which of them are there."""
    rng = np.random.default_rng(3)
    b = Builder((1, 8, 16), (1, 1, 8))

    def dense(y: str) -> str:
        w = rng.normal(size=(16, 16)).astype(np.float32) / 4
        return b.op("fully_connected", (y, b.constant(w)), FullyConnectedAttrs(keep_num_dims=True))

    def number(value: float) -> str:
        return b.constant(np.array([value], np.float32))

    scores = b.op("batch_matmul", (dense("x"), dense("x")), BatchMatmulAttrs(adj_y=True))
    gone = b.op("equal", ("x1", number(0)), NoAttrs())
    if kind == "chosen":
        scores = b.op("select_v2", (gone, number(hidden), scores), NoAttrs())
    else:
        mask = b.op("select_v2", (gone, number(hidden), number(0)), NoAttrs())
        moved = b.op("reshape", (mask,), ReshapeAttrs((8,)))
        scores = b.op("add", (scores, moved), AddAttrs())
    shares = b.op("softmax", (scores,), SoftmaxAttrs())
    return b.graph(dense(b.op("batch_matmul", (shares, dense("x")), BatchMatmulAttrs())), shares)


HIDDEN = [*product(["chosen", "added"], [-np.inf, -1e9, -65504.0, -1e4])]


@pytest.mark.parametrize(
    ("hidden", "kind"),
    [(h, k) for k, h in HIDDEN if sampled((k, h) in (("added", -1e9), ("chosen", -np.inf)), True)],
)
def test_hidden_steps_get_no_share_and_leave_the_scale_to_the_others(kind, hidden):
    rng = np.random.default_rng(4)
    there = (rng.random((64, 1, 8)) < 0.7).astype(np.float32)
    there[:, :, 0] = 1
    data = {"x": rng.normal(size=(64, 8, 16)).astype(np.float32), "x1": there}
    graph = attention(kind, hidden)
    quantized = quantize_graph(graph, {n: x[:32] for n, x in data.items()})
    rest = {n: x[32:] for n, x in data.items()}
    expected, found = Model(graph)(rest), Model(quantized)(rest)
    y, shares = graph.outputs
    error = found[y] - expected[y]
    assert 10 * np.log10(np.sum(expected[y] ** 2) / np.sum(error**2)) > 25
    hidden_shares = found[shares][np.broadcast_to(there[32:] == 0, found[shares].shape)]
    assert hidden_shares.max() == 0


def test_rows_that_are_hidden_as_a_whole_do_not_widen_the_scale():
    rng = np.random.default_rng(5)
    there = np.ones((32, 1, 8), np.float32)
    there[3] = 0
    data = {"x": rng.normal(size=(32, 8, 16)).astype(np.float32), "x1": there}
    quantized = quantize_graph(attention("chosen", -1e9), data)
    (choice,) = (n for n in quantized.nodes if n.op == "select_v2")
    assert quantized.value(choice.outputs[0]).q.scale < 1


def test_what_the_greatest_hides_is_no_part_of_the_range():
    b = Builder((1, 6, 4), (1, 6, 1))
    there = b.op("greater", ("x1", b.constant(np.full(1, 0.5, np.float32))), NoAttrs())
    low = b.constant(np.full(1, -np.inf, np.float32))
    chosen = b.op("select_v2", (there, "x", low), NoAttrs())
    graph = b.graph(b.op("reduce_max", (chosen,), ReduceAttrs((1,))))
    rng = np.random.default_rng(6)
    mask = (rng.random((32, 6, 1)) < 0.6).astype(np.float32)
    mask[:, 0] = 1
    data = {"x": rng.normal(size=(32, 6, 4)).astype(np.float32), "x1": mask}
    quantized = quantize_graph(graph, data)
    error = Model(quantized)(data) - Model(graph)(data)
    assert np.abs(error).max() < 0.05


def test_integers_need_no_guard_against_what_is_no_number():
    b = Builder((1, 6, 6), (1, 6, 6))
    shares = b.op("softmax", (b.op("add", ("x", "x1"), AddAttrs()),), SoftmaxAttrs())
    guard = b.op("not_equal", (shares, shares), NoAttrs())
    zero = b.constant(np.zeros(1, np.float32))
    kept = b.op("select_v2", (guard, zero, shares), NoAttrs())
    graph = b.graph(b.op("batch_matmul", (kept, "x"), BatchMatmulAttrs()))
    x = np.random.default_rng(7).normal(size=(16, 6, 6)).astype(np.float32)
    quantized = quantize_graph(graph, {"x": x, "x1": x[::-1]})
    assert [n.op for n in quantized.nodes] == ["add", "softmax", "batch_matmul"]


def test_a_number_that_two_choices_share_does_not_tie_them():
    b = Builder((1, 40), (1, 40))
    zero, one = (b.constant(np.full(1, value, np.float32)) for value in (0, 1))
    truth = b.op("less", ("x", "x1"), NoAttrs())
    near, far = (b.op("select_v2", (truth, zero, y), NoAttrs()) for y in ("x", "x1"))
    graph = b.graph(b.op("mul", (near, one), MulAttrs()), far)
    x = np.random.default_rng(8).normal(size=(16, 40)).astype(np.float32)
    quantized = quantize_graph(graph, {"x": x, "x1": 1000 * x[::-1]})
    scales = [quantized.value(name).q.scale for name in quantized.outputs]
    assert scales[1] > 300 * scales[0]


@pytest.mark.parametrize(
    ("scale", "factor"),
    [(FINEST, 1), (FINEST * 0.99, 128), (COARSEST * 0.999, 1), (COARSEST, 0.5), (3.0, 0.25)],
)
def test_scales_that_kernels_tell_apart_stay(scale, factor):
    assert factor_for([FINEST / 4, scale]) == factor


@pytest.mark.parametrize(
    ("number", "stored", "own"),
    [(127.0, 127, False), (-128.0, -128, False), (127.9, 127, False), (128.0, 127, True)],
)
def test_a_number_within_the_range_has_the_scale_of_the_other(number, stored, own):
    b = Builder((1, 4))
    graph = b.graph(b.op("greater", ("x", b.constant(np.float32([number])))))
    (node,) = graph.bound()
    q = QParams((1.0,), 0)
    found, its = number_for(node, 1, q, DType.INT8)
    assert (found.tolist(), its != q) == ([stored], own)
