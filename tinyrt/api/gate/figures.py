"""What a model is measured by: arena, flash, stack and instructions of each core, and the rest."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from tinyrt.api.inputs import Data
from tinyrt.api.inspection import inspect_model
from tinyrt.api.models import evaluate, run_emulated
from tinyrt.emulate.boards import BOARDS
from tinyrt.errors import DataError
from tinyrt.export import find_core
from tinyrt.tools import PROBE_S, run_tool

FILE, ACCURACY = "file", "accuracy"
"""Where figures belong that are no core's."""

CORE_FIGURES = ("arena", "flash", "stack", "instructions")
"""Bytes of activations, of code and weights, and of the stack; instructions per inference."""

BUILT = ("flash", "stack", "instructions")
"""Figures for which the code is built and run."""

UNITS = {"instructions": "", "top1": "%"}
"""Figure -> its unit; bytes where it is not here."""

Figures = dict[str, dict[str, int | float]]
"""Core, ``file`` or ``accuracy`` -> name -> figure."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A model's figures.

    Attributes:
        figures: what was measured.
        agrees: core -> whether it answered what the host answers, for cores that ran.
        tools: compilers and emulators -> version, on which flash and instructions depend.

    """

    figures: Figures
    agrees: dict[str, bool] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be measured on one core.

    Attributes:
        core: its name.
        figures: names in ``CORE_FIGURES``.
        optimize: what the code is made for.

    """

    core: str
    figures: Collection[str]
    optimize: str = "balanced"


def measure(model: str | Path, cores: Collection[Asked], data: Data | None) -> Measured:
    """Measure a model file.

    Args:
        model: a .tflite file.
        cores: what is to be known of which core.
        data: labelled samples for the accuracy; None to leave it out.

    Raises:
        DataError: the data have no labels.
        ToolError: a compiler or an emulator is missing or failed.
        TinyrtError: the model cannot be read or exported.

    """
    figures: Figures = {}
    agrees: dict[str, bool] = {}
    tools: dict[str, str] = {}
    for asked in cores:
        if not set(BUILT) & set(asked.figures):
            inspection = inspect_model(model, core=asked.core, optimize=asked.optimize)
            figures[asked.core] = {"arena": inspection.arena_bytes}
            continue
        report = run_emulated(model, core=asked.core, optimize=asked.optimize, samples=1)
        known = {
            "arena": report.ram.arena,
            "flash": report.flash.code + report.flash.weights,
            "stack": report.ram.stack,
            "instructions": report.instructions,
        }
        figures[asked.core] = {
            name: figure
            for name in CORE_FIGURES
            if name in asked.figures and (figure := known[name]) is not None
        }
        agrees[asked.core] = report.agrees
        tools |= _tools(asked.core, report.board)
    figures[FILE] = {"bytes": Path(model).stat().st_size}
    if data is not None:
        figures[ACCURACY] = {"top1": _accuracy(model, data)}
    return Measured(figures, agrees, tools)


def _accuracy(model: str | Path, data: Data) -> float:
    top1 = evaluate(model, data).top1
    if top1 is None:
        raise DataError(
            "the data have no labels, and accuracy is counted by them",
            file=str(data) if isinstance(data, str | Path) else None,
            expected="an array 'y' of class indices beside 'x'",
        )
    return top1


def _tools(core: str, board: str | None) -> dict[str, str]:
    """The compiler and the emulator that a core's figures come from, with their versions."""
    programs = [find_core(core).compiler, *([BOARDS[board].qemu] if board else [])]
    return {name: _version(name) for name in programs if shutil.which(name)}


def _version(program: str) -> str:
    lines = run_tool([program, "--version"], limit_s=PROBE_S).out.splitlines()
    return lines[0].strip() if lines else "unknown"
