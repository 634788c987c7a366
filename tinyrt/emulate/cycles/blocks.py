"""Cycles where nothing but a number of instructions is known: by the cheapest and dearest block."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from tinyrt.emulate.cycles.disassembly import Instruction
from tinyrt.emulate.cycles.estimate import Code, Cycles
from tinyrt.emulate.cycles.flash import Flash
from tinyrt.emulate.cycles.kinds import ACCESSES, facts_of, may_pass
from tinyrt.emulate.cycles.table import Span
from tinyrt.emulate.cycles.timing import SINGLE, CoreTiming, Cost

MAX_APART = 2
"""Accesses beyond one that a word takes at most which is not aligned."""

COMPUTED = ("table_branch", "write_pc")
"""Jumps whose target is computed, returns aside."""

FROM_BEFORE = ("after_store", "address_after_result", "float_result_used")
"""Rules by which an instruction takes longer behind another."""

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
    # Where computed jumps lead is not read, so that any instruction may be their target; but no
    # code jumps to one whose condition stands before it.
    anywhere = any(facts_of(each).kind in COMPUTED for each in code.values())
    block: list[Instruction] = []
    for address in sorted(code):
        is_entry = anywhere or address in entries or not block or not _goes_to(block[-1], address)
        if block and is_entry and not code[address].conditional:
            yield block
            block = []
        block.append(code[address])
    if block:
        yield block


def _goes_to(instruction: Instruction, address: int) -> bool:
    return facts_of(instruction).goes_on and instruction.end == address


def _targets(code: Code) -> Iterator[int]:
    for instruction in code.values():
        if not facts_of(instruction).goes_on and (match := _TARGET.search(instruction.operands)):
            yield int(match[1], 16)


def _mean(block: Sequence[Instruction], timing: CoreTiming, flash: Flash) -> Span:
    """Least and most cycles to an instruction of a block, whatever ran before it."""
    total = Cost()
    for before, instruction in zip([None, *block], block, strict=False):
        if facts_of(instruction).goes_on:
            total += timing.one(instruction, before)
        else:
            ways = [timing.jump(instruction, before)]
            ways += [timing.passed(instruction, before)] if may_pass(instruction) else []
            total += Cost(min(way.least for way in ways), max(way.most for way in ways))
            total += Cost(0.0, timing.table.rule("mispredicted")[1])
    least = total.least - _saved(block[0], timing)
    most = total.most + sum(timing.table.rule(rule)[1] for rule in FROM_BEFORE)
    words = [max(1, facts_of(each).registers) for each in block if _accesses(each)]
    apart = max(timing.table.rule(rule)[1] for rule in ("unaligned_load", "unaligned_store"))
    # Every instruction may lie across two lines, and every word of data in another one.
    most += MAX_APART * apart * len(words) + flash.wait * (2 * len(block) + sum(words))
    return least / len(block), most / len(block)


def _saved(first: Instruction, timing: CoreTiming) -> float:
    """What the first instruction may save by the one before it."""
    alone = timing.one(first, None).least
    if facts_of(first).kind == "it":
        return alone
    saved = -timing.table.rule("after_load")[0]
    return saved if facts_of(first).kind in SINGLE and alone - saved >= 1 else 0.0


def _accesses(instruction: Instruction) -> bool:
    kind = facts_of(instruction).kind
    return kind in ACCESSES or kind.startswith(("float_load", "float_store", "vector_"))
