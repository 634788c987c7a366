"""Features of motion: as a value, in pieces, and how near each step is to its definition."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import signal

from tests.moving import FRONT, KINDS, int8_net, moving
from tinyrt.attached import fitted
from tinyrt.dsp import Motion, MotionStream, Pipeline
from tinyrt.dsp.motion_stream import ROWS_AT_ONCE, peaks_of, raised, statistics_of
from tinyrt.dsp.tables import window_of
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.export.front_code import front_code

FRONTS = [FRONT, Motion(), Motion(1, 62.5, 200, 200, 240, (1, 5, 31), 4, 8)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [4, 50, 128, 2048])
def test_statistics_are_near_their_definition(window, kind):
    """The figures of docs/motion.md: half a step, and what the second rounding adds."""
    for axis in moving(kind, 3, window).T.astype(np.int64):
        x = axis.astype(float)
        mean, found = statistics_of(axis)
        exact = [x.mean(), np.sqrt(np.mean(x**2)), x.std(), np.ptp(x) / 2]
        assert mean == found[0]
        near = np.abs(np.array(found) - np.minimum(exact, 32_767))
        assert (near <= 0.5 + 0.5 / window + 1e-9).all()


def spectrum(front, x):
    """Amplitudes of the transform of what differs from the mean, in float64."""
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(front.window) + 0.5) / front.window)
    return np.abs(np.fft.rfft((x - np.rint(x.mean())) * hann, front.fft_size)) / front.fft_size


@pytest.mark.parametrize("front", FRONTS, ids=["50", "128", "200"])
def test_spectra_are_near_their_definition(front):
    """Bands within 3 % and half a unit, where they hold a thousandth of the energy at least."""
    x = moving("walk", 5, front.window)[:, : front.axes]
    (row,) = MotionStream(front).push(x)
    for i, axis in enumerate(x.T.astype(float)):
        features = row.reshape(front.axes, -1)[i]
        energies, bins = spectrum(front, axis) ** 2, front.bins
        bands = np.array([energies[a:b].sum() for a, b in pairwise(bins)])
        exact = np.log(64 * np.sqrt(bands)) * 2**front.log_shift
        loud = bands > bands.max() / 1_000
        error = np.abs(features[4 : 4 + front.bands] - exact)[loud]
        assert (error <= 0.7 + 0.03 * 2**front.log_shift).all()
        peak, place = features[4 + front.bands], features[4 + front.bands + front.peaks]
        inside = energies[bins[0] : bins[-1]]
        assert place == bins[0] + inside.argmax()
        top = np.log(64 * np.sqrt(inside.max())) * 2**front.log_shift
        assert abs(peak - top) <= 0.7 + 0.03 * 2**front.log_shift


def test_peaks_are_those_of_scipy():
    rng = np.random.default_rng(3)
    for _ in range(300):
        x, first = rng.integers(0, 40, 24), int(rng.integers(1, 6))
        end, count = int(rng.integers(12, 24)), int(rng.integers(1, 6))
        inside = x[first:end].astype(float)
        # Plateaus fall off by less than a step towards their start, so that SciPy finds their end.
        sloped = np.concatenate([[-1], inside + 1e-3 * np.arange(len(inside)), [-1]])
        tops, _ = signal.find_peaks(sloped)
        order = sorted(
            (int(t) - 1 for t in tops if inside[t - 1] > 0), key=lambda i: (-inside[i], i)
        )
        want = [first + i for i in order[:count]]
        assert peaks_of(x, first, end, count) == want + [0] * (count - len(want))


def test_nothing_overflows():
    """Extremes of both signs, the largest steps, and windows that do not move."""
    rng = np.random.default_rng(0)
    for window in (4, 2048):
        weights = window_of(window).astype(np.int64)
        for _ in range(200):
            x = rng.choice([-32_768, 32_767, 0, -1], window)
            x[: rng.integers(window)] = rng.choice([-32_768, 32_767])
            mean, statistics = statistics_of(x)
            assert all(-32_768 <= s <= 32_767 for s in statistics)
            wide = window * int((x * x).sum())
            assert max(wide, int(x.sum()) ** 2) <= 2**52
            differences = x - mean
            up = 16 - int(np.abs(differences).max()).bit_length()
            exact = (differences << up) * weights
            assert 0 <= up <= 16
            assert np.abs(exact).max() < 2**28
            found, told = raised(differences, weights)
            assert told == up
            np.testing.assert_array_equal(found, exact >> 13)


def test_what_does_not_move():
    (row,) = MotionStream(FRONT).push(np.tile(np.int16([-7, 0, 900]), (FRONT.window, 1)))
    found = row.reshape(3, -1)
    assert found[:, :4].tolist() == [[-7, 7, 0, 0], [0, 0, 0, 0], [900, 900, 0, 0]]
    assert not found[:, 4:].any()


def test_pieces_of_any_size_make_the_same_features():
    samples, rng = moving("walk", 1, 400), np.random.default_rng(0)
    whole = MotionStream(FRONT).push(samples)
    assert whole.shape == (FRONT.frames(400), FRONT.features)
    assert whole.dtype == np.int16
    for sizes in ([1] * 90, rng.integers(0, 80, 8), [FRONT.window - 1, 1, FRONT.step]):
        stream, at, rows = MotionStream(FRONT), 0, []
        for size in (*sizes, 400):
            rows += [*stream.push(samples[at : at + size])]
            at += size
        np.testing.assert_array_equal(rows, whole)
    stream.reset()
    np.testing.assert_array_equal(stream.push(samples), whole)


def test_many_rows_at_once_are_those_one_by_one():
    front, rows = Motion(1, 100, 16, 16, edges=(10, 20), peaks=0), ROWS_AT_ONCE + 2
    samples = moving("walk", 2, 16 * rows)[:, :1]
    whole, stream = MotionStream(front).push(samples), MotionStream(front)
    single = [stream.push(samples[at : at + 16]) for at in range(0, len(samples), 16)]
    np.testing.assert_array_equal(whole, np.concatenate(single))
    assert len(whole) == rows


@pytest.mark.parametrize(("bands", "peaks", "half"), [(8, 8, 136), (18, 0, 144), (10, 8, 144)])
def test_memory_for_work_holds_a_spectrum_or_sums_of_bands_and_peaks(bands, peaks, half):
    """33 frequencies of 4 bytes, or sums of 8: whichever take more, in each half."""
    front = Motion(window=64, edges=tuple(range(2, 2 * bands + 3, 2)), peaks=peaks)
    assert front.bands == bands
    assert front_code(front).work_bytes == 2 * half


def test_names_stand_for_features():
    front = Motion(axes=2, edges=(1, 5, 20), peaks=2)
    assert len(front.names) == front.features == 2 * (4 + 2 + 4)
    assert front.names[4:11] == (
        *("axis 0: 1 to 5 Hz", "axis 0: 5 to 20 Hz", "axis 0: peak 0", "axis 0: peak 1"),
        *("axis 0: place 0", "axis 0: place 1", "axis 1: mean"),
    )


REFUSED = {
    "the option axes is 0": {"axes": 0},
    "the option axes is 17": {"axes": 17},
    "the option sample_rate is 0": {"sample_rate": 0},
    "the option window is 3": {"window": 3},
    "the option window is 2049": {"window": 2_049},
    "the option step is 129": {"step": 129},
    "the option step is 0": {"step": 0},
    "the option fft is 120": {"fft": 120},
    "the option fft is 12": {"window": 4, "step": 4, "fft": 12},
    "the option fft is 270": {"fft": 270},
    "the option fft is 16385": {"fft": 16_385},
    "the option fft is 616": {"fft": 616},
    "the option peaks is 9": {"peaks": 9},
    "the option peaks is -1": {"peaks": -1},
    "the option log_shift is 11": {"log_shift": 11},
    "the option edges less one is 0": {"edges": [3]},
    "the option edges less one is 65": {"edges": list(range(66)), "fft": 1024, "sample_rate": 200},
    "the option edges is 50.5": {"edges": [1, 50.5]},
    "the option edges is -1": {"edges": [-1, 5]},
    "the option edges is (1, 1.1)": {"edges": [1, 1.1]},
    "the option edges is (5, 1)": {"edges": [5, 1]},
    "the option edges is 3": {"edges": 3},
    "the option name is 'axis'": {"axis": 3},
}


@pytest.mark.parametrize("text", REFUSED)
def test_options_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)) as caught:
        Motion.from_dict(REFUSED[text])
    assert caught.value.expected


def test_options_at_their_limits():
    for options in (
        *({"axes": 1}, {"axes": 16}, {"window": 4, "step": 4}, {"window": 2_048}, {"peaks": 8}),
        *({"peaks": 0}, {"log_shift": 0}, {"log_shift": 10}, {"edges": (0, 50)}, {"fft": 16_384}),
        {"edges": tuple(range(1, 66)), "fft": 1024, "sample_rate": 200},
    ):
        front = Motion(**options)
        row = MotionStream(front).push(np.ones((front.window, front.axes), np.int16))
        assert row.shape == (1, front.features)


def test_as_plain_data_and_back():
    for front in FRONTS:
        assert Motion.from_dict(json.loads(json.dumps(front.as_dict()))) == front
        pipeline = Pipeline(scale=0.5, offset=-3, motion=front)
        assert Pipeline.from_json(pipeline.to_json()) == pipeline
        assert json.loads(pipeline.to_json())["log_mel"] is None
    each = replace(pipeline, offset=tuple(range(pipeline.row)))
    assert Pipeline.from_json(each.to_json()) == each


WRONG = {
    "the option motion is 3": {"motion": 3},
    "the option log_mel is {}": {"motion": {}, "log_mel": {}},
    "the option offset is 32768": {"motion": {}, "offset": 32_768},
    "the option axes is 0": {"motion": {"axes": 0}},
}


@pytest.mark.parametrize("text", WRONG)
def test_entries_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)):
        Pipeline.from_dict(WRONG[text])


@pytest.mark.parametrize(
    "samples", [np.zeros((9, 2), np.int16), np.zeros(9, np.int16), np.zeros((9, 3))]
)
def test_samples_have_a_number_of_each_axis(samples):
    with pytest.raises(DataError, match=r"samples are .* of the shape") as caught:
        MotionStream(Motion()).push(samples)
    assert caught.value.expected == "int16 (n, 3): a number of each axis"


def test_a_model_of_other_features_is_refused():
    with pytest.raises(UnsupportedError, match="the input holds no rows of 39 features") as caught:
        fitted(Pipeline(motion=Motion(peaks=2)), int8_net())
    assert "give motion the axes, edges and peaks" in caught.value.hint
