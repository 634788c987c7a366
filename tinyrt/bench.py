"""How fast a model runs on this host, beside other runtimes: interleaved, so that ratios hold."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.api import random_inputs
from tinyrt.bench_peak import peak_macs_per_second
from tinyrt.entry import entry
from tinyrt.errors import DataError, ToolError, error_context
from tinyrt.interpreter import AUTO, BACKENDS, DEFAULT_BACKEND, Interpreter, Model
from tinyrt.interpreter.split import cores
from tinyrt.ops import OPS
from tinyrt.text import closest
from tinyrt.tools import run_tool

BATCH = 256
BURST_S = 0.002
"""How long one engine runs before it is the next one's turn."""
COLD_STARTS = 3
BATCH_ROUNDS = 8

Array = NDArray[Any]
Progress = Callable[[int, int], None]

_COLD = """
import sys, time
begin = time.perf_counter()
import numpy
{imports}
interpreter = {open}
interpreter.allocate_tensors()
for given in interpreter.get_input_details():
    interpreter.set_tensor(given["index"], numpy.zeros(given["shape"], given["dtype"]))
interpreter.invoke()
print(time.perf_counter() - begin)
"""


@dataclass(frozen=True, slots=True)
class Latency:
    """Microseconds per inference of one sample on one thread."""

    median: float
    p90: float


@dataclass(frozen=True, slots=True)
class Result:
    """What one engine needs.

    Attributes:
        engine: its name.
        latency_us: of single inferences.
        cold_start_ms: from starting to import it to the first answer, in a new process.
        samples_per_second: on batches of ``BATCH``, with all cores.
        samples_per_second_one_thread: the same on one core.
        macs_per_second: multiply-accumulates in single inferences.
        share_of_peak: of what one thread of this processor can multiply in int8; None where that
            cannot be measured.
        ratio: its median latency over the first engine's.

    """

    engine: str
    latency_us: Latency
    cold_start_ms: float
    samples_per_second: float
    samples_per_second_one_thread: float
    macs_per_second: float
    share_of_peak: float | None
    ratio: float


@dataclass(frozen=True, slots=True)
class _Engine:
    """One runtime: how it opens a model, and how it runs a batch of samples on some threads.

    A sample is what one inference takes, of as many rows as the model has.
    """

    name: str
    imports: str
    expression: str
    """Opens the model at ``sys.argv[1]``, in the words of ``imports``."""
    open: Callable[[str], Any]
    run_batch: Callable[[str, Array, int], Callable[[], object]]

    def cold_start(self, path: str) -> float:
        """Seconds in a new process, the least of a few."""
        code = _COLD.format(imports=self.imports, open=self.expression)
        command = [sys.executable, "-c", code, path]
        times = []
        for _ in range(COLD_STARTS):
            process = run_tool(command)
            if process.status:
                raise ToolError(
                    f"{self.name} does not start:\n{process.last_words}",
                    expected="a package that opens the model in a new process",
                )
            times.append(float(process.out))
        return min(times)


@entry
def bench_model(
    path: str | Path,
    *,
    against: Sequence[str] = ("litert",),
    backends: Sequence[str] = (DEFAULT_BACKEND,),
    onnx: str | Path | None = None,
    seconds: float = 1.0,
    progress: Progress | None = None,
) -> list[Result]:
    """Measure tinyrt's backends and other engines on random inputs, in turn.

    Args:
        path: a .tflite model with one input, beside states that it keeps.
        against: names of ``PEERS``; each needs its package.
        backends: tinyrt's backends.
        onnx: the model's ONNX form, which ``onnxruntime`` runs on random inputs.
        seconds: how long each engine's single inferences are timed in all.
        progress: called with the rounds done and their total.

    Raises:
        ToolError: a peer's package is not installed.
        DataError: a name is unknown, or the model has several inputs.

    """
    engines = [_tinyrt(backend) for backend in backends]
    engines += [engine for name in against for engine in peers(name, onnx)]
    peak = peak_macs_per_second()
    graph = Interpreter(path).graph
    if len(graph.fed) != 1:
        raise DataError(f"the model has {len(graph.fed)} inputs", expected="one input")
    (name,) = graph.fed
    rows = random_inputs(graph, BATCH)[name]
    batch = rows.reshape(BATCH, -1, *rows.shape[1:])
    macs = sum(OPS[node.op].macs(node) for node in graph.bound())
    with error_context(file=str(path)):
        times = _latencies(engines, str(path), batch[0], seconds, progress)
        medians = [float(np.median(t)) for t in times]
        all_cores, one_core = (
            _throughputs(engines, str(path), batch, threads) for threads in (cores(), 1)
        )
        return [
            Result(
                engine=engine.name,
                latency_us=Latency(1e6 * medians[i], 1e6 * float(np.quantile(t, 0.9))),
                cold_start_ms=1e3 * engine.cold_start(str(path)),
                samples_per_second=all_cores[i],
                samples_per_second_one_thread=one_core[i],
                macs_per_second=macs / medians[i],
                share_of_peak=None if peak is None else macs / medians[i] / peak,
                ratio=medians[i] / medians[0],
            )
            for i, (engine, t) in enumerate(zip(engines, times, strict=True))
        ]


def _latencies(
    engines: Sequence[_Engine], path: str, x: Array, seconds: float, progress: Progress | None
) -> list[list[float]]:
    """Seconds of single inferences, per engine; engines take turns of ``BURST_S``."""
    runs = [_ready(engine.open(path), x) for engine in engines]
    rounds = max(3, round(seconds / BURST_S))
    times: list[list[float]] = [[] for _ in engines]
    for round_index in range(rounds):
        for run, samples in zip(runs, times, strict=True):
            until = time.perf_counter() + BURST_S
            now = 0.0
            while now < until:
                start = time.perf_counter()
                run()
                now = time.perf_counter()
                samples.append(now - start)
        if progress is not None:
            progress(round_index + 1, rounds)
    return times


def _ready(interpreter: Any, x: Array) -> Callable[[], None]:
    """The interpreter's ``invoke``, allocated, with its input set, warm."""
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    invoke: Callable[[], None] = interpreter.invoke
    return invoke


def _throughputs(engines: Sequence[_Engine], path: str, batch: Array, threads: int) -> list[float]:
    """Samples per second, per engine: the best of a few rounds in which each has its turn."""
    runs = [engine.run_batch(path, batch, threads) for engine in engines]
    best = [float("inf")] * len(runs)
    for _ in range(BATCH_ROUNDS):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
    return [len(batch) / seconds for seconds in best]


def _tinyrt(backend: str) -> _Engine:
    if backend not in (*BACKENDS, AUTO):
        expected = ", ".join((*BACKENDS, AUTO))
        near = closest(backend, (*BACKENDS, AUTO))
        raise DataError(f"there is no backend '{backend}'", expected=expected, hint=near)

    def run_batch(path: str, batch: Array, threads: int) -> Callable[[], object]:
        model = Model(Interpreter(path).graph, backend=backend, num_threads=threads)
        return partial(model, batch.reshape(-1, *batch.shape[2:]))

    return _Engine(
        f"tinyrt {backend}",
        "from tinyrt.interpreter import Interpreter",
        f"Interpreter(sys.argv[1], backend='{backend}')",
        lambda path: Interpreter(path, backend=backend),
        run_batch,
    )


PEERS: dict[str, dict[str, str]] = {
    "litert": {
        "LiteRT XNNPACK": "AUTO",
        "LiteRT built-in": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    },
    "litert-reference": {"LiteRT reference": "BUILTIN_REF"},
}
"""What can be compared with: name -> engines, each with LiteRT's name of its kernels."""


ONNXRUNTIME = "onnxruntime"


def peers(name: str, onnx: str | Path | None = None) -> list[_Engine]:
    """The engines of a name that ``bench_model`` takes; raises as it does."""
    if name == ONNXRUNTIME:
        return [_onnxruntime(onnx)]
    if name not in PEERS:
        raise DataError(f"there is no engine '{name}'", expected=", ".join((*PEERS, ONNXRUNTIME)))
    if find_spec("ai_edge_litert") is None:
        raise ToolError(
            f"'{name}' needs the package ai-edge-litert", hint="pip install ai-edge-litert"
        )
    return [_litert(label, resolver) for label, resolver in PEERS[name].items()]


def _litert(label: str, resolver: str) -> _Engine:
    def open_model(path: str) -> Any:
        import ai_edge_litert.interpreter as litert

        kernels = getattr(litert.OpResolverType, resolver)
        return litert.Interpreter(path, num_threads=1, experimental_op_resolver_type=kernels)

    def run_batch(path: str, batch: Array, threads: int) -> Callable[[], object]:
        """One interpreter per thread, sample by sample: the fastest way to feed LiteRT."""
        interpreters = [open_model(path) for _ in range(threads)]
        for interpreter in interpreters:
            interpreter.allocate_tensors()
        pool = ThreadPoolExecutor(threads)
        parts = np.array_split(batch, threads)
        return lambda: list(pool.map(_loop, interpreters, parts))

    return _Engine(
        label,
        "import ai_edge_litert.interpreter as litert",
        "litert.Interpreter(sys.argv[1], num_threads=1, experimental_op_resolver_type="
        f"litert.OpResolverType.{resolver})",
        open_model,
        run_batch,
    )


def _onnxruntime(onnx: str | Path | None) -> _Engine:
    if onnx is None:
        raise DataError(
            "onnxruntime runs ONNX models only",
            hint="pass the model's ONNX form: tinyrt bench MODEL.tflite --onnx MODEL.onnx",
        )
    if find_spec("onnxruntime") is None:
        raise ToolError("the package onnxruntime is not installed", hint="pip install onnxruntime")
    file = str(onnx)

    def run_batch(path: str, batch: Array, threads: int) -> Callable[[], object]:
        """One session per thread, sample by sample."""
        del path
        sessions = [OrtSession(file) for _ in range(threads)]
        pool = ThreadPoolExecutor(threads)
        counts = [len(part) for part in np.array_split(batch, threads)]
        return lambda: list(pool.map(OrtSession.repeat, sessions, counts))

    return _Engine(
        f"onnxruntime, {Path(file).name}",
        "from tinyrt.bench import OrtSession",
        f"OrtSession({file!r})",
        lambda path: OrtSession(file),
        run_batch,
    )


class OrtSession:
    """An ONNX model in onnxruntime on one thread, with an interpreter's methods.

    It has random inputs of its own: its layout and dtype may differ from the .tflite model's.
    """

    def __init__(self, path: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(path, options)
        rng = np.random.default_rng(0)
        self._feeds = {
            port.name: rng.normal(size=[n if isinstance(n, int) else 1 for n in port.shape])
            .clip(0 if "int" in port.type else -np.inf)
            .astype("f4" if port.type == "tensor(float)" else port.type[len("tensor(") : -1])
            for port in self._session.get_inputs()
        }

    def get_input_details(self) -> list[dict[str, Any]]:
        """The entry that ``set_tensor`` takes its index from."""
        return [{"index": 0, "shape": (1,), "dtype": np.float32}]

    def allocate_tensors(self) -> None:
        """Nothing: the session is ready."""

    def set_tensor(self, index: int, value: Array) -> None:
        """Nothing: the session has inputs of its own."""

    def invoke(self) -> None:
        """Run the model once."""
        self._session.run(None, self._feeds)

    def repeat(self, count: int) -> None:
        """Run it that often."""
        for _ in range(count):
            self.invoke()


def _loop(interpreter: Any, samples: Array) -> list[Array]:
    input_index = interpreter.get_input_details()[0]["index"]
    output_index = interpreter.get_output_details()[0]["index"]
    outputs = []
    for sample in samples:
        interpreter.set_tensor(input_index, sample)
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(output_index))
    return outputs
