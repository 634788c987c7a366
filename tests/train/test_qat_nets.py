"""Every kind of network trains for int8, and is deployed as it was trained, bit for bit."""

import warnings
from functools import partial
from itertools import cycle, product

import numpy as np
import pytest

from tests.sampling import sampled
from tests.train.build import train
from tinyrt.api import run_emulated
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ConversionWarning
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType
from tinyrt.train import Tensor, trace
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    ConvTranspose2d,
    DepthwiseConv2d,
    GlobalAvgPool2d,
    LayerNorm,
    Linear,
    Module,
    ReLU,
    ReLU6,
    Residual,
    Sequential,
)
from tinyrt.train.optim import AdamW
from tinyrt.train.prune import Pruner, Schedule
from tinyrt.train.qat import QatConfig, QatModel, Scales
from tinyrt.train.recipes.stages import answers_of
from tinyrt.train.schedules import cosine_lr
from tinyrt.train.sequence import GRU, LSTM, Conv1d, MultiHeadAttention

IMAGE, SERIES = (6, 6, 2), (5, 3)
CLASSES = 3


class MeanOverTime(Module):
    def forward(self, x):
        return x.mean(1)


class LastOfTime(Module):
    def forward(self, x):
        return x[:, -1]


def residual(rng):
    body = Sequential(Conv2d(8, 8, 3, rng=rng, bias=False), BatchNorm(8), ReLU())
    return Sequential(
        Conv2d(2, 8, 3, rng=rng, bias=False),
        BatchNorm(8),
        ReLU(),
        Residual(body),
        Residual(Conv2d(8, 4, 1, stride=2, rng=rng), Conv2d(8, 4, 1, stride=2, rng=rng)),
        GlobalAvgPool2d(),
        Linear(4, CLASSES, rng=rng),
    )


def depthwise(rng):
    return Sequential(
        DepthwiseConv2d(2, 3, multiplier=4, rng=rng, bias=False),
        BatchNorm(8),
        ReLU6(),
        ConvTranspose2d(8, 4, 3, stride=2, rng=rng),
        ReLU(),
        GlobalAvgPool2d(),
        Linear(4, CLASSES, rng=rng),
    )


def recurrent(layer, end):
    return lambda rng: Sequential(layer(3, 6, rng=rng), end, Linear(6, CLASSES, rng=rng))


def attention(rng):
    return Sequential(
        Conv1d(3, 8, 3, rng=rng),
        Residual(MultiHeadAttention(8, 2, rng=rng)),
        LayerNorm(8),
        MeanOverTime(),
        Linear(8, CLASSES, rng=rng),
    )


def dense(rng):
    return Sequential(Linear(3, 8, rng=rng), ReLU(), LastOfTime(), Linear(8, CLASSES, rng=rng))


NETS = {
    "dense": (dense, SERIES),
    "residual": (residual, IMAGE),
    "depthwise, transposed": (depthwise, IMAGE),
    "LSTM": (recurrent(LSTM, LastOfTime()), SERIES),
    "whole LSTM": (recurrent(partial(LSTM, whole=True), MeanOverTime()), SERIES),
    "GRU": (recurrent(GRU, MeanOverTime()), SERIES),
    "attention, layer norm": (attention, SERIES),
}
CONFIGS = {
    "ranges": QatConfig(),
    "LSQ": QatConfig(activation_scales=Scales.LSQ, weight_scales=Scales.LSQ),
    "PACT": QatConfig(activation_scales=Scales.PACT, per_channel_dense=False),
    "int4": QatConfig(weight_bits=4, weight_scales=Scales.LSQ),
}


def problem(make, shape, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, 48)
    level = y.reshape(-1, *(1 for _ in shape))
    x = (rng.normal(size=(48, *shape)) + level).astype(np.float32)
    net = make(rng)
    for _ in range(10):
        net(Tensor(x))  # statistics for the batch norms
    return net, x, y


ALL = [*product(NETS, CONFIGS)]
EACH_ONCE = [*zip(NETS, cycle(CONFIGS), strict=False)]
"""Each net with one configuration; each of these with two nets, but for the last."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "config"), sampled(EACH_ONCE, ALL))
def test_what_is_deployed_is_what_was_trained(name, config, tmp_path):
    (make, shape), config = NETS[name], CONFIGS[config]
    net, x, y = problem(make, shape)
    source = trace(net, shape)
    model = QatModel(optimize(source), x, source=source, config=config)
    losses = train(model, x, y, 4)
    model.freeze()
    assert train(model, x, y, 2)[-1] < losses[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)  # whole LSTMs have variables
        path = save_tflite(model.deployed(), tmp_path / "net.tflite")
    graph = read_tflite(path)
    outputs = {graph.value(node.outputs[0]).dtype for node in graph.nodes}
    assert {v.dtype for v in graph.input_values} | outputs == {DType.INT8}
    np.testing.assert_allclose(Model(graph)(x), answers_of(model)(x), rtol=0, atol=1e-6)
    dense = [graph.value(n.inputs[1]) for n in graph.nodes if n.op == "fully_connected"]
    by_channel = config.per_channel_dense and config.weight_bits == 8
    assert {len(w.q.scales) > 1 for w in dense} == {by_channel}
    if config.weight_bits == 4:
        assert {w.dtype for w in dense} == {DType.INT4}


WIDE = ("dense", "residual", "whole LSTM", "GRU", "attention, layer norm")


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(WIDE[::2], WIDE))
def test_int16x8_is_deployed_as_it_was_trained(name):
    make, shape = NETS[name]
    net, x, y = problem(make, shape)
    source = trace(net, shape)
    model = QatModel(optimize(source), x, source=source, config=QatConfig(activations=DType.INT16))
    losses = train(model, x, y, 4)
    model.freeze()
    assert train(model, x, y, 2)[-1] < losses[0]
    graph = model.deployed()
    assert {v.dtype for v in graph.values.values() if not v.is_constant} == {DType.INT16}
    answers = answers_of(model)(x)
    np.testing.assert_allclose(Model(graph)(x), answers, rtol=0, atol=1e-6)
    narrow = QatModel(optimize(source), x, source=source)
    narrow.load_state_dict(model.state_dict())
    assert np.unique(answers).size > np.unique(answers_of(narrow)(x)).size


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["GRU"], ["LSTM", "GRU"]))
def test_weights_of_all_time_steps_stay_one(name):
    net, x, y = problem(NETS[name][0], SERIES)
    source = trace(net, SERIES)
    model = GraphModel(source)
    assert sum(p.data.size for p in model.parameters()) == sum(
        p.data.size for p in net.parameters()
    )
    np.testing.assert_allclose(answers_of(model)(x), answers_of(net)(x), atol=1e-6)
    losses = train(model, x, y, 5)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(Model(model.trained())(x), answers_of(model)(x), atol=1e-5)
    trained = QatModel(optimize(source), x)
    train(trained, x, y, 2)
    weights = {n.inputs[1] for n in trained.deployed().nodes if n.op == "fully_connected"}
    assert len(weights) == 3  # of the input, of the state, of the classifier


def test_an_interrupted_training_for_int8_ends_with_the_same_bits(tmp_path):
    """Ranges, statistics, pruning and the late freeze go on from where they were."""
    net, x, y = problem(residual, IMAGE)
    source = trace(net, IMAGE)

    def run(state_file=None, stop_after=None):
        model = QatModel(optimize(source), x, source=source)

        def before(number):
            if number == stop_after:
                raise KeyboardInterrupt
            if number >= 4:
                model.freeze()

        fit(
            model,
            AdamW(model.parameters(), 1e-3, weight_decay=0.1),
            x,
            y,
            FitConfig(5, batch=16, workers=2),
            rng=np.random.default_rng(1),
            lr=lambda step, steps: cosine_lr(step, steps, 3e-3),
            augment=lambda x, rng: x + rng.normal(0, 0.1, x.shape).astype(np.float32),
            before_epoch=before,
            on_step=Pruner(model, Schedule(0.5)),
            state_file=state_file,
        )
        return model.state_dict()

    whole, state_file = run(), tmp_path / "state.npz"
    for stop_after in (3, 5):
        with pytest.raises(KeyboardInterrupt):
            run(state_file, stop_after)
    resumed = run(state_file)
    for name, array in whole.items():
        np.testing.assert_array_equal(resumed[name], array)


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("LSTM", marks=pytest.mark.whole), "whole LSTM"])
@pytest.mark.filterwarnings("ignore:other interpreters")
def test_an_lstm_answers_in_firmware_as_on_the_host(kind, tmp_path):
    net, x, y = problem(NETS[kind][0], SERIES)
    model = QatModel(optimize(trace(net, SERIES)), x)
    train(model, x, y, 2)
    path = save_tflite(model.deployed(), tmp_path / "lstm.tflite")
    report = run_emulated(path, inputs={"x": x[:4]}, build_dir=tmp_path / "build")
    assert report.bit_exact
