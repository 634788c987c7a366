"""How ops with weights are written for a GPU; the fast forms are in dense.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.backends.cuda.dense import CHANNEL, data_of, emit_dense, emit_depthwise, window_ints
from tinyrt.backends.cuda.writer import C_TYPES, DeviceWriter, index_of
from tinyrt.ir import BoundNode, DType, Shape, Value
from tinyrt.ops.batch_matmul import BatchMatmulS8, BatchMatmulS16
from tinyrt.ops.fully_connected import FullyConnectedS8, FullyConnectedS16
from tinyrt.ops.shared.requant import Requant, Steps, WideRequant
from tinyrt.ops.shared.spec import Array, qparams
from tinyrt.ops.shared.walks import strides_of
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionS8, ConvolutionS16
from tinyrt.ops.transpose_conv import TransposeConvAttrs, TransposeConvS8, TransposeConvS16


def plain_channels(requant: Requant | WideRequant, bias: Array | None) -> Array:
    """Requantisation for plain kernels, which sum centred inputs."""
    array = np.zeros(len(requant.mult), CHANNEL)
    array["offset"] = 0 if bias is None else bias
    array["mult"] = requant.mult
    array["shift"] = requant.shift if isinstance(requant, Requant) else requant.right
    return array


def _plain_types(x: Value, y: Value, wide: bool) -> dict[str, str]:
    # Sums of int8 wrap around as registers do; those of int16 have 64 bits.
    acc = "i64" if wide or x.dtype is DType.INT16 else "i32"
    return {"X": C_TYPES[x.dtype], "Y": C_TYPES[y.dtype], "Acc": acc}


def emit_plain(
    kernel: str,
    node: BoundNode,
    ints: dict[str, int | bool],
    weights: Array,
    requant: Requant | WideRequant,
    w: DeviceWriter,
) -> None:
    """Write ``plain_convolution`` or ``transposed_convolution``: one output per thread.

    Args:
        kernel: which.
        node: the op.
        ints: what the kernel takes of shapes and the input's zero point.
        weights: (c_out, kh, kw, c_in / groups).
        requant: multipliers and clamp.
        w: the writer.

    """
    x, bias, y = node.input(0), node.optional(2), node.output
    wide = isinstance(requant, WideRequant)
    ints |= {
        "WIDE": wide,
        "Y_ZP": requant.y_zp if isinstance(requant, Requant) else 0,
        "ACT_MIN": requant.act_min,
        "ACT_MAX": requant.act_max,
    }
    blobs = {"weights": weights, "channels": plain_channels(requant, data_of(bias))}
    types = _plain_types(x, y, wide)
    tensors = {"x": x, "y": y}
    w.op(kernel, "plain", y.size, ints=ints, tensors=tensors, types=types, blobs=blobs)


def emit_conv2d(node: BoundNode, p: ConvolutionS8 | ConvolutionS16, w: DeviceWriter) -> None:
    """Write a convolution: on the tensor cores, but for groups and int16."""
    x, weights, y = node.input(0), node.input(1), node.output
    window, requant, (_, x_zp) = p.window, p.requant, qparams(x)
    per_group = weights.shape[3]
    if x.dtype is DType.INT8 and per_group == x.shape[3] and isinstance(requant, Requant):
        emit_dense(node, window, x_zp, requant, w)
        return
    groups = x.shape[3] // per_group
    ints = {
        **window_ints(window, x, y), "C_GROUP": per_group,
        "PER_GROUP": y.shape[3] // groups, "X_ZP": x_zp,
    }  # fmt: skip
    emit_plain("plain_convolution", node, ints, np.asarray(weights.data), requant, w)


def emit_depthwise_conv2d(
    node: BoundNode, p: ConvolutionS8 | ConvolutionS16, w: DeviceWriter
) -> None:
    """Write a depthwise convolution: in registers, but for odd channels and int16."""
    x, weights, y = node.input(0), node.input(1), node.output
    window, requant, (_, x_zp) = p.window, p.requant, qparams(x)
    multiplier = y.shape[3] // x.shape[3]
    fits = x.dtype is DType.INT8 and multiplier == 1 and x.shape[3] % 4 == 0
    if fits and isinstance(requant, Requant):
        emit_depthwise(node, window, x_zp, requant, w)
        return
    ints = {
        **window_ints(window, x, y), "C_GROUP": 1,
        "PER_GROUP": multiplier, "X_ZP": x_zp,
    }  # fmt: skip
    per_channel = np.ascontiguousarray(np.asarray(weights.data).transpose(3, 1, 2, 0))
    emit_plain("plain_convolution", node, ints, per_channel, requant, w)


def emit_fully_connected(
    node: BoundNode, p: FullyConnectedS8 | FullyConnectedS16, w: DeviceWriter
) -> None:
    """Write a matrix product as a convolution of one tap over rows of ``k`` channels."""
    x, weights = node.input(0), node.input(1)
    requant, (_, x_zp) = p.requant, qparams(x)
    c_out, k = weights.shape
    if isinstance(requant, Steps):
        _emit_stepped(node, x_zp, requant, w)
        return
    rows = x.size // k
    window = Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0), (rows, 1))
    convolution = _reshaped(node, (1, rows, 1, k), (1, rows, 1, c_out))
    if x.dtype is DType.INT8 and isinstance(requant, Requant):
        emit_dense(convolution, window, x_zp, requant, w)
        return
    ints = {
        **window_ints(window, convolution.input(0), convolution.output),
        "C_GROUP": k, "PER_GROUP": c_out, "X_ZP": x_zp,
    }  # fmt: skip
    emit_plain("plain_convolution", convolution, ints, np.asarray(weights.data), requant, w)


def _emit_stepped(node: BoundNode, x_zp: int, requant: Steps, w: DeviceWriter) -> None:
    """A dense layer that rounds as on uint8: one output per thread."""
    x, weights, bias, y = node.input(0), node.input(1), node.optional(2), node.output
    c_out, k = weights.shape
    ints: dict[str, int | bool] = {
        "SIZE": y.size, "N": c_out, "K": k, "X_ZP": x_zp,
        "STEPS": len(requant.last), "ACT_MIN": requant.act_min,
    }  # fmt: skip
    biases = np.zeros(c_out, np.int32) if bias is None else np.asarray(bias.data)
    blobs = {"weights": np.asarray(weights.data), "biases": biases, "last": requant.last}
    tensors = {"x": x, "y": y}
    w.op("stepped_product", "plain", y.size, ints=ints, tensors=tensors, blobs=blobs)


def _reshaped(node: BoundNode, x: Shape, y: Shape) -> BoundNode:
    """The node with its input and output in other shapes."""
    first, *others = node.inputs
    assert first is not None, "a dense layer has an input"
    output = replace(node.output, shape=y)
    return replace(node, inputs=(replace(first, shape=x), *others), outputs=(output,))


ON_TENSOR_CORES = (emit_conv2d, emit_fully_connected)
"""Emitters that call ``emit_dense`` where activations are int8."""


def emit_transpose_conv(
    node: BoundNode, p: TransposeConvS8 | TransposeConvS16, w: DeviceWriter
) -> None:
    """Write a transposed convolution; its window slides over the output."""
    x, weights, y = node.input(0), node.input(1), node.output
    attrs = node.attrs_as(TransposeConvAttrs)
    kernel = (weights.shape[1], weights.shape[2])
    window = Window.of(attrs.size, kernel, attrs.stride, attrs.padding)
    requant, (_, x_zp) = p.requant, qparams(x)
    ints = {
        "IMAGES": x.shape[0], "IH": x.shape[1], "IW": x.shape[2], "C": x.shape[3],
        "OH": y.shape[1], "OW": y.shape[2], "N": y.shape[3],
        "KH": window.kernel[0], "KW": window.kernel[1],
        "SY": window.stride[0], "SX": window.stride[1],
        "PT": window.before[0], "PL": window.before[1], "X_ZP": x_zp,
    }  # fmt: skip
    emit_plain("transposed_convolution", node, ints, np.asarray(weights.data), requant, w)


def emit_batch_matmul(node: BoundNode, p: BatchMatmulS8 | BatchMatmulS16, w: DeviceWriter) -> None:
    """Write a product of two activations."""
    a, b, y = node.input(0), node.input(1), node.output
    batch, (rows, columns) = y.shape[:-2], y.shape[-2:]
    inner = a.shape[-2 if p.attrs.adj_x else -1]
    steps = {
        "a": (rows if p.attrs.adj_x else 1, 1 if p.attrs.adj_x else inner, 0),
        "b": (1 if p.attrs.adj_y else columns, 0, inner if p.attrs.adj_y else 1),
    }
    functions = {}
    for name, value in (("a", a), ("b", b)):
        lead = (1,) * (len(batch) + 2 - len(value.shape)) + value.shape
        batches = [0 if d == 1 else s for d, s in zip(lead, strides_of(lead), strict=True)][:-2]
        walk = index_of((*batch, rows, columns), (*batches, *steps[name][1:]))
        functions[f"int {name}_at(int i)"] = walk if "i" in walk else f"(void)i, {walk}"
    wide = isinstance(p, BatchMatmulS16)
    low, high = (-32768, 32767) if wide else (-128, 127)
    channels = np.zeros(1, CHANNEL)
    channels["mult"], channels["shift"] = (
        p.mult,
        p.right if isinstance(p, BatchMatmulS16) else p.shift,
    )
    zeros = (0, 0, 0) if isinstance(p, BatchMatmulS16) else (p.a_zp, p.b_zp, p.y_zp)
    ints: dict[str, int | bool] = {
        "SIZE": y.size, "K": inner, "A_STEP": steps["a"][0], "B_STEP": steps["b"][0],
        "A_ZP": zeros[0], "B_ZP": zeros[1], "Y_ZP": zeros[2],
        "WIDE": wide, "ACT_MIN": low, "ACT_MAX": high,
    }  # fmt: skip
    w.op(
        "matrix_product",
        "plain",
        y.size,
        ints=ints,
        tensors={"a": a, "b": b, "y": y},
        types=_plain_types(a, y, wide),
        blobs={"channels": channels},
        functions=functions,
    )
