"""Elementary functions: near the C library's, and the same bits from NumPy and compiled loops."""

import math
import sys

import numpy as np
import pytest

from tinyrt.floatmath import elementary, elementary_formulas
from tinyrt.floatmath.elementary_loops import LOOPS
from tinyrt.floatmath.products import matmul, orthogonalised
from tinyrt.quantize.methods.triangular import inverse_root

NAN, INF = math.nan, math.inf
ODD = [0.0, -0.0, INF, -INF, NAN, 1e-320, -1e-320, 1e-300, 1.0, -1.0, 709.9, -745.0, 6.0]
RANGES = {"exp": 30, "expm1": 1, "log": 1e5, "tanh": 3, "erf": 2, "sin": 1e3, "cos": 1e3}


@pytest.mark.parametrize("name", RANGES)
def test_functions_are_near_and_the_same_both_ways(name):
    x = np.random.default_rng(0).normal(size=3000) * RANGES[name]
    x = np.abs(x) if name == "log" else x
    exact = np.array([getattr(math, name)(v) for v in x.tolist()])
    compiled = np.empty_like(x)
    LOOPS[name](x, compiled)
    assert (np.abs(compiled - exact) <= 4 * np.spacing(np.abs(exact))).all()
    every = np.concatenate([x, ODD])
    compiled = np.empty_like(every)
    LOOPS[name](every, compiled)
    with np.errstate(all="ignore"):
        by_numpy = getattr(elementary_formulas, name)(every)
    # Of NaNs, only that they are NaNs.
    np.testing.assert_array_equal(compiled, by_numpy)
    numbers = ~np.isnan(compiled)
    assert (np.signbit(compiled) == np.signbit(by_numpy))[numbers].all()


@pytest.mark.parametrize(
    ("name", "dtype"), [("exp", np.float32), *((name, np.float64) for name in RANGES)]
)
def test_few_elements_are_the_same_before_numba_is_loaded(name, dtype, monkeypatch):
    every = [*np.random.default_rng(1).normal(size=51) * RANGES[name], *ODD]
    x = np.array(every, dtype).reshape(4, 16).T
    compiled = getattr(elementary, name)(x)
    monkeypatch.delitem(sys.modules, "numba")
    found = getattr(elementary, name)(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, compiled, strict=True)


def test_odd_arguments_have_the_c_library_s_answers():
    odd = np.array(ODD)
    with np.errstate(all="ignore"):
        for name in ("exp", "log", "tanh"):
            np.testing.assert_allclose(
                getattr(elementary, name)(odd), getattr(np, name)(odd), rtol=1e-14
            )
        values = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1e30, INF, -INF, NAN])
        a, b = np.meshgrid(values, values)
        np.testing.assert_allclose(elementary.power(a, b), np.power(a, b), rtol=1e-12)


def test_a_polynomial_has_each_coefficient_once():
    assert elementary_formulas.horner(10.0, (3.0, 2.0, 1.0)) == 321


@pytest.mark.parametrize("exponent", [2, 3, 64, -64])
def test_whole_powers_are_products(exponent):
    x = np.random.default_rng(0).uniform(0.9, 1.1, 1000)
    product = np.ones(1000)
    for bit in f"{abs(exponent):b}"[::-1]:
        product, x = product * x if bit == "1" else product, x * x
    expected = 1 / product if exponent < 0 else product
    given = np.random.default_rng(0).uniform(0.9, 1.1, 1000)
    np.testing.assert_array_equal(elementary.power(given, exponent), expected)


EXPONENTS = [0.3, -0.3, 0.5, 2.5, -1.5, 1 / 3, 64.5, 300, -300.5, 1e4, np.float32(0.3), 7]


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("size", [1, 7, 5000])
def test_powers_of_any_exponent(exponent, size):
    """Whole ones and halves by products, others by logarithms; many at once as few."""
    x = np.random.default_rng(0).uniform(0.98, 1.02, size)
    expected = np.power(x, np.float64(exponent))
    np.testing.assert_allclose(elementary.power(x, exponent), expected, rtol=1e-10)
    each = np.full(size, exponent, np.float64)
    np.testing.assert_allclose(elementary.power(x, each), expected, rtol=1e-10)


def test_angles_of_any_size():
    large = np.array([1e6, -1e6, 1e22, 1e300, 2.0**19 + 0.5])
    np.testing.assert_allclose(elementary.sin(large), np.sin(large), atol=1e-15)
    np.testing.assert_allclose(elementary.cos(large), np.cos(large), atol=1e-15)
    assert elementary.sin(np.float32(1e30)).dtype == np.float32
    whole = np.array([10**6, -(10**9)])
    np.testing.assert_allclose(elementary.sin(whole), np.sin(whole), atol=1e-15, strict=True)
    assert np.isnan(elementary.sin(INF))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 5), (5, 70)),
        ((2, 60, 300), (300, 130)),
        ((60, 300), (2, 300, 130)),
        ((4, 1, 3, 9), (2, 9, 1)),
        ((0, 4), (4, 3)),
        ((5, 0), (0, 3)),
    ],
)
def test_products_of_matrices_add_in_order(a, b):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=a).astype(np.float32), rng.normal(size=b).astype(np.float32)
    exact = x.astype(np.float64) @ w.astype(np.float64)
    found = matmul(x, w)
    np.testing.assert_allclose(found, exact, atol=1e-4)
    # Whole sums of whole products, one after the other, differ from no layout to the next.
    turned = np.ascontiguousarray(w.swapaxes(-1, -2)).swapaxes(-1, -2)
    np.testing.assert_array_equal(matmul(x, turned), found)


def test_roots_and_reflections_are_those_of_lapack():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 150, 70))
    matrices = rows.swapaxes(1, 2) @ rows / 150
    wanted = np.linalg.cholesky(np.linalg.inv(matrices)).swapaxes(1, 2)
    np.testing.assert_allclose(inverse_root(matrices), wanted, atol=1e-11)
    square = rng.normal(size=(12, 12))
    np.testing.assert_allclose(orthogonalised(square), np.linalg.qr(square)[0], atol=1e-12)
