"""Passes that a caller names, or leaves out."""

import pytest

from tests.passes.random_net import RandomNet as Net
from tests.passes.run import ops
from tinyrt.convert.passes import optimize, pass_names
from tinyrt.errors import DataError

ROW = (2, 4)


def test_the_passes_that_are_named_are_applied_alone():
    net = Net(ROW)
    y = net.op("neg", (net.op("neg", (net.mul("x", net.op("tanh", (net.random(4),))),)),))
    graph = net.graph(net.op("abs", (y,)))
    named = optimize(graph, passes=("fold_constants", "remove_dead"))
    assert ops(named) == ["mul", "neg", "neg", "abs"]
    names = ("fold_constants", "cancel_signs", "remove_dead")
    both = optimize(graph, passes=names, skip=("fold_constants",))
    assert ops(both) == ["tanh", "mul", "abs"]


def test_the_first_unknown_name_is_refused_with_the_nearest():
    graph = Net(ROW).graph("x")
    with pytest.raises(DataError, match="there is no pass 'fold_constant'") as caught:
        optimize(graph, passes=("turn_inputs", "fold_constant"))
    assert "fold_constants" in caught.value.hint
    assert caught.value.expected.split(", ")[0] == pass_names()[0]
    with pytest.raises(DataError) as caught:
        optimize(graph, skip=("?",))
    assert "--explain" in caught.value.hint
