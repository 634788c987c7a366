"""Where layouts of values lead, and what has no parts."""

import pytest

from tests.passes.nets import TO_NCHW
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tinyrt.convert.passes.layouts import layouts
from tinyrt.convert.passes.merge_through import parts_of
from tinyrt.convert.passes.quantizers import HOIST_TO_INPUT
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.mean import MeanAttrs


@pytest.mark.parametrize("computed", [False, True])
def test_an_input_is_rounded_in_front_of_what_selects_from_it(computed):
    net = Net((1, 6, 5, 3))
    x = net.op("tanh", ("x",)) if computed else "x"
    y = net.op("fake_quantize", (net.transpose(x, TO_NCHW),), FakeQuantizeAttrs(0.5))
    graph, _ = apply(net.graph(y), HOIST_TO_INPUT)
    moved = ["tanh", "transpose", "fake_quantize"] if computed else ["fake_quantize", "transpose"]
    assert ops(graph) == moved


def test_what_a_mean_leaves_is_moved_behind_what_goes():
    net = Net((2, 3, 4))
    y = net.op("mean", ("x",), MeanAttrs((2,)))
    graph = net.graph(y)
    assert layouts(graph, graph.nodes[0], y, (1, 0)) == {"x": (1, 0, 2), y: (1, 0)}
    first = Net((2, 3, 4))
    y = first.op("mean", ("x",), MeanAttrs((0,)))
    graph = first.graph(y)
    assert layouts(graph, graph.nodes[0], y, (1, 0)) == {"x": (2, 0, 1), y: (1, 0)}


LAYERS = {
    "pixels": ((1, 1), (1, 1), True),
    "parts of columns": ((3, 1), (1, 1), False),
    "parts of rows": ((1, 3), (1, 1), False),
    "every second row": ((1, 1), (2, 1), False),
    "every second column": ((1, 1), (1, 2), False),
}


@pytest.mark.parametrize("name", LAYERS)
def test_convolutions_of_single_pixels_take_rows_and_columns_in_any_order(name):
    size, stride, does = LAYERS[name]
    net = Net((1, 6, 6, 3))
    y = net.op("conv2d", ("x", net.random(4, *size, 3)), Conv2dAttrs(stride))
    graph, turned = net.graph(y), (0, 2, 1, 3)
    expected = {"x": turned, y: turned} if does else None
    assert layouts(graph, graph.nodes[0], "x", turned) == expected
    assert layouts(graph, graph.nodes[0], y, turned) == expected
    assert layouts(graph, graph.nodes[0], "x", (0, 1, 3, 2)) is None


@pytest.mark.parametrize("computed", [False, True])
def test_constants_alone_may_have_fewer_dimensions(computed):
    net = Net((2, 3, 4), (4,))
    y = net.op("add", ("x", "x1" if computed else net.random(4)), AddAttrs())
    graph = net.graph(y)
    perms = {"x": (1, 0, 2), y: (1, 0, 2)}
    assert layouts(graph, graph.nodes[0], "x", (1, 0, 2)) == (None if computed else perms)


def test_a_number_has_no_parts():
    assert parts_of((), ()) == []
    assert parts_of((), (1, 1)) is None
