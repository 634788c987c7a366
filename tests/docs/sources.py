"""Where each table of figures in the documentation comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.docs.pages import PAGES, ROOT

FIGURES = 3
"""So many cells of figures make a table one of figures, not one of options."""

LETTERS = len("bytes")
"""Most letters that a figure's units have."""

WRITTEN = {
    "benchmarks.md": {"cores": "benchmarks.mcu"},
    "compatibility.md": {"models": "benchmarks.public"},
    "cuda.md": {"figures": "benchmarks.cuda"},
    "cycles.md": {"figures": "benchmarks.cycles"},
    "firmware.md": {"firmware": "tools.firmware"},
    "run.md": {"start": "benchmarks.start"},
    "contributing/testing.md": {"faults": "tools.mutants", "branches": "tools.branches"},
}
"""Page -> comment before a table -> the module that writes it, besides ``benchmarks.tables``."""

WHOLE = {
    "safety.md": "tests.safety",
    "fuzzing.md": "tests.fuzz",
    "dependencies.md": "tools.lock",
    "ops.md": "tools.write_op_table",
}
"""Pages that a module writes as a whole."""

PRINTED = {
    ("compatibility.md", "model | read"): "benchmarks.public",
    ("convert.md", "model | exporter"): "tests.onnx_torch",
    ("cuda.md", "model | instructions"): "benchmarks.cuda_cost",
    ("memory.md", "network | file"): "benchmarks.planning",
    ("quantize.md", "model | fast"): "benchmarks.quantize",
    ("quantize.md", "model, output"): "benchmarks.quantize",
    ("reproducible.md", "environment | files"): "tests.reproducible",
    ("train.md", "network | tinyrt"): "benchmarks.train",
}
"""Page and first columns -> the module that prints the table; the page says so."""

HELD = {
    ("cascades.md", "225 digits that chose nothing | cascade"): "tests/docs/figures.py",
    ("dsp.md", "core | instructions | code and constants"): "tests/firmware/test_front_end.py",
    ("dsp.md", "of the default, and 13 coefficients | cortex-m0"): "tests/dsp/test_step_costs.py",
    ("dsp.md", "core | instructions"): "tests/dsp/test_boxes.py",
    ("dsp.md", "instructions | cortex-m0"): "tests/dsp/test_other_costs.py",
    ("kernels.md", "model | Cortex-M4: clang"): "tests/firmware/test_compilers.py",
    ("memory.md", "model | goal"): "tests/memory/test_row_bound.py",
    ("motion.md", "core | instructions"): "tests/firmware/test_motion.py",
    ("search.md", "core | within"): "tests/docs/test_search_page.py",
    ("train.md", "recipe | | top-1"): "tests/train/test_recipes.py",
}
"""Page and first columns -> the test that reads the page and compares."""

NO_MEASUREMENT = {
    ("ci.md", "verdict | means"),
    ("cycles.md", "option | is"),
    ("decisions/index.md", "decision | date"),
    ("decisions/prebuilt_native.md", "measured on x86-64, processor time"),
    ("quantize.md", "--scheme | activations"),
    ("train.md", "change | % right"),
}
"""What is no measurement of today's code: options; what decisions and recipes rested on when they
were made."""


@dataclass(frozen=True)
class Table:
    """A table of figures.

    Attributes:
        page: the page's path below docs.
        columns: their titles.
        comment: what the comment in front of it says; empty where there is none.

    """

    page: str
    columns: tuple[str, ...]
    comment: str

    def is_at(self, place: tuple[str, str]) -> bool:
        """Whether a page and the titles of its first columns mean this table."""
        page, titles = place
        asked = titles.split(" | ")
        return self.page == page and list(self.columns[: len(asked)]) == asked


def tables() -> Iterator[Table]:
    """All tables of figures in the pages of docs."""
    for path in PAGES:
        if path.is_relative_to(ROOT / "docs"):
            page = path.relative_to(ROOT / "docs").as_posix()
            yield from tables_of(page, path.read_text(encoding="utf-8"))


_UNITS = re.compile(r"[^\W\d_]+")


def _is_figure(cell: str) -> bool:
    """Whether there is a number, and hardly a letter that is none of a unit's."""
    return bool(re.search(r"\d", cell)) and len("".join(_UNITS.findall(cell))) <= LETTERS


def tables_of(page: str, text: str) -> Iterator[Table]:
    """Those of one page."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    comment = ""
    for block in re.split(r"\n(?:[ \t]*\n)+", text):
        for said in re.findall(r"^<!-- (.*) -->$", block, re.MULTILINE):
            comment = "" if said.startswith("end of ") else said
        lines = [line for line in block.splitlines() if line.startswith("|")]
        if len(lines) < 3:
            continue
        head, _, *rows = ([cell.strip(" *`") for cell in line.split("|")[1:-1]] for line in lines)
        cells = [cell for row in rows for cell in row[1:]]
        if sum(map(_is_figure, cells)) >= FIGURES:
            yield Table(page, tuple(head), comment)
