"""ONNX reductions, normalisations by them, comparisons and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tinyrt.convert.onnx.call import Call, Importer
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.pointwise import scalar
from tinyrt.convert.onnx.shapes import normal_axes, reduced_axes, sized
from tinyrt.errors import ConversionWarning, ModelFormatError, warn
from tinyrt.ir import DType, Value

Several = Callable[[Call], Sequence[Value]]

NOT_KEPT = ("float32", "float64", "uint16")
"""Types of constants that become float32, or that no graph has."""


def _reduction(op: str, before: str = "", after: str = "", since: int = 18) -> Importer:
    """``after(op(before(x)))`` along the op's axes."""

    def convert(call: Call) -> Value:
        x, axes = call.value(0), reduced_axes(call, input_since=since)
        keep = call.node.get_int("keepdims", 1) != 0
        last = after or (op if axes else before)
        if before:
            operands = (x, x) if before == "mul" else (x,)
            name = "" if last == before else f"{call.result}.{before}"
            x = call.emit(before, *operands, name=name)
        if axes:
            name = f"{call.result}.{op}" if after else ""
            x = call.emit(op, x, name=name, axes=axes, keep_dims=keep)
        return call.emit(after, x) if after else x

    return convert


def reduce_log_sum_exp(call: Call) -> Value:
    """``log(sum(exp(x - m))) + m`` with m the greatest element."""
    x, axes, r = call.value(0), reduced_axes(call, input_since=18), call.result
    if not axes:
        return x
    most = call.emit("reduce_max", x, name=f"{r}.max", axes=axes, keep_dims=True)
    exponentials = call.emit("exp", call.emit("sub", x, most, name=f"{r}.below"), name=f"{r}.exp")
    total = call.emit("sum", exponentials, name=f"{r}.sum", axes=axes, keep_dims=True)
    keep = call.node.get_int("keepdims", 1) != 0
    log = call.emit("log", total, name=f"{r}.log")
    y = call.emit("add", log, most, name="" if keep else f"{r}.kept")
    shape = tuple(d for i, d in enumerate(x.shape) if i not in axes)
    return y if keep else call.reshape(y, shape)


def _arg(op: str) -> Importer:
    def convert(call: Call) -> Value:
        x = call.value(0)
        (axis,) = normal_axes([call.node.get_int("axis", 0)], len(x.shape))
        keep = call.node.get_int("keepdims", 1) != 0
        name = f"{call.result}.index" if keep else ""
        if call.node.get_int("select_last_index", 0):
            y = _last_place(call, op, x, axis, name)
        else:
            y = call.emit(op, x, name=name, axis=axis, dtype=DType.INT64)
        dims = (1 if i == axis else d for i, d in enumerate(x.shape))
        return call.reshape(y, tuple(dims)) if keep else y

    return convert


def _last_place(call: Call, op: str, x: Value, axis: int, name: str) -> Value:
    """The last of equal elements is the first one from the back."""
    r, last = call.result, x.shape[axis] - 1
    begin, strides = ([b if i == axis else a for i in range(len(x.shape))]
                      for a, b in ((0, last), (1, -1)))  # fmt: skip
    back = call.emit(
        "slice", x, name=f"{r}.back", begin=tuple(begin), size=x.shape, strides=tuple(strides)
    )
    place = call.emit(op, back, name=f"{r}.from_back", axis=axis, dtype=DType.INT64)
    ends = call.builder.constant(f"{r}.last", np.full(1, last, np.int64))
    return call.emit("sub", ends, place, name=name)


def _operand(call: Call, i: int) -> Value:
    """Input ``i`` of any dtype; known arrays become constants, doubles as float32."""
    operand = call.operand(i)
    if isinstance(operand, Value | Quantized) or operand.dtype.name in NOT_KEPT:
        return call.value(i)
    return call.builder.constant(call.node.inputs[i], np.atleast_1d(operand))


def _logic(op: str, arity: int = 2) -> Importer:
    def convert(call: Call) -> Value:
        return call.emit(op, *_alike(call, [_operand(call, i) for i in range(arity)]))

    return convert


def _alike(call: Call, values: list[Value]) -> list[Value]:
    """Operands of which int64 constants become int32 beside what the model's input counts."""
    if DType.INT32 not in {v.dtype for v in values}:
        return values
    small = np.iinfo(np.int32)
    return [
        v
        if v.data is None or v.dtype is not DType.INT64
        else call.builder.constant(f"{v.name}.s32", v.data.clip(small.min, small.max).astype("i4"))
        for v in values
    ]


def _normalised(
    call: Call, x: Value, axes: tuple[int, ...], epsilon: float, name: str
) -> tuple[Value, Value, Value]:
    """``(x - mean) / sqrt(variance + epsilon)`` along the axes; also mean and inverse deviation."""
    r = call.result
    if all(x.shape[axis] == 1 for axis in axes):
        warn(
            f"{call.node.describe()} normalises single elements of {x.type}: whatever it reads, it "
            "answers its bias. Normalise more than one element, or take the op out",
            ConversionWarning,
        )
    mean = call.emit("mean", x, name=f"{r}.mean", axes=axes, keep_dims=True)
    centred = call.emit("sub", x, mean, name=f"{r}.centred")
    square = call.emit("mul", centred, centred, name=f"{r}.square")
    variance = call.emit("mean", square, name=f"{r}.variance", axes=axes, keep_dims=True)
    radicand = call.emit("add", variance, scalar(call, "epsilon", epsilon), name=f"{r}.raised")
    inverse = call.emit("rsqrt", radicand, name=f"{r}.inverse")
    return call.emit("mul", centred, inverse, name=name), mean, inverse


def _shifted(call: Call, x: Value, scale: Value, bias: Value | None) -> Value:
    x = call.emit("mul", x, scale, name="" if bias is None else f"{call.result}.scaled")
    return x if bias is None else call.emit("add", x, bias)


def layer_normalization(call: Call) -> Sequence[Value]:
    """Normalised over all dimensions from the axis on, then scaled and shifted."""
    x = call.value(0)
    rank = len(x.shape)
    (axis,) = normal_axes([call.node.get_int("axis", -1)], rank)
    epsilon = call.node.get_float("epsilon", 1e-5)
    normal = _normalised(call, x, tuple(range(axis, rank)), epsilon, f"{call.result}.normal")
    bias = call.value(2) if call.has(2) else None
    return _shifted(call, normal[0], call.value(1), bias), *normal[1:]


def rms_normalization(call: Call) -> Value:
    """``x / sqrt(mean(x**2) + epsilon) * scale`` over all dimensions from the axis on."""
    x, r = call.value(0), call.result
    rank = len(x.shape)
    (axis,) = normal_axes([call.node.get_int("axis", -1)], rank)
    square = call.emit("mul", x, x, name=f"{r}.square")
    axes = tuple(range(axis, rank))
    mean = call.emit("mean", square, name=f"{r}.mean", axes=axes, keep_dims=True)
    epsilon = scalar(call, "epsilon", call.node.get_float("epsilon", 1e-5))
    radicand = call.emit("add", mean, epsilon, name=f"{r}.raised")
    inverse = call.emit("rsqrt", radicand, name=f"{r}.inverse")
    normal = call.emit("mul", x, inverse, name=f"{r}.normal")
    return call.emit("mul", normal, call.value(1))


def _channels(call: Call, i: int, rank: int, what: str, repeat: int = 1) -> Value:
    """A known vector over the channels (dimension 1)."""
    sized((call.array(i, what).size, repeat), what)
    vector = np.repeat(call.array(i, what).reshape(-1), repeat)
    return call.constant(call.node.inputs[i], vector.reshape(-1, *[1] * (rank - 2)))


def instance_normalization(call: Call) -> Value:
    """Each channel of each sample normalised, then scaled and shifted."""
    x = call.value(0)
    rank = len(x.shape)
    if rank < 3:
        raise ModelFormatError(f"the input is {x.type}", expected="(n, c, ...)")
    epsilon = call.node.get_float("epsilon", 1e-5)
    axes = tuple(range(2, rank))
    normal, *_ = _normalised(call, x, axes, epsilon, f"{call.result}.normal")
    scale, bias = (_channels(call, i, rank, what) for i, what in ((1, "scale"), (2, "bias")))
    return _shifted(call, normal, scale, bias)


def group_normalization(call: Call) -> Value:
    """Groups of channels normalised, then each channel scaled and shifted."""
    x, r = call.value(0), call.result
    groups = call.node.get_int("num_groups", 0)
    if len(x.shape) < 3 or groups < 1 or x.shape[1] % groups:
        raise ModelFormatError(f"{groups} groups of {x.type}", expected="groups of the channels")
    rows = call.reshape(x, (x.shape[0], groups, x.size // x.shape[0] // groups), f"{r}.groups")
    epsilon = call.node.get_float("epsilon", 1e-5)
    normal, *_ = _normalised(call, rows, (2,), epsilon, f"{r}.normal")
    back = call.reshape(normal, x.shape, f"{r}.back")
    # Before opset 21, there is one scale per group.
    repeat = x.shape[1] // groups if call.opset < 21 else 1
    scale, bias = (
        _channels(call, i, len(x.shape), what, repeat) for i, what in ((1, "scale"), (2, "bias"))
    )
    return _shifted(call, back, scale, bias)


def mean_variance_normalization(call: Call) -> Value:
    """``(x - mean) / (deviation + 1e-9)``."""
    x = call.value(0)
    axes = normal_axes(call.node.get_ints("axes") or (0, 2, 3), len(x.shape))
    # The 1e-9 is far below the deviation's last bit.
    normal, *_ = _normalised(call, x, axes, 1e-18, "")
    return normal


def lp_normalization(call: Call, p: int | None = None) -> Value:
    """``x`` divided by its norm along an axis; the node says which norm, or the caller."""
    x, r = call.value(0), call.result
    axes = normal_axes([call.node.get_int("axis", -1)], len(x.shape))
    if (p or call.node.get_int("p", 2)) == 1:
        sizes = call.emit("abs", x, name=f"{r}.abs")
        norm = call.emit("sum", sizes, name=f"{r}.norm", axes=axes, keep_dims=True)
    else:
        squares = call.emit("mul", x, x, name=f"{r}.square")
        total = call.emit("sum", squares, name=f"{r}.sum", axes=axes, keep_dims=True)
        norm = call.emit("sqrt", total, name=f"{r}.norm")
    # A vector of zeros stays one.
    least = scalar(call, "least", float(np.finfo(np.float32).tiny))
    return call.emit("div", x, call.emit("maximum", norm, least, name=f"{r}.divisor"))


def lrn(call: Call) -> Value:
    """``x / (bias + alpha * mean of x**2 over neighbouring channels) ** beta``."""
    x, r = call.value(0), call.result
    rank, size = len(x.shape), call.node.get_int("size", 0)
    if rank < 3 or size < 1:
        raise ModelFormatError(f"LRN of size {size} of {x.type}", expected="(n, c, ...), size > 0")
    last = call.transpose(x, (0, *range(2, rank), 1), f"{r}.nhwc")
    square = call.emit("mul", last, last, name=f"{r}.square")
    rows = call.reshape(square, (1, x.size // x.shape[1], x.shape[1], 1), f"{r}.rows")
    border = ((0, 0), (0, 0), ((size - 1) // 2, size // 2), (0, 0))
    padded = call.emit("pad", rows, name=f"{r}.padded", paddings=border)
    pool = {"kernel": (1, size), "stride": (1, 1), "padding": "VALID"}
    means = call.emit("average_pool2d", padded, name=f"{r}.means", **pool)
    back = call.reshape(means, last.shape, f"{r}.back")
    alpha = scalar(call, "alpha", call.node.get_float("alpha", 1e-4))
    bias = scalar(call, "bias", call.node.get_float("bias", 1.0))
    scaled = call.emit("mul", back, alpha, name=f"{r}.scaled")
    base = call.emit("add", scaled, bias, name=f"{r}.raised")
    beta = scalar(call, "beta", -call.node.get_float("beta", 0.75))
    factor = call.emit("pow", base, beta, name=f"{r}.factor")
    y = call.emit("mul", last, factor, name=f"{r}.last")
    return call.transpose(y, (0, rank - 1, *range(1, rank - 1)))


def xor(call: Call) -> Value:
    """Either, and not both."""
    a, b, r = _operand(call, 0), _operand(call, 1), call.result
    either = call.emit("logical_or", a, b, name=f"{r}.either")
    both = call.emit("logical_and", a, b, name=f"{r}.both")
    return call.emit("logical_and", either, call.emit("logical_not", both, name=f"{r}.not_both"))


def cumsum(call: Call) -> Value:
    """Running sums along a known axis."""
    x = call.value(0)
    (place,) = normal_axes([call.whole(1, "the axis")], len(x.shape))
    return call.emit(
        "cumsum",
        x,
        axis=place,
        exclusive=call.node.get_int("exclusive", 0) != 0,
        reverse=call.node.get_int("reverse", 0) != 0,
    )


def trilu(call: Call) -> Value:
    """One triangle of each matrix, zeros in place of the other."""
    x = call.value(0)
    if len(x.shape) < 2:
        raise ModelFormatError(f"the input is {x.type}", expected="matrices")
    diagonal = call.whole(1, "the diagonal") if call.has(1) else 0
    rows, columns = x.shape[-2:]
    diagonal = max(-rows, min(diagonal, columns))
    sized((rows, columns), f"the mask of '{call.result}'")
    ones = np.ones((rows, columns), np.float32)
    upper = call.node.get_int("upper", 1) != 0
    mask = np.triu(ones, diagonal) if upper else np.tril(ones, diagonal)
    return call.emit("mul", x, call.constant(f"{call.result}.mask", mask))


def is_nan(call: Call) -> Value:
    """``x != x``, which nothing else is."""
    x = call.value(0)
    return call.emit("not_equal", x, x)


def is_inf(call: Call) -> Value:
    """Whether the value is infinite, of either sign or of one."""
    x = call.value(0)
    above, below = (call.node.get_int(f"detect_{s}", 1) for s in ("positive", "negative"))
    if not above and not below:
        return call.emit("less", x, x)  # which no number is
    if above and below:
        x = call.emit("abs", x, name=f"{call.result}.abs")
    limit = np.inf if above else -np.inf
    return call.emit(
        "equal", x, call.constant(f"{call.result}.limit", np.full(1, limit, np.float32))
    )


REDUCE: dict[str, Importer] = {
    "And": _logic("logical_and"),
    "ArgMax": _arg("arg_max"),
    "ArgMin": _arg("arg_min"),
    "CumSum": cumsum,
    "Equal": _logic("equal"),
    "Greater": _logic("greater"),
    "GreaterOrEqual": _logic("greater_equal"),
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "LRN": lrn,
    "Less": _logic("less"),
    "LessOrEqual": _logic("less_equal"),
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "Not": _logic("logical_not", 1),
    "Or": _logic("logical_or"),
    "RMSNormalization": rms_normalization,
    "ReduceL1": _reduction("sum", before="abs"),
    "ReduceL2": _reduction("sum", before="mul", after="sqrt"),
    "ReduceLogSum": _reduction("sum", after="log"),
    "ReduceLogSumExp": reduce_log_sum_exp,
    "ReduceMax": _reduction("reduce_max"),
    "ReduceMin": _reduction("reduce_min"),
    "ReduceProd": _reduction("reduce_prod"),
    "ReduceSum": _reduction("sum", since=13),
    "ReduceSumSquare": _reduction("sum", before="mul"),
    "Trilu": trilu,
    "Where": _logic("select_v2", 3),
    "Xor": xor,
}
"""ONNX op type -> its importer."""
