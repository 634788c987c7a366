"""Several models, and models on recordings, in the emulator and beside the host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from tinyrt.api.carried import require_carried
from tinyrt.api.listening import listen_model, sound_of
from tinyrt.api.looking import frames_of, look_model
from tinyrt.api.models import compared_inputs
from tinyrt.attached import front_end_of
from tinyrt.dsp import Pipeline, Vision
from tinyrt.entry import entry
from tinyrt.files import scratch_folder
from tinyrt.tools import EMULATOR_S

if TYPE_CHECKING:
    from tinyrt.emulate import EmulationReport, Timing
    from tinyrt.export import ExportOptions
    from tinyrt.interpreter.progress import Progress


@entry
def run_emulated_several(
    models: Sequence[str | Path],
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions | None = None,
    board: str | None = None,
    samples: int = 4,
    shared_arena: bool = False,
    build_dir: str | Path | None = None,
    timeout_s: float = EMULATOR_S,
    progress: Progress | None = None,
) -> dict[str, EmulationReport]:
    """Build several models into one image, run each in the emulator, compare with the host.

    Args:
        models: quantised .tflite files, whose names differ.
        core: as for ``run_emulated``.
        optimize: as for ``run_emulated``.
        options: as for ``run_emulated``, for each model.
        board: as for ``run_emulated``.
        samples: how many seeded random inputs each model runs.
        shared_arena: whether the models take turns in the same memory.
        build_dir: as for ``run_emulated``.
        timeout_s: when to give up on the emulator, in seconds.
        progress: called with bytes of output written, and bytes in all.

    Returns:
        The model's name in C -> its report. Flash and static RAM are those of the whole image.

    Raises:
        TinyrtError: as ``run_emulated``; or two models have the same name.

    """
    from tinyrt.emulate import run_emulated_several as run
    from tinyrt.export import ExportOptions

    pairs = [compared_inputs(model, None, samples) for model in models]
    with scratch_folder() as scratch:
        return run(
            models,
            core=core,
            optimize=optimize,
            board=board,
            inputs=[feeds for feeds, _ in pairs],
            expected=[answers for _, answers in pairs],
            options=options or ExportOptions(),
            shared_arena=shared_arena,
            build_dir=build_dir or scratch,
            timeout_s=timeout_s,
            progress=progress,
        )


@entry
def emulate_recording(
    model: str | Path,
    recording: str | Path | ArrayLike,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions | None = None,
    board: str | None = None,
    cycles: Timing | None = None,
    build_dir: str | Path | None = None,
    timeout_s: float = EMULATOR_S,
) -> EmulationReport:
    """Push a recording through a model's C code in the emulator, and compare with the host.

    Args:
        model: a quantised .tflite file that carries a front end.
        recording: as for ``listen_model``; with a camera, frames as for ``look_model``.
        core: as for ``run_emulated``.
        optimize: likewise.
        options: of the export: ``max_arena``, ``by_rows`` and ``memories``; with a camera also
            ``input_rows``.
        board: as for ``run_emulated``.
        cycles: likewise; no op is counted by itself.
        build_dir: likewise.
        timeout_s: likewise.

    Returns:
        The report; instructions and cycles are those from one answer to the next, features and
        network, or of a frame.

    Raises:
        TinyrtError: as ``listen_model`` and ``run_emulated``; or there is no answer.

    """
    from tinyrt.emulate.audio import Expected, emulate_samples
    from tinyrt.emulate.camera import SeenByHost, emulate_frames
    from tinyrt.export import ExportOptions

    vision = front_end_of(model)
    if isinstance(vision, Vision):
        frames = frames_of(recording, vision.camera)
        seen = look_model(model, frames)
        with scratch_folder() as scratch:
            return emulate_frames(
                *(model, frames, vision, SeenByHost(seen.raw, seen.boxes)),
                build_dir=build_dir or scratch,
                core=core,
                optimize=optimize,
                board=board,
                cycles=cycles,
                options=options or ExportOptions(),
                timeout_s=timeout_s,
            )
    pipeline = require_carried(model, Pipeline)
    sound = sound_of(recording, pipeline)
    heard = listen_model(model, sound.samples)
    decided = heard.detected, heard.alarms, heard.sums
    expected = Expected(heard.raw, heard.samples, *decided)
    with scratch_folder() as scratch:
        return emulate_samples(
            *(model, sound.samples, pipeline, expected),
            build_dir=build_dir or scratch,
            core=core,
            optimize=optimize,
            board=board,
            cycles=cycles,
            options=options or ExportOptions(),
            timeout_s=timeout_s,
        )
