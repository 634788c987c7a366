"""How many bytes an order of ops keeps alive, counted by hand."""

from tests.passes.nets import Net
from tinyrt.convert.passes.alive import most_alive
from tinyrt.ir import DType, Node, Value
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs

HALF = SliceAttrs((0, 0), (1, 4), (1, 1))


def test_inputs_live_to_their_last_reader():
    net = Net((2, 4))
    a = net.op("tanh", ("x",))
    graph = net.graph(net.op("abs", (a,)))
    assert most_alive(graph, graph.nodes) == 2 * 32


def test_outputs_live_to_the_end():
    net = Net((2, 4))
    a = net.op("tanh", ("x",))
    graph = net.graph(a, net.op("abs", (net.op("neg", (a,)),)))
    assert most_alive(graph, graph.nodes) == 3 * 32


def test_a_reshape_shares_the_bytes_of_what_it_reads():
    net = Net((2, 4))
    a = net.op("tanh", ("x",))
    b = net.op("reshape", (net.op("reshape", (a,), ReshapeAttrs((8,))),), ReshapeAttrs((4, 2)))
    graph = net.graph(net.op("abs", (b,)))
    assert most_alive(graph, graph.nodes) == 2 * 32
    graph = net.graph(net.op("abs", (b,)), net.op("neg", (b,)))
    assert most_alive(graph, graph.nodes) == 3 * 32


def test_a_reshape_keeps_what_it_reads_alive():
    net = Net((2, 4))
    flat = net.op("reshape", ("x",), ReshapeAttrs((8,)))
    a = net.op("abs", (net.op("tanh", ("x",)),))
    graph = net.graph(a, net.op("neg", (flat,)))
    assert most_alive(graph, graph.nodes) == 3 * 32


def test_what_nothing_reads_lives_while_it_is_computed():
    net = Net((2, 4))
    net.op("tanh", ("x",))
    graph = net.graph(net.op("slice", ("x",), HALF))
    assert most_alive(graph, graph.nodes) == 2 * 32
    assert most_alive(graph, graph.nodes[1:]) == 32 + 16


def test_nodes_that_the_graph_has_not_bring_their_values():
    net = Net((2, 4))
    graph = net.graph(net.op("slice", ("x",), HALF))
    value = Value("y", DType.FLOAT32, (2, 4))
    nodes = (Node("tanh", "y", ("x",), ("y",), NoAttrs()), *graph.nodes)
    assert most_alive(graph, nodes, (value,)) == 2 * 32
