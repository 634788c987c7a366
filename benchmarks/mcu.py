"""The zoo's int8 models on emulated cores: exact instructions and bytes, beside TFLM + CMSIS-NN.

    TINYRT_ZOO=../shared python -m benchmarks.mcu [--cores m4 ...] [--models resnet8 ...]
                                    [--write] [-o DIR]

Prints a Markdown table and writes it to ``mcu.md``, and the figures to ``mcu.json``, in the folder
of ``-o`` (``build/benchmarks`` by default); ``--write`` puts the table into docs/benchmarks.md, for
all cores and models. The peer's figures are those that ``tinyrt emulate``
compares with, measured in the same emulator with the same compiler. Every run is checked against
the golden outputs. Cores that the installed compilers do not know are left out, by name.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np

from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import EmulationReport, run_emulated, toolchain
from tinyrt.export import CORES, find_core
from tinyrt.files import write_atomic
from tools.page import write_table

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "streaming_wakeword", "autoencoder_ad")
SAMPLES = 2
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
NAME = "cores"
"""Where the page has the table."""
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


def row(name: str, report: EmulationReport) -> dict[str, object]:
    """The figures of one run."""
    peer = report.baseline
    return {
        "core": report.core,
        "board": report.board,
        "model": name,
        "instructions": report.instructions,
        "instructions_per_mac": report.instructions_per_mac,
        "peer_instructions": peer,
        "ratio": peer and report.instructions / peer,
        "code": report.flash.code,
        "kernels": report.flash.kernels,
        "weights": report.flash.weights,
        "arena": report.ram.arena,
        "stack": report.ram.stack,
        "stack_bound": report.ram.stack_bound,
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


def emulated_cores(names: list[str]) -> list[str]:
    """The cores of these names, without those that no installed compiler builds for."""
    cores = [find_core(name) for name in names]
    for core in cores:
        if not toolchain.knows(core):
            print(f"left out: {core.compiler} does not build for {core.name}\n")
    return [core.name for core in cores if toolchain.knows(core)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", nargs="+", default=[c.name for c in CORES.values() if c.prefix])
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/benchmarks"))
    options = parser.parse_args()
    if "TINYRT_ZOO" not in os.environ:
        raise SystemExit("set TINYRT_ZOO to the folder that holds models/ and golden/")
    zoo = Path(os.environ["TINYRT_ZOO"])
    rows, lines = [], [HEADER]
    cores = emulated_cores(options.cores)
    print(HEADER)
    for core in cores:
        for name in options.models:
            rows.append(row(name, emulate(zoo, name, core)))
            lines.append(markdown(rows[-1]))
            print(lines[-1], flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    for file, text in (("mcu.md", "\n".join(lines)), ("mcu.json", json.dumps(rows, indent=2))):
        write_atomic(options.output / file, lambda out, text=text: out.write(f"{text}\n".encode()))
    if options.write:
        write_table(NAME, "\n".join(lines), PAGE)


if __name__ == "__main__":
    main()
