"""An op on a variable number of rows: one call whose parameters and arguments depend on it.

An op is written once for every number of rows that occurs, and the results are compared. Parameters
and arguments that differ mostly grow by a constant with every row. A number of rows that does not
fit this line gets a call of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from tinyrt.backends.c.kernel import Data, Params
from tinyrt.export.code import (
    ROWS,
    At,
    CallLine,
    Comment,
    Int,
    Line,
    Nested,
    Statement,
    Struct,
    Token,
    Tokens,
    line,
    linear,
)
from tinyrt.export.copies import copied, field_path, leaves
from tinyrt.export.writer import ModelWriter

Write = Callable[[ModelWriter, int], None]
"""Writes an op's statements for this number of rows."""


def write_batch(writer: ModelWriter, write: Write, counts: Sequence[int]) -> None:
    """Write an op for the number of rows in ``rows``, one of ``counts``, from few to many."""
    written = [_Written.of(writer, write, n) for n in counts]
    last, fit = written[-1], _fit_of(written)
    others = [w for w in written if not fit.meets(w)]
    with writer.variant("") as statements:
        write(writer, last.rows)
    merged = [*_copies(fit), *_merged_statements(fit, statements)]
    for i, other in enumerate(others):
        writer.statements.append(
            line("} else " * (i > 0), "if (", ROWS, " == ", Int(other.rows), ") {")
        )
        with writer.variant(f"_of_{other.rows}") as statements:
            write(writer, other.rows)
        writer.statements.append(Nested(tuple(statements)))
    if others:
        writer.statements += [line("} else {"), Nested(tuple(merged)), line("}")]
    else:
        writer.statements += merged


@dataclass(frozen=True, slots=True)
class _Written:
    """The output of an op for one number of rows.

    Attributes:
        rows: number of rows.
        code: lines and calls.
        parameters: each parameter struct, by its name.
        data: tables and weights, by their names.

    """

    rows: int
    code: tuple[Line | CallLine, ...]
    parameters: Mapping[str, Params]
    data: Mapping[str, Data]

    @classmethod
    def of(cls, writer: ModelWriter, write: Write, rows: int) -> _Written:
        trial = writer.trial()
        write(trial, rows)
        code = tuple(s for s in trial.statements if isinstance(s, Line | CallLine))
        return cls(rows, code, trial.parameters, trial.tables | trial.weights)

    def parts(self) -> dict[tuple[str, str], Sequence[object]]:
        """Everything that may depend on the number of rows, by its place in code or parameters."""
        parts: dict[tuple[str, str], Sequence[object]] = {
            ("code", str(i)): list(_atoms(statement.tokens()))
            for i, statement in enumerate(self.code)
        }
        for name, params in self.parameters.items():
            parts |= {(name, path): [value] for path, value in leaves(params.fields)}
        return parts

    def has_data_of(self, other: _Written) -> bool:
        """Whether both have the same tables and weights."""
        if self.data.keys() != other.data.keys():
            return False
        return all(data.is_same(other.data[name]) for name, data in self.data.items())


def _atoms(tokens: Tokens) -> Iterator[object]:
    """The tokens as values to compare: integers that may depend on the number of rows as ints."""
    for token in tokens:
        if isinstance(token, At):
            yield token.base
            yield from token.offsets
        else:
            yield token.value if isinstance(token, Int) else token


@dataclass(frozen=True, slots=True)
class _Fit:
    """A linear model of the numbers that an op writes, from its output for two numbers of rows."""

    one: _Written
    other: _Written

    def each(self, one: int, other: int) -> float:
        """The growth of a number per row."""
        return (one - other) / max(self.one.rows - self.other.rows, 1)

    def meets(self, written: _Written) -> bool:
        """Whether the model predicts the output for another number of rows."""
        if not (self.other.has_data_of(self.one) and written.has_data_of(self.one)):
            return False
        one, other, third = (w.parts() for w in (self.one, self.other, written))
        if not one.keys() == other.keys() == third.keys():
            return False
        return all(self._all_meet(one[k], other[k], third[k], written.rows) for k in one)

    def _all_meet(
        self, one: Sequence[object], other: Sequence[object], third: Sequence[object], rows: int
    ) -> bool:
        if not len(one) == len(other) == len(third):
            return False
        return all(self._meet(*values, rows) for values in zip(one, other, third, strict=True))

    def _meet(self, one: object, other: object, third: object, rows: int) -> bool:
        if not (is_int(one) and is_int(other) and is_int(third)):
            return bool(one == other == third)
        each = self.each(one, other)
        return each.is_integer() and third == one + each * (rows - self.one.rows)

    def number(self, one: int, other: int) -> Tokens:
        """A literal number, or an expression in ``rows`` where it depends on the number of rows."""
        each = int(self.each(one, other))
        return linear(each, one - each * self.one.rows)

    def merged(self, one: Tokens, other: Tokens) -> Tokens:
        """The tokens, with each number that differs replaced by an expression in ``rows``."""
        return tuple(token for a, b in zip(one, other, strict=True) for token in self._merged(a, b))

    def _merged(self, a: Token, b: Token) -> Tokens:
        if isinstance(a, Int) and isinstance(b, Int):
            return self.number(a.value, b.value)
        if isinstance(a, At) and isinstance(b, At) and a != b:
            same = [x == y for x, y in zip(a.offsets, b.offsets, strict=True)]
            first = same.index(False)
            place: Tokens = (At(a.base, a.offsets[:first]),)
            for x, y in list(zip(a.offsets, b.offsets, strict=True))[first:]:
                place = *place, " + ", *self.number(x, y)
            return place
        return (a,)

    def changed(self, name: str) -> list[tuple[str, Tokens]]:
        """Fields of a parameter struct that depend on the number of rows: path and expression."""
        one, other = self.one.parameters[name], self.other.parameters[name]
        pairs = zip(leaves(one.fields), leaves(other.fields), strict=True)
        return [
            (path, self.number(a, b))
            for (path, a), (_, b) in pairs
            if a != b and is_int(a) and is_int(b)
        ]


def _fit_of(written: Sequence[_Written]) -> _Fit:
    """What meets the most numbers of rows, the last one among them.

    Where each number of rows has another kernel, no line goes through two.
    """
    lines = [_Fit(written[-1], other) for other in written]
    return max(lines, key=lambda fit: sum(map(fit.meets, written)))


def is_int(value: object) -> TypeGuard[int]:
    """Whether ``value`` is an integer of Python or NumPy, and not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _copies(fit: _Fit) -> list[Statement]:
    """Copies of the parameters that depend on the number of rows."""
    statements: list[Statement] = []
    for name, params in fit.one.parameters.items():
        changed = fit.changed(name)
        if changed:
            statements += copied(Struct(name, params.ctype, pointer=False), params)
        target = Struct(name, params.ctype, pointer=False, copied=True)
        statements += [
            line(target, *field_path(path), " = ", *value, ";") for path, value in changed
        ]
    return statements


def _merged_statements(fit: _Fit, statements: Sequence[Statement]) -> list[Statement]:
    """The statements for the most rows, with expressions in ``rows`` where numbers differ."""
    changed = {name for name in fit.one.parameters if fit.changed(name)}
    others = iter(fit.other.code)
    merged: list[Statement] = []
    for one in statements:
        if isinstance(one, Comment | Nested):
            merged.append(one)
            continue
        tokens = fit.merged(one.tokens(), next(others).tokens())
        merged.append(Line(tuple(_as_copied(token, changed) for token in tokens)))
    return merged


def _as_copied(token: Token, copied: set[str]) -> Token:
    if isinstance(token, Struct) and token.name in copied:
        return replace(token, copied=True)
    return token
