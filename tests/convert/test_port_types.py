"""Ports of another type than the model's: real values stay."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.convert.port_types import PORT_TYPES, port_type_of, with_port_types
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter import Model
from tinyrt.ir import DType
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.config import Scheme

PAIRS = [*product(PORT_TYPES, PORT_TYPES)]
RNG = np.random.default_rng(0)
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38]


def float_net():
    """Shares of a dense layer's outputs."""
    b = Builder((1, 20))
    w = b.constant(np.random.default_rng(1).normal(size=(5, 20)).astype(np.float32))
    y = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
    return b.graph(b.op("softmax", (y,), SoftmaxAttrs()))


@cache
def int8_net(config=None):
    samples = np.random.default_rng(2).uniform(-6, 8, (50, 20)).astype(np.float32)
    return quantize_graph(float_net(), samples, config=config or QuantConfig())


def wide_relu(samples=200):
    """ReLU6 of 1,024 numbers: nearly every value of the input is another one of the output."""
    b = Builder((1, 1024), name="wide")
    graph = b.graph(b.op("relu6", ("x",)))
    return quantize_graph(graph, RNG.uniform(-1, 7, (samples, 1024)).astype(np.float32))


def real(value, array):
    """Real values as float64, by the definition."""
    if value.q is None:
        return array.astype(np.float64)
    return (array.astype(np.float64) - value.q.zero_point) * value.q.scale


def stored(value, x):
    """Real values as a type stores them: to the nearest step, halves away from zero."""
    if value.q is None:
        return x.astype(np.float32)
    with np.errstate(over="ignore"):
        steps = (x.astype(np.float32) / np.float32(value.q.scale)).astype(np.float64)
    info = np.iinfo(value.dtype.numpy)
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps) + value.q.zero_point
    return np.where(np.isnan(steps), value.q.zero_point, rounded.clip(info.min, info.max)).astype(
        value.dtype.numpy
    )


@pytest.mark.parametrize(("inputs", "outputs"), PAIRS)
def test_real_values_stay(inputs, outputs):
    own, graph = int8_net(), with_port_types(int8_net(), inputs, outputs)
    assert [graph.value(n).dtype for n in (*graph.fed, *graph.answers)] == [inputs, outputs]
    assert (graph.inputs, graph.outputs) == (own.inputs, own.outputs)
    x = RNG.integers(-128, 128, (300, 20)).astype(np.int8)
    (a, b), (c, d) = ([g.value(n) for n in (*g.fed, *g.answers)] for g in (own, graph))
    (before,) = Model(own).run_raw({a.name: x}).values()
    given = stored(c, real(a, x))
    (after,) = Model(graph).run_raw({c.name: given}).values()
    # Every int8 has its own uint8, int16 and float32.
    np.testing.assert_array_equal(stored(b, real(d, after)), before)
    np.testing.assert_allclose(real(d, after), real(b, before), rtol=1e-6)


def test_every_value_of_a_byte_and_floats_of_all_kinds():
    graph = wide_relu()
    port = graph.value(graph.fed[0])
    bytes_ = np.resize(np.arange(256), (1, 1024))
    signed = (bytes_ - 128).astype(np.int8)
    (want,) = evaluate(graph, {"x": signed}).values()
    for dtype, x in ((DType.UINT8, bytes_.astype(np.uint8)), (DType.INT16, None)):
        other = with_port_types(graph, dtype, None)
        x = (signed.astype(np.int16) - port.q.zero_point) * 128 if x is None else x
        (found,) = evaluate(other, {"x": x}).values()
        np.testing.assert_array_equal(found, want)
    halves = (np.arange(-300, 300) + 0.5) * np.float32(port.q.scale)
    floats = np.concatenate([ODD, halves, RNG.normal(0, 4, 1024 - 609)]).astype(np.float32)[None]
    (found,) = evaluate(with_port_types(graph, DType.FLOAT32, None), {"x": floats}).values()
    (want,) = evaluate(graph, {"x": stored(port, floats)}).values()
    np.testing.assert_array_equal(found, want)


def test_uint8_models_take_other_ports():
    unsigned = with_port_types(int8_net(), DType.UINT8, DType.UINT8)
    graph = with_port_types(unsigned, DType.FLOAT32, DType.INT8)
    x = RNG.uniform(-6, 8, (50, 20)).astype(np.float32)
    (found,) = Model(graph).run_raw({"x": x}).values()
    own = int8_net()
    (want,) = Model(own).run_raw(Model(own).stored_inputs(x)).values()
    np.testing.assert_array_equal(found, want)


def test_what_ports_cannot_hold():
    wide = int8_net(config=QuantConfig(scheme=Scheme.INT16X8))
    assert with_port_types(wide, DType.FLOAT32, DType.FLOAT32).value("x").dtype is DType.FLOAT32
    with pytest.raises(UnsupportedError, match="a port of int8 does not hold") as error:
        with_port_types(wide, DType.INT8, None)
    assert error.value.expected == "int16, float32"
    with pytest.raises(UnsupportedError, match="a port of uint8 does not hold") as error:
        with_port_types(float_net(), None, DType.UINT8)
    assert error.value.expected == "a port of the model's own type: it has no scale"


def test_all_inputs_and_all_outputs_have_the_type():
    b = Builder((1, 4), (1, 4))
    total = b.op("add", ("x", "x1"), AddAttrs())
    graph = b.graph(total, b.op("relu", (total,)))
    graph = quantize_graph(
        graph, dict.fromkeys(graph.inputs, RNG.normal(size=(50, 4)).astype(np.float32))
    )
    feeds = {v.name: np.array([[-9, 0, 5, 90]], np.int8) for v in graph.input_values}
    want = evaluate(graph, feeds)
    other = with_port_types(graph, DType.UINT8, DType.INT16)
    found = evaluate(
        other, {name: (x + np.int16(128)).astype(np.uint8) for name, x in feeds.items()}
    )
    for value in graph.output_values:
        steps = (want[value.name].astype(np.int16) - value.q.zero_point) * 128
        np.testing.assert_array_equal(found[value.name], steps)


def test_types_that_ports_have_by_name():
    assert [port_type_of(dtype.value) for dtype in PORT_TYPES] == [*PORT_TYPES]
    with pytest.raises(UnsupportedError, match="no inputs and outputs of type 'int4'") as error:
        port_type_of("int4")
    assert error.value.expected == "float32, uint8, int16, int8"
