"""Models over a sliding window, frame by frame: the whole model's answers on every window."""

import json
from dataclasses import replace

import numpy as np
import pytest
import tflite
from typer.testing import CliRunner

from tests.graphs import Builder
from tinyrt import Interpreter, api
from tinyrt.cli.app import app
from tinyrt.convert.over_time.windows import stream
from tinyrt.convert.tflite.metadata import read_entry
from tinyrt.convert.tflite.reader import parse_tflite, read_tflite
from tinyrt.convert.tflite.states import STATES
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.errors import DataError, ModelFormatError, ShapeError, UnsupportedError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs

RNG = np.random.default_rng(5)


def _conv(b, x, channels, taps, axis=1, **attrs):
    kernel = (taps, 1) if axis == 1 else (1, taps)
    w = b.constant(RNG.normal(size=(channels, *kernel, b.values[x].shape[3])).astype(np.float32))
    return b.op("conv2d", (x, w), Conv2dAttrs(padding="VALID", **attrs))


def residual():
    """Two convolutions beside a delayed skip, strided, pooled, then dense over what is left."""
    b = Builder((1, 23, 1, 3))
    x = _conv(b, "x", 4, 3)
    branch = _conv(b, b.op("tanh", (_conv(b, x, 4, 2, dilation=(3, 1)),)), 4, 3)
    skip = b.op("slice", (x,), SliceAttrs((0, 2, 0, 0), (1, 16, 1, 4), (1, 1, 1, 1)))
    x = b.op("add", (branch, skip), AddAttrs(activation="RELU"))
    x = b.op("concatenation", (x, b.op("relu", (x,))), ConcatenationAttrs(axis=3))
    x = b.op("max_pool2d", (x,), Pool2dAttrs((3, 1), (2, 1), "VALID"))
    x = _conv(b, x, 5, 3, stride=(2, 1))
    flat = b.op("reshape", (x,), ReshapeAttrs((1, 15)))
    w = b.constant(RNG.normal(size=(4, 15)).astype(np.float32))
    return b.graph(
        b.op(
            "softmax", (b.op("fully_connected", (flat, w), FullyConnectedAttrs()),), SoftmaxAttrs()
        )
    )


def turned():
    """Time along the width, then as rows of a matrix, then averaged; a second output per row."""
    b = Builder((1, 1, 12, 2))
    x = _conv(b, "x", 3, 4, axis=2)
    rows = b.op("transpose", (x,), TransposeAttrs((0, 2, 1, 3)))
    flat = b.op("reshape", (rows,), ReshapeAttrs((1, 9, 3)))
    w = b.constant(RNG.normal(size=(2, 3)).astype(np.float32))
    dense = b.op("fully_connected", (flat, w), FullyConnectedAttrs(keep_num_dims=True))
    each = b.op("softmax", (dense,), SoftmaxAttrs())
    return b.graph(b.op("mean", (each,), MeanAttrs((1,), keep_dims=False)))


def half_padded():
    """A convolution that pads in time, behind one that does not."""
    b = Builder((1, 10, 1, 2))
    x = _conv(b, "x", 8, 5)
    w = b.constant(RNG.normal(size=(1, 3, 1, 8)).astype(np.float32))
    return b.graph(b.op("conv2d", (x, w), Conv2dAttrs(padding="SAME")))


def _check(graph, axis, hop, frames=40):
    """The first input moves in time; others stay. Outputs over time have their newest rows."""
    streamed = stream(graph, axis, hop, graph.inputs[0])
    source, *others = graph.input_values
    fixed = {v.name: RNG.normal(size=v.shape).astype(np.float32) for v in others}
    axis %= len(source.shape)
    rows = source.shape[axis]
    x = RNG.normal(size=[frames * hop if i == axis else n for i, n in enumerate(source.shape)])
    x = x.astype(np.float32)
    model = Model(streamed.graph, backend="reference")
    for t in range(0, frames * hop, hop):
        found = model.run({source.name: np.take(x, range(t, t + hop), axis), **fixed})
        if t + hop >= rows:
            window = np.take(x, range(t + hop - rows, t + hop), axis)
            for name, expected in evaluate(graph, {source.name: window, **fixed}).items():
                newest = expected[tuple(slice(-n, None) for n in found[name].shape)]
                # Float products round differently for other numbers of rows.
                np.testing.assert_allclose(found[name], newest, rtol=1e-5, atol=1e-6)
    return streamed


@pytest.mark.parametrize(
    ("graph", "axis", "hop"),
    [(turned(), 2, 1), (turned(), 2, 3), (turned(), -2, 6), (half_padded(), 1, 1)],
)
def test_answers_are_those_of_every_whole_window(graph, axis, hop):
    streamed = _check(graph, axis, hop)
    assert streamed.macs < streamed.full_macs


def over_time(last, hop=1, *shapes):
    """A convolution over time, (1, 12, 2, 2) -> (1, 9, 2, 3), then an op; and the hop."""

    def build():
        b = Builder((1, 12, 2, 2), *shapes)
        return b.graph(last(b, _conv(b, "x", 3, 4)))

    return build, hop


def constant(*shape):
    return lambda b, x: b.op(
        "add", (x, b.constant(RNG.normal(size=shape).astype(np.float32))), AddAttrs()
    )


def padded(*widths):
    return lambda b, x: b.op("pad", (x,), PadAttrs(widths))


def mean(axes, keep_dims):
    return lambda b, x: b.op("mean", (x,), MeanAttrs(axes, keep_dims))


def cut(first, count, stride=1, dropped=(), width=2):
    attrs = SliceAttrs((0, first, 0, 0), (1, count, width, 3), (1, stride, 1, 1), dropped)
    return lambda b, x: b.op("slice", (x,), attrs)


def as_channels(b, x):
    """Time becomes the last dimension, which a convolution adds up."""
    x = b.op("transpose", (x,), TransposeAttrs((0, 2, 3, 1)))
    return _conv(b, x, 2, 1)


def rows_and_columns(b, x):
    """Sums of all pairs of rows."""
    rows = mean((2, 3), True)(b, x)
    return b.op("add", (rows, b.op("transpose", (rows,), TransposeAttrs((0, 2, 1, 3)))), AddAttrs())


def beside_means(b, x):
    """As many features as rows, less the mean of each row: the means lie along the features."""
    w = b.constant(RNG.normal(size=(9, 3)).astype(np.float32))
    rows = mean((2,), False)(b, x)
    rows = b.op("fully_connected", (rows, w), FullyConnectedAttrs(keep_num_dims=True))
    return b.op("sub", (rows, mean((2,), False)(b, rows)), AddAttrs())


def in_more_dimensions(b, x):
    """Rows, and a constant that has another dimension in front."""
    rows = b.op("reshape", (x,), ReshapeAttrs((9, 6)))
    return constant(1, 1, 6)(b, rows)


def without_rows(b, x):
    """Rows of all samples, one below the other."""
    flat = b.op("reshape", (x,), ReshapeAttrs((1, 9, 6)))
    w = b.constant(RNG.normal(size=(4, 6)).astype(np.float32))
    return b.op("fully_connected", (flat, w), FullyConnectedAttrs())


def joined(axis):
    return lambda b, x: b.op("concatenation", (x, x), ConcatenationAttrs(axis=axis))


def beside_a_constant(b, x):
    marks = b.constant(RNG.normal(size=(1, 9, 2, 1)).astype(np.float32))
    return b.op("concatenation", (x, marks), ConcatenationAttrs(axis=3))


def greatest(axis):
    return lambda b, x: b.op("arg_max", (x,), ArgAttrs(axis, DType.INT32))


def shares_of_rows(b, x):
    turned = b.op("transpose", (x,), TransposeAttrs((0, 2, 3, 1)))
    return b.op("softmax", (turned,), SoftmaxAttrs())


NEWEST = {
    "a constant per channel": over_time(constant(3)),
    "a constant for all rows": over_time(constant(1, 2, 3)),
    "a border beside time": over_time(padded((0, 0), (0, 0), (1, 2), (0, 1))),
    "an average beside time": over_time(mean((2,), False)),
    "an average before time": over_time(mean((0, 3), False), 3),
    "an average that keeps its dimension": over_time(mean((-1,), True), 2),
    "fewer of the other dimensions": over_time(cut(2, 5, width=1)),
    "joined beside time": over_time(joined(-1), 3),
    "joined in front of time": over_time(joined(0)),
    "the greatest of channels": over_time(greatest(3)),
    "the greatest of columns, from the end": over_time(greatest(-2), 3),
    "the greatest in front of time": over_time(greatest(0)),
    "rows in front": over_time(lambda b, x: b.op("reshape", (x,), ReshapeAttrs((9, 2, 3)))),
}
"""Ops that work on the newest rows."""

WHOLE = {
    "a constant per row": over_time(constant(9, 1, 1)),
    "a border in time": over_time(padded((0, 0), (2, 0), (0, 0), (0, 0))),
    "a border in time, behind": over_time(padded((0, 0), (0, 2), (0, 0), (0, 0))),
    "an average over time": over_time(mean((1,), True)),
    "every second row": over_time(cut(0, 5, 2)),
    "without a dimension": over_time(cut(1, 6, 1, (2,), 1)),
    "fewer rows than a hop has": over_time(cut(3, 2), 3),
    "time as channels": over_time(as_channels),
    "a window as long as two hops": over_time(lambda b, x: _conv(b, x, 2, 8), 3),
    "an input that stays": over_time(
        lambda b, x: b.op("add", (x, "x1"), AddAttrs()), 1, (1, 9, 2, 3)
    ),
    "a window with padding behind": over_time(
        lambda b, x: b.op("max_pool2d", (x,), Pool2dAttrs((2, 1), (1, 1), "SAME"))
    ),
    "rows that others lie before": over_time(
        lambda b, x: b.op("reshape", (x,), ReshapeAttrs((1, 2, 9, 3)))
    ),
    "rows as samples": over_time(without_rows),
    "rows and columns": over_time(rows_and_columns),
    "features as many as rows": over_time(beside_means),
    "rows in more dimensions": over_time(in_more_dimensions),
    "shares of rows": over_time(shares_of_rows),
    "joined in time": over_time(joined(-3)),
    "joined with a constant": over_time(beside_a_constant),
    "the greatest of rows": over_time(greatest(1)),
    "an op over all rows": over_time(
        lambda b, x: b.op("cumsum", (x,), CumsumAttrs(1)),
    ),
}
"""Ops that need the whole window."""


@pytest.mark.parametrize("name", NEWEST | WHOLE)
def test_each_op_gives_the_rows_that_it_gives_of_the_whole_window(name):
    build, hop = (NEWEST | WHOLE)[name]
    graph = build()
    streamed = _check(graph, 1, hop, frames=12)
    assert streamed.macs < streamed.full_macs
    (answer,) = graph.outputs
    before, after = graph.value(answer).shape, streamed.graph.value(answer).shape
    assert (before == after) is (name in WHOLE)


def test_states_take_names_that_are_free():
    b = Builder((1, 12, 1, 2))
    graph = b.graph(_conv(b, "x", 3, 4))
    renamed = replace(graph.value(graph.outputs[0]), name="x/state")
    (node,) = graph.nodes
    values = {n: v for n, v in graph.values.items() if n not in graph.outputs}
    graph = replace(
        graph,
        outputs=("x/state",),
        values=values | {"x/state": renamed},
        nodes=(replace(node, outputs=("x/state",)),),
    )
    assert _check(graph, 1, 1).graph.states == (("x/state_1", "x/next_state"),)


def test_a_hop_must_fit_every_stride():
    graph = residual()
    with pytest.raises(UnsupportedError, match=r"hop of 1 rows here does not fit a stride of 2"):
        stream(graph, 1)
    for hop in (4, 23, 46, 0, -1):
        with pytest.raises(ShapeError, match=f"a hop of {hop}"):
            stream(graph, 1, hop)


@pytest.mark.slow
@pytest.mark.whole
def test_strides_dilations_and_delays():
    b = residual()
    longer = Builder((1, 24, 1, 3))
    longer.values |= {n: v for n, v in b.values.items() if v.is_constant}
    x = longer.op("slice", ("x",), SliceAttrs((0, 0, 0, 0), (1, 23, 1, 3), (1, 1, 1, 1)))
    names = {"x": x}
    for node in b.nodes:
        inputs = [names.get(n, n) for n in node.inputs]
        names[node.outputs[0]] = longer.op(node.op, inputs, node.attrs)
    graph = longer.graph(names[b.outputs[0]])
    streamed = _check(graph, 1, 4)
    assert streamed.macs < streamed.full_macs / 2


def test_ops_that_need_the_whole_window_are_named():
    assert stream(half_padded(), 1).whole == ("conv2d 'conv2d_1'",)
    b = Builder((1, 8, 1, 2))
    w = b.constant(np.ones((2, 3, 1, 2), np.float32))
    graph = b.graph(b.op("conv2d", ("x", w), Conv2dAttrs(padding="SAME")))
    with pytest.raises(UnsupportedError, match="conv2d 'conv2d_0' needs the whole window"):
        stream(graph, 1)


def test_ops_that_cost_no_products_are_streamed_as_well():
    b = Builder((1, 8, 2))
    streamed = _check(b.graph(b.op("reshape", ("x",), ReshapeAttrs((1, 8, 1, 2)))), 1, 2)
    assert (streamed.macs, streamed.full_macs, streamed.whole) == (0, 0, ())


def test_wrong_questions_are_refused():
    graph = turned()
    with pytest.raises(ShapeError, match="no dimension 4"):
        stream(graph, 4)
    with pytest.raises(ShapeError, match="no input 'y'"):
        stream(graph, 2, 1, "y")
    with pytest.raises(UnsupportedError, match="keeps state already"):
        stream(stream(graph, 2).graph, 2)
    with pytest.raises(ShapeError, match="no dimension -5"):
        stream(graph, -5)
    with pytest.raises(ShapeError, match="a hop of 1 rows"):
        stream(graph, -4)


def test_states_go_through_the_file_and_the_interpreter_keeps_them(tmp_path):
    graph = stream(turned(), 2).graph
    save_tflite(graph, tmp_path / "s.tflite")
    assert read_tflite(tmp_path / "s.tflite").states == graph.states
    interpreter = Interpreter(str(tmp_path / "s.tflite"))
    interpreter.allocate_tensors()
    (x,), (y,) = interpreter.get_input_details(), interpreter.get_output_details()
    frames = RNG.normal(size=(20, 1, 1, 1, 2)).astype(np.float32)

    def answers():
        for frame in frames:
            interpreter.set_tensor(x["index"], frame)
            interpreter.invoke()
            yield interpreter.get_tensor(y["index"])

    first, second = list(answers()), list(answers())
    assert not np.array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[-1], second[-1])
    interpreter.reset_all_variables()
    np.testing.assert_array_equal(first, list(answers()))


@pytest.mark.parametrize("given", [{}, {"labels": b"a\nb", "more": b""}])
def test_what_a_file_is_given_to_carry_stands_beside_its_states(given):
    graph = stream(turned(), 2).graph
    model = tflite.Model.GetRootAs(bytes(write_tflite(graph, given)))
    names = [model.Metadata(i).Name().decode() for i in range(model.MetadataLength())]
    states = json.dumps(graph.states).encode()
    assert {name: read_entry(model, name) for name in names} == {STATES: states, **given}
    assert len(names) == 1 + len(given)


def test_states_that_are_no_ports_are_refused():
    data = bytes(write_tflite(stream(turned(), 2).graph))
    name = stream(turned(), 2).graph.states[0][0].encode()
    with pytest.raises(ModelFormatError, match=r"metadata 'tinyrt\.states'"):
        parse_tflite(data.replace(b'["' + name, b'["?' + name[1:]))


@pytest.fixture(scope="module")
def wakeword(zoo, tmp_path_factory):
    """The wake-word model, streamed; its window; and real frames as one stream."""
    path = tmp_path_factory.mktemp("stream") / "wakeword.tflite"
    model = zoo / "models" / "streaming_wakeword_int8.tflite"
    arguments = ["convert", str(model), "-o", str(path), "--stream", "1", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["state_bytes"] == 2 * 40 + (4 + 9 + 14) * 128
    specs = np.load(zoo / "data" / "streaming_wakeword.npz")["specs"].astype(np.float32)
    return model, path, specs


@pytest.mark.parametrize("backend", ["numba", "native"])
def test_the_wake_word_s_answers_are_the_same_on_every_window(wakeword, backend):
    model, path, specs = wakeword
    whole, streamed = api.open_model(model), Model(api.open_model(path), backend=backend)
    frames = Model(whole).stored_inputs(specs)
    (rows,) = (a.reshape(-1, 40) for a in frames.values())
    windows = np.lib.stride_tricks.sliding_window_view(rows, 30, axis=0).transpose(0, 2, 1)
    expected = Model(whole)(np.ascontiguousarray(windows).reshape(-1, 30, 1, 40))
    found = streamed(rows.reshape(-1, 1, 1, 40))
    assert len(expected) == 45 * 30 - 29
    np.testing.assert_array_equal(found[29:], expected)


def test_quantise_first_then_stream(wakeword):
    _, path, specs = wakeword
    with pytest.raises(UnsupportedError, match="quantised already"):
        api.quantize_model(path, specs, path.with_name("q.tflite"))
    with pytest.raises(DataError):
        api.run_model(path, specs)
