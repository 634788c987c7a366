"""Int8 networks with the shapes of well-known ones, at their real input sizes; weights are random.

What planning costs depends on shapes alone. Channels are thinned where the real network would take
more than 5 MB.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import Form, NoAttrs, Quant
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

Q = QParams((0.05,), -3)
"""Of all activations whose op leaves them free."""


class Net:
    """A network that grows op by op; tensors are named after their op and number."""

    def __init__(self, *shape: int) -> None:
        self.rng = np.random.default_rng(0)
        self.values = {"x": Value("x", DType.INT8, shape, Q)}
        self.nodes: list[Node] = []

    def shape(self, x: str) -> tuple[int, ...]:
        return self.values[x].shape

    def op(self, op: str, *inputs: str, attrs: object = None) -> str:
        spec, attrs = OPS[op], NoAttrs() if attrs is None else attrs
        (type_,) = spec.infer(attrs, [self.values[n].type for n in inputs])
        q = self.values[inputs[0]].q if spec.quant is Quant.SAME_AS_INPUT else Q
        fixed = spec.forms[Form.INT8].fixed_output
        if fixed is not None:
            q = QParams((fixed[0],), fixed[1])
        name = f"{op}_{len(self.nodes)}"
        self.values[name] = Value(name, DType.INT8, type_.shape, q)
        self.nodes.append(Node(op, name, inputs, (name,), attrs))
        return name

    def weights(self, *shape: int, axis: int = 0) -> tuple[str, str]:
        w, b = f"w{len(self.values)}", f"b{len(self.values)}"
        scale = 0.3 / math.sqrt(math.prod(shape) / shape[axis]) / 20
        data = self.rng.integers(-127, 128, shape, dtype=np.int8)
        bias = self.rng.integers(-500, 500, shape[axis], dtype=np.int32)
        count = shape[axis]
        self.values[w] = Value.constant(w, data, QParams((scale,) * count, 0, axis))
        self.values[b] = Value.constant(b, bias, QParams((scale * Q.scale,) * count, 0, 0))
        return w, b

    def conv(self, x: str, channels: int, size=1, stride=1, act="RELU6", dilation=1) -> str:
        pair = (size, size) if isinstance(size, int) else size
        strides = (stride, stride) if isinstance(stride, int) else stride
        spread = (dilation, dilation) if isinstance(dilation, int) else dilation
        attrs = Conv2dAttrs(strides, "SAME", spread, act)
        weights = self.weights(channels, *pair, self.shape(x)[3])
        return self.op("conv2d", x, *weights, attrs=attrs)

    def depthwise(self, x: str, size=3, stride=1, dilation=1) -> str:
        pair = (size, size) if isinstance(size, int) else size
        attrs = DepthwiseConv2dAttrs((stride,) * 2, "SAME", (dilation,) * 2, activation="RELU6")
        weights = self.weights(1, *pair, self.shape(x)[3], axis=3)
        return self.op("depthwise_conv2d", x, *weights, attrs=attrs)

    def dense(self, x: str, units: int, keep: bool = False) -> str:
        inner = self.shape(x)[-1] if keep else math.prod(self.shape(x)[1:])
        return self.op(
            "fully_connected", x, *self.weights(units, inner), attrs=FullyConnectedAttrs(keep)
        )

    def join(self, *parts: str, axis: int = 3) -> str:
        return self.op("concatenation", *parts, attrs=ConcatenationAttrs(axis))

    def add(self, a: str, b: str) -> str:
        return self.op("add", a, b, attrs=AddAttrs())

    def mean(self, x: str, *axes: int) -> str:
        return self.op("mean", x, attrs=MeanAttrs(axes or (1, 2), keep_dims=True))

    def pool(self, x: str, size: int, stride: int) -> str:
        attrs = Pool2dAttrs((size,) * 2, (stride,) * 2, "SAME")
        return self.op("max_pool2d", x, attrs=attrs)

    def bigger(self, x: str, times: int, how: str = "resize_bilinear") -> str:
        _, h, w, _ = self.shape(x)
        return self.op(how, x, attrs=ResizeAttrs((h * times, w * times)))

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("reshape", x, attrs=ReshapeAttrs(shape))

    def turned(self, x: str, *perm: int) -> str:
        return self.op("transpose", x, attrs=TransposeAttrs(perm))

    def channels(self, x: str, first: int, count: int) -> str:
        shape = self.shape(x)
        begin = (*(0 for _ in shape[:-1]), first)
        attrs = SliceAttrs(begin, (*shape[:-1], count), (1,) * len(shape))
        return self.op("slice", x, attrs=attrs)

    def graph(self, name: str, *outputs: str) -> Graph:
        return verify(Graph(name, ("x",), outputs, self.values, tuple(self.nodes)))


MOBILE_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
             (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
LITE = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5), (6, 320, 1, 1, 3))  # fmt: skip
"""Expansion, channels, blocks, stride of the first, and the window's size."""


def _inverted(net: Net, x: str, settings, most_stride: int = 32, tap: dict[int, str] | None = None):
    """Inverted residuals; beyond the most stride, dilation takes its place."""
    total, dilation = 2, 1
    for factor, channels, blocks, first_stride, *size in settings:
        for i in range(blocks):
            stride = first_stride if i == 0 else 1
            if total * stride > most_stride:
                stride, dilation = 1, dilation * stride
            total *= stride
            start, wide = x, net.shape(x)[3] * factor
            x = net.conv(x, wide) if factor > 1 else x
            x = net.depthwise(x, *size, stride=stride, dilation=dilation if stride == 1 else 1)
            x = net.conv(x, channels, act="NONE")
            x = net.add(start, x) if net.shape(start) == net.shape(x) else x
        if tap is not None:
            tap[total] = x
    return x


def mobilenet_v2(size: int = 224) -> Graph:
    net = Net(1, size, size, 3)
    x = _inverted(net, net.conv("x", 32, 3, 2), MOBILE_V2)
    return net.graph(f"mobilenet_v2_{size}", net.dense(net.mean(net.conv(x, 1280)), 1000))


def efficientnet_lite(size: int = 224) -> Graph:
    net = Net(1, size, size, 3)
    x = _inverted(net, net.conv("x", 32, 3, 2), LITE)
    return net.graph(f"efficientnet_lite_{size}", net.dense(net.mean(net.conv(x, 1088)), 1000))


def squeeze_excite(size: int = 224) -> Graph:
    """As MobileNetV3: hard swish, and channels weighed by their own averages."""
    net = Net(1, size, size, 3)
    x = net.op("hard_swish", net.conv("x", 16, 3, 2, "NONE"))
    for wide, channels, stride in ((16, 16, 2), (72, 24, 2), (96, 40, 2), (240, 40, 1),
                                   (144, 48, 1), (288, 96, 2), (576, 96, 1)):  # fmt: skip
        start = x
        x = net.op("hard_swish", net.conv(x, wide, act="NONE"))
        x = net.op("hard_swish", net.depthwise(x, 5, stride))
        scale = net.conv(net.conv(net.mean(x), wide // 4, act="RELU"), wide, act="NONE")
        x = net.op("mul", x, net.op("logistic", scale), attrs=MulAttrs())
        x = net.conv(x, channels, act="NONE")
        x = net.add(start, x) if net.shape(start) == net.shape(x) else x
    return net.graph(f"squeeze_excite_{size}", net.dense(net.mean(net.conv(x, 576)), 1000))


def ssd(size: int = 300) -> Graph:
    """MobileNetV2 with detection heads at several sizes, their boxes joined."""
    net, taps = Net(1, size, size, 3), {}
    x = _inverted(net, net.conv("x", 32, 3, 2), MOBILE_V2, tap=taps)
    features = [taps[16], x]
    for channels in (128, 128, 64):
        features.append(net.conv(net.conv(features[-1], channels // 2), channels, 3, 2))
    boxes, scores = [], []
    for f in features:
        for found, count in ((boxes, 4), (scores, 21)):
            y = net.conv(net.depthwise(f), 6 * count, act="NONE")
            found.append(net.reshape(y, 1, math.prod(net.shape(y)) // count, count))
    ends = net.join(*boxes, axis=1), net.op("logistic", net.join(*scores, axis=1))
    return net.graph(f"ssd_{size}", *ends)


def deeplab(size: int = 513) -> Graph:
    """MobileNetV2 with dilation, pooling over the whole image, and scores for each pixel."""
    net = Net(1, size, size, 3)
    x = _inverted(net, net.conv("x", 32, 3, 2), MOBILE_V2[:-1], most_stride=16)
    _, h, w, _ = net.shape(x)
    whole = net.op("resize_bilinear", net.conv(net.mean(x), 128), attrs=ResizeAttrs((h, w)))
    y = net.conv(net.join(whole, net.conv(x, 128)), 128)
    attrs = ResizeAttrs((size, size), align_corners=True)
    return net.graph(
        f"deeplab_{size}", net.op("resize_bilinear", net.conv(y, 21, act="NONE"), attrs=attrs)
    )


def yolo(size: int = 320, width: int = 16) -> Graph:
    """As YOLOv8n: halves that are split and joined again, pools in a row, three heads."""
    net = Net(1, size, size, 3)

    def silu(x: str) -> str:
        return net.op("mul", x, net.op("logistic", x), attrs=MulAttrs())

    def conv(x: str, channels: int, k: int = 1, stride: int = 1) -> str:
        return silu(net.conv(x, channels, k, stride, "NONE"))

    def split(x: str, channels: int, count: int) -> str:
        x = conv(x, channels)
        parts = [net.channels(x, 0, channels // 2), net.channels(x, channels // 2, channels // 2)]
        for _ in range(count):
            y = conv(conv(parts[-1], channels // 2, 3), channels // 2, 3)
            parts.append(net.add(parts[-1], y))
        return conv(net.join(*parts), channels)

    x = conv(conv("x", width, 3, 2), 2 * width, 3, 2)
    x = split(x, 2 * width, 1)
    high = split(conv(x, 4 * width, 3, 2), 4 * width, 2)
    middle = split(conv(high, 8 * width, 3, 2), 8 * width, 2)
    low = split(conv(middle, 16 * width, 3, 2), 16 * width, 1)
    pools = [conv(low, 8 * width)]
    for _ in range(3):
        pools.append(net.pool(pools[-1], 5, 1))
    low = conv(net.join(*pools), 16 * width)
    nearest = "resize_nearest_neighbor"
    up = split(net.join(net.bigger(low, 2, nearest), middle), 8 * width, 1)
    first = split(net.join(net.bigger(up, 2, nearest), high), 4 * width, 1)
    second = split(net.join(conv(first, 4 * width, 3, 2), up), 8 * width, 1)
    third = split(net.join(conv(second, 8 * width, 3, 2), low), 16 * width, 1)
    heads = []
    for f in (first, second, third):
        box = net.conv(conv(conv(f, 64, 3), 64, 3), 64, act="NONE")
        scores = net.conv(conv(conv(f, 80, 3), 80, 3), 80, act="NONE")
        y = net.join(box, scores)
        heads.append(net.reshape(y, 1, math.prod(net.shape(y)[1:3]), 144))
    y = net.turned(net.join(*heads, axis=1), 0, 2, 1)
    anchors = net.shape(y)[2]
    box = net.turned(net.reshape(_rows(net, y, 0, 64), 1, 4, 16, anchors), 0, 3, 1, 2)
    distances = net.conv(net.op("softmax", box, attrs=SoftmaxAttrs()), 1, act="NONE")
    return net.graph(f"yolo_{size}", distances, net.op("logistic", _rows(net, y, 64, 80)))


def _rows(net: Net, x: str, first: int, count: int) -> str:
    n, _, width = net.shape(x)
    attrs = SliceAttrs((0, first, 0), (n, count, width), (1, 1, 1))
    return net.op("slice", x, attrs=attrs)


def unet(size: int = 256, width: int = 16) -> Graph:
    net = Net(1, size, size, 3)

    def twice(x: str, channels: int) -> str:
        return net.conv(net.conv(x, channels, 3), channels, 3)

    sides, x = [], twice("x", width)
    for level in range(1, 5):
        sides.append(x)
        x = twice(net.pool(x, 2, 2), width << level)
    for level in range(3, -1, -1):
        _, h, w, c = net.shape(x)
        weights, bias = net.weights(c // 2, 2, 2, c)
        attrs = TransposeConvAttrs((2 * h, 2 * w), (2, 2))
        x = net.op("transpose_conv", x, weights, bias, attrs=attrs)
        x = twice(net.join(sides[level], x), width << level)
    return net.graph(f"unet_{size}", net.op("logistic", net.conv(x, 1, act="NONE")))


def espcn(size: int = 512, times: int = 2) -> Graph:
    net = Net(1, size, size, 1)
    x = net.op("tanh", net.conv("x", 64, 5, act="NONE"))
    x = net.op("tanh", net.conv(x, 32, 3, act="NONE"))
    x = net.conv(x, times**2, 3, act="NONE")
    return net.graph(f"espcn_{size}", net.op("depth_to_space", x, attrs=BlockAttrs(times)))


def resnet(size: int = 224, width: int = 32) -> Graph:
    """Residual blocks in the layout of others: transposed at both ends, with explicit padding."""
    net = Net(1, 3, size, size)
    x = net.turned("x", 0, 2, 3, 1)
    x = net.op("pad", x, attrs=PadAttrs(((0, 0), (3, 3), (3, 3), (0, 0))))
    x = net.pool(net.conv(x, width, 7, 2, "RELU"), 3, 2)
    for level, blocks in enumerate((2, 2, 2, 2)):
        for i in range(blocks):
            stride, channels = 2 if level and not i else 1, width << level
            y = net.conv(net.conv(x, channels, 3, stride, "RELU"), channels, 3, 1, "NONE")
            same = net.shape(x) == net.shape(y)
            start = x if same else net.conv(x, channels, 1, stride, "NONE")
            x = net.op("relu", net.add(start, y))
    features = net.turned(x, 0, 3, 1, 2)
    return net.graph(f"resnet_{size}", features, net.dense(net.mean(x), 1000))


def densenet(size: int = 224, growth: int = 12, layers: int = 16) -> Graph:
    net = Net(1, size, size, 3)
    x = net.pool(net.conv("x", 2 * growth, 7, 2), 3, 2)
    for _ in range(4):
        for _ in range(layers):
            x = net.join(x, net.conv(net.conv(x, 4 * growth), growth, 3))
        x = net.pool(net.conv(x, net.shape(x)[3] // 2), 2, 2)
    return net.graph(f"densenet_{size}", net.dense(net.mean(x), 1000))


def transformer(size: int = 224, width: int = 128, layers: int = 12, heads: int = 4) -> Graph:
    """A vision transformer of patches of 16 x 16."""
    net, part = Net(1, size, size, 3), width // heads
    tokens = (size // 16) ** 2
    x = net.reshape(net.conv("x", width, 16, 16, "NONE"), 1, tokens, width)

    def norm(x: str) -> str:
        centred = net.op("sub", x, net.mean(x, 2), attrs=AddAttrs())
        square = net.op("mul", centred, centred, attrs=MulAttrs())
        return net.op("mul", centred, net.op("rsqrt", net.mean(square, 2)), attrs=MulAttrs())

    def split(x: str) -> str:
        return net.turned(net.reshape(net.dense(x, width, keep=True), 1, tokens, heads, part),
                          0, 2, 1, 3)  # fmt: skip

    for _ in range(layers):
        y = norm(x)
        query, key, value = split(y), split(y), split(y)
        scores = net.op("batch_matmul", query, key, attrs=BatchMatmulAttrs(adj_y=True))
        weights = net.op("softmax", scores, attrs=SoftmaxAttrs())
        y = net.op("batch_matmul", weights, value, attrs=BatchMatmulAttrs())
        y = net.reshape(net.turned(y, 0, 2, 1, 3), 1, tokens, width)
        x = net.add(x, net.dense(y, width, keep=True))
        y = net.op("gelu", net.dense(norm(x), 4 * width, keep=True), attrs=GeluAttrs())
        x = net.add(x, net.dense(y, width, keep=True))
    return net.graph(f"transformer_{size}", net.dense(net.mean(x, 1), 1000))


def audio(samples: int = 48_000, width: int = 32) -> Graph:
    """A second or three of sound: an encoder, dilated convolutions over time, a mask, a decoder."""
    net = Net(1, samples, 1, 1)
    x = start = net.conv("x", width, (16, 1), (8, 1), "RELU")
    for i in range(16):
        y = net.conv(x, 2 * width)
        attrs = DepthwiseConv2dAttrs((1, 1), "SAME", (1 << i % 8, 1), activation="RELU6")
        y = net.op("depthwise_conv2d", y, *net.weights(1, 3, 1, 2 * width, axis=3), attrs=attrs)
        x = net.add(x, net.conv(y, width, act="NONE"))
    mask = net.op("logistic", net.conv(x, width, act="NONE"))
    x = net.op("mul", start, mask, attrs=MulAttrs())
    length = net.shape(x)[1]
    x = net.op("transpose_conv", x, *net.weights(1, 16, 1, width),
               attrs=TransposeConvAttrs((8 * length, 1), (8, 1)))  # fmt: skip
    return net.graph(f"audio_{samples}", x)


def spectrogram(frames: int = 998, bands: int = 64) -> Graph:
    """As YAMNet on ten seconds at once, with scores for each frame."""
    net = Net(1, frames, bands, 1)
    x = net.conv("x", 32, 3, 2)
    for channels, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        x = net.conv(net.depthwise(x, 3, stride), channels)
    return net.graph(f"spectrogram_{frames}", net.dense(net.mean(x, 2), 521, keep=True))


NETS: dict[str, Callable[[], Graph]] = {
    "mobilenet_v2_224": mobilenet_v2,
    "efficientnet_lite_224": efficientnet_lite,
    "squeeze_excite_224": squeeze_excite,
    "resnet_224": resnet,
    "densenet_224": densenet,
    "ssd_300": ssd,
    "deeplab_513": deeplab,
    "yolo_320": yolo,
    "yolo_640": lambda: replace(yolo(640), name="yolo_640"),
    "unet_256": unet,
    "unet_512": lambda: unet(512),
    "espcn_512": espcn,
    "transformer_224": transformer,
    "audio_48000": audio,
    "spectrogram_998": spectrogram,
}
"""Name -> what makes it."""
