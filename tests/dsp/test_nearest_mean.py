"""The nearest class mean: by its definition, bounded, saved, and the same in C."""

import json
import os
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.c.host import ABORT, SANITIZE, host_compiler
from tests.dsp.device import run_invoke
from tests.dsp.test_learner_c import INVOKE, told
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import Learner, LearnerState, NearestMean, NearestMeanState
from tinyrt.dsp.nearest_mean import UNKNOWN
from tinyrt.errors import DataError
from tinyrt.export import export_learner


def drawn(seed, classes, features, count):
    """Features (count, features) around a centre for each class, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    centres = rng.integers(-100, 100, (classes, features))
    x = (centres[labels] + rng.normal(0, 30, (count, features))).clip(-128, 127)
    return x.astype(np.int8), labels


def begun(seed, classes, features, memory):
    x, y = drawn(seed, classes, features, 3 * classes)
    return NearestMean.from_samples(x, y, classes=classes, memory=memory)


MEANS = {
    "empty": NearestMean.empty(4, 9),
    "forgets": begun(1, 5, 7, 4),
    "least": NearestMean.empty(2, 1, memory=2),
    "far": NearestMean(((0,) * 40, (255 * 32768,) * 40), (32768, 32768), 32768),
}


def test_a_score_is_the_squared_distance_to_the_mean():
    x, y = drawn(3, 4, 9, 60)
    means = NearestMean.empty(5, 9, memory=1000)
    state = NearestMeanState(means)
    for row, label in zip(x, y.tolist(), strict=True):
        state.learn(row, label)
    for row in x[:20]:
        found = state.scores(row)
        assert found.dtype == np.int32
        for k in range(4):
            mean = x[y == k].astype(float).mean(axis=0)
            exact = ((row - mean) ** 2).sum()
            assert -found[k] / 8 == pytest.approx(exact, rel=0.01, abs=1)
        assert found[4] == UNKNOWN
    right = np.mean([state.scores(row).argmax() == k for row, k in zip(x, y, strict=True)])
    assert right > 0.9


def by_fractions(sums, count, row):
    """The score by exact fractions: means rounded to 256ths, halves up."""
    total = Fraction(0)
    for s, feature in zip(sums, row, strict=True):
        mean = Fraction((512 * int(s) + int(count)) // (2 * int(count)), 256)
        total += (int(feature) + 128 - mean) ** 2
    return -int(total * 8 // 1)


@pytest.mark.parametrize("name", MEANS)
def test_scores_by_fractions_and_sums_by_the_rule(name):
    means = MEANS[name]
    state = NearestMeanState(means)
    sums, counts = means.start[0].tolist(), means.start[1].tolist()
    for row, label in zip(*drawn(4, means.classes, means.features, 40), strict=True):
        k = int(label)
        if counts[k] == means.memory:
            sums[k], counts[k] = [(s + 1) // 2 for s in sums[k]], counts[k] // 2
        sums[k] = [s + int(v) + 128 for s, v in zip(sums[k], row, strict=True)]
        counts[k] += 1
        state.learn(row, k)
        assert state.sums.tolist() == sums
        assert state.counts.tolist() == counts
        expected = [
            by_fractions(s, n, row) if n else UNKNOWN for s, n in zip(sums, counts, strict=True)
        ]
        assert state.scores(row).tolist() == expected
    state.reset()
    assert state.sums.tolist() == means.start[0].tolist()
    assert state.counts.tolist() == means.start[1].tolist()


def test_nothing_overflows_where_everything_is_extreme():
    means = NearestMean.empty(2, 4096, memory=32768)
    most = NearestMean(((255 * 32768,) * 4096, (0,) * 4096), (32768, 1), 32768)
    assert NearestMeanState(most).scores(np.full(4096, -128, np.int8)).tolist() == [
        -(255**2) * 4096 * 8,
        0,
    ]
    assert NearestMeanState(means).scores(np.zeros(4096, np.int8)).tolist() == [UNKNOWN] * 2
    state = NearestMeanState(most)
    state.learn(np.full(4096, 127, np.int8), 0)
    assert state.counts.tolist() == [16385, 1]
    assert set(state.sums[0].tolist()) == {255 * 16385}


def test_a_class_follows_what_changes():
    state = NearestMeanState(NearestMean.empty(2, 1, memory=8))
    for value in [100] * 50 + [-100] * 30:
        state.learn(np.array([value], np.int8), 0)
    state.learn(np.array([0], np.int8), 1)
    assert state.scores(np.array([-90], np.int8)).argmax() == 0
    assert state.scores(np.array([90], np.int8)).argmax() == 1


def test_what_is_saved_is_taken_by_the_same_value_alone():
    state = NearestMeanState(MEANS["forgets"])
    for row, label in zip(*drawn(5, 5, 7, 30), strict=True):
        state.learn(row, int(label))
    saved, other = state.save(7), NearestMeanState(MEANS["forgets"])
    assert other.load(saved) == 7
    np.testing.assert_array_equal(other.sums, state.sums)
    np.testing.assert_array_equal(other.counts, state.counts)
    other.learn(np.zeros(7, np.int8), 1)
    with pytest.raises(DataError, match="another layer"):
        NearestMeanState(begun(1, 5, 7, 6)).load(saved)
    with pytest.raises(DataError, match="damaged"):
        other.load(saved[:-1] + bytes([saved[-1] ^ 1]))
    softmax = Learner(((1, 2, 3, 4, 5, 6, 7),) * 5, (0,) * 5, 0, 0.1)
    with pytest.raises(DataError, match="another layer"):
        LearnerState(softmax).load(saved)


def test_options_are_data():
    for means in MEANS.values():
        options = json.loads(json.dumps(means.as_dict()))
        assert NearestMean.from_dict(options) == means
    identities = {means.identity for means in MEANS.values()}
    assert len(identities) == len(MEANS)
    swapped = NearestMean(((1, 0), (0, 0)), (1, 1)), NearestMean(((0, 1), (0, 0)), (1, 1))
    assert swapped[0].identity != swapped[1].identity
    assert replace(swapped[0], memory=8).identity != swapped[0].identity


WRONG = {
    "the option classes is 1": {"sums": ((0,),), "counts": (0,)},
    "the option classes is 0": {"sums": (), "counts": ()},
    "the option features is 0": {"sums": ((), ())},
    "the option memory is 7": {"memory": 7},
    "the option memory is 32770": {"memory": 32770},
    "the option memory is 0": {"memory": 0},
    "the option sums is 'rows of different lengths'": {"sums": ((0, 0), (0, 0), (0,))},
    "the option counts is 3": {"counts": (0, 0, 0)},
    "the option counts is -1": {"counts": (-1, 0)},
    "the option counts is 9": {"counts": (9, 0), "memory": 8},
    "the option sums is 511": {"sums": ((511, 0), (0, 0)), "counts": (2, 0)},
    "the option sums is 512": {"sums": ((0, 0), (1, 512)), "counts": (0, 2)},
    "the option sums is -1": {"sums": ((-1, 0), (0, 0)), "counts": (2, 0)},
}


@pytest.mark.parametrize("problem", WRONG)
def test_options_out_of_range(problem):
    options = {"sums": ((0, 0), (0, 0)), "counts": (0, 0)} | WRONG[problem]
    with pytest.raises(DataError, match=problem):
        NearestMean(**options)


def test_samples_that_are_none():
    with pytest.raises(DataError, match=r"the option features is 1\.5"):
        NearestMean.empty(2, 1.5)
    with pytest.raises(DataError, match=r"the option classes is 257"):
        NearestMean.empty(257, 1)
    state = NearestMeanState(MEANS["least"])
    with pytest.raises(DataError, match="features are float64"):
        state.scores(np.zeros(1))
    with pytest.raises(DataError, match="features are int8 of the shape"):
        state.learn(np.zeros(2, np.int8), 0)
    for label in (-1, 2):
        with pytest.raises(DataError, match="the option label"):
            state.learn(np.zeros(1, np.int8), label)
    for labels in (np.zeros(3, int), np.zeros(2)):
        with pytest.raises(DataError, match="a class index for each sample"):
            NearestMean.from_samples(np.zeros((2, 3), np.int8), labels, classes=2)
    with pytest.raises(DataError, match="a class index for each sample"):
        NearestMean.from_samples(np.zeros(2, np.int8), np.zeros(2, int), classes=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled([*MEANS][:1], MEANS))
def test_c_learns_as_python_does(name, tmp_path):
    project = export_learner(MEANS[name], tmp_path / "project", core="host")
    sources = [str(path) for path in project.directory.rglob("*.c")]
    driver = str(Path(__file__).parent / "learning.c")
    command = [host_compiler(), "-std=c99", "-O1", *SANITIZE.split(), f"-I{project.directory}"]
    program = tmp_path / "program"
    subprocess.run([*command, driver, *sources, "-o", str(program)], check=True)
    given, expected = told(NearestMeanState(MEANS[name]), 300)
    done = subprocess.run(
        [program], input=b"".join(given), capture_output=True, check=True, env=os.environ | ABORT
    )
    assert done.stdout[19 * 4 :] == b"".join(expected)


MOST = {"cortex-m0": 1000, "cortex-m4": 600, "rv32imc": 700}
"""Core -> instructions of a step of 33 features."""


@pytest.mark.whole
@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*MOST]))
def test_a_core_has_the_host_s_sums_after_a_hundred_steps(core, tmp_path):
    require_core(core)
    means, steps = NearestMean.empty(12, 33, memory=4), 100
    project = export_learner(means, tmp_path / "project", core=core)
    x, labels = drawn(6, 12, 33, steps)
    state = NearestMeanState(means)
    for row, label in zip(x, labels, strict=True):
        state.learn(row, int(label))
    clip = np.concatenate([labels[:, None].astype(np.int8), x], axis=1)
    expected = b"".join(part.tobytes() for part in (state.scores(x[0]), state.sums, state.counts))
    size = -(-project.state_bytes // 8) * 8
    where = (project.directory, "learner", core, tmp_path)
    _, found = run_invoke(*where, INVOKE.format(steps=steps), clip[None], size, len(expected))
    assert found.outputs == expected
    assert found.instructions <= MOST[core] * steps


def test_what_an_export_says(tmp_path):
    project = export_learner(MEANS["empty"], tmp_path / "a", name="head")
    assert (project.state_bytes, project.saved_bytes) == (4 * 40, 4 * (4 + 40))
    header = (project.directory / "head.h").read_text()
    assert "#define HEAD_STATE_BYTES 160\n" in header
    assert "INT32_MIN for a class without samples, for HEAD_FEATURES features. */" in header
    assert project.learner == MEANS["empty"]
