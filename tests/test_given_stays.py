"""What a call is given stays as it was, and what it hands out is the caller's to change.

``TAKES`` has calls that keep or change something of their own; all arrays that they are given are
read-only here, so that one that is written to makes the call fail. ``HANDS_OUT`` has what answers
with an array that lies near what is kept.
"""

import json

import numpy as np
import pytest

from tests.seeing import COLOURS
from tinyrt.dsp import Learner, LogMel, NearestMean, Pipeline
from tinyrt.dsp.anomaly import Anomaly, AnomalyStream, numbers_of
from tinyrt.dsp.detector import Detector, DetectorStream
from tinyrt.dsp.stream import LogMelStream
from tinyrt.quantize.calibration.histogram import Histogram
from tinyrt.train import Tensor
from tinyrt.train.optim import SGD, Group, Optimizer, clip_gradients

RNG = np.random.default_rng(6)
ROWS = RNG.normal(size=(4, 3)).astype(np.float32)
SOUND = RNG.integers(-9000, 9000, 4000).astype(np.int16)
SCORES = RNG.integers(-128, 128, (6, 4)).astype(np.int8)


def kept(array):
    """A copy that nobody can write to."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def leaf():
    return Tensor(ROWS.copy(), requires_grad=True)


def stepped(optimizer, times=2):
    for _ in range(times):
        for parameter in optimizer.parameters:
            parameter.grad = kept(ROWS)
        optimizer.step()
    return optimizer


def kinds_of(base):
    """The classes that the package derives from it, and from these, that can be made."""
    for kind in base.__subclasses__():
        if kind.__module__.startswith("tinyrt."):
            yield kind
        yield from kinds_of(kind)


OPTIMIZERS = sorted({*kinds_of(Optimizer)}, key=lambda kind: kind.__name__)
MADE = {
    **{kind.__name__: lambda p, kind=kind: kind(p, 0.1, weight_decay=0.5) for kind in OPTIMIZERS},
    "momentum": lambda p: SGD(p, 0.1, momentum=0.5, weight_decay=0.5),
    "Nesterov": lambda p: SGD(p, 0.1, momentum=0.5, nesterov=True, weight_decay=0.5),
    "a group's decay": lambda p: SGD([Group(p, weight_decay=0.5)], 0.1),
}


def in_all_optimizers(function):
    return pytest.mark.parametrize("make", MADE.values(), ids=MADE)(function)


@in_all_optimizers
def test_a_step_leaves_gradients_as_they_are(make):
    """A training loop may log them, add to them, or step twice."""
    stepped(make([leaf()]))


@in_all_optimizers
def test_a_loaded_state_is_not_written_to(make):
    saved = stepped(make([leaf()])).state_dict()
    other = make([leaf()])
    other.load_state_dict({name: kept(np.asarray(array)) for name, array in saved.items()})
    stepped(other)


@in_all_optimizers
def test_a_saved_state_stays_while_training_goes_on(make):
    optimizer = stepped(make([leaf()]))
    saved = optimizer.state_dict()
    before = {name: array.copy() for name, array in saved.items()}
    stepped(optimizer)
    for name, array in saved.items():
        np.testing.assert_array_equal(array, before[name])


def clip():
    parameter = leaf()
    parameter.grad = kept(ROWS)
    assert clip_gradients([parameter], 0.1) > 0.1


def merge():
    one, other = Histogram(), Histogram()
    one.add(kept(ROWS))
    other.add(kept(100 * ROWS))
    counts, zeros = kept(other.counts), other.zeros
    one.merge(other)
    one.add(kept(ROWS))
    np.testing.assert_array_equal(other.counts, counts)
    assert other.zeros == zeros


TAKES = {
    "clip_gradients": clip,
    "Histogram": merge,
    "LogMelStream": lambda: LogMelStream(LogMel()).push(kept(SOUND)),
    "DetectorStream": lambda: DetectorStream(Detector(4, window=2, hold=0)).push(kept(SCORES)),
    "AnomalyStream": lambda: AnomalyStream(numbers_of(Anomaly(1.0), 4, (0.1, 0), (0.2, 1))).push(
        kept(SCORES), kept(SCORES)
    ),
}


@pytest.mark.parametrize("call", TAKES.values(), ids=TAKES)
def test_arrays_that_are_given_are_not_written_to(call):
    call()


OPTIONS = {
    "LogMel": LogMel(),
    "Pipeline": Pipeline(LogMel(bands=2), (0.5, 1.0), (0, 7), detector=Detector(3)),
    "Vision": COLOURS,
    "Learner": Learner(((1, 2), (3, 4)), (0, 0), 0, 0.1),
    "NearestMean": NearestMean.empty(2, 3),
}


@pytest.mark.parametrize("value", OPTIONS.values(), ids=OPTIONS)
def test_options_that_are_given_stay_as_they_are(value):
    """Who read them from a file may write them to another."""
    written = json.dumps(value.as_dict())
    options = json.loads(written)
    assert type(value).from_dict(options) == value
    assert options == json.loads(written)


def heard(change):
    """Features of a sound in two pieces, where somebody changes what the first one gives."""
    stream = LogMelStream(LogMel())
    first = stream.push(SOUND[:2000])
    change(stream, first)
    return stream.push(SOUND[2000:]), stream.noise


def test_features_and_noise_of_a_stream_are_the_callers_own():
    def fill(stream, features):
        features[...] = 1
        stream.noise[...] = 1

    for found, wanted in zip(heard(fill), heard(lambda *_: None), strict=True):
        np.testing.assert_array_equal(found, wanted)
