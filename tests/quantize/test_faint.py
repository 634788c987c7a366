"""Tensors that are always zero, or floats' rounding alone, do not keep a model from int8."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.interpreter import Model
from tinyrt.metrics import sqnr_db
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.faint import FAINT, lifted
from tinyrt.quantize.ranges import Range

ATTRS = {"add": AddAttrs(), "sub": AddAttrs(), "squared_difference": None}


def branch(op="add", swapped=False, again=False):
    """A layer whose weights are zeros, as a fresh network's last of a branch, beside the input."""
    b = Builder((1, 8))
    zeros = b.op("fully_connected", ("x", b.constant(np.zeros((8, 8), np.float32))),
                 FullyConnectedAttrs())  # fmt: skip
    operands = (zeros, "x") if swapped else ("x", zeros)
    return b.graph(b.op(op, (zeros, zeros) if again else operands, ATTRS[op]))


def faint_samples(peak, count=32):
    return np.random.default_rng(0).uniform(-peak, peak, (count, 8)).astype(np.float32)


@pytest.mark.filterwarnings("ignore:.*was 0 in every sample")
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("op", "scheme"),
    [*((op, Scheme.INT8) for op in ATTRS), ("add", Scheme.INT16X8), ("sub", Scheme.INT16X8)],
)
def test_zeros_take_the_scale_of_what_they_are_added_to(swapped, op, scheme):
    graph, x = branch(op, swapped), faint_samples(1e-7)
    quantized = quantize_graph(graph, x, QuantConfig(scheme=scheme))
    assert sqnr_db(Model(graph)(x), Model(quantized)(x)).mean() > 30


@pytest.mark.filterwarnings("ignore:.*was 0 in every sample")
def test_zeros_added_to_zeros_are_zeros():
    graph, x = branch(again=True), faint_samples(1e-7)
    assert not Model(quantize_graph(graph, x))(x).any()


def test_what_is_centred_twice_is_quantised_and_as_good():
    """The second mean is floats' rounding: 1e-8, of what is up to 4."""
    b = Builder((1, 4, 8))

    def centred(x):
        return b.op("sub", (x, b.op("mean", (x,), MeanAttrs(axes=(2,), keep_dims=True))),
                    AddAttrs())  # fmt: skip

    once = b.op("mul", (centred("x"), b.constant(np.float32(2))), MulAttrs())
    graph = b.graph(centred(once))
    x = np.random.default_rng(0).normal(size=(32, 4, 8)).astype(np.float32)
    quantized = quantize_graph(graph, x)
    assert sqnr_db(Model(graph)(x), Model(quantized)(x)).mean() > 30


@pytest.mark.parametrize("peak", [2.0**-16, 1.0])
def test_other_ranges_stay(peak):
    graph = branch()
    observed = Range(-peak / 2, peak)
    assert lifted(graph, graph.outputs[0], observed, {"x": Range(-1, 1)}.get) is observed
    assert lifted(graph, "x", observed, {}.get) is observed


def test_a_masks_constant_says_nothing_of_its_sums():
    b = Builder((1, 8))
    graph = b.graph(b.op("add", ("x", b.constant(np.float32([-1e9] * 8))), AddAttrs()))
    ranges = {"x": Range(-1, 1)}
    assert lifted(graph, graph.outputs[0], Range(-1, 1), ranges.get) == Range(-1, 1)
    least = Range(-(2.0**-16), 2.0**-16)
    assert lifted(graph, graph.outputs[0], Range(0, 1e-9), ranges.get) == least


@pytest.mark.parametrize("operands", [("x", "x1"), ("x1", "x")])
def test_what_cancels_has_steps_for_the_larger_operand(operands):
    b = Builder((1, 4), (1, 4))
    y = b.op("sub", operands, AddAttrs())
    ranges = {"x": Range(-3.0, 1.0), "x1": Range(0.0, 0.5)}
    found = lifted(b.graph(y), y, Range(-1e-9, 1e-9), ranges.get)
    assert found == Range(-3.0 * FAINT, 3.0 * FAINT)


@pytest.mark.parametrize(
    ("op", "is_lifted"),
    [("add", True), ("sub", True), ("mean", True), ("sum", True), ("mul", False)],
)
def test_what_cancels_has_steps_for_its_operands(op, is_lifted):
    """Each op whose result may be far below what it is made of."""
    b = Builder((1, 4, 8))
    pairs = {"add": AddAttrs(), "sub": AddAttrs(), "mul": MulAttrs()}
    rows = {"mean": MeanAttrs(axes=(2,)), "sum": ReduceAttrs(axes=(2,))}
    y = b.op(op, ("x", "x") if op in pairs else ("x",), (pairs | rows)[op])
    observed = Range(-1e-9, 1e-9)
    found = lifted(b.graph(y), y, observed, lambda name: Range(-3.0, 1.0))
    assert found == (Range(-3.0 * FAINT, 3.0 * FAINT) if is_lifted else observed)
