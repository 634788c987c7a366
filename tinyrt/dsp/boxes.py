"""From the outputs of a network that detects things to boxes: decoded, and each thing once.

All numbers are integers. Places are counted in units that the caller chooses, such as eighths of a
pixel, up to 32,767 of them. Encodings are those of SSD (Liu et al., 2016, section 2.2) relative to
anchors, and of equal things the best box remains: greedy non-maximum suppression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.dsp.checks import known, require, require_int, require_real
from tinyrt.dsp.top_k import MAX_SIZE, TopK, stored

MAX_UNITS = (1 << 15) - 1
"""Most units of a frame's side, of an anchor's side and of a box."""

MAX_CLASSES, MAX_KEPT = 1 << 12, 1 << 10

BITS = 12
"""Fraction bits of moves and growths, in parts of an anchor's side."""
MAX_PART = (1 << 15) - 1
"""Largest move and growth: nearly eight sides. Times a side of 15 bits it fits into 32 bits."""

IOU_BITS = 8
"""Fraction bits of the share that two boxes may have in common."""


@dataclass(frozen=True, slots=True)
class Found:
    """Boxes of things, best first.

    Attributes:
        boxes: int16 (m, 4): top, left, bottom, right, in units.
        classes: int16 (m,).
        scores: int8 (m,), as the network stores them.

    """

    boxes: NDArray[np.int16]
    classes: NDArray[np.int16]
    scores: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Boxes:
    """How boxes follow from scores and encodings.

    The best ``candidates`` of all scores that reach ``threshold`` are decoded. From the best down,
    each is kept unless it shares more than ``iou`` of what both cover with one that is kept, until
    there are ``most``. Of equal scores the lower anchor, then the lower class, comes first.

    Attributes:
        height: of the frame, in units.
        width: of the frame.
        anchors: middle (down, across) and sides (height, width) of each, in units; middles lie in
            the frame.
        classes: scores of an anchor.
        threshold: the least score, as it is stored, int8.
        iou: the share of two boxes' union that their intersection may have, in steps of 1/256.
        candidates: most scores that are decoded.
        most: boxes that are kept.
        center_scale: of encodings of the middle: parts of the anchor's side to one step.
        size_scale: of encodings of sides: steps of the logarithm.
        zero_point: of encodings.
        by_class: whether only boxes of one class suppress each other.
        ignored: classes that are never detected, such as the background.

    """

    height: int
    width: int
    anchors: tuple[tuple[int, int, int, int], ...]
    classes: int
    threshold: int = 0
    iou: float = 0.5
    candidates: int = 64
    most: int = 10
    center_scale: float = 0.0
    size_scale: float = 0.0
    zero_point: int = 0
    by_class: bool = True
    ignored: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_int(self.height, 1, MAX_UNITS, "height")
        require_int(self.width, 1, MAX_UNITS, "width")
        require_int(self.classes, 1, MAX_CLASSES, "classes")
        count = len(self.anchors)
        fits = 1 <= count * self.classes <= MAX_SIZE
        require(fits, "anchors", count, f"1 to {MAX_SIZE:,} scores in all")
        for anchor in self.anchors:
            require(len(anchor) == 4, "anchors", anchor, "middle down, across, height, width")
            for value, most, least in zip(
                anchor, (self.height, self.width, MAX_UNITS, MAX_UNITS), (0, 0, 1, 1), strict=True
            ):
                require_int(value, least, most, "anchors")
        require_int(self.threshold, -128, 127, "threshold")
        require_real(self.iou, 0, 1, "iou")
        require_int(self.candidates, 1, MAX_KEPT, "candidates")
        require_int(self.most, 1, self.candidates, "most")
        require_real(self.center_scale, 0, 8, "center_scale")
        require_real(self.size_scale, 0, 8, "size_scale")
        require_int(self.zero_point, -128, 127, "zero_point")
        for one in self.ignored:
            require_int(one, 0, self.classes - 1, "ignored")
        counts = len(set(self.ignored)) < self.classes
        require(counts, "ignored", self.ignored, "a class that is not ignored, at least")

    @property
    def share(self) -> int:
        """The share that two boxes may have in common, in 256ths."""
        return round(self.iou * (1 << IOU_BITS))

    @property
    def moves(self) -> NDArray[np.int16]:
        """How far a middle moves, in 4096ths of the side: for encodings -128 to 127."""
        steps = np.arange(-128, 128) - self.zero_point
        parts = np.rint(steps * self.center_scale * (1 << BITS))
        return np.asarray(parts.clip(-MAX_PART, MAX_PART), np.int16)

    @property
    def growths(self) -> NDArray[np.int16]:
        """What a side is multiplied by, in 4096ths: for encodings -128 to 127."""
        most = math.log(MAX_PART)
        steps = np.minimum((np.arange(-128, 128) - self.zero_point) * self.size_scale, most)
        parts = np.rint(np.exp(steps) * (1 << BITS))
        return np.asarray(parts.clip(0, MAX_PART), np.int16)

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        lists = {"anchors": [list(a) for a in self.anchors], "ignored": list(self.ignored)}
        return asdict(self) | lists

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Boxes:
        """The value of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is missing, unknown or out of range.

        """
        made = dict(known(cls, options))
        for name in ("height", "width", "anchors", "classes"):
            require(name in made, name, None, "a value: it has no default")
        rows, ignored = made["anchors"], made.get("ignored", ())
        is_rows = isinstance(rows, list | tuple) and all(isinstance(r, list | tuple) for r in rows)
        require(is_rows, "anchors", rows, "a list of lists")
        require(isinstance(ignored, list | tuple), "ignored", ignored, "a list of classes")
        anchors = tuple(tuple(row) for row in rows)
        return cls(**made | {"anchors": anchors, "ignored": tuple(ignored)})

    def find(self, scores: ArrayLike, encodings: ArrayLike | None = None) -> Found:
        """What there is.

        Args:
            scores: int8 (anchors, classes).
            encodings: int8 (anchors, 4): middle down and across, height, width; None where the
                anchors are the boxes.

        Raises:
            DataError: an array is of another type or shape.

        """
        count = len(self.anchors)
        x = stored(scores, (count, self.classes), "scores")
        allowed = np.ones(self.classes, np.bool_)
        allowed[list(self.ignored)] = False
        places = np.flatnonzero(np.broadcast_to(allowed, x.shape))
        first = TopK(places.size, self.candidates, self.threshold)
        best = places[first.find(x.ravel()[places])]
        anchors, classes = np.divmod(best, self.classes)
        corners = np.array(self.anchors, np.int64).reshape(-1, 4)[anchors]
        if encodings is not None:
            codes = stored(encodings, (count, 4), "encodings")[anchors].astype(np.int64) + 128
            corners = self._decoded(corners, codes)
        boxes = self._cornered(corners)
        kept: list[int] = []
        for i in range(len(best)):
            if len(kept) < self.most and not any(
                (classes[i] == classes[j] or not self.by_class)
                and _overlap(boxes[i], boxes[j], self.share)
                for j in kept
            ):
                kept.append(i)
        found = x.ravel()[best[kept]], classes[kept].astype(np.int16)
        return Found(boxes[kept].astype(np.int16).reshape(-1, 4), found[1], found[0])

    def _decoded(self, anchors: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Middles and sides; both rounded to nearest, halves up."""
        sides, half = anchors[:, 2:], 1 << (BITS - 1)
        middles = anchors[:, :2] + ((sides * self.moves[codes[:, :2]] + half) >> BITS)
        grown = (sides * self.growths[codes[:, 2:]] + half) >> BITS
        return np.concatenate([middles, np.minimum(grown, MAX_UNITS)], axis=1)

    def _cornered(self, boxes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Top, left, bottom, right of middles and sides, within the frame."""
        begin = boxes[:, :2] - (boxes[:, 2:] >> 1)
        ends = np.concatenate([begin, begin + boxes[:, 2:]], axis=1)
        return ends.clip(0, [self.height, self.width] * 2)


def _overlap(a: NDArray[np.int64], b: NDArray[np.int64], share: int) -> bool:
    """Whether the intersection is more than so many 256ths of the union."""
    sides = (np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])).clip(0)
    both = int(sides.prod())
    union = int((a[2:] - a[:2]).prod()) + int((b[2:] - b[:2]).prod()) - both
    return (both << IOU_BITS) > share * union
