"""Arithmetic of C on integers that stand for themselves, at the limits of 32 bits too."""

import numpy as np
import pytest

from tests.c.host import build_program, run_program
from tests.sampling import sampled
from tinyrt.errors import UnsupportedError
from tinyrt.export import export_graph
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.cast import CastAttrs
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


@pytest.mark.parametrize("is_short", [True, False])
def test_integers_of_64_bits_are_refused_by_what_they_may_be(is_short, tmp_path):
    kind = DType.INT8 if is_short else DType.INT32
    values = [Value("x", kind, (3,)), *(Value(n, DType.INT64, (3,)) for n in ("wide", "y"))]
    nodes = (
        Node("cast", "wide", ("x",), ("wide",), CastAttrs(DType.INT64)),
        Node("add", "y", ("wide", "wide"), ("y",), OPS["add"].attrs()),
    )
    graph = verify(Graph("net", ("x",), ("y",), {v.name: v for v in values}, nodes))
    with pytest.raises(UnsupportedError, match="no C kernel for int64 tensors") as found:
        export_graph(graph, tmp_path / "out")
    assert ("these would fit 32 bits" in found.value.problem) is is_short
    assert found.value.op == "add 'y'"
    assert found.value.tensor == "'y' s64[3]"
    assert "tinyrt convert" in found.value.hint if is_short else "Clip" in found.value.hint


@pytest.mark.parametrize("op", sampled(OPS_ON_INTEGERS[::4], OPS_ON_INTEGERS))
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
