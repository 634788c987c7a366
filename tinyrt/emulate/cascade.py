"""A cascade in the emulator: every sample's answer, which model gave it, and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinyrt.emulate import toolchain
from tinyrt.emulate.blocks import script_context
from tinyrt.emulate.boards import Board, board_for
from tinyrt.emulate.image import (
    FIRMWARE,
    HARNESS_SOURCES,
    INVOKE,
    PROGRAM,
    PROGRAM_SOURCES,
    Image,
    bring_harness,
    bring_model,
    link_image,
    link_program,
)
from tinyrt.emulate.qemu import Run, boot, run_of, sample_instructions
from tinyrt.emulate.report import EmulationReport
from tinyrt.emulate.run import Arrays, pack_inputs, report_of
from tinyrt.emulate.sizes import sizes_of_image, sizes_of_library
from tinyrt.emulate.stack import CALL_GRAPH_FLAG, stack_bound
from tinyrt.export import ExportOptions, find_core
from tinyrt.export.cascade import STAGE, ExportedCascade, export_cascade
from tinyrt.export.options import NO_OPTIONS
from tinyrt.files import make_folder
from tinyrt.tools import EMULATOR_S

OPTIONS = ("max_arena", "by_rows", "memories")
"""Options of an export that change what an emulation runs."""

EACH_FLAG = "-DHARNESS_EACH"
"""Has the harness time every sample, and not the first alone."""


@dataclass(frozen=True, slots=True)
class CascadeRun:
    """A cascade on one emulated core.

    Attributes:
        emulation: as of a model; its ``instructions`` are those of the first sample.
        instructions: of each sample, within the 4 that the clock tells apart; None on this machine.
        stages: which model answered each sample: 0 the first, 1 the second.

    """

    emulation: EmulationReport
    instructions: NDArray[np.int64] | None
    stages: NDArray[np.int32]

    @property
    def mean_instructions(self) -> float | None:
        """Instructions of a sample, on average."""
        return None if self.instructions is None else float(self.instructions.mean())

    def mean_of(self, stage: int) -> float | None:
        """Instructions of a sample that this stage answers; None where there is none."""
        if self.instructions is None or stage not in self.stages:
            return None
        return float(self.instructions[self.stages == stage].mean())


def run_emulated_cascade(
    first: str | Path,
    second: str | Path,
    *,
    threshold: int,
    inputs: Arrays,
    expected: Arrays,
    build_dir: str | Path,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
    board: str | None = None,
    timeout_s: float = EMULATOR_S,
    progress: Callable[[int, int], None] | None = None,
) -> CascadeRun:
    """Run a cascade's C code in the emulator, and count the instructions of every sample.

    Args:
        first: the .tflite that answers first.
        second: the .tflite that answers where the first is not sure.
        threshold: the least margin of the first that is enough.
        inputs: as for ``run_emulated``, of the first model.
        expected: ``scores`` and ``stage`` as the host answers, samples first.
        build_dir: as for ``run_emulated``.
        core: likewise.
        optimize: likewise.
        options: of the export, those in ``OPTIONS``.
        board: likewise.
        timeout_s: likewise.
        progress: likewise.

    Raises:
        TinyrtError: as ``export_cascade`` and ``run_emulated``.

    """
    options.require_only(OPTIONS, "an emulation of a cascade")
    target = find_core(core)
    place = board_for(target, board)
    build = make_folder(build_dir)
    cascade = export_cascade(
        *(first, second, build / "model"),
        threshold=threshold,
        core=target.name,
        optimize=optimize,
        options=options,
    )
    packed, samples = pack_inputs(cascade.project.inputs, inputs)
    image = build_cascade(cascade, build, board=place)
    answer_bytes = sum(port.nbytes for port in cascade.project.outputs)
    report = boot(
        *(image, packed, build),
        timeout_s=timeout_s,
        progress=progress and (lambda nbytes: progress(nbytes // answer_bytes, samples)),
    )
    run: Run = run_of(image, report, build)
    emulation = report_of(cascade.project, image, run, samples, expected)
    each = sample_instructions(report) if place is not None else None
    stages = emulation.outputs[STAGE].reshape(-1)
    return CascadeRun(emulation, None if each is None else np.asarray(each, np.int64), stages)


def build_cascade(cascade: ExportedCascade, build_dir: Path, *, board: Board | None) -> Image:
    """The image of a cascade; raises as ``build_image``."""
    project, models = cascade.project, [cascade.project, cascade.first, cascade.second]
    core = project.core
    toolchain.require(core.compiler, core.archiver, f"{core.prefix}size", "make")
    toolchain.require_core(core)
    folder = make_folder(build_dir / "image") if board else build_dir
    own = (FIRMWARE, FIRMWARE / board.machine) if board else (FIRMWARE / "host",)
    bring_harness(project, folder, own)
    bring_model(project, folder)
    if board is None:
        archive = link_program(project, folder, PROGRAM_SOURCES)
        return Image(folder / PROGRAM, None, sizes_of_library(archive, models, core), None)
    script = script_context([model.name for model in models], None, board)
    flags = ((CALL_GRAPH_FLAG, EACH_FLAG), (CALL_GRAPH_FLAG,))
    path = link_image(project, folder, board, HARNESS_SOURCES, script, flags)
    image = Image(path, board, sizes_of_image(path, core), None)
    return replace(image, stack_bound=stack_bound(folder, path, INVOKE, core))
