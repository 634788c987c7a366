"""The Python interface: each function mirrors a command."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from tinyrt.api.inputs import Array, Data, labels_of, running, source_of
from tinyrt.api.layouts import warn_of_layout
from tinyrt.api.reading import lost_channels, open_model
from tinyrt.budget import current
from tinyrt.convert.channels.lost import LostChannels
from tinyrt.convert.over_time.windows import stream as stream_graph
from tinyrt.convert.passes.known import KNOWN_PASSES, apply_known
from tinyrt.convert.passes.targets import lower_for, require_target
from tinyrt.convert.tflite.lost import lost_entry
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.entry import entry
from tinyrt.errors import DataError, error_context
from tinyrt.files import scratch_folder
from tinyrt.interpreter import DEFAULT_BACKEND, Interpreter
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.profile import OpTime, profile
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import Graph, RewriteLog, Shape
from tinyrt.memory import schedule
from tinyrt.metrics import Evaluation, evaluate_graph
from tinyrt.ops.shared.samples import random_inputs
from tinyrt.tools import EMULATOR_S

if TYPE_CHECKING:
    from tinyrt.emulate import EmulationReport
    from tinyrt.export import Memories


@entry
def convert_model(
    model: str | Path,
    output: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    keep_layout: bool = False,
    sequence_lstm: bool = False,
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
        values: ONNX input name -> its elements, or one number for all of them; such inputs
            become constants.
        keep_layout: keep NCHW inputs and outputs instead of NHWC.
        sequence_lstm: keep an ONNX model's LSTMs whole where TFLite's op for sequences fits; other
            interpreters must reset its state before each run.
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
        values=values,
        keep_layout=keep_layout,
        sequence_lstm=sequence_lstm,
        passes=passes,
        skip_passes=skip_passes,
        log=log,
    )
    lost: LostChannels = {}
    with error_context(file=str(model)):
        if graph.is_quantized:
            lost = lost_channels(model, graph)
            chosen = KNOWN_PASSES if passes is None else passes
            graph = apply_known(graph, frozenset(chosen) - frozenset(skip_passes), log, lost)
        if stream is not None:
            graph = stream_graph(graph, stream.axis, stream.hop, stream.input).graph
        if target is not None:
            require_target(target)
            if not graph.is_quantized:
                graph = lower_for(graph, target, log)
        graph = schedule(graph)
        save_tflite(graph, output, lost_entry(lost, graph))
    return graph


@dataclass(frozen=True, slots=True)
class Stream:
    """How a model is streamed over time; see ``tinyrt.convert.over_time.windows``.

    Attributes:
        axis: the input's dimension that is time.
        hop: new rows per inference.
        input: which input moves in time, where the model has several.

    """

    axis: int
    hop: int = 1
    input: str | None = None


@entry
def evaluate(
    model: str | Path,
    data: Data,
    *,
    labels: Array | None = None,
    against: str | Path | None = None,
    backend: str = DEFAULT_BACKEND,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Accuracy of a model on data, and its distance from another model.

    Args:
        model: .tflite or .onnx.
        data: an .npz file with ``x`` and, where there are labels, ``y``; or arrays.
        labels: class indices, where ``data`` does not hold them.
        against: a model to compare with, usually the float one.
        backend: the interpreter's backend.
        max_memory: bytes that model and data may cost; by default 640 MiB and 8 times the files
            that are read.
        progress: called with the samples done and their total.

    Raises:
        DataError: data or labels do not fit the model.
        BudgetError: the model asks for more memory.

    """
    graph = open_model(model)
    other = open_model(against) if against is not None else None
    warn_of_layout(model, graph)
    with running(model, data):
        labels = labels_of(data) if labels is None else labels
        return evaluate_graph(
            graph,
            source_of(graph, data),
            labels,
            other,
            backend=backend,
            progress=progress,
        )


def run_model(
    model: str | Path,
    inputs: Data,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int | None = None,
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
        backend: the backend that ran it; for ``auto``, the one that was chosen.

    """

    outputs: dict[str, Array]
    backend: str


@entry
def run_with_backend(
    model: str | Path,
    inputs: Data,
    *,
    backend: str = DEFAULT_BACKEND,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Outputs of a model as from ``run_model``, and the backend that computed them.

    Args:
        model: .tflite or .onnx.
        inputs: an .npz file, an array, or arrays by input name; samples first.
        backend: the interpreter's backend.
        max_memory: bytes that model and data may cost; by default 640 MiB and 8 times the files
            that are read.
        progress: called with the samples done and their total.

    Raises:
        DataError: the inputs do not fit the model.
        BudgetError: the model asks for more memory.

    """
    graph = open_model(model)
    with running(model, inputs):
        runner = Model(graph, backend=backend)
        outputs = runner.run_source(source_of(graph, inputs), progress)
        return Run(outputs, runner.backend)


@entry
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


@entry
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
    slices: int | None = None,
    blob: bool = False,
    memories: Memories | None = None,
    profile: bool = False,
    build_dir: str | Path | None = None,
    gdb: int | None = None,
    timeout_s: float = EMULATOR_S,
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
        slices: most instructions of a slice, as estimated; the model then runs slice by slice, and
            the report says how many each takes. None for inferences in one go.
        blob: whether constants lie in a blob, apart from the code.
        memories: which memory there is and what lies in it; one arena for all by default.
        profile: whether to count every op's instructions, too.
        build_dir: where to keep the project and its image; a temporary folder by default.
        gdb: the port of this machine at which a debugger is waited for; None without one.
        timeout_s: when to give up on the emulator, in seconds.
        progress: called with the samples done and their total.

    Raises:
        ToolError: the cross-compiler or the emulator is missing, failed or took too long.
        TinyrtError: the model cannot be exported, or the inputs do not fit it.

    """
    from tinyrt.emulate import run_emulated as run

    feeds, expected = compared_inputs(model, inputs, samples)
    with scratch_folder() as scratch:
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
            slices=slices,
            blob=blob,
            memories=memories,
            profile=profile,
            build_dir=build_dir or scratch,
            gdb=gdb,
            timeout_s=timeout_s,
            progress=progress,
        )


def compared_inputs(
    model: str | Path, inputs: Data | None, samples: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """What a device is to run, and what the host answers, one entry per run.

    Args:
        model: a quantised .tflite file.
        inputs: as for ``evaluate``; None for seeded random ones.
        samples: how many random inputs.

    Raises:
        DataError: the inputs do not fit the model.

    """
    graph = open_model(model, optimize=False)
    host = Model(graph)
    if inputs is None:
        feeds = random_inputs(graph, samples)
    else:
        with running(model, inputs):
            feeds = host.stored_source(source_of(graph, inputs))
            # All inputs are packed and written for the device at once.
            current().reserve(2 * sum(array.nbytes for array in feeds.values()), "packed inputs")
    expected = host.run_raw(feeds)
    return _apart(graph, feeds), _apart(graph, expected)


def _apart(graph: Graph, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays of rows along the first axis -> one entry per run, where a run has several rows.

    Raises:
        DataError: the last run is not whole.

    """
    runs: dict[str, Array] = {}
    for name, array in arrays.items():
        value = graph.value(name)
        rows = value.shape[0] if value.shape else 1
        if len(array) % rows:
            raise DataError(
                f"the data have {len(array)} rows",
                tensor=value.describe(),
                expected=f"a multiple of {rows}: the device runs the model with its own batch size",
            )
        runs[name] = array if rows == 1 else array.reshape(-1, *value.shape)
    return runs
