"""What is common to models that take samples and to those that take frames, in the emulator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp import Pipeline, Vision
from tinyrt.emulate.boards import Board, board_for
from tinyrt.emulate.cycles import CycleReport, Timing
from tinyrt.emulate.cycles.meter import Meter
from tinyrt.emulate.image import Image, build_image
from tinyrt.emulate.qemu import PHASES, Run, run_image
from tinyrt.emulate.report import EmulationReport
from tinyrt.emulate.run import AROUND, meter_of
from tinyrt.errors import error_context
from tinyrt.export import ExportedProject, ExportOptions, export_graph, find_core
from tinyrt.export.identity import sha256_of
from tinyrt.files import make_folder
from tinyrt.ir import Graph
from tinyrt.tools import EMULATOR_S


@dataclass(frozen=True, slots=True)
class Fed:
    """A model's code with what stands in front of it, exported for an emulation.

    Attributes:
        graph: the model.
        project: the export.
        board: what runs it; None for the machine itself.
        build: the folder to build in.
        meter: what tells cycles; None without them.

    """

    graph: Graph
    project: ExportedProject
    board: Board | None
    build: Path
    meter: Meter | None

    def run(
        self, samples: int, data: bytes, *, timeout_s: float = EMULATOR_S
    ) -> tuple[Image, Run, CycleReport | None]:
        """An image that takes so many numbers at a time, what it does, and cycles of an answer.

        Raises:
            ToolError: the compiler or the emulator are missing or failed.
            UnsupportedError: the cycles of an instruction are not known.

        """
        image, meter = self.image(samples), self.meter
        if meter is None:
            return image, run_image(image, data, self.build, timeout_s=timeout_s), None
        listing = meter.listing(image.path)
        counting = meter.options(listing, AROUND, self.build)
        run = run_image(image, data, self.build, timeout_s=timeout_s, options=counting)
        assert run.instructions is not None
        return image, run, meter.of_inference(listing, self.build, run.instructions, PHASES)

    def image(self, samples: int) -> Image:
        """The image alone; raises ``ToolError`` where the compiler is missing or failed."""
        return build_image(self.project, self.build, board=self.board, samples=samples)

    def told(
        self, report: EmulationReport, *, state: int, is_same: bool, hides_error: bool = False
    ) -> EmulationReport:
        """The report of what was heard or seen: its state is all that is kept between calls.

        Args:
            report: that of the outputs.
            state: bytes that are kept.
            is_same: whether the host decided the same at the same time.
            hides_error: whether outputs that came at another time are not to be compared.

        """
        return replace(
            report,
            ram=replace(report.ram, state=state),
            instructions_per_mac=None,
            bit_exact=bool(report.bit_exact and is_same),
            float_error=None if hides_error and not is_same else report.float_error,
        )


def exported(
    model_path: str | Path,
    front_end: Pipeline | Vision,
    build_dir: str | Path,
    *,
    core: str,
    optimize: str,
    options: ExportOptions,
    board: str | None,
    cycles: Timing | None = None,
) -> Fed:
    """Export a model with what stands in front of it.

    Args:
        model_path: a .tflite file.
        front_end: what makes its input.
        build_dir: as for ``run_emulated``.
        core: likewise.
        optimize: likewise.
        options: of the export.
        board: as for ``run_emulated``.
        cycles: likewise.

    Raises:
        TinyrtError: as ``run_emulated``.

    """
    target = find_core(core)
    place = board_for(target, board)
    meter = meter_of(target, place, cycles)
    build = make_folder(build_dir)
    with error_context(file=str(model_path)):
        graph = read_tflite(model_path)
        project = export_graph(
            *(graph, build / "model"),
            core=target.name,
            optimize=optimize,
            options=options,
            model_sha256=sha256_of(Path(model_path)),
            front_end=front_end,
        )
    return Fed(graph, project, place, build, meter)
