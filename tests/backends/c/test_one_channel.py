"""Depthwise convolutions of one input channel, as convolutions."""

import numpy as np
import pytest

from tests.c.packed_cases import int4_weights
from tests.ops.build import Case, build_s8
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.one_channel import along_rows, as_convolution, is_rather_convolution
from tinyrt.ops import OPS, prepared
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.windowed import ConvolutionS8

DSP, MVE, AVX2 = InstructionSet.DSP, InstructionSet.MVE, InstructionSet.AVX2


def built(channels=1, filters=8, kernel=(5, 4), images=1, build=build_s8, seed=0, **attrs):
    c_out = channels * filters
    shapes = ((images, 12, 9, channels), (1, *kernel, c_out), (c_out,))
    attrs = DepthwiseConv2dAttrs(**{"stride": (2, 1), "activation": "RELU", **attrs})
    case = Case("depthwise_conv2d", attrs, shapes, frozenset({1, 2}))
    return build(case, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("build", [build_s8, int4_weights], ids=["s8", "s4"])
def test_the_convolution_answers_the_same(build, seed):
    made = built(build=build, seed=seed)
    node = made.graph.bind(0)
    one = as_convolution(node)
    assert (one.index, one.name, one.outputs) == (node.index, node.name, node.outputs)
    assert as_convolution(node) is one
    arrays = [made.feeds["in0"], one.input(1).data, one.input(2).data]
    form = OPS["conv2d"].forms[Form.INT8]
    own = OPS["depthwise_conv2d"].forms[Form.INT8]
    expected = own.ref(own.prepare(node), made.feeds["in0"], *(v.data for v in node.inputs[1:]))
    np.testing.assert_array_equal(form.ref(form.prepare(one), *arrays), expected)


def window(node):
    return prepared(node, ConvolutionS8).window


@pytest.mark.parametrize(
    ("options", "packed", "vectors"),
    [
        ({}, True, True),
        ({"filters": 1}, False, False),
        ({"channels": 2}, False, False),
        ({"kernel": (2, 2), "filters": 2}, False, True),
        ({"dilation": (2, 2), "stride": (1, 1)}, False, False),
        ({"dilation": (1, 2), "stride": (1, 1)}, False, False),
        ({"dilation": (2, 1), "stride": (1, 1)}, False, True),
        ({"kernel": (2, 2), "padding": "SAME"}, True, False),
    ],
)
def test_it_is_one_where_the_formulas_say_that_it_is_faster(options, packed, vectors):
    node = built(**options).graph.bind(0)
    assert is_rather_convolution(node, window(node), DSP) is packed
    assert is_rather_convolution(node, along_rows(window(node)), MVE) is vectors
    assert not is_rather_convolution(node, window(node), AVX2)


def test_images_do_not_change_which_is_faster():
    """Among kernels of both kinds some are less than twice as fast, either way."""
    sizes = [(filters, (k, k)) for filters in (2, 4, 8) for k in (1, 2, 3, 4)]
    found = []
    for images in (1, 3):
        nodes = (built(1, filters, kernel, images).graph.bind(0) for filters, kernel in sizes)
        found.append([is_rather_convolution(node, window(node), DSP) for node in nodes])
    assert found[0] == found[1]
    assert len(set(found[0])) == 2
