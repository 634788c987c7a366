"""The bound of the stack, from disassemblies written here: frames, calls, and what has none."""

import pytest

from tinyrt.emulate import toolchain
from tinyrt.emulate.stack import stack_bound
from tinyrt.export import find_core

PUSHED = [
    ("push\t{r4}", 4),
    ("push\t{r4, r5, r7, lr}", 16),
    ("push\t{r4-r7, lr}", 20),
    ("push.w\t{r4-r11, lr}", 36),
    ("stmdb\tsp!, {r4, r5, r6}", 12),
    ("vpush\t{d8-d9}", 16),
    ("vpush\t{d8, d10, d12}", 24),
    ("vpush\t{s16-s18}", 12),
    ("sub\tsp, #24", 24),
    ("sub.w\tsp, sp, #4096", 4096),
    ("subw\tsp, sp, #1028", 1028),
    ("str.w\tr4, [sp, #-8]!", 8),
    ("strd\tr4, r5, [sp, #-16]!", 16),
    ("addi\tsp,sp,-48", 48),
    ("add\tsp,sp,-32", 32),
]
UNTOUCHED = [
    "add\tsp, #24",
    "pop\t{r4, pc}",
    "str\tr4, [sp, #8]",
    "stmdb\tr0!, {r4, r5}",
    "sub\tr1, #24",
    "addi\tsp,sp,48",
    "ldr\tr0, [pc, #4]\t; (8100 <deep>)",
    "b.n\t8000 <start>",
    "cbz\tr0, 8000 <start>",
    "bl\t8104 <deep+0x4>",
    "bl\t9000 <data>",
]
UNBOUNDED = [
    "bl\t8000 <start>",
    "jal\t8000 <start>",
    "blx\tr3",
    "jalr\ta5",
    "sub\tsp, r3",
    "sub.w\tsp, sp, r3",
    "sub\tsp,sp,a0",
]
CALLS = ["bl\t8100 <deep>", "b.w\t8100 <deep>", "cbnz\tr0, 8100 <deep>", "jal\t8100 <deep>"]
DEEP = 100


def listing(*functions):
    """A disassembly of functions from 0x8000 on, 0x100 apart."""
    lines = ["", "image.elf:     file format elf32", ""]
    for number, (name, *instructions) in enumerate(functions):
        address = 0x8000 + 0x100 * number
        lines.append(f"{address:08x} <{name}>:")
        lines += [f"    {address + 2 * i:x}:\t{text}" for i, text in enumerate(instructions)]
        lines.append("")
    return "\n".join(lines)


@pytest.fixture
def bound(tmp_path, monkeypatch):
    """The bound of ``start``, from functions and from lines of GCC's call graph files."""

    def of(*functions, nodes="", root="start"):
        commands = []

        def run(command, *, doing):
            commands.append([str(part) for part in command])
            return listing(*functions)

        monkeypatch.setattr(toolchain, "run", run)
        (tmp_path / "object.ci").write_text(nodes)
        core = find_core("rv32imc")
        found = stack_bound(tmp_path, tmp_path / "image.elf", root, core)
        assert commands[0][:2] == ["riscv64-unknown-elf-objdump", "-d"]
        assert commands[0][-1].endswith("image.elf")
        return found

    return of


def node(title, nbytes, kind="static"):
    return f'node: {{ title: "{title}" label: "f\\nmodel.c:1:1\\n{nbytes} bytes ({kind})" }}\n'


@pytest.mark.parametrize(("instruction", "nbytes"), PUSHED)
def test_what_an_instruction_takes_off_the_stack_counts(bound, instruction, nbytes):
    assert bound(("start", instruction)) == nbytes
    assert bound(("start", instruction, "nop", instruction)) == 2 * nbytes


@pytest.mark.parametrize("instruction", UNTOUCHED)
def test_others_do_not(bound, instruction):
    assert bound(("start", "push\t{r4}", instruction), ("deep", "sub\tsp, #100")) == 4


@pytest.mark.parametrize("instruction", UNBOUNDED)
def test_recursion_pointers_and_frames_of_any_size_have_no_bound(bound, instruction):
    assert bound(("start", "push\t{r4}", instruction, "push\t{r4}")) is None
    assert bound(("start", "bl\t8100 <deep>"), ("deep", instruction)) is None


def test_functions_that_call_each_other_have_no_bound(bound):
    assert bound(("start", "bl\t8100 <deep>"), ("deep", "b.n\t8000 <start>")) is None


@pytest.mark.parametrize("endless", ["low", "deep"])
def test_one_call_without_a_bound_leaves_none(bound, endless):
    functions = [(name, "blx\tr3" if name == endless else "nop") for name in ("low", "deep")]
    assert bound(("start", "bl\t8100 <low>", "bl\t8200 <deep>"), *functions) is None


@pytest.mark.parametrize("call", CALLS)
def test_frames_along_calls_add_up(bound, call):
    assert bound(("start", "push\t{r4}", call), ("deep", "sub\tsp, #100")) == 4 + DEEP


def test_of_several_calls_the_deepest_counts(bound):
    calls = ("bl\t8100 <low>", "bl\t8200 <deep>", "bl\t8300 <low2>")
    low, deep = ("low", "sub\tsp, #60"), ("deep", "sub\tsp, #100", "bl\t8100 <low>")
    assert bound(("start", *calls), low, deep, ("low2", "sub\tsp, #8")) == 160


def test_of_both_figures_of_a_frame_the_larger_one_counts(bound):
    start = ("start", "sub\tsp, #40")
    assert bound(start, nodes=node("start", 24)) == 40
    assert bound(start, nodes=node("start", 56)) == 56
    assert bound(start, nodes=node("model.c:start", 56)) == 56
    assert bound(start, nodes=node("other", 56)) == 40
    assert bound(start, nodes=node("start", 0, "dynamic")) is None


def test_a_root_that_is_not_in_the_image_has_no_bound(bound):
    assert bound(("start", "sub\tsp, #40"), root="other") is None
