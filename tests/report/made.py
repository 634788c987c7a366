"""Models and reports that the tests of the page share, without an emulator."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from tests.graphs import Builder, small_cnn
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.ir import Graph
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.report import write_report
from tinyrt.report.facts import Report

HOSTILE = '</script><img src=x onerror="alert(1)">{{7*7}}${x}\u202e'
"""A name that would end a script, fill a template or turn the text around."""


def samples(count: int) -> np.ndarray:
    """Inputs of ``small_cnn``."""
    return np.random.default_rng(3).normal(size=(count, 8, 8, 3)).astype(np.float32)


def save_pair(folder: Path) -> tuple[Path, Path, Path]:
    """A float CNN, the int8 one made from it, and 16 samples with labels."""
    save_tflite(small_cnn(), folder / "net.tflite")
    save_tflite(quantize_graph(small_cnn(), samples(32), QuantConfig()), folder / "int8.tflite")
    np.savez(folder / "data.npz", x=samples(16), y=np.arange(16) % 5)
    return folder / "net.tflite", folder / "int8.tflite", folder / "data.npz"


def hostile_graph(ops: int = 3) -> Graph:
    """A chain of float ops whose tensors have hostile names."""
    b = Builder((1, 8), name=HOSTILE)
    y = "x"
    for _ in range(ops):
        y = b.op("tanh", (y,))
    return renamed(b.graph(y))


def renamed(graph: Graph) -> Graph:
    """The graph with ``HOSTILE`` before each name."""

    def new(name: str) -> str:
        return f"{HOSTILE}{name}" if name else name

    return replace(
        graph,
        inputs=tuple(map(new, graph.inputs)),
        outputs=tuple(map(new, graph.outputs)),
        values={new(name): replace(value, name=new(name)) for name, value in graph.values.items()},
        nodes=tuple(
            replace(
                node,
                name=new(node.name),
                inputs=tuple(map(new, node.inputs)),
                outputs=tuple(map(new, node.outputs)),
            )
            for node in graph.nodes
        ),
    )


@cache
def reported() -> tuple[Report, str]:
    """A report of the pair on two cores by formula, with data and the float model; and its page."""
    folder = Path(mkdtemp(prefix="tinyrt-report-"))
    net, int8, data = save_pair(folder)
    page = folder / "report.html"
    options = {"estimate": True, "data": data, "against": net}
    report = write_report([int8, net], page, cores=("m4", "m55"), **options)
    return report, page.read_text(encoding="utf-8")
