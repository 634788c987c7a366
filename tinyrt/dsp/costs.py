"""What the steps of a log-mel front end cost on a core, by formula: instructions of a frame.

Each step has a few terms, 1 and sizes of the front end, and a core a constant for each term. They
are read off what QEMU counts for some front ends (``tests/dsp/step_costs.py``), and hold for
others. Branches that depend on samples are few; what roots cost differs by some percent.
"""

from __future__ import annotations

from tinyrt.dsp.checks import require
from tinyrt.dsp.cost_table import CONSTANTS, VECTORS
from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.tables import tables_of

STEPS = (
    *("window", "transform", "energies", "bands", "roots", "noise", "loudness", "logarithm"),
    *("cosines", "take"),
)
"""As the table of docs/dsp.md has them; ``take`` is what copies samples and calls the others."""

LANES = 4
"""Words, and complex numbers of 16 bits, in a vector; it has twice as many samples."""


def step_costs(front: LogMel, core: str) -> dict[str, int]:
    """Step -> instructions of a frame, those that the front end has.

    Args:
        front: what is computed.
        core: a core in ``CONSTANTS``.

    Raises:
        DataError: there are no constants for the core, or those of the front end overflow.

    """
    require(core in CONSTANTS, "core", core, " ".join(CONSTANTS))
    left_out = {
        "noise": front.noise_reduction is None,
        "loudness": front.pcan is None,
        "logarithm": front.log_shift is None,
        "cosines": front.coefficients is None,
    }
    costs = {}
    for step in STEPS:
        if not left_out.get(step, False):
            terms = terms_of(front, step, has_vectors=core in VECTORS)
            pairs = zip(terms, CONSTANTS[core][step], strict=True)
            costs[step] = round(sum(term * constant for term, constant in pairs))
    return costs


def terms_of(front: LogMel, step: str, *, has_vectors: bool) -> tuple[float, ...]:
    """What a step's constants are times: 1, then sizes of the front end, or numbers of vectors."""
    tables, bands = tables_of(front), front.bands
    widths = tables.bank.widths
    match step:
        case "window":
            return 1, front.window // (2 * LANES) if has_vectors else front.window
        case "transform":
            return _transform(front, has_vectors=has_vectors)
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
        case "roots":
            return 1, bands
        case _:
            return 1, -(-bands // LANES) if has_vectors else bands


def _transform(front: LogMel, *, has_vectors: bool) -> tuple[float, ...]:
    """Numbers, and of each kind of a stage: stages, their blocks, and their products."""
    fft = tables_of(front).fft
    kinds = ["2", "3", "4", "5", *["side by side", "lanes"] * has_vectors]
    count = len(fft.twiddles)
    sums, m = {kind: [0.0, 0.0, 0.0] for kind in kinds}, 1
    for radix in reversed(fft.factors):
        blocks = count // (m * radix)
        if has_vectors and radix == LANES and m % LANES == 0:
            _add(sums["lanes"], m // LANES, m // LANES * blocks)
        elif has_vectors and radix == LANES and m == 1:
            _add(sums["side by side"], blocks // LANES, blocks % LANES)
        else:
            _add(sums[str(radix)], blocks, blocks * m)
        m *= radix
    pairs = divmod(count // 2, LANES) if has_vectors else (0, 0)
    return (1, count, *(pairs * has_vectors), *(n for kind in kinds for n in sums[kind]))


def _add(sums: list[float], blocks: float, products: float) -> None:
    """One stage more of a kind."""
    for i, n in enumerate((1, blocks, products)):
        sums[i] += n
