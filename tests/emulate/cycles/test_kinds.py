"""What kind of instruction each is, and which registers it takes part in."""

import pytest

from tinyrt.emulate.cycles.disassembly import Instruction, parse_listing
from tinyrt.emulate.cycles.kinds import Facts, facts_of, may_pass
from tinyrt.emulate.cycles.table import cores_with_cycles, table_of
from tinyrt.emulate.cycles.timing import SKIPPED


def facts(kind, words=0, result="", address="", sources=None, moves=False):
    given = address if sources is None else sources
    sets = (frozenset(text.split()) for text in (result, address, given))
    return Facts(kind, words, *sets, moves)


CASES = {
    "add r0, r1, r2": facts("alu", result="r0", sources="r1 r2"),
    "adds r0, #1": facts("alu", result="r0", sources="r0"),
    "cmp r0, sl": facts("alu", sources="r0 r10"),
    **{f"{n} r0, r1": facts("alu", sources="r0 r1") for n in ("cmn", "tst", "teq")},
    "sxtab16 r0, r1, r2, ror #8": facts("alu", result="r0", sources="r1 r2"),
    "uqadd8 r0, r1, r2": facts("alu", result="r0", sources="r1 r2"),
    "mov pc, lr": facts("write_pc", result="r15", sources="r14"),
    "add pc, r7": facts("write_pc", result="r15", sources="r7"),
    "muls r0, r1": facts("multiply", result="r0", sources="r1"),
    "smulbb r0, r1, r2": facts("multiply", result="r0", sources="r1 r2"),
    "smmulr r0, r1, r2": facts("multiply", result="r0", sources="r1 r2"),
    "smuad r0, r1, r2": facts("multiply", result="r0", sources="r1 r2"),
    "smlad r0, r1, r2, r3": facts("multiply_accumulate", result="r0", sources="r1 r2 r3"),
    "mls r0, r1, r2, r3": facts("multiply_accumulate", result="r0", sources="r1 r2 r3"),
    "umull r0, r1, r2, r3": facts("long_multiply", result="r0 r1", sources="r1 r2 r3"),
    "smlald r0, r1, r2, r3": facts("long_multiply_accumulate", result="r0 r1", sources="r1 r2 r3"),
    "sdiv r0, r1, r2": facts("divide", result="r0", sources="r1 r2"),
    "ldr r0, [r1]": facts("load", result="r0", address="r1"),
    "ldrsb r0, [r1, r2, lsl #1]": facts("load", result="r0", address="r1 r2"),
    "ldr r0, [r1, #4]!": facts("load", result="r0", address="r1", moves=True),
    "ldr r0, [r1], #4": facts("load", result="r0", address="r1", moves=True),
    "ldr r0, [pc, #8]": facts("load_literal", result="r0", address="r15"),
    "ldr pc, [r3]": facts("load_pc", result="r15", address="r3"),
    "ldrd r0, r1, [r2, #8]": facts("load_double", 2, "r0 r1", "r2"),
    "str r0, [sp, #4]": facts("store", address="r13", sources="r0 r13"),
    "strh r0, [r1, r2]": facts("store_indexed", address="r1 r2", sources="r0 r1 r2"),
    "strd r0, r1, [r2]": facts("store_double", 2, "", "r2", "r0 r1 r2"),
    "ldmia r1!, {r2, r4-r6, lr}": facts(
        "load_multiple", 5, "r2 r4 r5 r6 r14", "r1", "r1", moves=True
    ),
    "pop {r4, pc}": facts("load_multiple", 2, "r4 r15", "r13", "r13", moves=True),
    "push {r4, lr}": facts("store_multiple", 2, "", "r13", "r4 r13 r14", moves=True),
    "stmdb sp!, {r4-r11, lr}": facts(
        *("store_multiple", 9, "", "r13", "r4 r5 r6 r7 r8 r9 r10 r11 r13 r14"), moves=True
    ),
    "b 8a0": facts("branch"),
    "bne 8a0": facts("branch"),
    "cbnz r3, 8a0": facts("branch", sources="r3"),
    "bl 8a0": facts("call"),
    "blx r3": facts("call_register", sources="r3"),
    "bx lr": facts("jump", sources="r14"),
    "tbb [pc, r2]": facts("table_branch", address="r2 r15"),
    "it ne": facts("it"),
    "itte ne": facts("it"),
    "nop": facts("hint"),
    "dsb sy": facts("barrier"),
    "mrs r0, MSP": facts("system", result="r0", sources="r0"),
    "vldr s0, [r1, #4]": facts("float_load", 0, "s0", "r1"),
    "vldr d7, [r1]": facts("float_load", 1, "d7", "r1"),
    "vstr s0, [r1]": facts("float_store", 0, "", "r1", "r1 s0"),
    "vpush {d8-d9}": facts("float_store_multiple", 4),
    "vldmia r0!, {s1, s2}": facts("float_load_multiple", 2, "s1 s2", "r0", "r0", moves=True),
    "vadd s0, s1, s2": facts("float_alu", result="s0", sources="s1 s2"),
    "vfma s0, s1, s2": facts("float_accumulate", result="s0", sources="s1 s2"),
    "vdiv s0, s1, s2": facts("float_divide", result="s0", sources="s1 s2"),
    **{f"{n} s0, s1": facts("float_alu", sources="s0 s1") for n in ("vcmp", "vcmpe")},
    "vldrb q0, [r1]": facts("vector_load", 0, "q0", "r1"),
    "vldrw q0, [r1, q2, uxtw #2]": facts("vector_gather", 0, "q0", "q2 r1"),
    "vstrwt q0, [r1], #16": facts("vector_store", 0, "", "r1", "q0 r1", moves=True),
    "vmlava r0, q1, q2": facts("vector_multiply", result="r0", sources="q1 q2"),
    "vqrdmulh q0, q1, q2": facts("vector_multiply", result="q0", sources="q1 q2"),
    "vadd q0, q1, q2": facts("vector_alu", result="q0", sources="q1 q2"),
    "vctp r3": facts("vector_predicate", result="r3", sources="r3"),
    "dls lr, r2": facts("loop_start", sources="r2"),
    "le lr, 8a0": facts("loop_end", sources="r14"),
    "asrl r0, r1, #2": facts("alu", result="r0", sources="r1"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.items(), ids=CASES)
def test_an_instruction_is_of_its_kind(text, expected):
    name, _, operands = text.partition(" ")
    assert facts_of(Instruction(0, 2, name, operands)) == expected


@pytest.mark.parametrize(
    ("text", "goes_on"),
    [
        ("add r0, r1", True),
        ("ldr r0, [r1]", True),
        ("pop {r4, pc}", False),
        ("pop {r4}", True),
        ("ldr pc, [r0]", False),
        ("mov pc, r0", False),
        ("bx lr", False),
        ("le lr, 80", False),
    ],
)
def test_what_may_jump_is_known(text, goes_on):
    name, _, operands = text.partition(" ")
    assert facts_of(Instruction(0, 2, name, operands)).goes_on is goes_on


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("add r0, r1", True),
        ("b 80", False),
        ("bne 80", True),
        ("cbz r0, 80", True),
        ("bl 80", False),
        ("bx lr", False),
        ("pop {pc}", False),
        ("le lr, 80", True),
        ("dls lr, r0", True),
    ],
)
def test_what_control_may_go_on_behind_is_known(text, passes):
    name, _, operands = text.partition(" ")
    assert may_pass(Instruction(0, 2, name, operands)) is passes
    assert may_pass(Instruction(0, 2, name, operands, True))


LISTING = """
image.elf:     file format elf32-littlearm

Disassembly of section .harness:

00000040 <harness_call>:
  40:	4770      	bx	lr

Disassembly of section .kernels:

000009a0 <kernel>:
 9a0:	f8d1 2004 	ldr.w	r2, [r1, #4]
 9a4:	2800      	cmp	r0, #0
 9a6:	bf1c      	itt	ne
 9a8:	2301      	movne	r3, #1
 9aa:	680a      	ldrne	r2, [r1, #0]
 9ac:	46f1      	movls	r9, lr	@ a comment
 9ae:	d1f8      	bne.n	9a2 <kernel+0x2>
 9b0:	0012d687 	.word	0x0012d687
"""


@pytest.mark.parametrize(
    ("section", "is_model"),
    [
        *((".kernels", True), (".model_code", True), (".library", True)),
        *((".harness", False), (".vectors", False)),
    ],
)
def test_code_of_the_model_is_all_but_the_harness(section, is_model):
    found = parse_listing(LISTING.replace(".kernels", section))
    assert (len(found.code) == 7) is is_model
    assert found.symbols.keys() == {"harness_call", "kernel"}


def test_a_listing_is_read_with_its_conditions():
    found = parse_listing(LISTING)
    assert found.symbols == {"harness_call": 0x40, "kernel": 0x9A0}
    assert [*found.code.values()] == [
        Instruction(0x9A0, 4, "ldr", "r2, [r1, #4]"),
        Instruction(0x9A4, 2, "cmp", "r0, #0"),
        Instruction(0x9A6, 2, "itt", "ne"),
        Instruction(0x9A8, 2, "mov", "r3, #1", True),
        Instruction(0x9AA, 2, "ldr", "r2, [r1, #0]", True),
        Instruction(0x9AC, 2, "movls", "r9, lr"),
        Instruction(0x9AE, 2, "bne", "9a2"),
    ]


@pytest.mark.parametrize("core", cores_with_cycles())
def test_every_figure_has_a_source_and_is_ordered(core):
    table = table_of(core)
    assert table.exact == (not table.reason)
    assert "Technical Reference Manual" in table.manual
    assert all(len(kind.source) > 5 for kind in table.kinds.values())
    spans = [s for kind in table.kinds.values() for s in (kind.cycles, kind.each, kind.taken)]
    assert all(0 <= least <= most for least, most in spans)
    assert all(least <= most for least, most in table.rules.values())


def test_exact_tables_are_those_of_manuals_with_cycles():
    exact = [core for core in cores_with_cycles() if table_of(core).exact]
    assert exact == ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4"]
    others = {"cortex-m33", "cortex-m55", "cortex-m7", "cortex-m85"}
    assert {*cores_with_cycles()} == {*exact, *others}


@pytest.mark.parametrize("core", cores_with_cycles())
def test_no_instruction_takes_less_at_most_than_one_that_is_skipped(core):
    """But for what is no instruction of its own: what a neighbour adds."""
    table = table_of(core)
    own = [kind for name, kind in table.kinds.items() if "after" not in name]
    assert all(kind.cycles[1] >= SKIPPED for kind in own)
    assert all(kind.small is None or kind.small >= SKIPPED for kind in own)
