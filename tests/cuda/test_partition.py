"""Ops that run on the GPU and ops between them: runs of them, and the graphs that they make."""

import pytest

from tests.export.models import Q
from tinyrt.backends.cuda import partition
from tinyrt.backends.cuda.partition import DeviceSegment, segments_of, subgraph
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.shared.spec import NoAttrs

WIRES = [
    ("relu", "x", "a"),
    ("relu", "a", "b"),
    ("relu", "x", "c"),
    ("add", "b c", "d"),
    ("relu", "d", "e"),
    ("add", "e a", "y"),
]


def graph():
    nodes, names = [], ["x"]
    for op, inputs, output in WIRES:
        attrs = AddAttrs() if op == "add" else NoAttrs()
        nodes.append(Node(op, output, tuple(inputs.split()), (output,), attrs))
        names.append(output)
    values = {name: Value(name, DType.INT8, (1, 4), Q) for name in names}
    return verify(Graph("net", ("x",), ("y", "c"), values, tuple(nodes)))


@pytest.mark.parametrize(
    ("nodes", "inputs", "outputs"),
    [
        ((0,), "x", "a"),
        ((0, 1), "x", "a b"),
        ((1, 2), "a x", "b c"),
        ((2, 3), "x b", "c d"),
        ((3, 4), "b c", "e"),
        ((4, 5), "d a", "y"),
        ((0, 1, 2, 3, 4, 5), "x", "c y"),
    ],
)
def test_a_part_takes_and_gives_what_it_shares_with_the_rest(nodes, inputs, outputs):
    part = subgraph(graph(), nodes)
    assert part.inputs == tuple(inputs.split())
    assert part.outputs == tuple(outputs.split())
    assert part.nodes == tuple(graph().nodes[i] for i in nodes)
    used = {name for node in part.nodes for name in (*node.inputs, *node.outputs)}
    assert part.values.keys() == used
    assert part.states == ()


def test_runs_of_ops_alternate(monkeypatch):
    monkeypatch.setattr(partition, "emitter_of", lambda n: None if n.op == "add" else object())
    found = segments_of(graph())
    assert found == (
        DeviceSegment("gpu", (0, 1, 2), ("relu",) * 3),
        DeviceSegment("cpu", (3,), ("add",)),
        DeviceSegment("gpu", (4,), ("relu",)),
        DeviceSegment("cpu", (5,), ("add",)),
    )


def test_a_run_is_told_by_its_ends_and_kinds():
    several = DeviceSegment("gpu", (2, 3, 4), ("conv2d", "add", "conv2d"))
    assert several.describe() == "gpu: #2 to #4 (conv2d, add)"
    assert DeviceSegment("cpu", (7,), ("tanh",)).describe() == "cpu: #7 (tanh)"
    assert several.as_dict() == {
        "device": "gpu",
        "nodes": [2, 3, 4],
        "ops": ["conv2d", "add", "conv2d"],
    }
