"""Spaces that ship, and those of users: each choice is a network that deploys."""

import io
import json
import re
from dataclasses import replace

import numpy as np
import optuna
import pytest

from tests.sampling import sampled
from tests.search import raw
from tests.search.made import FILE, dense, problem
from tinyrt.api.costs import cost
from tinyrt.dsp.resizing import METHODS
from tinyrt.errors import DataError, ShapeError
from tinyrt.search import SPACES, Candidate, Problem, learning
from tinyrt.search.candidate import candidate_of, graph_of, structure_of, untrained
from tinyrt.search.order import Order
from tinyrt.search.source import space_source
from tinyrt.search.work import deploy, price, train
from tinyrt.train.nn import BatchNorm, Linear, ReLU, Sequential

RNG = np.random.default_rng(3)
IMAGES = Problem(RNG.random((30, 7, 6, 2), np.float32), np.arange(30) % 3)
SERIES = Problem(RNG.random((30, 1, 40, 3), np.float32), np.arange(30) % 2)
ROWS = Problem(IMAGES.x, IMAGES.x)
"""What an autoencoder reproduces: images, too."""
FOR = {"tcn": SERIES, "transformer": SERIES, "autoencoder": ROWS}
FOR |= {"motion": raw.problem(), "sound": raw.sounds(), "camera": Problem.of(raw.frames())}


def in_batches_of_seven(trial, problem, rng):
    return replace(dense(trial, problem, rng), batch=7)


def order(space, params, epochs=1, seed=0):
    return Order(space_source(space), params, seed, "cortex-m4", epochs, 1)


@pytest.mark.parametrize("name", SPACES)
def test_choices_become_networks_of_the_problems_outputs(name):
    sampler = optuna.samplers.RandomSampler(seed=1)
    study, of = optuna.create_study(sampler=sampler), FOR.get(name, IMAGES)
    arenas = set()
    for _ in range(sampled(2, 3)):
        trial = study.ask()
        candidate = candidate_of(SPACES[name], trial, of, seed=0)
        arenas.add(cost(untrained(candidate, of).graph).arena)
        assert 0 < candidate.learning_rate < 1
        again = order(name, trial.params).candidate(of)
        one, other = (c.network.state_dict() for c in (candidate, again))
        assert all(np.array_equal(one[key], other[key]) for key in one)
    assert len(arenas) > 1


@pytest.mark.parametrize(
    "name", sampled(["autoencoder", "sound"], ["dscnn", "autoencoder", "motion", "sound"])
)
def test_what_ships_is_trained_and_deployed(name):
    of = FOR.get(name, IMAGES)
    params = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=2)).ask()
    candidate_of(SPACES[name], params, of, 0)
    asked = order(name, params.params)
    rung = train(asked, 1, None, of)
    deployed = deploy(asked, rung.state, of)
    assert (deployed.verdict.score > 0) is of.has_classes
    assert deployed.model[4:8] == b"TFL3"


@pytest.mark.parametrize(("steps", "most"), [(1, 1), (5, 2), (40, 16)])
def test_a_series_has_two_patches_at_least(steps, most):
    data = {"x": np.zeros((20, 1, steps, 2), np.float32), "y": np.arange(20) % 2}
    trial = optuna.create_study().ask()
    SPACES["transformer"](trial, Problem.of(data, 0.2, 0), RNG)
    assert trial.distributions["patch"].high == most


def test_samples_of_other_forms_are_refused():
    trial = optuna.create_study().ask()
    with pytest.raises(ShapeError, match="the space is for images, samples are"):
        SPACES["resnet"](trial, problem(), RNG)
    with pytest.raises(ShapeError, match="the space is for series, samples are"):
        SPACES["tcn"](trial, IMAGES, RNG)


def test_a_users_file_travels_as_text(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    source = space_source(f"{path}:flat")
    path.unlink()
    trial = optuna.trial.FixedTrial({"nothing": 1})
    candidate = candidate_of(source.load(), trial, problem(), 0)
    assert graph_of(candidate, problem()).outputs
    assert space_source(dense).load() is dense


SOURCES = {
    "there is no space 'dogs'": "dogs",
    "there is no space 'mine.txt:flat'": "mine.txt:flat",
    "the space's file cannot be read: ": "missing.py:flat",
    "the file has no function 'round'": "mine.py:round",
    "the space's file fails: ZeroDivisionError: ": "broken.py:flat",
}


@pytest.mark.parametrize("start", SOURCES)
def test_spaces_that_are_not_there(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(DataError) as error:
        space_source(SOURCES[start])
    assert error.value.problem.startswith(start)


def test_what_a_space_gives_is_checked():
    trial = optuna.trial.FixedTrial({})
    with pytest.raises(DataError, match="the space gives int"):
        candidate_of(lambda *_: 3, trial, problem(), 0)
    wide = candidate_of(
        lambda trial, problem, rng: Sequential(out=Linear(12, 5, rng=rng)), trial, problem(), 0
    )
    assert isinstance(wide, Candidate)
    with pytest.raises(ShapeError, match="the network gives 5 numbers for a sample"):
        graph_of(wide, problem())


def test_structure_is_that_of_the_graph_and_not_of_the_weights():
    def made(width, seed):
        trial = optuna.trial.FixedTrial({"width": width, "rate": 0.01})
        candidate = candidate_of(dense, trial, problem(), seed)
        return structure_of(graph_of(candidate, problem()), candidate)

    assert made(8, 0) == made(8, 1) != made(12, 0)


def test_training_in_rungs_is_training_in_one_go():
    asked = order(dense, {"width": 8, "rate": 0.03}, epochs=9)
    state = None
    for epochs in (1, 3, 9):
        rung = train(asked, epochs, state, problem())
        state = rung.state
    whole = train(asked, 9, None, problem())
    one, other = (np.load(io.BytesIO(r.state)) for r in (rung, whole))
    assert all(np.array_equal(one[name], other[name]) for name in other if name != "facts")
    rates = [epoch["lr"] for epoch in json.loads(str(one["facts"]))["history"]]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] <= 0.03
    assert rates[-1] < 0.01 * rates[0]
    assert rung.score == whole.score


def test_channels_that_random_weights_leave_without_effect_are_counted():
    def space(trial, problem, rng):
        first, second = Linear(12, 8, rng=rng), Linear(8, 16, rng=rng)
        second.weight.data[4:] = -np.abs(second.weight.data[4:])
        layers = {"first": first, "relu": ReLU(), "second": second, "again": ReLU()}
        return Sequential(**layers, out=Linear(16, 3, rng=rng))

    candidate = candidate_of(space, optuna.trial.FixedTrial({}), problem(), 0)
    graph = untrained(candidate, problem()).graph
    widths = [n.input(1).shape for n in graph.bound() if n.op == "fully_connected"]
    assert widths == [(8, 12), (16, 8), (3, 16)]


def test_a_price_before_training_is_no_less_than_after():
    """Random weights leave channels without effect, which training may bring to life."""
    asked = order(dense, {"width": 32, "rate": 0.01})
    before = price(asked, "formula", problem())
    trained = deploy(asked, train(asked, 1, None, problem()).state, problem())
    assert before.weights >= 12 * 32 + 32 * 3
    assert trained.model


def test_training_for_int8_holds_out_what_the_search_has_held_out(monkeypatch):
    of, settings = replace(problem(), seed=5, validation=0.3), []

    def stop(graph, data, setting, finish, parts):
        settings.append((setting, parts))
        raise DataError("seen")

    asked = order(in_batches_of_seven, {"width": 8, "rate": 0.01})
    state = train(asked, 1, None, of).state
    monkeypatch.setattr(learning, "train_for_int8", stop)
    with pytest.raises(DataError, match="seen"):
        deploy(asked, state, of)
    ((setting, parts),) = settings
    assert (setting.seed, setting.epochs, setting.batch) == (5, asked.int8_epochs, 7)
    assert all(np.array_equal(*pair) for pair in zip(parts, of.parts, strict=True))


class _Extreme:
    """A trial whose every choice is the greatest, or the least; what it was asked is kept."""

    def __init__(self, greatest):
        self.greatest, self.asked = greatest, {}

    def _kept(self, name, *what):
        self.asked[re.sub(r"\d+", "N", name)] = what
        return what[self.greatest]

    def suggest_int(self, name, low, high, *, step=1):
        return self._kept(name, low, high, step)

    def suggest_float(self, name, low, high, *, log=False):
        return self._kept(name, low, high, log)

    def suggest_categorical(self, name, choices):
        return self._kept(name, *choices)


RATE = {"learning_rate": (3e-3, 3e-2, True)}
HEAD = {"head": ("mean", "flat")} | RATE
INTO = {"deployment": ("int8", "int8-untrained", "int4", "int16x8")}
RANGES = {
    "cnn": {
        "layers": (2, 5, 1),
        "convN": (4, 64, 4),
        "convN_kernel": (3, 5, 2),
        "convN_stride": (1, 2, 1),
        **HEAD,
    },
    "dscnn": {
        "stem": (4, 32, 4),
        "stem_stride": (1, 2, 1),
        "stem_kernel": (3, 5, 2),
        "blocks": (1, 4, 1),
        "blockN_kernel": (3, 5, 2),
        "blockN": (4, 64, 4),
        "blockN_pool": (1, 2, 1),
        **HEAD,
    },
    "mobilenet": {
        "stem": (4, 24, 4),
        "stem_stride": (1, 2, 1),
        "blocks": (1, 5, 1),
        "blockN": (4, 48, 4),
        "blockN_expansion": (1, 4, 1),
        "blockN_stride": (1, 2, 1),
        "blockN_kernel": (3, 5, 2),
        **HEAD,
    },
    "resnet": {
        "stem": (4, 32, 4),
        "blocks": (1, 4, 1),
        "blockN": (4, 64, 4),
        "blockN_stride": (1, 2, 1),
        **HEAD,
    },
    "tcn": {
        "channels": (4, 48, 4),
        "stem_stride": (1, 4, 1),
        "kernel": (3, 7, 2),
        "blocks": (1, 5, 1),
        **RATE,
    },
    "transformer": {
        "heads": (1, 4, 1),
        "head_width": (4, 16, 4),
        "patch": (1, 16, 1),
        "expansion": (1, 3, 1),
        "blocks": (1, 3, 1),
        "learning_rate": (1e-3, 1e-2, True),
    },
    "autoencoder": {"layers": (1, 3, 1), "widthN": (4, 128, 4), "code": (4, 16, 4), **RATE},
    "motion": {
        "parts": (1, 4, 1),
        "top": (0.25, 0.5, 1.0),
        "bands": (1, 8, 1),
        "peaks": (0, 2, 1),
        "layers": (0, 2, 1),
        "widthN": (4, 32, 4),
        **RATE,
        **INTO,
    },
}
RANGES["exits"] = RANGES["dscnn"] | {"exit": (0, 3, 1)}
RANGES["sound"] = RANGES["dscnn"] | {
    "frame_ms": (16, 32, 64),
    "overlap": (False, True),
    "bands": (8, 40, 8),
    "cepstra": (False, True),
    "by_rows": (False, True),
    **INTO,
}
RANGES["camera"] = RANGES["dscnn"] | {
    "view": (1.0, 0.85, 0.7),
    "side": (8, 12, 4),
    "channels": (1, 3),
    "resize": tuple(METHODS),
    "image": ("held", "by-rows", "pushed"),
    "deployment": ("int8", "int8-untrained", "int4"),
}
"""Space -> choice, its numbers of blocks left out: least, greatest and step, or whether a rate's
logarithm is drawn."""


@pytest.mark.parametrize("name", SPACES)
def test_choices_have_these_ranges(name):
    trial = _Extreme(greatest=True)
    candidate_of(SPACES[name], trial, FOR.get(name, IMAGES), seed=0)
    assert trial.asked == {
        choice: pytest.approx(limits) if choice == "learning_rate" else limits
        for choice, limits in RANGES[name].items()
    }


@pytest.mark.parametrize("greatest", [True, False])
@pytest.mark.parametrize("name", SPACES)
def test_layers_in_front_of_a_norm_have_no_bias(name, greatest):
    """It would be a parameter that the norm takes back."""
    of = FOR.get(name, IMAGES)
    network = candidate_of(SPACES[name], _Extreme(greatest), of, seed=0).network
    parts = dict(network.named_modules())
    norms = [path for path, part in parts.items() if isinstance(part, BatchNorm)]
    assert norms or name in ("transformer", "motion")
    for path in norms:
        assert parts[path.removesuffix("_bn")].bias is None
