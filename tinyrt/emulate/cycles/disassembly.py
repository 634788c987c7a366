"""An image's instructions, as binutils' objdump prints them.

It is the disassembler of the release that assembled the image, so it knows all that is in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.emulate import toolchain
from tinyrt.export import Core

MODEL_SECTIONS = (".kernels", ".model_code", ".library")
"""Sections of the linker script that hold the model's code."""

ARCHITECTURES = {InstructionSet.MVE: ("-m", "armv8.1-m.main")}
"""What objdump has to be told of images whose attributes do not make it read vectors."""

_SECTION = re.compile(r"^Disassembly of section (\S+):$")
_SYMBOL = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_LINE = re.compile(r"^ *([0-9a-f]+):\t([0-9a-f ]+)\t(\S+)\t?([^@;]*)")
_IT = re.compile(r"it[te]{0,3}")
_CONDITION = re.compile(r"(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|hs|lo|al)$")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        address: of its first byte.
        size: bytes, 2 or 4.
        name: the mnemonic, without its condition and what follows a dot.
        operands: as they are printed.
        conditional: whether it stands in a block of IT, so that it may be skipped.

    """

    address: int
    size: int
    name: str
    operands: str
    conditional: bool = False

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size

    def __str__(self) -> str:
        return f"{self.name} {self.operands}".strip()


@dataclass(frozen=True, slots=True)
class Listing:
    """A linked image.

    Attributes:
        code: address -> instruction, of all code of the model.
        symbols: name -> address, of all code.

    """

    code: Mapping[int, Instruction]
    symbols: Mapping[str, int]


def read_listing(image: Path, core: Core) -> Listing:
    """What a linked image has.

    Raises:
        ToolError: the image cannot be read.

    """
    command = [f"{core.prefix}objdump", "-d", *ARCHITECTURES.get(core.isa, ()), image]
    text = toolchain.run(command, doing="reading the image")
    return parse_listing(text)


def parse_listing(text: str) -> Listing:
    """As ``read_listing``, from what objdump prints."""
    code: dict[int, Instruction] = {}
    symbols: dict[str, int] = {}
    is_model, conditional = False, 0
    for line in text.splitlines():
        if section := _SECTION.match(line):
            is_model = section[1] in MODEL_SECTIONS
        elif symbol := _SYMBOL.match(line):
            symbols[symbol[2]] = int(symbol[1], 16)
        elif is_model and (match := _LINE.match(line)) and not match[3].startswith("."):
            instruction = _instruction(match, conditional > 0)
            code[instruction.address] = instruction
            name = instruction.name
            conditional = len(name) - 1 if _IT.fullmatch(name) else max(conditional - 1, 0)
    return Listing(code, symbols)


def _instruction(match: re.Match[str], conditional: bool) -> Instruction:
    name = match[3].split(".")[0]
    return Instruction(
        address=int(match[1], 16),
        size=len(match[2].replace(" ", "")) // 2,
        name=_CONDITION.sub("", name) if conditional else name,
        operands=match[4].split("<")[0].strip(),
        conditional=conditional,
    )
