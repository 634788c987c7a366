"""Patches: where nodes come, what is renamed and dropped, and which rules are asked again."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.budget import limited
from tinyrt.errors import BudgetError, VerifyError
from tinyrt.ir import Graph, Node, Patch, Refusal, RewriteLog, Rule, Value, rewrite
from tinyrt.ir.rewriter import ASK, PASS, apply_patch, drop_unused_values
from tinyrt.ir.verifier import check_order


def chain(*ops):
    """A graph of ops, each on what the one before wrote."""
    b = Builder((1, 4))
    name = "x"
    for op in ops:
        name = b.op(op, (name,))
    return b.graph(name)


def names(graph):
    return [node.name for node in graph.nodes]


GRAPH = chain("relu", "tanh", "abs", "neg")
A, B, C, D = GRAPH.nodes
NEW, MORE = (Node("new", name, (), ()) for name in ("new", "more"))


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (Patch(), [A, B, C, D]),
        (Patch(add=(NEW, MORE)), [A, B, C, D, NEW, MORE]),
        (Patch(add=(NEW, MORE), anchor=B), [A, NEW, MORE, B, C, D]),
        (Patch(remove=(B,)), [A, C, D]),
        (Patch(remove=(B,), add=(NEW, MORE)), [A, NEW, MORE, C, D]),
        (Patch(remove=(A, C), add=(NEW,)), [B, NEW, D]),
        (Patch(remove=(C, A), add=(NEW,)), [NEW, B, D]),
        (Patch(remove=(B,), add=(NEW,), anchor=D), [A, NEW, C, D]),
        (Patch(swaps=((B, (NEW, MORE)), (D, ()))), [A, NEW, MORE, C]),
        (Patch(remove=(A,), add=(NEW,), swaps=((C, (MORE,)),)), [NEW, B, MORE, D]),
        (Patch(add=(NEW,), anchor=B, swaps=((B, (MORE,)),)), [A, NEW, MORE, C, D]),
        (Patch(remove=(A, B, C, D), add=(A, NEW, B, C, MORE, D)), [A, NEW, B, C, MORE, D]),
        (Patch(remove=(A, B, C, D), add=(A, B, C, D, NEW, MORE)), [A, B, C, D, NEW, MORE]),
        (Patch(remove=(A, B, C, D), add=(NEW, A, C)), [NEW, A, C]),
        (Patch(remove=(A, B, C, D), add=(A, NEW, MORE)), [A, NEW, MORE]),
        (Patch(remove=(A, B, C, D), add=(A, B, D, NEW)), [A, B, D, NEW]),
        (Patch(remove=(A, B, C, D), add=(D, C, NEW, B, A)), [D, C, NEW, B, A]),
        (Patch(remove=(A, B, C, D), add=(NEW, MORE)), [NEW, MORE]),
    ],
)
def test_nodes_come_in_the_place_that_a_patch_says(patch, expected):
    found = apply_patch(GRAPH, patch).nodes
    assert [node.name for node in found] == [node.name for node in expected]
    assert all(a is b for a, b in zip(found, expected, strict=True))
    assert GRAPH.nodes == (A, B, C, D)


def test_a_rename_reaches_reads_and_outputs_but_not_writers():
    a, d = A.outputs[0], D.outputs[0]
    found = apply_patch(GRAPH, Patch(remove=(B, D), rename={B.outputs[0]: a, d: C.outputs[0]}))
    assert names(found) == names(GRAPH)[0:3:2]
    assert found.nodes[0] is A
    assert (found.nodes[1].inputs, found.outputs) == ((a,), C.outputs)
    assert list(found.values) == ["x", a, C.outputs[0]]


def test_values_that_nothing_refers_to_are_dropped_and_others_stay():
    kept = replace(GRAPH, states=(), outputs=(*GRAPH.outputs, "odd"))
    values = {**GRAPH.values, "odd": GRAPH.value("x"), "unused": GRAPH.value("x")}
    found = drop_unused_values(replace(kept, values=values))
    assert list(found.values) == [*GRAPH.values, "odd"]
    assert list(drop_unused_values(replace(GRAPH, nodes=())).values) == ["x", GRAPH.outputs[0]]


def renaming(old, new):
    """A rule that makes one op another one."""

    def apply(graph, node):
        return Patch(remove=(node,), add=(replace(node, op=new),))

    return Rule(f"{old} to {new}", (old,), apply)


def test_the_first_rule_that_applies_goes_first_and_everywhere_and_then_all_begin_again():
    log, seen = RewriteLog(), []
    rules = [renaming("neg", "exp"), renaming("relu", "neg"), renaming("abs", "relu")]
    after = rewrite(chain("relu", "abs", "relu"), rules, lambda g: seen.append(g) or g, log)
    assert [node.op for node in after.nodes] == ["exp"] * 3
    assert [rule for rule, _ in log.applied] == [
        *["relu to neg"] * 2,
        *["neg to exp"] * 2,
        *["abs to relu", "relu to neg", "neg to exp"],
    ]
    assert seen[-1] is after


def test_a_rule_without_ops_is_asked_for_each_node_in_order():
    asked = []
    rule = Rule("look", (), lambda graph, node: asked.append(node.name))
    graph = chain("relu", "tanh", "abs")
    assert rewrite(graph, [rule], check_order) is graph
    assert asked == names(graph)


def test_a_rule_is_asked_again_when_what_it_looked_at_has_changed_and_not_otherwise():
    """A consumer, a producer, a value; and what a rule has not looked at."""
    for look, again in (
        (lambda graph, node: graph.consumers(node.outputs[0]), 2),
        (lambda graph, node: graph.producer(C.outputs[0]), 2),
        (lambda graph, node: graph.value(C.outputs[0]), 2),
        (lambda graph, node: (graph.value(C.outputs[0]), graph.noted("", lambda: 0)), 2),
        (lambda graph, node: graph.noted("", lambda: graph.value(C.outputs[0])), 2),
        (lambda graph, node: (graph.noted("", lambda: 0), graph.value(C.outputs[0])), 2),
        (lambda graph, node: graph.noted("", lambda: graph.value("x")), 1),
        (lambda graph, node: graph.consumers(C.outputs[0]), 1),
        (lambda graph, node: graph.consumers("x"), 1),
        (lambda graph, node: graph.producer("x"), 1),
        (lambda graph, node: None, 1),
    ):
        asked = []

        def watch(graph, node, look=look, asked=asked):
            asked.append(node.name)
            look(graph, node)

        rewrite(GRAPH, [Rule("watch", ("tanh",), watch), renaming("abs", "exp")], check_order)
        assert len(asked) == again


@pytest.mark.parametrize("name", ["x", *(node.outputs[0] for node in GRAPH.nodes)])
def test_a_rule_is_asked_again_when_a_tensor_of_its_node_has_changed_even_unseen(name):
    asked, changed = [], []

    def change(graph, node):
        if changed:
            return None
        changed.append(node)
        return Patch(values=(replace(graph.value(name)),))

    watch = Rule("watch", ("tanh",), lambda graph, node: asked.append(node))
    rewrite(GRAPH, [watch, Rule("change", ("abs",), change)], check_order)
    assert asked == [B] * (2 if name in (*B.inputs, *B.outputs) else 1)


def test_a_rule_that_looked_at_readers_is_asked_again_when_others_are_renamed_to_them():
    """What goes reads nothing that the rule has looked at."""
    b = Builder((1, 4))
    first, second = b.op("relu", ("x",)), b.op("relu", ("x",))
    graph = b.graph(b.op("exp", (first,)), b.op("abs", (second,)))
    seen = []

    def merge(graph, node):
        (read,) = node.inputs
        other = graph.producer(read)
        return None if read == first else Patch(remove=(other,), rename={read: first})

    def look(graph, node):
        if node.outputs[0] == first:
            seen.append(len(graph.consumers(first)))

    rewrite(graph, [Rule("look", ("relu",), look), Rule("merge", ("abs",), merge)], check_order)
    assert seen == [1, 2]


def test_changes_that_touch_each_other_are_not_made_at_once():
    """relu(relu(relu(x))): each of two finds the one before it."""

    def merge(graph, node):
        producer = graph.producer(node.inputs[0])
        if producer is None or producer.op != "relu":
            return Refusal(node.name, "no relu before it")
        return Patch(remove=(producer,), rename={producer.outputs[0]: producer.inputs[0]})

    log, counts = RewriteLog(), []
    graph = chain("relu", "relu", "relu", "relu")
    after = rewrite(
        graph, [Rule("merge", ("relu",), merge)], lambda g: counts.append(len(g.nodes)), log
    )
    assert [node.inputs for node in after.nodes] == [("x",)]
    assert counts[-1] == 1
    assert check_order(after) is after


def test_what_an_earlier_change_refers_to_is_renamed_after_it_alone():
    """One op becomes a reader of ``v`` further on; what wrote ``v`` goes, as a rule behind it says.

    Neither has looked at what the other changes.
    """
    b = Builder((1, 4))
    first = b.op("relu", ("x",))
    v = b.op("neg", ("x",))
    graph = b.graph(b.op("exp", (first,)), b.op("abs", (v,)))

    def apply(graph, node):
        if node.op == "abs":
            producer = graph.producer(node.inputs[0])
            return producer and Patch(remove=(producer,), rename={v: "x"})
        (reader,) = graph.consumers(node.outputs[0])
        new = Node("maximum", "new", ("x", v if graph.has_value(v) else "x"), reader.outputs)
        return Patch(remove=(node,), swaps=((reader, (new,)),))

    steps = []
    after = rewrite(graph, [Rule("both", ("relu", "abs"), apply)], lambda g: steps.append(g) or g)
    assert [node.inputs for node in check_order(after).nodes] == [("x", "x"), ("x",)]
    assert len(steps) == 2


def test_nothing_is_renamed_to_what_goes_in_the_same_step():
    """One op goes; what reads another op is to read the one that went."""
    b = Builder((1, 4))
    gone, first = b.op("abs", ("x",)), b.op("relu", ("x",))
    graph = b.graph(b.op("exp", (first,)), b.op("tanh", (gone,)))

    def apply(graph, node):
        new = gone if node.op == "relu" and graph.has_value(gone) else "x"
        return Patch(remove=(node,), rename={node.outputs[0]: new})

    steps = []
    after = rewrite(graph, [Rule("both", ("relu", "abs"), apply)], lambda g: steps.append(g) or g)
    assert [node.inputs for node in check_order(after).nodes] == [("x",), ("x",)]
    assert len(steps) == 2


@pytest.mark.parametrize("order", [("relu", "tanh", "abs"), ("abs", "tanh", "relu")])
def test_each_change_is_held_against_all_before_it(order):
    """One reads a value that another changes; one between them has to do with neither."""
    b = Builder((1, 4))
    for op in order:
        b.op(op, ("x",))
    c = b.constant(np.zeros(1, np.float32))
    graph = b.graph(*(node.outputs[0] for node in b.nodes[:3]))
    graph = replace(graph, outputs=(*graph.outputs, c))
    one = Value.constant(c, np.ones(1, np.float32))

    def apply(graph, node):
        if node.op == "relu":
            graph.value(c)
        is_known = node.op == "abs"
        new = replace(node, op={"relu": "exp", "tanh": "sin", "abs": "neg"}[node.op])
        return Patch(remove=(node,), add=(new,), values=(one,) if is_known else ())

    steps = []
    rewrite(graph, [Rule("each", order, apply)], lambda g: steps.append(g) or g)
    first, second = ([node.op for node in graph.nodes] for graph in steps)
    made = {"relu": "exp", "tanh": "sin", "abs": "neg"}
    assert first == [made[order[0]], "sin", order[2]]
    assert second == [made[op] for op in order]


def test_refusals_that_an_application_overtook_are_not_shown():
    log = RewriteLog(
        [("one", "a")], {("one", "a"): "early", ("one", "b"): "late", ("two", "a"): "other"}
    )
    assert log.final_refusals() == {("one", "b"): "late", ("two", "a"): "other"}


def test_new_values_of_one_step_have_names_of_their_own():
    def add_constant(graph, node):
        if len(node.inputs) > 1:
            return None
        value = Value.constant(graph.unique_name("c"), np.zeros(1, np.float32))
        new = replace(node, inputs=(*node.inputs, value.name))
        return Patch(remove=(node,), add=(new,), values=(value,))

    steps = []
    b = Builder((1, 4))
    graph = b.graph(*(b.op("relu", ("x",)) for _ in range(3)))
    after = rewrite(graph, [Rule("add", (), add_constant)], steps.append)
    assert [node.inputs[1] for node in after.nodes] == ["c", "c_1", "c_2"]
    assert len(steps) == 1


@pytest.mark.parametrize("limit", [3, 4])
def test_patches_are_counted_up_to_the_limit(limit):
    graph = chain(*["relu"] * 4)
    if limit == 4:
        rewrite(graph, [renaming("relu", "exp")], check_order, limit=limit)
        return
    with pytest.raises(VerifyError, match="did not settle after 3 patches"):
        rewrite(graph, [renaming("relu", "exp")], check_order, limit=limit)


def test_asking_and_changing_cost_work_and_constants_are_held():
    b = Builder((1, 4))
    graph = b.graph(*(b.op("relu", ("x",)) for _ in range(2)))
    constants = tuple(Value.constant(name, np.zeros(100, np.uint8)) for name in ("b", "c"))

    def change(graph, node):
        return Patch(remove=(node,), add=(replace(node, op="exp"),), values=constants)

    rule = Rule("change", ("relu",), change)
    look = Rule("look", ("relu",), lambda graph, node: None)
    with limited() as budget:
        rewrite(graph, [look], check_order)
        assert budget.work_used == 2 * ASK
    with limited() as budget:
        rewrite(graph, [look, renaming("relu", "exp")], check_order)
        assert budget.work_used == 4 * ASK + 2 * PASS
    with limited() as budget:
        rewrite(graph, [rule], check_order)
        assert budget.memory_used == 200
    with limited(memory=199), pytest.raises(BudgetError, match="the constant 'c'"):
        rewrite(graph, [rule], check_order)
    with limited(work=ASK), pytest.raises(BudgetError, match="the pass 'look'"):
        rewrite(graph, [look], check_order)


def test_a_graph_knows_its_names_during_a_walk():
    found = []

    def look(graph: Graph, node: Node):
        found.append(("x" in graph.inputs, "y" in graph.inputs, node.outputs[0] in graph.outputs))
        found.append((tuple(graph.inputs), graph.has_value("x"), graph.has_value("nothing")))

    rewrite(chain("relu"), [Rule("look", (), look)], check_order)
    assert found == [(True, False, True), (("x",), True, False)]
