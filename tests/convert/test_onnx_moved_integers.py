"""Ops that move integers of a quantised ONNX model stay on integers, and move them alike."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.convert.test_onnx_quantised import answers_on_integers, saved, scalar
from tinyrt.convert.onnx.quantized import MOVES

MOVED = {
    "Concat": lambda m, x: m.op("Concat", x, x, axis=1),
    "DepthToSpace": lambda m, x: m.op("DepthToSpace", x, blocksize=2),
    "Expand": lambda m, x: m.op("Expand", x, m.ints(3, 4, 6, 6)),
    "Flatten": lambda m, x: m.op("Flatten", x),
    "Gather": lambda m, x: m.op("Gather", x, m.ints(2, 0), axis=1),
    "Identity": lambda m, x: m.op("Identity", x),
    "MaxPool": lambda m, x: m.op("MaxPool", x, kernel_shape=[2, 2]),
    "Pad": lambda m, x: m.op("Pad", x, m.ints(0, 0, 1, 1, 0, 0, 2, 1), mode="reflect"),
    "ReduceMax": lambda m, x: m.op("ReduceMax", x, axes=[2]),
    "ReduceMin": lambda m, x: m.op("ReduceMin", x, axes=[3]),
    "Reshape": lambda m, x: m.op("Reshape", x, m.ints(1, 12, 12)),
    "Resize": lambda m, x: m.op("Resize", x, "", "", m.ints(1, 4, 12, 12), mode="nearest"),
    "Slice": lambda m, x: m.op("Slice", x, m.ints(1), m.ints(3), m.ints(1)),
    "SpaceToDepth": lambda m, x: m.op("SpaceToDepth", x, blocksize=2),
    "Split": lambda m, x: m.op("Split", x, outputs=2, axis=1),
    "Squeeze": lambda m, x: m.op("Squeeze", x, m.ints(0)),
    "Tile": lambda m, x: m.op("Tile", x, m.ints(1, 2, 1, 1)),
    "Transpose": lambda m, x: m.op("Transpose", x, perm=[0, 2, 3, 1]),
    "Unsqueeze": lambda m, x: m.op("Unsqueeze", x, m.ints(1)),
    "Upsample": lambda m, x: m.op("Upsample", x, m.const([1, 1, 2, 2]), mode="nearest"),
}


def test_each_op_that_moves_integers_has_a_case():
    assert MOVED.keys() == MOVES


@pytest.mark.parametrize("op", MOVED)
def test_integers_are_moved_as_integers(op, tmp_path):
    # Of the version with Upsample, only onnxruntime's own domain has integers.
    opset, domain = (9, "com.microsoft") if op == "Upsample" else (13, "")
    m = OnnxModel(opset, seed=1)
    grid = scalar(m, 0.03)
    x = m.op("QuantizeLinear", m.input(1, 4, 6, 6), *grid, domain=domain)
    y = m.op("DequantizeLinear", MOVED[op](m, x), *grid, domain=domain)
    path = saved(m, tmp_path, y)
    found, wanted = answers_on_integers(path, (1, 4, 6, 6))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
