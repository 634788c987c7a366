"""Sums with one rounding: all 65,536 pairs of int8 inputs, in C, against the reference."""

from itertools import product

import numpy as np
import pytest

from tests.c.host import build_program, run_program
from tinyrt.backends.c import sums as c_sums
from tinyrt.backends.linear_sum import HALVES, INT32_MAX, _addend
from tinyrt.export import export_graph
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.shared.evaluate import evaluate

PLAIN = [
    ("add", (0.05, 3), (0.025, -3), (0.05, 3)),
    ("sub", (0.05, 3), (0.05, -100), (0.1, 0)),
    ("add", (1.0, 127), (1.0, -128), (2.0, 127)),
    ("add", (0.037137, -5), (0.021349, 17), (0.045281, -128)),
    ("sub", (0.021349, -128), (0.067127, -128), (0.059311, 41)),
    ("add", (0.0013141, 0), (0.070219, 0), (0.071357, 0)),
]
"""Halves of both signs, saturation on both sides, an input that is all but lost."""

UNEVEN = [
    ("add", (0.1, 3), (0.03, -3), (0.1, 3)),
    ("sub", (5.0, 0), (4.0, 0), (0.01, 0)),
]
"""Sums that lie on halves without being doubles of one another; factors beyond 32 bits."""


def graph_of(sums):
    pairs = np.indices((256, 256)).reshape(2, -1).astype(np.uint8).view(np.int8)
    values, nodes, feeds = {}, [], {}
    for i, (op, *scales) in enumerate(sums):
        names = f"a{i}", f"b{i}", f"y{i}"
        for name, (scale, zero_point) in zip(names, scales, strict=True):
            q = QParams((float(np.float32(scale)),), zero_point)
            values[name] = Value(name, DType.INT8, (65_536,), q)
        nodes.append(Node(op, f"{op} {i}", names[:2], names[2:], AddAttrs()))
        feeds |= dict(zip(names, pairs, strict=False))
    inputs, outputs = tuple(feeds), tuple(f"y{i}" for i in range(len(sums)))
    return verify(Graph("sums", inputs, outputs, values, tuple(nodes))), feeds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("core", "sums", "kernel"),
    [
        *product(["cortex-m3", "cortex-m4"], [PLAIN], ["linear_sum"]),
        ("cortex-m3", UNEVEN, "sum"),
        pytest.param("cortex-m4", UNEVEN, "sum", marks=pytest.mark.whole),
        pytest.param("cortex-m3", PLAIN, "sum", marks=pytest.mark.whole),
    ],
)
def test_all_pairs_of_inputs(tmp_path, monkeypatch, core, sums, kernel):
    """Code for blobs takes the kernel of two roundings for sums that one would do for, too."""
    if kernel == "sum":
        monkeypatch.setattr(c_sums, "linear_sum_of", lambda p, op, dsp: None)
    graph, feeds = graph_of(sums)
    project = export_graph(graph, tmp_path / "project", core=core)
    assert set(project.kernels) == {f"tinyrt_{kernel}_s8"}
    outputs = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


MOST = INT32_MAX - HALVES
"""What a sum on its way may reach."""


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("part", ["the sum", "the end", "the second and the addend", "the addend"])
def test_every_sum_on_the_way_fits(part, beyond):
    """Kernels add in one order: each of what they hold then is looked at, by itself here."""
    a, b, addend = {
        "the sum": (MOST - 5, 5 + beyond, -MOST + 9),
        "the end": (MOST // 2, 1, MOST - MOST // 2 - 1 + beyond),
        "the second and the addend": (-1000, MOST - 9, 9 + beyond),
        "the addend": (1000, -1000, MOST + beyond),
    }[part]
    least = np.array([[a + b + addend]])

    def products(factor):
        return np.array([factor])

    found = _addend(products, a, b, least, least + 1)
    assert found == (None if beyond else addend)
