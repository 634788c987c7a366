"""Layers on uint8 whose weights have any zero point, as graphs of many layers side by side."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.unsigned import to_signed
from tinyrt.ir import DType, Graph, Node, QParams, TensorType, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.shared.window import Window

ZERO_POINTS = (0, 1, 127, 128, 129, 255)
X_SCALE, W_SCALE = 0.02, 0.01
RELU, RELU6 = 1, 3


def weights(rng, shape, zero_point):
    """Most lie near the zero point; a few are anywhere, and of some layers all are at a bound."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.choice(np.array([0, 255], np.uint8), shape)
    near = zero_point + rng.integers(-30, 31, shape)
    far = rng.random(shape) < (0.02, 0.1, 0.5)[kind - 1]
    return np.where(far, rng.choice([0, 1, 254, 255], shape), near).clip(0, 255).astype(np.uint8)


class _Net:
    """Layers that share nothing."""

    def __init__(self, rng):
        self.rng, self.tensors, self.ops = rng, [], []
        self.inputs, self.outputs = [], []

    def layer(self, builtin, x, w, out, zero_point, fields, relu, data=None):
        rng, i = self.rng, len(self.ops)
        table = {
            "CONV_2D": "Conv2DOptions",
            "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
            "FULLY_CONNECTED": "FullyConnectedOptions",
        }
        x_zp = int(rng.choice([0, 3, 128, 200, 255]))
        data = weights(rng, w, zero_point) if data is None else data
        channels, taps = out[-1], data.size // out[-1]
        bias = rng.integers(-90 * taps, 90 * taps + 1, channels).astype(np.int32)
        # Outputs take about all of a byte, whatever the number of taps.
        y_scale = X_SCALE * W_SCALE * np.sqrt(taps) * float(rng.choice([30, 70, 400]))
        self.tensors += [
            Tensor(f"x{i}", x, "UINT8", None, X_SCALE, x_zp),
            Tensor(f"w{i}", w, "UINT8", data, W_SCALE, zero_point),
            Tensor(f"b{i}", (channels,), "INT32", bias, X_SCALE * W_SCALE),
            Tensor(f"y{i}", out, "UINT8", None, y_scale, 0 if relu else int(rng.integers(256))),
        ]
        fields = {"FusedActivationFunction": int(relu), **fields}
        op = Op(builtin, [f"x{i}", f"w{i}", f"b{i}"], [f"y{i}"], table[builtin], fields)
        self.ops.append(op)
        self.inputs.append(f"x{i}")
        self.outputs.append(f"y{i}")

    def dense(self, rows, c_in, c_out, zero_point, relu):
        """A dense layer, whose outputs are rounded as on uint8."""
        fields = {"FusedActivationFunction": int(relu)}
        shapes = (rows, c_in), (c_out, c_in), (rows, c_out)
        self.layer("FULLY_CONNECTED", *shapes, zero_point, fields, relu)

    def few_beyond(self, pixels):
        """A convolution of a column of pixels, few of whose weights lie beyond int8.

        Its limits are those of a byte, or lie within.
        """
        w = (5, 3, 1, 8)
        data = (110 + self.rng.integers(-30, 31, w)).astype(np.uint8)
        data.flat[::50] = 254
        fields = {"Padding": 1, "StrideH": 1, "StrideW": 1}
        fields |= {"DilationHFactor": 1, "DilationWFactor": 1}
        shapes = (1, pixels + 2, 1, 8), w, (1, pixels, 1, 5)
        relu = self.rng.random() < 0.5
        fields["FusedActivationFunction"] = RELU if relu else RELU6
        self.layer("CONV_2D", *shapes, 110, fields, relu, data)

    def beyond_apart(self, pixels, groups):
        """A convolution with steps between its taps, whose weights lie beyond int8, in groups."""
        w = (3 * groups, 3, 1, 4)
        data = (250 + self.rng.integers(-40, 6, w)).astype(np.uint8)
        fields = {"Padding": 1, "StrideH": 1, "StrideW": 1}
        fields |= {"DilationHFactor": 2, "DilationWFactor": 1}
        shapes = (1, pixels + 4, 1, 4 * groups), w, (1, pixels, 1, 3 * groups)
        self.layer("CONV_2D", *shapes, 20, fields, False, data)

    def graph(self) -> Graph:
        made = build(Subgraph(self.tensors, self.ops, self.inputs, self.outputs))
        return _one_by_one(parse_tflite(made))


def _one_by_one(graph: Graph) -> Graph:
    """Each layer's nodes behind one another: a planner has few tensors to place at a time."""
    listed: dict[str, Node] = {}

    def add(name: str | None) -> None:
        node = None if name is None else graph.producer(name)
        if node is not None and node.output not in listed:
            for x in node.inputs:
                add(x)
            listed[node.output] = node

    for y in graph.outputs:
        add(y)
    return replace(graph, nodes=tuple(listed.values()))


def net(seed: int, layers: int) -> Graph:
    """So many layers of random shapes: 1 x 1 and larger convolutions, and depthwise layers."""
    rng = np.random.default_rng(seed)
    made = _Net(rng)
    for _ in range(layers):
        kind, same = rng.integers(5), bool(rng.integers(2))
        if kind == 4:
            sizes = (int(rng.integers(1, most)) for most in (7, 60, 20))
            made.dense(*sizes, int(rng.choice(ZERO_POINTS)), bool(rng.integers(2)))
            continue
        some = tuple(rng.integers(1, 4, 2).tolist())
        kernel = ((1, 1), some, (3, 3), some)[kind]
        stride = 1 if kind == 0 and rng.integers(3) else int(rng.integers(1, 3))
        steps = (int(rng.integers(1, 4)), int(rng.integers(1, 3))) if kind == 3 else (1, 1)
        reach = (np.array(kernel) - 1) * steps + 1
        size = tuple((reach + rng.integers(0, 7, 2)).tolist())
        padding = "SAME" if same else "VALID"
        window = Window.of(size, kernel, (stride, stride), padding, steps)
        fields = {"Padding": 1 - same, "StrideH": stride, "StrideW": stride}
        fields |= {"DilationHFactor": steps[0], "DilationWFactor": steps[1]}
        images, c_in = int(rng.integers(1, 3)), int(rng.choice([4, rng.integers(1, 14)]))
        x = images, *size, c_in
        common = int(rng.choice(ZERO_POINTS)), fields, bool(rng.integers(2))
        if kind < 2:
            c_out = int(rng.integers(1, 11))
            shapes = x, (c_out, *kernel, c_in), (images, *window.out, c_out)
            made.layer("CONV_2D", *shapes, *common)
            continue
        times = 1 if kind == 2 else int(rng.integers(1, 3))
        fields["DepthMultiplier"] = times
        shapes = x, (1, *kernel, c_in * times), (images, *window.out, c_in * times)
        made.layer("DEPTHWISE_CONV_2D", *shapes, *common)
    for pixels in (1, 3):
        made.few_beyond(pixels)
    return made.graph()


def grouped(seed: int, layers: int) -> Graph:
    """So many layers of random shapes: convolutions in groups, with dilation, and with both, and
    depthwise layers with more dilation than rows of zeros are made of."""
    rng = np.random.default_rng(seed)
    made = _Net(rng)
    for _ in range(layers):
        kind, same = rng.integers(4), bool(rng.integers(2))
        kernel = (1, 1) if kind == 0 and rng.integers(2) else tuple(rng.integers(1, 4, 2).tolist())
        steps = tuple(rng.integers(1, (1, 4, 4, 8)[kind] + 1, 2).tolist())
        stride = int(rng.integers(1, 3))
        size = tuple(((np.array(kernel) - 1) * steps + 1 + rng.integers(0, 6, 2)).tolist())
        window = Window.of(size, kernel, (stride, stride), "SAME" if same else "VALID", steps)
        fields = {"Padding": 1 - same, "StrideH": stride, "StrideW": stride}
        fields |= {"DilationHFactor": steps[0], "DilationWFactor": steps[1]}
        common = int(rng.choice(ZERO_POINTS)), fields, bool(rng.integers(2))
        images, groups = int(rng.integers(1, 3)), int(rng.integers(2, 5)) if kind in (0, 2) else 1
        per_group, c_in = int(rng.integers(1, 9)), int(rng.integers(2, 9))
        x, c_out = (images, *size, groups * c_in), groups * per_group
        if kind < 3:
            shapes = x, (c_out, *kernel, c_in), (images, *window.out, c_out)
            made.layer("CONV_2D", *shapes, *common)
            continue
        fields["DepthMultiplier"] = 1
        shapes = x, (1, *kernel, c_in), (images, *window.out, c_in)
        made.layer("DEPTHWISE_CONV_2D", *shapes, *common)
    for pixels, groups in product((1, 3), (1, 3)):
        made.beyond_apart(pixels, groups)
    return made.graph()


def of_all_kinds(zero_point: int, relu: bool, seed: int = 0) -> Graph:
    """Convolutions on int8 with weights on uint8, one behind the other: of the same shapes and
    scales whatever their zero point is."""
    rng = np.random.default_rng([seed, zero_point])
    kinds: tuple[tuple[str, tuple[int, ...], dict[str, Any]], ...] = (
        ("conv2d", (8, 3, 3, 5), {"stride": (2, 2)}),
        ("conv2d", (8, 3, 3, 8), {}),
        ("depthwise_conv2d", (1, 3, 3, 8), {}),
        ("conv2d", (12, 1, 1, 8), {}),
        ("conv2d", (12, 3, 2, 4), {}),
        ("conv2d", (7, 3, 3, 12), {"dilation": (2, 1)}),
        ("conv2d", (16, 3, 3, 7), {"padding": "VALID"}),
        ("depthwise_conv2d", (1, 3, 3, 16), {"dilation": (6, 6)}),
    )
    scale, y_zp = 0.05, -128 if relu else 4
    x = Value("x", DType.INT8, (1, 15, 17, 5), QParams((scale,), 3))
    values, nodes = [x], list[Node]()
    for i, (op, shape, attrs) in enumerate(kinds):
        taps, channels = int(np.prod(shape[1:3])), shape[-1] if op != "conv2d" else shape[0]
        taps *= shape[3] if op == "conv2d" else 1
        # Sums reach less than 2**23, and outputs take most of a byte.
        w_q = QParams((0.5 / taps**0.5,), zero_point)
        data = (zero_point + rng.integers(-40, 41, shape)).clip(0, 255).astype(np.uint8)
        data.flat[:: 2 * channels + 1] = rng.choice([2, 254])
        w = Value.constant(f"w{i}", data, w_q)
        bias = rng.integers(-900, 900, channels).astype(np.int32)
        b = Value.constant(f"b{i}", bias, QParams((scale * w_q.scales[0],), 0))
        kind = Conv2dAttrs if op == "conv2d" else DepthwiseConv2dAttrs
        own = kind(activation="RELU" if relu else "NONE", **attrs)
        (made,) = OPS[op].infer(own, [x.type, TensorType(DType.INT8, w.shape), b.type])
        y = Value(f"y{i}", DType.INT8, made.shape, QParams((20 * scale,), y_zp))
        nodes.append(Node(op, f"layer{i}", (x.name, w.name, b.name), (y.name,), own))
        values += [w, b, y]
        x, scale = y, 20 * scale
    graph = Graph("kinds", ("x",), (x.name,), {v.name: v for v in values}, tuple(nodes))
    return verify(to_signed(graph))


def feeds(graph: Graph, seed: int):
    """One sample: numbers at random, or the least or the greatest alone."""
    rng = np.random.default_rng(seed)
    low, high = ((0, 256), (0, 1), (255, 256))[min(seed, 2) if seed < 3 else 0]
    return {
        name: rng.integers(low, high, graph.value(name).shape, np.uint8) for name in graph.inputs
    }


def some_layers() -> tuple[Graph, dict[str, np.ndarray]]:
    """As many layers as take every branch, with data for them."""
    graph = net(0, 150)
    return graph, feeds(graph, 0)


def some_groups() -> tuple[Graph, dict[str, np.ndarray]]:
    """The same of layers in groups and with dilation."""
    graph = grouped(0, 100)
    return graph, feeds(graph, 0)


def dense(seed: int, rows: int, y_zp: int = 120, y_scale: float = 0.05) -> Graph:
    """One dense layer."""
    rng = np.random.default_rng(seed)
    made = _Net(rng)
    made.dense(rows, 40, 9, 128, False)
    x, w, b, y = made.tensors
    data = rng.integers(60, 200, w.shape).astype(np.uint8)
    made.tensors = [x, replace(w, data=data), b, replace(y, scale=y_scale, zero_point=y_zp)]
    return made.graph()


def at_ends(rows: int, y_scale: float) -> Graph:
    """One whose sums nearly reach 2**23 on both sides, the most of packed kernels, from zeros."""
    made = _Net(np.random.default_rng(0))
    made.dense(rows, 256, 9, 128, False)
    x, w, b, y = made.tensors
    data = np.broadcast_to(np.where(np.arange(9) % 2, 255, 1)[:, None], w.shape).astype(np.uint8)
    bias = np.zeros(9, np.int32)
    ends = replace(x, zero_point=255), replace(w, data=data), replace(b, data=bias)
    made.tensors = [*ends, replace(y, scale=y_scale, zero_point=120)]
    return made.graph()


def chain(seed: int) -> Graph:
    """Convolutions and depthwise layers one behind the other: most channels lie in between."""
    rng = np.random.default_rng(seed)
    made = _Net(rng)
    shape, stages = (1, 30, 9, 4), ((3, 16), (3, None), (1, 12), (3, None), (3, 2))
    for kernel, channels in stages:
        fields = {"Padding": 0, "StrideH": 1, "StrideW": 1}
        fields |= {"DilationHFactor": 1, "DilationWFactor": 1}
        zero_point = int(rng.choice([90, 110, 150]))
        if channels is None:
            fields["DepthMultiplier"] = 1
            w = (1, kernel, kernel, shape[3])
            made.layer("DEPTHWISE_CONV_2D", shape, w, shape, zero_point, fields, False)
        else:
            w, out = (channels, kernel, kernel, shape[3]), (*shape[:3], channels)
            made.layer("CONV_2D", shape, w, out, zero_point, fields, False)
            shape = out
    tensors = {t.name: t for t in made.tensors}
    for i in range(1, len(made.ops)):
        before = tensors[f"y{i - 1}"]
        made.ops[i].inputs[0] = before.name
        bias = tensors[f"b{i}"]
        tensors[f"b{i}"] = replace(bias, scale=before.scale * W_SCALE)
        del tensors[f"x{i}"]
    ends = ["x0"], [f"y{len(made.ops) - 1}"]
    return parse_tflite(build(Subgraph(list(tensors.values()), made.ops, *ends)))


def depthwise(kernel) -> Graph:
    """One depthwise layer of stride 1 with SAME padding, whose weights need two parts."""
    made = _Net(np.random.default_rng(0))
    fields = {"Padding": 0, "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
    fields |= {"DilationHFactor": 1, "DilationWFactor": 1}
    x = (1, 7, 6, 4)
    made.layer("DEPTHWISE_CONV_2D", x, (1, *kernel, 4), x, 100, fields, False)
    w = made.tensors[1]
    data = made.rng.integers(0, 200, w.shape).astype(np.uint8)
    data[0, 0, 0, 0] = 250
    made.tensors[1] = replace(w, data=data)
    return made.graph()
