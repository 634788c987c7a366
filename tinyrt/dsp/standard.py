"""Windows of features less their mean and by their deviation, in integers.

Of ``n`` features ``x`` of a window, all or those of one place of its rows:

    mean      = round(16 * sum(x) / n)                      4 bits of fraction, halves up
    deviation = round(sqrt(sum((16 * x - mean) ** 2) / n))  likewise, at least 1
    y         = round(256 * (16 * x - mean) / deviation)    at most 32767, halves away from 0

A feature has 16 bits, so ``16 * x - mean`` has 20 and a sign, and its product with 256 28; squares
of ``2**20`` of them add up to less than ``2**60``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_filter_bank import ref_square_root

GROUPS = ("window", "features")
"""What has a mean of its own: all features of a window, or each place of its rows."""

FRACTION_BITS, OUTPUT_BITS = 4, 8
LEAST = 1 << FRACTION_BITS
"""A deviation of 1: what hardly changes is not made loud."""

S16_MAX = (1 << 15) - 1


def standardized(windows: NDArray[Any], group: str) -> NDArray[np.int16]:
    """Windows (n, rows, features), int16 or uint16 -> int16 of the same shape, in 256ths."""
    count, rows, row = windows.shape
    x = windows.astype(np.int64)
    columns = x.reshape(count, -1, 1) if group == "window" else x
    n = columns.shape[1]
    mean = ((2 << FRACTION_BITS) * columns.sum(axis=1, keepdims=True) + n) // (2 * n)
    differences = (columns << FRACTION_BITS) - mean
    squares = (differences**2).sum(axis=1) // n
    roots = ref_square_root(NoAttrs(), squares.ravel().astype(np.uint64), np.array(0, np.int32))
    deviation = np.maximum(roots.astype(np.int64).reshape(mean.shape), LEAST)
    sizes = ((np.abs(differences) << OUTPUT_BITS) + deviation // 2) // deviation
    signed = np.sign(differences) * np.minimum(sizes, S16_MAX)
    normal: NDArray[np.int16] = signed.reshape(count, rows, row).astype(np.int16)
    return normal
