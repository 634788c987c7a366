"""Cycles of the zoo's int8 models, beside what MLPerf Tiny's entries took on boards.

    TINYRT_ZOO=../shared python -m benchmarks.cycles [--models resnet8 ...] [--cores cortex-m4 ...]
        [--write]

Prints a Markdown table; ``--write`` puts its rows into docs/cycles.md. Rows of other models and
cores stay as they are there, and so do those of cores that the installed compiler does not know.
Published are milliseconds and the clock of an entry's board; cycles are their product.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tinyrt.api import convert_model, run_emulated
from tinyrt.emulate import Cycles, Flash, Timing, toolchain
from tinyrt.export import find_core
from tinyrt.files import write_text

PAGE = Path(__file__).parents[1] / "docs" / "cycles.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
MODELS = ("resnet8", "mobilenet_vww", "dscnn_kws", "autoencoder_ad", "streaming_wakeword")
HEADER = (
    "| model | core | instructions | no wait states | 5 wait states | published | by "
    "|\n|---|---|---|---|---|---|---|"
)
SLOW = Flash(wait=5, line=16, code_cache=1024, data_cache=256)
"""The flash of an STM32L4+ at 120 MHz: its accelerator keeps 64 and 16 lines of 16 bytes."""

CORES: dict[str, tuple[Flash, ...]] = {
    "cortex-m0plus": (Flash(),),
    "cortex-m4": (Flash(), SLOW),
    "cortex-m33": (Flash(),),
    "cortex-m7": (Flash(),),
    "cortex-m85": (Flash(),),
}
"""Core -> flash that it is measured with."""


@dataclass(frozen=True)
class Entry:
    """One entry of MLPerf Tiny: who, and by model milliseconds on a core at a clock."""

    by: str
    core: str
    mhz: int
    milliseconds: tuple[float | None, ...]

    def cycles(self, model: str) -> float | None:
        """Million cycles of an inference, if they are published."""
        ms = self.milliseconds[MODELS.index(model)]
        return None if ms is None else ms * self.mhz / 1e3


FASTEST = "fastest entry, closed division"
PUBLISHED = (
    Entry(FASTEST, "cortex-m0plus", 64, (1522, 1414, 475, 40.9, None)),
    Entry(FASTEST, "cortex-m4", 120, (165.1, 88.9, 43.2, 4.05, 17.9)),
    Entry("Plumerai, v1.0", "cortex-m4", 120, (173.2, 208.6, 71.7, 5.6, None)),
    Entry("TFLM, v0.5", "cortex-m4", 120, (704, 601, 182, 10.1, None)),
    Entry(FASTEST, "cortex-m33", 160, (104.3, 59.3, 29.0, 3.09, 11.6)),
    Entry("Plumerai, v1.0", "cortex-m33", 160, (107.1, 107.0, 35.4, 4.9, None)),
    Entry(FASTEST, "cortex-m7", 280, (40.8, 23.8, 11.3, 1.08, 4.25)),
    Entry("Plumerai, v1.0", "cortex-m7", 216, (64.8, 57.0, 19.1, 2.3, None)),
    Entry(FASTEST, "cortex-m85", 480, (8.5, 13.4, 3.5, 0.53, None)),
)


def measure(zoo: Path, model: str, core: str, flash: Flash) -> tuple[int, Cycles]:
    """Instructions and cycles of an inference of the model as ``tinyrt convert`` writes it.

    Raises:
        SystemExit: the device's answers are not the host's.

    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{model}.tflite"
        convert_model(zoo / "models" / f"{model}_int8.tflite", path)
        report = run_emulated(path, core=core, samples=1, cycles=Timing(flash))
    if not report.bit_exact or report.cycles is None or report.instructions is None:
        raise SystemExit(f"{model} on {core}: the answers are not the host's")
    return report.instructions, report.cycles.cycles


def millions(value: float) -> str:
    """Cycles in millions, with three digits or more."""
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def shown(cycles: Cycles) -> str:
    """A range in millions."""
    low, high = (millions(end / 1e6) for end in (cycles.low, cycles.high))
    return low if low == high else f"{low} to {high}"


def row(zoo: Path, model: str, core: str) -> str:
    """One line of the table."""
    runs = [measure(zoo, model, core, flash) for flash in CORES[core]]
    ranges = [*(shown(cycles) for _, cycles in runs), "–"][:2]
    return (
        f"| {model} | {core} | {runs[0][0]:,} | {' | '.join(ranges)} | {published(model, core)} |"
    )


def published(model: str, core: str) -> str:
    """The last two columns: million cycles of each entry, and whose at which clock they are."""
    found = [(e, e.cycles(model)) for e in PUBLISHED if e.core == core]
    known = [(entry, cycles) for entry, cycles in found if cycles is not None]
    figures = "; ".join(millions(cycles) for _, cycles in known)
    names = "; ".join(f"{entry.by} ({entry.mhz} MHz)" for entry, _ in known)
    return f"{figures or '–'} | {names or '–'}"


def rows_of(table: str) -> dict[tuple[str, str], str]:
    """(model, core) -> its line, of a table's text."""
    found = re.findall(r"^(\| (\w+) \| ([\w-]+) \|.*)$", table, re.MULTILINE)
    return {(model, core): line for line, model, core in found if model in MODELS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--cores", nargs="+", default=[*CORES], choices=[*CORES])
    parser.add_argument("--write", action="store_true", help="put the rows into docs/cycles.md")
    options = parser.parse_args()
    if "TINYRT_ZOO" not in os.environ:
        raise SystemExit("set TINYRT_ZOO to the folder that holds models/")
    zoo = Path(os.environ["TINYRT_ZOO"])
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    table, _, behind = rest.partition(END)
    rows = rows_of(table)
    print(HEADER)
    for model in options.models:
        for core in options.cores:
            if toolchain.knows(find_core(core)):
                rows[model, core] = row(zoo, model, core)
            elif (model, core) not in rows:
                raise SystemExit(f"the compiler does not know {core}, and the page has no {model}")
            print(rows[model, core], flush=True)
    if options.write:
        lines = [HEADER, *(rows[model, core] for model in MODELS for core in CORES)]
        table = "\n".join(lines)
        write_text(PAGE, f"{before}{BEGIN}\n{table}\n\n{END}{behind}")


if __name__ == "__main__":
    main()
