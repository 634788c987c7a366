"""Cycles of images that run in the emulator: what to count, and what becomes of the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinyrt.emulate.boards import Board
from tinyrt.emulate.cycles.blocks import estimate_without_edges
from tinyrt.emulate.cycles.counts import Counts, read_counts, sum_of
from tinyrt.emulate.cycles.disassembly import Listing, read_listing
from tinyrt.emulate.cycles.estimate import Cycles, estimate
from tinyrt.emulate.cycles.plugin import option, plugin_for
from tinyrt.emulate.cycles.report import Basis, CycleReport, Timing
from tinyrt.emulate.cycles.table import Table, table_of
from tinyrt.emulate.cycles.timing import CoreTiming
from tinyrt.errors import ToolError
from tinyrt.export import Core

COUNTS = "counts.txt"
"""What the plugin writes beside the other files of a run."""

CALL, STOP = "harness_call", "harness_clock_stop"
BEGIN, END = "harness_profile_begin", "harness_profile_end"
"""Functions of the harness: around an inference, and around an op."""

TOLERANCE = 16
"""Instructions by which the plugin and the clock may differ: those of calling and timing."""


@dataclass(frozen=True, slots=True)
class Meter:
    """Tells cycles on one core.

    Attributes:
        core: the processor core.
        board: what runs its code.
        timing: what cycles depend on besides.
        table: the core's cycles.
        plugin: what counts; None where the emulator has no plugins.

    """

    core: Core
    board: Board
    timing: Timing
    table: Table
    plugin: Path | None

    @property
    def basis(self) -> Basis:
        """What is counted."""
        return Basis.INSTRUCTIONS if self.plugin is None else Basis.EDGES

    def listing(self, image: Path) -> Listing:
        """The image's code.

        Raises:
            ToolError: it cannot be read.

        """
        return read_listing(image, self.core)

    def options(self, listing: Listing, marks: Sequence[str], run_dir: Path) -> list[str]:
        """The emulator's options for counting between these functions."""
        if self.plugin is None:
            return []
        board, memory = self.board, self.timing.flash
        ends = min(listing.code), max(listing.code)
        flash = board.flash_origin, board.flash_origin + board.flash_bytes - 1
        told = [("mark", f"{listing.symbols[mark]:x}") for mark in marks]
        told += [("code", f"{ends[0]:x}-{ends[1]:x}"), ("flash", f"{flash[0]:x}-{flash[1]:x}")]
        told += [("line", f"{memory.line:x}"), ("code_lines", f"{memory.code_lines:x}")]
        told += [("data_lines", f"{memory.data_lines:x}")]
        return option(self.plugin, run_dir / COUNTS, *told)

    def of_inference(
        self, listing: Listing, run_dir: Path, instructions: int, passes: int
    ) -> CycleReport:
        """Cycles of an inference that ran with ``options`` for ``CALL`` and ``STOP``.

        Args:
            listing: the image's.
            run_dir: where it ran.
            instructions: of an inference, as the clock counted them.
            passes: how many inferences were timed; the last ones are.

        Raises:
            ToolError: the plugin counted something else than the clock.
            UnsupportedError: the core's table lacks an instruction.

        """
        if self.plugin is None:
            cycles = self._without_edges(listing, instructions)
        else:
            path = run_dir / COUNTS
            timed = _of_mark(read_counts(path), listing.symbols[CALL])[-passes:]
            counts = sum_of(timed)
            counted = counts.instructions / passes if len(timed) == passes else 0
            _check(counted, instructions, path)
            cycles = self._estimate(counts, listing, passes)
        return CycleReport(cycles, self.table, self.basis, self.timing)

    def of_ops(
        self,
        listing: Listing,
        run_dir: Path,
        ops: Sequence[int],
        instructions: Mapping[int, int],
        passes: int,
    ) -> dict[int, Cycles]:
        """Cycles of every op of an image that ran with ``options`` for ``BEGIN`` and ``END``.

        Args:
            listing: the image's.
            run_dir: where it ran.
            ops: the ops that were timed, in the order in which they ran.
            instructions: op -> instructions of all its calls in one inference.
            passes: how many inferences these are.

        Raises:
            ToolError: the plugin counted something else than the clock.
            UnsupportedError: the core's table lacks an instruction.

        """
        if self.plugin is None:
            return {op: self._without_edges(listing, n) for op, n in instructions.items()}
        path = run_dir / COUNTS
        begun = _of_mark(read_counts(path), listing.symbols[BEGIN])
        # The harness times nothing at all, too; whether that calls the hooks is up to the compiler.
        timed = [c for c in begun if any(edge.start in listing.code for edge in c.edges)]
        by_op: dict[int, Counts] = {}
        calls = [op for op in ops if op in instructions]
        for op, counts in zip(calls, timed[-len(calls) :], strict=True):
            by_op.setdefault(op, Counts()).add(counts.of(listing.code))
        for op, counts in by_op.items():
            each = calls.count(op) / passes
            _check(counts.instructions / passes, instructions[op], path, TOLERANCE * each)
        return {op: self._estimate(counts, listing, passes) for op, counts in by_op.items()}

    def _estimate(self, counts: Counts, listing: Listing, passes: int) -> Cycles:
        return estimate(counts, listing.code, self._core_timing, self.timing.flash, passes)

    def _without_edges(self, listing: Listing, instructions: int) -> Cycles:
        flash = self.timing.flash
        return estimate_without_edges(instructions, listing.code, self._core_timing, flash)

    @property
    def _core_timing(self) -> CoreTiming:
        return CoreTiming(self.table, self.timing.small_multiplier)


def meter_for(core: Core, board: Board, timing: Timing) -> Meter:
    """What tells cycles on a core.

    Raises:
        UnsupportedError: the core's cycles are not known.
        ToolError: the plugin cannot be built or loaded.

    """
    table = table_of(core.name)
    return Meter(core, board, timing, table, plugin_for(board.qemu))


def _of_mark(stretches: Sequence[tuple[int, Counts]], address: int) -> list[Counts]:
    return [counts for mark, counts in stretches if mark == address]


def _check(counted: float, instructions: int, path: Path, tolerance: float = TOLERANCE) -> None:
    """Refuse counts of the plugin that are not the clock's."""
    if abs(counted - instructions) > tolerance:
        raise ToolError(
            f"the emulator's plugin counted {counted:,.0f} instructions, its clock "
            f"{instructions:,}",
            file=str(path),
            expected="the same number from both",
            hint="leave --cycles out to count instructions only",
        )
