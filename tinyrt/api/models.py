"""What a model answers: run, evaluated, timed and emulated; each mirrors a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinyrt.answering import here, shared_by
from tinyrt.api.inputs import Array, Data, labels_of, running, source_of
from tinyrt.api.layouts import warn_of_layout
from tinyrt.api.reading import open_model
from tinyrt.api.soonest import soonest_backend
from tinyrt.budget import current
from tinyrt.cluster.pieces import Crew
from tinyrt.data import InMemory
from tinyrt.entry import entry
from tinyrt.errors import DataError, error_context
from tinyrt.files import scratch_folder
from tinyrt.interpreter import DEFAULT_BACKEND, Interpreter
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.profile import OpTime, profile
from tinyrt.interpreter.progress import Progress
from tinyrt.ir import Graph
from tinyrt.metrics import Evaluation, evaluate_graph
from tinyrt.ops.shared.samples import random_inputs
from tinyrt.tools import EMULATOR_S

if TYPE_CHECKING:
    from tinyrt.emulate import EmulationReport, Timing
    from tinyrt.export import ExportOptions


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
    workers: int | None = 1,
    scheduler: Any = None,
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
        workers: processes of this machine that share the samples; None for one to each processor.
            All figures are the same, but ``samples_per_second``, which is of one process.
        scheduler: the address of a Dask scheduler, or a client of it, in place of these.

    Raises:
        DataError: data or labels do not fit the model.
        BudgetError: the model asks for more memory.
        ToolError: Dask is missing, or a worker failed.
        UnsupportedError: a model that keeps state is to be shared.

    """
    crew = Crew.of(workers, scheduler)
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
            judging=here if crew is None else shared_by(crew),
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
    backend: str | None = DEFAULT_BACKEND,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Outputs of a model as from ``run_model``, and the backend that computed them.

    Args:
        model: .tflite or .onnx.
        inputs: an .npz file, an array, or arrays by input name; samples first.
        backend: the interpreter's backend; None for the one that answers soonest where a program
            runs one model once: see ``tinyrt.api.soonest``.
        max_memory: bytes that model and data may cost; by default 640 MiB and 8 times the files
            that are read.
        progress: called with the samples done and their total.

    Raises:
        DataError: the inputs do not fit the model.
        BudgetError: the model asks for more memory.

    """
    graph = open_model(model)
    with running(model, inputs):
        source = source_of(graph, inputs)
        runner = Model(graph, backend=backend or soonest_backend(graph, source))
        outputs = runner.run_source(source, progress)
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
    options: ExportOptions | None = None,
    board: str | None = None,
    inputs: Data | None = None,
    samples: int = 4,
    profile: bool = False,
    cycles: Timing | None = None,
    build_dir: str | Path | None = None,
    gdb: int | None = None,
    timeout_s: float = EMULATOR_S,
    progress: Progress | None = None,
    workers: int | None = 1,
    scheduler: Any = None,
) -> EmulationReport:
    """Build the model's C code, run it in the emulator, and compare with the host's answers.

    Args:
        model: a quantised .tflite file.
        core: the processor core; ``host`` runs the C code on this machine.
        optimize: what the code is made for: ``speed``, ``balanced`` or ``size``.
        options: of the export: ``max_arena``, ``by_rows``, ``input_rows``, ``memories``,
            ``slices`` and ``blob``. In slices, the report says how many instructions each takes.
        board: the emulated board; the core's own one by default.
        inputs: what to run, as for ``evaluate``; seeded random inputs by default.
        samples: how many random inputs to run where none are given.
        profile: whether to count every op's instructions, too.
        cycles: what cycles depend on besides the core, ``tinyrt.emulate.Timing()`` for flash
            without wait states; None to count instructions only.
        build_dir: where to keep the project and its image; a temporary folder by default.
        gdb: the port of this machine at which a debugger is waited for; None without one.
        timeout_s: when to give up on the emulator, in seconds.
        progress: called with the samples done and their total.
        workers: processes of this machine that boot the image, each with some samples; None for
            one to each processor. The report is the same.
        scheduler: the address of a Dask scheduler, ``tcp://host:8786``, or a client of it, in place
            of these.

    Raises:
        ToolError: the cross-compiler or the emulator is missing, failed or took too long.
        TinyrtError: the model cannot be exported, or the inputs do not fit it.

    """
    from tinyrt.emulate import run_emulated as run
    from tinyrt.export import ExportOptions

    feeds, expected = compared_inputs(model, inputs, samples)
    with scratch_folder() as scratch:
        return run(
            model,
            core=core,
            optimize=optimize,
            board=board,
            inputs=feeds,
            expected=expected,
            options=options or ExportOptions(),
            profile=profile,
            cycles=cycles,
            build_dir=build_dir or scratch,
            gdb=gdb,
            timeout_s=timeout_s,
            progress=progress,
            crew=Crew.of(workers, scheduler),
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
    if inputs is None:
        feeds = random_inputs(graph, samples)
        host = Model(graph, backend=soonest_backend(graph, InMemory(feeds)))
    else:
        with running(model, inputs):
            source = source_of(graph, inputs)
            host = Model(graph, backend=soonest_backend(graph, source))
            feeds = host.stored_source(source)
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
