"""What compiled code assumes of a blob: the code itself, without what training changes.

Two models with the same parts are computed by the same code, so that one's blob fits the other's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tinyrt import kernels_c
from tinyrt.errors import UnsupportedError
from tinyrt.export.blob.format import STRUCTURE_BYTES
from tinyrt.export.blob.layout import Field
from tinyrt.export.blob.writer import BlobWriter
from tinyrt.export.code import Comment, Statement, rendered
from tinyrt.export.slices import Slices
from tinyrt.export.states import StateLayout
from tinyrt.export.target import Core
from tinyrt.ir import Graph, Value
from tinyrt.memory import ArenaPlan


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the code.

    Attributes:
        what: how messages call it; names in it may differ.
        text: what must be the same.

    """

    what: str
    text: str


def parts_of(
    graph: Graph,
    plan: ArenaPlan,
    states: StateLayout,
    writer: BlobWriter,
    slices: Slices | None,
    core: Core,
    fields: Iterable[Field],
) -> tuple[Part, ...]:
    """The parts of a model's code, ops in their order, the layout of its constants last."""
    kernels = kernels_c.closure(writer.functions, core.isa.value)
    sources = [f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in kernels]
    regions = ", ".join(f"{region.name} {region.nbytes}" for region in plan.regions)
    ports = [("input", name) for name in graph.fed] + [("output", name) for name in graph.answers]
    return (
        Part("the instruction set", f"{core.isa.value}{'' if core.unaligned else ', aligned'}"),
        *_ops(_statements(writer, slices)),
        *(Part(f"{kind} '{n}'", _port(kind, graph.value(n), plan)) for kind, n in ports),
        Part("the memory", f"{regions}; state {states.nbytes} {states.fills}"),
        Part("the order of slices", _order(slices)),
        Part("the tables", "\n".join(f"{n} {t.array.tolist()}" for n, t in writer.tables.items())),
        Part("the layout of the constants", "\n".join(map(str, fields))),
        Part("the kernels", hashlib.sha256("\n".join(sources).encode()).hexdigest()),
    )


def _port(kind: str, value: Value, plan: ArenaPlan) -> str:
    where = plan.region_of.get(value.name, 0), plan.offsets.get(value.name)
    return f"{kind} {value.dtype.value} {value.shape} at {where}"


def _order(slices: Slices | None) -> str:
    if slices is None:
        return ""
    orders = [s.repeats for s in slices.stages]
    return " ".join(f"{s.rounds},{s.back},{s.turns},{s.turn_back}" for s in orders)


def _statements(writer: BlobWriter, slices: Slices | None) -> list[Statement]:
    if slices is None:
        return writer.statements
    return [statement for stage in slices.stages for statement in stage.statements]


def _ops(statements: Iterable[Statement]) -> Iterator[Part]:
    """The code of each op, which follows its comment."""
    title, lines = "what comes before the ops", list[str]()
    for statement in statements:
        if isinstance(statement, Comment):
            yield Part(title, "\n".join(lines))
            # Types and places, without names.
            title, lines = f"op {statement.title}", [statement.text]
        else:
            lines += rendered([statement])
    yield Part(title, "\n".join(lines))


def digest_of(parts: Iterable[Part]) -> bytes:
    """What blobs and code have in common."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part.text.encode()) + part.text.encode())
    return digest.digest()[:STRUCTURE_BYTES]


def require_same(wanted: Sequence[Part], given: Sequence[Part]) -> None:
    """Check that a model's code is the code that was exported.

    Args:
        wanted: the parts of the exported code.
        given: the parts of the code that the model needs.

    Raises:
        UnsupportedError: they differ; the message names the first difference.

    """
    for old, new in zip(wanted, given, strict=False):
        if old.text != new.text:
            before, after = _difference(old.text, new.text)
            raise _other(new.what, f"'{before}', as it was exported", f"here it is '{after}'")
    if len(wanted) != len(given):
        raise _other("the number of ops", f"{len(wanted)} parts of code", f"here {len(given)} are")


def _difference(old: str, new: str) -> tuple[str, str]:
    """The first lines that differ."""
    before, after = ([*text.splitlines(), ""] for text in (old, new))
    pairs = zip(before, after, strict=False)
    return next((a.strip(), b.strip()) for a, b in pairs if a != b)


def _other(what: str, expected: str, found: str) -> UnsupportedError:
    return UnsupportedError(
        f"the model does not fit the exported code: {what} differs; {found}",
        expected=expected,
        hint="train on from the exported model and quantise with --keep-channels; or export this "
        "one anew, with a new firmware",
    )
