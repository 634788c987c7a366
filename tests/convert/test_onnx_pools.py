"""Pools of every small size, stride, padding and rounding of the output's size."""

from itertools import product

import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches
from tests.sampling import sampled

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


EVERY = sampled(3, 1)
"""Sizes share the settings out, or each takes them all."""


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
