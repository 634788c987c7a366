"""What the cost of a Fourier transform of 16 bits grows with."""

from __future__ import annotations

from tinyrt.ops.shared.fft import Tables

Terms = tuple[float, ...]
"""Numbers that a step's constants are times."""

LANES = 4
"""Words, and complex numbers of 16 bits, in a vector; it has twice as many samples."""


def transform_terms(fft: Tables, *, has_vectors: bool) -> Terms:
    """Numbers, and of each kind of a stage: stages, their blocks, and their products."""
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
    pairs = divmod(count // 2, LANES) * has_vectors
    return (1, count, *pairs, *(n for kind in kinds for n in sums[kind]))


def _add(sums: list[float], blocks: float, products: float) -> None:
    """One stage more of a kind."""
    for i, n in enumerate((1, blocks, products)):
        sums[i] += n
