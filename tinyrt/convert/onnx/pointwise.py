"""ONNX ops that compute element by element, many as several TFLite ops."""

from __future__ import annotations

import numpy as np

from tinyrt.convert.onnx.call import Call, Importer
from tinyrt.errors import UnsupportedError
from tinyrt.ir import Value

PLAIN = {
    "Abs": "abs",
    "Ceil": "ceil",
    "Cos": "cos",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "HardSwish": "hard_swish",
    "Log": "log",
    "Relu": "relu",
    "Round": "round",
    "Sigmoid": "logistic",
    "Sign": "sign",
    "Sin": "sin",
    "Sqrt": "sqrt",
    "Tanh": "tanh",
}
"""ONNX op -> the op that computes the same."""


def unary(op: str) -> Importer:
    """The importer of an op that is an op of its own here."""

    def convert(call: Call) -> Value:
        return call.emit(op, call.value(0))

    return convert


def scalar(call: Call, name: str, number: float) -> Value:
    """A constant of one element."""
    return call.constant(f"{call.result}.{name}", np.full(1, number, np.float32))


def leaky_relu(call: Call) -> Value:
    """``x if x > 0 else alpha * x``."""
    return call.emit("leaky_relu", call.value(0), alpha=call.node.get_float("alpha", 0.01))


def _scaled_elu(call: Call, x: Value, positive: float, negative: float) -> Value:
    """``positive * x`` above 0, ``negative * (exp(x) - 1)`` below.

    As ``negative * elu(x) + (positive - negative) * relu(x)``.
    """
    one_sided = negative == positive
    if one_sided and positive == 1:
        return call.emit("elu", x)
    elu = call.emit("elu", x, name=f"{call.result}.elu")
    name = "" if one_sided else f"{call.result}.left"
    left = call.emit("mul", elu, scalar(call, "negative", negative), name=name)
    if one_sided:
        return left
    relu = call.emit("relu", x, name=f"{call.result}.relu")
    rest = scalar(call, "rest", positive - negative)
    return call.emit("add", left, call.emit("mul", relu, rest, name=f"{call.result}.right"))


def elu(call: Call) -> Value:
    """``x if x > 0 else alpha * (exp(x) - 1)``."""
    return _scaled_elu(call, call.value(0), 1.0, call.node.get_float("alpha", 1.0))


def selu(call: Call) -> Value:
    """``gamma * (x if x > 0 else alpha * (exp(x) - 1))``."""
    alpha = call.node.get_float("alpha", 1.6732632423543772)
    gamma = call.node.get_float("gamma", 1.0507009873554805)
    return _scaled_elu(call, call.value(0), gamma, gamma * alpha)


def celu(call: Call) -> Value:
    """``alpha * elu(x / alpha)``: ``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below."""
    alpha = call.node.get_float("alpha", 1.0)
    if alpha == 1:
        return call.emit("elu", call.value(0))
    inner = scalar(call, "inverse_alpha", 1 / alpha)
    shrunk = call.emit("mul", call.value(0), inner, name=f"{call.result}.shrunk")
    return _scaled_elu(call, shrunk, alpha, alpha)


def hard_sigmoid(call: Call) -> Value:
    """``clip(alpha * x + beta, 0, 1)``."""
    alpha = scalar(call, "alpha", call.node.get_float("alpha", 0.2))
    beta = scalar(call, "beta", call.node.get_float("beta", 0.5))
    scaled = call.emit("mul", call.value(0), alpha, name=f"{call.result}.scaled")
    shifted = call.emit("add", scaled, beta, name=f"{call.result}.shifted")
    return call.emit("relu_0_to_1", shifted)


def gelu(call: Call) -> Value:
    """``x * P(X < x)`` for a standard normal X."""
    form = call.node.get_string("approximate", "none")
    if form not in ("none", "tanh"):
        raise UnsupportedError(f"Gelu approximated by '{form}'", expected="none or tanh")
    return call.emit("gelu", call.value(0), approximate=form == "tanh")


def swish(call: Call) -> Value:
    """``x * sigmoid(alpha * x)``."""
    x, alpha = call.value(0), call.node.get_float("alpha", 1.0)
    inner = x
    if alpha != 1:
        inner = call.emit("mul", x, scalar(call, "alpha", alpha), name=f"{call.result}.scaled")
    return call.emit("mul", x, call.emit("logistic", inner, name=f"{call.result}.gate"))


def _softplus(call: Call, x: Value, name: str) -> Value:
    """``relu(x) + log(1 + exp(-|x|))``, which cannot overflow."""
    magnitude = call.emit("abs", x, name=f"{call.result}.abs")
    negative = call.emit(
        "mul", magnitude, scalar(call, "minus_one", -1), name=f"{call.result}.negative"
    )
    small = call.emit("exp", negative, name=f"{call.result}.exp")
    above_one = call.emit("add", small, scalar(call, "one", 1), name=f"{call.result}.sum")
    tail = call.emit("log", above_one, name=f"{call.result}.log")
    return call.emit("add", call.emit("relu", x, name=f"{call.result}.relu"), tail, name=name)


def softplus(call: Call) -> Value:
    """``log(1 + exp(x))``."""
    return _softplus(call, call.value(0), call.result)


def mish(call: Call) -> Value:
    """``x * tanh(softplus(x))``."""
    x = call.value(0)
    soft = _softplus(call, x, f"{call.result}.softplus")
    return call.emit("mul", x, call.emit("tanh", soft, name=f"{call.result}.tanh"))


def softsign(call: Call) -> Value:
    """``x / (1 + |x|)``."""
    x = call.value(0)
    magnitude = call.emit("abs", x, name=f"{call.result}.abs")
    return call.emit(
        "div", x, call.emit("add", magnitude, scalar(call, "one", 1), name=f"{call.result}.sum")
    )


def reciprocal(call: Call) -> Value:
    """``1 / x``."""
    return call.emit("div", scalar(call, "one", 1), call.value(0))


def tan(call: Call) -> Value:
    """``sin(x) / cos(x)``."""
    x = call.value(0)
    sine = call.emit("sin", x, name=f"{call.result}.sin")
    return call.emit("div", sine, call.emit("cos", x, name=f"{call.result}.cos"))


def _hyperbolic(op: str) -> Importer:
    """``(exp(x) -+ exp(-x)) / 2``."""

    def convert(call: Call) -> Value:
        x, r = call.value(0), call.result
        negative = call.emit("mul", x, scalar(call, "minus_one", -1), name=f"{r}.negative")
        left = call.emit("exp", x, name=f"{r}.left")
        right = call.emit("exp", negative, name=f"{r}.right")
        both = call.emit(op, left, right, name=f"{r}.both")
        return call.emit("mul", both, scalar(call, "half", 0.5))

    return convert


def thresholded_relu(call: Call) -> Value:
    """``x if x > alpha else 0``."""
    x = call.value(0)
    alpha = scalar(call, "alpha", call.node.get_float("alpha", 1.0))
    above = call.emit("greater", x, alpha, name=f"{call.result}.above")
    return call.emit("select_v2", above, x, scalar(call, "zero", 0))


def shrink(call: Call) -> Value:
    """``x + bias`` below ``-lambd``, ``x - bias`` above ``lambd``, 0 between."""
    x, r = call.value(0), call.result
    bias, limit = call.node.get_float("bias", 0.0), call.node.get_float("lambd", 0.5)
    below = call.emit("less", x, scalar(call, "low", -limit), name=f"{r}.below")
    above = call.emit("greater", x, scalar(call, "high", limit), name=f"{r}.above")
    raised = call.emit("add", x, scalar(call, "bias", bias), name=f"{r}.raised")
    lowered = call.emit("add", x, scalar(call, "minus_bias", -bias), name=f"{r}.lowered")
    high = call.emit("select_v2", above, lowered, scalar(call, "zero", 0), name=f"{r}.upper")
    return call.emit("select_v2", below, raised, high)


def power(call: Call) -> Value:
    """``x ** e``; small constant exponents as products and roots."""
    x = call.value(0)
    if not call.is_constant_input(1):
        return call.emit("pow", x, call.value(1))
    exponent = call.array(1).astype(np.float32)
    scalar_exponent = float(exponent.reshape(-1)[0]) if exponent.size == 1 else None
    more = exponent.ndim - len(x.shape)
    if scalar_exponent is not None and more > 0:
        x = call.reshape(x, (1,) * more + x.shape, f"{call.result}.aligned")
    if scalar_exponent == 1:
        return x
    if scalar_exponent == 2:
        return call.emit("mul", x, x)
    if scalar_exponent == 3:
        return call.emit("mul", call.emit("mul", x, x, name=f"{call.result}.square"), x)
    if scalar_exponent in (0.5, -0.5):
        return call.emit("sqrt" if scalar_exponent > 0 else "rsqrt", x)
    return call.emit("pow", x, call.constant(call.node.inputs[1], exponent))


def prelu(call: Call) -> Value:
    """``x if x > 0 else slope * x``, the slope broadcast."""
    return call.emit("prelu", call.value(0), call.value(1))


def mean(call: Call) -> Value:
    """The mean of all operands, element by element."""
    total, count = call.value(0), len(call.node.inputs)
    if count == 1:
        return total
    for i in range(1, count):
        total = call.emit("add", total, call.value(i), name=f"{call.result}.sum")
    return call.emit("mul", total, scalar(call, "share", 1 / count))


POINTWISE: dict[str, Importer] = {
    **{name: unary(op) for name, op in PLAIN.items()},
    "Celu": celu,
    "Cosh": _hyperbolic("add"),
    "Elu": elu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "LeakyRelu": leaky_relu,
    "Mean": mean,
    "Mish": mish,
    "PRelu": prelu,
    "Pow": power,
    "Reciprocal": reciprocal,
    "Selu": selu,
    "Shrink": shrink,
    "Sinh": _hyperbolic("sub"),
    "Softplus": softplus,
    "Softsign": softsign,
    "Swish": swish,
    "Tan": tan,
    "ThresholdedRelu": thresholded_relu,
}
"""ONNX op type -> its importer."""
