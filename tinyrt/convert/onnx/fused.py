"""Ops that onnxruntime's optimiser makes of several, and old trial ops: the nodes they stand for.

Each takes a call, whose operands' shapes are known, and gives nodes of operator set ``OPSET``.
Definitions: onnxruntime's documentation of its contributed operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.expansion import MICROSOFT, WINDOW, Expansion
from tinyrt.convert.onnx.rotary import rotary_embedding
from tinyrt.convert.onnx.spectra import dft, stft
from tinyrt.convert.onnx.weights import listed
from tinyrt.errors import ModelFormatError, UnsupportedError

OPSET = 18
"""The operator set of the nodes."""

Expand = Callable[[Call], list[onnx.NodeProto]]

ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "LeakyRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
}
"""Activations of fused layers -> the attributes that their parameters are, in order."""


def _activated(
    b: Expansion, x: str, attrs: Mapping[str, Any], limits: Sequence[float] = ()
) -> None:
    """What a fused layer applies at its end: an activation with these attributes, or with limits.

    Raises:
        UnsupportedError: there is no such activation.

    """
    kind = b.node.get_string("activation", "")
    if kind == "Clip" and len(limits) == 2:
        low, high = map(b.number, limits)
        b.op("Min", (b.op("Max", (x, low)), high))
    elif kind in ACTIVATIONS:
        b.op(kind, (x,), **attrs)
    elif kind:
        raise UnsupportedError(
            f"{b.node.op} with the activation {listed([kind])[1:-1]}",
            expected=f"{', '.join(ACTIVATIONS)}, or Clip with two limits",
            hint="save the model with fewer of onnxruntime's optimisations",
        )


def _names(call: Call) -> tuple[str, ...]:
    """The attributes of the call's activation."""
    return ACTIVATIONS.get(call.node.get_string("activation", ""), ())


def _fused_conv(call: Call, *, last: bool = False) -> list[onnx.NodeProto]:
    """A convolution, what is added to it, and an activation; ``last``: of channels-last images."""
    b, rank = Expansion(call.node), len(call.shape(0))
    x, first = b.name(0), [0, rank - 1, *range(1, rank - 1)]
    x = b.op("Transpose", (x,), perm=first) if last else x
    y = b.op("Conv", (x, b.name(1), b.name(2)), WINDOW)
    y = b.op("Transpose", (y,), perm=[0, *range(2, rank), 1]) if last else y
    y = b.op("Add", (y, b.name(3))) if b.name(3) else y
    parameters = call.node.get_floats("activation_params") or ()
    _activated(b, y, dict(zip(_names(call), parameters, strict=False)), parameters)
    return b.ended()


def _nhwc_fused_conv(call: Call) -> list[onnx.NodeProto]:
    return _fused_conv(call, last=True)


def _fused_gemm(call: Call) -> list[onnx.NodeProto]:
    b, node = Expansion(call.node), call.node
    names = [name for i, name in enumerate(node.inputs) if i < 2 or name]
    y = b.op("Gemm", names, ("alpha", "beta", "transA", "transB"))
    given = {name: f"activation_{name}" for name in _names(call)}
    _activated(b, y, {n: node.get_float(name, 0.0) for n, name in given.items() if node.has(name)})
    return b.ended()


def _fused_matmul(call: Call) -> list[onnx.NodeProto]:
    """``alpha * A' @ B'``, where ' may swap the last two dimensions."""
    b, node = Expansion(call.node), call.node
    if node.get_int("transBatchA", 0) or node.get_int("transBatchB", 0):
        raise UnsupportedError(
            "FusedMatMul that turns the dimensions of the batch",
            expected="transBatchA and transBatchB 0",
            hint="save the model with fewer of onnxruntime's optimisations",
        )
    operands = []
    for i, name in enumerate(("transA", "transB")):
        rank, operand = len(call.shape(i)), b.name(i)
        if node.get_int(name, 0) and rank > 1:
            perm = [*range(rank - 2), rank - 1, rank - 2]
            operand = b.op("Transpose", (operand,), perm=perm)
        operands.append(operand)
    y = b.op("MatMul", operands)
    if node.get_float("alpha", 1.0) != 1:
        b.op("Mul", (y, b.number(node.get_float("alpha", 1.0))))
    return b.ended()


def _gelu_of_sum(call: Call, *, tanh: bool) -> list[onnx.NodeProto]:
    b = Expansion(call.node)
    x = b.op("Add", (b.name(0), b.name(1))) if b.name(1) else b.name(0)
    b.op("Gelu", (x,), approximate="tanh" if tanh else "none")
    return b.ended()


def _gelu(call: Call) -> list[onnx.NodeProto]:
    return _gelu_of_sum(call, tanh=False)


def _fast_gelu(call: Call) -> list[onnx.NodeProto]:
    return _gelu_of_sum(call, tanh=True)


def _quick_gelu(call: Call) -> list[onnx.NodeProto]:
    """``x * sigmoid(alpha * x)``."""
    b = Expansion(call.node)
    b.op("Swish", (b.name(0),), alpha=call.node.get_float("alpha", 1.702))
    return b.ended()


def _skip_norm(op: str, bias: int) -> Expand:
    """A norm of the sum of two inputs and a bias; the fourth output is the sum."""

    def expand(call: Call) -> list[onnx.NodeProto]:
        b, node = Expansion(call.node), call.node
        total = b.op("Add", (b.name(0), b.name(1)))
        total = b.op("Add", (total, b.name(bias))) if b.name(bias) else total
        if len(node.outputs) > 3 and node.outputs[3]:
            b.nodes[-1].output[0] = total = node.outputs[3]
        parameters = (b.name(2), b.name(3)) if bias == 4 and b.name(3) else (b.name(2),)
        epsilon = node.get_float("epsilon", 1e-12)
        b.op(op, (total, *parameters), axis=-1, epsilon=epsilon)
        return b.ended()

    return expand


def _embedding_norm(call: Call) -> list[onnx.NodeProto]:
    """The norm of the sum of what stands for a token, its place, and its segment."""
    b = Expansion(call.node)
    length = call.shape(0)[-1]
    places = b.name(8) or b.constant(np.arange(length, dtype=np.int64))
    pairs = [(b.name(2), b.name(0)), (b.name(3), places)]
    pairs += [(b.name(4), b.name(1))] if b.name(1) else []
    total, *others = (b.op("Gather", pair) for pair in pairs)
    for other in others:
        total = b.op("Add", (total, other))
    epsilon = call.node.get_float("epsilon", 1e-12)
    b.op("LayerNormalization", (total, b.name(5), b.name(6)), axis=-1, epsilon=epsilon)
    return b.ended()


def _refuse_inputs(call: Call, first: int, but: int, names: str) -> None:
    """Raise ``UnsupportedError`` where inputs from ``first`` on are used, other than ``but``."""
    used = [i for i in range(first, len(call.node.inputs)) if call.has(i) and i != but]
    if used:
        raise UnsupportedError(
            f"{call.node.op} with the input '{call.node.inputs[used[0]]}'",
            expected=f"attention without {names}",
            hint="export the model again, and leave onnxruntime's optimisation out",
        )


def _heads(b: Expansion, x: str, count: int) -> str:
    """(n, length, size) as (n, heads, length, size of a head)."""
    shape = b.constant(np.array([0, 0, count, -1], np.int64))
    return b.op("Transpose", (b.op("Reshape", (x, shape)),), perm=[0, 2, 1, 3])


def _attended(b: Expansion, parts: Sequence[str], sizes: Sequence[int], bias: str) -> None:
    """``softmax(q k' scale + bias) v`` for each head.

    Args:
        b: the expansion of the node.
        parts: query, key and value, each (n, length, size).
        sizes: the size of a query, and how many queries and keys there are.
        bias: what is added to scores; may be empty.

    Raises:
        ModelFormatError: the heads do not part the query.
        UnsupportedError: which keys come before a query is not defined.

    """
    node = b.node
    count, (size, queries, keys) = node.get_int("num_heads", 0), sizes
    if count < 1 or size % count:
        raise ModelFormatError(f"{count} heads of {size} numbers", expected="heads of equal size")
    q, k, v = (_heads(b, part, count) for part in parts)
    scale = node.get_float("scale", 0.0) or 1 / float(np.sqrt(size // count))
    turned = b.op("Transpose", (k,), perm=[0, 1, 3, 2])
    scores = b.op("Mul", (b.op("MatMul", (q, turned)), b.number(scale)))
    scores = b.op("Add", (scores, bias)) if bias else scores
    if node.get_int("unidirectional", 0):
        if queries != keys:
            raise UnsupportedError(
                f"unidirectional {node.op} of {queries} queries and {keys} keys",
                expected="as many: runtimes differ in which keys come before a query",
                hint="export the model with a bias on its scores in place of unidirectional",
            )
        later = np.triu(np.full((queries, keys), np.finfo(np.float32).min), 1)
        scores = b.op("Add", (scores, b.constant(later.astype(np.float32))))
    mixed = b.op("MatMul", (b.op("Softmax", (scores,), axis=-1), v))
    joined = b.op("Transpose", (mixed,), perm=[0, 2, 1, 3])
    b.op("Reshape", (joined, b.constant(np.array([0, 0, -1], np.int64))))


def _attention(call: Call) -> list[onnx.NodeProto]:
    """Attention with the layer before it, whose outputs are query, key and value."""
    _refuse_inputs(call, 3, 5, "masks, states and lengths")
    b, node, width = Expansion(call.node), call.node, call.shape(1)[-1]
    sizes = list(node.get_ints("qkv_hidden_sizes") or (width // 3,) * 3)
    layer = b.op("MatMul", (b.name(0), b.name(1)))
    layer = b.op("Add", (layer, b.name(2))) if b.name(2) else layer
    parts = b.split(layer, sizes)
    length = call.shape(0)[1]
    _attended(b, parts, (sizes[0], length, length), b.name(5))
    return b.ended()


def _multi_head_attention(call: Call) -> list[onnx.NodeProto]:
    """Attention of query, key and value (n, length, size), each with its part of a bias."""
    _refuse_inputs(call, 4, 5, "masks, states and lengths")
    shapes = [call.shape(i) if call.has(i) else () for i in range(3)]
    if any(len(shape) != 3 for shape in shapes):
        raise UnsupportedError(
            f"MultiHeadAttention of {listed(shapes)}",
            expected="query, key and value of three dimensions each",
            hint="export the model again, and leave onnxruntime's optimisation out",
        )
    b = Expansion(call.node)
    parts = [b.name(i) for i in range(3)]
    if b.name(3):
        biases = b.split(b.name(3), [shape[-1] for shape in shapes])
        parts = [b.op("Add", pair) for pair in zip(parts, biases, strict=True)]
    _attended(b, parts, (shapes[0][-1], shapes[0][1], shapes[1][1]), b.name(5))
    return b.ended()


def _renamed(op: str, *keep: str) -> Expand:
    """ONNX's own op of the same meaning."""

    def expand(call: Call) -> list[onnx.NodeProto]:
        b = Expansion(call.node)
        b.op(op, call.node.inputs, keep)
        return b.ended()

    return expand


def _image_scaler(call: Call) -> list[onnx.NodeProto]:
    """``scale * x + bias``, with a bias for each channel."""
    b = Expansion(call.node)
    bias = np.asarray(call.node.get_floats("bias") or (0.0,), np.float32).reshape(-1, 1, 1)
    scaled = b.op("Mul", (b.name(0), b.number(call.node.get_float("scale", 1.0))))
    b.op("Add", (scaled, b.constant(bias)))
    return b.ended()


def _scaled(inner: str) -> Expand:
    """``alpha * inner(beta * x)``; without ``inner``, ``alpha * x + beta``."""

    def expand(call: Call) -> list[onnx.NodeProto]:
        b = Expansion(call.node)
        alpha, beta = (b.number(call.node.get_float(name, 1.0)) for name in ("alpha", "beta"))
        if inner:
            y = b.op(inner, (b.op("Mul", (b.name(0), beta)),))
            b.op("Mul", (y, alpha))
        else:
            b.op("Add", (b.op("Mul", (b.name(0), alpha)), beta))
        return b.ended()

    return expand


FUSED: dict[tuple[str, str], Expand] = {
    ("", "Affine"): _scaled(""),
    ("", "DFT"): dft,
    ("", "ImageScaler"): _image_scaler,
    ("", "ParametricSoftplus"): _scaled("Softplus"),
    ("", "STFT"): stft,
    ("", "ScaledTanh"): _scaled("Tanh"),
    ("", "SimplifiedLayerNormalization"): _renamed("RMSNormalization", "axis", "epsilon"),
    (MICROSOFT, "Attention"): _attention,
    (MICROSOFT, "BiasGelu"): _gelu,
    (MICROSOFT, "EmbedLayerNormalization"): _embedding_norm,
    (MICROSOFT, "FastGelu"): _fast_gelu,
    (MICROSOFT, "FusedConv"): _fused_conv,
    (MICROSOFT, "FusedGemm"): _fused_gemm,
    (MICROSOFT, "FusedMatMul"): _fused_matmul,
    (MICROSOFT, "Gelu"): _gelu,
    (MICROSOFT, "MultiHeadAttention"): _multi_head_attention,
    (MICROSOFT, "NhwcFusedConv"): _nhwc_fused_conv,
    (MICROSOFT, "QuickGelu"): _quick_gelu,
    (MICROSOFT, "RotaryEmbedding"): rotary_embedding,
    (MICROSOFT, "SkipLayerNormalization"): _skip_norm("LayerNormalization", 4),
    (MICROSOFT, "SkipSimplifiedLayerNormalization"): _skip_norm("RMSNormalization", 3),
    (MICROSOFT, "Trilu"): _renamed("Trilu", "upper"),
}
"""Domain and op type -> the nodes that it stands for, given its call."""
