"""A planned graph as the text of C files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinyrt import __version__, kernels_c
from tinyrt.backends.c.blocks.dense import has_doubled_kernels
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.kernel import Target
from tinyrt.errors import UnsupportedError, error_context
from tinyrt.export import text as c_text
from tinyrt.export.blob.code import BlobCode
from tinyrt.export.code import Port as PortVariable
from tinyrt.export.code import rendered, tokens_of
from tinyrt.export.identity import IDENTITY, kernel_names
from tinyrt.export.layouts import CMAKE, Layout
from tinyrt.export.memories import Memories
from tinyrt.export.ports import port_of
from tinyrt.export.rendering import TEMPLATES, CFile, Source, as_source, render, render_c
from tinyrt.export.rows.segment import SegmentWriter, row_nodes
from tinyrt.export.slices import Slices
from tinyrt.export.states import StateLayout
from tinyrt.export.target import Core, Optimize
from tinyrt.export.writer import ModelWriter, Parameters, Table, base_of
from tinyrt.ir import Graph, Value
from tinyrt.memory import ArenaPlan
from tinyrt.text import clean

KERNEL_FOLDER = "tinyrt"
"""Folder of the kernels in an exported one."""

MODEL_FILES = {
    ".h": "model.h.j2",
    ".c": "model.c.j2",
    "_weights.h": "weights.h.j2",
    "_weights.c": "weights.c.j2",
}
"""Ending of the name of a model's own file -> the file's template."""

BLOB_FILES = {
    ".h": "model.h.j2",
    ".c": "model.c.j2",
    "_blob.h": "blob.h.j2",
    "_blob.c": "blob.c.j2",
}
"""The same for a model whose constants lie in a blob."""

ARENA_ALIGNMENT = 16
"""Bytes that the arena's address must be a multiple of."""


def write_ops(
    prefix: str,
    graph: Graph,
    plan: ArenaPlan,
    target: Target,
    states: StateLayout,
    kind: type[ModelWriter] = ModelWriter,
) -> ModelWriter:
    """Write the calls of every op's kernel, by a writer of that kind.

    Raises:
        UnsupportedError: an op has no C kernel, or could overflow.

    """
    if plan.segments and has_doubled_kernels(_functions(graph, plan, target)):
        target = replace(target, row_kernels=False)
    writer = kind(prefix, graph, plan, target, states)
    numbers = {s.first: i for i, s in enumerate(plan.segments)}
    inside = _inside(plan)
    for node in graph.bound():
        if node.index in numbers:
            _write_segment(writer, graph, plan, numbers[node.index])
        if node.index not in inside:
            with error_context(op=node.describe()):
                writer.write_op(node)
    return writer


def _inside(plan: ArenaPlan) -> set[int]:
    """Nodes that run row by row."""
    return {i for s in plan.segments for i in range(s.first, s.stop)}


def _functions(graph: Graph, plan: ArenaPlan, target: Target) -> Iterator[str]:
    """Functions that the kernels of convolutions and of ops that run row by row call."""
    outside = {n.index for n in graph.bound() if n.op == "conv2d"} - _inside(plan)
    nodes = [graph.bind(i) for i in sorted(outside)]
    for segment in plan.segments:
        nodes += row_nodes(graph, segment)
    for node in nodes:
        with error_context(op=node.describe()):
            yield from (call.function for call in choose(node, target).calls)


def _write_segment(writer: ModelWriter, graph: Graph, plan: ArenaPlan, number: int) -> None:
    segment = plan.segments[number]
    rows = SegmentWriter(writer, graph, plan, segment, number)
    cases = rows.write()
    if segment.pushed is None:
        writer.statements.append(rows.loop(cases))
    else:
        writer.pushed = rows.pushed_rows(cases)
    rows.finish()


def model_files(prefix: str, context: Mapping[str, Any]) -> dict[str, CFile]:
    """The model's own files by name."""
    kinds = BLOB_FILES if context["blob"] else MODEL_FILES
    return {f"{prefix}{end}": render_c(TEMPLATES, name, context) for end, name in kinds.items()}


def model_context(
    prefix: str,
    graph: Graph,
    plan: ArenaPlan,
    writer: ModelWriter,
    states: StateLayout,
    memories: Memories,
    model_sha256: str | None,
    slices: Slices | None = None,
    blob: BlobCode | None = None,
) -> dict[str, Any]:
    """What the templates of the model's own files are filled in with."""
    sources = [kernels_c.source(k, writer.target.sources.value) for k in writer.functions]
    tensors = {} if blob else {name: _tensor(writer, name) for name in writer.weights}
    return {
        "model": prefix,
        "MODEL": prefix.upper(),
        "title": clean(graph.name),
        "plan": plan,
        "alignment": max(ARENA_ALIGNMENT, memories.alignment),
        "regions": [
            {"name": region.name.lower(), "base": base_of(plan, i), "nbytes": region.nbytes}
            for i, region in enumerate(plan.regions)
        ],
        "arena_parameter": (
            Source("void *arena_start")
            if len(plan.regions) == 1
            else Source(f"const {prefix}_arena_t *arena")
        ),
        "arena_argument": Source(
            ("arena_start" if len(plan.regions) == 1 else "arena")
            + (", state_start" if states.fills else "")
        ),
        "state_parameter": Source(", void *state_start") if states.fills else "",
        "reserved": memories.inputs_in_arena or memories.outputs_in_arena,
        "states": states,
        "section": memories.weights_section,
        "inputs": [port_of(graph.value(name), plan) for name in graph.fed],
        "outputs": [port_of(graph.value(name), plan) for name in graph.answers],
        "identity": IDENTITY,
        "version": Source(f'"{__version__}"'),
        "sha256": Source(f'"{model_sha256}"') if model_sha256 else None,
        "functions": _public(writer, states, slices) + (BLOB_FUNCTIONS if blob else []),
        "blob": blob,
        "handle_parameter": Source(f"const {prefix}_handle_t *handle, ") if blob else "",
        "headers": sorted({kernels_c.own_header(s) for s in sources}),
        "floats": _needs_math(writer),
        "definitions": as_source(map(_definition, writer.definitions)),
        "statements": as_source(rendered(writer.statements)),
        "slices": slices,
        "stages": [as_source(rendered(s.statements, 2)) for s in slices.stages] if slices else [],
        "used": _ports_used(writer, slices),
        "pushed": writer.pushed,
        "cases": as_source(writer.pushed.cases if writer.pushed else ()),
        "weights": {name: (c_text.c_type(v.dtype), v.size) for name, v in tensors.items()},
        "weight_arrays": [_array(name, value) for name, value in tensors.items()],
        "odd_weights": any(c_text.has_odd_floats(np.asarray(v.data)) for v in tensors.values()),
    }


BLOB_FUNCTIONS = [
    *("open", "open_signed", "check_sha256", "revision", "model_sha256"),
    *("input_scale", "input_zero_point", "output_scale", "output_zero_point"),
]
"""What the functions of a model with a blob are called behind its name, beside the others."""


def _public(writer: ModelWriter, states: StateLayout, slices: Slices | None) -> list[str]:
    """What the model's functions are called behind its name."""
    calls = ["invoke"] if writer.pushed is None else ["begin", "push_row"]
    calls += ["begin", "step", "cancel"] if slices else []
    return (["reset"] if states.fills else []) + calls


def _tensor(writer: ModelWriter, name: str) -> Value:
    """The tensor that an array of the weights file holds."""
    if name in writer.described:
        return writer.described[name]
    data = writer.weights[name]
    return Value.constant(f"{data.role} packed for {writer.target.sources.value}", data.array)


def _definition(definition: Table | Parameters | str) -> str:
    """A table or struct in C."""
    if isinstance(definition, str):
        return definition
    if isinstance(definition, Parameters):
        return c_text.struct(definition.ctype, definition.name, definition.fields)
    data = definition.data
    assert data.table is not None
    return c_text.array("static const", data.table, definition.name, np.asarray(data.array))


def _needs_math(writer: ModelWriter) -> bool:
    """Whether the model's source file needs <math.h>."""
    tables = (table.array for table in writer.tables.values())
    fields = (params.fields for params in writer.parameters.values())
    odd = writer.has_odd_floats or any(map(c_text.has_odd_floats, (*tables, *fields)))
    return odd or any(function.endswith("_f32") for function in writer.functions)


def _array(name: str, value: Value) -> tuple[Source, Source]:
    """A constant's comment and its definition."""
    data = np.asarray(value.data)
    try:
        c_text.check_nans(data)
    except UnsupportedError as error:
        error.tensor = value.describe()
        raise
    ctype = c_text.c_type(value.dtype)
    return Source(c_text.described(value)), Source(c_text.array("const", ctype, name, data))


def _ports_used(writer: ModelWriter, slices: Slices | None) -> set[str]:
    """Variables of the inputs and outputs that the code uses: some inputs may have no reader."""
    pushed = writer.pushed.code if writer.pushed else ()
    sliced = [s for stage in slices.stages for s in stage.statements] if slices else []
    tokens = tokens_of((*writer.statements, *pushed, *sliced))
    return {token.name for token in tokens if isinstance(token, PortVariable)}


def library_files(
    library: str,
    models: Sequence[str],
    kernels: Iterable[str],
    core: Core,
    optimize: Optimize,
    *,
    has_arena: bool = False,
    has_info: bool = False,
    has_blob: bool = False,
    layout: Layout = CMAKE,
    has_selftest: bool = False,
    has_board: bool = False,
    takes_samples: Sequence[str] = (),
    parts: tuple[str, ...] = ("", "_weights"),
) -> Mapping[str, str]:
    """File name -> text, for the build files of some models and their kernels as one library.

    Args:
        library: its name.
        models: prefixes of the models.
        kernels: the kernels that they call.
        core: the target core.
        optimize: the goal of their code: speed, balanced or size.
        has_arena: whether there is a header of an arena for all models.
        has_info: whether each model has what it says of itself.
        has_blob: whether each model's constants lie in a blob.
        layout: the shape of the folder; build files are those of ``cmake`` alone.
        has_selftest: whether each model has golden vectors.
        has_board: whether each model has its protocols on a serial port.
        takes_samples: names of the files of models that take samples, without their ends.
        parts: how the names of each model's sources end.

    """
    needed = kernels_c.closure(kernels, core.isa.value)
    texts = {path.name: path.read_text(encoding="utf-8") for path in needed}
    headers = [*models, *[f"{name}_info" for name in models if has_info]]
    headers += [f"{name}_selftest" for name in models if has_selftest]
    headers += [f"{name}_board" for name in models if has_board]
    headers += takes_samples
    headers += [f"{library}_arena"] * has_arena
    headers += [f"{name}_blob" for name in models if has_blob]
    parts = ("", "_blob") if has_blob else parts
    more = ["_info"] * has_info + ["_selftest"] * has_selftest + ["_board"] * has_board
    context = {
        "library": library,
        "LIBRARY": library.upper(),
        "models": models,
        "takes_samples": takes_samples,
        "headers": [f"{name}.h" for name in headers],
        "parts": (*parts, *more),
        "has_blob": has_blob,
        "libm": any("#include <math.h>" in text for text in texts.values()),
        "core": core,
        "optimize": optimize,
        "sources": [path.name for path in needed if path.suffix == ".c"],
    }
    builds = ("Makefile", "CMakeLists.txt") if layout is CMAKE else ()
    files = {name: render(TEMPLATES, f"{name}.j2", context) for name in builds}
    files |= {f"{KERNEL_FOLDER}/{name}": text for name, text in texts.items()}
    macros = () if layout.takes_options else optimize.definitions
    functions = kernels_c.functions(needed)
    names = kernel_names(library, functions, unaligned=core.unaligned, definitions=macros)
    return files | {f"{KERNEL_FOLDER}/{kernels_c.NAMES}": names}
