"""What a mix costs: products, and one for each result, by bits of weights and activations."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.quantize import QuantConfig, Scheme
from tinyrt.quantize.mixed.assign import bit_operations
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
