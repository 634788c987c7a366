"""Ways to a smaller arena: those that are open, with the bytes that they come to."""

from dataclasses import replace

import pytest

from tests.graphs import Builder
from tests.memory.nets import RandomNet
from tests.memory.targets import SCALAR
from tinyrt.budget import current, limited
from tinyrt.memory import arena, plan_by_rows, plan_memory, plan_pushed
from tinyrt.memory.advice import advise
from tinyrt.memory.rows import plan as rows
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mean import MeanAttrs

WORK = 4 * 10**9


def shrinking(b, x):
    return b.op("mean", (x,), MeanAttrs((1,), keep_dims=True))


def growing(b, x, times):
    return b.op("concatenation", (x,) * times, ConcatenationAttrs(1))


def large_input():
    b = Builder((1, 100))
    return b.graph(shrinking(b, "x"))


def large_inputs():
    b = Builder((1, 100), (1, 50))
    return b.graph(shrinking(b, "x"), shrinking(b, "x1"))


def large_output():
    b = Builder((1, 1))
    return b.graph(growing(b, "x", 100))


def large_outputs():
    b = Builder((1, 1))
    return b.graph(growing(b, "x", 50), growing(b, "x", 100))


def large_input_and_output():
    b = Builder((1, 20))
    return b.graph(growing(b, shrinking(b, "x"), 100))


def wide_before_deep():
    """Two branches that are both opened before one of them is closed."""
    b = Builder((1, 1))
    left, right = growing(b, "x", 100), growing(b, "x", 80)
    return b.graph(shrinking(b, left), shrinking(b, right))


@pytest.mark.parametrize(
    ("make", "whole", "ways"),
    [
        (large_input, 404, {"--input-outside": 4, "--output-outside": 400}),
        (large_inputs, 604, {"--input-outside": 8, "--output-outside": 600}),
        (large_output, 404, {"--input-outside": 400, "--output-outside": 4}),
        (large_outputs, 604, {"--input-outside": 600, "--output-outside": 4}),
        (large_input_and_output, 404, {"--output-outside": 84}),
        (wide_before_deep, 724, {"convert": 408}),
    ],
)
def test_ways_that_make_an_arena_smaller_are_told_with_its_bytes(make, whole, ways):
    graph = make()
    plan = plan_memory(graph, SCALAR)
    assert plan.arena_bytes == whole
    found = {a.what.split()[-1]: a.arena_bytes for a in advise(graph, SCALAR, plan)}
    assert found == ways
    assert list(found.values()) == sorted(found.values())


def by_rows():
    """Two convolutions over an image, and a layer with most of the weights."""
    net = RandomNet(0)
    net.values["x"] = replace(net.values["x"], shape=(1, 16, 16, 4))
    y = "x"
    for c_out, stride in ((16, 1), (32, 2)):
        w, b = net.weights((c_out, 3, 3, net.values[y].shape[3]), 0)
        y = net.op("conv2d", Conv2dAttrs((stride, stride)), y, w, b).name
    y = net.op("mean", MeanAttrs((1, 2), keep_dims=True), y).name
    w, b = net.weights((1024, 1, 1, 32), 0)
    return net.graph(net.op("conv2d", Conv2dAttrs(), y, w, b).name)


@pytest.mark.parametrize(
    ("make", "ways"),
    [
        (plan_memory, ["--input-rows", "--by-rows"]),
        (plan_by_rows, ["--input-rows"]),
        (plan_pushed, []),
    ],
)
def test_what_a_plan_does_already_is_not_advised(make, ways):
    graph = by_rows()
    found = advise(graph, SCALAR, make(graph, SCALAR))
    assert [a.what.split()[-1] for a in found] == ways
    sizes = {"--by-rows": plan_by_rows, "--input-rows": plan_pushed}
    for option, advice in zip(ways, found, strict=True):
        assert advice.arena_bytes == sizes[option](graph, SCALAR).arena_bytes


def test_plans_that_are_only_estimates_are_not_checked(monkeypatch):
    """To replay a plan byte by byte takes longer than to find it."""
    graph = by_rows()
    plan = plan_memory(graph, SCALAR)
    for module in (arena, rows):
        monkeypatch.setattr(module, "check_plan", None)
    assert len(advise(graph, SCALAR, plan)) == 2


@pytest.mark.parametrize(("more", "ways"), [(0, ["--by-rows"]), (1, [])])
def test_no_further_way_is_tried_once_half_of_the_budget_is_used(more, ways):
    graph = by_rows()
    plan = plan_memory(graph, SCALAR)
    with limited(work=WORK):
        current().work_used = WORK // 2 + more
        assert [a.what.split()[-1] for a in advise(graph, SCALAR, plan)] == ways
