"""The Python interface: each function mirrors a command."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tinyrt.api_inputs import Array, Data, as_inputs, file_of, layout_as, require_float, running
from tinyrt.convert.passes.targets import lower_for
from tinyrt.convert.streaming import stream as stream_graph
from tinyrt.convert.tflite_writer import save_tflite
from tinyrt.data import LABELS, load_npz
from tinyrt.errors import (
    UnsupportedError,
    error_context,
)
from tinyrt.inspection import Inspection, OpCost, inspect_model
from tinyrt.interpreter import DEFAULT_BACKEND, MAX_MEMORY, Interpreter
from tinyrt.interpreter.model import Model, Progress
from tinyrt.interpreter.profile import OpTime, profile
from tinyrt.ir import DType, Graph, RewriteLog, Shape
from tinyrt.memory import schedule
from tinyrt.metrics import Evaluation, evaluate_graph
from tinyrt.reading import is_quantised, open_model

if TYPE_CHECKING:
    from tinyrt.emulate import EmulationReport
    from tinyrt.export import Memories
    from tinyrt.quantize import QuantConfig
    from tinyrt.quantize.bisect import BisectReport
    from tinyrt.quantize.budget import Budget
    from tinyrt.quantize.debug import DebugReport
    from tinyrt.quantize.mixed import MixedReport
    from tinyrt.quantize.samples import Samples


def convert_model(
    model: str | Path,
    output: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    keep_layout: bool = False,
    stream: Stream | None = None,
    passes: Collection[str] | None = None,
    skip_passes: Collection[str] = (),
    target: str | None = None,
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
        target: write a float model in ops that this runtime has: ``tflm``.
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
        if target is not None and not is_quantised(graph):
            graph = lower_for(graph, target, log)
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
        config: schemes and methods; by default those of ``tinyrt quantize``.
        progress: called with the samples done and their total.

    Returns:
        The graph that was written.

    Raises:
        DataError: the calibration data do not fit the model.
        TinyrtError: the model cannot be read or quantised, or the file cannot be written.

    """
    from tinyrt.quantize import quantize_graph

    graph = _float_model(model, shapes)
    with error_context(file=file_of(calibration)):
        batches = _batches(graph, calibration) if calibration is not None else None
        quantised = quantize_graph(graph, batches, config, progress)
    quantised = schedule(quantised)
    save_tflite(quantised, output)
    return quantised


def quantize_within(
    model: str | Path,
    calibration: Samples,
    output: str | Path,
    budget: Budget,
    *,
    data: Data | None = None,
    labels: Array | None = None,
    shapes: Mapping[str, Shape] | None = None,
    config: QuantConfig | None = None,
    progress: Progress | None = None,
) -> MixedReport:
    """Quantise a float model so that its size and accuracy hold a budget, layer by layer.

    Args:
        model: a float .onnx or .tflite model.
        calibration: as for ``quantize_model``.
        output: the .tflite file to write.
        budget: what must hold.
        data: what accuracy is measured on: an .npz file with ``x`` and ``y``, or arrays. By
            default the calibration file where that is an .npz, else the first of its samples.
        labels: class indices, where ``data`` does not hold them.
        shapes: input name -> shape, for dimensions that the model leaves open.
        config: schemes and methods; by default preset ``best``.
        progress: called with what is done and the total, of one part of the work after the other.

    Returns:
        What was chosen for every layer, and why.

    Raises:
        BudgetError: no mix holds the budget.
        DataError: the data do not fit the model, or labels are missing.
        TinyrtError: the model cannot be read or quantised, or the file cannot be written.

    """
    from tinyrt.quantize import PRESETS, Preset
    from tinyrt.quantize.budget import Judge
    from tinyrt.quantize.mixed import quantize_within as within

    graph = _float_model(model, shapes)
    if data is None and isinstance(calibration, str | Path) and Path(calibration).suffix == ".npz":
        data = calibration
    judge = None
    if data is not None:
        with error_context(file=file_of(data)):
            labels = _labels(data) if labels is None else labels
            judge = Judge(graph, _float_inputs(graph, data), labels)
    with error_context(file=str(model)):
        batches = _batches(graph, calibration)
        config = config or PRESETS[Preset.BEST]
        quantised, report = within(graph, batches, config, budget, judge, progress)
    save_tflite(schedule(quantised), output)
    return report


def _float_model(model: str | Path, shapes: Mapping[str, Shape] | None) -> Graph:
    """The optimised model, which must be one that can be quantised."""
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
    return graph


def _batches(graph: Graph, calibration: Samples) -> Iterator[dict[str, Array]]:
    """The calibration samples as the model takes them, read when they are asked for."""
    from tinyrt.quantize.samples import read_batches

    return (layout_as(graph, require_float(batch)) for batch in read_batches(calibration))


def _labels(data: Data) -> Array | None:
    return load_npz(data).get(LABELS) if isinstance(data, str | Path) else None


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
        quantised: the quantised .tflite made from it.
        data: an .npz file with ``x``, an array, or arrays by input name; float, samples first.
        progress: called with the layers done and their total.

    Raises:
        DataError: the data do not fit, or the models have nothing in common.
        UnsupportedError: the first model is not float or the second not quantised.

    """
    from tinyrt.quantize.debug import debug_graphs

    graph, other = open_model(model), open_model(quantised)
    inputs = _float_inputs(graph, data)
    with error_context(file=str(quantised)):
        return debug_graphs(graph, other, inputs, progress)


def bisect_model(
    model: str | Path,
    quantised: str | Path,
    data: Data,
    *,
    labels: Array | None = None,
    target: Budget | None = None,
    progress: Progress | None = None,
) -> BisectReport:
    """Which layers of a quantised model, kept in int16x8 or float, win its accuracy back.

    Args:
        model: the float .onnx or .tflite model.
        quantised: the quantised .tflite made from it.
        data: as for ``debug_model``; with labels ``y``, accuracy is what counts.
        labels: class indices, where ``data`` does not hold them.
        target: the accuracy or SQNR to win back; by default within 1 % of the float model's
            accuracy, or 40 dB without labels.
        progress: called with the models measured and how many there may be.

    Raises:
        DataError: the data do not fit, or the models have nothing in common.
        UnsupportedError: the first model is not float or the second not quantised.

    """
    from tinyrt.quantize.bisect import bisect

    graph, other = open_model(model), open_model(quantised)
    inputs = _float_inputs(graph, data)
    labels = _labels(data) if labels is None else labels
    with error_context(file=str(quantised)):
        return bisect(graph, other, inputs, labels, target, progress)


def _float_inputs(graph: Graph, data: Data) -> dict[str, Array]:
    with error_context(file=file_of(data)):
        return require_float(layout_as(graph, as_inputs(data)))


def evaluate(
    model: str | Path,
    data: Data,
    *,
    labels: Array | None = None,
    against: str | Path | None = None,
    backend: str = DEFAULT_BACKEND,
    max_memory: int = MAX_MEMORY,
    progress: Progress | None = None,
) -> Evaluation:
    """Accuracy of a model on data, and its distance from another model.

    Args:
        model: .tflite or .onnx.
        data: an .npz file with ``x`` and, where there are labels, ``y``; or arrays.
        labels: class indices, where ``data`` does not hold them.
        against: a model to compare with, usually the float one.
        backend: the interpreter's backend.
        max_memory: bytes that activations may take.
        progress: called with the samples done and their total.

    Raises:
        DataError: data or labels do not fit the model.
        BudgetError: the model asks for more memory.

    """
    graph = open_model(model)
    other = open_model(against) if against is not None else None
    with running(model, data):
        labels = _labels(data) if labels is None else labels
        inputs = layout_as(graph, as_inputs(data))
        return evaluate_graph(
            graph,
            inputs,
            labels,
            other,
            backend=backend,
            max_memory=max_memory,
            progress=progress,
        )


def run_model(
    model: str | Path,
    inputs: Data,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int = MAX_MEMORY,
    progress: Progress | None = None,
) -> dict[str, Array]:
    """Outputs of a model by name: real values for float inputs, raw ones for int8 inputs.

    The arguments and errors are those of ``run_with_backend``.
    """
    ran = run_with_backend(model, inputs, backend=backend, max_memory=max_memory, progress=progress)
    return ran.outputs


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a model.

    Attributes:
        outputs: by name, samples first.
        backend: what ran it; where ``auto`` was asked for, what that chose.

    """

    outputs: dict[str, Array]
    backend: str


def run_with_backend(
    model: str | Path,
    inputs: Data,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int = MAX_MEMORY,
    progress: Progress | None = None,
) -> Run:
    """Outputs of a model as ``run_model`` gives them, and what computed them.

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
    with running(model, inputs):
        runner = Model(graph, backend=backend, max_memory=max_memory)
        outputs = runner.run(layout_as(graph, as_inputs(inputs)), progress)
        return Run(outputs, runner.backend)


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


def run_emulated(
    model: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    board: str | None = None,
    inputs: Data | None = None,
    samples: int = 4,
    max_arena: int | None = None,
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
        max_arena: bytes that the arena may take; ops run row by row where they must.
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
        with error_context(file=file_of(inputs)):
            feeds = host.stored_inputs(as_inputs(inputs))
    expected = host.run_raw(feeds)
    with tempfile.TemporaryDirectory() as scratch:
        return run(
            model,
            core=core,
            optimize=optimize,
            board=board,
            inputs=feeds,
            expected=expected,
            max_arena=max_arena,
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
        if value.dtype in (DType.INT8, DType.UINT8):
            limits = np.iinfo(value.dtype.numpy)
            feeds[value.name] = rng.integers(limits.min, limits.max + 1, shape, limits.dtype)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(value.dtype.numpy)
    return feeds


__all__ = [
    "Evaluation",
    "Inspection",
    "OpCost",
    "Stream",
    "bisect_model",
    "convert_model",
    "debug_model",
    "evaluate",
    "inspect_model",
    "is_quantised",
    "open_model",
    "profile_model",
    "quantize_model",
    "quantize_within",
    "random_inputs",
    "run_emulated",
    "run_model",
    "run_with_backend",
]
