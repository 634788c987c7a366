"""A model that takes frames, in the emulator: lines in, the same answers as the host's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp import Found, Vision
from tinyrt.emulate.cycles import Timing
from tinyrt.emulate.fed import exported
from tinyrt.emulate.report import EmulationReport
from tinyrt.emulate.run import report_of, unpack_outputs
from tinyrt.export import ExportOptions, Port
from tinyrt.export.options import NO_OPTIONS
from tinyrt.ir import DType
from tinyrt.tools import EMULATOR_S

OPTIONS = ("max_arena", "by_rows", "input_rows", "memories")
"""Options of an export that change what an emulation on frames runs."""

BOX = np.dtype([("box", "<i2", 4), ("label", "<i2"), ("score", "<i2")])
"""As the exported code has it."""


@dataclass(frozen=True, slots=True, eq=False)
class SeenByHost:
    """What the host answers.

    Attributes:
        raw: output -> its answers as the model stores them, (frames, ...).
        boxes: what is found in each frame; None without boxes.

    """

    raw: Mapping[str, NDArray[Any]]
    boxes: Sequence[Found] | None


def emulate_frames(
    model_path: str | Path,
    frames: NDArray[np.uint8],
    vision: Vision,
    expected: SeenByHost,
    *,
    build_dir: str | Path,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
    board: str | None = None,
    cycles: Timing | None = None,
    timeout_s: float = EMULATOR_S,
) -> EmulationReport:
    """Push frames, line by line, through a model's C code in the emulator.

    Args:
        model_path: a .tflite file.
        frames: uint8 (frames, height, line_bytes).
        vision: the model's camera, and what follows from scores.
        expected: what the host answers.
        build_dir: as for ``run_emulated``.
        core: likewise.
        optimize: likewise.
        options: of the export, those in ``OPTIONS``.
        board: as for ``run_emulated``.
        cycles: likewise; no op is counted by itself.
        timeout_s: likewise.

    Returns:
        The report; instructions and cycles are those of a frame, camera and network.

    Raises:
        TinyrtError: as ``run_emulated``.

    """
    options.require_only(OPTIONS, "an emulation on frames")
    fed = exported(
        *(model_path, vision, build_dir),
        core=core,
        optimize=optimize,
        options=options,
        board=board,
        cycles=cycles,
    )
    project = fed.project
    image, run, told = fed.run(frames[0].size, frames.tobytes(), timeout_s=timeout_s)
    head = seen_port(vision)
    seen = unpack_outputs((head, *project.outputs), run.outputs, len(frames))[head.name]
    rows = np.frombuffer(run.outputs, np.uint8).reshape(len(frames), -1)
    run = replace(run, outputs=rows[:, head.nbytes :].tobytes())
    report = report_of(project, image, run, len(frames), expected.raw, cycles=told)
    same = np.array_equal(seen, _told(vision, expected.boxes, len(frames)))
    assert project.camera is not None
    return fed.told(report, state=project.camera.state_bytes, is_same=same)


def seen_port(vision: Vision) -> Port:
    """What stands before the outputs of a record: whether there is an answer, and boxes."""
    most = 0 if vision.boxes is None else vision.boxes.most
    words = 2 + most * BOX.itemsize // 4
    return Port("tinyrt.seen", DType.INT32, (1, words), None, 4 * words, None, None)


def _told(vision: Vision, boxes: Sequence[Found] | None, frames: int) -> NDArray[np.int32]:
    """What each record says of ``seen_port``, int32 (frames, words)."""
    words = np.zeros((frames, *seen_port(vision).shape[1:]), "<i4")
    words[:, 0] = 1
    for record, found in zip(words, boxes or (), strict=bool(boxes)):
        count = len(found.scores)
        record[1] = count
        kept = np.zeros(count, BOX)
        kept["box"], kept["label"], kept["score"] = found.boxes, found.classes, found.scores
        record[2 : 2 + 3 * count] = kept.view("<i4")
    return words.astype(np.int32)
