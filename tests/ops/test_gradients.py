"""Every vector-Jacobian product against central differences in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.build import differentiable_ops, real_inputs
from tests.ops.cases import CASES, rng_of
from tests.sampling import sampled
from tinyrt.floatmath.function import no_gradient
from tinyrt.ops import OPS
from tinyrt.ops.shared.activation import BOUNDS

STEP = 1e-6
CASES_PER_OP = sampled(4, 8)
DIFFERENTIABLE = differentiable_ops()
TRUE_OR_FALSE = {name for name, spec in OPS.items() if spec.vjp is no_gradient}
"""Ops that give truth values: part of what is trained, and no gradient passes."""


def gradients_of(spec, attrs, inputs, output, weighting):
    return [g() if callable(g) else g for g in spec.vjp(attrs, inputs, output, weighting)]


def first_output(spec, attrs, *inputs):
    """What the gradient is of; by the reference, and not by a faster form for training."""
    outputs = spec.ref_f32(attrs, *inputs)
    return outputs[0] if isinstance(outputs, tuple) else outputs


DISCRETE = {
    "arg_max",
    "arg_min",
    "cast",
    "fake_quantize",
    "detection_postprocess",
    "topk_v2",
}


ONLY_READ = {
    *(
        "dynamic_update_slice",
        "pointwise",
        "svdf",
    ),
    *(op for op in OPS if op.startswith("signal_")),
}
"""Ops of files, and of models being quantised: networks that are trained here have none of them."""


def test_every_float_op_has_a_gradient_unless_it_speaks_of_truth_or_places():
    floats = {name for name, spec in OPS.items() if spec.ref_f32 is not None}
    assert floats - set(DIFFERENTIABLE) - TRUE_OR_FALSE == DISCRETE | ONLY_READ


def test_truth_values_have_no_gradient():
    x = np.zeros(2)
    for op in sorted(TRUE_OR_FALSE):
        assert OPS[op].vjp(None, [x, x], x > 0, x) == (None, None)


@pytest.mark.parametrize("seed", range(CASES_PER_OP))
@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_gradient_equals_finite_differences(op, seed):
    """Along a random direction of each input, for a random weighting of the outputs."""
    rng = rng_of(op, seed)
    spec, case = OPS[op], CASES[op](rng)
    inputs = real_inputs(case, rng)
    output = first_output(spec, case.attrs, *inputs)
    weighting = rng.normal(size=output.shape)
    gradients = gradients_of(spec, case.attrs, inputs, output, weighting)
    assert len(gradients) == len(inputs)
    for i, gradient in enumerate(gradients):
        if inputs[i].dtype.kind != "f":
            assert gradient is None
            continue
        direction = rng.normal(size=inputs[i].shape)

        def weighted(step, i=i, direction=direction):
            moved = [x + step * direction if j == i else x for j, x in enumerate(inputs)]
            return float((first_output(spec, case.attrs, *moved) * weighting).sum())

        slope = (weighted(STEP) - weighted(-STEP)) / (2 * STEP)
        assert gradient.shape == inputs[i].shape
        assert float((gradient * direction).sum()) == pytest.approx(slope, rel=1e-5, abs=1e-6)


FUSING = [
    op
    for op in DIFFERENTIABLE
    if hasattr(CASES[op](rng_of(op, 0)).attrs, "activation") and op != "concatenation"
]
"""Ops that an activation may be fused into. No runtime fuses one into concatenation."""


@pytest.mark.parametrize("activation", [a for a in BOUNDS if a != "NONE"])
@pytest.mark.parametrize("op", FUSING)
def test_no_gradient_passes_where_a_fused_activation_clamps(op, activation):
    clamped = 0
    for seed in range(4):  # some of them without a bias
        rng = rng_of(op, seed)
        spec, case = OPS[op], CASES[op](rng)
        plain, fused = (replace(case.attrs, activation=name) for name in ("NONE", activation))
        inputs = [8 * (x - 1) if i == 0 else x for i, x in enumerate(real_inputs(case, rng))]
        linear, output = (first_output(spec, attrs, *inputs) for attrs in (plain, fused))
        arrived = rng.normal(size=output.shape)
        passed = arrived * (linear == output)
        clamped += np.count_nonzero(linear != output)
        found = gradients_of(spec, fused, inputs, output, arrived)
        expected = gradients_of(spec, plain, inputs, linear, passed)
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-9, atol=1e-9)
    assert clamped


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if OPS[op].train_f32])
def test_what_training_computes_is_the_first_output(op):
    for seed in range(CASES_PER_OP):
        rng = rng_of(op, seed)
        spec, case = OPS[op], CASES[op](rng)
        inputs = [np.asarray(x, np.float32) for x in real_inputs(case, rng)]
        expected = first_output(spec, case.attrs, *inputs)
        np.testing.assert_allclose(spec.train_f32(case.attrs, *inputs), expected, atol=1e-5)


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_gradient_stays_float32(op):
    rng = rng_of(op, 0)
    spec, case = OPS[op], CASES[op](rng)
    drawn = real_inputs(case, rng)
    inputs = [np.abs(a).astype(np.float32 if a.dtype.kind == "f" else a.dtype) for a in drawn]
    output = first_output(spec, case.attrs, *inputs)
    gradients = gradients_of(spec, case.attrs, inputs, output, np.ones_like(output))
    assert {output.dtype, *(g.dtype for g in gradients if g is not None)} == {np.dtype(np.float32)}
