"""Every op against the interpreters that devices run: int8 bit for bit, float within rounding."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tests.c.floats import assert_close
from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.peers import real_quotient, run_peer
from tests.sampling import sampled
from tinyrt.errors import VerifyError
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import Form, Quant

CNN = {"add", "average_pool2d", "conv2d", "depthwise_conv2d", "fully_connected", "max_pool2d"}
"""What convolutional networks are made of."""
CNN_CASES = sampled(16, 2000)
OTHER_CASES = sampled(5, 600)
FLOAT_CASES = sampled(4, 80)
STATELESS = {name: spec for name, spec in OPS.items() if spec.quant is not Quant.STATEFUL}
"""Ops that one run says all about; ``test_stateful`` has the others."""
INT8_OPS = sorted(name for name, spec in STATELESS.items() if Form.INT8 in spec.forms)
INT16_OPS = sorted(name for name, spec in STATELESS.items() if Form.INT16X8 in spec.forms)
INT4_OPS = sorted(name for name, spec in OPS.items() if spec.int4_weights)
FLOAT_OPS = sorted(
    name
    for name, spec in STATELESS.items()
    if spec.ref_f32 is not None and (spec.traits.in_tflite or name == "pointwise")
)


def test_every_op_has_cases():
    assert set(CASES) == set(OPS)


def equals_the_device(op, build):
    """As many random cases as the op's set asks for, bit for bit.

    A few may be refused: a narrow random output can ask for a multiplier that no kernel takes.
    """
    refused, cases = 0, CNN_CASES if op in CNN else OTHER_CASES
    for seed in range(cases):
        rng = rng_of(op, seed)
        built = build(CASES[op](rng), rng)
        try:
            found = evaluate(built.graph, built.feeds)["out"]
        except VerifyError:
            refused += 1
            continue
        expected = run_peer(op, built.graph, list(built.feeds.values()))
        if op == "div":
            # TFLM shifts quotients below a step by more than 31 bits; test_corners has these.
            small = np.abs(real_quotient(built) - built.graph.value("out").q.zero_point) < 1
            expected = np.where(small, found, expected)
        np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}")
    assert refused <= cases // 50


@pytest.mark.slow
@pytest.mark.parametrize("op", INT8_OPS)
def test_int8_equals_the_device(op):
    equals_the_device(op, build_s8)


@pytest.mark.slow
@pytest.mark.parametrize("op", INT16_OPS)
def test_int16x8_equals_the_device(op):
    equals_the_device(op, build_s16)


@pytest.mark.slow
@pytest.mark.parametrize("op", INT4_OPS)
def test_int4_weights_equal_the_device(op):
    equals_the_device(op, partial(build_s8, weights=DType.INT4))


@pytest.mark.parametrize("seed", range(FLOAT_CASES))
@pytest.mark.parametrize("op", FLOAT_OPS)
def test_float_agrees(op, seed):
    rng = rng_of(op, seed)
    built = build_f32(CASES[op](rng), rng)
    found = evaluate(built.graph, built.feeds)["out"]
    expected = run_peer(op, built.graph, list(built.feeds.values()))
    assert_close(op, found, expected)
