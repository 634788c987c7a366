"""An op on as many rows as there are: its call, with what depends on their number worked out.

An op is written for every number of rows that occurs. What differs, in parameters and in arguments,
mostly grows by so much with every row; a number for which it does not has a call of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.export.c_text import INDENT, indented
from tinyrt.export.c_writer import ModelWriter

ROWS = "rows"
"""The C variable that holds how many rows there are."""

MOST_FIELDS = 16
"""Fields of a parameter struct that is copied by an assignment."""

NUMBER = re.compile(r"-?\b\d+\b")

Write = Callable[[ModelWriter, int], None]
"""Has an op write its statements for so many rows."""


def write_batch(writer: ModelWriter, write: Write, counts: Sequence[int]) -> None:
    """Write an op for the number of rows in ``rows``, one of ``counts``, from few to many."""
    written = [_Written.of(writer, write, n) for n in counts]
    last = written[-1]
    lines = [_Line(last, other) for other in written[:-1]] or [_Line(last, last)]
    line = max(lines, key=lambda found: sum(map(found.meets, written)))
    others = [w for w in written if not line.meets(w)]
    with writer.variant("") as statements:
        write(writer, last.rows)
    found = [*_copies(line), *_merged_statements(line, statements)]
    for i, other in enumerate(others):
        writer.statements.append(f"    {'} else ' * (i > 0)}if ({ROWS} == {other.rows}) {{")
        with writer.variant(f"_of_{other.rows}") as statements:
            write(writer, other.rows)
        writer.statements += _inner(statements)
    writer.statements += ["    } else {", *_inner(found), "    }"] if others else found


def simplified(text: str) -> str:
    """Statements without factors of 1 and additions of 0, which make batches alike."""
    return re.sub(rf"\b{ROWS} \+ 0\b", ROWS, re.sub(rf"(?<!\w)1 \* {ROWS}\b", ROWS, text))


def _inner(statements: Sequence[str]) -> list[str]:
    return [indented(statement.lstrip("\n"), 1) for statement in statements]


@dataclass(frozen=True, slots=True)
class _Written:
    """What an op writes for so many rows.

    Attributes:
        rows: how many.
        statements: comments and calls.
        parameters: C type and fields of each parameter struct, by its name.
        rest: other definitions, and weights.

    """

    rows: int
    statements: list[str]
    parameters: Mapping[str, tuple[str, Mapping[str, object]]]
    rest: Mapping[str, bytes]

    @classmethod
    def of(cls, writer: ModelWriter, write: Write, rows: int) -> _Written:
        trial = writer.trial()
        write(trial, rows)
        weights = {name: np.asarray(v.data).tobytes() for name, v in trial.weights.items()}
        rest = {name: text.encode() for name, text in trial.arrays.items()} | weights
        return cls(rows, trial.statements, trial.parameters, rest)

    def texts(self) -> dict[str, str]:
        """Everything that may depend on the number of rows, by where it is."""
        calls = (_line_of(s) for s in self.statements if not _is_comment(s))
        found = {f"statement {i}": call for i, call in enumerate(calls)}
        for name, (_, fields) in self.parameters.items():
            found |= {f"{name}.{path}": str(value) for path, value in _leaves(fields)}
        return found


@dataclass(frozen=True, slots=True)
class _Line:
    """The numbers that an op writes, as a line through those for two numbers of rows."""

    one: _Written
    other: _Written

    def each(self, one: int, other: int) -> float:
        """What a number grows by with every row."""
        return (one - other) / max(self.one.rows - self.other.rows, 1)

    def meets(self, written: _Written) -> bool:
        """Whether the line gives what was written for another number of rows."""
        texts = [w.texts() for w in (self.one, self.other, written)]
        if any(w.rest != self.one.rest for w in (self.other, written)):
            return False
        if any(text.keys() != texts[0].keys() for text in texts):
            return False
        places = [[text[where] for text in texts] for where in texts[0]]
        return all(self._text_meets(place, written.rows) for place in places)

    def _text_meets(self, texts: Sequence[str], rows: int) -> bool:
        words = [NUMBER.split(text) for text in texts]
        numbers = zip(*(map(int, NUMBER.findall(text)) for text in texts), strict=True)
        return words[0] == words[1] == words[2] and all(
            self.each(a, b).is_integer() and c == a + self.each(a, b) * (rows - self.one.rows)
            for a, b, c in numbers
        )

    def merged(self, one: str, other: str) -> str:
        """Text in which numbers that differ are replaced by expressions."""
        pairs = iter(zip(NUMBER.findall(one), NUMBER.findall(other), strict=True))
        return NUMBER.sub(lambda _: self._expression(*map(int, next(pairs))), one)

    def _expression(self, one: int, other: int) -> str:
        each = int(self.each(one, other))
        rest = one - each * self.one.rows
        if not each:
            return str(one)
        return f"{each} * {ROWS} {'-' if rest < 0 else '+'} {abs(rest)}"

    def changed(self, name: str) -> list[tuple[str, str]]:
        """Fields of a parameter struct that depend on the number of rows, with expressions."""
        (_, fields), (_, others) = self.one.parameters[name], self.other.parameters[name]
        pairs = zip(_leaves(fields), _leaves(others), strict=True)
        return [(path, self.merged(str(a), str(b))) for (path, a), (_, b) in pairs if a != b]


def _copies(line: _Line) -> list[str]:
    """Copies of the parameters that depend on the number of rows."""
    statements: list[str] = []
    for name, (ctype, fields) in line.one.parameters.items():
        changed = line.changed(name)
        if changed:
            statements += _copy(name, ctype, fields)
        statements += [f"    some_{name}.{path} = {value};" for path, value in changed]
    return statements


def _merged_statements(line: _Line, statements: Sequence[str]) -> list[str]:
    """The statements for the most rows, with what depends on their number."""
    copied = [name for name in line.one.parameters if line.changed(name)]
    others = iter([_line_of(s) for s in line.other.statements if not _is_comment(s)])
    found = []
    for one in statements:
        text = one if _is_comment(one) else INDENT + line.merged(_line_of(one), next(others))
        for name in copied:
            text = text.replace(f"&{name}", f"&some_{name}")
        found.append(text)
    return found


def _copy(name: str, ctype: str, fields: Mapping[str, object]) -> list[str]:
    """A copy of parameters; compilers would call memcpy for a large one, or memset for arrays."""
    leaves = [path for path, _ in _leaves(fields)]
    if len(leaves) <= MOST_FIELDS and not any(path.endswith("]") for path in leaves):
        return [f"    {ctype} some_{name} = {name};"]
    end, start = f"(int8_t *)(&some_{name} + 1)", f"(int8_t *)&some_{name}"
    return [
        f"    {ctype} some_{name};",
        f"    tinyrt_copy((const int8_t *)&{name}, {end}, {start});",
    ]


def _is_comment(statement: str) -> bool:
    return statement.lstrip().startswith("/*")


def _line_of(statement: str) -> str:
    return " ".join(statement.split())


def _leaves(fields: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        elif isinstance(value, list | tuple | np.ndarray):
            yield from ((f"{path}{name}[{i}]", one) for i, one in enumerate(value))
        else:
            yield path + name, value
