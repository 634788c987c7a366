"""How many multiply-accumulates an op takes: counted by hand, every dimension another number."""

import numpy as np
import pytest

from tests.ops.build import Case, build_f32
from tinyrt.ops import OPS
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.svdf import SvdfAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs

LSTM = "unidirectional_sequence_lstm"


def lstm_shapes(x, units, k):
    return (x, *((units, k),) * 4, *((units, units),) * 4, *((units,),) * 4, *((2, units),) * 2)


@pytest.mark.parametrize(
    ("op", "attrs", "shapes", "macs"),
    [
        # Outputs (2, 5, 7, 4), each of 3 x 2 pixels of 6 channels.
        ("conv2d", Conv2dAttrs(), ((2, 5, 7, 6), (4, 3, 2, 6)), 280 * 36),
        # Outputs (2, 2, 2, 4).
        (
            "conv2d",
            Conv2dAttrs(stride=(2, 3), padding="VALID"),
            ((2, 5, 7, 6), (4, 3, 2, 6)),
            32 * 36,
        ),
        # Outputs (2, 5, 7, 12), each of 3 x 4 pixels of one channel.
        ("depthwise_conv2d", DepthwiseConv2dAttrs(), ((2, 5, 7, 6), (1, 3, 4, 12)), 840 * 12),
        # Each of 2 x 5 x 7 pixels of 6 channels goes to 3 x 2 pixels of 4 channels.
        (
            "transpose_conv",
            TransposeConvAttrs((10, 14), (2, 2)),
            ((2, 5, 7, 6), (4, 3, 2, 6)),
            420 * 24,
        ),
        ("fully_connected", FullyConnectedAttrs(), ((3, 7), (5, 7)), 15 * 7),
        ("batch_matmul", BatchMatmulAttrs(), ((2, 3, 4), (2, 4, 5)), 30 * 4),
        ("batch_matmul", BatchMatmulAttrs(adj_x=True), ((2, 4, 3), (2, 4, 5)), 30 * 4),
        ("batch_matmul", BatchMatmulAttrs(adj_y=True), ((2, 3, 4), (2, 5, 4)), 30 * 4),
        # Two samples; 6 filters, each of 7 inputs and 4 steps of time.
        ("svdf", SvdfAttrs(rank=2), ((2, 7), (6, 7), (6, 4), (3,), (2, 24)), 2 * 6 * 11),
        # Two samples, 3 steps; 4 gates of 5 units, each of 7 inputs and 5 states.
        (LSTM, LstmAttrs(), lstm_shapes((2, 3, 7), 5, 7), 6 * 20 * 12),
        (LSTM, LstmAttrs(time_major=True), lstm_shapes((3, 2, 7), 5, 7), 6 * 20 * 12),
        ("tanh", NoAttrs(), ((2, 5),), 0),
    ],
)
def test_products_are_counted(op, attrs, shapes, macs):
    case = Case(op, attrs, shapes, constant=frozenset())
    (node,) = build_f32(case, np.random.default_rng(0)).graph.bound()
    assert OPS[op].macs(node) == macs
