"""What a mix costs: products, and one for each result, by bits; bytes of its weights."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import QuantConfig, Scheme
from tinyrt.quantize.mixed.assign import bit_operations, weight_bytes
from tinyrt.quantize.schemes import lay_out

PRODUCTS, RESULTS = 6 * 6 * 4 * 27, 6 * 6 * 4


@pytest.mark.parametrize(
    ("scheme", "bits"),
    [
        (Scheme.INT4, 4 * 8),
        (Scheme.INT8, 8 * 8),
        (Scheme.INT16X8, 8 * 16),
        (Scheme.WEIGHTS_INT8, 8 * 32),
    ],
)
def test_each_multiplication_costs_its_bits(scheme, bits):
    b = Builder((1, 6, 6, 3))
    w = b.constant(np.ones((4, 3, 3, 3), np.float32))
    graph = b.graph(b.op("conv2d", ("x", w), Conv2dAttrs()))
    layout = lay_out(graph, QuantConfig(scheme=scheme))
    assert bit_operations(layout) == (PRODUCTS + RESULTS) * bits


@pytest.mark.parametrize(
    ("scheme", "count"),
    [
        (Scheme.INT4, 8),
        (Scheme.INT8, 15),
        (Scheme.INT16X8, 15),
        (Scheme.WEIGHTS_FLOAT16, 30),
        (Scheme.FLOAT, 60),
    ],
)
def test_fifteen_weights_take_whole_bytes(scheme, count):
    b = Builder((1, 5))
    w = b.constant(np.ones((3, 5), np.float32))
    (node,) = b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs())).bound()
    assert weight_bytes(node, scheme) == count
