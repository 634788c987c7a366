"""The log-mel front end as a value: options, streams, and how far it is from its definition."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from tests.dsp import floats
from tests.dsp.sounds import mixed, sound
from tinyrt.dsp import LogMel, LogMelStream, NoiseReduction, Pcan
from tinyrt.dsp.mel import log1p
from tinyrt.dsp.steps import bands_of, cleaned, features_of, spectra_of
from tinyrt.dsp.tables import tables_of
from tinyrt.errors import DataError
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_filter_bank import ref_square_root
from tinyrt.ops.signal_noise import ref_subtraction


@pytest.mark.parametrize("front", [LogMel(), LogMel(fft=600, log_shift=None), LogMel(step=480)])
def test_pieces_of_any_size_make_the_same_features(front):
    samples, rng = sound("words", 3, 6_000), np.random.default_rng(0)
    whole = LogMelStream(front).push(samples)
    assert whole.shape == (front.frames(6_000), 40)
    for sizes in ([1] * 700, rng.integers(0, 900, 12), [479, 1, 160, 159]):
        stream, at, rows = LogMelStream(front), 0, []
        for size in (*sizes, 6_000):
            rows += [*stream.push(samples[at : at + size])]
            at += size
        np.testing.assert_array_equal(rows, whole)


def test_many_frames_at_once_are_the_same():
    front = LogMel(window=64, step=16, bands=10)
    samples = sound("words", 4, 64 + 16 * 300)
    stream = LogMelStream(front)
    rows = [stream.push(samples[at : at + 640]) for at in range(0, len(samples), 640)]
    np.testing.assert_array_equal(LogMelStream(front).push(samples), np.concatenate(rows))


def test_noise_is_the_streams_own():
    stream = LogMelStream(LogMel())
    stream.push(sound("words", 1, 480))
    noise = stream.noise.tolist()
    assert stream.noise.dtype == np.uint32
    assert all(noise)
    stream.noise[:] = 0
    assert stream.noise.tolist() == noise
    stream.reset()
    assert not stream.noise.any()


def test_bands_are_left_as_they_are_where_nothing_is_asked_for():
    front = LogMel(noise_reduction=None, pcan=None, log_shift=None)
    frames = sound("words", 2, 480)[None]
    made = spectra_of(front, tables_of(front), frames)
    bands = bands_of(tables_of(front), made.spectra[0], int(made.shifts[0]))
    stream = LogMelStream(front)
    np.testing.assert_array_equal(stream.push(frames[0]), bands[None])
    assert not stream.noise.any()
    one = LogMel(noise_reduction=None, pcan=None, log_shift=None, bands=1)
    assert LogMelStream(one).push(sound("full scale", 0, 480)) == 65_535


def test_options_as_plain_data():
    front = LogMel(bands=32, pcan=None, noise_reduction=NoiseReduction(odd_smoothing=0.1))
    text = json.dumps(front.as_dict())
    assert LogMel.from_dict(json.loads(text)) == front
    assert LogMel.from_dict({"pcan": {"strength": 0.5}}).pcan == Pcan(strength=0.5)
    assert LogMel.from_dict({}) == LogMel()


REFUSED = {
    "the option sample_rate is 0": {"sample_rate": 0},
    "the option window is 1": {"window": 1},
    "the option window is 480.0": {"window": 480.0},
    "the option window is 8193": {"window": 8193},
    "the option step is 481": {"step": 481},
    "the option step is 0": {"step": 0},
    "the option fft is 400": {"fft": 400},
    "the option fft is 60": {"fft": 60, "window": 40, "step": 1},
    "the option fft is 16385": {"fft": 16385},
    "the option fft is 486": {"fft": 486},
    "the option fft is 616": {"fft": 616},
    "the option bands is 0": {"bands": 0},
    "the option bands is True": {"bands": True},
    "the option bands is 257": {"bands": 257},
    "the option lower_hz is -1": {"lower_hz": -1},
    "the option lower_hz is True": {"lower_hz": True},
    "the option upper_hz is 125": {"upper_hz": 125},
    "the option upper_hz is 8000": {"upper_hz": 8000},
    "the option upper_hz is 7999.9999": {"upper_hz": 7999.9999},
    "the option upper_hz is 130": {"upper_hz": 130, "lower_hz": 128},
    "the option upper_hz is nan": {"upper_hz": float("nan")},
    "the option upper_hz is 'high'": {"upper_hz": "high"},
    "the option log_shift is 11": {"log_shift": 11},
    "the option log_shift is -1": {"log_shift": -1},
    "the option even_smoothing is 1.5": {"noise_reduction": {"even_smoothing": 1.5}},
    "the option odd_smoothing is -0.1": {"noise_reduction": {"odd_smoothing": -0.1}},
    "the option min_signal_remaining is 2": {"noise_reduction": {"min_signal_remaining": 2}},
    "the option smoothing_bits is 11": {"noise_reduction": {"smoothing_bits": 11}},
    "the option smoothing_bits is 2": {"noise_reduction": {"smoothing_bits": 2}},
    "the option strength is 3": {"pcan": {"strength": 3}},
    "the option offset is 0": {"pcan": {"offset": 0}},
    "the option gain_bits is 32": {"pcan": {"gain_bits": 32}},
    "the option gain_bits is 14": {"pcan": {"gain_bits": 14}},
    "the option gain_bits is 29": {"pcan": {"gain_bits": 29, "strength": 2, "offset": 1}},
    "the option pcan is Pcan(strength=0.1": {"pcan": {"strength": 0.1, "gain_bits": 15}},
    "the option pcan is Pcan(strength=0, offset=80.0, gain_bits=19)": {
        "pcan": {"strength": 0, "gain_bits": 19}
    },
    "the option pcan is Pcan(strength=0, offset=80.0, gain_bits=26)": {
        "fft": 16_384,
        "pcan": {"strength": 0, "gain_bits": 26},
    },
    "the option pcan is Pcan(strength=0.95": {"noise_reduction": None},
    "the option pcan is 'yes'": {"pcan": "yes"},
    "the option coefficients is 0": {"coefficients": 0},
    "the option coefficients is 41": {"coefficients": 41},
    "the option coefficients is 13": {"coefficients": 13, "log_shift": None},
    "the option log_shift is 8": {"coefficients": 1, "log_shift": 8},
    "the option name is 'bnads'": {"bnads": 3},
    "the option name is 'gain'": {"pcan": {"gain": 3}},
}


@pytest.mark.parametrize("text", REFUSED)
def test_options_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)) as caught:
        LogMelStream(LogMel.from_dict(REFUSED[text]))
    assert caught.value.expected


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("window", 2, 8192), ("bands", 1, 256), ("log_shift", 0, 10), ("fft", 480, 16384)],
)
def test_options_at_their_limits(name, low, high):
    bits = NoiseReduction(smoothing_bits=10)
    for value in (low, high):
        options = {"noise_reduction": bits, "pcan": None, "step": 1, name: value}
        front = LogMel(**options)
        assert LogMelStream(front).push(np.zeros(front.window, np.int16)).shape == (1, front.bands)


@pytest.mark.parametrize(("fft", "gain_bits"), [(None, 20), (16_384, 27)])
def test_the_highest_gains_that_do_not_overflow(fft, gain_bits):
    LogMelStream(LogMel(fft=fft, pcan=Pcan(strength=0, gain_bits=gain_bits)))


def test_an_estimate_of_as_few_bits_as_pcan_takes():
    front = LogMel(noise_reduction=NoiseReduction(smoothing_bits=3))
    assert LogMelStream(front).push(sound("words", 1, 480)).any()


@pytest.mark.parametrize("samples", [np.zeros((2, 3), np.int16), np.zeros(4, np.float32), [1, 2]])
def test_samples_are_one_row_of_int16(samples):
    with pytest.raises(DataError, match=r"samples are .* of the shape") as caught:
        LogMelStream(LogMel()).push(samples)
    assert caught.value.hint


def test_logarithms_are_near():
    x = np.concatenate([[0, 1e-12], np.geomspace(1e-9, 1e5, 5_000)]).astype(np.float32)
    np.testing.assert_allclose(log1p(x), np.log1p(x.astype(float)), rtol=2e-7)


@pytest.mark.parametrize(("weight", "root"), [(65_535, 65_535), (65_536, 65_536)])
def test_roots_of_sums_of_32_bits_have_16(weight, root):
    """(256 ** 2 + 1) * 65535 is just ``2**32 - 1``, whose root is nearest to 65536."""
    energy = SimpleNamespace(start_index=0, end_index=1)
    tables = SimpleNamespace(energy=energy, triangles=np.array([[float(weight)]]))
    found = bands_of(tables, np.array([[256, 1]], np.int16), np.zeros(1, int))
    (sums,) = ref_square_root(NoAttrs(), np.array([65_537 * weight], np.uint64), np.array(0))
    assert found.tolist() == [[sums]] == [[root]]


def frames_of(front, samples):
    return np.lib.stride_tricks.sliding_window_view(samples, front.window)[:: front.step]


SOUNDS = ("noise", "tone", "words", "quiet")
FRONTS = [LogMel(), LogMel(window=400, fft=600, bands=30), LogMel(window=1024, step=512)]


@pytest.mark.parametrize("kind", SOUNDS)
@pytest.mark.parametrize("front", FRONTS, ids=["512", "600", "1024"])
def test_each_step_is_near_its_definition(front, kind):
    """The figures of docs/dsp.md."""
    tables = tables_of(front)
    frames = frames_of(front, sound(kind, 5, 12_000))
    made = spectra_of(front, tables, frames)
    # Rounding down, and half a unit of a weight of 12 bits.
    windowed = frames * floats.hann(front.window)
    assert (np.abs(made.windowed - windowed) <= 1 + np.abs(frames) / 8_000).all()
    pairs = made.spectra.reshape(len(frames), -1, 2) / 2.0 ** made.shifts[:, None, None]
    found = pairs[..., 0] + 1j * pairs[..., 1]
    error = np.abs(found - floats.spectra(front, made.windowed))
    assert (error * 2.0 ** made.shifts[:, None]).max() < 8
    estimate, given = np.zeros(front.bands, np.uint32), []
    for spectrum, shift in zip(made.spectra, made.shifts, strict=True):
        roots = bands_of(tables, spectrum, int(shift))
        subtracted, after, _ = ref_subtraction(tables.subtraction, roots, estimate)
        evened, estimate = cleaned(tables, roots, estimate)
        np.testing.assert_array_equal(after, estimate)
        given.append((roots, subtracted, estimate / 2**10, evened, features_of(front, evened)))
    columns = (np.array(x, float) for x in zip(*given, strict=True))
    roots, subtracted, estimates, evened, features = columns
    assert (np.abs(roots - floats.bands(front, found)) <= 1 + 0.03 * roots).all()
    less, noise = floats.without_noise(front, roots)
    loudest = roots.max()
    assert np.abs(estimates - noise).max() <= 0.004 * loudest
    assert np.abs(subtracted - less).max() <= 1 + 0.004 * loudest
    louder, gain = floats.evened(front, subtracted, estimates), floats.gain(front, estimates)
    # Parabolas between powers of two, and gains as whole numbers of 21 bits of fraction.
    assert (np.abs(evened - louder) <= 2 + (0.02 + 2.0**-21 / gain) * louder).all()
    assert np.abs(features - floats.logarithms(front, evened)).max() < 0.7
    if kind == "words":
        whole = np.abs(features - floats.features(front, frames))
        assert np.median(whole) < 12
        assert np.mean(whole) < 30


def test_triangles_are_near_their_definition():
    for front in FRONTS:
        tables, bank = tables_of(front), tables_of(front).bank
        weights = np.zeros((front.bands + 2, front.fft_size // 2 + 1))
        columns = zip(bank.frequency_starts, bank.weight_starts, bank.widths, strict=True)
        for i, (at, first, width) in enumerate(columns):
            weights[i, at : at + width] += tables.weights[first : first + width]
            weights[i + 1, at : at + width] += tables.unweights[first : first + width]
        assert np.abs(weights[1:-1] / 4096 - floats.filters(front)).max() < 0.6 / 4096


@pytest.mark.parametrize(("lower", "upper"), [(125, 8_000), (300, 300), (301, 300)])
def test_bands_end_above_their_begin_and_below_half_the_rate(lower, upper):
    """Options alone are refused, before any table is made of them."""
    with pytest.raises(DataError, match=f"the option upper_hz is {upper}") as caught:
        LogMel(lower_hz=lower, upper_hz=upper)
    assert caught.value.expected == "more than lower_hz, and less than half the sample rate"
    assert LogMel(lower_hz=300, upper_hz=7_999.5).upper_hz == 7_999.5


def test_features_follow_what_is_heard():
    front = LogMel()
    quiet, loud = (LogMelStream(front).push(sound("words", 6, 9_000) // d) for d in (8, 1))
    assert loud.max() < 1_000
    # Loudness is evened out: eight times the amplitude is not 64 * ln(8) more.
    assert 0 <= np.median(loud.astype(int) - quiet) < 64 * np.log(8)
    assert not LogMelStream(front).push(mixed(1, 2_000)).any()


def test_bands_may_end_as_low_as_they_may_begin():
    assert LogMel(lower_hz=0.0, upper_hz=0.5).upper_hz == 0.5


def test_a_frequency_on_a_corner_belongs_to_the_band_below_it():
    """As in TFLM: a band goes on while a frequency's mel is no more than its corner's."""
    front = LogMel(sample_rate=8_000, fft=512, bands=1, lower_hz=0.0, upper_hz=3_000)
    bank, energy = tables_of(front).bank, tables_of(front).energy
    corner = 3_000 * 512 // 8_000
    assert energy.end_index == corner + 1
    assert bank.frequency_starts[-1] + bank.widths[-1] == corner + 1
