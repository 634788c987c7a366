"""The C projects of what picks boxes and scores: options, one function, and its kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinyrt.dsp.boxes import Boxes
from tinyrt.dsp.top_k import TopK
from tinyrt.entry import entry
from tinyrt.export import text as c_text
from tinyrt.export.rendering import as_source
from tinyrt.export.standalone import Alone, ExportedAlone

WORD, BOX = 4, 12
"""Bytes of a place, and of a box."""


@dataclass(frozen=True, slots=True)
class ExportedBoxes(ExportedAlone):
    """The exported project of what finds boxes.

    Attributes:
        boxes: how they follow from scores and encodings.
        work_bytes: memory that is free between calls.

    """

    boxes: Boxes
    work_bytes: int


@dataclass(frozen=True, slots=True)
class ExportedTopK(ExportedAlone):
    """The exported project of what finds the greatest scores.

    Attributes:
        top_k: which scores are meant.

    """

    top_k: TopK


@entry
def export_boxes(
    boxes: Boxes,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    name: str = "boxes",
    prefix: str | None = None,
    layout: str = "cmake",
) -> ExportedBoxes:
    """Write the C project of what finds boxes: they are those of ``Boxes.find``.

    Args:
        boxes: how they follow from scores and encodings.
        out_dir: the folder to write; as for ``export_c``.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``, of the code.
        name: its name in C, by which files and functions begin.
        prefix: what stands before that name.
        layout: as for ``export_c``.

    Raises:
        UnsupportedError: there is no such core, optimisation or layout, or the name will not do.
        OutputError: the folder cannot be written.

    """
    work_bytes = WORD * boxes.candidates + BOX * boxes.most
    context = {
        "boxes": boxes,
        "work_bytes": work_bytes,
        "alignment": WORD,
        "definitions": as_source(definitions_of(boxes, "params")),
    }
    title = f"boxes by the scores of {len(boxes.anchors)} anchors"
    alone = Alone("boxes", title, context, ["tinyrt_boxes_s8"])
    choices = {"core": core, "optimize": optimize, "name": name, "layout": layout}
    return ExportedBoxes(*alone.written(out_dir, prefix=prefix, **choices), boxes, work_bytes)


@entry
def export_top_k(
    top_k: TopK,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    name: str = "top_k",
    prefix: str | None = None,
    layout: str = "cmake",
) -> ExportedTopK:
    """Write the C project of what finds the greatest scores: their places are ``TopK.find``'s.

    Args:
        top_k: which scores are meant.
        out_dir: the folder to write; as for ``export_c``.
        core: as for ``export_boxes``.
        optimize: as for ``export_boxes``.
        name: as for ``export_boxes``.
        prefix: as for ``export_boxes``.
        layout: as for ``export_c``.

    Raises:
        UnsupportedError: there is no such core, optimisation or layout, or the name will not do.
        OutputError: the folder cannot be written.

    """
    title = f"the {top_k.k} greatest of {top_k.size} scores"
    alone = Alone("top_k", title, {"top_k": top_k}, ["tinyrt_top_k_s8"])
    choices = {"core": core, "optimize": optimize, "name": name, "layout": layout}
    return ExportedTopK(*alone.written(out_dir, prefix=prefix, **choices), top_k)


def definitions_of(boxes: Boxes, name: str, *, coded: bool = True) -> list[str]:
    """The options in C: tables, and a struct of that name that points to them.

    Without encodings, there are no tables for these.
    """
    ignored = np.zeros(boxes.classes, np.uint8)
    ignored[list(boxes.ignored)] = 1
    fields = {
        "count": len(boxes.anchors),
        "classes": boxes.classes,
        "threshold": boxes.threshold,
        "share": boxes.share,
        "candidates": boxes.candidates,
        "most": boxes.most,
        "by_class": int(boxes.by_class),
        "height": boxes.height,
        "width": boxes.width,
        "anchors": "anchors",
        "moves": "moves" if coded else "NULL",
        "growths": "growths" if coded else "NULL",
        "ignored": "ignored",
    }
    anchors = np.array(boxes.anchors, np.int16).ravel()
    made = [c_text.array("static const", "int16_t", "anchors", anchors)]
    if coded:
        made.append(c_text.array("static const", "int16_t", "moves", boxes.moves))
        made.append(c_text.array("static const", "int16_t", "growths", boxes.growths))
    made.append(c_text.array("static const", "uint8_t", "ignored", ignored))
    return [*made, c_text.struct("tinyrt_boxes_params", name, fields)]
