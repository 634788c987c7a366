"""Blocks of public architectures in ONNX, node by node as PyTorch's exporter writes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.convert.attention_bodies import (
    bert,
    cascaded,
    factored,
    gpt,
    grid_head,
    levit,
    llama,
    mixed_image_heads,
    mixer,
    plain_image_heads,
    talking,
    vit,
)
from tests.convert.onnx_build import OnnxModel
from tests.convert.window_bodies import davit, shifted, swin, three_layers, tiny_vit, whole_block

H, W = 6, 10
"""Pixels; no block has as many channels."""


class Body(OnnxModel):
    """A model of channels-first values."""

    def __init__(self) -> None:
        super().__init__(opset=13, seed=3)

    def conv(self, x: str, c_in: int, c_out: int, size: int = 1, groups: int = 1) -> str:
        pad = size // 2
        w = self.const(
            self.rng.normal(
                0, (c_in / groups * size**2) ** -0.5, (c_out, c_in // groups, size, size)
            )
        )
        return self.op("Conv", x, w, self.weights(c_out), pads=[pad] * 4, group=groups)

    def relu(self, x: str) -> str:
        return self.op("Relu", x)

    def norm(self, x: str, channels: int) -> str:
        parameters = [self.weights(channels) for _ in range(3)]
        return self.op("BatchNormalization", x, *parameters, self.weights(channels, low=0.5))

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.ints(*shape))

    def transpose(self, x: str, *perm: int) -> str:
        return self.op("Transpose", x, perm=perm)

    def parts(self, x: str, *sizes: int) -> list[str]:
        first = self.op("Split", x, self.ints(*sizes), outputs=len(sizes), axis=1)
        return [first, *(f"{first}_{i}" for i in range(1, len(sizes)))]

    def group_norm(self, x: str, channels: int) -> str:
        rows = self.reshape(x, 0, 1, -1)
        ones, zeros = self.const(np.ones(1)), self.const(np.zeros(1))
        normal = self.op("InstanceNormalization", rows, ones, zeros)
        normal = self.reshape(normal, 1, channels, H, W)
        scaled = self.op("Mul", normal, self.weights(channels, 1, 1))
        return self.op("Add", scaled, self.weights(channels, 1, 1))

    def mean(self, x: str) -> str:
        return self.op("ReduceMean", x, axes=[2, 3])


Block = Callable[[Body, str], str]


def shuffle_unit(m: Body, x: str) -> str:
    """ShuffleNetV2's."""
    for _ in range(3):
        one, two = m.parts(x, 4, 4)
        two = m.conv(m.relu(m.conv(two, 4, 4)), 4, 4, 3, groups=4)
        x = m.op("Concat", one, m.relu(m.conv(two, 4, 4)), axis=1)
        x = m.transpose(m.reshape(x, 1, 2, 4, H, W), 0, 2, 1, 3, 4)
        x = m.reshape(x, 1, 8, H, W)
    return m.relu(m.conv(x, 8, 5))


def pool_block(m: Body, x: str) -> str:
    """PoolFormer's."""
    normal = m.group_norm(x, 8)
    attrs = {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 0}
    mixed = m.op("Sub", m.op("AveragePool", normal, **attrs), normal)
    x = m.op("Add", x, m.op("Mul", mixed, m.weights(8, 1, 1)))
    y = m.conv(m.relu(m.conv(m.group_norm(x, 8), 8, 5)), 5, 8)
    return m.op("Add", x, m.op("Mul", y, m.weights(8, 1, 1)))


def weighed(m: Body, parts: str, count: int = 2) -> str:
    """The sum of (1, count, 8, H, W) along the second dimension, weighed per channel."""
    total = m.op("ReduceSum", parts, m.ints(1), keepdims=0)
    weights = m.conv(m.relu(m.conv(m.mean(total), 8, 4)), 4, 8 * count)
    weights = m.reshape(weights, 1, count, 8, 1, 1)
    weighed = m.op("Mul", parts, m.op("Softmax", weights, axis=1))
    return m.op("ReduceSum", weighed, m.ints(1), keepdims=0)


def selective_kernel(m: Body, x: str, sizes: tuple[int, ...] = (3, 5)) -> str:
    """SKNet's."""
    paths = [m.op("Unsqueeze", m.relu(m.conv(x, 8, 8, size)), m.ints(1)) for size in sizes]
    y = m.conv(weighed(m, m.op("Concat", *paths, axis=1), len(sizes)), 8, 8)
    return m.relu(m.op("Add", x, y))


def three_kernels(m: Body, x: str) -> str:
    """SKNet's, of three branches."""
    return selective_kernel(m, x, (1, 3, 5))


def split_attention(m: Body, x: str) -> str:
    """ResNeSt's."""
    y = m.relu(m.conv(x, 8, 16, 3, groups=2))
    y = m.conv(weighed(m, m.reshape(y, 1, 2, 8, H, W)), 8, 8)
    return m.relu(m.op("Add", x, y))


def groups_attention(m: Body, x: str) -> str:
    """ResNeSt's, of two groups: weights come by group first, and parts of the image do not."""
    y = m.relu(m.conv(x, 8, 16, 3, groups=4))
    parts = m.reshape(y, 1, 2, 8, H, W)
    total = m.op("ReduceSum", parts, m.ints(1), keepdims=0)
    weights = m.conv(m.relu(m.conv(m.mean(total), 8, 4, groups=2)), 4, 16, groups=2)
    weights = m.op("Softmax", m.transpose(m.reshape(weights, 1, 2, 2, 4), 0, 2, 1, 3), axis=1)
    weights = m.reshape(m.reshape(weights, 1, 16), 1, 2, 8, 1, 1)
    y = m.op("ReduceSum", m.op("Mul", parts, weights), m.ints(1), keepdims=0)
    return m.relu(m.op("Add", x, m.conv(y, 8, 8)))


def rep_block(m: Body, x: str) -> str:
    """RepVGG's, as it is trained."""
    for _ in range(2):
        y = m.op("Add", m.norm(m.conv(x, 8, 8, 3), 8), m.norm(m.conv(x, 8, 8), 8))
        x = m.relu(m.op("Add", y, m.norm(x, 8)))
    return x


def memory(m: Body, x: str) -> str:
    """FSMN's, whose rows are its height."""
    rows = m.transpose(m.conv(x, 8, 1), 0, 3, 2, 1)
    w = m.weights(W, 1, 3, 1)
    taps = m.op("Conv", m.op("Pad", rows, m.ints(0, 0, 2, 0, 0, 0, 0, 0)), w, group=W)
    return m.transpose(m.op("Add", rows, taps), 0, 3, 2, 1)


def stage(m: Body, x: str) -> str:
    """YOLO's C2f."""
    parts = m.parts(m.conv(x, 8, 8), 4, 4)
    for _ in range(2):
        y = m.conv(parts[-1], 4, 4, 3)
        parts.append(m.op("Add", parts[-1], m.op("Mul", y, m.op("Sigmoid", y))))
    return m.conv(m.op("Concat", *parts, axis=1), 16, 5)


def box_head(m: Body, x: str) -> str:
    """YOLOv8's: the mean of a distribution over 3 bins for each of 4 sides."""
    flat = m.reshape(m.conv(x, 8, 12), 1, 12, H * W)
    bins = m.transpose(m.reshape(flat, 1, 4, 3, H * W), 0, 2, 1, 3)
    means = m.conv(m.op("Softmax", bins, axis=1), 3, 1)
    return m.reshape(means, 1, 4, H, W)


def linear_attention(m: Body, x: str) -> str:
    """MobileViTv2's."""
    y = m.transpose(m.reshape(x, 1, 8, H // 2, 2, W // 2, 2), 0, 1, 3, 5, 2, 4)
    y = m.reshape(y, 1, 8, 4, H * W // 4)
    rows = m.reshape(y, 1, 8, 4, H * W // 4)
    query, key, value = m.parts(m.conv(rows, 8, 17), 1, 8, 8)
    weights = m.op("Mul", key, m.op("Softmax", query, axis=3))
    context = m.op("ReduceSum", weights, m.ints(3), keepdims=1)
    y = m.op("Add", y, m.conv(m.op("Mul", m.relu(value), context), 8, 8))
    y = m.transpose(m.reshape(y, 1, 8, 2, 2, H // 2, W // 2), 0, 1, 4, 2, 5, 3)
    return m.conv(m.reshape(y, 1, 8, H, W), 8, 5)


def attention(m: Body, x: str) -> str:
    """A layer of two heads: queries, keys and values go to their heads at once, sums come back."""
    tokens, width = x, 8
    qkv = m.op("MatMul", tokens, m.weights(width, 3 * width))
    parted = m.transpose(m.reshape(qkv, 4, H * W // 4, 3, 2, 4), 2, 0, 3, 1, 4)
    first = m.op("Split", parted, m.ints(1, 1, 1), outputs=3, axis=0)
    names = [first, f"{first}_1", f"{first}_2"]
    query, key, value = (m.reshape(name, 4, 2, H * W // 4, 4) for name in names)
    scores = m.op("MatMul", query, m.transpose(key, 0, 1, 3, 2))
    sums = m.op("MatMul", m.op("Softmax", scores, axis=-1), value)
    joined = m.reshape(m.transpose(sums, 0, 2, 1, 3), 4, H * W // 4, width)
    return m.op("Add", tokens, m.op("MatMul", joined, m.weights(width, width)))


def multihead(m: Body, x: str) -> str:
    """torch.nn.MultiheadAttention, whose batch comes second, between pixels."""
    tokens = m.transpose(m.reshape(x, 1, 8, H * W), 2, 0, 1)
    qkv = m.reshape(m.op("MatMul", tokens, m.weights(8, 24)), 1, H * W, 1, 3, 8)
    parted = m.reshape(m.transpose(qkv, 3, 1, 2, 0, 4), 3, H * W, 1, 8)
    parts = [m.op("Gather", parted, m.const(i, np.int64), axis=0) for i in range(3)]
    query, key, value = (
        m.reshape(m.transpose(m.reshape(part, H * W, 2, 4), 1, 0, 2), 1, 2, H * W, 4)
        for part in parts
    )
    scores = m.op("MatMul", query, m.transpose(key, 0, 1, 3, 2))
    sums = m.op("MatMul", m.op("Softmax", scores, axis=-1), value)
    joined = m.reshape(m.transpose(sums, 2, 0, 1, 3), H * W, 8)
    y = m.reshape(m.op("MatMul", joined, m.weights(8, 8)), H * W, 1, 8)
    return m.reshape(m.transpose(m.op("Add", tokens, y), 1, 2, 0), 1, 8, H, W)


def unfolded(m: Body, x: str) -> str:
    """MobileViT's: attention among the pixels at the same place of each patch."""
    y = m.transpose(m.reshape(x, 8 * H // 2, 2, W // 2, 2), 0, 2, 1, 3)
    y = m.transpose(m.reshape(y, 1, 8, H * W // 4, 4), 0, 3, 2, 1)
    y = attention(m, m.reshape(y, 4, H * W // 4, 8))
    y = m.transpose(m.reshape(y, 1, 4, H * W // 4, 8), 0, 3, 2, 1)
    y = m.transpose(m.reshape(y, 8 * H // 2, W // 2, 2, 2), 0, 2, 1, 3)
    return m.conv(m.reshape(y, 1, 8, H, W), 8, 5)


def pixel_attention(m: Body, x: str) -> str:
    """YOLO11's, between pixels, with heads of (2, 2, 4) channels and taps of the values added."""
    x = m.conv(m.relu(m.conv(x, 8, 320)), 320, 8)  # layers before it need more memory
    heads = m.reshape(m.conv(x, 8, 16), 1, 2, 8, H * W)
    first = m.op("Split", heads, m.ints(2, 2, 4), outputs=3, axis=2)
    query, key, value = first, f"{first}_1", f"{first}_2"
    scores = m.op("MatMul", m.transpose(query, 0, 1, 3, 2), key)
    weights = m.op("Softmax", scores, axis=3)
    sums = m.op("MatMul", value, m.transpose(weights, 0, 1, 3, 2))
    taps = m.conv(m.reshape(value, 1, 8, H, W), 8, 8, 3, groups=8)
    return m.op("Add", x, m.conv(m.op("Add", m.reshape(sums, 1, 8, H, W), taps), 8, 8))


def reduced(heads: int) -> Block:
    """PVTv2's: attention of pixels to an image of half the size, of which keys and values come."""

    def block(m: Body, x: str) -> str:
        tokens, size = m.transpose(m.reshape(x, 1, 8, H * W), 0, 2, 1), 8 // heads
        query = m.reshape(m.op("MatMul", tokens, m.weights(8, 8)), 1, H * W, heads, size)
        query = m.transpose(query, 0, 2, 1, 3)
        image = m.reshape(m.transpose(tokens, 0, 2, 1), 1, 8, H, W)
        small = m.op("Conv", image, m.weights(8, 8, 2, 2), strides=[2, 2])
        rows = m.transpose(m.reshape(small, 1, 8, H * W // 4), 0, 2, 1)
        both = m.op("MatMul", rows, m.weights(8, 16))
        both = m.transpose(m.reshape(both, 1, H * W // 4, 2, heads, size), 2, 0, 3, 1, 4)
        key, value = (m.op("Gather", both, m.const(i, np.int64), axis=0) for i in range(2))
        scores = m.op("MatMul", query, m.transpose(key, 0, 1, 3, 2))
        sums = m.op("MatMul", m.op("Softmax", scores, axis=-1), value)
        joined = m.reshape(m.transpose(sums, 0, 2, 1, 3), 1, H * W, 8)
        y = m.op("MatMul", joined, m.weights(8, 8))
        return m.conv(m.reshape(m.transpose(y, 0, 2, 1), 1, 8, H, W), 8, 5)

    return block


def gathered(m: Body, x: str) -> str:
    """An image that torch's unfold cuts into patches, and pixel shuffle puts together again."""
    rows = m.const(np.arange(H).reshape(-1, 2).T, np.int64)
    columns = m.const(np.arange(W).reshape(-1, 2).T, np.int64)
    y = m.op("Gather", m.op("Gather", x, rows, axis=2), columns, axis=4)
    y = m.reshape(m.transpose(y, 0, 1, 2, 4, 3, 5), 1, 8, 4, H * W // 4)
    y = m.reshape(m.relu(m.conv(y, 8, 8)), 1, 8, 2, 2, H // 2, W // 2)
    return m.conv(m.reshape(m.transpose(y, 0, 1, 4, 2, 5, 3), 1, 8, H, W), 8, 5)


def lines_of_text(m: Body, x: str) -> str:
    """A recogniser's: each column of pixels becomes a row of features."""
    rows = m.reshape(m.transpose(m.conv(x, 8, 8, 3), 3, 0, 1, 2), W, 8 * H)
    return m.op("MatMul", m.op("Tanh", rows), m.weights(8 * H, 7))


BODIES: dict[str, tuple[Block, int, int]] = {
    "ShuffleNetV2": (shuffle_unit, 0, 20),
    "PoolFormer": (pool_block, 0, 24),
    "SKNet": (selective_kernel, 0, 18),
    "ResNeSt": (split_attention, 0, 15),
    "RepVGG": (rep_block, 0, 3),
    "FSMN": (memory, 0, 7),
    "C2f": (stage, 0, 14),
    "YOLOv8's head": (box_head, 0, 6),
    "MobileViT": (unfolded, 3, 24),
    "MobileViTv2": (linear_attention, 2, 21),
    "MultiheadAttention": (multihead, 1, 18),
    "YOLO11's attention": (pixel_attention, 0, 34),
    "PVTv2 of one head": (reduced(1), 0, 19),
    "PVTv2 of two heads": (reduced(2), 0, 30),
    "unfold": (gathered, 2, 12),
    "lines of text": (lines_of_text, 0, 6),
    "BERT": (bert, 1, 14),
    "GPT-2": (gpt, 1, 14),
    "Llama": (llama, 1, 34),
    "ViT": (vit, 1, 17),
    "LeViT": (levit, 1, 14),
    "Swin": (swin, 2, 23),
    "Swin of shifted windows": (shifted, 2, 39),
    "Swin of three layers": (three_layers, 4, 26),
    "Swin of three layers and two": (whole_block, 2, 35),
    "TinyViT": (tiny_vit, 2, 30),
    "DaViT": (davit, 2, 31),
    "CoaT": (factored, 1, 49),
    "EfficientFormerV2": (plain_image_heads, 0, 38),
    "EfficientFormerV2 of mixed heads": (mixed_image_heads, 1, 41),
    "CaiT": (talking, 1, 27),
    "EfficientViT": (cascaded, 0, 30),
    "MLP-Mixer": (mixer, 2, 10),
    "YOLOv5's head": (grid_head, 1, 13),
    "SKNet of three branches": (three_kernels, 1, 19),
    "ResNeSt of two groups": (groups_attention, 1, 17),
}
"""Name -> the block, and how many transposes and ops are left of it at most."""
