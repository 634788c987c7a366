"""From a graph to CUDA C++: one kernel for the whole network, or one per op."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.cuda.choice import KERNELS, emitter_of
from tinyrt.backends.cuda.layout import (
    SHARED_LIMIT,
    THROUGHPUT,
    Layout,
    Shape,
    arena_bytes,
    layout_of,
    samples_of,
    stride_of,
)
from tinyrt.backends.cuda.weighted import ON_TENSOR_CORES
from tinyrt.backends.cuda.widen import Widening, widen_inputs
from tinyrt.backends.cuda.writer import ALIGNMENT, DeviceWriter, Phase
from tinyrt.errors import UnsupportedError, error_context
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.memory import MemoryOptions, plan_memory
from tinyrt.memory.kernels import NoKernels
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form, form_of, qparams

DEVICE = Path(__file__).parent / "device"
"""The headers that generated code includes."""

RUN = "tinyrt_run"
"""The kernel that runs a whole network."""


@dataclass(frozen=True, slots=True)
class Port:
    """A model input or output.

    Attributes:
        name: of the value.
        nbytes: of one sample.

    """

    name: str
    nbytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch.

    Attributes:
        name: of the function.
        parts: blocks that share one sample; 0 where blocks go on to further samples by themselves.
        title: what it computes.

    """

    name: str
    parts: int
    title: str


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """A model for a GPU.

    Attributes:
        source: CUDA C++, to be compiled with ``DEVICE`` as include folder.
        weights: all constants.
        kernels: to be launched one after the other.
        phases: what they do between two barriers, for all samples of a block.
        fused: whether there is one kernel, whose blocks keep activations in shared memory.
        threads: of a block.
        blocks: of a multiprocessor, for which the compiler leaves registers.
        samples: that a block computes at once.
        stride: bytes from one sample's arena to the next.
        inputs: kernel arguments, before ``outputs``.
        outputs: kernel arguments.

    """

    source: str
    weights: NDArray[np.uint8]
    kernels: tuple[Kernel, ...]
    phases: tuple[Phase, ...]
    fused: bool
    threads: int
    blocks: int
    samples: int
    stride: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return self.stride * self.samples if self.fused else 0


def missing(graph: Graph) -> list[BoundNode]:
    """Nodes that the GPU has no kernel for."""
    return [node for node in graph.bound() if emitter_of(node) is None]


def refuse_missing(nodes: Iterable[BoundNode]) -> None:
    """Raise ``UnsupportedError`` that names the ops, if there are any."""
    missing_nodes = list(nodes)
    if missing_nodes:
        names = ", ".join(sorted({n.op for n in missing_nodes}))
        raise UnsupportedError(
            f"backend cuda has no kernel for {names}",
            op="; ".join(n.describe() for n in missing_nodes),
            expected=", ".join(sorted(KERNELS)),
            hint="pass --allow-fallback to run these ops on the CPU, or choose another backend",
        )


def generate(
    graph: Graph, shape: Shape = THROUGHPUT, shared_limit: int = SHARED_LIMIT
) -> DeviceProgram:
    """Write the model's device code.

    Args:
        graph: a verified integer graph without states; its ports hold one sample.
        shape: how to lay it out.
        shared_limit: bytes of shared memory that a block may have.

    Raises:
        UnsupportedError: an op has no kernel here, or one kernel was asked for and does not fit.

    """
    refuse_missing(missing(graph))
    original, (graph, wider) = graph, widen_inputs(graph)
    plan = plan_memory(
        graph, NoKernels(), overlap=False, options=MemoryOptions(alignment=ALIGNMENT)
    )
    zero_points = _zero_points(graph)
    fits = arena_bytes(plan, zero_points) <= shared_limit
    fused = fits if shape.fused is None else shape.fused
    if fused and not fits:
        raise UnsupportedError(
            f"an arena of {arena_bytes(plan, zero_points):,} bytes does not fit shared memory",
            expected=f"at most {shared_limit:,} bytes",
            hint="let it run op by op",
        )
    samples = samples_of(graph, plan, shape, shared_limit) if fused else 1
    paddings = {zp: arena_bytes(plan, ()) + ALIGNMENT * i for i, zp in enumerate(zero_points)}
    stride = stride_of(arena_bytes(plan, zero_points), samples)
    layout = layout_of(shape, stride * samples if fused else 0, shared_limit)
    writer = DeviceWriter(plan, layout.threads, samples, stride, paddings)
    first, here = (
        ("first", f"least({samples}, samples - first)") if fused else ("block_sample", "1")
    )
    for i, name in enumerate(graph.inputs):
        _emit_input(
            writer, original.value(name), graph.value(name), wider.get(name), i, first, here
        )
    for node in graph.bound():
        emit = emitter_of(node)
        if node.index in plan.idle or emit is None:
            continue
        with error_context(op=node.describe()):
            writer.begin(node)
            emit(node, OPS[node.op].prepared(node), writer)
    return _assemble(original, writer, layout, fused, stride, first, here)


def _zero_points(graph: Graph) -> tuple[int, ...]:
    """Those of inputs that tensor cores read, each once: 16 bytes of each are kept as padding."""
    nodes = [n for n in graph.bound() if emitter_of(n) in ON_TENSOR_CORES]
    return tuple(sorted({qparams(n.input(0))[1] for n in nodes if form_of(n) is Form.INT8}))


def _port(value: Value) -> Port:
    return Port(value.name, value.nbytes)


def _assemble(
    graph: Graph,
    writer: DeviceWriter,
    layout: Layout,
    fused: bool,
    stride: int,
    first: str,
    here: str,
) -> DeviceProgram:
    inputs = [graph.value(name) for name in graph.inputs]
    outputs = [graph.value(name) for name in graph.outputs]
    phases = list(writer.phases)
    for i, value in enumerate(outputs):
        phases.append(_transfer(writer, value, len(inputs) + i, first, here, out=True))
    parameters = ", ".join(f"i8 *port_{i}" for i in range(len(inputs) + len(outputs)))
    fill = [f"fill_padding(t, {at}, {zp})" for zp, at in writer.paddings.items()]
    padding = [Phase("padding", ", ".join(fill), 1)] if fill else []
    if fused:
        kernels: tuple[Kernel, ...] = (Kernel(RUN, 0, "the whole network"),)
        code = _fused(padding, phases, parameters, writer.samples, layout)
    else:
        phases = padding + phases
        parts = [
            max(1, -(-phase.work // layout.threads)) if phase.steps == 1 else 1 for phase in phases
        ]
        kernels = tuple(
            Kernel(f"tinyrt_step_{i}", n, phase.title)
            for i, (phase, n) in enumerate(zip(phases, parts, strict=True))
        )
        code = "\n".join(
            _step(kernel, phase, parameters, stride, layout)
            for kernel, phase in zip(kernels, phases, strict=True)
        )
    headers = "".join(
        f'#include "{name}.cuh"\n' for name in sorted({*writer.headers, "elementwise"})
    )
    structs = "\n".join(writer.structs)
    source = (
        f"// Written by tinyrt: {len(phases)} phases, {layout.threads} threads, "
        f"{writer.samples} samples per block.\n"
        f"{headers}\nusing namespace tinyrt;\n\n{structs}\n{code}"
    )
    return DeviceProgram(
        source,
        writer.blob.array(),
        kernels,
        (*padding, *phases) if fused else tuple(phases),
        fused,
        layout.threads,
        layout.blocks,
        writer.samples,
        stride,
        tuple(map(_port, inputs)),
        tuple(map(_port, outputs)),
    )


def _emit_input(
    writer: DeviceWriter,
    port_value: Value,
    arena_value: Value,
    wider: Widening | None,
    port: int,
    first: str,
    here: str,
) -> None:
    """From a port in device memory into the arena, where it may be held in another shape."""
    if wider is None:
        writer.phases.append(_transfer(writer, port_value, port, first, here))
        return
    writer.begin_input(port)
    whole = (
        port_value.shape[-1] == 3
        and wider.size == port_value.size // 3 * 4
        and wider.size % 16 == 0
    )
    writer.op(
        "widen_pixels" if whole else "widen",
        "elementwise",
        wider.size // (16 if whole else 4),
        ints={"SIZE": wider.size, "BYTES": port_value.nbytes, "FILL": wider.fill},
        tensors={"y": arena_value},
        functions={"int at(int i)": wider.at},
        arguments=f"t, port_{port}, {first}, {here}",
    )


def _transfer(
    writer: DeviceWriter, value: Value, port: int, first: str, here: str, out: bool = False
) -> Phase:
    """Write a copy between a port in device memory and the arena."""
    kind = f"{writer.samples}, {value.nbytes}, {'false' if out else 'true'}"
    arguments = f"t, port_{port}, {writer.offset(value)}, {writer.stride}, {first}, {here}"
    direction = "output" if out else "input"
    return Phase(f"{direction} {port}", f"transfer<{kind}>({arguments})", -(-value.nbytes // 16))


def _fused(
    once: list[Phase], phases: list[Phase], parameters: str, samples: int, layout: Layout
) -> str:
    """Blocks that go from sample to sample, with their arenas in shared memory."""
    before = "\n".join(f"    {_run(p, '0')}" for p in once)
    body = "\n".join(f"        {_run(p, '0')}" for p in phases)
    return f"""TINYRT_KERNEL({layout.threads}, {layout.blocks})
{RUN}(TINYRT_GRID TINYRT_SHARED_PARAMETER const i8 *weights, int samples, {parameters}) {{
    TINYRT_SHARED
    Team t = {{0, {layout.threads}, arena, weights, 0}};
{before}
    const int step = TINYRT_BLOCKS * {samples};
    for (int first = TINYRT_BLOCK * {samples}; first < samples; first += step) {{
{body}
    }}
}}
"""


def _run(phase: Phase, first_thread: str) -> str:
    """A phase, or a loop of them."""
    once = f"TINYRT_PHASE({first_thread}, {phase.call})"
    if phase.steps > 1:
        once = f"for (; t.step < {phase.steps}; ++t.step) {once} t.step = 0;"
    return f"{once} // {phase.title}"


def _step(kernel: Kernel, phase: Phase, parameters: str, stride: int, layout: Layout) -> str:
    """One op of one sample per ``parts`` blocks, with arenas in device memory."""
    return f"""// {phase.title}
TINYRT_KERNEL({layout.threads}, {layout.blocks})
{kernel.name}(TINYRT_GRID i8 *arenas, const i8 *weights, int samples, {parameters}) {{
    const int block_sample = TINYRT_BLOCK / {kernel.parts}, part = TINYRT_BLOCK % {kernel.parts};
    if (block_sample >= samples) return;
    i8 *const arena = arenas + static_cast<i64>(block_sample) * {stride};
    Team t = {{0, {kernel.parts * layout.threads}, arena, weights, 0}};
    {_run(phase, f"part * {layout.threads}")}
}}
"""
