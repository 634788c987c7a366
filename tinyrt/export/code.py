"""C code as records: statements consist of tokens, which become text last.

The exporter compares statements of different ops, or of one op on more and on fewer rows, token by
token. Tokens that differ move to a table, or become expressions in the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tinyrt.export import text as c_text
from tinyrt.export.text import INDENT


@dataclass(frozen=True, slots=True)
class Int:
    """An integer literal."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class At:
    """A place in memory: byte offsets from a variable that points to the memory's start."""

    base: str
    offsets: tuple[int, ...]

    def __str__(self) -> str:
        return " + ".join([self.base, *(str(offset) for offset in self.offsets if offset)])


NO_SCRATCH = At("NULL", ())
"""Stands for the scratch memory of an op that needs none."""


@dataclass(frozen=True, slots=True)
class Name:
    """The name of constant data."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Port:
    """The variable that points to a model input or output."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Variable:
    """Another variable of the code."""

    name: str

    def __str__(self) -> str:
        return self.name


ROWS = Variable("rows")
"""The number of rows of a batch."""

ROUND, TURN = Variable("rounds_done"), Variable("turns_done")
"""How many rounds and turns of a slice are done. (``round`` is a function of C.)"""

FIRST = Variable("first")
"""The index of the first row that a batch has."""


@dataclass(frozen=True, slots=True)
class NodeNumber:
    """The index of an op."""

    index: int

    def __str__(self) -> str:
        return str(self.index)


@dataclass(frozen=True, slots=True)
class Struct:
    """A parameter struct, or a pointer to it.

    Attributes:
        name: of the constant.
        ctype: its type.
        pointer: whether its address is meant.
        copied: whether this is the copy whose fields depend on the number of rows.
        own: whether the struct serves every number of rows, rather than one of them.

    """

    name: str
    ctype: str
    pointer: bool = True
    copied: bool = False
    own: bool = True

    def __str__(self) -> str:
        return f"{'&' * self.pointer}{'some_' * self.copied}{self.name}"


Token = str | Int | At | Name | Port | Variable | NodeNumber | Struct
Tokens = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment after an empty line."""

    title: str
    text: str

    def tokens(self) -> Tokens:
        """None that are code."""
        return ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of code."""

    body: Tokens

    def tokens(self) -> Tokens:
        """All of the line."""
        return self.body


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call.

    Attributes:
        function: its name.
        args: tokens of each argument.

    """

    function: str
    args: tuple[Tokens, ...]

    def tokens(self) -> Tokens:
        """All of the call, on one line."""
        between = [token for arg in self.args for token in (", ", *arg)][1:]
        return f"{self.function}(", *between, ");"


@dataclass(frozen=True, slots=True)
class Nested:
    """Statements of a branch: one level further to the right, none behind an empty line."""

    statements: tuple[Statement, ...]

    def tokens(self) -> Tokens:
        """All of the branch."""
        return tuple(tokens_of(self.statements))


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over the stages of a segment.

    Attributes:
        text: all of it, in C.
        code: the statements of its cases.

    """

    text: str
    code: tuple[Statement, ...]

    def tokens(self) -> Tokens:
        """All of the cases."""
        return tuple(tokens_of(self.code))


@dataclass(frozen=True, slots=True)
class Declaration:
    """A definition within a function.

    Attributes:
        text: all of it, in C, not indented.

    """

    text: str

    def tokens(self) -> Tokens:
        """None that concern tensors."""
        return ()


Statement = Comment | Line | CallLine | Nested | Loop | Declaration


def line(*tokens: Token) -> Line:
    """A line of these tokens."""
    return Line(tokens)


def linear(each: int, rest: int) -> Tokens:
    """``each * rows + rest``."""
    if not each:
        return (Int(rest),)
    return Int(each), " * ", ROWS, " - " if rest < 0 else " + ", Int(abs(rest))


def plus(place: Tokens, offset: int) -> Tokens:
    """A place plus an offset in elements; an offset of 0 is not written."""
    if not offset:
        return place
    *others, last = place
    if isinstance(last, At) and last.offsets:
        return *others, At(last.base, (*last.offsets, offset))
    return *place, " + ", Int(offset)


def advanced(each: tuple[int, int]) -> list[Tokens]:
    """Products of round and turn with these numbers, where they are not 0."""
    return [(Int(n), " * ", v) for n, v in zip(each, (ROUND, TURN), strict=True) if n]


def advancing(place: Tokens, each: tuple[int, int]) -> Tokens:
    """A place plus so many elements for each round and turn."""
    return (*place, *(token for more in advanced(each) for token in (" + ", *more)))


def text_of(tokens: Iterable[Token]) -> str:
    """The tokens in C."""
    return "".join(map(str, tokens))


def simplified(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without factors of 1 and additions of 0 beside the number of rows."""
    result: list[Token] = []
    for token in tokens:
        result.append(token)
        times_one = token == ROWS and result[-3:-1] == [Int(1), " * "]
        if times_one or result[-3:] == [ROWS, " + ", Int(0)]:
            result[-3:] = [ROWS]
    return result


def rendered(statements: Iterable[Statement], levels: int = 0) -> list[str]:
    """Lines of C, indented by ``levels`` more than a function's body."""
    return [c_text.indented(_text(statement), levels) for statement in statements]


def _text(statement: Statement) -> str:
    if isinstance(statement, Comment):
        return c_text.block_comment(statement.title, statement.text)
    if isinstance(statement, CallLine):
        return c_text.call(statement.function, [text_of(simplified(a)) for a in statement.args])
    if isinstance(statement, Loop):
        return statement.text
    if isinstance(statement, Declaration):
        return c_text.indented(statement.text, 1)
    if isinstance(statement, Nested):
        inner = (text.lstrip("\n") for text in rendered(statement.statements))
        return "\n".join(c_text.indented(text, 1) for text in inner)
    return INDENT + text_of(simplified(statement.tokens()))


def tokens_of(statements: Iterable[Statement]) -> Iterator[Token]:
    """All tokens of code."""
    return (token for statement in statements for token in statement.tokens())
