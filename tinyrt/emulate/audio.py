"""A model that takes samples, in the emulator: a recording in, the same answers as the host's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.attached import Fitted, fitted
from tinyrt.dsp import Pipeline
from tinyrt.emulate.cycles import Timing
from tinyrt.emulate.fed import exported
from tinyrt.emulate.qemu import Run
from tinyrt.emulate.report import EmulationReport
from tinyrt.emulate.run import report_of, unpack_outputs
from tinyrt.errors import DataError, error_context
from tinyrt.export import ExportedProject, ExportOptions, Port
from tinyrt.export.options import NO_OPTIONS
from tinyrt.ir import DType
from tinyrt.tools import EMULATOR_S

OPTIONS = ("max_arena", "by_rows", "memories")
"""Options of an export that change what an emulation on a recording runs."""

HEARD = Port("tinyrt.heard", DType.INT32, (1, 4), None, 16, None, None)
"""What stands before the outputs of a record: whether there is an answer, what it detects, or
whether it is an alarm, and both words of its error."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the host answers.

    Attributes:
        raw: output -> its answers as the model stores them, (answers, ...).
        samples: (answers,): samples heard when each came.
        detected: (answers,): the class that each detected, or -1; None without a detector.
        alarms: whether each is an alarm; None without an anomaly.
        sums: uint64 (answers,): the error of each; None likewise.

    """

    raw: Mapping[str, NDArray[Any]]
    samples: NDArray[np.int64]
    detected: NDArray[np.int32] | None
    alarms: NDArray[np.bool_] | None = None
    sums: NDArray[np.uint64] | None = None

    def decided(self, found: NDArray[np.int32]) -> bool:
        """Whether a device decided the same: its int32 (answers, 4) of ``HEARD``."""
        if self.detected is not None:
            return np.array_equal(found[:, 1], self.detected)
        if self.alarms is None or self.sums is None:
            return True
        words = np.ascontiguousarray(found[:, 2:]).view("<u8")[:, 0]
        return np.array_equal(found[:, 1] != 0, self.alarms) and np.array_equal(words, self.sums)


def emulate_samples(
    model_path: str | Path,
    samples: NDArray[np.int16],
    pipeline: Pipeline,
    expected: Expected,
    *,
    build_dir: str | Path,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
    board: str | None = None,
    cycles: Timing | None = None,
    timeout_s: float = EMULATOR_S,
) -> EmulationReport:
    """Push a recording through a model's C code in the emulator.

    Args:
        model_path: a .tflite file.
        samples: int16 (n,), or (n, axes).
        pipeline: the model's front end.
        expected: what the host answers.
        build_dir: as for ``run_emulated``.
        core: likewise.
        optimize: likewise.
        options: of the export, those in ``OPTIONS``.
        board: as for ``run_emulated``.
        cycles: likewise; no op is counted by itself.
        timeout_s: likewise.

    Returns:
        The report; instructions and cycles are those from one answer to the next, outputs those of
        all answers.

    Raises:
        DataError: the recording is too short for an answer.
        TinyrtError: as ``run_emulated``.

    """
    options.require_only(OPTIONS, "an emulation on a recording")
    fed = exported(
        *(model_path, pipeline, build_dir),
        core=core,
        optimize=optimize,
        options=options,
        board=board,
        cycles=cycles,
    )
    project = fed.project
    with error_context(file=str(model_path)):
        fit = fitted(pipeline, fed.graph)
        counts = pieces_of(fit, len(samples))
    chunk = fit.stride * pipeline.front.step
    data = records_of(samples, counts, chunk)
    image, run, told = fed.run(chunk * pipeline.axes, data, timeout_s=timeout_s)
    ends = np.cumsum(counts)
    answered, run, found = answers_of(project, run, len(counts))
    report = report_of(project, image, run, int(answered.sum()), expected.raw, cycles=told)
    same = np.array_equal(ends[answered], expected.samples)
    same = same and expected.decided(found[answered])
    assert project.audio is not None
    state = project.audio.state_bytes
    return fed.told(report, state=state, is_same=same, hides_error=True)


def pieces_of(fit: Fitted, samples: int) -> list[int]:
    """How many samples each push has: answers come with the last sample of one.

    The first piece is as long as from one answer to the next. It is pushed again to be timed.

    Raises:
        DataError: there is no answer.

    """
    front = fit.pipeline.front
    chunk = fit.stride * front.step
    first = front.window + (fit.rows - 1) * front.step
    if samples < first:
        raise DataError(
            f"the recording has {samples:,} samples",
            expected=f"at least {first:,}, for an answer",
            hint="take a longer recording",
        )
    whole, rest = divmod(samples - first, chunk)
    before = first % chunk
    counts = [chunk, *[before] * (before > 0), *[chunk] * (first // chunk - 1 + whole)]
    return counts + [rest] * (rest > 0)


def records_of(samples: NDArray[np.int16], counts: list[int], chunk: int) -> bytes:
    """Each piece of the samples behind its length, all of them as long as a whole one."""
    parts = []
    for count, end in zip(counts, np.cumsum(counts), strict=True):
        piece = np.zeros((chunk, *samples.shape[1:]), "<i2")
        piece[:count] = samples[end - count : end]
        parts.append(np.int32(count).astype("<i4").tobytes() + piece.tobytes())
    return b"".join(parts)


def answers_of(
    project: ExportedProject, run: Run, records: int
) -> tuple[NDArray[np.bool_], Run, NDArray[np.int32]]:
    """Which records have an answer, the run with the outputs of these, and all of ``HEARD``."""
    unpacked = unpack_outputs((HEARD, *project.outputs), run.outputs, records)
    heard = unpacked[HEARD.name]
    rows = np.frombuffer(run.outputs, np.uint8).reshape(records, -1)
    answered = heard[:, 0] != 0
    return answered, replace(run, outputs=rows[answered, HEARD.nbytes :].tobytes()), heard
