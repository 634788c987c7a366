"""What the cost of a log-mel front end's steps grows with."""

from __future__ import annotations

from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.tables import tables_of
from tinyrt.dsp.transform_terms import LANES, Terms, transform_terms

STEPS = (
    *("window", "transform", "energies", "bands", "roots", "noise", "loudness", "logarithm"),
    *("cosines", "take"),
)
"""As the table of docs/dsp.md has them; ``take`` is what copies samples and calls the others."""


def sound_terms(front: LogMel, *, has_vectors: bool) -> dict[str, Terms]:
    """Step -> what its constants are times, of those that the front end has.

    Raises:
        DataError: the constants of the front end overflow.

    """
    left_out = {
        "noise": front.noise_reduction is None,
        "loudness": front.pcan is None,
        "logarithm": front.log_shift is None,
        "cosines": front.coefficients is None,
    }
    steps = [step for step in STEPS if not left_out.get(step, False)]
    return {step: _terms_of(front, step, has_vectors=has_vectors) for step in steps}


def _terms_of(front: LogMel, step: str, *, has_vectors: bool) -> Terms:
    """1, then sizes of the front end, or numbers of vectors."""
    tables, bands = tables_of(front), front.bands
    widths = tables.bank.widths
    match step:
        case "window":
            return 1, front.window // (2 * LANES) if has_vectors else front.window
        case "transform":
            return transform_terms(tables.fft, has_vectors=has_vectors)
        case "energies":
            count = tables.energy.end_index - tables.energy.start_index
            return 1, count // LANES if has_vectors else count
        case "bands" if has_vectors:
            return 1, bands + 1, sum(w // LANES for w in widths), sum(w % LANES > 0 for w in widths)
        case "bands":
            return 1, bands + 1, sum(widths)
        case "cosines":
            return 1, front.features, front.features * bands
        case "take" if has_vectors:
            return 1, front.step // (2 * LANES) + (front.window - front.step) // (2 * LANES)
        case "take":
            return 1, front.window
        case _:
            return 1, -(-bands // LANES) if has_vectors else bands
