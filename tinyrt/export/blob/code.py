"""All that a model with a blob has beside others: the layout, the code's structure, the blob."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tinyrt.backends.c.kernel import Choices
from tinyrt.budget import current
from tinyrt.export import text as c_text
from tinyrt.export.blob.format import HEADER_BYTES, Blob
from tinyrt.export.blob.layout import ALIGNMENT, Field, Member, body_of, fields_of
from tinyrt.export.blob.structure import Part, digest_of, parts_of
from tinyrt.export.blob.writer import BlobWriter
from tinyrt.export.rendering import Source
from tinyrt.export.slices import Slices
from tinyrt.export.states import StateLayout
from tinyrt.export.target import Core
from tinyrt.ir import Graph, Value
from tinyrt.memory import ArenaPlan


@dataclass(frozen=True, eq=False)
class BlobCode:
    """A model's constants, and what its code assumes of them.

    Attributes:
        fields: of the struct that the body is.
        parts: of the code.
        model_sha256: of the model's file; None for a model without one.
        choices: what the code was chosen by.

    """

    fields: Sequence[Field]
    parts: tuple[Part, ...]
    model_sha256: str | None
    choices: Choices

    @cached_property
    def blob(self) -> Blob:
        """The blob, without a revision."""
        sha256 = bytes.fromhex(self.model_sha256) if self.model_sha256 else bytes(32)
        return Blob(digest_of(self.parts), body_of([*self.fields]), model_sha256=sha256)

    @property
    def structure(self) -> str:
        """The structure's digest, in hexadecimal."""
        return self.blob.structure.hex()

    @property
    def c_structure(self) -> Source:
        """Initialiser of the structure's digest, as words."""
        words = np.frombuffer(self.blob.structure, "<u4").tolist()
        return Source(f"{{{', '.join(f'0x{word:08X}U' for word in words)}}}")

    @property
    def c_fields(self) -> list[Source]:
        """The struct's lines."""
        return [Source(field) for field in self.fields]

    @property
    def body_bytes(self) -> int:
        """Of the struct."""
        return len(self.blob.body)

    @property
    def nbytes(self) -> int:
        """Of the blob."""
        return HEADER_BYTES + self.body_bytes

    def as_dict(self) -> dict[str, Any]:
        """What is said of it, for ``--json``."""
        return {"bytes": self.nbytes, "alignment": ALIGNMENT, "structure": self.structure}

    @property
    def c_words(self) -> Source:
        """Initialiser of the blob as an array of 64-bit words."""
        words = np.frombuffer(self.blob.packed(), "<u8")
        current().spend(c_text.LITERAL * words.size, "writing the blob as C")
        return Source(c_text.wrap(f"0x{word:016X}U" for word in words.tolist()))


def blob_code(
    graph: Graph,
    plan: ArenaPlan,
    states: StateLayout,
    writer: BlobWriter,
    slices: Slices | None,
    core: Core,
    model_sha256: str | None,
    choices: Choices | None,
) -> BlobCode:
    """The blob of a model whose calls are written."""
    ports = {"input": graph.fed, "output": graph.answers}
    members = {}
    for kind, names in ports.items():
        scales, zero_points = _quantisation([graph.value(name) for name in names])
        members[f"{kind}_scale"] = Member("float", np.array(scales, np.float32))
        members[f"{kind}_zero_point"] = Member("int32_t", np.array(zero_points, np.int32))
    assert choices is not None  # code for a blob is chosen so
    fields = fields_of(members | writer.members)
    parts = parts_of(graph, plan, states, writer, slices, core, fields)
    return BlobCode(fields, parts, model_sha256, choices)


def _quantisation(values: Sequence[Value]) -> tuple[list[float], list[int]]:
    """Scale and zero point of each tensor; 0 for those without."""
    of = [v.q if v.q is not None and len(v.q.scales) == 1 else None for v in values]
    return [q.scale if q else 0.0 for q in of], [q.zero_point if q else 0 for q in of]
