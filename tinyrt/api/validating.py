"""A model on a real board, over a serial port, beside the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinyrt.api.inputs import Array, Data
from tinyrt.api.models import compared_inputs
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.entry import entry
from tinyrt.errors import error_context
from tinyrt.files import scratch_folder

if TYPE_CHECKING:
    from tinyrt.board import Subject, ValidationReport
    from tinyrt.emulate import CycleReport, Timing
    from tinyrt.interpreter.progress import Progress

BAUD = 115_200
"""Bits per second of the port, unless told otherwise."""

ANSWER_S = 5.0
"""How long each answer of a board may take, in seconds, unless told otherwise."""

EMULATED_ANSWER_S = 30.0
"""The same for a board in the emulator."""

SAMPLES = 4
"""Random inputs that a board runs where no data are given."""


@entry
def validate(
    model: str | Path,
    *,
    port: str,
    baud: int = BAUD,
    data: Data | None = None,
    samples: int | None = None,
    timeout_s: float = ANSWER_S,
    cycles: Timing | None = None,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    progress: Progress | None = None,
) -> ValidationReport:
    """Run a model on a board over a serial port, and compare each byte with the host's answers.

    The board's firmware has the model as ``export_c(..., board=True)`` wrote it.

    Args:
        model: the quantised .tflite file that was exported.
        port: the serial port, or a URL of pyserial's such as ``socket://host:5000``.
        baud: bits per second.
        data: what to run, as for ``evaluate``; seeded random inputs by default.
        samples: how many random inputs, 4 by default; of data, how many from the first on, all by
            default.
        timeout_s: how long each answer of the board may take, in seconds.
        cycles: what the board's cycles depend on besides its core, to tell beside the measured ones
            how many the first sample should take; that is emulated. None does without.
        core: the board's, for cycles.
        optimize: what its code is made for, likewise.
        progress: called with the samples done and their total.

    Raises:
        ToolError: pyserial is missing, the port cannot be opened, or the board does not answer, is
            another one, or answers what is no answer; or cycles are asked for, and the
            cross-compiler or the emulator is missing or failed.
        UnsupportedError: the core's cycles are not known.
        TinyrtError: the data do not fit the model.

    """
    from tinyrt.board import SerialLine, validate_on

    pair = _compared(model, data, samples)
    told = None if cycles is None else _told(model, pair, core, optimize, cycles)
    with SerialLine(port, baud) as line:
        subject = _subject_of(model)
        found = validate_on(line, subject, *pair, answer_s=timeout_s, progress=progress)
    return found if told is None else replace(found, told=told)


@entry
def run_firmware(
    model: str | Path,
    elf: str | Path,
    *,
    machine: str | None = None,
    data: Data | None = None,
    samples: int | None = None,
    timeout_s: float = EMULATED_ANSWER_S,
    progress: Progress | None = None,
) -> ValidationReport:
    """Boot a firmware in QEMU and compare what it answers on its serial port; see ``validate``.

    Instructions are not counted: the ticks are those of the firmware's own clock.

    Args:
        model: as for ``validate``.
        elf: the firmware, as the linker wrote it.
        machine: QEMU's name of the machine; mps2-an386 for Arm and virt for RISC-V by default.
        data: as for ``validate``.
        samples: as for ``validate``.
        timeout_s: as for ``validate``.
        progress: as for ``validate``.

    Raises:
        DataError: the file is no firmware, or the data do not fit the model.
        ToolError: the emulator is missing or ends, or as for ``validate``.

    """
    from tinyrt.board import emulated_port, validate_on

    pair = _compared(model, data, samples)
    with emulated_port(elf, machine) as line:
        subject = _subject_of(model)
        return validate_on(line, subject, *pair, answer_s=timeout_s, progress=progress)


def _compared(
    model: str | Path, data: Data | None, samples: int | None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Inputs and the host's answers: random ones, or so many of the data."""
    pair = compared_inputs(model, data, samples or SAMPLES)
    few = None if data is None else samples
    feeds, expected = ({n: array[:few] for n, array in arrays.items()} for arrays in pair)
    return feeds, expected


def _told(
    model: str | Path,
    pair: tuple[dict[str, Array], dict[str, Array]],
    core: str,
    optimize: str,
    timing: Timing,
) -> CycleReport | None:
    """Cycles of the first sample on the emulated core."""
    from tinyrt.emulate import run_emulated

    feeds, expected = ({n: array[:1] for n, array in arrays.items()} for arrays in pair)
    own: dict[str, Any] = {"core": core, "optimize": optimize, "cycles": timing}
    with scratch_folder() as scratch:
        run = run_emulated(model, inputs=feeds, expected=expected, build_dir=scratch, **own)
    return run.cycles


def _subject_of(model: str | Path) -> Subject:
    """What a board should say of itself that runs this model.

    Raises:
        ModelFormatError: the file is no .tflite model.

    """
    from tinyrt.board import Subject
    from tinyrt.export.identity import sha256_of

    with error_context(file=str(model)):
        graph = read_tflite(model)
    inputs, outputs = (tuple(map(graph.value, names)) for names in (graph.fed, graph.answers))
    return Subject(sha256_of(Path(model)), inputs, outputs)
