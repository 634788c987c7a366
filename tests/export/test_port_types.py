"""Ports of another type than the model's: real values stay, on the host and in C."""

import re
from itertools import product

import numpy as np
import pytest

from tests.graphs import Builder
from tests.listening import BANDS, ROWS, float_net, int8_net, saved
from tests.sampling import sampled
from tinyrt.convert.port_types import PORT_TYPES, with_port_types
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, export_c, export_graph
from tinyrt.interpreter import Model
from tinyrt.ir import DType
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.config import Scheme

PAIRS = [*product(PORT_TYPES, PORT_TYPES)]
SOME = [(DType.FLOAT32, DType.UINT8), (DType.INT16, DType.FLOAT32)]
CORES = ["host", "cortex-m4", "cortex-m55", "cortex-m0"]
RNG = np.random.default_rng(0)
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38]


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
    x = RNG.integers(-128, 128, (300, ROWS, BANDS)).astype(np.int8)
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


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize(
    "core", sampled(["host"], ["host", "cortex-m4", "cortex-m55", "cortex-m0"])
)
@pytest.mark.parametrize(
    ("inputs", "outputs"),
    sampled([(DType.FLOAT32, DType.UINT8), (DType.INT16, DType.FLOAT32)], PAIRS),
)
def test_c_answers_as_the_host_does(inputs, outputs, core, tmp_path):
    graph = with_port_types(wide_relu(), inputs, outputs)
    save_tflite(graph, tmp_path / "wide.tflite")
    if inputs is DType.FLOAT32:
        x = RNG.normal(2, 4, (4, 1024)).astype(np.float32)
        x[:, : len(ODD)] = ODD
        x[:, 100:700] = (np.arange(-300, 300) + 0.5) * np.float32(wide_relu().value("x").q.scale)
    else:
        info = np.iinfo(inputs.numpy)
        x = RNG.integers(info.min, info.max + 1, (4, 1024)).astype(inputs.numpy)
        x[0] = np.resize(np.arange(256), 1024).astype(inputs.numpy)
    want = np.concatenate([next(iter(evaluate(graph, {"x": row[None]}).values())) for row in x])
    (name,) = graph.answers
    found = run_emulated(
        tmp_path / "wide.tflite",
        inputs={"x": x}, expected={name: want}, build_dir=tmp_path / "b", core=core,
    )  # fmt: skip
    np.testing.assert_array_equal(found.outputs[name], want)


def test_an_export_has_the_ports_that_are_asked_for(tmp_path):
    graph = int8_net()
    path = saved(tmp_path / "ears.tflite", graph, None)
    project = export_c(
        path, tmp_path / "a", options=ExportOptions(input_type="float32", output_type="uint8")
    )
    (x,), (y,) = project.inputs, project.outputs
    assert (x.dtype, x.scale) == (DType.FLOAT32, None)
    q = graph.output_values[0].q
    assert (y.dtype, y.scale, y.zero_point) == (DType.UINT8, q.scale, q.zero_point + 128)
    header = (tmp_path / "a" / "ears.h").read_text()
    assert re.search(r"const float \*input_0;\s+uint8_t \*output_0;", header)
    project = export_c(path, tmp_path / "b", options=ExportOptions(input_type="int16"))
    assert (project.inputs[0].dtype, project.outputs[0].dtype) == (DType.INT16, DType.INT8)
    assert project.inputs[0].scale == graph.input_values[0].q.scale / 128
    same = export_graph(
        read_tflite(path),
        tmp_path / "c",
        options=ExportOptions(input_type="int8", output_type="int8"),
    )
    assert same.kernels == export_graph(read_tflite(path), tmp_path / "d").kernels


def test_uint8_models_take_other_ports():
    unsigned = with_port_types(int8_net(), DType.UINT8, DType.UINT8)
    graph = with_port_types(unsigned, DType.FLOAT32, DType.INT8)
    x = RNG.uniform(-6, 8, (50, ROWS, BANDS)).astype(np.float32)
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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"input_type": "int4"}, "there are no inputs and outputs of type 'int4'"),
        ({"output_type": "bool"}, "there are no inputs and outputs of type 'bool'"),
        ({"input_type": "uint8", "blob": True}, "a blob brings other scales, and types of ports"),
        ({"output_type": "uint8", "blob": True}, "a blob brings other scales, and types of ports"),
    ],
)
def test_what_is_refused(options, text, tmp_path):
    path = saved(tmp_path / "ears.tflite", int8_net(), None)
    with pytest.raises(UnsupportedError, match=text):
        export_c(path, tmp_path / "c", options=ExportOptions(**options))


def test_a_front_end_writes_the_input(tmp_path):
    path = saved(tmp_path / "ears.tflite", int8_net())
    with pytest.raises(UnsupportedError, match="a window of features, which the front end writes"):
        export_c(path, tmp_path / "c", options=ExportOptions(input_type="float32"))
