"""Quantisation parameters that break an op's rules are refused, whichever tensor has them."""

from dataclasses import replace

import pytest

from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tinyrt.errors import VerifyError
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form, Quant

RESCALED = {
    ("relu6", Form.INT8),
    ("relu6", Form.INT16X8),
    ("resize_bilinear", Form.INT8),
    ("resize_nearest_neighbor", Form.INT8),
    ("resize_nearest_neighbor", Form.INT16X8),
}
"""Forms that move data between scales, although their kind of op keeps them: one rescales, the
others copy integers whatever these stand for, as in TFLite's runtimes."""

BUILD = {Form.INT8: build_s8, Form.INT16X8: build_s16}


def forms_of(*kinds):
    """Ops of these kinds, with each of their integer forms."""
    return [(op, form) for op in sorted(CASES) if OPS[op].quant in kinds for form in OPS[op].forms]


def node_of(op, form, seed=0):
    """The node of a random case."""
    rng = rng_of(op, seed)
    return BUILD[form](CASES[op](rng), rng).graph.bind(0)


def prepare(node):
    """The node's record, worked out anew."""
    return OPS[node.op].form(node).prepare(node)


def refuses(node):
    """Whether the node's parameters are refused."""
    try:
        prepare(node)
    except VerifyError:
        return True
    return False


def with_other_scale(value):
    return replace(value, q=replace(value.q, scales=tuple(2 * s for s in value.q.scales)))


def with_other_zero_point(value):
    zero_point = value.q.zero_point
    return replace(value, q=replace(value.q, zero_point=zero_point + (1 if zero_point < 0 else -1)))


def changed_nodes(op, form, change):
    """The node with another scale, or zero point, of one tensor, for each that has them."""
    node = node_of(op, form)
    prepare(node)  # as it is, it passes
    for i, value in enumerate(node.inputs):
        if value is not None and value.q is not None:
            inputs = (*node.inputs[:i], change(value), *node.inputs[i + 1 :])
            yield f"input {i}", replace(node, inputs=inputs)
    yield "output", replace(node, outputs=(change(node.output),))


@pytest.mark.parametrize(("op", "form"), forms_of(Quant.SAME_AS_INPUT))
@pytest.mark.parametrize("change", [with_other_scale, with_other_zero_point])
def test_ops_that_move_data_keep_scale_and_zero_point(op, form, change):
    for where, node in changed_nodes(op, form, change):
        rescales = (op, form) in RESCALED and (form is Form.INT8 or change is with_other_scale)
        assert refuses(node) != rescales, where


@pytest.mark.parametrize(("op", "form"), forms_of(Quant.FIXED))
def test_prescribed_parameters_are_checked(op, form):
    node = node_of(op, form)
    with pytest.raises(VerifyError, match="which the op prescribes"):
        prepare(replace(node, outputs=(with_other_scale(node.output),)))


@pytest.mark.parametrize(
    ("op", "form"), forms_of(Quant.SAME_AS_INPUT, Quant.OWN_RANGE, Quant.WEIGHTED, Quant.FIXED)
)
def test_outputs_have_the_inputs_dtype(op, form):
    node = node_of(op, form)
    if node.op in ("cast", "quantize", "dequantize"):
        return
    other = DType.INT16 if node.output.dtype is DType.INT8 else DType.INT8
    value = replace(node.output, dtype=other, q=replace(node.output.q, zero_point=0))
    with pytest.raises(VerifyError):
        prepare(replace(node, outputs=(value,)))
