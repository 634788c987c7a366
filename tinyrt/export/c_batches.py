"""An op on as many rows as there are: its call, with what depends on their number worked out.

An op is written twice, for a batch and for one that has a row more. What differs, in parameters and
in arguments, grows by so much with every row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import VerifyError
from tinyrt.export.c_text import INDENT
from tinyrt.export.c_writer import ModelWriter

ROWS = "rows"
"""The C variable that holds how many rows there are."""

MOST_FIELDS = 16
"""Fields of a parameter struct that is copied by an assignment."""

NUMBER = re.compile(r"\d+")

Write = Callable[[int], None]
"""Has an op write its statements for so many rows."""


@dataclass(frozen=True, slots=True)
class _Written:
    statements: list[str]
    parameters: dict[str, tuple[str, Mapping[str, object]]]


def write_batch(writer: ModelWriter, write: Write, block: int) -> None:
    """Write an op for the number of rows in ``rows``, at most ``block``.

    Raises:
        VerifyError: the number of rows is in what the op writes in a way that is not linear.

    """
    found = _recorded(writer, write, block)
    more = _recorded(writer, write, block + 1, definitions=False)
    changed = {
        name: list(_changed(fields, more.parameters[name][1], block))
        for name, (_, fields) in found.parameters.items()
    }
    for name, differences in changed.items():
        if differences:
            writer.statements += _copy(name, *found.parameters[name])
        for path, value in differences:
            writer.statements.append(f"    some_{name}.{path} = {value};")
    copied = [name for name, differences in changed.items() if differences]
    for one, other in zip(found.statements, more.statements, strict=True):
        is_call = not one.lstrip().startswith("/*")
        text = INDENT + _merged(_line(one), _line(other), block) if is_call else one
        for name in copied:
            text = text.replace(f"&{name}", f"&some_{name}")
        writer.statements.append(text)


def _copy(name: str, ctype: str, fields: Mapping[str, object]) -> list[str]:
    """A copy of parameters; compilers would call memcpy for a large one."""
    if sum(1 for _ in _leaves(fields)) <= MOST_FIELDS:
        return [f"    {ctype} some_{name} = {name};"]
    end, start = f"(int8_t *)(&some_{name} + 1)", f"(int8_t *)&some_{name}"
    return [
        f"    {ctype} some_{name};",
        f"    tinyrt_copy((const int8_t *)&{name}, {end}, {start});",
    ]


def _recorded(writer: ModelWriter, write: Write, rows: int, definitions: bool = True) -> _Written:
    """What an op writes; its definitions stay with the writer, or are dropped."""
    statements, writer.statements = writer.statements, []
    parameters, writer.parameters = writer.parameters, {}
    count = len(writer.definitions)
    write(rows)
    written = _Written(writer.statements, writer.parameters)
    writer.statements, writer.parameters = statements, parameters
    if not definitions:
        del writer.definitions[count:]
    return written


def _leaves(fields: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        elif isinstance(value, list | tuple | np.ndarray):
            yield from ((f"{path}{name}[{i}]", one) for i, one in enumerate(value))
        else:
            yield path + name, value


def _changed(
    fields: Mapping[str, object], others: Mapping[str, object], block: int
) -> Iterator[tuple[str, str]]:
    """Fields that depend on the number of rows, and the C expressions for them."""
    for (path, one), (_, other) in zip(_leaves(fields), _leaves(others), strict=True):
        if one != other:
            yield path, _merged(str(one), str(other), block)


def _line(statement: str) -> str:
    return " ".join(statement.split())


def _merged(one: str, other: str, block: int) -> str:
    """Text in which numbers that differ are replaced by expressions."""

    def number(for_block: str, for_more: str) -> str:
        each = int(for_more) - int(for_block)
        rest = int(for_block) - each * block
        if not each:
            return for_block
        product = ROWS if each == 1 else f"{each} * {ROWS}"
        return product if not rest else f"{product} {'-' if rest < 0 else '+'} {abs(rest)}"

    if NUMBER.split(one) != NUMBER.split(other):
        raise VerifyError("an op's call for several rows differs in more than numbers", op=one)
    pairs = iter(zip(NUMBER.findall(one), NUMBER.findall(other), strict=True))
    return NUMBER.sub(lambda match: number(*next(pairs)), one)
