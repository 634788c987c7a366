"""The zoo's int8 models on emulated cores: exact instructions and bytes, beside TFLM + CMSIS-NN.

    TINYRT_ZOO=../shared python -m benchmarks.mcu [--cores cortex-m4 ...] [-o results.json]

Prints Markdown; ``-o`` writes the figures as JSON. The peer's figures are those of
``tflm_cmsis_nn.json``, measured in the same emulator with the same compiler. Every run is checked
against the golden outputs.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np

from tinyrt.convert.tflite_reader import read_tflite
from tinyrt.emulate import EmulationReport, run_emulated
from tinyrt.files import write_atomic

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "streaming_wakeword", "autoencoder_ad")
CORES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "cortex-m3", "cortex-m0")
PEER = Path(__file__).parent / "tflm_cmsis_nn.json"
SAMPLES = 2
HEADER = (
    "| core | model | instructions | per MAC | TFLM + CMSIS-NN | ratio | code | weights | arena "
    "| stack |\n|---|---|---|---|---|---|---|---|---|---|"
)


def emulate(zoo: Path, name: str, core: str) -> EmulationReport:
    """A run over the first golden inputs.

    Raises:
        SystemExit: the device's answers are not the golden ones.

    """
    path = zoo / "models" / f"{name}_int8.tflite"
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    graph = read_tflite(path)
    (x,), (y,) = graph.input_values, graph.output_values
    with tempfile.TemporaryDirectory() as folder:
        report = run_emulated(
            path,
            core=core,
            inputs={x.name: golden["inputs"].reshape(-1, *x.shape[1:])[:SAMPLES]},
            expected={y.name: golden["outputs"].reshape(-1, *y.shape[1:])[:SAMPLES]},
            build_dir=folder,
        )
    if not report.bit_exact:
        raise SystemExit(f"{name} on {core}: the outputs are not the golden ones")
    return report


def row(name: str, report: EmulationReport, peer: dict[str, int] | None) -> dict[str, object]:
    """The figures of one run."""
    return {
        "core": report.core,
        "model": name,
        "instructions": report.instructions,
        "instructions_per_mac": report.instructions_per_mac,
        "peer_instructions": peer and peer["instructions"],
        "ratio": peer and report.instructions / peer["instructions"],
        "code": report.flash.code,
        "weights": report.flash.weights,
        "arena": report.ram.arena,
        "stack": report.ram.stack,
    }


def markdown(figures: dict[str, object]) -> str:
    """One line of the table."""
    peer, ratio = figures["peer_instructions"], figures["ratio"]
    beside = f"{peer:,} | {ratio:.2f}" if peer else "– | –"
    return (
        f"| {figures['core']} | {figures['model']} | {figures['instructions']:,} "
        f"| {figures['instructions_per_mac']:.2f} | {beside} | {figures['code']:,} "
        f"| {figures['weights']:,} | {figures['arena']:,} | {figures['stack']:,} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", nargs="+", default=CORES, choices=CORES)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    if "TINYRT_ZOO" not in os.environ:
        raise SystemExit("set TINYRT_ZOO to the folder that holds models/ and golden/")
    zoo = Path(os.environ["TINYRT_ZOO"])
    peers = json.loads(PEER.read_text())["cores"]
    rows = []
    print(HEADER)
    for core in options.cores:
        for name in MODELS:
            peer = peers.get(core, {}).get(name)
            rows.append(row(name, emulate(zoo, name, core), peer))
            print(markdown(rows[-1]), flush=True)
    if options.output:
        text = json.dumps(rows, indent=2) + "\n"
        write_atomic(options.output, lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()
