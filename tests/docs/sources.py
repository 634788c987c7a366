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
    "compatibility.md": {"forms": "tests.tflm_forms", "models": "benchmarks.public"},
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
    ("cluster.md", "work | 1,000 samples more"): "python -m benchmarks.shared_work",
    ("compatibility.md", "model | read"): "python -m benchmarks.public",
    ("contributing/testing.md", "drawn | seed"): "python -m tools.mutants",
    ("convert.md", "model | exporter"): "python -m tests.onnx_torch",
    ("cuda.md", "model | instructions"): "python -m benchmarks.cuda_cost",
    ("memory.md", "network | file"): "python -m benchmarks.planning",
    ("qat.md", "network | digits"): "python -m benchmarks.qat",
    ("qat.md", "data | samples to train on"): "python -m benchmarks.qat",
    ("qat.md", "widths | digits: SQNR"): "python -m benchmarks.widths",
    ("quantize.md", "model | fast | balanced (default)"): "python -m benchmarks.quantize",
    ("quantize.md", "model, output"): "python -m benchmarks.quantize",
    ("reproducible.md", "environment | files"): "python -m tests.reproducible",
    ("search.md", "search | seconds"): "python -m benchmarks.search_recipes",
    ("search.md", "model | right"): "tinyrt search motion",
    ("search.md", "found | right"): "tinyrt search camera",
    ("search.md", "recipe | seed"): "python -m benchmarks.search_recipes",
    ("search.md", "recipe | model"): "python -m benchmarks.search_recipes",
    ("search.md", "seed | top-1"): "python -m benchmarks.search_recipes",
    ("search.md", "vowels, seed | top-1"): "python -m benchmarks.search_recipes",
    ("search.md", "score | digits"): "python -m benchmarks.search_zero_cost",
    ("search.md", "trials so far"): "python -m benchmarks.search_cluster",
    ("train.md", "network | tinyrt"): "python -m benchmarks.train",
}
"""Page and beginnings of first columns -> the command that prints the figures; the page says so."""

HELD = {
    ("camera.md", "pixels, channels"): "tests/dsp/test_other_costs.py",
    ("convert.md", "block | transposes"): "tests/convert/test_onnx_bodies.py",
    ("cascades.md", "225 digits that chose nothing | cascade"): "tests/docs/figures.py",
    ("dsp.md", "core | instructions | code and constants"): "tests/firmware/test_front_end.py",
    ("dsp.md", "of the default, and 13 coefficients | cortex-m0"): "tests/dsp/test_step_costs.py",
    ("dsp.md", "core | instructions |"): "tests/dsp/test_boxes.py",
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
    ("dsp.md", "instructions on a Cortex-M55 | one by one"),
    ("dsp.md", "| this transform"),
    ("kernels.md", "layer, on scalar and DSP cores | kernel"),
    ("decisions/prebuilt_native.md", "measured on x86-64, processor time"),
    ("quantize.md", "--scheme | activations"),
    ("train.md", "change | % right"),
}
"""What is no measurement of today's code: options, formulas that tests evaluate, and what decisions
and kernels rested on when they were made."""


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
        asked = [title.strip() for title in titles.split("|")]
        columns = [*self.columns, ""]
        begin = zip(columns, asked, strict=False)
        return self.page == page and all(
            has.startswith(title) if title else not has for has, title in begin
        )


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
        head, _, *rows = (
            [cell.replace("`", "").strip(" *") for cell in line.split("|")[1:-1]] for line in lines
        )
        cells = [cell for row in rows for cell in row[1:]]
        if sum(map(_is_figure, cells)) >= FIGURES:
            yield Table(page, tuple(head), comment)
