"""Sparse weights on emulated cores: instructions and bytes of real layers in every form.

    TINYRT_ZOO=../shared python -m benchmarks.sparse [--cores m0 m3 m4 m55] [--json]

Layers of the zoo's int8 models, pruned by magnitude to a pattern, each as a model of its own. Every
form that a layer can be stored in is built, run, checked against the reference, and compared with
the dense one: instructions of an inference, and all flash (code, tables and weights). ``*`` marks
what the exporter chooses for instructions, ``+`` what it chooses for bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.weights import Stored, Weights
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import build_image, run_image
from tinyrt.export import export_graph, find_core
from tinyrt.export.target import Optimize, target_of
from tinyrt.ir import Graph, Node
from tinyrt.ops.shared.evaluate import evaluate

LAYERS = {
    "dense 640 to 128, one row": ("autoencoder_ad", "fully_connected", 0),
    "dense 128 to 128, one row": ("autoencoder_ad", "fully_connected", 1),
    "1 x 1, 64 to 64, 125 pixels": ("dscnn_kws", "conv2d", 1),
    "3 x 3, 32 to 32, 256 pixels": ("resnet8", "conv2d", 4),
}
PATTERNS: dict[str, tuple[int, int, float]] = {
    "2:4": (1, 1, 0.5),
    "1:4": (1, 1, 0.75),
    "blocks, half": (8, 4, 0.5),
    "blocks, three quarters": (8, 4, 0.75),
    "blocks, nine tenths": (8, 4, 0.9),
    "single, nine tenths": (1, 1, 0.9),
}
"""Name -> channels and taps of a block, and the share of zeros."""

VECTOR_BLOCK = 4, 16
"""Channels and taps of blocks that kernels with vectors leave out."""


def patterns_of(core: str) -> list[str]:
    """The patterns for which a core has a form."""
    vectors = find_core(core).isa is InstructionSet.MVE
    return [name for name in PATTERNS if not vectors or name.startswith("blocks")]


def pruned(w: NDArray[np.int8], pattern: str, core: str) -> NDArray[np.int8]:
    """Weights (c_out, ..., c_in) with the least set to 0, in blocks as the core's kernels know."""
    channels, taps, share = PATTERNS[pattern]
    if find_core(core).isa is InstructionSet.MVE:
        channels, taps = VECTOR_BLOCK
    flat = w.reshape(w.shape[0], -1)
    if ":" in pattern:
        groups = np.abs(flat.astype(int)).reshape(-1, 4)
        order = np.argsort(-groups, axis=1, kind="stable")
        kept = np.zeros(groups.shape, bool)
        np.put_along_axis(kept, order[:, : int(pattern[0])], True, axis=1)
        return np.where(kept.reshape(flat.shape), flat, 0).astype(np.int8).reshape(w.shape)
    blocks = flat.reshape(flat.shape[0] // channels, channels, flat.shape[1] // taps, taps)
    size = np.abs(blocks.astype(int)).sum(axis=(1, 3))
    rank = size.ravel().argsort(kind="stable").argsort().reshape(size.shape)
    kept = rank >= round(share * size.size)
    return np.asarray(blocks * kept[:, None, :, None], np.int8).reshape(w.shape)


def layer_of(zoo: Path, layer: str, pattern: str, core: str) -> Graph:
    """A layer of the zoo as a graph of its own, pruned for a core."""
    model, op, number = LAYERS[layer]
    graph = read_tflite(zoo / "models" / f"{model}_int8.tflite")
    node = [n for n in graph.nodes if n.op == op][number]
    names = {name: graph.value(name) for name in (*node.inputs, *node.outputs) if name}
    w = names[node.inputs[1]]
    assert w.data is not None
    names[w.name] = replace(w, data=pruned(np.asarray(w.data), pattern, core))
    alone = Node(node.op, "layer", node.inputs, node.outputs, node.attrs)
    return Graph("layer", (node.inputs[0],), node.outputs, names, (alone,))


@contextmanager
def stored_as(form: Weights) -> Iterator[None]:
    """All layers that have a choice store their weights in that form.

    Kernels are chosen once for each graph: export a copy of one that was exported before.
    """
    with patch.object(Stored, "cheapest", lambda forms, small, byte_pays: Stored(form, forms)):
        yield


@dataclass(frozen=True, slots=True)
class Figures:
    """One layer in one form: instructions of an inference, all bytes of flash."""

    instructions: int
    nbytes: int


def measure(graph: Graph, core: str, form: Weights, small: bool) -> Figures:
    """Build and run; small as with ``--optimize size``.

    Raises:
        SystemExit: the device's answer is not the reference's.

    """
    (x,), (y,) = graph.input_values, graph.output_values
    data = np.random.default_rng(0).integers(-128, 128, x.shape, np.int8)
    with tempfile.TemporaryDirectory() as name, stored_as(form):
        folder, optimize = Path(name), "size" if small else "balanced"
        project = export_graph(replace(graph), folder / "model", core=core, optimize=optimize)
        image = build_image(project, folder)
        run = run_image(image, data.tobytes(), folder)
    expected = evaluate(graph, {x.name: data})[y.name]
    if run.outputs != expected.tobytes():
        raise SystemExit(f"{form} on {core}: the output is not the reference's")
    assert run.instructions is not None
    return Figures(run.instructions, image.sizes.code + image.sizes.weights)


def forms_of(zoo: Path, core: str, layer: str, pattern: str) -> Iterator[dict[str, Any]]:
    """A pruned layer in every form that it can be stored in, beside the dense one."""
    graph = layer_of(zoo, layer, pattern, core)
    stored = choose(graph.bind(0), target_of(find_core(core), Optimize.BALANCED)).stored
    assert stored is not None
    forms = stored.forms
    dense = {small: measure(graph, core, Weights.DENSE, small) for small in (False, True)}
    for form in forms:
        if form is Weights.DENSE:
            continue
        fast, least = (measure(graph, core, form, small) for small in (False, True))
        yield {
            "core": core,
            "layer": layer,
            "pattern": pattern,
            "form": str(form),
            "dense_instructions": dense[False].instructions,
            "dense_bytes": dense[True].nbytes,
            "instructions": fast.instructions / dense[False].instructions,
            "expected": forms[form].instructions / forms[Weights.DENSE].instructions,
            "bytes": least.nbytes / dense[True].nbytes,
            "fastest": stored.form is form,
            "smallest": Stored.cheapest(forms, small=True).form is form,
        }


def rows(zoo: Path, cores: list[str]) -> list[dict[str, Any]]:
    """All layers, patterns and forms."""
    return [
        row
        for core in cores
        for layer in LAYERS
        for pattern in patterns_of(core)
        for row in forms_of(zoo, core, layer, pattern)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", nargs="+", default=["m0", "m3", "m4", "m55"])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    zoo = os.environ.get("TINYRT_ZOO")
    if zoo is None:
        raise SystemExit("set TINYRT_ZOO to the folder of the zoo")
    found = rows(Path(zoo), args.cores)
    if args.json:
        print(json.dumps(found))
        return
    print("| core | layer | pattern | form | instructions | bytes |\n|---|---|---|---|---|---|")
    for row in found:
        fast, least = ("*" if row["fastest"] else ""), ("+" if row["smallest"] else "")
        figures = f"{row['instructions']:.2f}{fast} | {row['bytes']:.2f}{least}"
        names = " | ".join(str(row[k]) for k in ("core", "layer", "pattern", "form"))
        print(f"| {names} | {figures} |")


if __name__ == "__main__":
    main()
