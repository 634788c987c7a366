"""Latency and throughput of the zoo's int8 models on this host, beside LiteRT.

    TINYRT_ZOO=../shared python benchmarks/host.py [--seconds 2] [--all] [-o results.json]
        [--models NAME ...]

For each model, all engines run in one process and take turns, so that a busy machine slows them
alike: read the ratios. Prints Markdown; ``-o`` writes the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tinyrt.bench import Result, bench_model, peers
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.files import write_atomic
from tinyrt.interpreter import BACKENDS, DEFAULT_BACKEND
from tinyrt.interpreter.split import cores
from tinyrt.metrics import evaluate_graph

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
HEADER = (
    "| model | engine | µs, median | p90 | over XNNPACK | GMAC/s | of peak "
    "| samples/s, batch of 256 | on one core | cold start, ms |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def rows(name: str, results: list[Result]) -> list[str]:
    """One line of Markdown per engine."""
    xnnpack = next(r for r in results if r.engine == "LiteRT XNNPACK").latency_us.median
    return [
        f"| {name} | {r.engine} | {r.latency_us.median:.1f} | {r.latency_us.p90:.1f} "
        f"| {r.latency_us.median / xnnpack:.2f} | {r.macs_per_second / 1e9:.1f} "
        f"| {_percent(r.share_of_peak)} | {r.samples_per_second:,.0f} "
        f"| {r.samples_per_second_one_thread:,.0f} "
        f"| {r.cold_start_ms:.0f} |"
        for r in results
    ]


@dataclass(frozen=True, slots=True)
class Throughput:
    """Samples per second of one engine.

    Attributes:
        engine: its name.
        samples_per_second: the median over the rounds.
        over_xnnpack: the median of its ratios to LiteRT XNNPACK's in the same round.

    """

    engine: str
    samples_per_second: float
    over_xnnpack: float


def evaluation(zoo: Path, rounds: int = 25) -> list[Throughput]:
    """Throughput on the keyword data, as ``tinyrt eval`` reports it, beside LiteRT's.

    LiteRT runs one XNNPACK interpreter per core in a loop over its share of the samples. Engines
    take turns in each round, every other round in reverse.
    """
    path = zoo / "models" / "dscnn_kws_int8.tflite"
    with np.load(zoo / "data" / "kws01.npz") as data:
        x, y = data["x_int8"], data["y"]
    graph = read_tflite(path)
    (litert, *_) = peers("litert")
    loop = litert.run_batch(str(path), x, cores())

    def xnnpack() -> float:
        start = time.perf_counter()
        loop()
        return len(x) / (time.perf_counter() - start)

    def tinyrt(backend: str) -> float:
        return evaluate_graph(graph, {"x": x}, y, backend=backend).samples_per_second

    runs: dict[str, Callable[[], float]] = {
        "LiteRT XNNPACK": xnnpack,
        **{f"tinyrt eval, {name}": partial(tinyrt, name) for name in ("numba", "native")},
    }
    found: dict[str, list[float]] = {name: [] for name in runs}
    for i in range(rounds):
        for name in list(runs)[:: -1 if i % 2 else 1]:
            found[name].append(runs[name]())
    peer = np.array(found["LiteRT XNNPACK"])
    return [
        Throughput(name, float(np.median(rates)), float(np.median(rates / peer)))
        for name, rates in found.items()
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def cpu() -> str:
    """The processor's name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zoo", type=Path, default=os.environ.get("TINYRT_ZOO", "../shared"))
    parser.add_argument("--seconds", type=float, default=2.0, help="per engine and model")
    parser.add_argument("--all", action="store_true", help="every backend")
    parser.add_argument("--models", nargs="*", default=MODELS, help="whose latency to measure")
    parser.add_argument("-o", "--output", type=Path, help="a JSON file")
    options = parser.parse_args()
    found: dict[str, list[Result]] = {}
    about = {"cpu": cpu(), "cores": cores(), "ai-edge-litert": version("ai-edge-litert")}
    print(", ".join(f"{key}: {value}" for key, value in about.items()), end=f"\n\n{HEADER}\n")
    for name in options.models:
        found[name] = bench_model(
            Path(options.zoo) / "models" / f"{name}_int8.tflite",
            against=["litert", "litert-reference", "onnxruntime"] if options.all else ["litert"],
            backends=list(BACKENDS) if options.all else [DEFAULT_BACKEND, "native"],
            onnx=Path(options.zoo) / "models" / f"{name}.onnx",
            seconds=options.seconds,
        )
        print("\n".join(rows(name, found[name])), flush=True)
    throughputs = evaluation(Path(options.zoo))
    print("\n| evaluation of 1,000 keywords | samples/s | over XNNPACK |\n|---|---|---|")
    for t in throughputs:
        print(f"| {t.engine} | {t.samples_per_second:,.0f} | {t.over_xnnpack:.2f} |")
    if options.output:
        models = {name: [asdict(r) for r in results] for name, results in found.items()}
        text = (
            json.dumps(
                {**about, "models": models, "evaluation": [asdict(t) for t in throughputs]},
                indent=1,
            )
            + "\n"
        )
        write_atomic(options.output, lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()
