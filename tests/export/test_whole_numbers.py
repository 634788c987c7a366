"""Arithmetic of C on integers that stand for themselves, at the limits of 32 bits too."""

import numpy as np
import pytest

from tests.c.host import build_program, run_program
from tinyrt.export import export_graph
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.shared.evaluate import evaluate

OPS_ON_INTEGERS = (
    *("add", "sub", "mul", "div", "floor_div", "floor_mod", "minimum", "maximum"),
    *("less", "equal"),
)

LIMITS = np.iinfo(np.int32)
NUMBERS = np.array(
    [LIMITS.min, LIMITS.min + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, LIMITS.max - 1, LIMITS.max],
    np.int32,
)


@pytest.mark.parametrize("op", OPS_ON_INTEGERS)
def test_every_pair_of_numbers(op, tmp_path):
    feeds = {"a": NUMBERS[:, None], "b": NUMBERS[None]}
    kinds = [Value(name, DType.INT32, x.shape) for name, x in feeds.items()]
    attrs = OPS[op].attrs()
    (kind,) = OPS[op].infer(attrs, [v.type for v in kinds])
    values = {v.name: v for v in (*kinds, Value("y", kind.dtype, kind.shape))}
    graph = verify(
        Graph(op, ("a", "b"), ("y",), values, (Node(op, "y", ("a", "b"), ("y",), attrs),))
    )
    project = export_graph(graph, tmp_path / "out")
    found = run_program(build_program(project, tmp_path), project, feeds)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found["y"], evaluate(graph, feeds)["y"], strict=True)
