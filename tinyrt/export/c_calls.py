"""Stages whose statements differ in places and parameters alone: one case, and a table of those."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinyrt.export import c_text

PLACE = re.compile(r"\barena \+ (\d+)((?: \+ \d+\b(?! \*))*)")
PARAMS = re.compile(r"\bn\d+_params\b")
NODE = re.compile(r"(TINYRT_PROFILE_(?:BEGIN|END))\((\d+)\)")
COPIED = re.compile(r"(\w+_params) (some_n\d+_params) = (n\d+_params);")

FEWEST = 3
"""Stages from which on a table takes less than their own statements."""

MOST_PLACE = 65_535
"""The largest offset of 16 bits."""


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a stage.

    Attributes:
        template: with names instead of what other stages have otherwise.
        params: C name of the parameter struct.
        places: offsets in the arena, in the order in which they are named.
        node: index of the op.

    """

    template: str
    params: str
    places: tuple[int, ...]
    node: int

    @classmethod
    def of(cls, text: str) -> Body | None:
        """The statements, if all that differs from others can be in a table."""
        text = "\n".join(line for line in _without_comments(text))
        params, nodes = sorted(set(PARAMS.findall(text))), {n for _, n in NODE.findall(text)}
        if len(params) != 1 or len(nodes) != 1:
            return None
        places: list[int] = []

        def place(match: re.Match[str]) -> str:
            offset = sum(int(n) for n in re.findall(r"\d+", match.group(0)))
            if offset not in places:
                places.append(offset)
            return f"arena + call->at[{places.index(offset)}]"

        text = COPIED.sub(r"\1 some_params = *(const \1 *)call->params;", text)
        text = re.sub(r"\bsome_n\d+_params\b", "some_params", text)
        text = text.replace(f"&{params[0]}", "call->params")
        text = NODE.sub(r"\1(node)", PLACE.sub(place, text))
        return cls(text, params[0], tuple(places), int(nodes.pop()))


def _without_comments(text: str) -> list[str]:
    bare = re.sub(r"^ */\*.*?\*/\n?", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for line in bare.split("\n") if line.strip()]


def alike(bodies: Mapping[int, Body | None]) -> list[list[int]]:
    """Groups of stages that a table is worth its bytes for."""
    groups: dict[str, list[int]] = {}
    for i, body in bodies.items():
        if body is not None:
            groups.setdefault(body.template, []).append(i)
    return [group for group in groups.values() if len(group) >= FEWEST]


def tables(name: str, bodies: Sequence[Body]) -> list[str]:
    """Definitions of the table of calls, in the order of their stages, and of their ops."""
    count = max(len(body.places) for body in bodies)
    most = max(max(body.places) for body in bodies)
    wide = "uint16_t" if most <= MOST_PLACE else "uint32_t"
    rows = [f"{{&{b.params}, {{{', '.join(map(str, b.places))}}}}}" for b in bodies]
    return [
        f"static const struct {name}_call {{\n    const void *params;\n    {wide} at[{count}];\n}} "
        f"{name}_calls[{len(rows)}] = {{\n{c_text.wrap(rows)}\n}};",
        f"static const uint8_t {name}_nodes[{len(rows)}] = {{\n"
        f"{c_text.wrap(str(b.node) for b in bodies)}\n}};",
    ]
