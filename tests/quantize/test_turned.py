"""Queries, keys and values that are moved at once get scales of their own where they differ."""

from itertools import product

import numpy as np
import pytest

from tests.graphs import Builder
from tests.sampling import sampled
from tinyrt.interpreter import Model
from tinyrt.ir import Graph
from tinyrt.metrics import sqnr_db
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.quantize import PRESETS, Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.calibration.collect import calibrate
from tinyrt.quantize.methods import turned
from tinyrt.quantize.methods.turned import split_turned, with_moved
from tinyrt.quantize.ranges import Range

TOKENS, WIDTH, HEADS, DEPTH = 6, 8, 2, 4


class Net(Builder):
    """Tokens, a layer of three thirds that differ in range, and moves of all of them."""

    def __init__(self, ratio: float = 10.0, biased: bool = True, pointwise: bool = False) -> None:
        self.x_shape = (1, 2, 3, WIDTH) if pointwise else (1, TOKENS, WIDTH)
        super().__init__(self.x_shape)
        rng = np.random.default_rng(0)
        thirds = np.repeat([1.0, ratio, ratio**0.5], WIDTH)
        w = (rng.normal(size=(3 * WIDTH, WIDTH)) * thirds[:, None]).astype(np.float32)
        bias = [self.constant((rng.normal(size=3 * WIDTH) * thirds).astype(np.float32))]
        inputs = ("x", self.constant(w.reshape(-1, 1, 1, WIDTH) if pointwise else w))
        if pointwise:
            self.whole = self.op("conv2d", (*inputs, *bias), Conv2dAttrs())
        else:
            attrs = FullyConnectedAttrs(keep_num_dims=True)
            self.whole = self.op("fully_connected", (*inputs, *(bias if biased else [])), attrs)

    def turned(self, shape: tuple[int, ...], perm: tuple[int, ...]) -> str:
        split = self.op("reshape", (self.whole,), ReshapeAttrs(shape))
        return self.op("transpose", (split,), TransposeAttrs(perm))

    def cut(self, x: str, begin, size, dropped=(), strides=None) -> str:
        return self.op("slice", (x,), SliceAttrs(begin, size, strides or (1,) * len(size), dropped))


def in_heads(net: Net, sizes=(2, 2, 2)) -> list[str]:
    """As ``merge_heads`` leaves them."""
    y = net.turned((1, TOKENS, 6, DEPTH), (0, 2, 1, 3))
    begins = np.cumsum([0, *sizes[:-1]])
    return [
        net.cut(y, (0, int(b), 0, 0), (1, n, TOKENS, DEPTH))
        for b, n in zip(begins, sizes, strict=True)
    ]


def last_heads_first(net: Net) -> list[str]:
    y = net.turned((1, TOKENS, 6, DEPTH), (0, 2, 1, 3))
    return [net.cut(y, (0, begin, 0, 0), (1, 2, TOKENS, DEPTH)) for begin in (4, 2, 0)]


def in_front(net: Net, dropped=(0,)) -> list[str]:
    """As ViTs of timm have them."""
    y = net.turned((1, TOKENS, 3, HEADS, DEPTH), (2, 0, 3, 1, 4))
    size = (1, 1, HEADS, TOKENS, DEPTH)
    return [net.cut(y, (i, 0, 0, 0, 0), size, dropped) for i in range(3)]


def halves_too(net: Net) -> list[str]:
    """Wholes and halves, as of what Llama rotates."""
    y = net.turned((1, TOKENS, 6, DEPTH), (0, 2, 1, 3))
    made = []
    for begin in (0, 2, 4):
        made += [
            net.cut(y, (0, begin, 0, half), (1, 2, TOKENS, DEPTH // 2)) for half in (0, DEPTH // 2)
        ]
        made.append(net.cut(y, (0, begin, 0, 0), (1, 2, TOKENS, DEPTH)))
    return made


def shaped(net: Net, shape: tuple[int, ...], perm: tuple[int, ...] = (0, 3, 2, 1, 4)) -> str:
    """What is moved with the windows of an image, in another shape."""
    turned = net.turned((1, 2, 3, 6, DEPTH), perm)
    return net.op("reshape", (turned,), ReshapeAttrs(shape))


def with_windows(net: Net, dropped=(0,)) -> list[str]:
    """As windows of Swin and their heads are moved at once."""
    y = shaped(net, (3, HEADS, TOKENS, DEPTH))
    return [net.cut(y, (i, 0, 0, 0), (1, HEADS, TOKENS, DEPTH), dropped) for i in range(3)]


def windows_and_halves(net: Net) -> list[str]:
    y = shaped(net, (1, 3 * HEADS, TOKENS, DEPTH))
    return [
        net.cut(y, (0, begin, 0, 0), (1, HEADS, TOKENS, depth))
        for begin in (0, 2, 4)
        for depth in (DEPTH, DEPTH // 2)
    ]


def windows_in_front_and_halves(net: Net) -> list[str]:
    """The dimension that is cut is another one than before the reshape."""
    y = shaped(net, (3, HEADS, TOKENS, DEPTH))
    return [
        net.cut(y, (i, 0, 0, 0), (1, HEADS, TOKENS, depth))
        for i in range(3)
        for depth in (DEPTH, DEPTH // 2)
    ]


def in_front_and_halves(net: Net) -> list[str]:
    """Halves of what loses its first dimension as a whole; some of them keep it."""
    y = net.turned((1, TOKENS, 3, HEADS, DEPTH), (2, 0, 3, 1, 4))
    return [
        net.cut(y, (i, 0, 0, 0, 0), (1, 1, HEADS, TOKENS, depth), dropped)
        for i in range(3)
        for depth, dropped in ((DEPTH, (0,)), (DEPTH // 2, (0,)), (DEPTH // 2, ()))
    ]


FORMS = {
    "with windows": (with_windows, {}),
    "with windows in front, halves too": (windows_in_front_and_halves, {}),
    "with windows, kept": (lambda net: with_windows(net, ()), {}),
    "with windows, halves too": (windows_and_halves, {}),
    "heads": (in_heads, {}),
    "last heads first": (last_heads_first, {}),
    "uneven heads": (lambda net: in_heads(net, (3, 2, 1)), {}),
    "in front": (in_front, {}),
    "in front, kept": (lambda net: in_front(net, ()), {}),
    "in front, halves too": (in_front_and_halves, {}),
    "halves too": (halves_too, {}),
    "no bias": (in_heads, {"biased": False}),
    "a convolution": (in_heads, {"pointwise": True}),
}


def samples(shape: tuple[int, ...], count: int = 64, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, *shape[1:])).astype(np.float32)


def built(form: str) -> tuple[Graph, np.ndarray]:
    make, options = FORMS[form]
    net = Net(**options)
    return net.graph(*make(net)), samples(net.x_shape)


@pytest.mark.parametrize("form", FORMS)
def test_each_part_has_a_layer_and_a_move(form):
    graph, x = built(form)
    ranges = calibrate(graph, x)
    apart = split_turned(graph, ranges, QuantConfig())
    ops = [node.op for node in apart.nodes]
    assert ops.count("transpose") == 3
    first, *_ = (node for node in apart.bound() if len(node.inputs) > 1)
    whole = next(node for node in graph.bound() if len(node.inputs) > 1)
    rows = slice(first.output.shape[-1])
    np.testing.assert_array_equal(first.input(1).data, whole.input(1).data[rows])
    assert ops.count("fully_connected") + ops.count("conv2d") == 3
    exact = Model(graph).run(x)
    for name, found in Model(apart).run(x).items():
        np.testing.assert_allclose(found, exact[name], rtol=1e-5, atol=1e-5)
    known = with_moved(graph, apart, ranges)
    measured = calibrate(apart, x)
    for node in apart.nodes:
        if node.op != "slice":
            assert known[node.output].low == pytest.approx(measured[node.output].low, abs=1e-5)


APART_BY = [
    *product(
        [None, *Preset],
        [f for f in FORMS if f not in ("uneven heads", "last heads first", "in front, halves too")],
    )
]
"""Presets and forms; a sample is without the last preset, which takes longest and adds nothing."""


@pytest.mark.parametrize(("preset", "form"), sampled(APART_BY[:30:8], APART_BY))
def test_the_narrowest_third_keeps_its_steps(form, preset, monkeypatch):
    graph, x = built(form)
    config = QuantConfig() if preset is None else PRESETS[preset]
    name = graph.outputs[0]
    exact = Model(graph).run(x)[name]
    found = sqnr_db(exact, Model(quantize_graph(graph, x, config)).run(x)[name]).mean()
    monkeypatch.setattr(turned, "APART", np.inf)
    together = sqnr_db(exact, Model(quantize_graph(graph, x, config)).run(x)[name]).mean()
    assert found > max(together + 8, 30)


def test_parts_apart_from_zero_alone_stay_together():
    """Integers hold zero in any case: their steps are the same."""
    net = Net()
    graph = net.graph(*in_heads(net))
    ends = zip(graph.outputs, ((1, 6), (5.5, 6), (5, 5.99)), strict=True)
    ranges = calibrate(graph, samples(net.x_shape))
    ranges |= {name: Range(*map(float, pair)) for name, pair in ends}
    assert split_turned(graph, ranges, QuantConfig()) is graph
    mirrored = {n: Range(-ranges[n].high, -ranges[n].low) for n in graph.outputs}
    assert split_turned(graph, ranges | mirrored, QuantConfig()) is graph
    for most, stays in ((turned.APART, True), (1.02, False)):
        ranges |= dict.fromkeys(graph.outputs, Range(0.0, 1.0))
        ranges[graph.outputs[2]] = Range(0.5, most)
        assert (split_turned(graph, ranges, QuantConfig()) is graph) is stays


@pytest.mark.parametrize(
    ("ends", "apart"),
    [
        (((0, 1), (0, 1), (-1, 0)), True),
        (((-1, 1), (0, 1), (0, 1)), True),
        (((-1, 1), (-1, 1), (-1, 1)), False),
        (((-2, 4), (2, 4), (-2, -1)), True),
        (((-2, 4), (-2, 4), (-2, 3.96)), False),
        (((0, 0), (0, 0), (0, 0)), False),
        (((0, 1), (0, 0), (0, 1)), True),
    ],
)
def test_parts_are_apart_where_one_needs_less_than_all_together(ends, apart):
    """Also where all are as wide, but lie elsewhere."""
    net = Net()
    graph = net.graph(*in_heads(net))
    ranges = calibrate(graph, samples(net.x_shape))
    ranges |= {n: Range(*map(float, e)) for n, e in zip(graph.outputs, ends, strict=True)}
    assert (split_turned(graph, ranges, QuantConfig()) is not graph) is apart


def stepped(net: Net) -> list[str]:
    y = net.turned((1, TOKENS, 6, DEPTH), (0, 2, 1, 3))
    return [net.cut(y, (0, i, 0, 0), (1, 3, TOKENS, DEPTH), (), (1, 2, 1, 1)) for i in (0, 1)]


def side_by_side(net: Net) -> list[str]:
    """The parts of each head, as LeViT has them: a part's channels are no rows in one piece."""
    y = net.turned((1, TOKENS, 2, 12), (0, 2, 1, 3))
    return [net.cut(y, (0, 0, 0, 4 * i), (1, 2, TOKENS, 4)) for i in range(3)]


def overlapping(net: Net) -> list[str]:
    y = net.turned((1, TOKENS, 6, DEPTH), (0, 2, 1, 3))
    return [net.cut(y, (0, i, 0, 0), (1, 4, TOKENS, DEPTH)) for i in (0, 2)]


def incomplete(net: Net) -> list[str]:
    return in_heads(net, (2, 2))


def halves_alone(net: Net) -> list[str]:
    y = net.turned((1, TOKENS, 6, DEPTH), (0, 2, 1, 3))
    return [net.cut(y, (0, 2 * i, 0, 0), (1, 2, TOKENS, 2)) for i in range(3)]


def read_whole(net: Net) -> list[str]:
    y = net.turned((1, TOKENS, 6, DEPTH), (0, 2, 1, 3))
    parts = [net.cut(y, (0, 2 * i, 0, 0), (1, 2, TOKENS, DEPTH)) for i in range(3)]
    return [*parts, net.op("add", (y, y), AddAttrs())]


def answered(net: Net) -> list[str]:
    y = net.turned((1, TOKENS, 6, DEPTH), (0, 2, 1, 3))
    return [y, *(net.cut(y, (0, 2 * i, 0, 0), (1, 2, TOKENS, DEPTH)) for i in range(3))]


def layer_read_twice(net: Net) -> list[str]:
    return [*in_heads(net), net.op("add", (net.whole, net.whole), AddAttrs())]


def layer_answered(net: Net) -> list[str]:
    return [net.whole, *in_heads(net)]


def not_split(net: Net) -> list[str]:
    y = net.op("transpose", (net.whole,), TransposeAttrs((0, 2, 1)))
    return [net.cut(y, (0, 8 * i, 0), (1, 8, TOKENS)) for i in range(3)]


def shared_weights(net: Net) -> list[str]:
    layer = net.nodes[-1]
    again = net.op("fully_connected", layer.inputs, FullyConnectedAttrs(keep_num_dims=False))
    return [*in_heads(net), again]


def shared_bias(net: Net) -> list[str]:
    layer = net.nodes[-1]
    others = net.constant(np.ones(net.values[layer.inputs[1]].shape, np.float32))
    inputs = (layer.inputs[0], others, layer.inputs[2])
    again = net.op("fully_connected", inputs, FullyConnectedAttrs(keep_num_dims=False))
    return [*in_heads(net), again]


def shape_answered(net: Net) -> list[str]:
    y = shaped(net, (3, HEADS, TOKENS, DEPTH))
    return [y, *(net.cut(y, (i, 0, 0, 0), (1, HEADS, TOKENS, DEPTH)) for i in range(3))]


def moved_answered(net: Net) -> list[str]:
    parts = with_windows(net)
    return [next(n.output for n in net.nodes if n.op == "transpose"), *parts]


def parts_of_rows(net: Net) -> list[str]:
    """Quarters of six heads."""
    y = shaped(net, (4, 9, DEPTH))
    return [net.cut(y, (i, 0, 0), (1, 9, DEPTH)) for i in range(4)]


def rows_in_front(net: Net) -> list[str]:
    y = shaped(net, (2, 3, TOKENS, DEPTH), (1, 0, 3, 2, 4))
    return [net.cut(y, (0, i, 0, 0), (2, 1, TOKENS, DEPTH)) for i in range(3)]


@pytest.mark.parametrize(
    ("make", "ratio", "config"),
    [
        (in_heads, 1.0, QuantConfig()),
        (in_heads, 10.0, QuantConfig(scheme=Scheme.INT16X8)),
        (in_heads, 10.0, QuantConfig(scheme_for=(("fully_connected*", Scheme.INT8),))),
        *(
            (make, 10.0, QuantConfig())
            for make in (
                *(stepped, side_by_side, overlapping, incomplete, halves_alone, read_whole),
                *(answered, layer_read_twice, layer_answered, not_split),
                *(shared_weights, shared_bias),
                *(shape_answered, moved_answered, parts_of_rows, rows_in_front),
            )
        ),
    ],
)
def test_what_is_moved_at_once_stays(make, ratio, config):
    net = Net(ratio)
    graph = net.graph(*make(net))
    ranges = calibrate(graph, samples(net.x_shape))
    if ratio == 1.0:
        ranges = dict.fromkeys(ranges, ranges["x"])
    assert split_turned(graph, ranges, config) is graph
