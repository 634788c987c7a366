"""ONNX ops of classical machine learning (``ai.onnx.ml``): scaled features and linear models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.features import FEATURES, check_labels
from tinyrt.convert.onnx.weights import Array
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Value

AFTER = {"NONE": "", "SOFTMAX": "softmax", "LOGISTIC": "logistic"}
"""What a linear model's scores become -> the op that computes it."""


def _features(call: Call) -> Value:
    """(n, features), in float32.

    Raises:
        UnsupportedError: they have another rank.

    """
    x = call.value(0)
    if len(x.shape) != 2:
        raise UnsupportedError(
            f"{call.node.op} of {x.type}",
            expected="two dimensions: samples and features",
            hint="reshape the input to (1, features) in front of it",
        )
    return x if x.dtype is DType.FLOAT32 else call.emit("cast", x, name=f"{call.result}.real")


OPTIONAL = ("intercepts", "offset")
"""Attributes that are zeros where a file has none."""


def _floats(call: Call, name: str, *sizes: int) -> Array:
    """A list of numbers of one of the lengths.

    Raises:
        ModelFormatError: it is absent, and not optional, or has another length.

    """
    numbers = call.node.get_floats(name) or (0.0,) * (sizes[0] if name in OPTIONAL else 0)
    if len(numbers) not in sizes:
        raise ModelFormatError(
            f"attribute '{name}' has {len(numbers)} numbers",
            expected=" or ".join(str(size) for size in sizes),
        )
    return np.asarray(numbers, np.float32)


def scaler(call: Call) -> Sequence[Value]:
    """``(x - offset) * scale``."""
    x = _features(call)
    count = x.shape[1]
    offset, scale = (_floats(call, name, count, 1) for name in ("offset", "scale"))
    shift = call.constant(f"{call.result}.shift", -offset)
    moved = call.emit("add", x, shift, name=f"{call.result}.moved")
    return [call.emit("mul", moved, call.constant(f"{call.result}.scale", scale))]


def _scores(call: Call, name: str, count: int) -> tuple[Value, str]:
    """``x @ w.T + b``, and the name of the op behind it."""
    x = _features(call)
    w = _floats(call, "coefficients", count * x.shape[1]).reshape(count, x.shape[1])
    b = _floats(call, "intercepts", count)
    after = AFTER[call.node.get_choice("post_transform", *AFTER)]
    weights, bias = (call.constant(f"{name}.{n}", a) for n, a in (("weights", w), ("bias", b)))
    logits = f"{name}.logits" if after else name
    return call.emit("fully_connected", x, weights, bias, name=logits), after


def linear_regressor(call: Call) -> Sequence[Value]:
    """``x @ w.T + b``."""
    y, after = _scores(call, call.result, call.node.get_int("targets", 1))
    return [call.emit(after, y) if after else y]


def linear_classifier(call: Call) -> Sequence[Value]:
    """The place of the greatest score, and the scores.

    Raises:
        UnsupportedError: labels are other than 0 to n - 1, and something reads them; or there is
            one row of coefficients for two classes.

    """
    node = call.node
    labels = node.get_ints("classlabels_ints") or ()
    count = len(labels) or len(node.get_strings("classlabels_strings") or ())
    rows = len(node.get_floats("intercepts") or (0,) * count)
    if count < 2 or rows != count:
        raise UnsupportedError(
            f"{rows} rows of coefficients for {count} classes",
            expected="one row for each class",
            hint="export the classifier with a row for each class (skl2onnx does so)",
        )
    label, probabilities = (*node.outputs, "")[:2]
    y, after = _scores(call, probabilities or f"{label}.scores", count)
    place = y
    if label in call.builder.read:
        check_labels(labels or node.get_strings("classlabels_strings") or ())
        place = call.emit("arg_max", y, name=label, axis=1, dtype=DType.INT64)
    return [place, call.emit(after, y, name=probabilities or f"{label}.after") if after else y]


LEARNED: dict[str, Callable[[Call], Sequence[Value]]] = {
    "LinearClassifier": linear_classifier,
    "LinearRegressor": linear_regressor,
    "Scaler": scaler,
    **FEATURES,
}
"""Op type -> the importer of its outputs."""
