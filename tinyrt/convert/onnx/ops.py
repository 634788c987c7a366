"""ONNX ops that compute on activations: one small function each, and the table ``IMPORTERS``.

An importer takes a call and returns the value of the op's first output. Ops with weights are in
``onnx_dense``, ops with windows in ``onnx_window``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tinyrt.convert.onnx.call import Call, Importer
from tinyrt.convert.onnx.dense import batch_normalization, gemm, matmul
from tinyrt.convert.onnx.einsum import einsum
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.move import MOVE, split, take_elements
from tinyrt.convert.onnx.pointwise import POINTWISE
from tinyrt.convert.onnx.recurrent import KINDS, recurrent
from tinyrt.convert.onnx.reduce import REDUCE, layer_normalization
from tinyrt.convert.onnx.shapes import (
    WIDEST,
    flattened,
    normal_axes,
    permutation,
    reduced_axes,
    reshaped,
    sized,
    squeezed,
    unsqueezed,
)
from tinyrt.convert.onnx.upsample import conv_transpose, global_lp_pool, lp_pool
from tinyrt.convert.onnx.weights import TYPED, checked_shape, element_type
from tinyrt.convert.onnx.window import (
    average_pool,
    conv,
    global_average_pool,
    global_max_pool,
    max_pool,
)
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Value

CLIP_OPS = {(0.0, np.inf): "relu", (0.0, 6.0): "relu6", (-1.0, 1.0): "relu_n1_to_1"}
"""Bounds that an op of their own stands for."""


def _ranks_aligned(call: Call, a: Value, b: Value) -> tuple[Value, Value]:
    """Both operands; an activation of lower rank gets leading dimensions of 1."""
    rank = max(len(a.shape), len(b.shape))

    def aligned(x: Value) -> Value:
        if x.is_constant:
            return x
        return call.reshape(x, (1,) * (rank - len(x.shape)) + x.shape, f"{call.result}.aligned")

    return aligned(a), aligned(b)


INTEGERS = (DType.INT32, DType.INT64)
"""Element types of what a model counts with, from the narrower one on."""


def _operands(call: Call, count: int) -> list[Value]:
    """The inputs; beside integers that are computed, constants are integers of their width."""
    operands = [call.operand(i) for i in range(count)]
    kinds = [k for k in INTEGERS if k in {x.dtype for x in operands if isinstance(x, Value)}]
    if not kinds:
        return [call.value(i) for i in range(count)]
    return [_integer(call, i, kinds[-1]) for i in range(count)]


def _integer(call: Call, i: int, kind: DType) -> Value:
    """Input ``i`` as integers of that width.

    Raises:
        UnsupportedError: it is a constant that does not fit.

    """
    x = call.operand(i)
    if isinstance(x, Value) and x.dtype in INTEGERS and x.dtype is not kind:
        return call.emit("cast", x, name=f"{call.result}.wide", dtype=kind)
    if isinstance(x, Value | Quantized) or x.dtype.kind not in "iu":
        return call.value(i)
    limits = np.iinfo(kind.numpy)
    if x.size and (x.min() < limits.min or x.max() > limits.max):
        raise UnsupportedError(
            f"the constant '{call.node.inputs[i]}' reaches from {x.min()} to {x.max()}",
            expected=f"integers of {kind.short}, as which inputs are computed with",
            hint="compute with large integers before the model",
        )
    name = f"{call.node.inputs[i]}.{kind.short}"
    return call.builder.constant(name, np.atleast_1d(x).astype(kind.numpy))


def _binary(op: str) -> Importer:
    def convert(call: Call) -> Value:
        a, b = _operands(call, 2)
        return call.emit(op, *_ranks_aligned(call, a, b))

    return convert


def _variadic(op: str) -> Importer:
    """``op`` over any number of operands, from the left."""

    def convert(call: Call) -> Value:
        result, *others = _operands(call, max(len(call.node.inputs), 1))
        for i, operand in enumerate(others, 1):
            name = "" if i == len(others) else f"{call.result}.partial"
            result = call.emit(op, *_ranks_aligned(call, result, operand), name=name)
        return result

    return convert


def sub(call: Call) -> Value:
    """``x - c = x + (-c)`` where c is constant: additions fold into biases."""
    if not call.is_constant_input(1) or call.array(1).dtype.kind in "iu":
        return _binary("sub")(call)
    negated = call.constant(f"{call.node.inputs[1]}.negated", -call.array(1))
    return call.emit("add", call.value(0), negated)


def div(call: Call) -> Value:
    """``x / c = x * (1 / c)`` where c is constant: products fold into weights."""
    if not call.is_constant_input(1) or call.array(1).dtype.kind in "iu":
        return _binary("div")(call)
    divisor = call.array(1)
    if divisor.dtype == np.float32 and not np.all(divisor):
        raise UnsupportedError(
            "the divisor has zeros", expected="a constant without zeros", hint="correct the model"
        )
    reciprocal = call.constant(f"{call.node.inputs[1]}.reciprocal", np.reciprocal(divisor))
    return call.emit("mul", call.value(0), reciprocal)


def neg(call: Call) -> Value:
    """``-x = x * -1``."""
    x = call.value(0)
    kind = x.dtype if x.dtype in INTEGERS else DType.FLOAT32
    minus_one = call.builder.constant(f"{call.result}.minus_one", np.full(1, -1, kind.numpy))
    return call.emit("mul", x, minus_one)


def _bound(call: Call, i: int, name: str, default: float) -> float | Value:
    """A limit of Clip: an attribute before opset 11, then an input, which may be computed."""
    if call.opset < 11:
        bound = call.node.get_float(name, default)
    elif not call.has(i):
        return default
    elif not call.is_constant_input(i):
        return call.value(i)
    else:
        limit = call.array(i, f"the limit '{name}'")
        if limit.size != 1:
            raise ModelFormatError(f"'{name}' has shape {list(limit.shape)}", expected="a scalar")
        bound = float(limit.reshape(-1)[0])
    # Exporters write "no limit" as the greatest float.
    return default if abs(bound) >= np.finfo(np.float32).max else bound


def clip(call: Call) -> Value:
    """``min(max(x, low), high)``, as an op of the relu family where the bounds are one's."""
    x = call.value(0)
    low, high = _bound(call, 1, "min", -np.inf), _bound(call, 2, "max", np.inf)
    if (low, high) in CLIP_OPS:
        return call.emit(CLIP_OPS[low, high], x)  # type: ignore[index]
    limits: list[tuple[str, float | Value | None]] = []
    if low == 0:
        limits.append(("relu", None))
    elif low != -np.inf:
        limits.append(("maximum", low))
    if high != np.inf:
        limits.append(("minimum", high))
    for i, (op, limit) in enumerate(limits):
        name = "" if i == len(limits) - 1 else f"{call.result}.{op}"
        if limit is None:
            x = call.emit(op, x, name=name)
        elif isinstance(limit, Value):
            x = call.emit(op, *_ranks_aligned(call, x, limit), name=name)
        else:
            constant = call.constant(f"{call.result}.{op}_limit", np.full(1, limit, np.float32))
            x = call.emit(op, x, constant, name=name)
    return x


def identity(call: Call) -> Value:
    """The operand itself."""
    return call.value(0)


def dropout(call: Call) -> Value:
    """The operand itself: nothing is dropped in inference."""
    if call.has(2) and bool(call.array(2, "training_mode").any()):
        raise UnsupportedError(
            "Dropout is in training mode",
            expected="training_mode false",
            hint="export the model for inference (in PyTorch: model.eval())",
        )
    return call.value(0)


CASTS = {
    "FLOAT": DType.FLOAT32,
    "DOUBLE": DType.FLOAT32,
    "INT32": DType.INT32,
    "INT64": DType.INT64,
    "BOOL": DType.BOOL,
}


def cast(call: Call) -> Value:
    """Another element type, among those that float graphs compute with; doubles are float32."""
    to, x = element_type(call.node.get_int("to", 0)), call.value(0)
    if to not in CASTS:
        raise UnsupportedError(
            f"an activation is cast to {to}",
            expected=", ".join(CASTS),
            hint="export the model in float32 without conversions",
        )
    return x if CASTS[to] is x.dtype else call.emit("cast", x, dtype=CASTS[to])


def cast_like(call: Call) -> Value:
    """The element type of another tensor."""
    x, like = call.value(0), call.operand(1)
    if isinstance(like, Quantized):
        raise UnsupportedError(
            "an activation is cast to the integers of another",
            tensor=like.value.describe(),
            expected=", ".join(CASTS),
            hint="quantise the model in QDQ form",
        )
    kind = like.dtype if isinstance(like, Value) else DType.of(like.dtype)
    return x if kind is x.dtype else call.emit("cast", x, dtype=kind)


def reshape(call: Call) -> Value:
    """Another shape."""
    return call.reshape(call.value(0), reshaped(call))


def flatten(call: Call) -> Value:
    """Two dimensions."""
    return call.reshape(call.value(0), flattened(call))


def squeeze(call: Call) -> Value:
    """Without dimensions of 1."""
    return call.reshape(call.value(0), squeezed(call))


def unsqueeze(call: Call) -> Value:
    """With more dimensions of 1."""
    return call.reshape(call.value(0), unsqueezed(call))


def transpose(call: Call) -> Value:
    """Dimensions in another order."""
    return call.transpose(call.value(0), permutation(call))


def concat(call: Call) -> Value:
    """All operands along an axis."""
    values = [call.value(i) for i in range(max(len(call.node.inputs), 1))]
    (axis,) = normal_axes([call.node.get_int("axis", 1)], len(values[0].shape))
    return values[0] if len(values) == 1 else call.emit("concatenation", *values, axis=axis)


def reduce_mean(call: Call) -> Value:
    """The mean along axes."""
    axes = reduced_axes(call, input_since=18)
    if not axes:
        return call.value(0)
    keep = call.node.get_int("keepdims", 1) != 0
    return call.emit("mean", call.value(0), axes=axes, keep_dims=keep)


def pad(call: Call) -> Value:
    """A border; widths are an attribute before opset 11, then an input."""
    mode = call.node.get_string("mode", "constant")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise UnsupportedError(
            f"Pad in mode '{mode}'", expected="constant, reflect, edge or wrap", hint="use one"
        )
    x = call.value(0)
    rank = len(x.shape)
    if call.opset < 11:
        widths = call.node.get_ints("pads") or ()
        value = call.node.get_float("value", 0.0)
    else:
        widths = call.ints(1, "the pads")
        fill = call.optional_array(2, "the pad value")
        value = 0.0 if fill is None or fill.size == 0 else float(fill.reshape(-1)[0])
        if fill is not None and fill.dtype.kind != "f":
            raise UnsupportedError(
                "a border of integers",
                expected="a border of numbers, in front of QuantizeLinear",
                hint="quantise the model in QDQ form",
            )
    axes = call.ints(3, "the axes") if call.has(3) else tuple(range(rank))
    if len(widths) != 2 * len(axes):
        raise ModelFormatError(f"{len(widths)} pads for {len(axes)} axes", expected="two each")
    if any(w < 0 for w in widths):
        raise UnsupportedError(
            f"Pad by {list(widths)} cuts elements off",
            expected="pads of 0 and more",
            hint="remove the cropping from the model",
        )
    paddings = [(0, 0)] * rank
    for i, axis in enumerate(normal_axes(axes, rank)):
        paddings[axis] = (widths[i], widths[i + len(axes)])
    padded = [d + sum(pair) for d, pair in zip(x.shape, paddings, strict=True)]
    checked_shape(padded, f"'{call.result}'")
    if mode == "constant":
        return call.emit("pad", x, paddings=tuple(paddings), value=value)
    return _repeating_pad(call, x, paddings, mode)


def _repeating_pad(call: Call, x: Value, paddings: list[tuple[int, int]], mode: str) -> Value:
    """A border of the input's own elements: TFLite's op where it has one, else gathered."""
    mirrors = all(max(pair) < d for pair, d in zip(paddings, x.shape, strict=True))
    if mode == "reflect" and mirrors:
        return call.emit("mirror_pad", x, paddings=tuple(paddings))
    axes = [axis for axis, pair in enumerate(paddings) if pair != (0, 0)]
    for axis in axes:
        size = x.shape[axis] + sum(paddings[axis])
        sized((size,), f"the places of '{call.result}'", TYPED // WIDEST)
        places = np.pad(np.arange(x.shape[axis]), paddings[axis], mode=mode)  # type: ignore[call-overload]
        name = "" if axis == axes[-1] else f"{call.result}.axis{axis}"
        x = take_elements(call, x, axis, places, name or call.result)
    return x


def _softmax(op: str) -> Importer:
    """Along one axis; before opset 13, over all dimensions from the axis on, as one row."""

    def convert(call: Call) -> Value:
        x = call.value(0)
        rank = len(x.shape)
        coerces = call.opset < 13
        (axis,) = normal_axes([call.node.get_int("axis", 1 if coerces else -1)], rank)
        if axis == rank - 1:
            return call.emit(op, x)
        if coerces:
            rows = int(np.prod(x.shape[:axis], dtype=np.int64))
            flat = call.reshape(x, (rows, x.size // rows), f"{call.result}.rows")
            return call.reshape(call.emit(op, flat, name=f"{call.result}.{op}"), x.shape)
        order = (*(i for i in range(rank) if i != axis), axis)
        last = call.transpose(x, order, f"{call.result}.axis_last")
        result = call.emit(op, last, name=f"{call.result}.{op}")
        return call.transpose(result, tuple(int(i) for i in np.argsort(order)))

    return convert


IMPORTERS: dict[str, Importer] = {
    **MOVE,
    **POINTWISE,
    **REDUCE,
    "Add": _binary("add"),
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": cast,
    "CastLike": cast_like,
    "Clip": clip,
    "Concat": concat,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Div": div,
    "Dropout": dropout,
    "Einsum": einsum,
    "Flatten": flatten,
    "Gemm": gemm,
    "GlobalAveragePool": global_average_pool,
    "GlobalLpPool": global_lp_pool,
    "GlobalMaxPool": global_max_pool,
    "Identity": identity,
    "LpPool": lp_pool,
    "MatMul": matmul,
    "Max": _variadic("maximum"),
    "MaxPool": max_pool,
    "Min": _variadic("minimum"),
    "Mul": _binary("mul"),
    "Neg": neg,
    "Pad": pad,
    "ReduceMean": reduce_mean,
    "Reshape": reshape,
    "LogSoftmax": _softmax("log_softmax"),
    "Softmax": _softmax("softmax"),
    "Squeeze": squeeze,
    "Sub": sub,
    "Sum": _variadic("add"),
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
"""ONNX op type -> its importer; ops on constants alone are in ``onnx_static.STATIC``."""

SEVERAL: dict[str, Callable[[Call], Sequence[Value]]] = {
    **dict.fromkeys(KINDS, recurrent),
    "LayerNormalization": layer_normalization,
    "Split": split,
}
"""The same, for ops whose other outputs may be used too."""
