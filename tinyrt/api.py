"""The Python interface: each function mirrors a command."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.streaming import stream as stream_graph
from tinyrt.convert.tflite_reader import map_file, parse_tflite
from tinyrt.convert.tflite_schema import IDENTIFIER
from tinyrt.convert.tflite_writer import save_tflite
from tinyrt.data import LABELS, load_inputs, load_npz
from tinyrt.errors import (
    DataError,
    ModelFormatError,
    TinyrtError,
    UnsupportedError,
    error_context,
)
from tinyrt.interpreter import DEFAULT_BACKEND, MAX_MEMORY, Interpreter
from tinyrt.interpreter.model import Model, Progress
from tinyrt.interpreter.profile import OpTime, profile
from tinyrt.ir import DType, Graph, RewriteLog, Shape
from tinyrt.memory import ArenaPlan, plan_memory, plan_pushed, plan_streamed, schedule
from tinyrt.memory.advice import Advice, advise
from tinyrt.metrics import Evaluation, evaluate_graph
from tinyrt.ops import OPS

if TYPE_CHECKING:
    from tinyrt.emulate import EmulationReport
    from tinyrt.export import Memories
    from tinyrt.quantize import QuantConfig
    from tinyrt.quantize.debug import DebugReport
    from tinyrt.quantize.samples import Samples

Array = NDArray[Any]
Data = str | Path | Array | Mapping[str, Array]


def open_model(
    path: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    keep_layout: bool = False,
    optimise: bool = True,
    passes: Collection[str] | None = None,
    skip_passes: Collection[str] = (),
    log: RewriteLog | None = None,
) -> Graph:
    """Read a .tflite or .onnx model; a float model comes back optimised.

    Args:
        path: the model file.
        shapes: for ONNX, input name -> shape, for dimensions that the file leaves open.
        keep_layout: keep an ONNX model's NCHW inputs and outputs.
        optimise: run the graph passes on a float model.
        passes: names of the passes to run; all by default.
        skip_passes: names of passes to leave out.
        log: what the passes did and refused is added to it.

    Raises:
        ModelFormatError: the file is neither, or is corrupt.
        UnsupportedError: it uses something that tinyrt does not have.
        ShapeError: a dimension is open.

    """
    path = Path(path)
    data = map_file(path)
    with error_context(file=str(path)):
        if bytes(data[4:8]) == IDENTIFIER:
            graph = parse_tflite(data, name=path.stem)
        elif path.suffix == ".onnx":
            # onnx is only imported where an ONNX file is read.
            from tinyrt.convert.onnx_reader import read_onnx

            graph = read_onnx(path, shapes=shapes or {})
        else:
            raise ModelFormatError(
                "this is neither a .tflite nor an .onnx model",
                expected="a .tflite file (identifier 'TFL3' at byte 4), or a file named *.onnx",
                hint="export the model to one of the two",
            )
        if not optimise or is_quantised(graph):
            return graph
        from tinyrt.convert.passes import optimise as run_passes

        return run_passes(graph, keep_layout=keep_layout, log=log, passes=passes, skip=skip_passes)


def is_quantised(graph: Graph) -> bool:
    """Whether any activation or weight of the model is."""
    return any(v.q is not None or v.dtype is DType.FLOAT16 for v in graph.values.values())


def convert_model(
    model: str | Path,
    output: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    keep_layout: bool = False,
    stream: Stream | None = None,
    passes: Collection[str] | None = None,
    skip_passes: Collection[str] = (),
    log: RewriteLog | None = None,
) -> Graph:
    """Convert a model to an optimised .tflite file of the same precision.

    Args:
        model: .onnx or .tflite.
        output: the .tflite file to write.
        shapes: input name -> shape, for dimensions that the model leaves open.
        keep_layout: keep NCHW inputs and outputs instead of NHWC.
        stream: have the model take its window's newest rows only, and keep the rest as state.
        passes: names of the passes to run; all by default.
        skip_passes: names of passes to leave out.
        log: what the passes did and refused is added to it.

    Returns:
        The graph that was written.

    Raises:
        TinyrtError: the model cannot be read or the file cannot be written.

    """
    graph = open_model(
        model,
        shapes=shapes,
        keep_layout=keep_layout,
        passes=passes,
        skip_passes=skip_passes,
        log=log,
    )
    with error_context(file=str(model)):
        if stream is not None:
            graph = stream_graph(graph, stream.axis, stream.hop, stream.input).graph
        graph = schedule(graph)
        save_tflite(graph, output)
    return graph


@dataclass(frozen=True, slots=True)
class Stream:
    """How a model is streamed over time; see ``tinyrt.convert.streaming``.

    Attributes:
        axis: the input's dimension that is time.
        hop: new rows per inference.
        input: which input moves in time, where the model has several.

    """

    axis: int
    hop: int = 1
    input: str | None = None


def quantize_model(
    model: str | Path,
    calibration: Samples | None,
    output: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    config: QuantConfig | None = None,
    progress: Progress | None = None,
) -> Graph:
    """Quantise a float model, to int8 by default, and write it as .tflite.

    Args:
        model: a float .onnx or .tflite model.
        calibration: an .npz or .npy file, a folder of .npy files, an array, arrays by input name,
            or an iterable of arrays; float, samples first. None for schemes that only store
            weights in fewer bits.
        output: the .tflite file to write.
        shapes: input name -> shape, for dimensions that the model leaves open.
        config: schemes and methods.
        progress: called with the samples done and their total.

    Returns:
        The graph that was written.

    Raises:
        DataError: the calibration data do not fit the model.
        TinyrtError: the model cannot be read or quantised, or the file cannot be written.

    """
    from tinyrt.quantize import quantize_graph
    from tinyrt.quantize.samples import read_batches

    graph = open_model(model, shapes=shapes)
    with error_context(file=str(model)):
        if is_quantised(graph):
            raise UnsupportedError(
                "the model is quantised already", hint="pass the float model it was made from"
            )
        if graph.states:
            raise UnsupportedError(
                "the model keeps state from sample to sample",
                hint="quantise the model of the whole window, then stream the result: "
                "tinyrt convert INT8.tflite --stream AXIS",
            )
    with error_context(file=_file_of(calibration)):
        batches = None
        if calibration is not None:
            batches = (_layout_as(graph, _require_float(b)) for b in read_batches(calibration))
        quantised = quantize_graph(graph, batches, config, progress)
    quantised = schedule(quantised)
    save_tflite(quantised, output)
    return quantised


def debug_model(
    model: str | Path,
    quantised: str | Path,
    data: Data,
    *,
    progress: Progress | None = None,
) -> DebugReport:
    """Where a quantised model loses accuracy, layer by layer, worst first.

    Args:
        model: the float .onnx or .tflite model.
        quantised: the int8 .tflite made from it.
        data: an .npz file with ``x``, an array, or arrays by input name; float, samples first.
        progress: called with the layers done and their total.

    Raises:
        DataError: the data do not fit, or the models have nothing in common.
        UnsupportedError: the first model is not float or the second not int8.

    """
    from tinyrt.quantize.debug import debug_graphs

    graph, other = open_model(model), open_model(quantised)
    with error_context(file=_file_of(data)):
        inputs = _layout_as(graph, _as_inputs(data))
        _require_float(inputs)
    with error_context(file=str(quantised)):
        return debug_graphs(graph, other, inputs, progress)


def evaluate(
    model: str | Path,
    data: Data,
    *,
    labels: Array | None = None,
    against: str | Path | None = None,
    backend: str = DEFAULT_BACKEND,
    progress: Progress | None = None,
) -> Evaluation:
    """Accuracy of a model on data, and its distance from another model.

    Args:
        model: .tflite or .onnx.
        data: an .npz file with ``x`` and, where there are labels, ``y``; or arrays.
        labels: class indices, where ``data`` does not hold them.
        against: a model to compare with, usually the float one.
        backend: the interpreter's backend.
        progress: called with the samples done and their total.

    Raises:
        DataError: data or labels do not fit the model.

    """
    graph = open_model(model)
    other = open_model(against) if against is not None else None
    with error_context(file=_file_of(data)):
        if labels is None and isinstance(data, str | Path):
            labels = load_npz(data).get(LABELS)
        inputs = _layout_as(graph, _as_inputs(data))
        return evaluate_graph(graph, inputs, labels, other, backend=backend, progress=progress)


def run_model(
    model: str | Path,
    inputs: Data,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int = MAX_MEMORY,
    progress: Progress | None = None,
) -> dict[str, Array]:
    """Outputs of a model by name: real values for float inputs, raw ones for int8 inputs.

    Args:
        model: .tflite or .onnx.
        inputs: an .npz file, an array, or arrays by input name; samples first.
        backend: the interpreter's backend.
        max_memory: bytes that activations may take.
        progress: called with the samples done and their total.

    Raises:
        DataError: the inputs do not fit the model.
        BudgetError: the model asks for more memory.

    """
    graph = open_model(model)
    with error_context(file=_file_of(inputs)):
        runner = Model(graph, backend=backend, max_memory=max_memory)
        return runner.run(_layout_as(graph, _as_inputs(inputs)), progress)


def profile_model(model: str | Path, *, backend: str = DEFAULT_BACKEND) -> list[OpTime]:
    """Time every op of a model on one sample of zeros.

    Args:
        model: .tflite or .onnx.
        backend: the interpreter's backend.

    Raises:
        UnsupportedError: the backend lacks an op, or runs a model as a whole only.

    """
    interpreter = Interpreter.from_graph(open_model(model), backend=backend)
    with error_context(file=str(model)):
        interpreter.allocate_tensors()
        return profile(interpreter)


@dataclass(frozen=True, slots=True)
class OpCost:
    """One op of a model: its multiply-accumulates, output and place in the arena."""

    name: str
    op: str
    macs: int
    output_shape: Shape
    arena_bytes: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a model costs.

    Attributes:
        ops: one entry per op, in execution order; its ``arena_bytes`` are those alive during it.
        macs: multiply-accumulates per inference.
        weight_bytes: bytes of all constants.
        packed_bytes: of them, those that the host's default backend holds a second time, in an
            order of its own, while it runs the model; None where it cannot run it.
        arena_bytes: size of the arena.
        graph: the model.
        plan: the arena plan.
        advice: ways to a smaller arena.

    """

    ops: tuple[OpCost, ...]
    macs: int
    weight_bytes: int
    packed_bytes: int | None
    arena_bytes: int
    graph: Graph
    plan: ArenaPlan
    advice: tuple[Advice, ...] = ()


def inspect_model(
    model: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    core: str = "cortex-m4",
    by_rows: bool = False,
    input_rows: bool = False,
) -> Inspection:
    """What a model consists of and costs, without running it.

    Args:
        model: a .tflite or .onnx file.
        shapes: input name -> its shape, where the file leaves it open.
        core: whose kernels' scratch memory counts.
        by_rows: whether ops may run row by row, where that makes the arena smaller.
        input_rows: whether the input is pushed row by row.

    Raises:
        TinyrtError: the model cannot be read, its input cannot come row by row, or there is no
            such core.

    """
    from tinyrt.export import find_core

    isa = find_core(core).isa
    graph = open_model(model, shapes=shapes)
    if input_rows:
        plan = plan_pushed(graph, isa)
    else:
        plan = plan_streamed(graph, isa) if by_rows else plan_memory(graph, isa)
    ops = tuple(
        OpCost(
            name=node.name,
            op=node.op,
            macs=OPS[node.op].macs(node),
            output_shape=node.output.shape,
            arena_bytes=plan.alive_bytes(node.index),
        )
        for node in graph.bound()
    )
    return Inspection(
        ops=ops,
        macs=sum(op.macs for op in ops),
        weight_bytes=sum(v.nbytes for v in graph.values.values() if v.is_constant),
        packed_bytes=_packed_bytes(graph),
        arena_bytes=plan.arena_bytes,
        graph=graph,
        plan=plan,
        advice=tuple(advise(graph, isa, plan)),
    )


def _packed_bytes(graph: Graph) -> int | None:
    interpreter = Interpreter.from_graph(graph)
    try:
        interpreter.allocate_tensors()
    except TinyrtError:
        return None
    return interpreter.packed_bytes


def run_emulated(
    model: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    board: str | None = None,
    inputs: Data | None = None,
    samples: int = 4,
    by_rows: bool = False,
    input_rows: bool = False,
    memories: Memories | None = None,
    profile: bool = False,
    build_dir: str | Path | None = None,
    progress: Progress | None = None,
) -> EmulationReport:
    """Build the model's C code, run it in the emulator, and compare with the host's answers.

    Args:
        model: a quantised .tflite file.
        core: the processor core; ``host`` runs the C code on this machine.
        optimize: what the code is made for: ``speed``, ``balanced`` or ``size``.
        board: the emulated board; the core's own one by default.
        inputs: what to run, as for ``evaluate``; seeded random inputs by default.
        samples: how many random inputs to run where none are given.
        by_rows: whether ops may run row by row, where that makes the arena smaller.
        input_rows: whether the input is pushed row by row.
        memories: which memory there is and what lies in it; one arena for all by default.
        profile: whether to count every op's instructions, too.
        build_dir: where to keep the project and its image; a temporary folder by default.
        progress: called with the samples done and their total.

    Raises:
        ToolError: the cross-compiler or the emulator is missing or failed.
        TinyrtError: the model cannot be exported, or the inputs do not fit it.

    """
    from tinyrt.emulate import run_emulated as run

    graph = open_model(model, optimise=False)
    host = Model(graph, file=str(model))
    if inputs is None:
        feeds = random_inputs(graph, samples)
    else:
        with error_context(file=_file_of(inputs)):
            feeds = host.stored_inputs(_as_inputs(inputs))
    expected = host.run_raw(feeds)
    with tempfile.TemporaryDirectory() as scratch:
        return run(
            model,
            core=core,
            optimize=optimize,
            board=board,
            inputs=feeds,
            expected=expected,
            by_rows=by_rows,
            input_rows=input_rows,
            memories=memories,
            profile=profile,
            build_dir=build_dir or scratch,
            progress=progress,
        )


def random_inputs(graph: Graph, samples: int, seed: int = 0) -> dict[str, Array]:
    """Seeded random inputs over the whole range of each input's dtype, samples first."""
    rng = np.random.default_rng(seed)
    feeds: dict[str, Array] = {}
    for value in map(graph.value, graph.fed):
        shape = (samples, *value.shape[1:])
        if value.dtype is DType.INT8:
            feeds[value.name] = rng.integers(-128, 128, shape, np.int8)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(value.dtype.numpy)
    return feeds


def _as_inputs(data: Data) -> dict[str, Array]:
    if isinstance(data, str | Path):
        return load_inputs(data)
    return dict(data) if isinstance(data, Mapping) else {"x": data}


def _file_of(data: object) -> str | None:
    return str(data) if isinstance(data, str | Path) else None


def _require_float(inputs: dict[str, Array]) -> dict[str, Array]:
    """The calibration inputs as they are.

    Raises:
        DataError: they are not real values.

    """
    for name, array in inputs.items():
        if array.dtype.kind != "f":
            raise DataError(
                f"calibration input '{name}' has dtype {array.dtype}",
                expected="float values as the float model takes them",
                hint="dequantise the data: (x - zero_point) * scale",
            )
    return inputs


def _layout_as(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Inputs as the converted model takes them: NCHW arrays become NHWC where only that fits."""
    if len(inputs) == 1 and len(graph.fed) == 1:
        inputs = {graph.fed[0]: next(iter(inputs.values()))} if set(inputs) == {"x"} else inputs
    return {
        name: _to_nhwc(array, graph.values[name].shape) if name in graph.inputs else array
        for name, array in inputs.items()
    }


def _to_nhwc(array: Array, shape: Shape) -> Array:
    fits = array.shape[1:] == shape[1:]
    if not fits and array.ndim == len(shape) == 4:
        turned = array.transpose(0, 2, 3, 1)
        if turned.shape[1:] == shape[1:]:
            return np.ascontiguousarray(turned)
    return array


__all__ = [
    "Evaluation",
    "Inspection",
    "OpCost",
    "Stream",
    "convert_model",
    "debug_model",
    "evaluate",
    "inspect_model",
    "is_quantised",
    "open_model",
    "profile_model",
    "quantize_model",
    "random_inputs",
    "run_emulated",
]
