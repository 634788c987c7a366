"""Runs of the zoo's models on emulated cores, each only once however many tables have it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.mcu import SAMPLES
from tinyrt.api import run_emulated
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import EmulationReport
from tinyrt.export import ExportOptions

PLAIN = ExportOptions()


def zoo() -> Path:
    """The folder that holds models/ and golden/.

    Raises:
        SystemExit: nobody said where it is.

    """
    if "TINYRT_ZOO" not in os.environ:
        raise SystemExit("set TINYRT_ZOO to the folder that holds models/ and golden/")
    return Path(os.environ["TINYRT_ZOO"])


def path_of(name: str) -> Path:
    """The int8 file of a model of the zoo."""
    return zoo() / "models" / f"{name}_int8.tflite"


@cache
def golden_run(
    name: str,
    core: str,
    optimize: str = "balanced",
    options: ExportOptions = PLAIN,
    profile: bool = False,
) -> EmulationReport:
    """A model of the zoo over its first golden inputs, as in docs/benchmarks.md.

    Raises:
        SystemExit: the device's answers are not the host's.

    """
    golden = np.load(zoo() / "golden" / f"{name}_int8.npz")["inputs"]
    (x,) = read_tflite(path_of(name)).input_values
    return _checked(
        run_emulated(
            path_of(name),
            core=core,
            optimize=optimize,
            options=options,
            inputs=golden.reshape(-1, *x.shape[1:])[:SAMPLES],
            profile=profile,
        )
    )


@cache
def random_run(file: Path, core: str) -> EmulationReport:
    """A file on random inputs.

    Raises:
        SystemExit: the device's answers are not the host's.

    """
    return _checked(run_emulated(file, core=core, samples=SAMPLES))


def _checked(report: EmulationReport) -> EmulationReport:
    if not report.bit_exact:
        raise SystemExit(f"{report.core}: the device's answers are not the host's")
    return report


def instructions(report: EmulationReport) -> int:
    """Of one inference on an emulated core."""
    assert report.instructions is not None
    return report.instructions


def more(report: EmulationReport, plain: EmulationReport, digits: int = 1) -> str:
    """Instructions beside those of the plain program, in percent with a sign."""
    return percent(instructions(report), instructions(plain), digits)


def percent(new: int, old: int, digits: int = 1) -> str:
    """What is new beside what is old, with a sign."""
    return f"{100 * (new / old - 1):+.{digits}f} %"


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; integers have separators of thousands."""
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    for row in rows:
        cells = (f" {cell:,}" if isinstance(cell, int) else f" {cell}" for cell in row)
        lines.append(f"|{' |'.join(cells)} |".replace("  |", " |"))
    return "\n".join(lines)
