"""A graph that is trained stays as it was, and so does what a training gave before it goes on."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.passes.nets import Net
from tinyrt.convert.passes import optimize
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.train import SGD, Tensor, cross_entropy, trace
from tinyrt.train.channel_scores import channel_scores
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.nn import Linear, Module
from tinyrt.train.qat import QatConfig, QatModel, Scales
from tinyrt.train.sequence import LSTM

RNG = np.random.default_rng(7)
X = RNG.normal(size=(8, 8, 8, 3)).astype(np.float32)
Y = RNG.integers(0, 3, 8)


def normed():
    """Batch norms, and a layer without a bias."""
    net = Net((1, 8, 8, 3))
    y = net.op("relu", (net.batch_norm(net.conv("x", bias=False)),))
    rows = net.reshape(net.batch_norm(net.depthwise(y)), 1, 8 * 8 * net.channels(y))
    return net.graph(net.dense(rows))


def scaled():
    """Constants that are trained: of a product, of slopes and of a sum."""
    b, rng = Builder((1, 8, 8, 3)), np.random.default_rng(3)

    def constant(*shape):
        return b.constant(rng.normal(size=shape).astype(np.float32))

    y = b.op("conv2d", ("x", constant(4, 3, 3, 3), constant(4)), Conv2dAttrs(stride=(2, 2)))
    y = b.op("mul", (y, constant(4)), MulAttrs())
    y = b.op("prelu", (y, constant(1, 1, 4)))
    y = b.op("add", (y, constant(4)), AddAttrs())
    y = b.op("mean", (y,), MeanAttrs((1, 2)))
    return b.graph(b.op("fully_connected", (y, constant(3, 4), constant(3)), FullyConnectedAttrs()))


class Along(Module):
    """An LSTM along the rows of an image."""

    def __init__(self):
        rng = np.random.default_rng(4)
        self.lstm, self.head = LSTM(24, 4, rng=rng, whole=True), Linear(4, 3, rng=rng)

    def forward(self, x):
        return self.head(self.lstm(x.reshape(x.shape[0], 8, 24)).mean(1))


def recurrent():
    return trace(Along(), (8, 8, 3))


def frozen(graph):
    """With constants that nobody can write to."""
    values = {}
    for name, value in graph.values.items():
        if value.data is not None:
            data = np.array(value.data)
            data.flags.writeable = False
            value = replace(value, data=data)
        values[name] = value
    return replace(graph, values=values)


def bytes_of(graph):
    return {n: v.data.tobytes() for n, v in graph.values.items() if v.data is not None}


MODELS = {
    "float": GraphModel,
    "int8": lambda graph: QatModel(optimize(graph), X),
    "int8 with norms": lambda graph: QatModel(optimize(graph), X, source=graph),
    "learned scales": lambda graph: QatModel(
        optimize(graph), X, config=QatConfig(weight_scales=Scales.LSQ)
    ),
}


def stepped(model, times=2):
    optimizer = SGD(model.parameters(), 0.05, momentum=0.5, weight_decay=0.1)
    for _ in range(times):
        optimizer.zero_grad()
        loss = cross_entropy(model(Tensor(X)), Y)
        loss.backward()
        optimizer.step()
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("net", [small_cnn, normed, scaled, recurrent])
def test_training_leaves_the_graph_as_it_is(net, make):
    graph = net()
    before = bytes_of(graph)
    stepped(make(frozen(graph)))
    model = make(graph)
    stepped(model)
    assert bytes_of(graph) == before
    trained = model.trained() if isinstance(model, GraphModel) else model.deployed()
    kept = bytes_of(trained)
    stepped(model)
    assert bytes_of(trained) == kept, "a graph that was given stays while training goes on"


@pytest.mark.parametrize("batch", [1, 3, 5, 8, 20])
def test_scores_of_channels_are_means_over_samples_whatever_the_batch(batch):
    model = GraphModel(small_cnn())
    whole, parts = (channel_scores(model, X, Y, batch=n) for n in (8, batch))
    alone = [channel_scores(model, X[i : i + 1], Y[i : i + 1]) for i in range(8)]
    for name, score in whole.items():
        np.testing.assert_allclose(parts[name], score, rtol=1e-4)
        mean = np.mean([each[name] for each in alone], axis=0)
        np.testing.assert_allclose(score, mean, rtol=1e-4)
