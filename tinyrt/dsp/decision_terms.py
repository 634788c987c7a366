"""What the cost of decisions grows with, and the most of it whatever a network says."""

from __future__ import annotations

from tinyrt.dsp.anomaly import AnomalyNumbers
from tinyrt.dsp.boxes import Boxes
from tinyrt.dsp.cost_table import MET, MOST
from tinyrt.dsp.detector import Detector
from tinyrt.dsp.top_k import TopK
from tinyrt.dsp.transform_terms import Terms

WORD = 4
"""Scores of a word, and numbers of a vector of 32 bits each."""

BOXES = 8
"""Boxes that are compared with one at once where there are vectors; a ``WORD`` are decoded."""


def decision_terms(
    decision: Detector | TopK | Boxes | AnomalyNumbers, *, at_once: int = 1
) -> dict[str, Terms]:
    """What happens in a call -> what its constants are times; the last one is the most.

    Args:
        decision: what is decided.
        at_once: scores that a core looks at together.

    """
    match decision:
        case Detector(classes=classes):
            return {"waits": (1, classes), "decides": (1, classes)}
        case TopK(size=size, k=k):
            # Of one alone, none is looked for behind which a score goes.
            most = (1, size, min(size, k), size * (k > 1), shifts_of(size, k))
            return {"none reaches": (1, *_looked_at(size, at_once)), "all rise": most}
        case Boxes():
            return _of_boxes(decision, at_once)
        case AnomalyNumbers(size=size):
            is_in_vectors = at_once > WORD
            differences = (size // WORD, size % WORD > 0) if is_in_vectors else (size,)
            return {"compares": (1, *differences)}


def _looked_at(scores: int, at_once: int) -> Terms:
    """One by one; words of four, and those behind them; or vectors, the last one not full."""
    if at_once == 1:
        return (scores,)
    if at_once == WORD:
        return scores // WORD, scores % WORD
    return (-(-scores // at_once),)


def shifts_of(count: int, most: int) -> int:
    """Places that move where each of so many scores is greater than those before: the most.

    Likewise, boxes that each of so many is compared with, where one less than most are kept.
    """
    first = min(count, most)
    return first * (first - 1) // 2 + (count - first) * (most - 1)


def compared_by_eights(count: int, most: int) -> int:
    """How often eight boxes at once are compared with one, kept before them or among them."""
    before = (min(BOXES * i, most - 1) for i in range(-(-count // BOXES)))
    return sum(before) + min(count, most)


def _of_boxes(boxes: Boxes, at_once: int) -> dict[str, Terms]:
    """All are kept: scores rise, and no box goes, until there are enough; each meets all others.

    Most: besides, every candidate is compared with one less than may be kept, the last of which it
    shares too much with. int8 has 256 values, so that more scores cannot all rise: fewer places
    move then.
    """
    anchors, scores = len(boxes.anchors), len(boxes.anchors) * boxes.classes
    counted = len(boxes.anchors) * (boxes.classes - len(set(boxes.ignored)))
    shifts = shifts_of(counted, boxes.candidates)
    found = min(counted, boxes.candidates)
    kept = min(found, boxes.most)
    is_in_vectors = at_once > WORD

    def boxes_of(count: int) -> Terms:
        if not is_in_vectors:
            return count, shifts_of(count, boxes.most)
        decoded = min(found, BOXES * -(-count // BOXES))
        return -(-decoded // WORD), compared_by_eights(count, boxes.most)

    through = (1, anchors, scores) if at_once == 1 else (1, *_looked_at(scores, at_once))
    return {
        "no score reaches": through,
        MET: (*through, counted, shifts, *boxes_of(kept)),
        MOST: (*through, counted, shifts, *boxes_of(found)),
    }
