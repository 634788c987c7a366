"""Builds and runs the example firmwares, and writes what they take into docs/firmware.md.

Those that wait for a host have tests of their own. FREERTOS_KERNEL names a copy of FreeRTOS-Kernel;
without one, what the page says of the example that needs it stays.

python -m tools.firmware [--check]: with --check, the page must say it already.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinyrt import api
from tinyrt.emulate import EmulationReport
from tinyrt.emulate.cycles import Timing, cores_with_cycles
from tinyrt.export import ExportOptions, export_c, export_several, make_blob
from tinyrt.export.options import NO_OPTIONS
from tools.firmware_accuracy import OF, told_right
from tools.page import with_table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "firmware.md"
BUILD = ROOT / "build" / "firmware"
NAME = "firmware"
HEAD = (
    "| example | core | flash | RAM | of these, arena and state | stack | instructions | cycles |"
    " told right |"
)

EXAMPLES_FOLDER = ROOT / "firmware_examples"
DIGITS = EXAMPLES_FOLDER / "hello_digits" / "digits.tflite"
KEYWORDS = EXAMPLES_FOLDER / "keyword_spotting" / "keywords.tflite"
WORDS = EXAMPLES_FOLDER / "keyword_spotting" / "words.wav"
FIRST, SECOND = (EXAMPLES_FOLDER / "update" / f"{name}.tflite" for name in ("first", "second"))
MOVES = EXAMPLES_FOLDER / "motion" / "movements.tflite"
PRESSURE = EXAMPLES_FOLDER / "anomaly" / "pressure.tflite"
FINDER = EXAMPLES_FOLDER / "camera" / "finder.tflite"
RECORDINGS = {
    KEYWORDS: WORDS,
    FINDER: FINDER.parent / "frames.npy",
    **{path: path.parent / "recording.npy" for path in (MOVES, PRESSURE)},
}
"""Models with a front end -> what they hear or see; the others take their inputs."""
FREERTOS = "FREERTOS_KERNEL"


@dataclass(frozen=True, slots=True)
class Example:
    """A folder of ``firmware_examples``.

    Attributes:
        name: of the folder.
        cores: those that it runs on.
        models: the files that are exported.
        options: of the export.
        shares_arena: whether its models take turns in one arena.
        prepare: puts further files into a copy of the folder, once the models are exported.
        needs: a variable of make and of the environment that names what is not in the folder.

    """

    name: str
    cores: Sequence[str]
    models: Sequence[Path]
    options: ExportOptions = NO_OPTIONS
    shares_arena: bool = False
    prepare: Callable[[Path], object] = lambda folder: None
    needs: str = ""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return EXAMPLES_FOLDER / self.name

    @property
    def needed(self) -> str:
        """What the variable that it needs says; empty if it says nothing, or needs none."""
        return os.environ.get(self.needs, "") if self.needs else ""


def _bring_words(folder: Path) -> None:
    shutil.copy(WORDS, folder)


def _bring_update(folder: Path) -> None:
    make_blob(SECOND, folder / "exported", folder / "update.blob", revision=2)


EXAMPLES = (
    Example("hello_digits", ["cortex-m4"], [DIGITS]),
    Example("keyword_spotting", ["cortex-m4", "cortex-m55"], [KEYWORDS]),
    Example(
        *("two_models", ["cortex-m7"], [DIGITS, Path("words.tflite")]),
        *(ExportOptions(slices=20_000), True),
    ),
    Example(
        *("update", ["cortex-m33"], [FIRST], ExportOptions(blob=True, name="digits")),
        prepare=_bring_update,
    ),
    Example(
        *("rtos", ["cortex-m4"], [DIGITS, KEYWORDS]),
        prepare=_bring_words, needs=FREERTOS,
    ),
    Example("risc_v", ["rv32imc"], [DIGITS]),
    Example("motion", ["cortex-m0plus", "cortex-m33"], [MOVES]),
    Example("anomaly", ["cortex-m3"], [PRESSURE]),
    Example("camera", ["cortex-m7"], [FINDER], ExportOptions(input_rows=True)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Built:
    """An example that was built and run.

    Attributes:
        folder: the copy that it was built in.
        models: the files that were exported.
        printed: by the firmware.
        flash: bytes of the whole image.
        ram: bytes of its variables.

    """

    folder: Path
    models: Sequence[Path]
    printed: str
    flash: int
    ram: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What an example takes on a core.

    Attributes:
        built: the whole firmware.
        reports: each model alone, on the emulator.
        is_shared: whether the models take turns in one arena.

    """

    built: Built
    reports: Sequence[EmulationReport]
    is_shared: bool

    @property
    def cycles(self) -> str:
        """Fewest and most, of all models together; a dash where the core's are not known."""
        told = [report.cycles.cycles for report in self.reports if report.cycles is not None]
        if len(told) < len(self.reports):
            return "-"
        low, high = sum(cycles.low for cycles in told), sum(cycles.high for cycles in told)
        return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"

    @property
    def right(self) -> str:
        """The share that each model tells right; a question mark where that was not asked."""
        owners = [path if path.stem in OF else KEYWORDS for path in self.built.models]
        shares = [told_right(EXAMPLES_FOLDER / owner.parent.name / owner.name) for owner in owners]
        return ", ".join("?" if share is None else f"{share:.1%}" for share in shares)

    @property
    def figures(self) -> tuple[int, int, int, int, int]:
        """What the table says: flash, RAM, arena and state, stack, instructions."""
        memory = [report.ram.arena + report.ram.state for report in self.reports]
        return (
            self.built.flash,
            self.built.ram,
            max(memory) if self.is_shared else sum(memory),
            max(report.ram.stack for report in self.reports),
            sum(report.instructions for report in self.reports),
        )


def copied(example: Example, build: Path, core: str) -> tuple[Path, list[Path]]:
    """A copy of an example with the exported models in it, as its README says; the models."""
    folder = build / f"{example.name}-{core}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(example.folder, folder, ignore=shutil.ignore_patterns("build", "exported"))
    models = [path if path.is_absolute() else folder / path for path in example.models]
    for path in models:
        if not path.is_relative_to(EXAMPLES_FOLDER):
            api.attach_front_end(KEYWORDS, None, path)
    if len(models) == 1:
        export_c(models[0], folder / "exported", core=core, options=example.options)
    else:
        how = {"options": example.options, "shared_arena": example.shares_arena}
        export_several(models, folder / "exported", core=core, **how)
    example.prepare(folder)
    return folder, models


def built(example: Example, core: str, build: Path, *more: str) -> Built:
    """Export, build and run an example, with more variables of make.

    Raises:
        RuntimeError: it does not build, or does not end well.

    """
    folder, models = copied(example, build, core)
    variables = [f"{example.needs}={example.needed}"] if example.needs else []
    printed = run(["make", "-s", "run", f"CORE={core}", *variables, *more], folder)
    (image,) = (folder / "build").glob("*.elf")
    text, data, bss = run(["arm-none-eabi-size", image], folder).splitlines()[1].split()[:3]
    return Built(folder, models, printed, int(text) + int(data), int(data) + int(bss))


def taken(example: Example, core: str, build: Path) -> Taken:
    """What an example takes; raises as ``built``, and where a model does not answer as here."""
    whole = built(example, core, build)
    asked = example.options
    own = ExportOptions(slices=asked.slices, blob=asked.blob, input_rows=asked.input_rows)
    more = {"cycles": Timing() if core in cores_with_cycles() else None}
    reports = [
        api.emulate_recording(model, RECORDINGS[model], core=core, options=own, **more)
        if model in RECORDINGS
        else api.run_emulated(model, core=core, options=own, **more)
        for model in whole.models
    ]
    if not all(report.agrees for report in reports):
        raise RuntimeError(f"{example.name} on {core} does not answer what the host does")
    return Taken(whole, reports, example.shares_arena)


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


def start_of(example: Example, core: str) -> str:
    """How the line of the table begins."""
    return f"| [{example.name}](../firmware_examples/{example.name}) | {core} |"


def row(example: Example, core: str, build: Path, page: str) -> str:
    """A line of the table; that of the page where the example lacks what it needs."""
    start = start_of(example, core)
    if example.needs and not example.needed:
        print(f"{example.name} is left out: {example.needs} names no folder", file=sys.stderr)
        return next(line for line in page.splitlines() if line.startswith(start))
    found = taken(example, core, build)
    cells = [*(f"{figure:,}" for figure in found.figures), found.cycles, found.right]
    if "?" in found.right:  # what it takes is not on this machine
        before = next((n for n in page.splitlines() if n.startswith(start)), "| ?")
        cells[-1] = before.strip("| ").split(" | ")[-1]
    return f"{start} {' | '.join(cells)} |"


def table(page: str, build: Path = BUILD) -> str:
    """The table of these examples."""
    rows = [row(each, core, build, page) for each in EXAMPLES for core in each.cores]
    return "\n".join([HEAD, "|" + "---|" * HEAD.count(" |"), *rows])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the page says otherwise")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    made = with_table(page, NAME, table(page))
    if check and made != page:
        sys.exit("docs/firmware.md is out of date: run make firmware")
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
