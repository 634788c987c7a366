"""Cases of ONNX ops whose windows move over an image, and what registers cases."""

from __future__ import annotations

from collections.abc import Callable

from tests.convert.onnx_build import OnnxModel

Case = Callable[[OnnxModel], str]

CASES: dict[str, tuple[Case, tuple[int, ...]]] = {}


def case(*opsets: int) -> Callable[[Case], Case]:
    def register(build: Case) -> Case:
        CASES[build.__name__] = (build, opsets)
        return build

    return register


@case(7, 11, 22)
def conv_same(m):
    return m.op("Conv", m.input(1, 3, 8, 6), m.weights(5, 3, 3, 3), m.weights(5), pads=[1] * 4)


@case(11)
def conv_asymmetric_pads_stride_dilation(m):
    x, w = m.input(1, 3, 11, 9), m.weights(4, 3, 3, 2)
    return m.op("Conv", x, w, pads=[2, 0, 1, 1], strides=[2, 3], dilations=[2, 1])


@case(11)
def conv_groups(m):
    return m.op("Conv", m.input(1, 4, 7, 6), m.weights(6, 2, 3, 3), m.weights(6), group=2)


@case(11)
def conv_depthwise(m):
    return m.op("Conv", m.input(2, 4, 7, 6), m.weights(4, 1, 3, 3), m.weights(4), group=4)


@case(11)
def conv_depthwise_multiplier(m):
    return m.op("Conv", m.input(1, 3, 7, 6), m.weights(6, 1, 3, 3), group=3, pads=[1, 1, 1, 1])


@case(11)
def conv_auto_pad_upper(m):
    x, w = m.input(1, 3, 8, 7), m.weights(5, 3, 3, 4)
    return m.op("Conv", x, w, auto_pad="SAME_UPPER", strides=[2, 2])


@case(11)
def conv_auto_pad_lower(m):
    x, w = m.input(1, 3, 8, 7), m.weights(5, 3, 3, 4)
    return m.op("Conv", x, w, auto_pad="SAME_LOWER", strides=[2, 2])


@case(11)
def conv_auto_pad_valid(m):
    return m.op("Conv", m.input(1, 3, 8, 7), m.weights(5, 3, 3, 4), auto_pad="VALID")


@case(11)
def conv_1d(m):
    x, w = m.input(1, 3, 17), m.weights(5, 3, 4)
    return m.op("Conv", x, w, m.weights(5), pads=[2, 1], strides=[2], dilations=[2])


@case(11)
def conv_1d_depthwise(m):
    return m.op("Conv", m.input(1, 3, 17), m.weights(3, 1, 4), group=3)


@case(7, 8, 10, 12, 22)
def max_pool(m):
    return m.op("MaxPool", m.input(1, 3, 9, 10), kernel_shape=[3, 2], strides=[2, 2])


@case(12)
def max_pool_same(m):
    x = m.input(1, 3, 8, 7)
    return m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")


@case(12)
def max_pool_same_lower(m):
    x = m.input(1, 3, 8, 7)
    return m.op("MaxPool", x, kernel_shape=[3, 2], strides=[2, 1], auto_pad="SAME_LOWER")


@case(12)
def max_pool_centred(m):
    x = m.input(1, 3, 8, 6)
    return m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


@case(12)
def max_pool_after_relu(m):
    x = m.op("Relu", m.input(1, 3, 8, 6))
    return m.op("MaxPool", x, kernel_shape=[2, 4], strides=[2, 2], pads=[1, 2, 0, 1])


@case(12, 22)
def max_pool_ceil(m):
    x = m.input(1, 3, 8, 10)
    return m.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)


@case(12)
def max_pool_1d(m):
    return m.op("MaxPool", m.input(1, 3, 16), kernel_shape=[2], strides=[2])


@case(7, 11, 19, 22)
def average_pool(m):
    return m.op("AveragePool", m.input(1, 3, 8, 7), kernel_shape=[3, 2], strides=[2, 1])


@case(11, 19)
def average_pool_same(m):
    x = m.input(1, 3, 8, 7)
    return m.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")


@case(11, 19)
def average_pool_same_lower(m):
    x = m.input(1, 3, 8, 7)
    return m.op("AveragePool", x, kernel_shape=[3, 2], strides=[2, 1], auto_pad="SAME_LOWER")


@case(7, 11, 19)
def average_pool_counts_pads(m):
    x, pads = m.input(1, 3, 8, 7), [1, 0, 1, 1]
    return m.op("AveragePool", x, kernel_shape=[3, 3], pads=pads, count_include_pad=1)


@case(11, 19)
def average_pool_centred(m):
    x = m.input(1, 3, 8, 6)
    return m.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


@case(19)
def average_pool_ceil(m):
    x = m.input(1, 3, 8, 10)
    return m.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)


@case(7, 22)
def global_average_pool(m):
    return m.op("GlobalAveragePool", m.input(1, 3, 8, 7))


@case(7, 22)
def global_max_pool(m):
    return m.op("GlobalMaxPool", m.input(1, 3, 8, 7))
