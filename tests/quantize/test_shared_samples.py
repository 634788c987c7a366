"""Samples that come in batches or are shared by a crew: ranges are those of all of them."""

from contextlib import contextmanager

import numpy as np
import pytest

from tests.graphs import Builder, lstm_net, small_cnn
from tinyrt.cluster.pieces import Crew
from tinyrt.cluster.workers import Here
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.quantize import Calibrator, QuantConfig, calibrate, quantize_graph
from tinyrt.quantize.calibration import watching
from tinyrt.quantize.explain import bisect as bisecting
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.quantize.mixed.choose import quantize_within

CREW = Crew(3, "tcp://scheduler:1")
RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(70, 8, 8, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """Whom the samples were shared with; here, one piece after the other."""
    crews = []

    @contextmanager
    def workers(shared, count, scheduler):
        crews.append((count, scheduler))
        yield Here(shared)

    for module in (watching, bisecting):
        monkeypatch.setattr(module, "workers_of", workers)
    return crews


def sums():
    """Runs of two and of three rows; each is summed up, and the sums are added."""
    b = Builder((2, 4), (3, 4))
    total = [b.op("sum", (x,), ReduceAttrs((0, 1), keep_dims=False)) for x in ("x", "x1")]
    return b.graph(b.op("add", total, AddAttrs()))


@pytest.mark.parametrize("crew", [None, CREW])
def test_ranges_are_those_of_every_run(crew, asked):
    graph, told = sums(), []
    x = RNG.normal(size=(70, 2, 4)).astype(np.float32)
    x1 = RNG.normal(size=(70, 3, 4)).astype(np.float32)
    batches = [
        {"x": x[part].reshape(-1, 4), "x1": x1[part].reshape(-1, 4)}
        for part in (slice(40), slice(40, None))
    ]
    found = calibrate(graph, batches, lambda *done: told.append(done), crew=crew)
    parts = x.sum(axis=(1, 2)), x1.sum(axis=(1, 2))
    names = ("x", "x1", *(node.output for node in graph.nodes))
    for name, values in zip(names, (x, x1, *parts, sum(parts)), strict=True):
        assert found[name].low == pytest.approx(values.min(), rel=1e-5)
        assert found[name].high == pytest.approx(values.max(), rel=1e-5)
    assert asked == [(3, "tcp://scheduler:1")] * (crew is not None)
    assert told == [
        *(
            [(32, 32), (40, 40), (70, 70)]
            if crew
            else [(n, 40 + 30 * (n > 40)) for n in range(1, 71)]
        )
    ]


@pytest.mark.parametrize("crew", [None, CREW])
def test_states_of_an_lstm_are_seen_whichever_way_time_runs(crew):
    x = RNG.normal(size=(12, 6, 3)).astype(np.float32)
    rows = calibrate(lstm_net(), x)
    steps = calibrate(lstm_net(time_major=True), x.reshape(-1, 1, 3), crew=crew)
    assert steps.keys() == rows.keys() == {"x", "all", "cell"}
    for name, found in steps.items():
        assert (found.low, found.high) == pytest.approx((rows[name].low, rows[name].high), rel=1e-5)


@pytest.mark.parametrize("calibrator", [Calibrator.MOVING_AVERAGE, Calibrator.MEASURED])
def test_a_crew_finds_the_same_ranges(calibrator, asked):
    config = QuantConfig(calibrator)
    found = [calibrate(small_cnn(), IMAGES, config=config, crew=crew) for crew in (None, CREW)]
    assert found[1] == found[0]
    assert asked == [(3, "tcp://scheduler:1")]


@pytest.mark.parametrize("crew", [None, CREW])
def test_what_the_last_samples_have_alone_is_not_said_to_be_a_constant(crew, recwarn):
    b = Builder((1, 3))
    x = np.concatenate([RNG.normal(size=(64, 3)), np.ones((6, 3))]).astype(np.float32)
    calibrate(b.graph(b.op("tanh", b.inputs)), x, crew=crew)
    assert not [*recwarn]


SAMPLES = [(32, 32), (64, 64), (70, 70)]
GROUPS = 8
"""Of tensors: the input, and what each op gives; a reshape's is in that of its input."""


def counted(total):
    return [(i, total) for i in range(1, total + 1)]


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (QuantConfig(), 0),
        (QuantConfig(Calibrator.MEASURED), 0),
        (QuantConfig(bias_correction="empirical"), len(small_cnn().nodes)),
        (QuantConfig(tune_ranges=True), GROUPS - 1),  # a softmax prescribes its own
    ],
)
def test_a_model_is_quantised_with_the_crew_and_tells_how_far_it_is(config, parts, asked):
    told = []
    quantize_graph(small_cnn(), IMAGES, config, lambda *done: told.append(done), CREW)
    assert asked == [(3, "tcp://scheduler:1")]
    assert told == [*SAMPLES, *counted(parts)]


def test_a_budget_tells_how_many_samples_sources_of_noise_and_layers_are_done():
    told, config = [], QuantConfig(bias_correction="empirical")
    quantize_within(
        small_cnn(), IMAGES, config, Budget(), None, lambda *done: told.append(done), CREW
    )
    sources = GROUPS + 2 * 4  # weights of four layers, in int8 and in int4
    assert told == [*SAMPLES, *counted(sources), *counted(len(small_cnn().nodes))]


def test_budgets_and_bisections_have_the_crew_too(asked):
    graph = small_cnn()
    mixed, _ = quantize_within(graph, IMAGES, QuantConfig(), Budget(), crew=CREW)
    assert asked == [(3, "tcp://scheduler:1")]
    target = Budget(min_sqnr_db=46.0)
    alone, shared = (
        bisecting.bisect(graph, mixed, {"x": IMAGES}, target=target, crew=crew)
        for crew in (None, CREW)
    )
    assert asked == [(3, "tcp://scheduler:1")] * 2
    assert len(alone.steps) > 0
    assert shared.steps == alone.steps
