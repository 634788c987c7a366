"""A program in which an op touches what is not its own is stopped, and says which op it was."""

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.host import StoppedError, build_program, run_program
from tests.c.owned import ranges_of
from tests.ops.build import Case
from tinyrt.backends.c.planning import CKernels
from tinyrt.export import export_graph
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.memory import ArenaPlan
from tinyrt.memory.lifetimes import Buffer, scratch_name
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs

TAKEN = CKernels.scratch_bytes


def layer(channels: int):
    shapes = ((1, 4, 4, channels), (4, 3, 3, channels), (4,))
    return lambda rng: Case("conv2d", Conv2dAttrs(padding="SAME"), shapes, frozenset({1, 2}))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["beside", "arena"])
def test_working_memory_that_is_too_small_is_noticed_beside_an_op_with_more(
    tmp_path, monkeypatch, mode
):
    monkeypatch.setattr(
        CKernels, "scratch_bytes", lambda self, node: TAKEN(self, node) // (2 - node.index)
    )
    graph, feeds = graph_of({"small": layer(4), "large": layer(16)}, range(1))
    project = export_graph(graph, tmp_path / "project", core="cortex-m4")
    program = build_program(project, tmp_path)
    with pytest.raises(StoppedError, match="use-after-poison") as stopped:
        run_program(program, project, feeds, mode)
    assert stopped.value.op.startswith("small")


def test_an_op_owns_its_tensors_where_they_lie_and_its_working_memory():
    q = QParams((0.5,))
    values = {
        name: Value(name, DType.INT8, shape, q)
        for name, shape in (("x", (2, 6)), ("same", (12,)), ("other", (12,)), ("y", (12,)))
    }
    table = Value("t", DType.INT8, (256,), data=np.zeros(256, np.int8))
    nodes = (
        Node("reshape", "view", ("x",), ("same",), ReshapeAttrs((12,))),
        Node("lut", "a", ("same", "t"), ("other",), None),
        Node("lut", "b", ("other", "t"), ("y",), None),
    )
    graph = Graph("g", ("x",), ("y",), values | {"t": table}, nodes)
    working = scratch_name(1)
    plan = ArenaPlan(
        {"x": 0, "other": 16, working: 32},
        *(40, 0, (Buffer((working,), 8, 1, 1),)),
        views={"same": ("x", 0)},
        outside=frozenset({"y"}),
    )
    assert set(ranges_of(graph, plan)) == {
        *((0, 0, 12), (1, 0, 12), (1, 16, 12), (1, 32, 8), (2, 16, 12)),
    }
