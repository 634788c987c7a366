"""States share bytes with their next values: which of them are copied at the end, and which not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.export import export_graph
from tinyrt.export.states import Fill, lay_out, settle
from tinyrt.interpreter import Model
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.svdf import SvdfAttrs

Q = QParams((0.5,), 3)
SHAPE = (1, 4)


def relu(x, y):
    return Node("relu", y, (x,), (y,), NoAttrs())


def add(a, b, y):
    return Node("add", y, (a, b), (y,), AddAttrs())


def graph_of(*nodes, states=(("s", "n"),), outputs=("y",)):
    names = dict.fromkeys(n for node in nodes for n in (*node.inputs, *node.outputs))
    names |= dict.fromkeys(name for pair in states for name in pair)
    values = {name: Value(name, DType.INT8, SHAPE, Q) for name in names}
    before, after = ([pair[i] for pair in states] for i in (0, 1))
    return verify(Graph("net", ("x", *before), (*outputs, *after), values, nodes, states=states))


STAY = {
    "read before it is written": (relu("s", "y"), relu("x", "n")),
    "never read": (relu("x", "n"), relu("x", "y")),
    "read twice before": (add("x", "s", "m"), add("s", "m", "y"), relu("y", "n")),
}
COPIED = {
    "read after it is written": (relu("x", "n"), add("x", "s", "y")),
    "read before and after": (add("x", "s", "m"), relu("m", "n"), add("s", "n", "y")),
    "read by the op that writes it": (relu("x", "y"), add("s", "x", "n")),
}


@pytest.mark.parametrize("nodes", STAY.values(), ids=STAY)
def test_states_that_are_read_before_they_change_stay(nodes):
    graph = graph_of(*nodes)
    assert settle(graph) is graph


@pytest.mark.parametrize("nodes", COPIED.values(), ids=COPIED)
def test_states_that_change_too_early_are_copied_at_the_end(nodes):
    settled = settle(graph_of(*nodes))
    assert len(settled.nodes) == len(nodes) + 1
    copy = settled.nodes[-1]
    assert (copy.op, copy.outputs) == ("reshape", ("n",))
    (early,) = copy.inputs
    assert early not in ("n", "s")
    assert not any("n" in (*node.inputs, *node.outputs) for node in settled.nodes[:-1])
    assert any(early in node.outputs for node in settled.nodes[:-1])
    assert settled.states == (("s", "n"),)


def test_a_state_that_becomes_a_constant_is_written_at_the_end(tmp_path):
    b = Builder((1, 1), (1, 1))
    three = b.constant(np.full((1, 1), 3, np.float32))
    y = b.op("add", ("x", "x1"), AddAttrs())
    graph = replace(b.graph(y, three), states=(("x1", three),))
    settled, zeros = settle(graph), np.zeros((3, 1), np.float32)
    assert [node.op for node in settled.nodes] == ["add", "reshape"]
    assert settled.states == graph.states
    for one in (graph, settled):
        assert Model(one, backend="reference")(zeros).reshape(-1).tolist() == [0, 3, 3]
    assert export_graph(graph, tmp_path / "out").directory.is_dir()


@pytest.mark.parametrize("read_later", [False, True])
def test_a_state_that_an_op_updates_in_place_is_copied_where_a_later_op_reads_it(read_later):
    """The op reads and writes it at once, and so nothing before it needs a copy."""
    shapes = {"x": (1, 4), "f": (2, 4), "t": (2, 3), "s": (1, 6), "y": (1, 2), "n": (1, 6)}
    values = {name: Value(name, DType.FLOAT32, shape) for name, shape in shapes.items()}
    values["z"] = replace(values["s"], name="z")
    for name in "ft":
        values[name] = replace(values[name], data=np.ones(shapes[name], np.float32))
    svdf = Node("svdf", "y", ("x", "f", "t", "", "s"), ("y", "n"), SvdfAttrs())
    nodes = (svdf, relu("s", "z")) if read_later else (relu("s", "z"), svdf)
    outputs = ("y", "z", "n")
    graph = verify(Graph("net", ("x", "s"), outputs, values, nodes, states=(("s", "n"),)))
    copies = [node.outputs for node in settle(graph).nodes[2:]]
    assert copies == ([("n",)] if read_later else [])


def test_each_state_is_settled_for_itself():
    nodes = (relu("x", "n"), relu("s", "m"), relu("t", "y"), relu("m", "u"), relu("x", "o"))
    states = (("s", "n"), ("t", "u"), ("v", "o"))
    settled = settle(graph_of(*nodes, states=states))
    assert [node.outputs for node in settled.nodes[len(nodes) :]] == [("n",)]


def test_states_lie_one_behind_the_other_in_words():
    values = {
        "x": Value("x", DType.INT8, (1, 6), Q),
        "s": Value("s", DType.INT8, (1, 6), Q),
        "n": Value("n", DType.INT8, (1, 6), Q),
        "a": Value("a", DType.INT16, (1, 3), QParams((0.5,), 0)),
        "t": Value("t", DType.INT16, (1, 3), QParams((0.5,), 0)),
        "u": Value("u", DType.INT16, (1, 3), QParams((0.5,), 0)),
        "y": Value("y", DType.INT8, (1, 6), Q),
    }
    nodes = (relu("s", "y"), relu("x", "n"), relu("a", "u"))
    states = (("s", "n"), ("t", "u"))
    inputs = ("x", "a", "s", "t")
    layout = lay_out(verify(Graph("net", inputs, ("y", "n", "u"), values, nodes, states=states)))
    assert layout.offsets == {"s": 0, "n": 0, "t": 8, "u": 8}
    assert layout.nbytes == 16
    assert layout.fills == (Fill(0, 6, 3), Fill(8, 6, 0))
    assert (layout.shifts, layout.idle) == ({}, frozenset())
