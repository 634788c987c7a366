"""Pools of every small size, stride, padding and rounding of the output's size."""

from itertools import product

import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches
from tests.sampling import sampled
from tinyrt.convert.onnx.reader import read_onnx

CHANNELS = 11
"""More than any height or width, so that layouts can be told apart."""

SETTINGS = [
    {
        "kernel_shape": [kernel, kernel],
        "strides": [stride, stride],
        "pads": [before, before, after, after],
        "ceil_mode": ceil,
    }
    for kernel, stride, before, after, ceil in product((1, 2, 3), (1, 2, 3), (0, 1), (0, 1), (0, 1))
    if max(before, after) < kernel
]


EVERY = sampled(5, 1)
"""Sizes share most of the settings out, or each takes them all."""


@pytest.mark.parametrize("size", [4, 5, 6])
@pytest.mark.parametrize(
    "op",
    ["MaxPool", "MaxPool of nothing below 0", "AveragePool", "AveragePool of the padding, too"],
)
def test_they_equal_onnxruntimes(op, size, tmp_path):
    for settings in SETTINGS[size % EVERY :: EVERY]:
        m = OnnxModel(19)
        x = m.input(1, CHANNELS, size, size + 1)
        x = m.op("Relu", x) if "nothing below" in op else x
        counted = {"count_include_pad": 1} if "padding" in op else {}
        y = m.op(op.split()[0], x, **settings, **counted)
        try:
            assert_matches(m.save(tmp_path, y))
        except Exception as error:
            raise AssertionError(f"{settings}") from error


PARTS = {
    "both above 0": (["Relu", "Sigmoid"], True),
    "the first one below 0": (["Neg", "Relu"], False),
    "the second one below 0": (["Relu", "Neg"], False),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_border_of_zeros_is_where_no_part_is_below(name, tmp_path):
    """Zeros win over what is below, and padding does not."""
    ops, bordered = PARTS[name]
    m = OnnxModel(19)
    x = m.input(1, CHANNELS, 5, 6)
    x = m.op("Concat", *(m.op(op, m.op("Abs", x)) for op in ops), axis=1)
    path = m.save(tmp_path, m.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], pads=[1] * 4))
    assert ("pad" in {node.op for node in read_onnx(path).nodes}) is bordered
    assert_matches(path)


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize("mode", ["VALID", "SAME_UPPER", "SAME_LOWER", "NOTSET"])
def test_pads_count_where_no_other_padding_is_named(counted, mode, tmp_path):
    m = OnnxModel(19)
    attrs = {"kernel_shape": [2, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "auto_pad": mode}
    y = m.op("AveragePool", m.input(1, CHANNELS, 5, 6), **attrs, count_include_pad=counted)
    assert_matches(m.save(tmp_path, y))
