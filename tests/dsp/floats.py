"""A log-mel front end by its definition, in float64: what fixed point is measured against."""

from __future__ import annotations

import numpy as np

from tinyrt.dsp import LogMel


def hann(size):
    return 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(size) + 0.5) / size)


def spectra(front: LogMel, windowed):
    """Divided by their length, (frames, fft / 2 + 1)."""
    return np.fft.rfft(windowed, front.fft_size) / front.fft_size


def mel(hz):
    return 2595 * np.log10(1 + np.asarray(hz) / 700)


def filters(front: LogMel):
    """Triangles (bands, fft / 2 + 1) between corners at equal distances in mel, 1 in the middle.

    As in TFLM, the one less than half a step of the transform above the first corner is out.
    """
    corners = np.linspace(mel(front.lower_hz), mel(front.upper_hz), front.bands + 2)
    hz = front.sample_rate / front.fft_size
    at = mel(np.arange(front.fft_size // 2 + 1) * hz)
    below, middle, above = (corners[i : i + front.bands, None] for i in range(3))
    sides = np.minimum((at - below) / (middle - below), (above - at) / (above - middle))
    sides[:, : int(front.lower_hz / hz + 1.5)] = 0
    return np.clip(sides, 0, 1)


def bands(front: LogMel, spectrum):
    """Roots of energies in each band, with 6 bits of fraction as the weights' 12 bits have."""
    return 64 * np.sqrt(np.abs(spectrum) ** 2 @ filters(front).T)


def without_noise(front: LogMel, frames):
    """Bands (frames, bands) less their noise, and the estimates of noise, with all their bits."""
    r, estimate = front.noise_reduction, np.zeros(front.bands)
    part = np.where(np.arange(front.bands) % 2, r.odd_smoothing, r.even_smoothing)
    cleaned, estimates = [], []
    for frame in frames:
        estimate = part * frame + (1 - part) * estimate
        cleaned.append(np.maximum(frame - estimate, r.min_signal_remaining * frame))
        estimates.append(estimate)
    return np.array(cleaned), np.array(estimates)


def gain(front: LogMel, estimates):
    noise = estimates * 2**front.correction_bits
    return (noise + front.pcan.offset) ** -front.pcan.strength


def evened(front: LogMel, cleaned, estimates):
    """PCAN: what is below 2 is squared, with 6 bits of fraction."""
    ratio = cleaned * 2**front.correction_bits * gain(front, estimates)
    return 64 * np.where(ratio < 2, ratio**2 / 4, ratio - 1)


def logarithms(front: LogMel, values):
    shifted = np.maximum(values * 2.0**front.correction_bits, 1)
    return np.log(shifted) * 2**front.log_shift


def features(front: LogMel, frames):
    """All steps, float from one to the next: (frames, window) -> (frames, bands)."""
    roots = bands(front, spectra(front, frames * hann(front.window)))
    return logarithms(front, evened(front, *without_noise(front, roots)))
