"""Stages whose statements differ only in numbers and names: one case, and a table of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from tinyrt.export import text as c_text
from tinyrt.export.code import (
    NO_SCRATCH,
    At,
    Comment,
    Int,
    Name,
    Nested,
    NodeNumber,
    Statement,
    Struct,
    Token,
    Tokens,
    Variable,
    simplified,
    text_of,
)
from tinyrt.export.text import INDENT

CALL_BYTES, COPY_BYTES, ENTRY_BYTES = 10, 50, {"data": 6, "place": 3, "number": 2}
"""Bytes of code on a Cortex-M4: of a call, of a copy of parameters, and of each kind of hole."""

CASE_BYTES, LOAD_BYTES = 12, 3
"""Bytes of code: of a case that reads the table, and of each column."""

MAX_PLACE = 65_535
"""The largest offset, or number, of 16 bits."""

NODE = Variable("node")
"""Stands for the index of a case's op, which the case reads from the table."""

ARENA = "arena"
"""Prefix of the variables that point to a region's start."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A token at which stages may differ.

    Attributes:
        kind: ``place``, ``data`` or ``number``.
        text: the token in C; for a place, the variable that its offset counts from.
        value: the number, or the offset of a place; 0 where there is no scratch memory.

    """

    kind: str
    text: str
    value: int = 0

    @property
    def token(self) -> Token:
        """The hole as a token, for a column in which all stages agree."""
        if self.kind == "number":
            return Int(self.value)
        is_place = self.kind == "place" and not self.is_scratch_of_nobody
        return At(self.text, (self.value,)) if is_place else self.text

    @property
    def is_scratch_of_nobody(self) -> bool:
        """Whether the hole stands for the scratch memory of an op that needs none."""
        return self.kind == "place" and self.text == NO_SCRATCH.base


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a stage.

    Attributes:
        pieces: text around the holes, as in a case for several stages: one piece more than there
            are holes.
        holes: the tokens at which stages may differ.
        params: C name of the parameter struct.
        node: index of the op.
        copied: whether parameters are copied.

    """

    pieces: tuple[Tokens, ...]
    holes: tuple[Hole, ...]
    params: str
    node: int
    copied: bool = False

    @classmethod
    def of(cls, statements: Sequence[Statement]) -> Body | None:
        """The statements as a body; None where a table cannot hold all the differences."""
        if any(isinstance(statement, Nested) for statement in statements):
            return None  # Some numbers of rows have parameters of their own.
        tokens = list(_in_lines(statements))
        structs = [token for token in tokens if isinstance(token, Struct)]
        names = {struct.name for struct in structs if struct.own}
        nodes = {token.index for token in tokens if isinstance(token, NodeNumber)}
        if len(names) != 1 or len(nodes) != 1 or not all(struct.own for struct in structs):
            return None
        pieces: list[Tokens] = [()]
        holes: list[Hole] = []
        for token in tokens:
            for part in _parts(token):
                if isinstance(part, Hole):
                    holes.append(part)
                    pieces.append(())
                else:
                    pieces[-1] += (part,)
        copied = any(struct.copied for struct in structs)
        return cls(tuple(pieces), tuple(holes), names.pop(), nodes.pop(), copied)

    @property
    def form(self) -> tuple[object, ...]:
        """The key of bodies that may share a case: equal for all of them."""
        return self.pieces, tuple(hole.kind for hole in self.holes)

    @property
    def nbytes(self) -> int:
        """Bytes of code, estimated."""
        entries = sum(ENTRY_BYTES[hole.kind] for hole in self.holes)
        return CALL_BYTES + COPY_BYTES * self.copied + entries


def _in_lines(statements: Sequence[Statement]) -> Iterator[Token]:
    """The tokens of all code, with line ends and indentation."""
    end = ""
    for statement in statements:
        if not isinstance(statement, Comment):
            yield f"{end}{INDENT}"
            yield from statement.tokens()
            end = "\n"


def _parts(token: Token) -> Iterator[Token | Hole]:
    """A token split into text that all stages share and holes that may differ."""
    if isinstance(token, At) and (token == NO_SCRATCH or token.base.startswith(ARENA)):
        yield Hole("place", token.base, sum(token.offsets))
    elif isinstance(token, At):
        yield token.base
        for offset in token.offsets:
            yield " + "
            yield Hole("number", str(offset), offset)
    elif isinstance(token, Int):
        if token.value < 0:
            yield "-"
        yield Hole("number", str(abs(token.value)), abs(token.value))
    elif isinstance(token, Name):
        yield Hole("data", token.name)
    elif isinstance(token, NodeNumber):
        yield NODE
    elif isinstance(token, Struct):
        yield _shared(token)
    else:
        yield token


def _shared(struct: Struct) -> str:
    """The text of a parameter struct in a case for several stages."""
    if struct.copied:
        return f"{'&' * struct.pointer}some_params"
    return "call->params" if struct.pointer else f"*(const {struct.ctype} *)call->params"


@dataclass(frozen=True, slots=True)
class Group:
    """Stages that share a case.

    Attributes:
        stages: their indices.
        bodies: their statements.
        columns: the holes that differ: the kind, and an entry for each stage.

    """

    stages: tuple[int, ...]
    bodies: tuple[Body, ...]
    columns: dict[tuple[str, tuple[str, ...]], int] = field(init=False)

    def __post_init__(self) -> None:
        columns: dict[tuple[str, tuple[str, ...]], int] = {}
        for holes in self._holes():
            if _differ(holes):
                column = holes[0].kind, _entries(holes)
                columns.setdefault(column, sum(kind == column[0] for kind, _ in columns))
        object.__setattr__(self, "columns", columns)

    def _holes(self) -> Iterator[tuple[Hole, ...]]:
        return zip(*(body.holes for body in self.bodies), strict=True)

    @property
    def fits(self) -> bool:
        """Whether a table can hold all the columns."""
        small = all(
            hole.value <= MAX_PLACE
            for holes in self._holes()
            if holes[0].kind == "number" and _differ(holes)
            for hole in holes
        )
        bases = (
            {hole.text for hole in holes if not hole.is_scratch_of_nobody}
            for holes in self._holes()
            if holes[0].kind == "place"
        )
        return len(self.stages) > 1 and small and all(len(base) <= 1 for base in bases)

    @property
    def saved(self) -> int:
        """Bytes of code saved, before the bytes of the table."""
        spared = (len(self.stages) - 1) * self.bodies[0].nbytes
        return spared - CASE_BYTES - LOAD_BYTES * len(self.columns)

    def count(self, kind: str) -> int:
        """How many columns of a kind there are."""
        return sum(own == kind for own, _ in self.columns)

    def code(self, node: str) -> str:
        """The statements; they read columns from ``call`` and their op's index from ``node``."""
        tokens: list[Token] = []
        for piece, holes in zip_longest(self.bodies[0].pieces, self._holes()):
            tokens += [Variable(node) if token == NODE else token for token in piece]
            if holes is not None:
                tokens.append(self._filled(holes))
        return text_of(simplified(tokens))

    def _filled(self, holes: Sequence[Hole]) -> Token:
        first = holes[0]
        base = next((h.text for h in holes if not h.is_scratch_of_nobody), NO_SCRATCH.base)
        if not _differ(holes):
            return first.token
        column = self.columns[first.kind, _entries(holes)]
        if first.kind == "place":
            return f"{base} + call->at[{column}]"
        return f"call->{'data' if first.kind == 'data' else 'n'}[{column}]"


def _differ(holes: Sequence[Hole]) -> bool:
    return len(set(holes)) > 1


def _entries(holes: Sequence[Hole]) -> tuple[str, ...]:
    return tuple(h.text if h.kind == "data" else str(h.value) for h in holes)


def alike(bodies: Mapping[int, Body | None]) -> list[Group]:
    """Groups of stages that save more bytes than their table takes."""
    forms: dict[tuple[object, ...], list[int]] = {}
    shareable = {i: body for i, body in bodies.items() if body is not None}
    for i, body in shareable.items():
        forms.setdefault(body.form, []).append(i)
    groups = (Group(tuple(own), tuple(shareable[i] for i in own)) for own in forms.values())
    chosen = [group for group in groups if group.fits]
    while chosen:
        best = max((without for without in _without_each(chosen)), key=_gain)
        if _gain(best) < _gain(chosen):
            break
        chosen = best
    return chosen


def _without_each(groups: Sequence[Group]) -> Iterator[list[Group]]:
    return ([group for group in groups if group is not out] for out in groups)


def _gain(groups: Sequence[Group]) -> int:
    """Bytes that these groups save, less the bytes of their table."""
    most = {kind: max((g.count(kind) for g in groups), default=0) for kind in ENTRY_BYTES}
    row = 4 + 4 * most["data"] + 2 * (most["place"] + most["number"])
    return sum(g.saved - len(g.stages) * (row + row % 4) for g in groups)


def tables(name: str, groups: Sequence[Group], order: Mapping[int, int]) -> list[str]:
    """Definitions of the tables of calls and of their ops, in the order of the stages."""
    rows: dict[int, tuple[Body, dict[str, list[str]]]] = {}
    for group in groups:
        for i, (stage, body) in enumerate(zip(group.stages, group.bodies, strict=True)):
            own: dict[str, list[str]] = {"data": [], "place": [], "number": []}
            for kind, entries in group.columns:
                own[kind].append(entries[i])
            rows[stage] = body, own
    in_order = [rows[stage] for stage in sorted(rows, key=order.__getitem__)]
    counts = {kind: max(len(own[kind]) for _, own in in_order) for kind in in_order[0][1]}
    most = max((int(n) for _, own in in_order for n in own["place"]), default=0)
    types = {
        "data": ("const void *data", "NULL"),
        "place": (f"{'uint16_t' if most <= MAX_PLACE else 'uint32_t'} at", "0"),
        "number": ("uint16_t n", "0"),
    }
    fields = "".join(f"    {types[kind][0]}[{n}];\n" for kind, n in counts.items() if n)
    lines = [
        f"{{{', '.join([f'&{body.params}', *_filled_up(own, counts, types)])}}}"
        for body, own in in_order
    ]
    return [
        f"static const struct {name}_call {{\n    const void *params;\n{fields}}} "
        f"{name}_calls[{len(lines)}] = {{\n{c_text.wrap(lines)}\n}};",
        f"static const uint8_t {name}_nodes[{len(lines)}] = {{\n"
        f"{c_text.wrap(str(body.node) for body, _ in in_order)}\n}};",
    ]


def _filled_up(
    own: Mapping[str, Sequence[str]],
    counts: Mapping[str, int],
    types: Mapping[str, tuple[str, str]],
) -> Iterator[str]:
    for kind, count in counts.items():
        if count:
            entries = [*own[kind], *[types[kind][1]] * (count - len(own[kind]))]
            yield f"{{{', '.join(entries)}}}"
