"""detection_postprocess: boxes of an SSD network decoded, and the best of those that overlap.

TFLite's custom op ``TFLite_Detection_PostProcess``, as TensorFlow Lite Micro computes it: boxes are
decoded in float64, overlaps are floats, and equal scores keep the order of their boxes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import OP
from tinyrt.errors import ShapeError
from tinyrt.floatmath import elementary
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, OpSpec, Quant
from tinyrt.ops.shared.traits import Traits

CORNERS = 4
"""Numbers of a box: of an anchor its centre (y, x), height and width; decoded (y, x) twice."""

MOST_DETECTIONS = 1 << 16
"""More than any network has anchors; the outputs have room for all of them."""


OVERLAP = 20
"""Element operations of an overlap."""


@dataclass(frozen=True, slots=True)
class DetectionPostprocessAttrs:
    """The options of TFLite's custom op.

    Attributes:
        max_detections: the most boxes that come out.
        num_classes: without the background.
        score_threshold: boxes of smaller scores are left out.
        iou_threshold: boxes that overlap a better one by more are left out.
        y_scale: what the y of an encoding is divided by.
        x_scale: likewise.
        h_scale: likewise, of heights.
        w_scale: likewise, of widths.
        use_regular_nms: whether boxes are compared class by class, rather than each with its best
            class only.
        detections_per_class: the most boxes of one class, if they are.

    """

    max_detections: int
    num_classes: int
    score_threshold: float
    iou_threshold: float
    y_scale: float
    x_scale: float
    h_scale: float
    w_scale: float
    use_regular_nms: bool = False
    detections_per_class: int = 100


def infer(
    attrs: DetectionPostprocessAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """(1, n, 4 or more), scores (1, n, c), anchors (n, 4) -> boxes, classes, scores, their number.

    For ``d = max_detections`` these are (1, d, 4), (1, d), (1, d) and (1,), all of them float32.
    """
    x, scores, anchors = (
        operand(inputs, i, what, rank)
        for i, (what, rank) in enumerate((("boxes", 3), ("scores", 3), ("anchors", 2)))
    )
    if not {x.dtype, scores.dtype, anchors.dtype} <= {DType.FLOAT32}:
        raise ShapeError(f"inputs are {x}, {scores} and {anchors}", expected="float32")
    count = x.shape[1]
    fits = scores.shape[:2] == x.shape[:2] == (1, count) and anchors.shape == (count, CORNERS)
    if not fits or x.shape[2] < CORNERS:
        raise ShapeError(
            f"boxes {x}, scores {scores} and anchors {anchors}",
            expected="one sample, with scores and an anchor of 4 numbers for each box",
        )
    if attrs.num_classes < 1 or scores.shape[2] - attrs.num_classes not in (0, 1):
        raise ShapeError(
            f"scores {scores} for {attrs.num_classes} classes", expected="one of each, or one more"
        )
    _check(attrs)
    detections = attrs.max_detections
    shapes = (1, detections, CORNERS), (1, detections), (1, detections), (1,)
    return tuple(TensorType(DType.FLOAT32, shape) for shape in shapes)


def _check(attrs: DetectionPostprocessAttrs) -> None:
    if not 1 <= attrs.max_detections <= MOST_DETECTIONS or attrs.detections_per_class < 1:
        raise ShapeError(
            f"{attrs.max_detections} detections, {attrs.detections_per_class} of a class",
            expected=f"1 to {MOST_DETECTIONS:,}, and at least 1",
        )
    numbers = {f.name: getattr(attrs, f.name) for f in fields(attrs)}
    for name in ("score_threshold", "iou_threshold", "y_scale", "x_scale", "h_scale", "w_scale"):
        with np.errstate(over="ignore"):
            number = np.float32(numbers[name])
        if not math.isfinite(number) or (name.endswith("scale") and number == 0):
            raise ShapeError(
                f"{name} is {numbers[name]}", expected="a finite float32; no scale of 0"
            )
    if not 0 < attrs.iou_threshold <= 1:
        raise ShapeError(f"iou_threshold is {attrs.iou_threshold}", expected="above 0, at most 1")


def decoded(attrs: DetectionPostprocessAttrs, x: Array, anchors: Array) -> NDArray[np.float32]:
    """Corners of boxes (n, 4): least y and x, greatest y and x.

    ``centre = x / scale * size + centre`` and ``half = exp(x / scale) * size / 2`` of the anchor's,
    in float64, each rounded to float32.
    """
    scales = np.array([attrs.y_scale, attrs.x_scale, attrs.h_scale, attrs.w_scale], np.float32)
    wide = x[..., :CORNERS].reshape(-1, CORNERS).astype(np.float64) / scales.astype(np.float64)
    anchors = anchors.astype(np.float64)
    with np.errstate(all="ignore"):
        centre = (wide[:, :2] * anchors[:, 2:] + anchors[:, :2]).astype(np.float32)
        half = (0.5 * elementary.exp(wide[:, 2:]) * anchors[:, 2:]).astype(np.float32)
        return np.concatenate([centre - half, centre + half], axis=1)


def _overlaps(box: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Shared area over the area of both together; 0 beside a box without extent."""

    def area(boxes: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray((boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]))

    own, their = area(box), area(others)
    # As C compares: what is no number is never the larger or the smaller one.
    low = np.where(box[:2] < others[:, :2], others[:, :2], box[:2])
    high = np.where(others[:, 2:] < box[2:], others[:, 2:], box[2:])
    side = high - low
    side = np.where(side < 0, np.float32(0), side)
    shared = side[:, 0] * side[:, 1]
    quotient = shared / (own + their - shared)
    return np.where((own <= 0) | (their <= 0), np.float32(0), quotient)


def _suppressed(
    attrs: DetectionPostprocessAttrs, scores: Array, boxes: NDArray[np.float32], most: int
) -> list[int]:
    """The best boxes, best first, of which none overlaps a better one by too much."""
    kept = np.flatnonzero(scores >= np.float32(attrs.score_threshold))
    order = kept[np.argsort(-scores[kept], kind="stable")]
    active = np.ones(len(order), bool)
    selected: list[int] = []
    for i, at in enumerate(order):
        if len(selected) == most:
            break
        if active[i]:
            selected.append(int(at))
            overlaps = _overlaps(boxes[at], boxes[order[i + 1 :]])
            active[i + 1 :] &= ~(overlaps > np.float32(attrs.iou_threshold))
    return selected


def ref_f32(
    attrs: DetectionPostprocessAttrs, x: Array, scores: Array, anchors: Array
) -> tuple[Array, Array, Array, Array]:
    """Boxes, classes, scores and how many there are; zeros behind them."""
    corners, rows = decoded(attrs, x, anchors), scores[0]
    own = rows[:, rows.shape[1] - attrs.num_classes :]
    with np.errstate(all="ignore"):
        found = (_by_class if attrs.use_regular_nms else _by_box)(attrs, own, corners)
    boxes = np.zeros((1, attrs.max_detections, CORNERS), np.float32)
    classes, best = np.zeros((2, 1, attrs.max_detections), np.float32)
    for i, (box, kind) in enumerate(found):
        boxes[0, i], classes[0, i], best[0, i] = corners[box], kind, own[box, kind]
    return boxes, classes, best, np.array([len(found)], np.float32)


def _by_box(
    attrs: DetectionPostprocessAttrs, scores: Array, corners: NDArray[np.float32]
) -> list[tuple[int, int]]:
    """Boxes with their best class, of equal ones the first; none is better than no number."""
    numbers = np.where(np.isnan(scores), -np.inf, scores)
    kinds = np.where(np.isnan(scores[:, 0]), 0, np.argmax(numbers, axis=1))
    best = np.take_along_axis(scores, kinds[:, None], axis=1)[:, 0]
    picked = _suppressed(attrs, best, corners, attrs.max_detections)
    return [(box, int(kinds[box])) for box in picked]


def _by_class(
    attrs: DetectionPostprocessAttrs, scores: Array, corners: NDArray[np.float32]
) -> list[tuple[int, int]]:
    """The best of all classes' boxes; of equal ones those of the first class."""
    found: list[tuple[int, int]] = []
    for kind in range(scores.shape[1]):
        own = scores[:, kind]
        picked = _suppressed(attrs, own, corners, attrs.detections_per_class)
        found += [(box, kind) for box in picked]
        found = sorted(found, key=lambda one: -scores[one])[: attrs.max_detections]
    return found


def work(node: BoundNode) -> int:
    """Each box that may be selected is compared with all others."""
    attrs, boxes = node.attrs_as(DetectionPostprocessAttrs), node.input(0).shape[1]
    regular = attrs.use_regular_nms
    rounds = attrs.num_classes if regular else 1
    most = min(attrs.detections_per_class if regular else attrs.max_detections, boxes)
    return rounds * most * (OP + OVERLAP * boxes)


DETECTION_POSTPROCESS = OpSpec(
    name="detection_postprocess",
    attrs=DetectionPostprocessAttrs,
    arity=(3, 3),
    infer=infer,
    quant=Quant.FLOAT_ONLY,
    ref_f32=ref_f32,
    work=work,
    traits=Traits(not_in_integers="it decodes boxes and compares areas in float, as in TFLM"),
)
