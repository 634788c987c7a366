"""The C project of a detector alone: its options, two functions, and the kernel that they call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinyrt.dsp.detector import Detector
from tinyrt.entry import entry
from tinyrt.export import text as c_text
from tinyrt.export.rendering import as_source
from tinyrt.export.standalone import Alone, ExportedAlone

ALIGNMENT = 4
"""The state begins with words."""

COUNTS = 3
"""Words before the sums."""


@dataclass(frozen=True, slots=True)
class ExportedDetector(ExportedAlone):
    """The exported project of a detector.

    Attributes:
        detector: what it decides by.
        state_bytes: memory that it keeps between calls.

    """

    detector: Detector
    state_bytes: int


@entry
def export_detector(
    detector: Detector,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    name: str = "detector",
    prefix: str | None = None,
    layout: str = "cmake",
) -> ExportedDetector:
    """Write the C project of a detector: its decisions are those of ``DetectorStream``.

    Args:
        detector: what it decides by.
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
    state_bytes = state_bytes_of(detector)
    context = {
        "detector": detector,
        "state_bytes": state_bytes,
        "alignment": ALIGNMENT,
        "definitions": as_source(definitions_of(detector, "params")),
    }
    title = f"decisions by the scores of {detector.classes} classes"
    alone = Alone("detector", title, context, ["tinyrt_detector_s8"])
    choices = {"core": core, "optimize": optimize, "name": name, "layout": layout}
    return ExportedDetector(
        *alone.written(out_dir, prefix=prefix, **choices), detector, state_bytes
    )


def state_bytes_of(detector: Detector) -> int:
    """Bytes of a detector's state: counts, sums of each class, rows."""
    rows = -(-detector.window * detector.classes // ALIGNMENT) * ALIGNMENT
    return 4 * (COUNTS + detector.classes) + rows


def definitions_of(detector: Detector, name: str) -> list[str]:
    """A detector's options in C, as a struct of that name."""
    ignored = np.zeros(detector.classes, np.uint8)
    ignored[list(detector.ignored)] = 1
    fields = {
        "classes": detector.classes,
        "window": detector.window,
        "least": detector.least,
        "hold": detector.hold,
        "ignored": "ignored",
    }
    return [
        c_text.array("static const", "uint8_t", "ignored", ignored),
        c_text.struct("tinyrt_detector_params", name, fields),
    ]
