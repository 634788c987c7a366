"""Every op against the interpreters that devices run: int8 bit for bit, float within rounding."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.peers import run_peer
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.evaluate import evaluate

INT8_CASES = 60
INT16_CASES = 40
FLOAT_CASES = 8
TRANSCENDENTAL = {
    "cos",
    "elu",
    "exp",
    "gelu",
    "log",
    "log_softmax",
    "logistic",
    "pow",
    "sin",
    "softmax",
    "tanh",
}
INT8_OPS = sorted(name for name, spec in OPS.items() if spec.ref_s8 is not None)
INT16_OPS = sorted(name for name, spec in OPS.items() if spec.int16x8 is not None)
INT4_OPS = sorted(name for name, spec in OPS.items() if spec.int4_weights)
FLOAT_OPS = sorted(
    name for name, spec in OPS.items() if spec.ref_f32 is not None and name != "batch_norm"
)


def test_every_op_has_cases():
    assert set(CASES) == set(OPS)


@pytest.mark.parametrize("seed", range(INT8_CASES))
@pytest.mark.parametrize("op", INT8_OPS)
def test_int8_equals_the_device(op, seed):
    rng = rng_of(op, seed)
    built = build_s8(CASES[op](rng), rng)
    found = evaluate(built.graph, built.feeds)["out"]
    np.testing.assert_array_equal(found, run_peer(op, built.graph, list(built.feeds.values())))


@pytest.mark.parametrize("seed", range(INT16_CASES))
@pytest.mark.parametrize("op", INT16_OPS)
def test_int16x8_equals_the_device(op, seed):
    rng = rng_of(op, seed)
    built = build_s16(CASES[op](rng), rng)
    found = evaluate(built.graph, built.feeds)["out"]
    np.testing.assert_array_equal(found, run_peer(op, built.graph, list(built.feeds.values())))


@pytest.mark.parametrize("seed", range(INT16_CASES))
@pytest.mark.parametrize("op", INT4_OPS)
def test_int4_weights_equal_the_device(op, seed):
    rng = rng_of(op, seed)
    built = build_s8(CASES[op](rng), rng, weights=DType.INT4)
    found = evaluate(built.graph, built.feeds)["out"]
    np.testing.assert_array_equal(found, run_peer(op, built.graph, list(built.feeds.values())))


@pytest.mark.parametrize("seed", range(FLOAT_CASES))
@pytest.mark.parametrize("op", FLOAT_OPS)
def test_float_agrees(op, seed):
    rng = rng_of(op, seed)
    built = build_f32(CASES[op](rng), rng)
    found = evaluate(built.graph, built.feeds)["out"]
    expected = run_peer(op, built.graph, list(built.feeds.values()))
    rtol = 1e-4 if op in TRANSCENDENTAL else 1e-5
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-6)
    assert found.dtype == expected.dtype
