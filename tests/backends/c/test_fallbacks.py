"""Layers beyond what a special kernel computes take the general one, and the same answers."""

from itertools import product

import numpy as np
import pytest

from tests.backends.c.test_packing import DSP, SCALAR, requant
from tests.backends.c.test_zeros import block_of
from tests.ops.quantised import f32, graph_of, s8, weights
from tinyrt.backends.c.blocks import form_cost
from tinyrt.backends.c.blocks.form_cost import Sizes
from tinyrt.backends.c.blocks.nibbles import nibble_block
from tinyrt.backends.c.blocks.zeros import MAX_RUN, costs
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.mve.cost import element_cost
from tinyrt.backends.c.planning import kernels_of
from tinyrt.backends.c.weights import Weights
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.evaluate import evaluate

X = np.arange(-128, 128, dtype=np.int8)


@pytest.mark.parametrize(
    ("scale", "function"),
    [(0.1, "tinyrt_times_s8"), (2.0**-26, "tinyrt_mul_s8"), (5000.0, "tinyrt_mul_s8")],
)
def test_products_of_far_scales_take_the_general_kernel(scale, function):
    """And saturate, or vanish, as the reference's do."""
    graph = graph_of("mul", MulAttrs(), [s8(1, 256, scale=scale), s8(1, 256)], [s8(1, 256)])
    assert kernels_of(InstructionSet.DSP).kernel(graph.bind(0)).name == function
    feeds = {"a": X[None], "b": X[None, ::-1].copy()}
    interpreter = Interpreter.from_graph(graph, backend="native")
    interpreter.allocate_tensors()
    for details in interpreter.get_input_details():
        interpreter.set_tensor(details["index"], feeds[details["name"]])
    interpreter.invoke()
    (port,) = interpreter.get_output_details()
    np.testing.assert_array_equal(
        interpreter.get_tensor(port["index"]), evaluate(graph, feeds)["y"]
    )


def test_a_cast_to_the_same_type_is_a_copy():
    graph = graph_of("cast", CastAttrs(DType.FLOAT32), [f32(2, 3)], [f32(2, 3)])
    names = [kernels_of(isa).kernel(graph.bind(0)).name for isa in (DSP, InstructionSet.AVX2)]
    assert names == ["tinyrt_reshape"] * 2


@pytest.mark.parametrize("isa", [SCALAR, DSP])
@pytest.mark.parametrize(
    ("shape", "weight", "packed"),
    [((8, 40), 7, True), ((1, 3000), 1, False), ((4, 2400), 7, False)],
    ids=["fits", "mostly padding", "sums too large"],
)
def test_narrow_weights_that_do_not_pack_take_the_kernels_of_bytes(isa, shape, weight, packed):
    w = np.full(shape, weight, np.int8)
    block = nibble_block(w, None, 0, requant(shape[0]), isa)
    assert (block is not None) is packed


@pytest.mark.parametrize(("taps", "has_runs"), [(MAX_RUN, True), (MAX_RUN + 1, False)])
def test_long_channels_have_no_runs_of_zeros(taps, has_runs):
    w = np.zeros((4, taps), np.int8)
    w[:, :4] = 1
    forms = costs(block_of(w, DSP), Sizes(10, taps), form_cost.DSP, matrix=False)
    assert (Weights.BLOCKS in forms) is has_runs


LAYERS = {
    "conv2d": (Conv2dAttrs(), (8, 3, 3, 8)),
    "depthwise_conv2d": (DepthwiseConv2dAttrs(), (1, 3, 3, 8)),
}


@pytest.mark.parametrize(("op", "images"), [*product(LAYERS, (1, 2))])
def test_vectors_price_several_images_by_their_elements(op, images):
    attrs, shape = LAYERS[op]
    x = s8(images, 6, 6, 8)
    node = graph_of(op, attrs, [x, weights(*shape)], [x]).bind(0)
    cost = kernels_of(InstructionSet.MVE).cost(node)
    assert (cost == element_cost(node)) is (images > 1)
    assert cost > 0
