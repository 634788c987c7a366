"""Spaces for raw samples: what they choose fits the samples, and front end and network go along."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import optuna
import pytest

from tests.sampling import sampled
from tests.search import raw
from tinyrt.api.costs import Basis
from tinyrt.dsp import Camera
from tinyrt.errors import DataError, ShapeError, TinyrtError
from tinyrt.export import ExportOptions
from tinyrt.quantize.config import Scheme
from tinyrt.search import SPACES, Problem
from tinyrt.search.candidate import candidate_of, graph_of, untrained
from tinyrt.search.order import Order
from tinyrt.search.raw_spaces import DEPLOYMENTS
from tinyrt.search.source import SpaceSource
from tinyrt.search.work import costed, outlined

MOTION = {"parts": 2, "top": 0.5, "bands": 3, "peaks": 1, "layers": 1, "width0": 8}
MOTION |= {"learning_rate": 0.01, "deployment": "int8"}
SOUND = {"frame_ms": 16, "overlap": True, "bands": 16, "cepstra": True, "by_rows": True}
SOUND |= {"stem": 4, "stem_stride": 1, "stem_kernel": 3, "blocks": 1, "block1_kernel": 3}
SOUND |= {"block1": 4, "block1_pool": 1, "head": "mean", "learning_rate": 0.01}
SOUND |= {"deployment": "int4"}


CAMERA = {"view": 0.85, "side": 8, "channels": 3, "resize": "bilinear", "image": "pushed"}
CAMERA |= {name: SOUND[name] for name in SOUND if "block" in name or name.startswith("stem")}
CAMERA |= {"head": "mean", "learning_rate": 0.01, "deployment": "int4"}


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
    # 16 ms at 7,953.6 Hz are 127.3 samples.
    other = made("sound", SOUND, replace(raw.sounds(), rate=7_953.6)).front_end
    assert (other.sample_rate, other.window, other.step) == (7_954, 127, 63)


def test_a_camera_has_the_image_that_is_chosen():
    problem = Problem.of(raw.frames())
    candidate = made("camera", CAMERA, problem)
    # Of 12 lines of 16 pixels 0.85, which is 10 of 14, in the middle; the shorter side becomes 8.
    said = Camera(12, 16, 8, 11, "rgb565", 3, (1, 1, 10, 14), "bilinear")
    assert candidate.front_end == said
    assert candidate.deployment == replace(DEPLOYMENTS["int4"], input_rows=True)
    assert candidate.deployment.options == ExportOptions(input_rows=True)
    assert graph_of(candidate, problem).value("input").shape == (1, 8, 11, 3)
    whole = made("camera", {**CAMERA, "view": 1.0, "side": 12, "image": "by-rows"}, problem)
    front_end = whole.front_end
    assert (front_end.rows, front_end.columns, front_end.crop) == (12, 16, None)
    assert whole.deployment.options == ExportOptions(by_rows=True)
    upright = {**raw.frames(), "x": np.zeros((48, 16, 24), np.uint8)}
    said = Camera(16, 12, 11, 8, "rgb565", 3, (1, 1, 14, 10), "bilinear")
    assert made("camera", CAMERA, Problem.of(upright)).front_end == said
    # No more rows than there are lines, by whatever way.
    most = made("camera", {**CAMERA, "view": 0.7, "side": 12, "resize": "area"}, problem).front_end
    assert (most.rows, most.columns, most.crop) == (8, 11, (2, 2, 8, 11))


def test_choices_of_a_camera_are_what_frames_have():
    asked = {}

    class Asked:
        def suggest_int(self, name, low, high, step=1):
            asked[name] = low, high, step
            return low

        def suggest_float(self, name, low, high, log=False):
            return low

        def suggest_categorical(self, name, choices):
            asked[name] = list(choices)
            return choices[-1]

    sides = {
        (12, 16): (8, 12, 4),
        (120, 160): (8, 64, 4),
        (6, 200): (6, 6, 4),
        (70, 71): (8, 64, 4),
    }
    for (height, width), side in sides.items():
        for pixels, count in (("grey", 1), ("rgb565_swapped", 2), ("yuyv", 2), ("bgr888", 3)):
            x = np.zeros((30, height, 2 * (width // 2) * count), np.uint8)
            y, said = np.arange(30) % 2, np.array(pixels)
            candidate = candidate_of(
                SPACES["camera"], Asked(), Problem.of({"x": x, "y": y, "pixels": said}), 0
            )
            assert asked["side"] == side
            assert asked["channels"] == ([1] if pixels == "grey" else [1, 3])
            assert asked["view"] == [1.0, 0.85, 0.7]
            assert asked["resize"] == ["area", "bilinear"]
            assert asked["deployment"] == ["int8", "int8-untrained", "int4"]
            assert candidate.front_end.channels == asked["channels"][-1]


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
    long = {n: np.repeat(a, 2, axis=1) if n == "x" else a for n, a in raw.windows().items()}
    candidate_of(SPACES["motion"], Asked(), Problem.of(long), 0)
    assert asked["parts"] == 4
    tiny = {n: a[:, :15] if n == "x" else a for n, a in raw.windows().items()}
    candidate_of(SPACES["motion"], Asked(), Problem.of(tiny), 0)
    assert asked["parts"] == 1
    sounds = raw.sounds()
    candidate_of(SPACES["sound"], Asked(), replace(sounds, x=sounds.x[:, :256]), 0)
    assert asked["frame_ms"] == [16, 32]
    with pytest.raises(ShapeError, match="windows have 127 samples"):
        candidate_of(SPACES["sound"], Asked(), replace(sounds, x=sounds.x[:, :127]), 0)


def test_random_choices_can_be_deployed():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    seen = set()
    for _ in range(sampled(8, 12)):
        candidate = candidate_of(SPACES["motion"], study.ask(), raw.problem(), 0)
        seen.add((candidate.front_end, candidate.deployment.scheme))
        cost = costed(untrained(candidate, raw.problem()), candidate, "m4", None, raw.problem())
        assert cost.basis is Basis.FORMULA
        assert cost.instructions is None
        assert cost.least_instructions == round(sum(cost.by_op) / 1.1), "of the network alone"
    assert len({front for front, _ in seen}) > sampled(3, 6)
    assert {scheme for _, scheme in seen} == {Scheme.INT8, Scheme.INT4, Scheme.INT16X8}


@pytest.mark.whole
def test_random_cameras_can_be_deployed():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    problem, images, refused = Problem.of(raw.frames()), set(), []
    for _ in range(16):
        trial = study.ask()
        candidate_of(SPACES["camera"], trial, problem, 0)
        outline = outlined(Order(SpaceSource("camera"), trial.params, 0, "m4", 1, 1), problem)
        if outline.costs is None:
            refused.append((trial.params["image"], outline.reason))
            continue
        images.add(trial.params["image"])
        assert outline.costs.instructions is None
        assert outline.costs.arena > 12 + 4 * 8, "the camera's state"
    assert images == {"held", "by-rows", "pushed"}
    assert len(refused) < 4
    assert all(image == "pushed" and "rows" in reason for image, reason in refused), refused


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
