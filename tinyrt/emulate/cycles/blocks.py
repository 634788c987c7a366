"""Cycles where nothing but a number of instructions is known: by the cheapest and dearest block."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from tinyrt.emulate.cycles.disassembly import Instruction
from tinyrt.emulate.cycles.estimate import Code, Cycles
from tinyrt.emulate.cycles.flash import Flash
from tinyrt.emulate.cycles.kinds import ACCESSES, facts_of
from tinyrt.emulate.cycles.table import Span
from tinyrt.emulate.cycles.timing import CoreTiming, Cost

MAX_APART = 2
"""Accesses beyond one that a word takes at most which is not aligned."""

_TARGET = re.compile(r"\b([0-9a-f]+)$")


def estimate_without_edges(
    instructions: int, code: Code, timing: CoreTiming, flash: Flash
) -> Cycles:
    """Cycles of that many instructions, of which nobody knows which ones they were.

    What runs is made of the code's blocks, so that its cycles to an instruction lie between those
    of the cheapest and of the dearest block.

    Args:
        instructions: how many ran.
        code: the model's instructions, by their addresses.
        timing: of the core.
        flash: the memory that code and constants lie in.

    Raises:
        UnsupportedError: the core's table lacks an instruction.

    """
    means = [_mean(block, timing, flash) for block in blocks_of(code)]
    least = min((mean[0] for mean in means), default=0.0)
    most = max((mean[1] for mean in means), default=0.0)
    return Cycles(math.floor(instructions * least), math.ceil(instructions * most))


def blocks_of(code: Code) -> Iterator[list[Instruction]]:
    """Runs of instructions that are entered at the first one and left at the last one only."""
    entries = set(_targets(code))
    # Where a table of jumps leads is not read: so every instruction may be its target.
    anywhere = any(facts_of(each).kind in ("table_branch", "write_pc") for each in code.values())
    block: list[Instruction] = []
    for address in sorted(code):
        if block and (anywhere or address in entries or address != block[-1].end):
            yield block
            block = []
        block.append(code[address])
        if not facts_of(block[-1]).goes_on:
            yield block
            block = []
    if block:
        yield block


def _targets(code: Code) -> Iterator[int]:
    for instruction in code.values():
        if not facts_of(instruction).goes_on and (match := _TARGET.search(instruction.operands)):
            yield int(match[1], 16)


def _mean(block: Sequence[Instruction], timing: CoreTiming, flash: Flash) -> Span:
    """Least and most cycles to an instruction of a block."""
    *body, last = block
    before = body[-1] if body else None
    straight = timing.run(body)
    ways = [straight + timing.passed(last, before)]
    if not facts_of(last).goes_on:
        missed = timing.table.rule("mispredicted")[1]
        ways = [ways[0] + Cost(0, missed), straight + timing.jump(last, before) + Cost(0, missed)]
    words = sum(max(1, facts_of(each).registers) for each in block if _reads(each))
    apart = max(timing.table.rule(rule)[1] for rule in ("unaligned_load", "unaligned_store"))
    # Every instruction may lie across two lines, and every word of data in another one.
    waits = flash.wait * (2 * len(block) + words)
    most = max(way.most for way in ways) + MAX_APART * apart * words + waits
    # A block may be entered behind an instruction that makes its first one dearer, or cheaper.
    dearer = max(0.0, *(timing.table.rule(rule)[1] for rule in timing.table.rules), 0.0)
    return (min(way.least for way in ways) - _saved(block[0], timing)) / len(block), (
        most + dearer
    ) / len(block)


def _saved(first: Instruction, timing: CoreTiming) -> float:
    """What the first instruction may save behind the one before it."""
    if facts_of(first).kind == "it":
        return timing.one(first, None).least
    return -timing.table.rule("after_load")[0] if _reads(first) else 0.0


def _reads(instruction: Instruction) -> bool:
    kind = facts_of(instruction).kind
    return kind in ACCESSES or kind.startswith(("float_load", "float_store", "vector_"))
