"""How near float results must come to the references."""

from __future__ import annotations

import numpy as np

TRANSCENDENTAL = frozenset(
    (
        "cos",
        "elu",
        "erf",
        "exp",
        "gelu",
        "log",
        "log_softmax",
        "logistic",
        "pow",
        "sin",
        "softmax",
        "tanh",
    )
)
"""Ops that call the C library's functions, whose last bits differ between libraries."""

SUMS = frozenset(
    (
        *("average_pool2d", "batch_matmul", "batch_norm", "conv2d", "cumsum"),
        *("depthwise_conv2d",),
        *("signal_irfft", "signal_rfft"),
        *("fully_connected", "gelu", "log_softmax", "mean", "resize_bilinear", "sum", "svdf"),
        *("transpose_conv", "unidirectional_sequence_lstm"),
    )
)
"""Ops whose terms, of size 1 or of that of the largest result, may cancel."""


def assert_close(op: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Within 1e-5 of each element, or of a sum's terms; 1e-4 where the C library computes.

    Integers are equal.
    """
    assert found.dtype == expected.dtype
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, err_msg=op, strict=True)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    terms = max(1.0, float(finite.max())) if finite.size else 1.0
    np.testing.assert_allclose(
        found,
        expected,
        rtol=1e-4 if op in TRANSCENDENTAL else 1e-5,
        atol=1e-5 * terms if op in SUMS else 0,
        err_msg=op,
        strict=True,
    )
