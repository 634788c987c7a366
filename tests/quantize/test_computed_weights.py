"""Layers whose weights or biases the model computes stay in float, whatever is around them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.graphs import Builder
from tests.sampling import sampled
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType
from tinyrt.metrics import evaluate_graph
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.quantize import Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.config import configure
from tinyrt.quantize.methods.channels import free_spaces
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.quantize.mixed.choose import quantize_within

RNG = np.random.default_rng(0)
X = {name: RNG.normal(size=(128, 4)).astype(np.float32) for name in ("x", "x1")}


def net(place: int):
    """Two layers of the first input; what is in between is weights, or a bias, of a third layer."""
    rng, b = np.random.default_rng(1), Builder((4, 4), (4, 4))

    def constant(*shape):
        factors = np.float32([0.1, 1, 30, 5]).reshape(-1, *(1,) * (len(shape) - 1))
        return b.constant(rng.normal(size=shape).astype(np.float32) * factors)

    def dense(*inputs):
        return b.op("fully_connected", inputs, FullyConnectedAttrs())

    inner = dense("x", constant(4, 4))
    total = b.op("sum", (inner,), ReduceAttrs((0,), keep_dims=False))
    computed = dense("x1", inner) if place == 1 else dense("x1", constant(4, 4), total)
    last = dense(b.op("relu", (computed,)), constant(4, 4))
    return b.graph(dense(inner, constant(4, 4)), last), computed


PLACES = [*product((1, 2), Preset, (Scheme.INT8, Scheme.WEIGHTS_INT8, Scheme.WEIGHTS_FLOAT16))]
"""With presets and schemes, of which every fourth one is a sample: each value is there."""


@pytest.mark.parametrize(("place", "preset", "scheme"), PLACES[:: sampled(4, 1)])
def test_the_layer_stays_in_float_and_the_others_are_quantised(place, preset, scheme):
    graph, name = net(place)
    kept = (name,) if scheme is Scheme.INT8 else ()
    quantized = quantize_graph(graph, X, configure(preset, scheme=scheme, keep_float=kept))
    layers = [n for n in quantized.bound() if n.op == "fully_connected"]
    assert all(v.dtype is DType.FLOAT32 for n in layers if n.output.name == name for v in n.inputs)
    stored = DType.FLOAT16 if scheme is Scheme.WEIGHTS_FLOAT16 else DType.INT8
    constants = [v for v in quantized.values.values() if v.is_constant and v.size == 16]
    assert {v.dtype for v in constants if "const" in v.name} >= {stored}
    assert evaluate_graph(quantized, X, against=graph).sqnr_db > 20


@pytest.mark.parametrize("place", [1, 2])
def test_a_layer_that_is_not_kept_in_float_is_refused(place):
    graph, _ = net(place)
    with pytest.raises(UnsupportedError, match="the weights are computed at run time"):
        quantize_graph(graph, X, QuantConfig())


@pytest.mark.parametrize("place", [1, 2])
def test_what_the_layer_reads_and_gives_keeps_its_channels(place):
    graph, name = net(place)
    tied = {v.name for n in graph.bound() if n.output.name == name for v in (*n.inputs, n.output)}
    assert all(tied.isdisjoint(space.tensors) for space in free_spaces(graph))


def test_the_others_may_be_mixed_under_a_budget():
    graph, name = net(1)
    plain = quantize_graph(graph, X, replace(QuantConfig(), keep_float=(name,)))
    least = evaluate_graph(plain, X, against=graph).sqnr_db + 1
    config = QuantConfig(keep_float=(name,), float_io=True)
    _, report = quantize_within(graph, X, config, Budget(min_sqnr_db=least))
    assert {layer.name: layer.scheme for layer in report.layers}[name] is Scheme.FLOAT
    assert report.evaluation.sqnr_db >= least
