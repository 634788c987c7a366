"""What one sample costs a GPU at least, counted in the machine code; needs no GPU, only NVRTC.

    TINYRT_ZOO=../shared python -m benchmarks.cuda_cost [--model NAME] [--phases]

Instructions of each phase are counted in its loop over units of work, times how often a warp goes
round. Each pipe of a multiprocessor then takes some cycles at least; the busiest one bounds the
throughput, and says which share of that bound a goal asks for.
"""

from __future__ import annotations

import argparse
import os
import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tinyrt.backends.cuda.layout import THROUGHPUT, Shape
from tinyrt.backends.cuda.nvrtc import compile_source
from tinyrt.backends.cuda.program import RUN, DeviceProgram, generate
from tinyrt.convert.tflite.reader import read_tflite

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
ARCH = "sm_90"
GOALS = {"resnet8": 5e6, "dscnn_kws": 10e6}
"""Images per second on an H200-class GPU, at batch 4096."""

WORD = 16
"""Bytes of an instruction; its lowest 12 bits say which."""

BRANCH, BARRIER, MATRIX = 0x947, 0xB1D, 0x237
FMA = {0x224, 0x424, 0x824, 0xE24, 0x225, 0x825, 0x227, 0x827, 0x226, 0x826}
"""IMAD, its wide and high forms, and IDP (four products of bytes)."""
MEMORY = {0x388, 0x988, 0x984, 0x981, 0x986, 0x983, 0x387}
"""Loads and stores of shared, global and local memory, which share one path of 128 bytes."""
BYTES = (1, 1, 2, 2, 4, 8, 16, 16)
"""That a lane loads or stores, by three bits of the instruction."""
OTHER = {BRANCH, BARRIER, MATRIX, 0x918, 0x919, 0x941, 0x945, 0x948, 0x94D, 0x9C3, 0xAB9, 0xB82}
"""Neither arithmetic nor memory."""


@dataclass(frozen=True)
class Machine:
    """An H200: what its multiprocessors do in a cycle.

    Instructions of a warp, of all kinds and by pipe: the programming guide's table of arithmetic
    instructions (64 lanes a cycle for integer adds, compares, shifts and multiply-adds). Matrix
    products: the data sheet's 1979 TOPS are one ``mma.m16n8k32`` a cycle; by what the literature
    has measured, ``mma.sync`` reaches 0.62 of it.
    """

    multiprocessors: int = 132
    clock_hz: float = 1.83e9
    issued: float = 4
    by_pipe: float = 2
    memory_bytes: int = 128
    matrix: float = 0.62


@dataclass(frozen=True)
class Instruction:
    """What counts of one.

    Attributes:
        opcode: which it is.
        bytes: a lane loads or stores.
        target: index that it may go to, of branches.

    """

    opcode: int
    bytes: int = 0
    target: int = 0


@dataclass(frozen=True)
class PhaseCost:
    """One phase, per sample.

    Attributes:
        title: which op.
        instructions: of all warps.
        rounds: how often the busiest warp goes round.
        round: instructions of one round.
        kinds: instructions of all rounds.

    """

    title: str
    instructions: float
    rounds: int
    round: int
    kinds: Counter[Instruction]


def text_of(image: bytes, kernel: str) -> bytes:
    """The machine code of a kernel in a cubin, which is an ELF file."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    entry, count, names = struct.unpack_from("<HHH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", image, table + i * entry) for i in range(count)]
    text = f".text.{kernel}".encode()
    strings = sections[names][4]
    for name, _, _, _, offset, size in sections:
        if image[strings + name :].split(b"\0", 1)[0] == text:
            return image[offset : offset + size]
    raise LookupError(text)


def decode(code: bytes) -> list[Instruction]:
    """All instructions of a kernel."""
    found = []
    for at in range(0, len(code), WORD):
        whole = int.from_bytes(code[at : at + WORD], "little")
        opcode = whole & 0xFFF
        if opcode == BRANCH:
            words = (whole >> 34 & (1 << 40) - 1) << 8 | whole >> 16 & 0xFF
            words -= (words >> 47) << 48
            found.append(Instruction(opcode, target=(at + WORD + 4 * words) // WORD))
        elif opcode in MEMORY:
            found.append(Instruction(opcode, bytes=BYTES[whole >> 73 & 7]))
        else:
            found.append(Instruction(opcode))
    return found


def phase_costs(program: DeviceProgram, image: bytes) -> list[PhaseCost]:
    """Every phase of a fused program but the padding, which is once per block."""
    code = decode(text_of(image, RUN))
    ends = [i for i, instruction in enumerate(code) if instruction.opcode == BARRIER]
    if len(ends) != len(program.phases):
        raise LookupError(f"{len(ends)} barriers for {len(program.phases)} phases")
    warps, costs, begin = program.threads // 32, [], 0
    for phase, end in zip(program.phases, ends, strict=True):
        first, last = _loop(code, begin, end)
        body = Counter(code[first : last + 1])
        units = -(-phase.work // 32)
        once = (end + 1 - begin - body.total()) * warps
        share = phase.steps / program.samples
        kinds = Counter({k: n * units * share for k, n in body.items()})
        rounds = -(-units // warps) * phase.steps
        total = (body.total() * units + once) * share
        if phase.title != "padding":
            costs.append(PhaseCost(phase.title, total, rounds, body.total(), kinds))
        begin = end + 1
    return costs


def _loop(code: list[Instruction], begin: int, end: int) -> tuple[int, int]:
    """The longest loop between two barriers, which is the one over units; all if there is none."""
    backwards = [
        (code[i].target, i)
        for i in range(begin, end)
        if code[i].opcode == BRANCH and begin <= code[i].target <= i
    ]
    return max(backwards, key=lambda span: span[1] - span[0], default=(begin, end))


@dataclass(frozen=True)
class Bound:
    """Cycles of a multiprocessor for one sample, at least, by what limits it."""

    issue: float
    alu: float
    fma: float
    memory: float
    matrix: float

    @classmethod
    def of(cls, costs: list[PhaseCost], machine: Machine) -> Bound:
        """By the sum of all phases, as if barriers cost nothing and no lanes met in a bank."""
        alu = fma = memory = matrix = 0.0
        for kind, count in (pair for c in costs for pair in c.kinds.items()):
            if kind.opcode in MEMORY:
                memory += count * max(1.0, 32 * kind.bytes / machine.memory_bytes)
            elif kind.opcode in FMA:
                fma += count / machine.by_pipe
            elif kind.opcode == MATRIX:
                matrix += count / machine.matrix
            elif kind.opcode not in OTHER:
                alu += count / machine.by_pipe
        issue = sum(c.instructions for c in costs) / machine.issued
        return cls(issue, alu, fma, memory, matrix)

    @property
    def cycles(self) -> float:
        """Of the busiest pipe."""
        return max(self.issue, self.alu, self.fma, self.memory, self.matrix)


def cost_of(path: Path, shape: Shape = THROUGHPUT) -> tuple[DeviceProgram, list[PhaseCost]]:
    """A model's program and its phases."""
    program = generate(read_tflite(path), shape)
    return program, phase_costs(program, compile_source(program.source, ARCH).image)


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zoo", type=Path, default=os.environ.get("TINYRT_ZOO", "../shared"))
    parser.add_argument("--model", action="append", choices=MODELS)
    parser.add_argument("--phases", action="store_true", help="one line per phase, too")
    options = parser.parse_args()
    machine = Machine()
    print(
        "| model | instructions | issue | ALU | FMA | memory | matrix | images/s at most | goal |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.model or MODELS:
        _, costs = cost_of(Path(options.zoo) / "models" / f"{name}_int8.tflite")
        bound = Bound.of(costs, machine)
        for c in costs if options.phases else ():
            print(f"    {c.title:24s} {c.instructions:9,.0f} = {c.round:4d} x {c.rounds} rounds")
        most = machine.multiprocessors * machine.clock_hz / bound.cycles
        total = sum(c.instructions for c in costs)
        cycles = (bound.issue, bound.alu, bound.fma, bound.memory, bound.matrix)
        cells = [name, f"{total:,.0f}", *(f"{c:,.0f}" for c in cycles), f"{most / 1e6:.1f} M"]
        cells.append(f"{GOALS[name] / most:.0%} of it" if name in GOALS else "–")
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
