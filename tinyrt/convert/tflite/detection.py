"""TFLite_Detection_PostProcess, the custom op behind SSD networks: its options are a FlexBuffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.codec import Codec, Encoded, Operands, decode_plain, operand
from tinyrt.convert.tflite.custom import named_options
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import BoundNode, DType, Node, Value
from tinyrt.ops.detection_postprocess import DetectionPostprocessAttrs

BUILTIN = schema.custom_name(b"TFLite_Detection_PostProcess")
"""The op's name among builtin ones."""

OUTPUTS = 4

REAL = {
    "nms_score_threshold": "score_threshold",
    "nms_iou_threshold": "iou_threshold",
    "y_scale": "y_scale",
    "x_scale": "x_scale",
    "h_scale": "h_scale",
    "w_scale": "w_scale",
}
"""Options -> attributes."""

REGULAR, OF_A_CLASS, CLASSES_OF_A_BOX = (
    "use_regular_nms",
    "detections_per_class",
    "max_classes_per_detection",
)

NAMES = ("max_detections", "num_classes", REGULAR, OF_A_CLASS, CLASSES_OF_A_BOX, *REAL)
"""All options."""


def detection_postprocess(
    parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]
) -> None:
    """The op on floats; what is uint8 is dequantised first, as LiteRT does it.

    Raises:
        UnsupportedError: an input is neither float32 nor uint8, or a box may have several classes.
        ModelFormatError: the options are no map of numbers, or inputs or outputs are missing.

    """
    if len(inputs) != 3 or len(outputs) != OUTPUTS:
        raise ModelFormatError(
            f"{len(inputs)} inputs and {len(outputs)} outputs", expected="3 inputs and 4 outputs"
        )
    attrs = _attrs(options)
    floats = [_float(parts, operand(inputs, i), outputs[0]).name for i in range(3)]
    names = tuple(value.name for value in outputs)
    parts.append(Node("detection_postprocess", names[0], tuple(floats), names, attrs))


def _float(parts: Parts, x: Value, like: Value) -> Value:
    """The input as floats, which the output is like."""
    if x.dtype is DType.FLOAT32:
        return x
    if x.dtype is not DType.UINT8 or x.q is None:
        raise UnsupportedError(
            f"the op reads {x.dtype.value}", tensor=x.describe(), expected="float32 or uint8"
        )
    return parts.add("dequantize", [x], parts.new(f"{x.name}/float", like, x.shape))


def _attrs(data: bytes) -> DetectionPostprocessAttrs:
    """The attributes; what the file leaves out has TFLM's defaults."""
    options = named_options(data, NAMES)
    most = _whole(options, CLASSES_OF_A_BOX)
    if most != 1:
        raise UnsupportedError(
            f"{CLASSES_OF_A_BOX} is {most}",
            expected="1: with more, TensorFlow Lite Micro writes beyond its outputs",
            hint="export the model with one class for each detection",
        )
    with np.errstate(over="ignore"):
        real = {attr: float(np.float32(options.get(name, 0.0))) for name, attr in REAL.items()}
    return DetectionPostprocessAttrs(
        max_detections=_whole(options, "max_detections"),
        num_classes=_whole(options, "num_classes"),
        use_regular_nms=_whole(options, REGULAR) != 0,
        detections_per_class=_whole(options, OF_A_CLASS, 100),
        **real,
    )


def _whole(options: Mapping[str, int | float], name: str, default: int = 0) -> int:
    """A whole number or a truth value among the options."""
    number = options.get(name, default)
    limits = np.iinfo(np.int32)
    if not isinstance(number, int) or not limits.min <= number <= limits.max:
        raise ModelFormatError(f"option {name} is {number}", expected="a whole number of 32 bits")
    return number


def _encode(node: BoundNode) -> Encoded:
    attrs = node.attrs_as(DetectionPostprocessAttrs)
    whole = {
        "max_detections": attrs.max_detections,
        "num_classes": attrs.num_classes,
        CLASSES_OF_A_BOX: 1,
        OF_A_CLASS: attrs.detections_per_class,
        REGULAR: attrs.use_regular_nms,
    }
    return Encoded({**whole, **{name: getattr(attrs, attr) for name, attr in REAL.items()}})


DETECTION = Codec(
    "detection_postprocess", BUILTIN, None, _encode, decode_plain, lambda node: 1, NAMES
)
"""For writing alone: files are read by ``detection_postprocess``."""
