"""Boxes and scores at the ends of what detection_postprocess takes: ties, thresholds that are met,
boxes that touch, are alike or have no extent, numbers that are none, more room than boxes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tests.ops.build import Built
from tests.ops.corners.given import corner, plain
from tinyrt.ops.detection_postprocess import DetectionPostprocessAttrs

Floats = NDArray[np.float32]

PLAIN = DetectionPostprocessAttrs(4, 2, 0.25, 0.5, 1.0, 1.0, 1.0, 1.0)

SQUARES = np.array(
    [[1, 1, 2, 2], [1, 1, 2, 2], [1, 2, 2, 2], [1, 5, 2, 2], [1, 5, 2, 2], [4, 1, 2, 1]], np.float32
)
"""Anchors: two alike; one that shares a third with them; two elsewhere; one alone."""

SCORES: dict[str, list[list[float]]] = {
    "all alike": [[0.5, 0.5]] * 6,
    "rising": [[i / 8, (i + 1) / 8] for i in range(6)],
    "falling": [[1 - i / 8, 1 - i / 8] for i in range(6)],
    "at the threshold": [[0.25, 0.0], [0.25, 0.25], [0.2499, 0.25], [0.0, 0.0]] + [[0.25, 0.5]] * 2,
    "below it": [[0.2, 0.1]] * 6,
    "classes in turn": [[0.5, 0.25], [0.25, 0.5], [0.5, 0.5], [0.75, 0.5], [0.5, 0.75], [1, 1]],
    "no numbers": [[np.nan, 0.5], [0.5, np.nan], [np.nan, np.nan], [0.5, 0.5], [np.inf, 1], [1, 0]],
}

OPTIONS = {
    "plain": PLAIN,
    "one box": replace(PLAIN, max_detections=1),
    "room for more": replace(PLAIN, max_detections=9),
    "a third is too much": replace(PLAIN, iou_threshold=0.25, max_detections=6),
    "a third is what may be": replace(PLAIN, iou_threshold=float(np.float32(1) / np.float32(3))),
    "all may lie on each other": replace(PLAIN, iou_threshold=1.0, max_detections=6),
    "one of each class": replace(PLAIN, detections_per_class=1),
    "other scales": replace(PLAIN, y_scale=10.0, x_scale=8.0, h_scale=5.0, w_scale=-4.0),
}

FLAT, IS_HEIGHT = np.isin(np.arange(6), (1, 3))[:, None], np.arange(4) == 2

ANCHORS: dict[str, Floats] = {
    "squares": SQUARES,
    "of which some have no extent": np.where(FLAT & IS_HEIGHT, np.float32(0), SQUARES),
    "turned round": SQUARES * np.array([1, 1, -1, 1], np.float32),
    "no numbers": np.where(np.arange(6)[:, None] == 3, np.float32(np.nan), SQUARES),
}


def detecting() -> dict[str, Built]:
    """Each option with each kind of scores; the rest with plain ones; both ways of comparing."""
    made = {}
    for regular, (option, attrs), (kind, scores) in product(
        (True, False), OPTIONS.items(), SCORES.items()
    ):
        name = f"{'by class' if regular else 'by box'}, {option}, {kind}"
        attrs = replace(attrs, use_regular_nms=regular)
        made[f"detection_postprocess: {name}"] = _case(attrs, scores, SQUARES)
    for regular, (kind, anchors) in product((True, False), ANCHORS.items()):
        attrs = replace(PLAIN, use_regular_nms=regular)
        name = f"{'by class' if regular else 'by box'}, anchors {kind}"
        made[f"detection_postprocess: {name}"] = _case(attrs, SCORES["rising"], anchors)
    return made


def _case(attrs: DetectionPostprocessAttrs, scores: list[list[float]], anchors: Floats) -> Built:
    """Boxes where the anchors are, or a little beside; a background where classes compete."""
    encodings = np.zeros((1, 6, 5), np.float32)
    if attrs.y_scale != 1:
        encodings[0] = np.linspace(-3, 3, 30, dtype=np.float32).reshape(6, 5)
    rows = np.array(scores, np.float32)[None]
    if attrs.use_regular_nms:
        rows = np.concatenate([np.full((1, 6, 1), 9, np.float32), rows], axis=2)
    inputs = [plain(encodings), plain(rows), plain(anchors)]
    return corner("detection_postprocess", attrs, inputs)
