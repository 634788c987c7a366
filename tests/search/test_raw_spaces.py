"""Spaces for raw samples: what they choose fits the samples, and front end and network go along."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import optuna
import pytest

from tests.search import raw
from tinyrt.api.costs import Basis
from tinyrt.errors import DataError, ShapeError, TinyrtError
from tinyrt.quantize.config import Scheme
from tinyrt.search import SPACES, Problem
from tinyrt.search.candidate import candidate_of, graph_of, untrained
from tinyrt.search.raw_spaces import DEPLOYMENTS
from tinyrt.search.work import costed

MOTION = {"parts": 2, "top": 0.5, "bands": 3, "peaks": 1, "layers": 1, "width0": 8}
MOTION |= {"learning_rate": 0.01, "deployment": "int8"}
SOUND = {"frame_ms": 16, "overlap": True, "bands": 16, "cepstra": True, "by_rows": True}
SOUND |= {"stem": 4, "stem_stride": 1, "stem_kernel": 3, "blocks": 1, "block1_kernel": 3}
SOUND |= {"block1": 4, "block1_pool": 1, "head": "mean", "learning_rate": 0.01}
SOUND |= {"deployment": "int4"}


def made(name, params, problem):
    return candidate_of(SPACES[name], optuna.trial.FixedTrial(params), problem, 0)


def test_motion_has_the_bands_that_are_chosen():
    candidate = made("motion", MOTION, raw.problem())
    front = candidate.front_end
    assert (front.axes, front.sample_rate, front.window, front.step) == (2, 50, 32, 32)
    assert (front.bands, front.peaks) == (3, 1)
    # Of the transform of 64, the first half: 1, 2.5 (2 or 3), 6.3 and 16.
    assert front.bins == (1, 3, 6, 16)
    assert graph_of(candidate, raw.problem()).value("input").shape == (1, 1, 2, front.features)
    whole = made("motion", {**MOTION, "parts": 1, "top": 1.0}, raw.problem()).front_end
    assert (whole.window, whole.bins[-1]) == (64, 32)
    for rate in np.linspace(20, 70, 40):
        problem = replace(raw.problem(), rate=float(rate))
        assert made("motion", MOTION, problem).front_end.bins == (1, 3, 6, 16)
    most = made("motion", {**MOTION, "bands": 8, "top": 0.25}, raw.problem()).front_end
    assert most.bins[-1] == 8
    assert all(low < high for low, high in pairwise(most.bins))
    assert 3 < most.bands <= 8, "as many as there are frequencies"


def test_sound_has_the_frames_that_are_chosen():
    candidate = made("sound", SOUND, raw.sounds())
    front = candidate.front_end
    assert (front.sample_rate, front.window, front.step) == (8_000, 128, 64)
    assert (front.bands, front.coefficients, front.upper_hz) == (16, 8, 3_600)
    assert front.noise_reduction is None
    assert candidate.deployment == replace(DEPLOYMENTS["int4"], by_rows=True)
    assert graph_of(candidate, raw.sounds()).value("input").shape == (1, 11, 8, 1)
    plain = made("sound", {**SOUND, "overlap": False, "cepstra": False}, raw.sounds())
    assert (plain.front_end.step, plain.front_end.features) == (128, 16)


def test_parts_and_frames_are_no_longer_than_windows():
    asked = {}

    class Asked:
        def suggest_int(self, name, low, high, step=1):
            asked[name] = high
            return low

        def suggest_float(self, name, low, high, log=False):
            return low

        def suggest_categorical(self, name, choices):
            asked[name] = list(choices)
            return choices[0]

    short = {name: array[:, :37] if name == "x" else array for name, array in raw.windows().items()}
    candidate_of(SPACES["motion"], Asked(), Problem.of(short), 0)
    assert asked["parts"] == 2
    sounds = raw.sounds()
    candidate_of(SPACES["sound"], Asked(), replace(sounds, x=sounds.x[:, :256]), 0)
    assert asked["frame_ms"] == [16, 32]
    with pytest.raises(ShapeError, match="windows have 127 samples"):
        candidate_of(SPACES["sound"], Asked(), replace(sounds, x=sounds.x[:, :127]), 0)


def test_random_choices_can_be_deployed():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    seen = set()
    for _ in range(12):
        candidate = candidate_of(SPACES["motion"], study.ask(), raw.problem(), 0)
        seen.add((candidate.front_end, candidate.deployment.scheme))
        cost = costed(untrained(candidate, raw.problem()), candidate, "m4", None, raw.problem())
        assert cost.basis is Basis.FORMULA
        assert cost.instructions is None
        assert cost.least_instructions == round(sum(cost.by_op) / 1.05), "of the network alone"
    assert len({front for front, _ in seen}) > 6
    assert {scheme for _, scheme in seen} == {Scheme.INT8, Scheme.INT4, Scheme.INT16X8}


WRONG = {
    "the space is for windows of motion, samples are [64]": ("motion", np.ones((30, 64))),
    "the space is for windows of sound, samples are [64, 2]": ("sound", np.ones((30, 64, 2))),
    "the data do not say how many samples a second has": ("motion", np.ones((30, 64, 2))),
}


@pytest.mark.parametrize("said", WRONG)
def test_data_that_are_no_such_windows(said):
    name, x = WRONG[said]
    problem = Problem.of({"x": x, "y": np.arange(30) % 2})
    with pytest.raises((DataError, ShapeError)) as error:
        made(name, MOTION, problem)
    assert isinstance(error.value, TinyrtError)
    assert error.value.problem == said
