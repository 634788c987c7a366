"""What a library of kernels has in it and what it calls, read off its objects.

This says of the code itself, whatever program it is linked into: no variable that is written, no
call but of its own functions and of the few below, and floating point in float kernels alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tinyrt.emulate import toolchain
from tinyrt.export import Core

ALLOWED = re.compile(
    r"mem(cpy|set|move)"
    r"|__aeabi_(u?i|ul|l)div(mod)?|__aeabi_(lmul|llsl|llsr|lasr|idiv0|ldiv0|uidivmod|idivmod)"
    r"|__aeabi_mem(cpy|set|move|clr)[48]?"
    r"|__(u?div|u?mod|mul|ashl|ashr|lshr)di3|__clz[sd]i2|__gnu_thumb1_case_\w+"
)
"""Functions of the C library and of the compiler's that code without floats may call."""

FLOAT_NAMES = re.compile(r"_f32|tinyrt_cast|tinyrt_resize_legacy_s8")
"""Objects that may compute with floats: their op has tensors of floats, or, in the last one, is
defined by what another runtime computes in floats."""

FLOAT_INSTRUCTION = re.compile(r"\t(?!vmov\.f32\ts\d+, #)(v\w+\.f(?:16|32|64)|f\w+\.[sd])\b")
"""What computes with floats; a constant may be handed to a kernel that does."""

_OBJECT = re.compile(r"^(\S+\.o(?:bj)?):")


def problems_of_library(library: Path, core: Core) -> list[str]:
    """What is in the library's objects that should not be; empty if all is well."""
    listing = toolchain.run([f"{core.prefix}nm", library], doing="reading symbols")
    defined: set[str] = set()
    missing: list[tuple[str, str]] = []
    problems = []
    for name, kind, symbol in _symbols(listing):
        if kind == "U":
            missing.append((name, symbol))
        else:
            defined.add(symbol)
        if kind in "bBdDcCsSgG":
            problems.append(f"{name}: {symbol} is a variable that is written")
    for name, symbol in missing:
        is_own = symbol in defined or ALLOWED.fullmatch(symbol)
        if not is_own and not FLOAT_NAMES.search(name) and not _is_model(name):
            problems.append(f"{name}: calls {symbol}")
    return problems + [f"{name}: {code}" for name, code in _float_code(library, core)]


def _symbols(listing: str) -> Iterator[tuple[str, str, str]]:
    """Object, kind and name of each symbol."""
    name = ""
    for line in listing.splitlines():
        if header := _OBJECT.match(line):
            name = header[1]
        elif line.strip():
            *_, kind, symbol = line.split()
            yield name, kind, symbol


def _is_model(name: str) -> bool:
    """The model's own object, which calls the kernels of float ops if it has any."""
    return not name.startswith("tinyrt_")


def _float_code(library: Path, core: Core) -> Iterator[tuple[str, str]]:
    """The first instruction on floats of each object that should have none."""
    text = toolchain.run([f"{core.prefix}objdump", "-d", library], doing="reading the library")
    name, told = "", set()
    for line in text.splitlines():
        if header := _OBJECT.match(line):
            name = header[1]
        elif name in told or FLOAT_NAMES.search(name):
            continue
        elif code := FLOAT_INSTRUCTION.search(line):
            told.add(name)
            yield name, code[1]
