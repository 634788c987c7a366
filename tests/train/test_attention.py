"""Masks of attention: who sees whom, in training and in what is deployed."""

import numpy as np
import pytest

from tests.train.build import in_float64
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, ShapeError
from tinyrt.interpreter.model import Model
from tinyrt.quantize import quantize_graph
from tinyrt.train import Tensor, gradcheck, trace
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.nn import Linear, Sequential
from tinyrt.train.qat import QatModel
from tinyrt.train.sequence import MultiHeadAttention

STEPS = 6


def attention(**options):
    return MultiHeadAttention(8, 2, rng=np.random.default_rng(0), **options)


def samples(count=64):
    return np.random.default_rng(1).normal(size=(count, STEPS, 8)).astype(np.float32)


def moved(layer, at, *masks):
    """The positions whose answers change with the input of one."""
    x = samples(1)
    other = x.copy()
    other[0, at] += 1
    before, after = (layer(Tensor(a), *masks).data[0] for a in (x, other))
    return set(np.flatnonzero((before != after).any(axis=-1)).tolist())


def test_who_sees_whom():
    hides = np.zeros((STEPS, STEPS), bool)
    hides[1, 4] = hides[3, 4] = True
    everyone = set(range(STEPS))
    assert moved(attention(), 4) == everyone
    assert moved(attention(causal=True), 4) == {4, 5}
    assert moved(attention(), 4, hides) == everyone - {1, 3}
    assert moved(attention(), 4, hides[None]) == everyone - {1, 3}
    assert moved(attention(causal=True), 1, hides) == everyone - {0}
    late = np.arange(STEPS)[None] > 3
    assert moved(attention(), 4, None, late) == {4}  # by its own query
    assert moved(attention(), 3, None, Tensor(late, dtype=np.bool)) == everyone


def test_gradients_with_masks():
    layer, rng = in_float64(attention(causal=True)), np.random.default_rng(2)
    x = Tensor(rng.normal(size=(1, 4, 8)), requires_grad=True)
    numbers = Tensor(rng.normal(size=(4, 4)), requires_grad=True)
    np.testing.assert_allclose(layer(x, numbers.data).data, layer(x, numbers).data)
    gradcheck(lambda x, m: layer(x, m, np.array([[False, False, True, False]])), [x, numbers])


def test_a_causal_net_is_deployed(tmp_path):
    """Traced with the mask as a constant, which is no parameter; in int8 and trained for it."""
    net = Sequential(
        attention=attention(causal=True), out=Linear(8, 4, rng=np.random.default_rng(3))
    )
    graph, x = optimize(trace(net, (STEPS, 8))), samples()
    right = net(Tensor(x)).data
    np.testing.assert_allclose(Model(graph)(x), right, atol=1e-5)
    assert all(np.isfinite(p.data).all() for p in GraphModel(graph).parameters())
    trained = QatModel(graph, x)
    for int8 in (quantize_graph(graph, {graph.inputs[0]: x}), trained.deployed()):
        found = Model(int8)(x)
        again = read_tflite(save_tflite(int8, tmp_path / "net.tflite"))
        np.testing.assert_array_equal(Model(again)(x), found)
        error = np.square(found - right).mean()
        assert 10 * np.log10(np.square(right).mean() / error) > 25


def test_what_is_no_mask_is_refused():
    x, none = Tensor(samples(2)), np.zeros((STEPS, STEPS), bool)
    with pytest.raises(
        ShapeError, match=r"attn_mask has shape \(2,\)\n[^$]*\(6, 6\) or \(2, 6, 6\)"
    ):
        attention()(x, np.zeros(2))
    with pytest.raises(ShapeError, match=r"key_padding_mask has shape \(6, 6\)\n[^$]*\(2, 6\)"):
        attention()(x, None, none)
    none[2] = True
    with pytest.raises(DataError, match=r"sees no position\n[^$]*padding alone"):
        attention()(x, none)
    with pytest.raises(DataError, match="sees no position"):
        attention(causal=True)(x, None, np.arange(STEPS)[None].repeat(2, 0) == 0)
