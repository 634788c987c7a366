"""A log-mel front end as a value: what it computes, checked where it is made.

Windows of samples become spectra, energies, sums by mel bands and their roots; noise is taken off,
loudness is evened out (PCAN), and the logarithm is taken. With the default length of the transform
it is TensorFlow Lite Micro's ``microfrontend``, byte for byte.

Limits are such that no step overflows. A spectrum's energies are those of the signal divided by its
length: of 16-bit samples, all of them together are at most ``2**30`` (Parseval), a band's sum by
weights of 12 bits is at most ``2**41``, and its root less than ``2**21``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tinyrt.dsp.checks import known, require, require_int, require_real
from tinyrt.ops.shared.fft import RADICES, factors_of

ROOT_BITS = 22
"""Bits of a band's root: 21, and one for what the transform's roundings add."""

MAX_WINDOW = 1 << 13
MIN_FFT, MAX_FFT = 64, 1 << 14
MAX_BANDS = 256
MAX_RATE = 1_000_000
MAX_LOG_SHIFT = 10
"""The largest logarithm, times two to the power of this, fits an int16."""


@dataclass(frozen=True, slots=True)
class NoiseReduction:
    """Each band less an estimate of its noise, which follows the band slowly.

    Attributes:
        even_smoothing: how much of a new frame enters the estimate of bands 0, 2, 4, ...
        odd_smoothing: that of bands 1, 3, 5, ...
        min_signal_remaining: the least part of a band that is left.
        smoothing_bits: fraction bits of the estimate.

    """

    even_smoothing: float = 0.025
    odd_smoothing: float = 0.06
    min_signal_remaining: float = 0.05
    smoothing_bits: int = 10

    def __post_init__(self) -> None:
        for name in ("even_smoothing", "odd_smoothing", "min_signal_remaining"):
            require_real(getattr(self, name), 0, 1, name)
        require_int(self.smoothing_bits, 0, 32 - ROOT_BITS, "smoothing_bits")


@dataclass(frozen=True, slots=True)
class Pcan:
    """Each band times ``(noise + offset) ** -strength``, small ones squared: even loudness.

    Attributes:
        strength: how much of the loudness is taken away; 1 for all of it.
        offset: noise below this hardly counts.
        gain_bits: fraction bits of a gain.

    """

    strength: float = 0.95
    offset: float = 80.0
    gain_bits: int = 21

    def __post_init__(self) -> None:
        require_real(self.strength, 0, 2, "strength")
        require_real(self.offset, 1, 2**ROOT_BITS, "offset")
        require_int(self.gain_bits, 0, 31, "gain_bits")


@dataclass(frozen=True, slots=True)
class LogMel:
    """A log-mel front end; windows and steps are in samples.

    Attributes:
        sample_rate: samples in a second.
        window: samples of a frame.
        step: samples from one frame to the next, at most a window.
        fft: samples that are transformed, zeros behind the window; None for the next power of two.
        bands: sums of a frame's energies, each of which is a feature.
        lower_hz: where the first band begins.
        upper_hz: where the last one ends, below half the sample rate.
        noise_reduction: None for bands as they are.
        pcan: needs the estimate of noise; None for bands of any loudness.
        log_shift: features are ``ln(band) * 2 ** log_shift``; None for bands without logarithm.
        coefficients: of a cosine transform of the logarithms, which are the features then (MFCC);
            None for the logarithms themselves.

    """

    sample_rate: int = 16_000
    window: int = 480
    step: int = 160
    fft: int | None = None
    bands: int = 40
    lower_hz: float = 125.0
    upper_hz: float = 7_500.0
    noise_reduction: NoiseReduction | None = field(default_factory=NoiseReduction)
    pcan: Pcan | None = field(default_factory=Pcan)
    log_shift: int | None = 6
    coefficients: int | None = None

    def __post_init__(self) -> None:
        require_int(self.sample_rate, 1, MAX_RATE, "sample_rate")
        require_int(self.window, 2, MAX_WINDOW, "window")
        require_int(self.step, 1, self.window, "step")
        if self.fft is not None:
            require_int(self.fft, max(self.window, MIN_FFT), MAX_FFT, "fft")
        length = self.fft_size
        usable = length % 4 == 0 and set(factors_of(length // 2)) <= set(RADICES)
        require(usable, "fft", length, "four times a product of twos, threes and fives")
        require_int(self.bands, 1, MAX_BANDS, "bands")
        require_real(self.lower_hz, 0, self.sample_rate / 2, "lower_hz")
        require_real(self.upper_hz, 0, self.sample_rate / 2, "upper_hz")
        above = self.lower_hz < self.upper_hz < self.sample_rate / 2
        expected = "more than lower_hz, and less than half the sample rate"
        require(above, "upper_hz", self.upper_hz, expected)
        if self.log_shift is not None:
            require_int(self.log_shift, 0, MAX_LOG_SHIFT, "log_shift")
        if self.coefficients is not None:
            require_int(self.coefficients, 1, self.bands, "coefficients")
            has_log = self.log_shift is not None
            expected = "none, where log_shift is none: they are of logarithms"
            require(has_log, "coefficients", self.coefficients, expected)
        if self.pcan is not None:
            self._check_pcan(self.pcan)

    def _check_pcan(self, pcan: Pcan) -> None:
        reduction = self.noise_reduction
        require(reduction is not None, "pcan", pcan, "none, where noise_reduction is none")
        assert reduction is not None
        bits = reduction.smoothing_bits
        expected = f"at least {self.correction_bits} where there is pcan and fft is {self.fft_size}"
        require(bits >= self.correction_bits, "smoothing_bits", bits, expected)

    @property
    def fft_size(self) -> int:
        """Samples that are transformed."""
        return self.fft or max(MIN_FFT, 1 << (self.window - 1).bit_length())

    @property
    def features(self) -> int:
        """Features of a frame."""
        return self.bands if self.coefficients is None else self.coefficients

    @property
    def is_signed(self) -> bool:
        """Whether features have a sign: int16, else uint16."""
        return self.coefficients is not None

    @property
    def correction_bits(self) -> int:
        """How far bands are shifted left before the logarithm: the transform divides."""
        return self.fft_size.bit_length() - 1 - 6

    @property
    def is_microfrontend(self) -> bool:
        """Whether TFLM's ``microfrontend`` has these options, and computes the same bytes."""
        length = 1 << (self.window - 1).bit_length()
        return self.fft_size == length and self.noise_reduction is not None

    def frames(self, samples: int) -> int:
        """How many frames so many samples make."""
        return max(0, (samples - self.window) // self.step + 1)

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> LogMel:
        """The front end of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is unknown or out of range.

        """
        parts = {"noise_reduction": NoiseReduction, "pcan": Pcan}
        made = dict(known(cls, options))
        for name, part in parts.items():
            if isinstance(made.get(name), Mapping):
                made[name] = part(**known(part, made[name]))
            else:
                require(made.get(name) is None, name, made.get(name), "options by name, or null")
        return cls(**made)
