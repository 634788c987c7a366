"""Transposes move, cancel, and end at the model's inputs and outputs or nowhere."""

import numpy as np

from tests.passes.nets import TO_NCHW, TO_NHWC, Net
from tests.passes.run import ops, results
from tinyrt.convert.passes import optimize
from tinyrt.ir import DType, RewriteLog
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.evaluate import evaluate


class Nchw(Net):
    """Convolutions on channels-first values, as an import leaves them."""

    def conv(self, x, c_out=4, size=3, bias=True, **attrs):
        last = self.transpose(x, TO_NHWC)
        return self.transpose(super().conv(last, c_out, size, bias, **attrs), TO_NCHW)


def settled(net: Net, *outputs: str):
    """The graph optimised with its layout kept, checked, and optimised for NHWC, checked."""
    graph = net.graph(*outputs)
    kept = optimize(graph, keep_layout=True)
    assert [v.type for v in (*kept.input_values, *kept.output_values)] == [
        v.type for v in (*graph.input_values, *graph.output_values)
    ]
    wanted = results(graph)
    for found, want in zip(results(kept), wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
    turned = optimize(graph)
    rng = np.random.default_rng(0)
    feeds = {}
    for old, new in zip(graph.input_values, turned.input_values, strict=True):
        x = rng.standard_normal(old.shape).astype(np.float32)
        feeds[old.name] = x if old.shape == new.shape else x.transpose(TO_NHWC)
    for found, want in zip(evaluate(turned, feeds).values(), wanted, strict=True):
        want = want if found.shape == want.shape else want.transpose(TO_NHWC)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
    assert turned.outputs == graph.outputs
    return kept, turned


def test_a_chain_ends_without_transposes():
    net = Nchw((1, 3, 6, 5))
    y = net.conv(net.op("relu", (net.conv("x"),)))
    kept, turned = settled(net, y)
    assert ops(turned) == ["conv2d", "conv2d"]
    assert ops(kept) == ["transpose", "conv2d", "conv2d", "transpose"]
    assert turned.value("x").shape == (1, 6, 5, 3)


def test_a_residual_block_ends_without_transposes():
    net = Nchw((1, 3, 6, 5))
    stem = net.op("relu", (net.conv("x"),))
    joined = net.op("relu", (net.op("add", (stem, net.conv(stem)), AddAttrs()),))
    kept, turned = settled(net, net.conv(joined))
    assert ops(turned) == ["conv2d", "conv2d", "add", "conv2d"]
    assert ops(kept).count("transpose") == 2


def test_constants_concatenations_pads_and_means_turn_along():
    net = Nchw((1, 3, 6, 5))
    y = net.op("mul", (net.conv("x"), net.random(4, 1, 1)), MulAttrs())
    y = net.op("add", (y, net.random(6, 1)), AddAttrs())
    y = net.op("concatenation", (y, net.conv("x"), net.random(1, 2, 6, 5)), ConcatenationAttrs(1))
    y = net.op("pad", (y,), PadAttrs(((0, 0), (1, 0), (2, 3), (0, 4))))
    y = net.op("mul", (y, net.op("mean", (y,), MeanAttrs((2, 3), keep_dims=True))), MulAttrs())
    _, turned = settled(net, net.conv(y))
    assert "transpose" not in ops(turned)


def test_a_branch_through_dense_layers_ends_without_transposes():
    net = Nchw((1, 3, 6, 5))
    y = net.conv("x")
    gate = net.dense(net.op("mean", (y,), MeanAttrs((2, 3))))
    y = net.op("mul", (y, net.reshape(net.op("logistic", (gate,)), 1, 4, 1, 1)), MulAttrs())
    flat = net.reshape(net.conv(y), 1, 120)
    _, turned = settled(net, net.dense(flat))
    assert "transpose" not in ops(turned)


def test_pads_in_front_of_the_first_convolution_fuse_in_either_layout():
    net = Nchw((1, 3, 6, 5))
    y = net.op("pad", ("x",), PadAttrs(((0, 0), (0, 0), (1, 1), (1, 1))))
    kept, turned = settled(net, net.conv(y, padding="VALID"))
    assert ops(turned) == ["conv2d"]
    assert ops(kept) == ["transpose", "conv2d", "transpose"]


def test_an_input_that_others_read_keeps_its_layout():
    net = Nchw((1, 3, 6, 5))
    flat = net.reshape("x", 3, 30)
    log = RewriteLog()
    graph = optimize(net.graph(net.conv("x"), net.softmax(flat)), log=log)
    assert graph.value("x").shape == (1, 3, 6, 5)
    assert "the input 'x' has other readers" in log.refused.values()


def test_an_output_that_others_read_keeps_its_layout():
    net = Nchw((1, 3, 6, 5))
    y = net.conv("x")
    log = RewriteLog()
    graph = optimize(net.graph(y, net.softmax(y)), log=log)
    assert graph.value(y).shape == (1, 4, 6, 5)
    assert f"the output '{y}' has other readers" in log.refused.values()


def test_a_transpose_stays_where_moving_it_would_need_more():
    net = Net((1, 6, 5, 3))
    y = net.softmax("x")
    turned = net.op("tanh", (net.transpose(y, TO_NCHW),))
    log = RewriteLog()
    graph = optimize(net.graph(net.softmax(turned)), log=log)
    assert ops(graph) == ["softmax", "tanh", "transpose", "softmax"]
    assert "moving it would leave more transposes" in log.refused.values()


def test_a_transpose_that_leads_back_into_its_region_stays():
    net = Net((1, 4, 4, 4))
    y = net.op("relu", ("x",))
    y = net.op("add", (y, net.transpose(y, TO_NHWC)), AddAttrs())
    kept, _ = settled(net, net.softmax(y))
    assert "transpose" in ops(kept)


def test_comparisons_and_choices_are_in_any_layout():
    net = Nchw((1, 3, 6, 5))
    x = net.conv("x")
    limit, slopes = net.random(1), net.random(4, 1, 1)
    above = net.op("greater", (x, limit))
    outside = net.op("logical_or", (above, net.op("less", (x, slopes))))
    y = net.op("select_v2", (outside, x, net.op("mul", (x, slopes), MulAttrs())))
    y = net.op("mul", (y, net.op("cast", (above,), CastAttrs(DType.FLOAT32))), MulAttrs())
    _, turned = settled(net, net.conv(y))
    assert "select_v2" in ops(turned)
    assert "transpose" not in ops(turned)


def test_names_survive():
    net = Nchw((1, 3, 6, 5))
    first = net.op("relu", (net.conv("x"),))
    second = net.op("relu", (net.conv(first),))
    flat = net.reshape(second, 1, 120)
    y = net.dense(flat)
    graph = optimize(net.graph(y))
    assert [n.outputs[0] for n in graph.nodes] == [first, second, flat, y]
