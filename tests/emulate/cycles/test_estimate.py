"""From counts to cycles where no emulator is needed: ways out, units, predictions, bounds."""

from dataclasses import replace

import pytest

from tinyrt.emulate.cycles.blocks import blocks_of, estimate_without_edges
from tinyrt.emulate.cycles.counts import Counts, Edge, sum_of
from tinyrt.emulate.cycles.disassembly import Instruction
from tinyrt.emulate.cycles.estimate import Cycles, estimate
from tinyrt.emulate.cycles.flash import Flash
from tinyrt.emulate.cycles.table import table_of
from tinyrt.emulate.cycles.timing import CoreTiming, Cost

M0, M4, M7, M55 = (CoreTiming(table_of(f"cortex-m{n}")) for n in (0, 4, 7, 55))


def code_of(*lines, at=0x100):
    """Instructions of two bytes in a row; of four with a star, conditional with a ``?``."""
    code = {}
    for line in lines:
        name, _, operands = line.strip("*?").partition(" ")
        size = 4 if "*" in line else 2
        code[at] = Instruction(at, size, name, operands, "?" in line)
        at += size
    return code


def with_rules(timing, **rules):
    """The same core where rules are others."""
    return CoreTiming(replace(timing.table, rules={**timing.table.rules, **rules}))


LOOP = code_of("subs r0, #1", "bne 100", "bx lr")
"""Nine turns back, then on, and back to the caller at 2."""
COUNTS = Counts({Edge(0x100, 2, 0x100): 9, Edge(0x100, 2, 0x104): 1, Edge(0x104, 1, 2): 1})


def test_taken_and_passed_branches_are_told_apart():
    assert estimate(COUNTS, LOOP, M0, Flash()) == Cycles(10 + 9 * 3 + 1 + 3, 10 + 9 * 3 + 1 + 3)
    assert estimate(COUNTS, LOOP, M4, Flash()) == Cycles(10 + 9 * 2 + 1 + 2, 10 + 9 * 4 + 1 + 4)


def test_passes_share_what_was_counted():
    twice = sum_of([COUNTS, COUNTS])
    assert estimate(twice, LOOP, M4, Flash(), 2) == estimate(COUNTS, LOOP, M4, Flash())
    assert estimate(COUNTS, LOOP, M4, Flash(), 2) == Cycles(31 // 2, 26)


def test_each_figure_of_stretches_is_added_up():
    edge, other = Edge(0, 2, 4), Edge(4, 1, 0)
    first, second = (
        Counts({edge: 1}, 1, 2, 3, 4, 5),
        Counts({edge: 2, other: 7}, 10, 20, 30, 40, 50),
    )
    assert sum_of([first, second]) == Counts({edge: 3, other: 7}, 11, 22, 33, 44, 55)


def test_blocks_that_are_not_the_model_s_cost_nothing():
    other = Counts({**COUNTS.edges, Edge(0x10, 7, 0x100): 1000})
    assert estimate(other, LOOP, M4, Flash()) == estimate(COUNTS, LOOP, M4, Flash())


def test_a_call_of_the_harness_is_not_the_model_s():
    code = code_of("movs r0, #1", "bl 10*", "movs r1, #1", "bx lr")
    counts = Counts({Edge(0x100, 2, 0x10): 5, Edge(0x106, 2, 2): 5})
    assert estimate(counts, code, M0, Flash()) == Cycles(5 * (1 + 1 + 3), 5 * (1 + 1 + 3))


def test_code_that_the_emulator_cuts_is_still_in_one_piece():
    """The second load overlaps the first one, wherever the block ends; an interrupt is no jump.

    Where one result is used next, only the most differs.
    """
    code = code_of("ldr r0, [r1]", "ldr r2, [r1]", "bx lr")
    whole = Counts({Edge(0x100, 3, 2): 1})
    cut = Counts({Edge(0x100, 1, 0x102): 1, Edge(0x102, 2, 2): 1})
    assert estimate(whole, code, M4, Flash()) == Cycles(2 + 1 + 2, 2 + 1 + 4)
    assert estimate(cut, code, M4, Flash()) == estimate(whole, code, M4, Flash())
    interrupted = Counts({Edge(0x100, 1, 0x20): 1, Edge(0x102, 2, 2): 1})
    assert estimate(interrupted, code, M4, Flash()) == Cycles(2 + 2 + 2, 2 + 2 + 4)
    used = code_of("vadd s0, s1, s2*", "vmov r0, s0*", "bx lr")
    cut = Counts({Edge(0x100, 1, 0x104): 1, Edge(0x104, 2, 2): 1})
    assert estimate(cut, used, M4, Flash()) == estimate(whole, used, M4, Flash())
    assert estimate(cut, used, M4, Flash()) == Cycles(1 + 1 + 2, 1 + 2 + 4)


def test_accesses_that_are_not_aligned_take_longer():
    counts = replace(COUNTS, loads_apart=10, stores_apart=7)
    plain = estimate(COUNTS, LOOP, M4, Flash())
    assert estimate(counts, LOOP, M4, Flash()) == Cycles(plain.low + 10, plain.high + 10 + 7)
    assert estimate(counts, LOOP, M0, Flash()) == estimate(COUNTS, LOOP, M0, Flash())
    odd = with_rules(M0, unaligned_load=(2.0, 5.0), unaligned_store=(1.0, 3.0))
    plain = estimate(COUNTS, LOOP, M0, Flash())
    both = Cycles(plain.low + 2 * 10 + 7, plain.high + 5 * 10 + 3 * 7)
    assert estimate(counts, LOOP, odd, Flash()) == both


def test_wait_states_come_on_top():
    counts = replace(COUNTS, code_misses=4, flash_loads=3)
    plain = estimate(COUNTS, LOOP, M4, Flash())
    assert estimate(counts, LOOP, M4, Flash(5)) == Cycles(plain.low, plain.high + 5 * 7)


def test_a_branch_is_mispredicted_where_it_changes_its_way():
    """At most twice for each time that it goes the rarer way, and once; a return each time."""
    table = replace(M7.table, rules={"mispredicted": (0.0, 100.0)})
    priced = CoreTiming(table)
    free = estimate(COUNTS, LOOP, CoreTiming(replace(table, rules={})), Flash())
    # The loop's branch: nine back, one on; the return: always the same way, once.
    assert estimate(COUNTS, LOOP, priced, Flash()).high == free.high + 100 * (3 + 1)
    returns = Counts({Edge(0x104, 1, 2): 5})
    free = estimate(returns, LOOP, CoreTiming(replace(table, rules={})), Flash())
    assert estimate(returns, LOOP, priced, Flash()).high == free.high + 100 * 5
    skipped = Counts({Edge(0x104, 1, 2): 5, Edge(0x104, 1, 0x106): 3})
    code = LOOP | code_of("bx lr?", at=0x104)
    free = estimate(skipped, code, CoreTiming(replace(table, rules={})), Flash())
    assert estimate(skipped, code, priced, Flash()).high == free.high + 100 * 8
    often = Counts({Edge(0x100, 2, 0x100): 1, Edge(0x100, 2, 0x104): 1})
    free = estimate(often, LOOP, CoreTiming(replace(table, rules={})), Flash())
    assert estimate(often, LOOP, priced, Flash()).high == free.high + 100 * 2


def test_the_busiest_unit_is_waited_for():
    code = code_of("vmla q0, q1, r2*", "vmla q1, q1, r2*", "vldrb q2, [r1]*", "bx lr")
    counts = Counts({Edge(0x100, 4, 2): 10})
    kinds = M55.table.kinds
    assert kinds["vector_multiply"].busy == 2
    issue = 3 * kinds["vector_multiply"].cycles[0] + 0.5 + kinds["jump"].taken[0]
    assert issue < 2 * 2
    assert estimate(counts, code, M55, Flash()).low == 10 * 2 * 2


def test_an_instruction_that_may_be_skipped_keeps_no_unit_busy():
    always, perhaps = code_of("mul r0, r1, r2*", "mul r0, r1, r2?*").values()
    assert M7.one(always, None).busy == {"multiplier": 1}
    assert M7.one(perhaps, None) == Cost(0.5, M7.one(always, None).most)


def test_costs_add_up_unit_by_unit():
    cost = Cost(1, 2, {"a": 3}) + Cost(10, 20, {"a": 1, "b": 9}).times(2)
    assert cost == Cost(21, 42, {"a": 5, "b": 18})
    assert cost.bounds == (21, 42)
    assert Cost(1, 9, {"a": 7}).bounds == (7, 9)


@pytest.mark.parametrize(
    ("lines", "least", "most"),
    [
        (["cmp r0, #1", "it eq", "mov r1, #1?"], 1 + 0 + 1, 1 + 1 + 1),
        (["cmp.w r0, #1*", "it eq", "str r1, [r2]?"], 1 + 1 + 1, 1 + 1 + 1),
        (["ldr r1, [r2]?", "ldr r3, [r4]"], 1 + 1, 2 + 2),
        (["sdiv r0, r1, r2?*"], 1, 12),
        (["ldrd r0, r1, [r2]*", "ldr r3, [r4]"], 3 + 2, 3 + 2),
        (["ldr r3, [r4]", "ldrd r0, r1, [r2]*"], 2 + 3, 2 + 3),
        (["ldr r3, [r4]", "push {r0, r1}"], 2 + 3, 2 + 3),
        (["str r3, [r4]", "push {r0, r1}"], 1 + 3, 1 + 4),
        (["str r3, [r4]", "adds r0, #1", "ldr r0, [r4]"], 1 + 1 + 2, 1 + 1 + 2),
        (["cmp r4, #1", "ldr r0, [r4]"], 1 + 2, 1 + 2),
        (["pop {r0}", "ldr r1, [r0]"], 2 + 2, 2 + 2),
        (["ldr r0, [r1]", "vldr s0, [r0]*"], 2 + 1, 2 + 2),
        (["add sp, #8", "push {r0}"], 1 + 2 + 1, 1 + 2 + 1),
        (["ldr r4, [r3], #4*", "ldr r0, [r3]"], 2 + 1, 2 + 2),
        (["vadd s0, s1, s2*", "vadd s3, s1, s2*"], 2, 2),
        (["vadd s0, s1, s2*", "vmov r0, s0*"], 2, 3),
        (["vmov r0, s0*", "ldr r1, [r0]"], 1 + 2 + 1, 1 + 2 + 1 + 1),
        (["mov r4, #1?", "ldr r0, [r4]"], 1 + 2, 1 + 2 + 1),
        (["it eq", "mov r1, #1?"], 1 + 1, 1 + 1),
        (["ldr r0, [r1]", "ldr r2, [r1]*"], 2 + 1, 2 + 2),
        (["ldr r0, [r1]*", "ldr r2, [r1]*"], 2 + 1, 2 + 1),
    ],
)
def test_instructions_side_by_side_on_m4(lines, least, most):
    """As the manual's rules say, without a jump."""
    lines = [line.replace(".w", "") for line in lines]
    assert M4.run([*code_of(*lines).values()]).bounds == (least, most)


def test_each_figure_of_a_rule_and_of_a_list_has_its_place():
    """By figures that no core has."""
    odd = with_rules(M4, after_load=(-0.5, 9.0), float_result_used=(0.25, 2.0))
    loads = [*code_of("ldr r0, [r1]", "ldr r2, [r1]").values()]
    assert odd.run(loads).bounds == (2 + 1.5, 2 + 1.5)
    used = [*code_of("vmov r0, s0*", "ldr r1, [r0]").values()]
    assert odd.run(used).bounds == (1 + 2 + 1 + 0.25, 1 + 2 + 1 + 2)
    # One load may save what it does behind another, and may be used by a float.
    assert estimate_without_edges(4, code_of("ldr r0, [r1]"), odd, Flash()).low == 4 * 1.5
    several = replace(M4.table.kind("load_multiple"), cycles=(1.0, 2.0), each=(0.5, 3.0))
    kinds = {**M4.table.kinds, "load_multiple": several}
    timing = CoreTiming(replace(M4.table, kinds=kinds))
    assert timing.run([*code_of("ldmia r0, {r1, r2}").values()]).bounds == (1 + 1, 2 + 6)


@pytest.mark.parametrize("timing", [M4, M7, M55])
@pytest.mark.parametrize(
    "line", ["bx lr", "pop {r4, r5, pc}", "ldr pc, [r1]*", "add pc, r7", "bl 100*", "b 100"]
)
def test_a_jump_that_may_be_skipped_costs_as_any_where_it_is_not(timing, line):
    (always,), (perhaps,) = (code_of(text).values() for text in (line, f"{line}?"))
    assert timing.jump(perhaps, None) == timing.jump(always, None)
    assert timing.passed(perhaps, None) == Cost(1, 1)


# Without counts of blocks


def test_blocks_begin_where_control_can_come_in():
    code = code_of(
        *("movs r0, #9", "subs r0, #1", "it eq", "mov r1, #1?", "bne 102", "nop", "bl 100*"),
        *("movs r2, #1", "bx lr"),
    )
    code = dict(reversed(code.items()))  # wherever a listing has it
    blocks = [[each.address for each in block] for block in blocks_of(code)]
    assert blocks == [[0x100], [0x102, 0x104, 0x106, 0x108], [0x10A, 0x10C], [0x110, 0x112]]
    jumping = {**code, **code_of("add pc, r7", at=0x200)}
    # Whose target may be anything but what stands behind IT.
    assert [len(block) for block in blocks_of(jumping)] == [1, 1, 2, 1, 1, 1, 1, 1, 1]


def test_the_mean_lies_between_the_cheapest_and_the_dearest_block():
    code = code_of("adds r0, #1", "adds r0, #2", "adds r0, #3", "bne 100", "bx lr")
    # Three and a branch that takes 1 or 3 cycles; a return of 3.
    assert estimate_without_edges(100, code, M0, Flash()) == Cycles(100, 300)
    # Each may have been fetched anew, twice.
    assert estimate_without_edges(100, code, M0, Flash(1)).high == 500
    assert estimate_without_edges(0, {}, M0, Flash()) == Cycles(0, 0)


def test_the_dearest_block_has_all_that_may_come_before_it():
    code = code_of("ldr r0, [r1]", "bx lr")
    # The load saves one behind another; or a store, a fresh address and a float come before it, and
    # its address is odd. The jump takes two to four.
    least, most = 2 - 1 + 2, 2 + 1 + 1 + 1 + 2 + 4
    assert estimate_without_edges(2, code, M4, Flash()) == Cycles(least, most)
    assert estimate_without_edges(3, code, M4, Flash()) == Cycles(3 * least // 2, -(-3 * most // 2))
    # Four reads of code, and one of data.
    assert estimate_without_edges(2, code, M4, Flash(3)).high == most + 3 * 5


@pytest.mark.parametrize(
    ("line", "words"),
    [
        *(("adds r0, #1", 0), ("ldr r0, [r1]", 1), ("str r0, [r1]", 1), ("push {r0, r1}", 2)),
        *(("vldr s0, [r1]", 1), ("vstr s0, [r1]", 1)),
    ],
)
def test_each_word_of_a_load_or_a_store_may_wait_and_may_lie_apart(line, words):
    """So may both reads of the instruction; what is not aligned takes two more accesses."""
    waits, code = Flash(3), code_of(line)
    plain = estimate_without_edges(1, code, M4, Flash()).high
    assert estimate_without_edges(1, code, M4, waits).high == plain + 3 * (2 + words)
    for rule in ("unaligned_load", "unaligned_store"):
        odd = with_rules(M4, **{rule: (0.0, 100.0)})
        more = estimate_without_edges(1, code, odd, Flash()).high - plain
        assert more == (2 * 99 if words else 0)


def test_bounds_without_edges_hold_for_every_way_through(monkeypatch):
    lines = ["movs r0, #9", "ldr r2, [r1]", "str r2, [r1, #4]", "bne 102", "pop {r4, pc}"]
    code = code_of(*lines)
    runs = {Edge(0x100, 4, 0x102): 1, Edge(0x102, 3, 0x102): 7, Edge(0x102, 3, 0x108): 1}
    counts = Counts({**runs, Edge(0x108, 1, 2): 1}, 9, 8, 8, 2, 3)
    for timing in (M0, M4, M7, M55):
        for flash in (Flash(), Flash(3), Flash(7, 32)):
            narrow = estimate(counts, code, timing, flash)
            broad = estimate_without_edges(counts.instructions, code, timing, flash)
            assert broad.low <= narrow.low <= narrow.high <= broad.high
