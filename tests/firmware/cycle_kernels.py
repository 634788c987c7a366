"""Small kernels and their cycles, counted by hand from the manuals' rules.

A kernel is called with the same address in r0 and r1: of words, of which the first one holds that
address. Each count is the sum that its comment writes down; P stands for the refill of a pipeline,
which takes 1 to 3 cycles on Cortex-M3 and M4. What a kernel's caller takes is in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

M0, M0PLUS, M3, M4 = "cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4"


@dataclass(frozen=True)
class Hand:
    """One kernel: its assembly, and core -> cycles or fewest and most."""

    code: str
    cycles: dict[str, int | tuple[int, int]]

    def on(self, core: str) -> tuple[int, int]:
        """Fewest and most."""
        cycles = self.cycles[core]
        return cycles if isinstance(cycles, tuple) else (cycles, cycles)


HANDS = {
    # 1 + 10 subs + 9 taken + 1 not taken + bx.
    "loop": Hand(
        "movs r0, #10\n1: subs r0, #1\nbne 1b\nbx lr",
        {
            M0: 1 + 10 + 9 * 3 + 1 + 3,
            M0PLUS: 1 + 10 + 9 * 2 + 1 + 2,
            M3: (1 + 10 + 9 * 2 + 1 + 2, 1 + 10 + 9 * 4 + 1 + 4),
            M4: (1 + 10 + 9 * 2 + 1 + 2, 1 + 10 + 9 * 4 + 1 + 4),
        },
    ),
    # Four times: load, store, three of arithmetic. Such a store takes one on M3.
    "copy": Hand(
        "movs r3, #4\n1: ldr r2, [r0]\nstr r2, [r1]\nadds r0, #4\nadds r1, #4\nsubs r3, #1\n"
        "bne 1b\nbx lr",
        {
            M0: 1 + 4 * (2 + 2 + 3) + 3 * 3 + 1 + 3,
            M0PLUS: 1 + 4 * (2 + 2 + 3) + 3 * 2 + 1 + 2,
            M3: (1 + 4 * (2 + 1 + 3) + 3 * 2 + 1 + 2, 1 + 4 * (2 + 1 + 3) + 3 * 4 + 1 + 4),
            M4: (1 + 4 * (2 + 1 + 3) + 3 * 2 + 1 + 2, 1 + 4 * (2 + 1 + 3) + 3 * 4 + 1 + 4),
        },
    ),
    # The second and third load overlap the one before.
    "loads": Hand(
        "ldr r0, [r1]\nldr r2, [r1, #4]\nldr r3, [r1, #8]\nbx lr",
        {M0: 6 + 3, M0PLUS: 6 + 2, M3: (2 + 1 + 1 + 2, 2 + 1 + 1 + 4), M4: (6, 8)},
    ),
    # The second load needs what the first one brings.
    "chained loads": Hand(
        "ldr r0, [r1]\nldr r2, [r0]\nbx lr",
        {M0: 4 + 3, M0PLUS: 4 + 2, M3: (2 + 2 + 2, 2 + 2 + 4), M4: (6, 8)},
    ),
    # An address of a result just computed: one more on M3 and M4.
    "fresh address": Hand(
        "adds r1, #4\nldr r0, [r1]\nadds r1, #4\nmovs r2, #0\nldr r0, [r1]\nbx lr",
        {
            M0: 3 + 2 * 2 + 3,
            M0PLUS: 3 + 2 * 2 + 2,
            M3: (1 + 3 + 2 + 2 + 2, 1 + 3 + 2 + 2 + 4),
            M4: (1 + 3 + 2 + 2 + 2, 1 + 3 + 2 + 2 + 4),
        },
    ),
    # Two stores: the buffer may be full at the second; then one with a register as offset, 2.
    "stores": Hand(
        "movs r2, #8\nstr r0, [r1]\nstr r0, [r1, #4]\nadds r0, #0\nstr r0, [r1, r2]\nbx lr",
        {
            M0: 2 + 3 * 2 + 3,
            M0PLUS: 2 + 3 * 2 + 2,
            M3: (1 + 1 + 1 + 1 + 2 + 2, 1 + 1 + 2 + 1 + 2 + 4),
            M4: (1 + 1 + 1 + 1 + 2 + 2, 1 + 1 + 2 + 1 + 2 + 4),
        },
    ),
    # A store by register offset right behind a load: 3 together.
    "load and store": Hand(
        "movs r2, #8\nmovs r3, #4\nldr r0, [r1, r3]\nstr r0, [r1, r2]\nbx lr",
        # The address of the load is fresh: one more.
        {M0: 2 + 4 + 3, M0PLUS: 2 + 4 + 2, M3: (2 + 3 + 1 + 2, 2 + 3 + 1 + 4), M4: (8, 10)},
    ),
    # 1 + N; with the PC 4 + N on M0, 3 + N on M0+, 1 + N + P on M3.
    "push and pop": Hand(
        "push {r4-r6, lr}\npop {r4-r6, pc}",
        {M0: 5 + 8, M0PLUS: 5 + 7, M3: (5 + 5 + 1, 5 + 5 + 3), M4: (11, 13)},
    ),
    "multiple": Hand(
        "ldmia r1!, {r0, r2, r3}\nstmia r1!, {r0, r2}\nbx lr",
        {M0: 4 + 3 + 3, M0PLUS: 4 + 3 + 2, M3: (4 + 3 + 2, 4 + 3 + 4), M4: (9, 11)},
    ),
    # BL takes 4 on M0, 3 on M0+.
    "call": Hand(
        "push {lr}\nbl 1f\npop {pc}\n1: movs r0, #1\nbx lr",
        {
            M0: 2 + 4 + 1 + 3 + (4 + 1),
            M0PLUS: 2 + 3 + 1 + 2 + (3 + 1),
            M3: (2 + 2 + 1 + 2 + 2 + 1, 2 + 4 + 1 + 4 + 2 + 3),
            M4: (2 + 2 + 1 + 2 + 2 + 1, 2 + 4 + 1 + 4 + 2 + 3),
        },
    ),
    "multiply": Hand(
        "muls r0, r1\nbx lr", {M0: 1 + 3, M0PLUS: 1 + 2, M3: (1 + 2, 1 + 4), M4: (1 + 2, 1 + 4)}
    ),
    # The fetch unit may add one to the load on M3.
    "literal": Hand(
        "ldr r0, 1f\nbx lr\n.balign 4\n1: .word 1234567",
        {M0: 2 + 3, M0PLUS: 2 + 2, M3: (2 + 2, 3 + 4), M4: (2 + 2, 3 + 4)},
    ),
    # UMULL 3 to 5 and MLA 2 on M3; division 2 to 12; UMLAL 4 to 7.
    "products": Hand(
        "umull r2, r3, r0, r1\nmla r0, r1, r2, r3\numlal r2, r3, r0, r1\nsdiv r0, r2, r1\nbx lr",
        {M3: (3 + 2 + 4 + 2 + 2, 5 + 2 + 7 + 12 + 4), M4: (1 + 1 + 1 + 2 + 2, 1 + 1 + 1 + 12 + 4)},
    ),
    # IT may be folded onto the short comparison; the load may be skipped.
    "condition": Hand(
        "cmp r0, #0\nitt ne\nmovne r3, #1\nldrne r2, [r1]\nbx lr",
        {M3: (1 + 0 + 1 + 1 + 2, 1 + 1 + 1 + 2 + 4), M4: (1 + 0 + 1 + 1 + 2, 1 + 1 + 1 + 2 + 4)},
    ),
    # Behind a long instruction it is not; a jump that is skipped takes one, and then one is taken.
    "skipped jump": Hand(
        "cmp.w r0, #0\nit eq\nbxeq lr\nbx lr",
        {M3: (1 + 1 + 1 + 2, 1 + 1 + 1 + 4), M4: (1 + 1 + 1 + 2, 1 + 1 + 1 + 4)},
    ),
    "doubles": Hand(
        "ldrd r2, r3, [r1]\nstrd r2, r3, [r1, #8]\nldr r0, [r1]\nbx lr",
        {M3: (3 + 3 + 2 + 2, 3 + 3 + 2 + 4), M4: (3 + 3 + 2 + 2, 3 + 3 + 2 + 4)},
    ),
    # A long load that begins in the middle of a word may not overlap the one before.
    "odd halfword": Hand(
        "ldr r0, [r1]\nldr.w r2, [r1, #4]\nbx lr",
        {M3: (2 + 1 + 2, 2 + 2 + 4), M4: (2 + 1 + 2, 2 + 2 + 4)},
    ),
    "moving base": Hand(
        "ldr r0, [r1], #4\nldr r2, [r1], #4\nbx lr",
        {M3: (2 + 1 + 2, 2 + 2 + 4), M4: (2 + 1 + 2, 2 + 2 + 4)},
    ),
    # Three accesses for a word at an odd address, two for one at an even one, two for a half.
    "unaligned": Hand(
        "ldr r0, [r1, #1]\nadds r3, #0\nldr r0, [r1, #2]\nadds r3, #0\nldrh.w r0, [r1, #3]\nbx lr",
        {M3: (4 + 1 + 3 + 1 + 3 + 2, 12 + 4), M4: (4 + 1 + 3 + 1 + 3 + 2, 12 + 4)},
    ),
    # A store that is not aligned is hidden by the buffer, if that has room.
    "unaligned store": Hand(
        "str r0, [r1, #5]\nbx lr", {M3: (1 + 2, 1 + 2 + 4), M4: (1 + 2, 1 + 2 + 4)}
    ),
    # At least six for the table's jump, and one for its fresh address; CBZ is taken.
    "table": Hand(
        "movs r2, #1\ntbb [pc, r2]\n1: .byte (2f - 1b) / 2, (3f - 1b) / 2\n2: nop\n3: movs r0, #0\n"
        "cbz r0, 4f\nnop\n4: bx lr",
        {M3: (1 + 7 + 1 + 2 + 2, 1 + 7 + 1 + 4 + 4), M4: (1 + 7 + 1 + 2 + 2, 1 + 7 + 1 + 4 + 4)},
    ),
    # Each needs the result before it; the last one's divisor is there long since.
    "floats": Hand(
        "vldr s0, [r1]\nvadd.f32 s1, s0, s0\nvmul.f32 s2, s1, s1\nvmla.f32 s3, s2, s2\n"
        "vdiv.f32 s4, s3, s0\nbx lr",
        {M4: (1 + 1 + 1 + 1 + 14 + 2, 2 + 1 + 2 + 4 + 15 + 4)},
    ),
    "packed": Hand(
        "ldr r0, [r1]\nsxtb16 r2, r0\nsmlad r3, r2, r0, r2\nsmmulr r3, r3, r2\nssat r3, #8, r3\n"
        "pkhbt r0, r2, r3, lsl #16\nbx lr",
        {M4: (2 + 5 + 2, 2 + 5 + 4)},
    ),
}


def symbol(name: str) -> str:
    """The kernel's name in an image."""
    return f"kernel_{name.replace(' ', '_')}"


def assembly(core: str) -> str:
    """The core's kernels as C of a file's level: each starts a word, and the last one ends."""
    names = [name for name, hand in HANDS.items() if core in hand.cycles]
    text = ".syntax unified\n.thumb\n.text\n"
    for name in names:
        at = symbol(name)
        text += f".balign 4\n.global {at}\n.thumb_func\n.type {at}, %function\n{at}:\n"
        text += HANDS[name].code + "\n"
    text += ".balign 4\n.global kernel_end\n.thumb_func\nkernel_end: bx lr\n"
    lines = "".join(f'"{line}\\n"\n' for line in text.splitlines())
    calls = "".join(f"void {symbol(name)}(void *, void *);\n" for name in names)
    return f"__asm({lines});\n{calls}"


def body(core: str) -> str:
    """C that calls each of the core's kernels once."""
    calls = [
        f"words[0] = (unsigned)words; {symbol(name)}(words, words);"
        for name, hand in HANDS.items()
        if core in hand.cycles
    ]
    return "unsigned *const words = (unsigned *)(void *)arena;\n" + "\n".join(calls)
