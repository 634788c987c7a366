"""Random int8 networks of ops that can run row by row, with branches that meet again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, Graph, Node, QParams, Shape, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import Form, NoAttrs, Quant
from tinyrt.ops.transpose_conv import TransposeConvAttrs

MAX_PIXELS = 5_000


@dataclass
class RandomNet:
    """A network that grows op by op from its latest tensors."""

    seed: int
    values: dict[str, Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    lowest: int = 4
    """Rows that the input has at least."""

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.q = QParams((0.05,), int(self.rng.integers(-128, 128)))
        h, w = int(self.rng.integers(self.lowest, 20)), int(self.rng.integers(1, 12))
        self.values["x"] = Value("x", DType.INT8, (1, h, w, int(self.rng.integers(1, 6))), self.q)
        self.images.append("x")

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def recent(self) -> Value:
        return self.values[self.images[-int(self.rng.integers(1, min(3, len(self.images)) + 1))]]

    def op(self, op: str, attrs: object, *inputs: str) -> Value | None:
        """Append an op, unless its output would be empty or large."""
        spec = OPS[op]
        try:
            (type_,) = spec.infer(attrs, [self.values[n].type for n in inputs])
        except ShapeError:
            return None
        if np.prod(type_.shape) > MAX_PIXELS:
            return None
        q = self.values[inputs[-1]].q if spec.quant is Quant.SAME_AS_INPUT else self.q
        form = spec.forms.get(Form.INT8)
        if form is not None and form.fixed_output is not None:
            scale, zero_point = form.fixed_output
            q = QParams((scale,), zero_point)
        dtype = DType.INT8
        if spec.quant is Quant.INPUTS_ONLY or type_.dtype is DType.BOOL:
            dtype, q = type_.dtype, None
        name = f"{op}_{len(self.nodes)}"
        value = self.values[name] = Value(name, dtype, type_.shape, q)
        self.nodes.append(Node(op, name, inputs, (name,), attrs))
        if len(type_.shape) == 4 and q is not None:
            self.images.append(name)
        return value

    def weights(self, shape: Shape, axis: int) -> tuple[str, str]:
        channels = shape[axis]
        scales = tuple(float(s) for s in self.rng.uniform(0.001, 0.02, channels))
        w = self.rng.integers(-127, 128, shape).astype(np.int8)
        bias = self.rng.integers(-3000, 3000, channels).astype(np.int32)
        names = f"w{len(self.values)}", f"b{len(self.values)}"
        self.values[names[0]] = Value.constant(names[0], w, QParams(scales, 0, axis))
        bias_q = QParams(tuple(s * self.q.scale for s in scales), 0, 0)
        self.values[names[1]] = Value.constant(names[1], bias, bias_q)
        return names

    def graph(self, *outputs: str) -> Graph:
        """The verified graph."""
        return verify(Graph(f"net{self.seed}", ("x",), outputs, self.values, tuple(self.nodes)))


def _window(net: RandomNet) -> dict[str, object]:
    stride = net.pick((1, 1), (1, 1), (2, 2), (2, 1), (1, 2))
    return {"stride": stride, "padding": net.pick("SAME", "SAME", "VALID")}


def convolve(net: RandomNet) -> None:
    x = net.recent()
    kernel, c_out = net.pick((1, 1), (3, 3), (5, 3), (1, 3), (2, 2)), int(net.rng.integers(1, 9))
    w, b = net.weights((c_out, *kernel, x.shape[3]), 0)
    dilation = net.pick((1, 1), (1, 1), (1, 1), (2, 1))
    window = _window(net) | ({"stride": (1, 1)} if dilation != (1, 1) else {})
    activation = net.pick("NONE", "RELU", "RELU6")
    net.op("conv2d", Conv2dAttrs(dilation=dilation, activation=activation, **window), x.name, w, b)


def depthwise(net: RandomNet) -> None:
    x = net.recent()
    kernel, times = net.pick((3, 3), (3, 3), (5, 1), (2, 3)), net.pick(1, 1, 1, 2)
    w, b = net.weights((1, *kernel, x.shape[3] * times), 3)
    net.op("depthwise_conv2d", DepthwiseConv2dAttrs(**_window(net)), x.name, w, b)


def pool(net: RandomNet) -> None:
    kernel = net.pick((2, 2), (3, 3), (3, 1))
    attrs = Pool2dAttrs(kernel, **_window(net))
    net.op(net.pick("max_pool2d", "average_pool2d"), attrs, net.recent().name)


def unary(net: RandomNet) -> None:
    net.op(net.pick("relu", "tanh", "logistic", "hard_swish"), NoAttrs(), net.recent().name)


def join(net: RandomNet) -> None:
    x = net.recent()
    alike = [n for n in net.images if net.values[n].shape == x.shape]
    other = net.pick(*alike)
    if net.values[other].q == x.q and net.pick(True, False):
        moving = net.pick(("concatenation", ConcatenationAttrs(3)), ("maximum", NoAttrs()))
        net.op(*moving, x.name, other)
    else:
        op = net.pick("add", "sub", "mul")
        net.op(op, OPS[op].attrs(), x.name, other)


def residual(net: RandomNet) -> None:
    x = net.recent()
    w, b = net.weights((x.shape[3], 3, 3, x.shape[3]), 0)
    y = net.op("conv2d", Conv2dAttrs(), x.name, w, b)
    if y is not None:
        net.op("add", AddAttrs(activation="RELU"), y.name, x.name)


def pad(net: RandomNet) -> None:
    around = net.pick(((1, 1), (1, 1)), ((0, 2), (1, 0)), ((2, 1), (0, 0)))
    net.op("pad", PadAttrs(((0, 0), *around, (0, 0))), net.recent().name)


STEPS = (convolve, convolve, depthwise, pool, unary, join, residual, pad)


def random_net(seed: int) -> Graph:
    """A network from its seed; now and then it ends in an average, or has two outputs."""
    net = RandomNet(seed)
    while len(net.nodes) < 2 + seed % 9:
        net.pick(*STEPS)(net)
    outputs = [net.nodes[-1].outputs[0]]
    if net.pick(True, False):
        x = net.values[outputs[0]]
        kind = net.pick("mean", "average_pool2d")
        whole = Pool2dAttrs((x.shape[1], x.shape[2]))
        attrs = MeanAttrs((1, 2), net.pick(True, False)) if kind == "mean" else whole
        outputs = [net.op(kind, attrs, x.name).name]
    if net.pick(True, False, False):
        outputs.append(net.pick(*(n.outputs[0] for n in net.nodes)))
    return net.graph(*dict.fromkeys(outputs))


def spread(net: RandomNet) -> None:
    """A convolution with steps of up to 3 and any dilation, with one scale for all channels or not.

    Its weights are of four bits, now and then.
    """
    x = net.recent()
    kernel, c_out = net.pick((3, 3), (2, 5), (4, 1), (7, 1), (1, 1)), int(net.rng.integers(1, 20))
    steps = net.pick((1, 1), (3, 1), (3, 3), (1, 3), (4, 2))
    dilation = net.pick((1, 1), (3, 1), (2, 2), (1, 2)) if steps == (1, 1) else (1, 1)
    w, b = net.weights((c_out, *kernel, x.shape[3]), 0)
    if net.pick(True, False, False):
        net.values[w] = replace(
            net.values[w], dtype=DType.INT4, data=np.clip(net.values[w].data >> 4, -7, 7)
        )
    padding, activation = net.pick("SAME", "VALID"), net.pick("NONE", "RELU", "RELU6")
    attrs = Conv2dAttrs(steps, padding, dilation, activation)
    net.op("conv2d", attrs, x.name, w, b)


def with_constant(net: RandomNet) -> None:
    """An element-wise op with a constant for each channel, or a single one."""
    x = net.recent()
    shape = (1, 1, net.pick(1, x.shape[3]))
    name = f"k{len(net.values)}"
    data = net.rng.integers(-128, 128, shape).astype(np.int8)
    net.values[name] = Value.constant(name, data, QParams((0.02,), 3))
    op = net.pick("add", "mul", "prelu", "sub")
    net.op(op, OPS[op].attrs(), x.name, name)


def wider(net: RandomNet) -> None:
    """A join along the width, or a resize, which does not go row by row."""
    x = net.recent()
    if net.values[x.name].q == net.q and net.pick(True, False):
        net.op("concatenation", ConcatenationAttrs(2), x.name, x.name)
    else:
        op = net.pick("resize_bilinear", "resize_nearest_neighbor")
        net.op(op, ResizeAttrs((x.shape[1] + 1, 2 * x.shape[2])), x.name)


def varied_net(seed: int) -> Graph:
    """As ``random_net``, with more kinds of ops, and images of down to one row."""
    net = RandomNet(seed, lowest=1)
    while len(net.nodes) < 2 + seed % 7:
        net.pick(*STEPS, spread, spread, with_constant, wider)(net)
    outputs = [net.nodes[-1].outputs[0], net.pick(*(n.outputs[0] for n in net.nodes))]
    return net.graph(*dict.fromkeys(outputs))


def gate(net: RandomNet) -> None:
    """Squeeze and excite: a tensor times what follows from its own average."""
    x = net.values[net.images[-1]]
    mean = net.op("mean", MeanAttrs((1, 2), keep_dims=True), x.name)
    w, b = net.weights((x.shape[3], 1, 1, x.shape[3]), 0)
    middle = net.op("conv2d", Conv2dAttrs(activation="RELU"), mean.name, w, b)
    weights = net.op("logistic", NoAttrs(), middle.name)
    net.images = net.images[:-2]
    net.op("mul", MulAttrs(), x.name, weights.name)
    net.images = net.images[-1:]


def gated_net(seed: int) -> Graph:
    """A random network whose rows depend on all others, now and then: it takes segments."""
    net = RandomNet(seed)
    for _ in range(2 + seed % 2):
        for _ in range(1 + int(net.rng.integers(3))):
            net.pick(*STEPS)(net)
        gate(net)
    for _ in range(1 + int(net.rng.integers(3))):
        net.pick(*STEPS)(net)
    return net.graph(net.nodes[-1].outputs[0])


SIGMOIDS = frozenset({"tanh", "logistic"})
"""Ops whose int16 outputs have a scale of their own."""

WIDER = 1 / 200
"""Steps of int16 activations, to those of int8."""


def widened(graph: Graph) -> Graph:
    """The same network with int16 activations, int8 weights and int64 biases."""
    values = dict(graph.values)
    for name in graph.inputs:
        values[name] = _widened(values[name])
    for node in graph.nodes:
        for name in node.inputs[2:] if OPS[node.op].quant is Quant.WEIGHTED else ():
            bias = values[name]
            scales = tuple(s * WIDER for s in bias.q.scales)
            data = np.asarray(bias.data).astype(np.int64) * 100
            values[name] = Value.constant(name, data, QParams(scales, 0, 0))
        (y,) = node.outputs
        values[y] = _widened(values[y])
        if node.op in SIGMOIDS:
            values[y] = replace(values[y], q=QParams((2.0**-15,), 0))
        elif OPS[node.op].quant is Quant.SAME_AS_INPUT:
            values[y] = replace(values[y], q=values[node.inputs[0]].q)
    return verify(Graph(graph.name, graph.inputs, graph.outputs, values, graph.nodes))


def _widened(value: Value) -> Value:
    return replace(value, dtype=DType.INT16, q=QParams((value.q.scale * WIDER,), 0))


def wide_net(seed: int) -> Graph:
    """A random network on int16: the next one whose ops all have that form."""
    graph = random_net(seed)
    while not all(Form.INT16X8 in OPS[node.op].forms for node in graph.nodes):
        seed += 1_000_000
        graph = random_net(seed)
    return widened(graph)


def signal_net(seed: int) -> Graph:
    """Three sensors over time, which is the height: rows of three bytes."""
    net = RandomNet(seed)
    net.values["x"] = replace(net.values["x"], shape=(1, 64, 1, 3))
    y = "x"
    for c_out, taps, stride in ((8, 5, 1), (8, 5, 2), (12, 3, 2), (12, 3, 1)):
        w, b = net.weights((c_out, taps, 1, net.values[y].shape[3]), 0)
        attrs = Conv2dAttrs((stride, 1), activation="RELU")
        y = net.op("conv2d", attrs, y, w, b).name
    return net.graph(net.op("mean", MeanAttrs((1, 2), keep_dims=False), y).name)


def u_net(seed: int) -> Graph:
    """Down twice and up again, past ops that do not go row by row; each height joins its like."""
    net = RandomNet(seed)
    net.values["x"] = replace(net.values["x"], shape=(1, 24, 12, 3))
    net.images = ["x"]

    def conv(x: str, channels: int) -> str:
        w, b = net.weights((channels, 3, 3, net.values[x].shape[3]), 0)
        return net.op("conv2d", Conv2dAttrs(activation="RELU"), x, w, b).name

    def joined(x: str, other: str) -> str:
        return net.op("concatenation", ConcatenationAttrs(3), x, other).name

    halves = Pool2dAttrs((2, 2), (2, 2), padding="VALID")
    high = conv(conv("x", 16), 6)
    middle = conv(net.op("max_pool2d", halves, high).name, 8)
    low = conv(net.op("max_pool2d", halves, middle).name, 10)
    up = net.op("resize_nearest_neighbor", ResizeAttrs((12, 6)), low).name
    up = conv(joined(up, middle), 8)
    w, b = net.weights((6, 2, 2, 8), 0)
    up = net.op("transpose_conv", TransposeConvAttrs((24, 12), (2, 2)), up, w, b).name
    return net.graph(conv(conv(joined(up, high), 16), 2))
