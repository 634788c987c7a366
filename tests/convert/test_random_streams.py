"""Random temporal networks, streamed: the answers of every whole window, in int8 bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.nets import RandomNet
from tests.sampling import sampled
from tinyrt import Interpreter
from tinyrt.convert.over_time.windows import stream
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pointwise import PointwiseAttrs, Step
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs


class Temporal(RandomNet):
    """A network whose tensors are (1, time, 1, channels); nothing pads in time."""

    def __init__(self, seed):
        super().__init__(seed)
        self.hop = 1
        rows, channels = 4 * int(self.rng.integers(6, 10)), int(self.rng.integers(1, 5))
        self.values["x"] = Value("x", DType.INT8, (1, rows, 1, channels), self.q)
        self.last = "x"

    def window(self):
        """Kernel, stride and dilation along time that leave at least four rows."""
        rows = self.values[self.last].shape[1]
        taps, stride = self.pick(1, 2, 3, 5), self.pick(1, 1, 1, 2) if self.hop < 4 else 1
        dilation = self.pick(1, 1, 2) if stride == 1 else 1
        if (rows - (taps - 1) * dilation - 1) // stride < 4:
            return 1, 1, 1
        self.hop *= stride
        return taps, stride, dilation

    def convolve(self):
        taps, stride, dilation = self.window()
        channels = int(self.rng.integers(1, 7))
        w, b = self.weights((channels, taps, 1, self.values[self.last].shape[3]), 0)
        attrs = Conv2dAttrs((stride, 1), "VALID", (dilation, 1), self.pick("NONE", "RELU"))
        self.last = self.op("conv2d", attrs, self.last, w, b).name

    def depthwise(self):
        taps, stride, dilation = self.window()
        w, b = self.weights((1, taps, 1, self.values[self.last].shape[3]), 3)
        attrs = DepthwiseConv2dAttrs((stride, stride), "VALID", dilation=(dilation, 1))
        self.last = self.op("depthwise_conv2d", attrs, self.last, w, b).name

    def pool(self):
        taps, stride, dilation = self.window()
        taps = taps if dilation == 1 else 1
        attrs = Pool2dAttrs((taps, 1), (stride, 1), "VALID")
        self.last = self.op(self.pick("max_pool2d", "average_pool2d"), attrs, self.last).name

    def delayed(self):
        """A branch, beside rows of what it comes from: added to it, or joined with it."""
        x, hop = self.values[self.last], self.hop
        taps = self.pick(2, 3)
        if x.shape[1] - taps < 4:
            return
        w, b = self.weights((x.shape[3], taps, 1, x.shape[3]), 0)
        y = self.op("conv2d", Conv2dAttrs(padding="VALID"), x.name, w, b)
        first, size = int(self.rng.integers(taps)), (1, y.shape[1], 1, x.shape[3])
        skip = self.op("slice", SliceAttrs((0, first, 0, 0), size, (1, 1, 1, 1)), x.name)
        alike = [("concatenation", ConcatenationAttrs(3))] * (skip.q == y.q)
        join = self.pick(("add", AddAttrs()), *alike)
        self.last, self.hop = self.op(*join, y.name, skip.name).name, hop

    def unary(self):
        there_and_back = PointwiseAttrs(
            (Step("exp", NoAttrs(), (0,)), Step("log", NoAttrs(), (1,)))
        )
        alone = ("relu", "tanh", "logistic")
        name, attrs = self.pick(
            *((name, NoAttrs()) for name in alone), ("pointwise", there_and_back)
        )
        self.last = self.op(name, attrs, self.last).name

    def choice(self):
        truth = self.op("greater", NoAttrs(), self.last, self.last)
        truth = self.op("logical_not", NoAttrs(), truth.name)
        self.last = self.op("select_v2", NoAttrs(), truth.name, self.last, self.last).name

    def end(self):
        """Over all rows: an average, a dense layer, or neither, perhaps a class for each row."""
        x = self.values[self.last]
        kind = self.pick("mean", "dense", "rows")
        if kind == "mean":
            self.last = self.op("mean", MeanAttrs((1, 2), keep_dims=False), x.name).name
        if kind == "rows" and self.pick(True, False):
            self.last = self.op("arg_max", ArgAttrs(-1), x.name).name
        if kind == "dense":
            flat = self.op("reshape", ReshapeAttrs((1, x.size)), x.name)
            w, b = self.weights((3, x.size), 0)
            self.last = self.op("fully_connected", FullyConnectedAttrs(), flat.name, w, b).name


def temporal_net(seed):
    """A network, and how many new rows it takes at least."""
    net = Temporal(seed)
    net.convolve()
    for _ in range(int(net.rng.integers(1, 6))):
        step = net.pick(
            *(net.convolve, net.depthwise, net.pool, net.delayed, net.unary, net.choice)
        )
        step()
    net.end()
    return net.graph(net.last), net.hop


def as_float(graph):
    """The same network in float32, with small weights."""

    def cast(value):
        if value.is_constant:
            data = np.asarray(value.data).astype(np.float32) / 256
            return Value.constant(value.name, data)
        return replace(value, dtype=DType.FLOAT32, q=None) if value.q is not None else value

    return replace(graph, values={name: cast(value) for name, value in graph.values.items()})


def frames_of(graph, hop, rng):
    """The window's rows and ten hops more."""
    _, rows, _, channels = graph.value("x").shape
    shape = (1, rows + 10 * hop, 1, channels)
    if graph.value("x").dtype is DType.INT8:
        return rng.integers(-128, 128, shape).astype(np.int8)
    return rng.normal(size=shape).astype(np.float32)


def check(graph, hop, seed, same):
    """Whether all windows agree; how many multiplications of the whole are left."""
    streamed = stream(graph, 1, hop)
    rows = graph.value("x").shape[1]
    x = frames_of(graph, hop, np.random.default_rng(seed))
    inputs = {"x": x.reshape(-1, hop, 1, x.shape[3])}
    model = Model(streamed.graph, backend="reference")
    found = model.run_raw(inputs)
    for end in range(rows, x.shape[1] + 1, hop):
        expected = evaluate(graph, {"x": x[:, end - rows : end]})
        for name, array in expected.items():
            answer = found[name][end // hop - 1 : end // hop]
            if answer.shape != array.shape:  # new rows alone
                array = array[:, -answer.shape[1] :]
            same(answer, array)
    return streamed.macs / streamed.full_macs


@pytest.mark.slow
@settings(max_examples=sampled(12, 30), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_int8_answers_are_those_of_every_whole_window(seed):
    graph, hop = temporal_net(seed)
    check(graph, hop, seed, np.testing.assert_array_equal)


@settings(max_examples=sampled(6, 15), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_float_answers_are_those_of_every_whole_window(seed):
    graph, hop = temporal_net(seed)

    def near(found, expected):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

    check(as_float(graph), hop, seed, near)


@pytest.mark.slow
def test_much_of_the_work_is_saved():
    left = [
        check(*temporal_net(seed), seed, np.testing.assert_array_equal)
        for seed in range(sampled(8, 20))
    ]
    assert np.median(left) < 0.25


@pytest.mark.parametrize("seed", [2, 3])
def test_a_stream_begins_anew(seed):
    graph, hop = temporal_net(seed)
    interpreter = Interpreter.from_graph(stream(graph, 1, hop).graph, backend="reference")
    interpreter.allocate_tensors()
    (x,), (y, *_) = interpreter.get_input_details(), interpreter.get_output_details()
    frames = frames_of(graph, hop, np.random.default_rng(seed))

    def answers():
        for start in range(0, frames.shape[1], hop):
            interpreter.set_tensor(x["index"], frames[:, start : start + hop])
            interpreter.invoke()
            yield interpreter.get_tensor(y["index"])

    first, on = np.array(list(answers())), np.array(list(answers()))
    assert not np.array_equal(first, on)
    interpreter.reset_all_variables()
    np.testing.assert_array_equal(first, list(answers()))
