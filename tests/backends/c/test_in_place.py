"""Ops that go element by element write where they read, whatever they compute with."""

import numpy as np
import pytest

from tests.memory.targets import DSP, MVE, SCALAR
from tests.ops.build import Case, build_f32, build_s8, build_s16
from tinyrt.memory import plan_memory
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form

SIZE = 24
BUILDS = {
    Form.FLOAT: (build_f32, 4 * SIZE),
    Form.INT8: (build_s8, SIZE),
    Form.INT16X8: (build_s16, 2 * SIZE),
}
OTHER_ELEMENTS = {
    *("cast", "dequantize", "quantize"),
    *("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"),
    *("logical_and", "logical_not", "logical_or", "select_v2"),
}
"""Ops whose inputs and outputs have elements of several types."""
ON_THE_HOST = {"fake_quantize", "pointwise"}
"""Ops that no device runs as such."""

OPS_AND_FORMS = [
    (op, form)
    for op, spec in OPS.items()
    if spec.traits.elementwise and op not in OTHER_ELEMENTS | ON_THE_HOST
    for form in BUILDS
    if form is Form.FLOAT or form in spec.forms
]


@pytest.mark.parametrize("kernels", [SCALAR, DSP, MVE], ids=["scalar", "dsp", "mve"])
@pytest.mark.parametrize(("op", "form"), OPS_AND_FORMS)
def test_outputs_lie_on_an_input(op, form, kernels):
    build, nbytes = BUILDS[form]
    inputs = OPS[op].arity[0]
    case = Case(op, OPS[op].attrs(), ((1, SIZE),) * inputs)
    graph = build(case, np.random.default_rng(0)).graph
    activations = sum(not v.is_constant for v in graph.values.values()) - 1
    assert plan_memory(graph, kernels).arena_bytes == activations * nbytes
