"""What was found out about a node is kept for that node, and for no other."""

import pickle
from dataclasses import replace
from itertools import count

from tests.graphs import small_cnn


def test_what_is_found_out_is_found_out_once():
    graph, numbers = small_cnn(), count()
    assert graph.bind(0).noted("key", numbers.__next__) == 0
    assert graph.bind(0).noted("key", numbers.__next__) == 0
    assert graph.bind(1).noted("key", numbers.__next__) == 1
    assert replace(graph).bind(0).noted("key", numbers.__next__) == 2


def test_a_node_with_other_values_has_notes_of_its_own():
    node, numbers = small_cnn().bind(0), count()
    node.noted("key", numbers.__next__)
    other = replace(node, outputs=(replace(node.output, name="other"),))
    assert other.noted("key", numbers.__next__) == 1
    assert other.noted_of_constants("key", numbers.__next__) == 2


def test_numbers_of_rows_share_what_follows_from_constants():
    node, numbers = small_cnn().bind(0), count()
    few, more = (replace(node).noting(node.notes.on_rows(n)) for n in (1, 2))
    again = replace(few).noting(few.notes.on_rows(2))
    assert node.noted_of_constants("key", numbers.__next__) == 0
    assert few.noted_of_constants("key", numbers.__next__) == 0
    assert few.noted("key", numbers.__next__) == 1
    assert more.noted("key", numbers.__next__) == 2
    assert again.noted("key", numbers.__next__) == 2


def test_a_graph_travels_to_other_processes_without_what_was_found_out():
    graph = small_cnn()
    alone = pickle.dumps(graph)
    graph.bind(0).noted("key", lambda: lambda: "no process takes this along")
    assert pickle.dumps(graph) == alone
    there = pickle.loads(alone)
    assert there.bind(0).noted("key", lambda: 5) == 5
    assert [node.describe() for node in there.bound()] == [n.describe() for n in graph.bound()]
    assert there.values["const1"].data.tolist() == graph.values["const1"].data.tolist()
