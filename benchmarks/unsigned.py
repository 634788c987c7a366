"""Layers on uint8 whose weights have a zero point, beside the same layers on int8.

    python -m benchmarks.unsigned [--cores m0 ...] [--layers dilation ...] [-o DIR]

Weights are those of a trained layer: most lie near the zero point, and a few are beyond int8
without it. Layers of a core are one image and one boot for each type of weights, and so are those
whose constants lie in a blob. What copies a layer's input for it counts as the layer's. Prints a
Markdown table of both instructions' ratio and writes it to ``unsigned.md``, and the figures to
``unsigned.json``, in the folder of ``-o`` (``build/benchmarks`` by default).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kernels import LAYERS, WEIGHT_SCALE, Layer, graph_of
from benchmarks.mcu import emulated_cores
from tinyrt.convert.unsigned import to_signed
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.profile import OpCost, profile_ops
from tinyrt.export import ExportOptions, export_graph, find_core
from tinyrt.export.bundle import for_request
from tinyrt.export.request import Request
from tinyrt.ir import DType, Graph, QParams
from tinyrt.ops import verify

CORES = ("m0", "m4", "m55")
ZERO_POINT, SPREAD = 110, 37
"""Of weights, and how far from it most of them lie."""

NAMES = (
    *("conv 3 x 3", "conv 1 x 1", "conv 3 x 3, stride 2", "depthwise 3 x 3"),
    *("conv 3 x 3, 4 groups", "conv 1 x 1, 4 groups"),
    *("conv 3 x 3, dilation 2", "depthwise 3 x 3, dilation 2"),
)
OWN = {
    "depthwise 3 x 3, dilation 6": replace(
        LAYERS["depthwise 3 x 3, dilation 2"],
        attrs=replace(LAYERS["depthwise 3 x 3, dilation 2"].attrs, dilation=(6, 6), padding="SAME"),
    )
}
UNSIGNED: dict[str, Layer] = {name: LAYERS[name] for name in NAMES} | OWN
"""Layers by name; all of them also with their constants in a blob."""


def weighted(graph: Graph, *, unsigned: bool) -> Graph:
    """The graph with the weights of trained layers: on uint8, or without a zero point on int8."""
    rng = np.random.default_rng(0)
    values = dict(graph.values)
    for name, value in graph.values.items():
        if not name.endswith("/w"):
            continue
        w = np.rint(rng.normal(0, SPREAD, value.shape)).astype(np.int64)
        if unsigned:
            # The ends of the range are there: they are what a zero point follows from.
            w.flat[[0, -1]] = -ZERO_POINT, 255 - ZERO_POINT
            data = (w + ZERO_POINT).clip(0, 255).astype(np.uint8)
            q = QParams((WEIGHT_SCALE,), ZERO_POINT)
            values[name] = replace(value, dtype=DType.UINT8, data=data, q=q)
        else:
            values[name] = replace(value, data=w.clip(-127, 127).astype(np.int8))
    made = replace(graph, values=values)
    return verify(to_signed(made) if unsigned else made)


def measure(core: str, layers: Mapping[str, Layer], *, blob: bool = False) -> list[dict[str, Any]]:
    """Instructions of every layer on uint8 and on int8."""
    graph, feeds = graph_of(layers)
    found = []
    for unsigned in (True, False):
        called, costs = count(core, weighted(graph, unsigned=unsigned), feeds, blob=blob)
        found.append(_of_layers(called, costs))
    return [
        {"core": core, "layer": name, "blob": blob, "uint8": own, "int8": found[1][name]}
        for name, own in found[0].items()
    ]


def count(
    core: str, graph: Graph, feeds: Mapping[str, np.ndarray], *, blob: bool
) -> tuple[Graph, Sequence[OpCost]]:
    """The graph whose ops are called, and what each costs."""
    options = ExportOptions(blob=blob)
    called = for_request(graph, Request.of(core, "balanced", options))
    with tempfile.TemporaryDirectory() as folder:
        project = export_graph(graph, Path(folder) / "project", core=core, options=options)
        data = b"".join(feeds[port.name].tobytes() for port in project.inputs)
        costs = profile_ops(project, called, data, Path(folder), board=find_board(find_core(core)))
    return called, costs


def _of_layers(graph: Graph, costs: Sequence[OpCost]) -> dict[str, int]:
    """Layer -> instructions, also of what only it reads."""
    makers = {name: i for i, node in enumerate(graph.nodes) for name in node.outputs}

    def with_inputs(index: int) -> int:
        before = {makers[name] for name in graph.nodes[index].inputs if name in makers}
        return costs[index].instructions + sum(map(with_inputs, sorted(before)))

    return {
        node.name: with_inputs(i)
        for i, node in enumerate(graph.nodes)
        if node.output in graph.outputs
    }


def markdown(rows: Sequence[Mapping[str, Any]], cores: Sequence[str]) -> str:
    """A line to a layer, a column to a core."""
    lines = [f"| layer | {' | '.join(cores)} |", "|---|" + "---|" * len(cores)]
    found = {(row["layer"], row["blob"], row["core"]): row for row in rows}
    for name, blob in dict.fromkeys((row["layer"], row["blob"]) for row in rows):
        own = (found[name, blob, core] for core in cores)
        figures = (f"{row['uint8'] / row['int8']:.2f}" for row in own)
        lines.append(f"| {name}{', blob' if blob else ''} | {' | '.join(figures)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", nargs="+", default=CORES)
    parser.add_argument("--layers", nargs="+", help="those whose names contain one of these")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/benchmarks"))
    options = parser.parse_args()
    wanted = options.layers or [""]
    layers = {n: layer for n, layer in UNSIGNED.items() if any(w in n for w in wanted)}
    cores = emulated_cores(options.cores)
    rows = [row for b in (False, True) for core in cores for row in measure(core, layers, blob=b)]
    text = markdown(rows, cores)
    print(text)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "unsigned.md").write_text(f"{text}\n", encoding="utf-8")
    (options.output / "unsigned.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
