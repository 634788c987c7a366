"""Images per second of the zoo's models on a GPU, beside other runtimes and the CPU backends.

    TINYRT_ZOO=../shared python -m benchmarks.cuda [--seconds 2] [--model NAME] [-o results.json]

For each model and batch size, all engines run in one process and take turns. What cannot run on
this machine is listed with its reason. Prints Markdown; ``-o`` writes the figures as JSON, and
``--markdown docs/cuda.md`` puts a GPU's into that page: its own, or with ``--figures`` those of
runs before, for PyTorch takes minutes to tune itself to one model. With ``--check 10000`` it
compares that many random inputs per model with the CPU instead, bit for bit: on the GPU, or
without one with the generated code as C++ on the host.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.cuda_figures import HEADER, WHOLE, Row, publish, table, verdicts, write_figures
from benchmarks.cuda_peers import (
    Call,
    Engine,
    SkippedError,
    device_resident,
    onnxruntime,
    tinyrt,
    torch_compiled,
)
from tinyrt.backends.cuda.driver import Driver, open_driver
from tinyrt.backends.cuda.host import HostDevice
from tinyrt.backends.cuda.program import generate
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.errors import TinyrtError
from tinyrt.files import write_atomic
from tinyrt.interpreter import CUDA, load
from tinyrt.ops import OPS

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
BATCHES = (1, 64, 4096)
TURNS, SLOW = 3, 0.1
"""Of each engine; and seconds of a call that others do not disturb."""

TEST_SET = 10_000
"""Samples of a whole test set, as the public sets of these tasks have them."""

ENGINES = (
    Engine("tinyrt cuda", partial(tinyrt, CUDA), on_gpu=True, peer=False),
    Engine("tinyrt cuda, kernels alone", device_resident, on_gpu=True, peer=False),
    Engine(
        "onnxruntime CUDA, int8 QDQ", partial(onnxruntime, "CUDAExecutionProvider", "int8"), True
    ),
    Engine(
        "onnxruntime CUDA, float16", partial(onnxruntime, "CUDAExecutionProvider", "float16"), True
    ),
    Engine(
        "onnxruntime CUDA graph, float16",
        partial(onnxruntime, "CUDAExecutionProvider", "float16", graph=True),
        on_gpu=True,
    ),
    Engine("PyTorch float16, compiled", torch_compiled, on_gpu=True),
    Engine("tinyrt numba", partial(tinyrt, "numba"), peer=False),
    Engine("tinyrt native", partial(tinyrt, "native"), peer=False),
    Engine("onnxruntime CPU, int8 QDQ", partial(onnxruntime, "CPUExecutionProvider", "int8")),
    Engine("onnxruntime CPU, float32", partial(onnxruntime, "CPUExecutionProvider", "float32")),
)

GPU_PEERS = [engine.name for engine in ENGINES if engine.peer and engine.on_gpu]

PEAKS = {"H200": (1979e12, 5.5e12), "H100": (1979e12, 5.5e12), "A100": (624e12, 4.0e12)}
"""Device name -> int8 operations per second of its tensor cores, dense, by the maker's data sheet,
and bytes per second from L2, as microbenchmarks in the literature have them."""


@dataclass(frozen=True)
class Traffic:
    """What one inference moves at least.

    Attributes:
        macs: multiply-accumulates.
        l2: bytes of constants and ports.
        shared: bytes of activations that ops read and write, each once.

    """

    macs: int
    l2: float
    shared: int

    @classmethod
    def of(cls, path: Path) -> Traffic:
        """By the model and its device code."""
        graph = read_tflite(path)
        program = generate(graph)
        ports = sum(port.nbytes for port in (*program.inputs, *program.outputs))
        values = [v for n in graph.bound() for v in (*n.inputs, *n.outputs) if v is not None]
        return cls(
            sum(OPS[n.op].macs(n) for n in graph.bound()),
            program.weights.nbytes / program.samples + ports,
            sum(v.nbytes for v in values if not v.is_constant),
        )


def measure(calls: dict[str, Call], seconds: float) -> dict[str, float]:
    """Seconds per call, per engine: medians over turns that engines take.

    Before each turn of a fast engine there is a call that does not count, for another engine's
    threads may still be looking for work.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            if not times[name] or times[name][-1] < SLOW:
                call()
            until = time.perf_counter() + seconds / TURNS
            while True:
                start = time.perf_counter()
                call()
                end = time.perf_counter()
                times[name].append(end - start)
                if end >= until:
                    break
    return {name: float(np.median(taken)) for name, taken in times.items()}


def open_engines(models: Path, name: str, batch: int) -> tuple[dict[str, Call], set[str]]:
    """The engines that run here, and why others do not."""
    calls: dict[str, Call] = {}
    skipped: set[str] = set()
    for engine in ENGINES:
        try:
            call = engine.open(models, name, batch)
            call()
        except SkippedError as reason:
            skipped.add(f"{engine.name}: {reason}")
        except Exception as error:
            # Whatever another package raises is no reason to lose the figures of all engines.
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            skipped.add(f"{engine.name} FAILED on {name}, batch {batch}: {first}")
        else:
            calls[engine.name] = call
    return calls, skipped


def row_of(
    model: str, batch: int, engine: Engine, taken: float, traffic: Traffic, gpu: Driver | None
) -> Row:
    """Figures of one engine; shares of the GPU's peaks for tinyrt's."""
    rate = batch / taken
    row = Row(model, batch, engine.name, rate, 1e6 * taken)
    peak = next((p for key, p in PEAKS.items() if gpu is not None and key in gpu.name), None)
    if peak is None or gpu is None or not engine.on_gpu or engine.peer:
        return row
    shared_peak = gpu.multiprocessors * 128 * gpu.clock_hz
    return Row(
        *(model, batch, engine.name, rate, 1e6 * taken),
        of_int8_peak=2 * traffic.macs * rate / peak[0],
        of_l2=traffic.l2 * rate / peak[1],
        of_shared=traffic.shared * rate / shared_peak,
    )


def bench(
    models: Path, name: str, seconds: float, gpu: Driver | None
) -> tuple[list[Row], set[str]]:
    """All engines on one model, at all batch sizes; and what was skipped."""
    rows: list[Row] = []
    skipped: set[str] = set()
    traffic = Traffic.of(models / f"{name}_int8.tflite")
    engines = {engine.name: engine for engine in ENGINES}
    for batch in BATCHES:
        calls, left_out = open_engines(models, name, batch)
        skipped |= left_out
        for engine_name, taken in measure(calls, seconds).items():
            rows.append(row_of(name, batch, engines[engine_name], taken, traffic, gpu))
    return rows, skipped


def evaluation(models: Path, name: str, gpu: Driver | None) -> list[Row]:
    """A whole test set in host memory to its outputs, by ``tinyrt.load``."""
    rows = []
    for backend in ([CUDA] if gpu is not None else []) + ["numba", "native"]:
        model = load(models / f"{name}_int8.tflite", backend=backend)
        shape = (TEST_SET, *model.graph.input_values[0].shape[1:])
        x = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
        model.allocate(TEST_SET)
        model(x)
        start = time.perf_counter()
        model(x)
        taken = time.perf_counter() - start
        engine = f"tinyrt {backend}{WHOLE}"
        rows.append(Row(name, TEST_SET, engine, TEST_SET / taken, 1e6 * taken))
    return rows


def check(models: Path, name: str, samples: int, gpu: Driver | None) -> str:
    """Random inputs on the device code against the CPU, bit for bit."""
    path = models / f"{name}_int8.tflite"
    expected_by = load(path)
    x = np.random.default_rng(7).integers(
        -128, 128, (samples, *expected_by.graph.input_values[0].shape[1:])
    )
    raw = x.astype(np.int8)
    expected = expected_by(raw)
    if gpu is not None:
        found, where = load(path, backend=CUDA)(raw), gpu.name
    else:
        program = generate(read_tflite(path))
        device = HostDevice(program, flags=("-O3", "-march=native"))
        outputs = device.run({program.inputs[0].name: raw}, samples)
        found, where = outputs[program.outputs[0].name].view(np.int8), "the host, as C++"
    wrong = int((found.reshape(samples, -1) != expected.reshape(samples, -1)).any(axis=1).sum())
    return f"{name}: {samples - wrong:,} of {samples:,} random inputs bit-exact on {where}"


def find_gpu() -> tuple[Driver | None, str]:
    """The GPU, or why there is none."""
    try:
        gpu = open_driver()
    except TinyrtError as error:
        return None, f"no GPU: {error.problem}"
    return gpu, f"GPU: {gpu.name}, {gpu.arch}, {gpu.multiprocessors} multiprocessors"


def main(arguments: list[str] | None = None) -> None:
    """Measure or check, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zoo", type=Path, default=os.environ.get("TINYRT_ZOO", "../shared"))
    parser.add_argument("--seconds", type=float, default=1.0, help="per engine and batch size")
    parser.add_argument("--model", action="append", choices=MODELS, help="one of the zoo's")
    parser.add_argument("--check", type=int, metavar="N", help="compare N random inputs instead")
    parser.add_argument("-o", "--output", type=Path, help="JSON file to write")
    parser.add_argument("--markdown", type=Path, help="page to put a GPU's figures into")
    parser.add_argument(
        "--figures", type=Path, nargs="+", help="JSON files of -o to put there, nothing is measured"
    )
    options = parser.parse_args(arguments)
    if options.figures:
        if not options.markdown:
            parser.error("--figures needs the page to put them into: --markdown PAGE")
        publish(options.markdown, options.figures, GPU_PEERS)
        return
    models, names = Path(options.zoo) / "models", options.model or MODELS
    gpu, which = find_gpu()
    print(which, flush=True)
    if options.check:
        for name in names:
            print(check(models, name, options.check, gpu), flush=True)
        return
    if options.markdown and gpu is None:
        parser.error(f"--markdown needs a GPU's figures; {which}")
    rows: list[Row] = []
    skipped: set[str] = set()
    print(HEADER)
    for name in names:
        found, left_out = bench(models, name, options.seconds, gpu)
        found += evaluation(models, name, gpu)
        print("\n".join(table(found)), flush=True)
        rows += found
        skipped |= left_out
    notes = [*verdicts(rows, GPU_PEERS), *(f"skipped: {reason}" for reason in sorted(skipped))]
    print("\n".join(notes))
    if options.output:
        data = {"device": which, "rows": [asdict(row) for row in rows], "skipped": sorted(skipped)}
        write_atomic(options.output, lambda file: file.write(json.dumps(data, indent=1).encode()))
    if options.markdown:
        write_figures(options.markdown, which, rows, GPU_PEERS, skipped)


if __name__ == "__main__":
    main()
