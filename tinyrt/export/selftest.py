"""A test that the board runs by itself: golden vectors, and a digest of each op's output.

An op's output is whole right after the op, and perhaps overwritten by the next one. So the test has
the model's calls once more, with a look behind each; kernels and weights it shares with the model.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError
from tinyrt.export import text as c_text
from tinyrt.export.code import text_of
from tinyrt.export.rendering import TEMPLATES, CFile, Source, render_c
from tinyrt.export.writer import ModelWriter, short_name
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.memory import ArenaPlan
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.samples import random_inputs

FLOATS = (DType.FLOAT32, DType.FLOAT16)


@dataclass(frozen=True, slots=True)
class Selftest:
    """What a project tests on the board.

    Attributes:
        vectors: golden inputs, each with its outputs.
        looks: tensors whose digests are compared after their ops, in each vector.
        data_bytes: flash for inputs, outputs and digests.

    """

    vectors: int
    looks: int
    data_bytes: int

    def __str__(self) -> str:
        return f"vectors {self.vectors}, tensors {self.looks}, bytes {self.data_bytes:,}"

    def as_dict(self) -> dict[str, int]:
        """The test as plain data, for ``--json``."""
        return {"vectors": self.vectors, "looks": self.looks, "data_bytes": self.data_bytes}


@dataclass(frozen=True, slots=True)
class _Look:
    """A tensor that is compared after its op: its place in C."""

    node: BoundNode
    value: Value
    place: str


def write_selftest(
    prefix: str,
    graph: Graph,
    plan: ArenaPlan,
    writer: ModelWriter,
    vectors: int,
    context: Mapping[str, Any],
) -> tuple[Selftest, dict[str, CFile]]:
    """The header and the source of ``<prefix>_selftest``.

    Args:
        prefix: the model's name in C.
        graph: the model, as it is written.
        plan: where its tensors lie.
        writer: its calls.
        vectors: how many golden vectors there are to be.
        context: what the templates of the model's own files are filled in with.

    Raises:
        UnsupportedError: there is no such number, or the model has tensors whose bits or memory
            are not the exporter's to say.

    """
    _check(graph, plan, vectors)
    whole = context["slices"] is None and not plan.segments
    looks = list(_looks(graph, writer)) if whole else []
    feeds, answers, digests = _golden(graph, vectors, {look.value.name for look in looks})
    arrays = {f"selftest_input_{i}": feeds[name] for i, name in enumerate(graph.fed)}
    arrays |= {f"selftest_output_{i}": answers[name] for i, name in enumerate(graph.answers)}
    crcs = np.array([digests[look.value.name] for look in looks], np.uint32).T
    own = {
        "vectors": vectors,
        "looks": [
            {
                "number": number,
                "op": look.node.index,
                "place": Source(look.place),
                "bytes": look.value.nbytes,
                "title": Source(c_text.comment(f"{look.node.op} '{short_name(look.node.name)}'")),
            }
            for number, look in enumerate(looks)
        ],
        "arrays": [
            Source(c_text.array("static const", c_text.c_type(_dtype(graph, name)), name, array))
            for name, array in arrays.items()
        ],
        "digests": [
            Source("{" + ", ".join(f"{crc:#010x}U" for crc in row.tolist()) + "}")
            for row in (crcs if looks else [])
        ],
    }
    nbytes = crcs.nbytes + sum(array.nbytes for array in arrays.values())
    files = {
        f"{prefix}_selftest{end}": render_c(TEMPLATES, f"selftest{end}.j2", {**context, **own})
        for end in (".h", ".c")
    }
    return Selftest(vectors, len(looks), nbytes), files


def _check(graph: Graph, plan: ArenaPlan, vectors: int) -> None:
    if vectors < 1:
        raise UnsupportedError(
            f"{vectors} golden vectors test nothing", expected="at least one: --selftest 1"
        )
    for value in graph.values.values():
        if value.dtype in FLOATS and not value.is_constant:
            raise UnsupportedError(
                "a self-test compares bits, and those of floats differ between compilers",
                tensor=value.describe(),
                expected="a model of integers, inputs and outputs included",
                hint="quantise the model, or leave --selftest out",
            )
    for name in graph.answers:
        if name not in plan.offsets:
            raise UnsupportedError(
                "a self-test works in the arena alone, which has no place for this output",
                tensor=graph.value(name).describe(),
                expected="outputs in the arena",
                hint="leave --output-outside out, or --selftest",
            )


def _dtype(graph: Graph, array: str) -> DType:
    """The type of the elements of one of the arrays."""
    _, kind, i = array.split("_")
    names = graph.fed if kind == "input" else graph.answers
    return graph.value(names[int(i)]).dtype


def _looks(graph: Graph, writer: ModelWriter) -> Sequence[_Look]:
    """The outputs of all ops that have calls."""
    return [
        _Look(node, value, text_of(writer.pointer(value)))
        for node in graph.bound()
        if writer.kernel_of(node) is not None
        for value in node.outputs
        if value.nbytes
    ]


def _golden(
    graph: Graph, vectors: int, looked_at: set[str]
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]], dict[str, list[int]]]:
    """Inputs and outputs of all vectors, and each tensor's digests; states go on between them."""
    feeds = random_inputs(graph, vectors)
    rows = {name: len(array) // vectors for name, array in feeds.items()}
    held = {before: _zeros(graph.value(before)) for before, _ in graph.states}
    answers: dict[str, list[NDArray[Any]]] = {name: [] for name in graph.answers}
    digests: dict[str, list[int]] = {name: [] for name in looked_at}

    def look(value: Value, array: NDArray[Any]) -> None:
        if value.name in digests:
            digests[value.name].append(zlib.crc32(np.ascontiguousarray(array).tobytes()))

    for i in range(vectors):
        given = {n: x[i * rows[n] : (i + 1) * rows[n]] for n, x in feeds.items()}
        shaped = {name: x.reshape(graph.value(name).shape) for name, x in given.items()}
        outputs = evaluate(graph, {**shaped, **held}, look)
        held = {before: outputs[after] for before, after in graph.states}
        for name, arrays in answers.items():
            arrays.append(outputs[name])
    return feeds, {name: np.stack(arrays) for name, arrays in answers.items()}, digests


def _zeros(value: Value) -> NDArray[Any]:
    zero = value.q.zero_point if value.q else 0
    return np.full(value.shape, zero, value.dtype.numpy)
