"""Cycles of straight code by a core's table: least and most, and what keeps its units busy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tinyrt.emulate.cycles.disassembly import Instruction
from tinyrt.emulate.cycles.kinds import ACCESSES, FLOAT_RESULTS, LOADS, STORES, Facts, facts_of
from tinyrt.emulate.cycles.table import Span, Table

SHORT = 2
"""Bytes of a short instruction."""

WORD = 4

SKIPPED = 1.0
"""Cycles of an instruction whose condition does not hold."""

SINGLE = (*LOADS, *STORES)


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles of some code.

    Attributes:
        least: where all goes well.
        most: where nothing does.
        busy: part of the core -> cycles that it is busy at least.

    """

    least: float = 0.0
    most: float = 0.0
    busy: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: Cost) -> Cost:
        units = {*self.busy, *other.busy}
        busy = {unit: self.busy.get(unit, 0) + other.busy.get(unit, 0) for unit in units}
        return Cost(self.least + other.least, self.most + other.most, busy)

    def times(self, count: float) -> Cost:
        """The same code that often."""
        busy = {unit: cycles * count for unit, cycles in self.busy.items()}
        return Cost(self.least * count, self.most * count, busy)

    @property
    def bounds(self) -> Span:
        """Least and most; at least what the busiest part of the core takes."""
        return max(self.least, *self.busy.values(), 0.0), self.most


@dataclass(frozen=True, slots=True)
class CoreTiming:
    """A core's table, and which multiplier was built in.

    Attributes:
        table: the cycles of each kind.
        small_multiplier: whether it is the small one, where the core may have one.

    """

    table: Table
    small_multiplier: bool = False

    def run(self, code: Sequence[Instruction]) -> Cost:
        """Cycles of instructions one behind the other, none of which jumps."""
        total = Cost()
        for before, instruction in zip([None, *code], code, strict=False):
            total += self.one(instruction, before)
        return total

    def one(self, instruction: Instruction, before: Instruction | None) -> Cost:
        """Cycles of one instruction behind another, in straight code; None: behind a jump."""
        facts = facts_of(instruction)
        kind = self.table.kind(facts.kind)
        least, most = kind.cycles
        if self.small_multiplier and kind.small is not None:
            least = most = kind.small
        least += kind.each[0] * facts.registers
        most += kind.each[1] * facts.registers
        if before is not None:
            more = self._behind(facts, instruction, before)
            least, most = least + more[0], most + more[1]
        if facts.kind == "it" and not (before is not None and before.size == SHORT):
            least = most  # nothing to fold it onto
        if instruction.conditional:
            least = min(least, SKIPPED)  # and none takes less at most
        skipped = instruction.conditional or not kind.unit
        return Cost(least, most, {} if skipped else {kind.unit: kind.busy})

    def jump(self, instruction: Instruction, before: Instruction | None) -> Cost:
        """Cycles of an instruction that jumps."""
        facts = facts_of(instruction)
        kind = self.table.kind(facts.kind)
        straight = Instruction(
            instruction.address, instruction.size, instruction.name, instruction.operands
        )
        cost = self.one(straight, before)
        return cost + Cost(*kind.taken)

    def passed(self, instruction: Instruction, before: Instruction | None) -> Cost:
        """Cycles of an instruction that might have jumped, and did not."""
        if instruction.conditional:
            return Cost(SKIPPED, SKIPPED)
        return self.one(instruction, before)

    def _behind(self, facts: Facts, instruction: Instruction, before: Instruction) -> Span:
        """What the instruction before adds."""
        last = facts_of(before)
        least, most = 0.0, 0.0
        rule = self.table.rule
        if facts.kind in SINGLE and last.kind in LOADS:
            least, most = self._overlap(facts, instruction, last)
        elif facts.kind in ACCESSES and last.kind in STORES:
            least, most = rule("after_store")
        elif facts.address and last.kind not in ACCESSES and facts.address & last.result:
            least, most = rule("address_after_result")
        if last.kind in FLOAT_RESULTS and facts.sources & last.result:
            used = rule("float_result_used")
            least, most = least + used[0], most + used[1]
        if before.conditional:
            least, most = min(least, 0.0), max(most, 0.0)
        return least, most

    def _overlap(self, facts: Facts, instruction: Instruction, last: Facts) -> Span:
        """What a load or store saves right behind a load."""
        saved = self.table.rule("after_load")[0]
        own = self.table.kind(facts.kind).cycles[0]
        if last.result & facts.address or own + saved < 1:
            return 0.0, 0.0
        # A long instruction across two words may come too late, and so may a base that moves.
        is_sure = instruction.size == SHORT or instruction.address % WORD == 0
        return saved, saved if is_sure and not last.base_moves else 0.0
