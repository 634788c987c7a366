"""Branches that no test takes, each with the reason why none has to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.covered import ROOT

WIDE = "processors with AVX-512 take it, in each test of layers; others have shorter vectors"
"""Of code that is chosen by the processor."""

REASONS: Mapping[str, Mapping[str, str]] = {
    "tinyrt/backends/numba/tile.py": {"x, offsets, steps, count, w, quant = operands": WIDE},
    "tinyrt/backends/numba/vector.py": {
        "half = ir.VectorType(I64, LANES // 2)": WIDE,
        "even, odd = (ir.Constant(V, list(range(first, 2 * LANES, 2))) for first in (0, 1))": WIDE,
        "if _VNNI:": WIDE,
    },
    "tinyrt/floatmath/numba_streams.py": {
        'if hasattr(errors, "ColorShell"):': "versions of Numba have it or not, an environment one"
    },
    "tinyrt/export/blob/writer.py": {
        "for name in map(self._global, names):": "there are more names than data",
    },
    "tinyrt/dsp/decision_terms.py": {
        "case AnomalyNumbers(size=size):": "there are four kinds of decisions, and this is the last"
    },
    "tinyrt/floatmath/crew.py": {
        'if hasattr(os, "register_at_fork"):': "Windows has no fork; all systems that run tests do"
    },
    "tinyrt/floatmath/parallel.py": {
        'if hasattr(os, "register_at_fork"):': "Windows has no fork; all systems that run tests do"
    },
    "tinyrt/memory/kernels.py": {
        "return 0": "the protocol has it; it is asked of kernels with vectors alone"
    },
    "tinyrt/train/core/tape.py": {
        "for tensor, edits in zip((*self.inputs, output), self.edits, strict=True):": (
            "the line above says that one differs, and there it ends"
        ),
    },
    "tinyrt/train/pools.py": {
        "raise NotImplementedError": "a private base class: its two subclasses define it"
    },
    "tinyrt/train/sequence.py": {
        'raise NotImplementedError(f"{type(self).__name__} does not define a step")': (
            "a private base class: LSTM and GRU, its only subclasses, define the step"
        ),
    },
}
"""File -> a line, as it stands there -> why no test leaves it the other way."""


@dataclass(frozen=True)
class Untaken:
    """A line that some test should leave another way, or run at all.

    Attributes:
        path: the file, below the root.
        line: its number, from 1.
        text: the line.
        reason: why no test has to; empty where a test is missing.

    """

    path: str
    line: int
    text: str
    reason: str


def untaken(files: Mapping[str, Any]) -> list[Untaken]:
    """The places of all files, in order.

    Args:
        files: file -> its part of coverage.py's report.

    """
    places = []
    for path, entry in sorted(files.items()):
        if lines := sorted(set(_lines(entry))):
            texts = (ROOT / path).read_text().splitlines()
            for line in lines:
                text = texts[line - 1].strip()
                places.append(Untaken(path, line, text, REASONS.get(path, {}).get(text, "")))
    return places


def without_place(places: list[Untaken]) -> list[tuple[str, str]]:
    """File and line of reasons that nothing needs any more, on whatever processor."""
    there = {(place.path, place.text) for place in places}
    reasons = [
        (path, text)
        for path, lines in REASONS.items()
        for text, why in lines.items()
        if why != WIDE
    ]
    return [reason for reason in reasons if reason not in there]


def _lines(entry: Mapping[str, Any]) -> Iterator[int]:
    """Lines that were not left in every way; of others that never ran, the first of each block."""
    never, follows = set(entry["missing_lines"]), set[int]()
    for begin, end in entry["missing_branches"]:
        if begin not in never:
            follows.add(end)
            yield begin
    block_begins = True
    for line in sorted({*entry["executed_lines"], *never}):
        if line not in never:
            block_begins = True
        elif block_begins:
            block_begins = False
            if line not in follows:
                yield line
