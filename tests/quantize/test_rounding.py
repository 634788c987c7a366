"""Optimised rounding: the moments, the roots and the integers, against sums done by hand."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.methods import layerwise, rounding
from tinyrt.quantize.methods.rounding import (
    TURNS,
    round_weights,
    round_with_scales,
    second_moments,
)
from tinyrt.quantize.methods.triangular import inverse_root


def _moments(taps, blocks=2, seed=0):
    rows = np.random.default_rng(seed).normal(size=(blocks, 4 * taps + 5, taps))
    mixed = rows @ np.random.default_rng(seed + 1).normal(size=(taps, taps))
    return np.einsum("brk,brl->bkl", mixed, mixed) / rows.shape[1] + 0.1 * np.eye(taps)


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 130])
def test_the_root_of_the_inverse_is_triangular(size):
    matrices = _moments(size, blocks=1 + (size < 9))
    found = inverse_root(matrices)
    assert (np.tril(found, -1) == 0).all()
    assert (np.diagonal(found, axis1=1, axis2=2) > 0).all()
    inverse = np.linalg.inv(matrices)
    np.testing.assert_allclose(
        found.swapaxes(1, 2) @ found, inverse, rtol=1e-6, atol=1e-8 * np.abs(inverse).max()
    )


@pytest.mark.parametrize(("count", "taps"), [(1000, 3), (4, 6), (6, 6)])
def test_moments_are_covariances_shrunk_towards_variances(count, taps):
    rows = np.random.default_rng(1).normal(loc=5, size=(2, count, taps)).astype(np.float32)
    found = second_moments(rows)
    for block, moments in zip(rows, found, strict=True):
        covariance = np.cov(block.T.astype(np.float64), bias=True)
        expected = covariance * count / (count + taps)
        np.fill_diagonal(expected, np.diag(covariance))
        np.testing.assert_allclose(moments, expected, rtol=1e-5, atol=1e-9)
        assert np.linalg.eigvalsh(moments).min() > 0


def test_moments_of_inputs_that_never_change_are_small_but_positive():
    rows = np.random.default_rng(2).normal(size=(2, 50, 4)).astype(np.float32)
    rows[0, :, 1] = 3.0
    rows[1] = -1.0
    found = second_moments(rows)
    others = np.delete(np.diagonal(found[0]), 1)
    assert 0 < found[0, 1, 1] < 1e-3 * others.min()
    assert (np.diagonal(found[1]) > 0).all()
    assert np.linalg.eigvalsh(found[0]).min() > 0


def _errors(weights, scales, moments, integers):
    difference = integers * scales[..., None] - weights
    return np.einsum("bok,bkl,bol->bo", difference, moments, difference)


def _all_integers(taps, most):
    return np.array(list(itertools.product(range(-most, most + 1), repeat=taps)), np.float64)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 3])
def test_rounding_is_mostly_the_best_of_all_integers(seed, most):
    rng, taps = np.random.default_rng(seed), 3
    moments, weights = _moments(taps, seed=seed), rng.normal(size=(2, 4, taps))
    scales = np.abs(weights).max(axis=2) / most
    found = round_weights(weights, scales, moments, most)
    assert np.abs(found).max() <= most
    errors = _errors(weights, scales, moments, found)
    every = _all_integers(taps, most)
    for block, row in np.ndindex(2, 4):
        difference = every * scales[block, row] - weights[block, row]
        best = np.einsum("nk,kl,nl->n", difference, moments[block], difference).min()
        nearest = np.rint(weights[block, row] / scales[block, row])
        plain = _errors(weights, scales, moments, np.broadcast_to(nearest, weights.shape))
        assert best - 1e-9 <= errors[block, row] <= plain[block, row] + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_no_step_of_one_weight_would_make_rounded_ones_better(seed):
    rng, taps = np.random.default_rng(seed), 7
    moments, weights = _moments(taps, seed=seed), rng.normal(size=(2, 20, taps))
    scales = np.abs(weights).max(axis=2) / 5
    found = round_weights(weights, scales, moments, 5)
    assert np.abs(found).max() == 5
    errors = _errors(weights, scales, moments, found)
    for tap, step in itertools.product(range(taps), (-1, 1)):
        other = found.copy()
        other[..., tap] += step
        allowed = np.abs(other[..., tap]) <= 5
        worse = _errors(weights, scales, moments, other) >= errors - 1e-9
        assert (worse | ~allowed).all()


def test_weights_move_by_several_steps_where_their_inputs_are_alike():
    """Two inputs that are nearly one: only the sum of their weights matters."""
    moments = np.array([[[1.0, 0.999], [0.999, 1.0]]])
    weights = np.array([[[2.4, 2.4], [2.4, -2.4]]])
    found = round_weights(weights, np.ones((1, 2)), moments)
    assert found[0, 0].sum() == 5
    assert found[0, 1].sum() == 0


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_few_bits_get_scales_that_cost_less(seed, tied):
    rng, most = np.random.default_rng(seed), 3
    moments = _moments(6, seed=seed)
    weights = rng.standard_t(2, size=(2, 5, 6))
    scales = np.abs(weights).max(axis=2) / most
    if tied:
        scales = np.full_like(scales, scales.max())
    plain = _errors(weights, scales, moments, round_weights(weights, scales, moments, most))
    integers, found = round_with_scales(weights, scales, moments, most, tied)
    errors = _errors(weights, found, moments, integers)
    assert np.abs(integers).max() <= most
    assert (found == found.astype(np.float32)).all()
    assert (found > 0).all()
    if tied:
        assert len(np.unique(found)) == 1
        assert errors.sum() < plain.sum()
        return
    assert errors.sum() < plain.sum()
    # Mostly, no scale near the one that is found would suit its integers better.
    for factor in (0.99, 1.01):
        near = _errors(weights, found * factor, moments, integers)
        assert (near >= errors).mean() >= 0.8


def _in_turns(seed, tied, monkeypatch):
    """Weights, moments, steps that cut nothing off, what was rounded with which, the result."""
    rng, most, tried = np.random.default_rng(seed), 2, []
    moments, weights = _moments(5, seed=seed), rng.standard_t(2, size=(2, 9, 5))
    scales = np.abs(weights).max(axis=2) / most
    scales = np.full_like(scales, scales.max()) if tied else scales

    def noted(weights, scales, moments, most):
        tried.append((round_weights(weights, scales, moments, most), scales))
        return tried[-1][0]

    monkeypatch.setattr(rounding, "round_weights", noted)
    found = round_with_scales(weights, scales, moments, most, tied)
    return weights, moments, scales, tried, found


@pytest.mark.parametrize("tied", [False, True])
def test_scales_begin_where_nearest_rounding_is_best(tied, monkeypatch):
    weights, moments, scales, tried, _ = _in_turns(7, tied, monkeypatch)
    shrunk = scales * np.linspace(1, 0.5, 26)[:, None, None]
    errors = np.array(
        [_errors(weights, s, moments, np.rint(weights / s[..., None]).clip(-2, 2)) for s in shrunk]
    )
    if tied:
        errors = np.broadcast_to(errors.sum(axis=(1, 2))[:, None, None], errors.shape)
    first = np.take_along_axis(shrunk, errors.argmin(axis=0)[None], 0)[0]
    np.testing.assert_array_equal(tried[0][1], first.astype(np.float32))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_integers_and_scales_are_the_best_that_were_rounded_together(seed, tied, monkeypatch):
    """Each turn's scales are those with the least error of the best integers so far."""
    weights, moments, _, tried, found = _in_turns(seed, tied, monkeypatch)
    assert len(tried) == 1 + TURNS
    errors = np.array([_errors(weights, s, moments, n) for n, s in tried])
    if tied:
        errors = np.broadcast_to(errors.sum(axis=(1, 2))[:, None, None], errors.shape)
    for count in range(1, len(tried) + 1):
        best = errors[:count].argmin(axis=0)[None]
        integers = np.take_along_axis(np.array([n for n, _ in tried]), best[..., None], 0)[0]
        steps = np.take_along_axis(np.array([s for _, s in tried]), best, 0)[0]
        if count < len(tried):
            gain, power = (
                np.einsum("bok,bkl,bol->bo", integers, moments, other)
                for other in (weights, integers.astype(float))
            )
            solved = gain.sum() / power.sum() if tied else gain / power
            np.testing.assert_allclose(tried[count][1], np.broadcast_to(solved, steps.shape), 1e-6)
    np.testing.assert_array_equal(found[0], integers, strict=True)
    np.testing.assert_array_equal(found[1], steps, strict=True)


def test_weights_of_zero_keep_their_scales():
    weights, moments = np.zeros((1, 2, 3)), _moments(3, blocks=1)
    integers, found = round_with_scales(weights, np.full((1, 2), 0.5), moments, 7, False)
    assert (integers == 0).all()
    np.testing.assert_array_equal(found, 0.5)


@pytest.mark.parametrize(
    ("op", "attrs", "place", "taken"),
    [
        ("fully_connected", FullyConnectedAttrs(), (), [False, False]),
        ("conv2d", Conv2dAttrs(), (1, 1), [False, True]),
    ],
)
def test_finer_scales_are_taken_where_biases_fit(op, attrs, place, taken, monkeypatch):
    """Of two channels, one has a bias that would not fit; a dense layer has one scale for both."""
    solved = 3

    def half_as_large(blocked, scales, *_):
        return np.full_like(blocked, solved), 0.5 * scales

    monkeypatch.setattr(layerwise, "round_with_scales", half_as_large)
    rng, b = np.random.default_rng(2), Builder((1, *place, 6))
    w = b.constant(rng.standard_t(2, size=(2, *place, 6)).astype(np.float32))
    graph = b.graph(b.op(op, ("x", w, b.constant(np.float32([1e8, 0]))), attrs))
    x = rng.normal(size=(32, *place, 6)).astype(np.float32)
    config = QuantConfig(scheme=Scheme.INT4)
    plain, rounded = (
        next(quantize_graph(graph, x, c).bound()).input(1)
        for c in (config, replace(config, optimize_rounding=True))
    )
    assert [bool((channel == solved).all()) for channel in rounded.data] == taken
    halved = [found < scale for found, scale in zip(rounded.q.scales, plain.q.scales, strict=True)]
    assert halved == taken[: len(halved)]


@pytest.mark.parametrize(("most", "seen"), [(1, 1), (23, 1), (24, 2), (40, 3), (10**6, 32)])
def test_as_many_samples_are_looked_at_as_there_is_room_for(most, seen, monkeypatch):
    """Of two rows of six numbers each."""
    moments_of, rows = layerwise.second_moments, []

    def noted(found):
        rows.append(found.shape)
        return moments_of(found)

    monkeypatch.setattr(layerwise, "MAX_ROWS", most)
    monkeypatch.setattr(layerwise, "second_moments", noted)
    rng, b = np.random.default_rng(2), Builder((1, 2, 1, 6))
    w = b.constant(rng.normal(size=(3, 1, 1, 6)).astype(np.float32))
    graph = b.graph(b.op("conv2d", ("x", w), Conv2dAttrs()))
    x = rng.normal(size=(32, 2, 1, 6)).astype(np.float32)
    quantize_graph(graph, x, QuantConfig(optimize_rounding=True))
    assert rows == [(1, 2 * seen, 6)]
