"""Layers, and what stands around them, that random graphs grow by."""

from __future__ import annotations

import math

import numpy as np

from tests.passes.nets import TO_NCHW, TO_NHWC
from tests.passes.random_functions import padded
from tests.passes.random_net import RandomNet, Rng
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs


def weighted(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A layer with small weights, behind which sizes stay as they are."""
    rank, c = len(net.shape(x)), net.channels(x)

    def small(*shape: int) -> str:
        return net.constant(rng.normal(0, 0.3, shape).astype(np.float32))

    if rank == 2 or (rank == 3 and rng.random() < 0.5):
        attrs = FullyConnectedAttrs(keep_num_dims=rank > 2)
        return net.op("fully_connected", (x, small(4, c), small(4)), attrs)
    if rank != 4:
        return None
    kind = rng.choice(["conv", "depthwise", "transpose"])
    if kind == "depthwise":
        return net.depthwise(x, padding="VALID" if _fits(net, x) and rng.random() < 0.5 else "SAME")
    if kind == "transpose":
        h, w = net.shape(x)[1:3]
        attrs = TransposeConvAttrs((h + 1, w + 1), (1, 1), "VALID")
        return net.op("transpose_conv", (x, small(3, 2, 2, c)), attrs)
    size = int(rng.choice([1, 3])) if _fits(net, x) else 1
    padding = str(rng.choice(["SAME", "VALID"]))
    return net.conv(x, int(rng.integers(2, 5)), size, bool(rng.random() < 0.7), padding=padding)


def _fits(net: RandomNet, x: str) -> bool:
    return min(net.shape(x)[1:3]) >= 3


def channels_first(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A layer as an importer leaves it, on a tensor whose channels come second."""
    if len(net.shape(x)) != 4:
        return None
    y = weighted(net, net.transpose(x, TO_NHWC), rng)
    return None if y is None else net.transpose(y, TO_NCHW)


def padded_convolution(net: RandomNet, x: str, rng: Rng) -> str | None:
    del rng
    if len(net.shape(x)) != 4:
        return None
    y = net.op("pad", (x,), PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0))))
    return net.conv(y, padding="VALID")


def cut_layer(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A layer whose border is cut off, scaled per channel."""
    y = weighted(net, x, rng) if len(net.shape(x)) == 4 else None
    if y is None:
        return None
    shape = net.shape(y)
    size = (shape[0], max(shape[1] - 1, 1), *shape[2:])
    y = net.op("slice", (y,), SliceAttrs((0,) * 4, size, (1,) * 4))
    return net.mul(y, net.random(shape[-1]))


def normalised(net: RandomNet, x: str, rng: Rng) -> str:
    del rng
    return net.batch_norm(x)


def averaged(net: RandomNet, x: str, rng: Rng) -> str | None:
    rank = len(net.shape(x))
    if rank < 3:
        return None
    axes = tuple(sorted(int(a) for a in rng.choice(np.arange(1, rank), 2, replace=False)))
    attrs = MeanAttrs(axes, keep_dims=bool(rng.random() < 0.5))
    return centred(net, x, rng) if rng.random() < 0.3 else net.op("mean", (x,), attrs)


def centred(net: RandomNet, x: str, rng: Rng) -> str:
    """Groups of dimensions less their means, as norms of groups are written."""
    shape = net.shape(x)
    at = int(rng.integers(1, len(shape)))
    joined = net.reshape(x, *shape[:at], math.prod(shape[at:]))
    mean = net.op("mean", (joined,), MeanAttrs((at,), keep_dims=True))
    return net.reshape(net.op("sub", (joined, mean), AddAttrs()), *shape)


def pooled(net: RandomNet, x: str, rng: Rng) -> str | None:
    if len(net.shape(x)) != 4:
        return None
    size = int(rng.choice([1, 2])) if _fits(net, x) else 1
    op = str(rng.choice(["max_pool2d", "average_pool2d"]))
    return net.op(op, (x,), Pool2dAttrs((size, size), (size, size), "VALID"))


def siblings(net: RandomNet, x: str, rng: Rng) -> str | None:
    if len(net.shape(x)) != 4:
        return None
    first, second = net.conv(x, 2, 1), net.conv(x, 3, 1)
    if rng.random() < 0.5:
        return net.op("concatenation", (second, first), ConcatenationAttrs(3))
    return net.op("concatenation", (net.op("tanh", (first,)), second), ConcatenationAttrs(3))


def parallel(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Layers side by side, whose outputs are added."""
    if len(net.shape(x)) != 4:
        return None
    c = net.channels(x)
    y = net.add(net.conv(x, c, 3 if rng.random() < 0.5 else 5), net.conv(x, c, 1))
    return net.add(net.batch_norm(x), y) if rng.random() < 0.5 else y


def layer(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A layer with what follows it, or what comes before it."""
    if rng.random() < 0.3:
        return weighted(net, net.mul(x, net.random(net.channels(x))), rng)
    y = weighted(net, x, rng)
    if y is None:
        return None
    y = net.batch_norm(y) if rng.random() < 0.6 else net.add(y, net.random(net.channels(y)))
    return net.op("relu", (y,)) if rng.random() < 0.6 else y


def turned_rows(net: RandomNet, x: str, rng: Rng) -> str | None:
    """What stands between a convolution and a classifier."""
    shape = net.shape(x)
    if len(shape) != 4:
        return None
    turned = net.transpose(x, TO_NCHW)
    if rng.random() < 0.5:
        return net.op("mean", (turned,), MeanAttrs((2, 3)))
    flat = net.reshape(turned, shape[0], math.prod(shape[1:]))
    return net.dense(flat)


def one_pixel(net: RandomNet, x: str, rng: Rng) -> str:
    """A dense layer that is written as a convolution."""
    shape = net.shape(x)
    rows = net.reshape(x, shape[0], 1, 1, math.prod(shape[1:]))
    y = net.conv(rows, 3, 1)
    return net.reshape(net.op("tanh", (y,)), shape[0], 3) if rng.random() < 0.5 else y


def shuffled(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Channels in another order, as exporters of channels-first models write it."""
    shape = net.shape(x)
    if len(shape) != 4 or shape[3] % 2:
        return unfolded(net, x, rng)
    x = net.transpose(x, TO_NCHW)
    x = net.reshape(x, shape[0], 2, shape[3] // 2, *shape[1:3])
    x = net.transpose(x, (0, 2, 1, 3, 4))
    return net.transpose(net.reshape(x, shape[0], shape[3], *shape[1:3]), TO_NHWC)


def halved(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Channels in another order, of which a layer reads a half and the rest passes."""
    if len(net.shape(x)) != 4 or net.channels(x) % 2:
        return None
    y = shuffled(net, x, rng)
    assert y is not None
    shape = net.shape(y)
    halves, size = [], (*shape[:3], shape[3] // 2)
    for begin in (0, shape[3] // 2):
        halves.append(net.op("slice", (y,), SliceAttrs((0, 0, 0, begin), size, (1,) * 4)))
    two = net.op("relu", (net.conv(net.depthwise(halves[1]), 3),))
    joined = net.op("concatenation", (halves[0], net.conv(two, 2)), ConcatenationAttrs(3))
    return picked_channels(net, joined, rng)


def picked_channels(net: RandomNet, x: str, rng: Rng) -> str:
    """Some of the channels, in any order."""
    count = int(rng.integers(1, net.channels(x) + 1))
    indices = tuple(int(i) for i in rng.permutation(net.channels(x))[:count])
    axis = len(net.shape(x)) - 1
    picked = net.op("gather", (x,), GatherAttrs(axis, indices, (count,)))
    if axis == 3 and count % 2 == 0:
        return shared(net, picked) if rng.random() < 0.5 else picked
    return weighed(net, x) if rng.random() < 0.3 else picked


def weighed(net: RandomNet, x: str) -> str:
    """Three channels of a layer weighed against each other, twice for each pixel."""
    rows = net.dense(net.reshape(x, -1, net.channels(x)), 6)
    return net.softmax(net.transpose(net.reshape(rows, -1, 3, 2), (0, 2, 1)))


def shared(net: RandomNet, x: str) -> str:
    """Each of the first half of the channels weighed against one of the second half."""
    n, h, w, c = net.shape(x)
    pairs = net.transpose(net.reshape(x, n, h, w, 2, c // 2), (0, 1, 2, 4, 3))
    return net.reshape(net.transpose(net.softmax(pairs), (0, 1, 2, 4, 3)), n, h, w, c)


def pixels(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Pixels from the channels of a layer, as exporters of channels-first models write it."""
    shape = net.shape(x)
    if len(shape) != 4 or max(shape[1:3]) > 8:
        return None
    y = net.conv(x, 8, 1, activation=str(rng.choice(["NONE", "RELU"])))
    y = net.reshape(net.transpose(y, TO_NCHW), shape[0], 2, 2, 2, *shape[1:3])
    y = net.reshape(net.transpose(y, (0, 1, 4, 2, 5, 3)), shape[0], 2, 2 * shape[1], 2 * shape[2])
    return net.transpose(y, TO_NHWC)


def attention(net: RandomNet, x: str, rng: Rng) -> str | None:
    """Two heads, of queries, keys and values as exporters write them: of one layer or of three."""
    width, steps = 3, math.prod(net.shape(x)[:-1])
    if steps > 40:
        return None
    rows = net.reshape(x, steps, net.shape(x)[-1])
    kind = rng.random()
    if kind < 0.4:
        return _attend(net, _thirds(net, rows, kind < 0.25), rng)
    whole = net.reshape(net.dense(rows, 6 * width), steps, 3, 2 * width)
    if kind < 0.6:
        whole = net.transpose(net.reshape(whole, 1, steps, 3, 2, width), (2, 0, 3, 1, 4))
        parts = [_part(net, whole, i, (0,)) for i in range(3)]
    else:
        if rng.random() < 0.6:
            whole = net.transpose(whole, (1, 0, 2))
            cuts = [_part(net, whole, i, ()) for i in range(3)]
        else:
            size = (steps, 1, 2 * width)
            places = [SliceAttrs((0, i, 0), size, (1, 1, 1)) for i in range(3)]
            cuts = [net.op("slice", (whole,), place) for place in places]
        heads = [net.reshape(cut, steps, 1, 2, width) for cut in cuts]
        parts = [net.transpose(head, (1, 2, 0, 3)) for head in heads]
    return _attend(net, parts, rng)


def _thirds(net: RandomNet, rows: str, of_one_layer: bool) -> list[str]:
    """Heads of three layers, or of thirds of one layer's channels: (1, 2, steps, 3) each."""
    steps, width = net.shape(rows)[0], 6
    if of_one_layer:
        whole = net.dense(rows, 3 * width)
        cuts = [SliceAttrs((0, i * width), (steps, width), (1, 1)) for i in range(3)]
        thirds = [net.op("slice", (whole,), cut) for cut in cuts]
    else:
        thirds = [net.dense(rows, width) for _ in range(3)]
    return [net.transpose(net.reshape(y, 1, steps, 2, 3), (0, 2, 1, 3)) for y in thirds]


def _attend(net: RandomNet, parts: list[str], rng: Rng) -> str:
    """What heads of queries, keys and values answer, and a layer behind it."""
    q, k, v = parts
    _, _, steps, width = net.shape(q)
    scores = net.op("batch_matmul", (q, net.transpose(k, (0, 1, 3, 2))), BatchMatmulAttrs())
    weights = net.softmax(net.mul(scores, 0.1))
    if rng.random() < 0.5:  # as attention between pixels is written, channels first
        turned = net.transpose(v, (0, 1, 3, 2))
        mixed = net.op("batch_matmul", (turned, weights), BatchMatmulAttrs(adj_y=True))
        rows = net.reshape(net.transpose(mixed, (0, 3, 1, 2)), steps, 2 * width)
        image = net.reshape(net.transpose(v, (0, 2, 1, 3)), 1, steps, 1, 2 * width)
        rows = net.add(rows, net.reshape(net.depthwise(image), steps, 2 * width))
        wide = net.op("tanh", (net.dense(rows, 200),))  # more memory than attention needs
        return net.dense(wide, 2 * width)
    mixed = net.op("batch_matmul", (weights, v), BatchMatmulAttrs())
    rows = net.reshape(net.transpose(mixed, (0, 2, 1, 3)), steps, 2 * width)
    return net.dense(net.op("tanh", (rows,))) if rng.random() < 0.5 else rows


def unfolded(net: RandomNet, x: str, rng: Rng) -> str | None:
    """The same pixel of all patches side by side, as exporters write it of an image."""
    shape = net.shape(x)
    axes = [axis for axis in (2, 1) if len(shape) == 4 and shape[axis] % 2 == 0]
    for axis in axes[: int(rng.integers(1, 3))]:
        steps = shape[axis] // 2
        places = np.arange(2 * steps).reshape(steps, 2).T.reshape(-1)
        attrs = GatherAttrs(axis, tuple(places.tolist()), (2, steps))
        x = net.op("gather", (x,), attrs)
    return net.reshape(x, shape[0], math.prod(shape[1:3]), shape[3]) if axes else None


def _part(net: RandomNet, x: str, i: int, dropped: tuple[int, ...]) -> str:
    """One element of the first dimension."""
    shape = net.shape(x)
    begin, strides = (i, *(0 for _ in shape[1:])), tuple(1 for _ in shape)
    return net.op("slice", (x,), SliceAttrs(begin, (1, *shape[1:]), strides, dropped))


def inserted(net: RandomNet, x: str, rng: Rng) -> str | None:
    """A new dimension of 1 behind a border or a transpose."""
    if len(net.shape(x)) == 4:
        x = net.reshape(
            net.op("tanh", (x,)),
            net.shape(x)[0],
            net.shape(x)[1] * net.shape(x)[2],
            net.channels(x),
        )
    if len(net.shape(x)) != 3:
        return None
    inner = net.transpose(x, (0, 2, 1)) if rng.random() < 0.5 else padded(net, x, rng)
    shape = net.shape(inner)
    return net.reshape(inner, shape[0], 1, *shape[1:])
