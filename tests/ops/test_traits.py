"""Traits hold: each is shown by the op's reference, or by what it is about."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from tests.ops.build import build_s8
from tests.ops.cases import CASES, rng_of
from tests.ops.facts import FACTS, cases_of, holds, shows_traits
from tinyrt.backends.c.choice import find
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.convert.passes.to_nhwc import turned_attrs
from tinyrt.ir import Node
from tinyrt.ops import OPS, ops_where, prepared
from tinyrt.ops.add import AddS8
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mul import MulS8
from tinyrt.ops.shared.activation import BOUNDS, with_activation
from tinyrt.ops.shared.spec import Quant

SHOWN = sorted(filter(shows_traits, OPS))
FUNCTIONS = ops_where(lambda spec: spec.traits.elementwise and not spec.traits.truth) - {
    "pointwise"  # what is true of it depends on its steps
}

UNCLAIMED = {
    "elementwise": {"batch_norm"},
    "channelwise": {
        *("ceil", "cos", "div", "erf", "fake_quantize", "floor", "floor_div"),
        *("floor_mod", "log", "pow", "round", "rsqrt", "sign", "sin", "sqrt"),
    },
    "homogeneous": {"abs", "floor_mod", "leaky_relu", "maximum", "minimum", "neg"},
    "nonnegative": {
        *("abs", "exp", "pow", "relu_0_to_1", "rsqrt", "sqrt", "square", "squared_difference"),
    },
    "keeps_positive": set(),
    "selects": {"maximum", "minimum", "relu"},
}
"""Trait -> element-wise functions that have it, too: nothing has been made of that yet. Stating it
changes what pruning, equalisation or passes do."""


@pytest.mark.parametrize("trait", FACTS)
def test_every_trait_is_shown_by_the_reference(trait):
    stated = {op for op in SHOWN if getattr(OPS[op].traits, trait)}
    assert stated
    assert {op for op in stated if not holds(trait, op)} == set()


@pytest.mark.parametrize("trait", FACTS)
def test_no_element_wise_function_lacks_a_trait(trait):
    asked = SHOWN if trait == "elementwise" else FUNCTIONS & set(SHOWN)
    shown = {op for op in asked if holds(trait, op)}
    stated = {op for op in asked if getattr(OPS[op].traits, trait)}
    assert shown - stated == UNCLAIMED[trait]


@pytest.mark.parametrize("op", sorted(ops_where(lambda spec: spec.traits.dims is not None)))
def test_attributes_that_speak_of_dimensions_turn_with_them(op):
    """f(transpose(x)) = transpose(f(x)), which every op keeps whose rank stays."""
    spec, turned = OPS[op], 0
    for attrs, inputs in cases_of(op):
        y = spec.ref_f32(attrs, *inputs)
        axes = getattr(attrs, "axes", ())
        if any(x.ndim != y.ndim for x in inputs) or y.ndim < 2 or any(a < 0 for a in axes):
            continue
        if getattr(attrs, "axis", 0) < 0:
            continue
        perm = tuple(int(i) for i in np.random.default_rng(turned).permutation(y.ndim))
        new = turned_attrs(Node(op, op, (), (), attrs), perm)
        found = spec.ref_f32(new, *(x.transpose(perm) for x in inputs))
        np.testing.assert_allclose(found, y.transpose(perm), rtol=1e-5, atol=1e-4)
        turned += 1
    assert turned > 1


def test_fused_activations_clamp_as_the_ops_they_are_called_after():
    x = np.linspace(-9, 9, 37, dtype=np.float32)
    for spec in OPS.values():
        if spec.traits.activation:
            clamped = np.clip(x, *BOUNDS[spec.traits.activation])
            np.testing.assert_array_equal(spec.ref_f32(spec.attrs(), x), clamped)
    assert {spec.traits.activation for spec in OPS.values()} == {"", *BOUNDS} - {"NONE"}


def test_what_fuses_has_a_place_for_the_activation():
    able = ops_where(lambda spec: "activation" in {f.name for f in fields(spec.attrs)})
    fusing = ops_where(lambda spec: spec.traits.fuses)
    # Runtimes clamp no transposed convolution; with the others, nothing has been gained.
    assert able - fusing == {"concatenation", "div", "svdf", "transpose_conv"}
    assert fusing <= able


def test_an_activation_takes_the_place_of_the_fused_one():
    conv = Node("conv2d", "y", ("x", "w"), ("y",), Conv2dAttrs((2, 2), activation="RELU6"))
    assert with_activation(conv, "NONE") == Conv2dAttrs((2, 2))
    with pytest.raises(TypeError, match="conv2d 'y' has None"):
        with_activation(Node("conv2d", "y", ("x", "w"), ("y",)), "NONE")


def test_layers_with_a_bias_in_files_have_weights():
    weighted = ops_where(lambda spec: spec.quant is Quant.WEIGHTED)
    assert weighted - ops_where(lambda spec: spec.traits.biased) == {"transpose_conv"}


def test_layers_whose_zeros_may_be_left_out_have_kernels_for_that():
    able = set()
    for op in ops_where(lambda spec: spec.quant is Quant.WEIGHTED):
        for seed in range(8):
            rng = rng_of(op, seed)
            (node,) = build_s8(CASES[op](rng), rng).graph.bound()
            kernel = find(node, Target(InstructionSet.DSP))
            if kernel is not None and kernel.stored is not None:
                able.add(op)
    assert able == ops_where(lambda spec: spec.traits.skips_zeros)


def test_a_prepared_record_is_of_the_type_that_is_asked_for():
    rng = rng_of("add", 0)
    node = build_s8(CASES["add"](rng), rng).graph.bind(0)
    assert prepared(node, AddS8) is OPS["add"].prepared(node)
    with pytest.raises(TypeError, match="add prepares AddS8, not MulS8"):
        prepared(node, MulS8)
