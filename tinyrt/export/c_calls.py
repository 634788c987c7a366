"""Stages whose statements differ in numbers and names alone: one case, and a table of those."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tinyrt.export import c_text

HOLE = re.compile(
    r"\b(?P<base>arena(?:_\w+)?) \+ (?P<place>\d+(?: \+ \d+\b(?! \*))*)"
    r"|(?P<no_scratch>\bNO_SCRATCH\b)"
    r"|(?P<data>\b(?:\w+_)?n\d+_\w+\b)"
    r"|(?<![\w.])(?P<number>\d+)(?![\w.])"
)
"""What may differ from stage to stage: places in the arena, weights, and numbers."""

NO_SCRATCH = "NO_SCRATCH"
"""Stands for the scratch memory of an op that needs none, until it is known who shares its call."""

PARAMS = re.compile(r"\bn\d+_params\b")
OTHER_PARAMS = re.compile(r"&n\d+_")
NODE = re.compile(r"(TINYRT_PROFILE_(?:BEGIN|END))\((\d+)\)")
COPIED = re.compile(r"(\w+_params) (some_n\d+_params) = (n\d+_params);")
SOME = "some_params"

CALL_BYTES, COPY_BYTES, ENTRY_BYTES = 10, 50, {"data": 6, "place": 3, "number": 2}
"""Of code: of a call, of a copy of parameters, and of what else it says; on a Cortex-M4."""

CASE_BYTES, LOAD_BYTES = 12, 3
"""Of code: of a case that reads the table, and of each column."""

MOST_PLACE = 65_535
"""The largest offset, or number, of 16 bits."""


@dataclass(frozen=True, slots=True)
class Hole:
    """What stands at a place where stages may differ.

    Attributes:
        kind: ``place``, ``data`` or ``number``.
        text: in C.
        value: of a number or place; 0 where there is no scratch memory.

    """

    kind: str
    text: str
    value: int = 0


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a stage.

    Attributes:
        pieces: what is around the holes: one more than there are holes.
        holes: what is in them.
        params: C name of the parameter struct.
        node: index of the op.

    """

    pieces: tuple[str, ...]
    holes: tuple[Hole, ...]
    params: str
    node: int

    @classmethod
    def of(cls, text: str) -> Body | None:
        """The statements, if all that differs from others can be in a table."""
        text = re.sub(r",\n +", ", ", "\n".join(without_comments(text)))
        params, nodes = sorted(set(PARAMS.findall(text))), {n for _, n in NODE.findall(text)}
        if len(params) != 1 or len(nodes) != 1:
            return None
        text = COPIED.sub(rf"\1 {SOME} = *(const \1 *)call->params;", text)
        text = re.sub(r"\bsome_n\d+_params\b", SOME, text)
        text = NODE.sub(r"\1(node)", text.replace(f"&{params[0]}", "call->params"))
        if OTHER_PARAMS.search(text):
            return None  # Numbers of rows that have parameters of their own.
        pieces, holes, end = [], [], 0
        for match in HOLE.finditer(text):
            pieces.append(text[end : match.start()])
            holes.append(_hole(match))
            end = match.end()
        pieces.append(text[end:])
        return cls(tuple(pieces), tuple(holes), params[0], int(nodes.pop()))

    @property
    def form(self) -> tuple[object, ...]:
        """What stages that share a case have in common."""
        return self.pieces, tuple(hole.kind for hole in self.holes)

    @property
    def nbytes(self) -> int:
        """Bytes of code, estimated."""
        copied = COPY_BYTES * any(SOME in piece for piece in self.pieces)
        return CALL_BYTES + copied + sum(ENTRY_BYTES[hole.kind] for hole in self.holes)


def _hole(match: re.Match[str]) -> Hole:
    if match["base"]:
        return Hole("place", match["base"], sum(map(int, match["place"].split(" + "))))
    if match["no_scratch"]:
        return Hole("place", NO_SCRATCH)
    if match["data"]:
        return Hole("data", match["data"])
    return Hole("number", match["number"], int(match["number"]))


def without_comments(text: str) -> Iterator[str]:
    """Lines of code: names in comments may look like any."""
    bare = re.sub(r"^ */\*.*?\*/\n?", "", text, flags=re.DOTALL | re.MULTILINE)
    return (line for line in bare.split("\n") if line.strip())


@dataclass(frozen=True, slots=True)
class Group:
    """Stages that share a case.

    Attributes:
        stages: their indices.
        bodies: their statements.
        columns: what differs: the kind, and an entry for each stage.

    """

    stages: tuple[int, ...]
    bodies: tuple[Body, ...]
    columns: dict[tuple[str, tuple[str, ...]], int] = field(init=False)

    def __post_init__(self) -> None:
        found: dict[tuple[str, tuple[str, ...]], int] = {}
        for holes in self._holes():
            if _differ(holes):
                column = holes[0].kind, _entries(holes)
                found.setdefault(column, sum(kind == column[0] for kind, _ in found))
        object.__setattr__(self, "columns", found)

    def _holes(self) -> Iterator[tuple[Hole, ...]]:
        return zip(*(body.holes for body in self.bodies), strict=True)

    @property
    def fits(self) -> bool:
        """Whether all that differs can be in a table."""
        small = all(
            hole.value <= MOST_PLACE
            for holes in self._holes()
            if holes[0].kind == "number" and _differ(holes)
            for hole in holes
        )
        bases = (
            {h.text for h in holes} - {NO_SCRATCH}
            for holes in self._holes()
            if holes[0].kind == "place"
        )
        return len(self.stages) > 1 and small and all(len(base) <= 1 for base in bases)

    @property
    def saved(self) -> int:
        """Bytes of code that are spared, without those of the table."""
        spared = (len(self.stages) - 1) * self.bodies[0].nbytes
        return spared - CASE_BYTES - LOAD_BYTES * len(self.columns)

    def count(self, kind: str) -> int:
        """How many columns of a kind there are."""
        return sum(own == kind for own, _ in self.columns)

    @property
    def template(self) -> str:
        """The statements, which read what differs from ``call``."""
        filled = [self._filled(holes) for holes in self._holes()]
        pieces = self.bodies[0].pieces
        return "".join(a + b for a, b in zip(pieces, [*filled, ""], strict=True))

    def _filled(self, holes: Sequence[Hole]) -> str:
        first = holes[0]
        base = next((hole.text for hole in holes if hole.text != NO_SCRATCH), NO_SCRATCH)
        if not _differ(holes):
            return f"{base} + {first.value}" if _is_place(first) else first.text
        column = self.columns[first.kind, _entries(holes)]
        if first.kind == "place":
            return f"{base} + call->at[{column}]"
        return f"call->{'data' if first.kind == 'data' else 'n'}[{column}]"


def _is_place(hole: Hole) -> bool:
    return hole.kind == "place" and hole.text != NO_SCRATCH


def _differ(holes: Sequence[Hole]) -> bool:
    return len(set(holes)) > 1


def _entries(holes: Sequence[Hole]) -> tuple[str, ...]:
    return tuple(h.text if h.kind == "data" else str(h.value) for h in holes)


def alike(bodies: Mapping[int, Body | None]) -> list[Group]:
    """Groups of stages that a table is worth its bytes for."""
    forms: dict[tuple[object, ...], list[int]] = {}
    known = {i: body for i, body in bodies.items() if body is not None}
    for i, body in known.items():
        forms.setdefault(body.form, []).append(i)
    groups = (Group(tuple(own), tuple(known[i] for i in own)) for own in forms.values())
    chosen = [group for group in groups if group.fits]
    while chosen:
        best = max((without for without in _each_left_out(chosen)), key=_gain)
        if _gain(best) < _gain(chosen):
            break
        chosen = best
    return chosen


def _each_left_out(groups: Sequence[Group]) -> Iterator[list[Group]]:
    return ([group for group in groups if group is not out] for out in groups)


def _gain(groups: Sequence[Group]) -> int:
    """Bytes that these groups spare, with their table."""
    most = {kind: max((g.count(kind) for g in groups), default=0) for kind in ENTRY_BYTES}
    row = 4 + 4 * most["data"] + 2 * (most["place"] + most["number"])
    return sum(g.saved - len(g.stages) * (row + row % 4) for g in groups)


def tables(name: str, groups: Sequence[Group], order: Mapping[int, int]) -> list[str]:
    """Definitions of the table of calls, and of their ops, by the order of the stages."""
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
        "place": (f"{'uint16_t' if most <= MOST_PLACE else 'uint32_t'} at", "0"),
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
