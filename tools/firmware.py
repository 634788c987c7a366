"""Builds and runs the example firmwares, and writes what they take into docs/firmware.md.

Those that wait for a host have tests of their own.

python -m tools.firmware [--check]: with --check, the page must say it already.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinyrt import api
from tinyrt.emulate import EmulationReport
from tinyrt.export import export_c
from tools.page import with_table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "firmware.md"
BUILD = ROOT / "build" / "firmware"
NAME = "firmware"
HEAD = "| example | core | flash | RAM | of these, arena and state | stack | instructions |"


@dataclass(frozen=True, slots=True)
class Example:
    """A folder of ``firmware_examples``.

    Attributes:
        name: of the folder.
        cores: those that it runs on.
        model: the file that is exported.
        audio: a recording that it hears, or of motion; empty for one that takes its model's input.

    """

    name: str
    cores: Sequence[str]
    model: Path
    audio: str = ""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return ROOT / "firmware_examples" / self.name


RINGS = ROOT / "firmware_examples" / "anomaly"
MOVES = ROOT / "firmware_examples" / "motion"
HEARS = ROOT / "firmware_examples" / "keyword_spotting"
EXAMPLES = (
    Example("hello_digits", ["cortex-m4"], ROOT / "build" / "demo" / "digits.tflite"),
    Example(
        *("keyword_spotting", ["cortex-m4", "cortex-m55"], HEARS / "keywords.tflite"), "words.wav"
    ),
    Example(
        *("motion", ["cortex-m0plus", "cortex-m33"], MOVES / "movements.tflite"), "recording.npy"
    ),
    Example("anomaly", ["cortex-m3"], RINGS / "machine.tflite", "recording.npy"),
)


@dataclass(frozen=True, slots=True)
class Taken:
    """What an example takes on a core.

    Attributes:
        flash: bytes of the whole image.
        ram: bytes of its variables.
        report: the model alone, on the emulator.

    """

    flash: int
    ram: int
    report: EmulationReport

    def row(self, example: Example, core: str) -> str:
        """A line of the table."""
        ram = self.report.ram
        link = f"[{example.name}](../firmware_examples/{example.name})"
        figures = (self.flash, self.ram, ram.arena + ram.state, ram.stack, self.report.instructions)
        return f"| {link} | {core} | {' | '.join(f'{figure:,}' for figure in figures)} |"


def taken(example: Example, core: str, build: Path) -> Taken:
    """Export, build and run an example, and its model alone.

    Raises:
        RuntimeError: it does not build, or does not end well.

    """
    folder = build / f"{example.name}-{core}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(example.folder, folder, ignore=shutil.ignore_patterns("build", "exported"))
    export_c(example.model, folder / "exported", core=core)
    run(["make", "-s", "run", f"CORE={core}"], folder)
    (image,) = (folder / "build").glob("*.elf")
    text, data, bss = run(["arm-none-eabi-size", image], folder).splitlines()[1].split()[:3]
    if example.audio:
        report = api.emulate_audio(example.model, example.folder / example.audio, core=core)
    else:
        report = api.run_emulated(example.model, core=core)
    if not report.agrees:
        raise RuntimeError(f"{example.name} on {core} does not answer what the host does")
    return Taken(int(text) + int(data), int(data) + int(bss), report)


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a program prints.

    Raises:
        RuntimeError: it does not end well.

    """
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command} in {folder} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def table(build: Path = BUILD) -> str:
    """The table of these examples."""
    rows = [taken(example, core, build).row(example, core)
            for example in EXAMPLES for core in example.cores]  # fmt: skip
    return "\n".join([HEAD, "|---|---|---|---|---|---|---|", *rows])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the page says otherwise")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    made = with_table(page, NAME, table())
    if check and made != page:
        sys.exit("docs/firmware.md is out of date: run make firmware")
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
