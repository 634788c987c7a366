"""ONNX ops around classical models (``ai.onnx.ml``): features picked, prepared; named classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.move import take_elements
from tinyrt.convert.onnx.reduce import lp_normalization
from tinyrt.convert.onnx.weights import ON_LABELS, Array, listed
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Value

DOMAIN = "ai.onnx.ml"


def check_labels(labels: Sequence[object]) -> None:
    """Nothing, where each class is called by its place.

    Raises:
        UnsupportedError: classes have other names, which no output can hold or integers spoil.

    """
    if tuple(labels) != tuple(range(len(labels))):
        raise UnsupportedError(
            f"the labels {listed(labels)}", expected=f"0 to {len(labels) - 1}", hint=ON_LABELS
        )


def _labels_at(call: Call, classes: Array, places: Value) -> Value:
    """The names of classes at their places, which are what they are called by."""
    check_labels(classes.reshape(-1).tolist())
    return call.reshape(places, (1, places.size))


def array_feature_extractor(call: Call) -> Sequence[Value]:
    """Columns by constant places, or labels by computed ones."""
    x, places = call.operand(0), call.operand(1)
    if isinstance(places, Value) and not isinstance(x, Value):
        return [_labels_at(call, call.array(0), places)]
    x, columns = call.value(0), call.array(1, "which features are picked").reshape(-1)
    count = x.shape[-1]
    if columns.size == 0 or columns.min() < 0 or columns.max() >= count:
        raise ModelFormatError(
            f"features {listed(columns.tolist())} of {x.type}", expected=f"0 to {count - 1}"
        )
    return [take_elements(call, x, len(x.shape) - 1, columns.astype(np.int64), call.result)]


def normalizer(call: Call) -> Sequence[Value]:
    """Each row divided by its norm.

    Raises:
        UnsupportedError: the norm is the greatest element.

    """
    norm = call.node.get_string("norm", "MAX")
    if norm not in ("L1", "L2"):
        raise UnsupportedError(
            f"Normalizer by {listed([norm])[1:-1]}",
            expected="L1 or L2",
            hint="divide the features before the model, or scale them by a constant (MaxAbsScaler)",
        )
    x = call.value(0)
    source = call.builder.producers.get(x.name)
    if norm == "L1" and source is not None and source.op == "softmax":
        return [x]  # shares of a whole already
    return [lp_normalization(call, 1 if norm == "L1" else 2)]


def binarizer(call: Call) -> Sequence[Value]:
    """1 above the threshold, else 0."""
    threshold = np.asarray(call.node.get_float("threshold", 0.0), np.float32)
    least = call.constant(f"{call.result}.threshold", threshold)
    truth = call.emit("greater", call.value(0), least, name=f"{call.result}.above")
    return [call.emit("cast", truth, dtype=DType.FLOAT32)]


def zip_map(call: Call) -> Sequence[Value]:
    """The scores themselves, in the order of the classes: a tensor has no names for its columns."""
    return [call.value(0)]


FEATURES: dict[str, Callable[[Call], Sequence[Value]]] = {
    "ArrayFeatureExtractor": array_feature_extractor,
    "Binarizer": binarizer,
    "Normalizer": normalizer,
    "ZipMap": zip_map,
}
"""Op type -> the importer of its outputs."""
