"""One object against another whose leaves are values, or functions that judge one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Judge = Callable[[object], bool]


def assert_fields(found: object, expected: object, where: str = "") -> None:
    """Every field is expected, and is as expected: floats nearly, all others exactly."""
    if isinstance(expected, dict):
        assert isinstance(found, dict), where
        assert set(found) == set(expected), f"fields of {where or 'the object'}"
        for name, value in expected.items():
            assert_fields(found[name], value, f"{where}.{name}")
    elif isinstance(expected, list | tuple):
        assert isinstance(found, list), where
        assert len(found) == len(expected), where
        for i, value in enumerate(expected):
            assert_fields(found[i], value, f"{where}[{i}]")
    elif callable(expected):
        assert expected(found), f"{where} is {found!r}"
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9), where
    else:
        assert type(found) is type(expected), where
        assert found == expected, where


def sqnr_db(exact: np.ndarray, actual: np.ndarray) -> float:
    """The mean over samples of ``10 log10(signal / noise)``, each at most 200."""
    s, a = (x.reshape(len(x), -1).astype(np.float64) for x in (exact, actual))
    with np.errstate(divide="ignore"):
        ratios = 10 * np.log10((s**2).sum(axis=1) / ((s - a) ** 2).sum(axis=1))
    return float(np.minimum(ratios, 200).mean())
