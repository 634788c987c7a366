"""A planned graph as the text of C files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tinyrt import kernels_c
from tinyrt.budget import readable
from tinyrt.errors import UnsupportedError, error_context
from tinyrt.export import c_text
from tinyrt.export.c_calls import without_comments
from tinyrt.export.c_rows import SegmentWriter
from tinyrt.export.c_writer import ModelWriter, base_of
from tinyrt.export.memories import Memories
from tinyrt.export.rendering import TEMPLATES, Source, as_source, render
from tinyrt.export.states import StateLayout
from tinyrt.export.target import Core, Optimize
from tinyrt.ir import BoundNode, DType, Graph, Shape, Value
from tinyrt.memory import ArenaPlan
from tinyrt.ops import OPS
from tinyrt.ops.absent import NOT_ON_DEVICES
from tinyrt.ops.blocks import doubled_kernels
from tinyrt.ops.spec import InstructionSet, form_of, is_integer
from tinyrt.text import clean

MOST_BYTES = 2**31 - 1
"""Bytes of a tensor."""

KERNEL_FOLDER = "tinyrt"
"""Folder of the kernels in an exported one."""

MODEL_FILES = {
    ".h": "model.h.j2",
    ".c": "model.c.j2",
    "_weights.h": "weights.h.j2",
    "_weights.c": "weights.c.j2",
}
"""What the names of a model's own files end in -> their templates."""

ARENA_ALIGNMENT = 16
"""Bytes that the arena's address must be a multiple of."""


@dataclass(frozen=True, slots=True)
class Port:
    """A model input or output, as the C header describes it.

    Attributes:
        name: the tensor's name in the model.
        dtype: element type.
        shape: as in the model.
        offset: its reserved place in its region of the arena, in bytes; None where it has none,
            as an input that is pushed row by row.
        nbytes: its size.
        scale: real value of one step; None for a tensor that is not quantised.
        zero_point: the value that stands for zero; None likewise.
        region: which region of the arena the reserved place is in, in the order of their cost.

    """

    name: str
    dtype: DType
    shape: Shape
    offset: int | None
    nbytes: int
    scale: float | None
    zero_point: int | None
    region: int = 0

    @property
    def c_type(self) -> str:
        """C type of an element."""
        return c_text.c_type(self.dtype)

    @property
    def c_shape(self) -> Source:
        """Initialiser of the shape."""
        return Source(c_text.literal(self.shape))

    @property
    def c_scale(self) -> str:
        """Literal of the scale."""
        return c_text.literal(self.scale)

    @property
    def c_name(self) -> Source:
        """The name in quotes, for a comment."""
        return Source(f"'{clean(self.name)}'")


def port_of(value: Value, plan: ArenaPlan) -> Port:
    """The port of a model input or output."""
    q = value.q if value.q is not None and len(value.q.scales) == 1 else None
    return Port(
        value.name,
        value.dtype,
        value.shape,
        plan.offsets.get(value.name),
        value.nbytes,
        q.scale if q else None,
        q.zero_point if q else None,
        plan.region_of.get(value.name, 0),
    )


def write_ops(
    prefix: str,
    graph: Graph,
    plan: ArenaPlan,
    isa: InstructionSet,
    states: StateLayout,
    small: bool = False,
) -> ModelWriter:
    """Have every op write its call; small says whether bytes count more than instructions.

    Raises:
        UnsupportedError: an op has no C kernel, or could overflow.

    """
    writer = ModelWriter(prefix, graph, plan, isa, states, small)
    _write_all(writer, graph, plan)
    if doubled_kernels(writer.kernels):
        writer = ModelWriter(prefix, graph, plan, isa, states, small)
        writer.row_kernels = False
        _write_all(writer, graph, plan)
    return writer


def _write_all(writer: ModelWriter, graph: Graph, plan: ArenaPlan) -> None:
    numbers = {s.first: i for i, s in enumerate(plan.segments)}
    inside = {i for s in plan.segments for i in range(s.first, s.stop)}
    for node in graph.bound():
        if node.index in numbers:
            number = numbers[node.index]
            _write_segment(writer, graph, plan, number)
        if node.index not in inside:
            _write_op(writer, node)


def _write_segment(writer: ModelWriter, graph: Graph, plan: ArenaPlan, number: int) -> None:
    segment = plan.segments[number]
    rows = SegmentWriter(writer, graph, plan, segment, number)
    cases = rows.write(_write_op)
    if segment.pushed is None:
        writer.statements.append(rows.block(cases))
    else:
        writer.pushed = rows.pushed_rows(cases)
    rows.finish()


def _write_op(writer: ModelWriter, node: BoundNode) -> None:
    with error_context(op=node.describe()):
        _write_call(writer, node)


def _write_call(writer: ModelWriter, node: BoundNode) -> None:
    writer.begin(node)
    if writer.is_view(node):
        return
    writer.statements.append(f"    TINYRT_PROFILE_BEGIN({node.index});")
    if not writer.shift(node):
        _emitter(node)(writer)
    writer.statements.append(f"    TINYRT_PROFILE_END({node.index});")


def _emitter(node: BoundNode) -> Callable[[ModelWriter], None]:
    """What writes the node's call.

    Raises:
        UnsupportedError: there is no kernel for the node's tensors.

    """
    spec, wanted = OPS[node.op], "float"
    having = [n for n, s in OPS.items() if s.emit_f32]
    if is_integer(node):
        wanted, form = form_of(node), spec.form(node)
        if form.emit_c is not None:
            return partial(form.emit_c, node, form.prepare(node))
        having = [n for n, s in OPS.items() if wanted in s.forms and s.forms[wanted].emit_c]
    elif spec.emit_f32 is not None:
        return partial(spec.emit_f32, node)
    raise UnsupportedError(
        f"{node.op} has no C kernel for {wanted} tensors",
        tensor=node.output.describe(),
        expected=", ".join(sorted(having)) or None,
        hint=NOT_ON_DEVICES.get(
            node.op, "replace the op in the model, or run the model on the host: tinyrt run"
        ),
    )


def check_writable(graph: Graph) -> None:
    """Check what can be said before memory is planned.

    Raises:
        UnsupportedError: an output is not computed, or a tensor is larger than C code counts.

    """
    for value in graph.values.values():
        if value.nbytes > MOST_BYTES:
            raise UnsupportedError(
                f"a tensor takes {readable(value.nbytes)}",
                tensor=value.describe(),
                expected="less than 2 GiB, which sizes of 32 bits count",
            )
    for value in graph.output_values:
        if value.is_constant or value.name in graph.inputs:
            raise UnsupportedError(
                "a model output is a constant or a model input; there is nothing to compute",
                tensor=value.describe(),
                hint="remove this output from the model",
            )
        if graph.answers.count(value.name) > 1:
            raise UnsupportedError(
                "a tensor is several of the model's outputs; the code would write one of them only",
                tensor=value.describe(),
                hint="remove all but one of these outputs from the model",
            )


def model_files(
    prefix: str,
    graph: Graph,
    plan: ArenaPlan,
    isa: InstructionSet,
    writer: ModelWriter,
    states: StateLayout,
    memories: Memories,
) -> Mapping[str, str]:
    """File name -> text, for the model's own files."""
    sources = [kernels_c.source(k, isa.value) for k in writer.kernels]
    arrays = [_array(name, v) for name, v in writer.weights.items()]
    context = {
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
        "state_parameter": Source(", void *state_start") if states.fills else "",
        "reserved": memories.inputs_in_arena or memories.outputs_in_arena,
        "states": states,
        "section": memories.weights_section,
        "inputs": [port_of(graph.value(name), plan) for name in graph.fed],
        "outputs": [port_of(graph.value(name), plan) for name in graph.answers],
        "headers": sorted({kernels_c.own_header(s) for s in sources}),
        "floats": _needs_math(writer),
        "definitions": as_source(writer.definitions),
        "statements": as_source(writer.statements),
        "used": _ports_used(writer),
        "pushed": writer.pushed,
        "cases": as_source(writer.pushed.cases if writer.pushed else ()),
        "weights": {name: (c_text.c_type(v.dtype), v.size) for name, v in writer.weights.items()},
        "weight_arrays": arrays,
        "odd_weights": c_text.needs_math(text for _, text in arrays),
    }
    return {
        f"{prefix}{end}": render(TEMPLATES, template, context)
        for end, template in MODEL_FILES.items()
    }


def _needs_math(writer: ModelWriter) -> bool:
    """Whether the model's source takes something from <math.h>."""
    statements = (*writer.statements, *(writer.pushed.cases if writer.pushed else ()))
    code = (*writer.definitions, *("\n".join(without_comments(s)) for s in statements))
    return any(kernel.endswith("_f32") for kernel in writer.kernels) or c_text.needs_math(code)


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


def _ports_used(writer: ModelWriter) -> set[str]:
    """Variables of ports that the code uses: a model may have inputs that nobody reads."""
    cases = writer.pushed.cases if writer.pushed else ()
    code = re.sub(r"/\*.*?\*/", "", "\n".join((*writer.statements, *cases)), flags=re.DOTALL)
    return set(re.findall(r"\b(?:input|output)_\d+\b", code))


def library_files(
    library: str, models: Sequence[str], kernels: Iterable[str], core: Core, optimize: Optimize
) -> Mapping[str, str]:
    """File name -> text, for what builds some models and their kernels as one library.

    Args:
        library: its name.
        models: prefixes of the models.
        kernels: the kernels that they call.
        core: what they are meant for.
        optimize: what their code is made for.

    """
    needed = kernels_c.closure(kernels, core.isa.value)
    context = {
        "library": library,
        "models": models,
        "core": core,
        "optimize": optimize,
        "sources": [path.name for path in needed if path.suffix == ".c"],
    }
    files = {
        name: render(TEMPLATES, f"{name}.j2", context) for name in ("Makefile", "CMakeLists.txt")
    }
    return files | {
        f"{KERNEL_FOLDER}/{path.name}": path.read_text(encoding="utf-8") for path in needed
    }
