"""From counts to cycles: the cost of every block and of its ways out, as often as it ran."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinyrt.emulate.cycles.counts import Counts, Edge
from tinyrt.emulate.cycles.disassembly import Instruction
from tinyrt.emulate.cycles.flash import Flash, with_waits
from tinyrt.emulate.cycles.kinds import FIXED, facts_of
from tinyrt.emulate.cycles.table import Span
from tinyrt.emulate.cycles.timing import CoreTiming, Cost
from tinyrt.errors import ToolError

Code = Mapping[int, Instruction]


@dataclass(frozen=True, slots=True, order=True)
class Cycles:
    """A range of cycles.

    Attributes:
        low: fewest.
        high: most.

    """

    low: int
    high: int

    def as_dict(self) -> dict[str, int]:
        """The range as plain data."""
        return {"low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class _Block:
    """A block that ran: its instructions, and those of the model behind it, if it went on so."""

    code: Sequence[Instruction]
    to: int

    @property
    def last(self) -> Instruction:
        return self.code[-1]

    @property
    def jumped(self) -> bool:
        """Whether the last instruction jumped; an interrupt is no jump."""
        return self.to != self.last.end and not facts_of(self.last).goes_on


def estimate(
    counts: Counts, code: Code, timing: CoreTiming, flash: Flash, passes: int = 1
) -> Cycles:
    """Cycles of one pass over what was counted.

    Args:
        counts: of the model's code and of what called it.
        code: the model's instructions, by their addresses; whatever lies elsewhere is left out.
        timing: of the core.
        flash: the memory that code and constants lie in.
        passes: how many equal passes were counted.

    Raises:
        ToolError: blocks were counted that the image does not have.
        UnsupportedError: the core's table lacks an instruction.

    """
    total = Cost()
    ways: dict[int, list[int]] = {}
    for edge, times in counts.edges.items():
        if edge.start not in code:
            continue
        block = _Block(_instructions(edge, code), edge.to)
        total += _cost(block, code, timing).times(times)
        if not facts_of(block.last).goes_on:
            ways.setdefault(block.last.address, [0, 0])[block.jumped] += times
    least, most = total.bounds
    bounds = least, most + _mispredicted(ways, code, timing)
    bounds = with_waits(_with_unaligned(bounds, counts, timing), counts, flash)
    return Cycles(math.floor(bounds[0] / passes), math.ceil(bounds[1] / passes))


def _instructions(edge: Edge, code: Code) -> list[Instruction]:
    block: list[Instruction] = []
    address = edge.start
    for _ in range(edge.instructions):
        if address not in code:
            raise ToolError(
                f"the emulator ran {edge.instructions} instructions from {edge.start:#x} on, "
                f"and the image has none at {address:#x}",
                expected="the image that was disassembled",
                hint="build it anew, in another folder",
            )
        block.append(code[address])
        address = code[address].end
    return block


def _leaves(block: _Block, code: Code) -> bool:
    """Whether the block calls what is not the model's: the hooks around ops."""
    return block.to not in code and facts_of(block.last).kind == "call"


def _cost(block: _Block, code: Code, timing: CoreTiming) -> Cost:
    """Cycles of a block with its way out."""
    *body, last = block.code
    before = body[-1] if body else None
    cost = timing.run(body)
    if _leaves(block, code):
        return cost
    if block.jumped:
        return cost + timing.jump(last, before)
    if not facts_of(last).goes_on:
        return cost + timing.passed(last, before)
    cost += timing.one(last, before)
    if block.to in code:
        # The emulator cut straight code here, which a core does not notice.
        following = code[block.to]
        whole, apart = timing.one(following, last), timing.one(following, None)
        cost += Cost(whole.least - apart.least, whole.most - apart.most)
    return cost


def _mispredicted(ways: Mapping[int, Sequence[int]], code: Code, timing: CoreTiming) -> float:
    """Cycles at most for branches that go another way than the last time.

    A branch to one place does so at most twice for each time that it goes the rarer way, and once
    at the beginning; one to a place that is computed may do so each time.
    """
    changes = 0
    for address, (passed, taken) in ways.items():
        once = 2 * min(passed, taken) + 1
        is_fixed = facts_of(code[address]).kind in FIXED
        changes += min(passed + taken, once) if is_fixed else passed + taken
    return changes * timing.table.rule("mispredicted")[1]


def _with_unaligned(bounds: Span, counts: Counts, timing: CoreTiming) -> Span:
    loads = timing.table.rule("unaligned_load")
    stores = timing.table.rule("unaligned_store")
    return (
        bounds[0] + loads[0] * counts.loads_apart + stores[0] * counts.stores_apart,
        bounds[1] + loads[1] * counts.loads_apart + stores[1] * counts.stores_apart,
    )
