"""What the cost of the features of motion grows with."""

from __future__ import annotations

from tinyrt.dsp.motion import Motion
from tinyrt.dsp.transform_terms import LANES, Terms, transform_terms
from tinyrt.ir import DType
from tinyrt.ops.shared.fft import tables


def motion_terms(front: Motion, *, has_vectors: bool) -> dict[str, Terms]:
    """Step of a row -> what its constants are times; ``samples`` copies them and calls the others.

    The steps that sound has, too, have its constants.
    """
    window, bins, bands = front.window, front.bins[-1] - front.bins[0], front.bands
    words = LANES if has_vectors else 1
    halves = 2 * words if has_vectors else 1
    roots = bands + front.peaks
    transform = transform_terms(
        tables(DType.INT16, front.fft_size, inverse=False), has_vectors=has_vectors
    )
    each: dict[str, Terms] = {
        "statistics": (1, -(-window // halves)),
        "raise": (1, -(-window // words)),
        "transform": transform,
        "energies": (1, bins // words),
        "bands and peaks": (1, bands, bins, front.peaks, front.peaks * bins),
        "roots": (1, -(-roots // words)),
        "logarithm": (1, -(-roots // words)),
    }
    axes = front.axes
    of_all = {step: tuple(axes * n for n in terms) for step, terms in each.items()}
    return {**of_all, "samples": (1, axes, axes * window / halves)}
