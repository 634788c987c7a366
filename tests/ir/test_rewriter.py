"""The rewrite driver: patches in place, refusals kept, broken rules named."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.errors import VerifyError
from tinyrt.ir import Patch, Refusal, RewriteLog, Rule, rewrite
from tinyrt.ir.rewriter import _apply, _Change, _Pending
from tinyrt.ops import verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.evaluate import evaluate


def _chain():
    b = Builder((1, 4))
    return b.graph(b.op("relu", (b.op("relu", (b.op("tanh", ("x",)),)),)))


def _drop_second(graph, node):
    """relu(relu(x)) = relu(x)."""
    producer = graph.producer(node.inputs[0])
    if producer is None or producer.op != "relu":
        return Refusal(node.name, "its input is not a relu")
    return Patch(remove=(node,), rename={node.outputs[0]: producer.outputs[0]})


def test_a_patch_renames_reads_and_outputs_and_drops_values():
    graph, log = _chain(), RewriteLog()
    rule = Rule("merge relus", ("relu",), _drop_second)
    after = rewrite(graph, [rule], verify, log)
    assert [n.op for n in after.nodes] == ["tanh", "relu"]
    assert after.outputs == ("relu_1",)
    assert "relu_2" not in after.values
    assert log.applied == [("merge relus", "relu_2")]
    assert log.refused == {("merge relus", "relu_1"): "its input is not a relu"}
    x = np.linspace(-1, 1, 4, dtype=np.float32)[None]
    (before_y,), (after_y,) = (evaluate(g, {"x": x}).values() for g in (graph, after))
    np.testing.assert_array_equal(before_y, after_y)


def test_a_rule_that_breaks_an_invariant_is_named():
    def bad(graph, node):
        return Patch(values=(replace(graph.value(node.outputs[0]), shape=(9, 9)),))

    with pytest.raises(VerifyError, match="after rule 'bad'"):
        rewrite(_chain(), [Rule("bad", ("tanh",), bad)], verify)


def test_rules_that_never_settle_are_stopped():
    def again(graph, node):
        return Patch(remove=(node,), add=(node,))

    with pytest.raises(VerifyError, match="did not settle"):
        rewrite(_chain(), [Rule("again", ("tanh",), again)], verify, limit=5)


def test_what_rules_note_is_found_once_and_again_when_it_changes():
    counts = []

    def count_ops(graph):
        name, n = "x", 0
        while readers := graph.consumers(name):
            name, n = readers[0].outputs[0], n + 1
        counts.append(n)
        return n

    def drop_second_of_three(graph, node):
        n = graph.noted("ops", lambda: count_ops(graph))
        return _drop_second(graph, node) if n == 3 else Refusal(node.name, f"{n} ops")

    log = RewriteLog()
    rewrite(_chain(), [Rule("drop", ("relu",), drop_second_of_three)], verify, log)
    assert counts == [3, 2]  # once for two nodes; the first relu had only looked at the note
    assert log.refused[("drop", "relu_1")] == "2 ops"


def test_nodes_that_a_change_takes_away_are_not_asked():
    b = Builder((1, 4))
    for _ in range(20):
        b.op("relu", ("x",))
    graph, asked = b.graph(b.op("tanh", ("relu_0",))), []

    def drop_others(graph, node):
        asked.append(node.name)
        first, *twins = graph.consumers("x")
        if not twins:
            return None
        rename = {n.outputs[0]: first.outputs[0] for n in twins}
        return Patch(remove=tuple(twins), rename=rename)

    after = rewrite(graph, [Rule("drop others", ("relu",), drop_others)], verify)
    assert [n.op for n in after.nodes] == ["relu", "tanh"]
    assert len(asked) == 2, "the first one, and again when the others are gone"


def test_nodes_whose_reader_a_change_replaces_are_asked_afterwards():
    b = Builder((1, 4))
    parts = [b.op("relu", ("x",)) for _ in range(20)]
    graph, asked = b.graph(b.op("concatenation", parts, ConcatenationAttrs(1))), []

    def rename_reader(graph, node):
        asked.append(node.name)
        (reader,) = graph.consumers(node.outputs[0])
        if reader.name == "done":
            return None
        return Patch(remove=(reader,), add=(replace(reader, name="done"),))

    after = rewrite(graph, [Rule("rename reader", ("relu",), rename_reader)], verify)
    assert after.nodes[-1].name == "done"
    assert len(asked) == 1 + 20, "the first one; all others see the reader that came"


def test_a_new_node_may_have_the_identity_of_one_that_went():
    """Python gives the address of what is gone to what comes; what was noted must not mix them."""
    graph = _chain()
    old, fresh = graph.nodes[0], replace(graph.nodes[0], name="fresh")
    pending = _Pending([Rule("look", (), lambda graph, node: None)], graph)
    pending._readers["x"] = {(0, id(fresh))}  # noted for a node that lay there before
    change = _Change.of(graph, Patch(remove=(old,), add=(fresh,), values=(graph.value("x"),)))
    after = _apply(graph, [change])
    pending.follow(graph, after, [change])
    places = {id(node): i for i, node in enumerate(after.nodes)}
    assert pending.of(0, places) == list(after.nodes)


def test_all_nodes_are_asked_again_when_the_outputs_change():
    """What a rule says of a node may depend on whether its answer is the graph's."""
    b = Builder((1, 4))
    apart, first = b.op("tanh", ("x",)), b.op("relu", ("x",))
    graph = b.graph(apart, b.op("relu", (first,)))
    asked = []

    def look(graph, node):
        asked.append((node.name, graph.outputs))

    def drop_last(graph, node):
        is_last = node.outputs[0] in graph.outputs and node.inputs[0] == first
        return Patch(remove=(node,), rename={node.outputs[0]: first}) if is_last else None

    rules = [Rule("look", ("tanh",), look), Rule("drop last", ("relu",), drop_last)]
    after = rewrite(graph, rules, verify)
    assert after.outputs == (apart, first)
    assert [outputs for _, outputs in asked] == [graph.outputs, after.outputs]


def test_rules_ask_for_a_name_among_many_in_constant_time():
    """A hostile file may have many outputs, and each rule asks for each value."""
    graph = _chain()
    asked = []

    def ask(graph, node):
        asked.extend((graph.inputs, graph.outputs))

    rewrite(graph, [Rule("ask", (), ask)], verify)
    assert asked
    assert all(type(names).__contains__ is not tuple.__contains__ for names in asked)
    assert graph.inputs[0] in asked[0]
    assert graph.outputs[0] in asked[1]
