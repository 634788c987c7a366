"""Cepstral coefficients: near their definition, in range, and normalised by constants."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import fft

from tests.dsp.sounds import sound
from tests.listening import BANDS, PIPELINE, ROWS, int8_net, saved
from tinyrt import api
from tinyrt.attached import fitted
from tinyrt.dsp import LogMel, LogMelStream, Pipeline
from tinyrt.dsp.cepstra import _fits, cepstra_of, cepstra_tables, cosines, largest_logarithm
from tinyrt.errors import DataError

FRONTS = [
    LogMel(coefficients=13),
    LogMel(coefficients=40),
    LogMel(bands=23, coefficients=12, log_shift=8),
    LogMel(bands=1, coefficients=1, log_shift=10),
    LogMel(bands=256, coefficients=30, fft=4096, log_shift=6),
]


def ids(front):
    return f"{front.coefficients} of {front.bands}"


def test_weights_are_the_definition():
    for bands in (1, 2, 23, 40):
        np.testing.assert_allclose(
            cosines(bands, bands), fft.dct(np.eye(bands), norm="ortho", axis=0), atol=1e-12
        )


@pytest.mark.parametrize("front", FRONTS, ids=ids)
def test_coefficients_are_near_their_definition(front):
    """Half a unit for the sum's rounding, and half a unit of each weight: docs/dsp.md."""
    tables, largest = cepstra_tables(front), largest_logarithm(front.log_shift)
    x = np.random.default_rng(1).integers(0, largest + 1, (200, front.bands)).astype(np.uint16)
    x[:2] = [[0], [largest]]
    exact = fft.dct(x.astype(float), norm="ortho")[:, : front.coefficients]
    error = np.abs(cepstra_of(tables, x) - exact)
    assert (error <= 0.5 + x.sum(1, keepdims=True) * 2.0 ** -(tables.bits + 1)).all()
    assert front.log_shift != 6 or front.bands != 40 or error.max() < 0.75


@pytest.mark.parametrize(
    ("weight", "largest", "fits"),
    [(32_767, 65_538, True), (32_767, 65_539, False), (-32_767, 1, True), (32_768, 1, False)],
)
def test_weights_and_sums_at_the_limits_of_their_types(weight, largest, fits):
    """32767 * 65538, and 1 before a shift by one bit, are just ``2**31 - 1``."""
    assert _fits(np.array([[weight]], float), largest, 1) is fits


@pytest.mark.parametrize("front", FRONTS, ids=ids)
def test_no_sum_leaves_its_range(front):
    """The largest and the least sum of every row, from logarithms that are there at all."""
    tables, largest = cepstra_tables(front), largest_logarithm(front.log_shift)
    weights = tables.weights.astype(np.int64)
    for chosen in (weights > 0, weights < 0):
        x = np.where(chosen, largest, 0)
        sums = (x * weights).sum(1) + (1 << tables.bits >> 1)
        assert np.abs(sums).max() < 2**31
        assert np.abs(sums >> tables.bits).max() < 2**15
    # One more bit of the weights would be too much for an int16, or for a sum.
    more = np.abs(np.rint(cosines(front.coefficients, front.bands) * 2.0 ** (tables.bits + 1)))
    sums = more.sum(1).max() * largest + 2**tables.bits
    assert tables.bits == 24 or more.max() >= 2**15 or sums >= 2**31


def test_the_largest_logarithm():
    for shift in range(11):
        assert abs(largest_logarithm(shift) - 2**shift * 32 * np.log(2)) < 1 + 2**shift / 1000


def test_a_stream_transforms_its_own_logarithms():
    front, samples = LogMel(bands=30, coefficients=9), sound("words", 3, 6_000)
    logarithms = LogMelStream(replace(front, coefficients=None)).push(samples)
    found = LogMelStream(front).push(samples)
    assert found.dtype == np.int16
    assert found.min() < 0
    exact = fft.dct(logarithms.astype(float), norm="ortho")[:, :9]
    assert np.abs(found - exact).max() < 0.75
    assert LogMelStream(front).push(samples[:10]).shape == (0, 9)
    assert LogMelStream(front).push(samples[:10]).dtype == np.int16


def test_sums_that_leave_their_range_are_refused():
    with pytest.raises(DataError, match="the option log_shift is 9") as caught:
        LogMelStream(LogMel(coefficients=13, log_shift=9))
    assert caught.value.expected == "a smaller one: 40 bands make coefficients up to 71,841"


def constants():
    """Mean and one by the deviation of each feature, as from training data."""
    front = replace(PIPELINE.log_mel, bands=12, coefficients=BANDS)
    rows = LogMelStream(front).push(sound("words", 8, 20_000)).astype(float)
    scales = tuple(float(s) for s in 1 / rows.std(0))
    offsets = tuple(int(o) for o in np.rint(rows.mean(0)))
    return Pipeline(front, scales, offsets, 3, PIPELINE.detector)


def test_each_feature_has_a_scale_and_an_offset_of_its_own(tmp_path):
    pipeline, samples = constants(), sound("words", 9, 6_000)
    path = saved(tmp_path / "ears.tflite", int8_net(), pipeline)
    fit = fitted(pipeline, int8_net())
    assert (fit.rows, fit.row, len(fit.rescales)) == (ROWS, BANDS, BANDS)
    rows = LogMelStream(pipeline.log_mel).push(samples)
    real = (rows - np.array(pipeline.offset)) * np.array(pipeline.scale)
    exact = real / fit.input.q.scale + fit.input.q.zero_point
    assert np.abs(fit.stored(rows) - exact.clip(-128, 127)).max() <= 0.5001
    assert np.abs(real.mean(0)).max() < 0.5
    assert len(api.listen_model(path, samples).samples) > 10


def test_one_scale_and_an_offset_for_each():
    pipeline = replace(constants(), scale=0.02)
    fit, rows = fitted(pipeline, int8_net()), np.zeros((1, BANDS), np.int16)
    assert len(fit.rescales) == 1
    same = replace(constants(), scale=(0.02,) * BANDS)
    np.testing.assert_array_equal(fit.stored(rows), fitted(same, int8_net()).stored(rows))
