"""Latency and throughput of the zoo's int8 models on this host, beside LiteRT.

    TINYRT_ZOO=../shared python benchmarks/host.py [--seconds 2] [--all] [-o results.json]

For each model, all engines run in one process and take turns, so that a busy machine slows them
alike: read the ratios. Prints Markdown; ``-o`` writes the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from tinyrt.bench import Result, bench_model
from tinyrt.files import write_atomic
from tinyrt.interpreter import BACKENDS, DEFAULT_BACKEND
from tinyrt.interpreter.split import cores

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
HEADER = (
    "| model | engine | µs, median | p90 | over XNNPACK | GMAC/s | samples/s, batch of 256 "
    "| on one core | cold start, ms |\n|---|---|---|---|---|---|---|---|---|"
)


def rows(name: str, results: list[Result]) -> list[str]:
    """One line of Markdown per engine."""
    xnnpack = next(r for r in results if r.engine == "LiteRT XNNPACK").latency_us.median
    return [
        f"| {name} | {r.engine} | {r.latency_us.median:.1f} | {r.latency_us.p90:.1f} "
        f"| {r.latency_us.median / xnnpack:.2f} | {r.macs_per_second / 1e9:.1f} "
        f"| {r.samples_per_second:,.0f} | {r.samples_per_second_one_thread:,.0f} "
        f"| {r.cold_start_ms:.0f} |"
        for r in results
    ]


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
    parser.add_argument("-o", "--output", type=Path, help="a JSON file")
    options = parser.parse_args()
    found: dict[str, list[Result]] = {}
    about = {"cpu": cpu(), "cores": cores(), "ai-edge-litert": version("ai-edge-litert")}
    print(", ".join(f"{key}: {value}" for key, value in about.items()), end=f"\n\n{HEADER}\n")
    for name in MODELS:
        found[name] = bench_model(
            Path(options.zoo) / "models" / f"{name}_int8.tflite",
            against=["litert", "litert-reference"] if options.all else ["litert"],
            backends=list(BACKENDS) if options.all else [DEFAULT_BACKEND],
            seconds=options.seconds,
        )
        print("\n".join(rows(name, found[name])), flush=True)
    if options.output:
        models = {name: [asdict(r) for r in results] for name, results in found.items()}
        text = json.dumps({**about, "models": models}, indent=1) + "\n"
        write_atomic(options.output, lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()
