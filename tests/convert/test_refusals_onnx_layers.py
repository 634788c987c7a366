"""ONNX layers with shapes or attributes that cannot be are refused: what, what instead."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.convert.onnx_small import (
    NAN,
    at,
    conv,
    lstm,
    pool,
    resize,
    up,
)
from tests.convert.test_onnx_errors import refused
from tinyrt.errors import TinyrtError

REFUSED = [
    (
        "has element type uint16",
        "float32",
        lambda m: m.op(
            "Where",
            m.op("Greater", m.input(1, 4), m.const(0.0)),
            *[m.const(n, np.uint16) for n in (1, 2)],
        ),
    ),
    ("LSTM with input_forget", "independent gates", lambda m: lstm(m, input_forget=1)),
    ("peepholes of shape [1, 5]", "6 for each direction", lambda m: lstm(m, peepholes=(1, 5))),
    (
        "peepholes of shape [1, 6]",
        "6 for each direction",
        lambda m: m.op(
            "LSTM",
            *(m.input(3, 1, 4), m.weights(2, 8, 4), m.weights(2, 8, 2), "", "", "", ""),
            m.weights(1, 6),
            hidden_size=2,
            direction="bidirectional",
        ),
    ),
    ("the input is f32[3,4]", "(steps, n, features)", lambda m: lstm(m, m.input(3, 4))),
    (
        "direction 'sideways'",
        "forward, reverse, bidirectional",
        lambda m: lstm(m, direction="sideways"),
    ),
    ("R has shape [8, 2]", "three dimensions", lambda m: lstm(m, r=(8, 2))),
    (
        "input 5, a first state, has shape [2, 1, 3]",
        "[1, 2] for each direction",
        lambda m: lstm(m, h0=(2, 1, 3)),
    ),
    ("100000 steps", "at most 4096, as they unroll", lambda m: lstm(m, m.input(100_000, 1, 4))),
    (
        "a product of [1, 3] and [4, 2]",
        "as many columns as rows",
        lambda m: m.op("MatMul", m.input(1, 3), m.weights(4, 2)),
    ),
    (
        "input 0 has shape [1, 3, 4]",
        "a matrix",
        lambda m: m.op("Gemm", m.input(1, 3, 4), m.weights(4, 2)),
    ),
    (
        "a product with a scalar",
        "one dimension or more",
        lambda m: m.op("MatMul", m.input(1, 3), m.const(2.0)),
    ),
    (
        "a product with constant weights of shape [2, 3, 2]",
        "one matrix",
        lambda m: m.op("MatMul", m.weights(2, 3), m.weights(2, 3, 2)),
    ),
    (
        "the input is f32[3]",
        "(n, c, ...)",
        lambda m: m.op("BatchNormalization", m.input(3), *[m.weights(3)] * 4),
    ),
    (
        "the variance is not positive",
        "",
        lambda m: m.op(
            "BatchNormalization", m.input(1, 3, 2), *[m.weights(3)] * 3, m.const([-1, -1, -1])
        ),
    ),
    (
        "an equation of 2004 characters",
        "at most 1000",
        lambda m: m.op("Einsum", m.input(2, 3), equation="ij->" + "i" * 2000),
    ),
    (
        "equation 'ij,jk->ik'",
        "1 operands",
        lambda m: m.op("Einsum", m.input(2, 3), equation="ij,jk->ik"),
    ),
    (
        "equation 'ij->ik'",
        "an output of the operands' labels",
        lambda m: m.op("Einsum", m.input(2, 3), equation="ij->ik"),
    ),
    (
        "operands f32[2,3] and f32[4,2]",
        "same sizes",
        lambda m: m.op("Einsum", m.input(2, 3), m.input(4, 2, name="y"), equation="ij,jk->ik"),
    ),
    (
        "blocks of 2 of f32[2,3]",
        "(n, c, h, w)",
        lambda m: m.op("DepthToSpace", m.input(2, 3), blocksize=2),
    ),
    ("2 sizes for 4 dimensions", "", lambda m: resize(m, sizes=[8, 8])),
    ("2 scales for 4 dimensions", "", lambda m: resize(m, scales=[2, 2])),
    ("scales [1.0, 1.0, nan, 2.0]", "finite numbers", lambda m: resize(m, scales=[1, 1, NAN, 2])),
    (
        "2 scales for 4 dimensions",
        "",
        lambda m: at(m, 7).op("Upsample", m.input(1, 2, 4, 4), scales=[2.0, 2.0]),
    ),
    (
        "f32[1,2,4,4] resized to [1, 2, -4, 8]",
        "positive sizes",
        lambda m: resize(m, scales=[1, 1, -1, 2]),
    ),
    (
        "a region of 2 numbers",
        "8",
        lambda m: resize(
            m,
            scales=[1, 1, 2, 2],
            roi=[0, 1],
            coordinate_transformation_mode="tf_crop_and_resize",
            mode="linear",
        ),
    ),
    (
        "Resize in mode 'lanczos'",
        "nearest, linear or cubic",
        lambda m: resize(m, scales=[1, 1, 2, 2], mode="lanczos"),
    ),
    ("'min' has shape [2]", "a scalar", lambda m: m.op("Clip", m.input(2), m.const([0, 1]))),
    (
        "Dropout is in training mode",
        "training_mode false",
        lambda m: m.op("Dropout", m.input(2), "", m.const(True, bool)),
    ),
    (
        "Pad in mode 'mirror'",
        "constant, reflect, edge or wrap",
        lambda m: m.op("Pad", m.input(2, 3), m.ints(0, 1, 0, 1), mode="mirror"),
    ),
    (
        "a border of integers",
        "a border of numbers, in front of QuantizeLinear",
        lambda m: m.op("Pad", m.input(2, 3), m.ints(0, 1, 0, 1), m.const(1, np.int64)),
    ),
    ("3 pads for 2 axes", "two each", lambda m: m.op("Pad", m.input(2, 3), m.ints(0, 1, 0))),
    (
        "Gelu approximated by 'fast'",
        "none or tanh",
        lambda m: at(m, 20).op("Gelu", m.input(2), approximate="fast"),
    ),
    (
        "the input is f32[1,3]",
        "(n, c, ...)",
        lambda m: m.op("InstanceNormalization", m.input(1, 3), m.weights(3), m.weights(3)),
    ),
    (
        "2 groups of f32[1,3,4]",
        "groups of the channels",
        lambda m: at(m, 18).op(
            "GroupNormalization", m.input(1, 3, 4), m.weights(2), m.weights(2), num_groups=2
        ),
    ),
    (
        "2 groups of f32[1,4]",
        "groups of the channels",
        lambda m: at(m, 18).op(
            "GroupNormalization", m.input(1, 4), m.weights(2), m.weights(2), num_groups=2
        ),
    ),
    (
        "LRN of size 3 of f32[1,3]",
        "(n, c, ...), size > 0",
        lambda m: m.op("LRN", m.input(1, 3), size=3),
    ),
    ("the input is f32[3]", "matrices", lambda m: at(m, 14).op("Trilu", m.input(3))),
    (
        "kernel (2, 2, 2), strides (0, 1, 1), dilations (1, 1, 1), pads (0, 0, 0, 0, 0, 0)",
        "positive numbers, and pads of 0 and more",
        lambda m: m.op(
            "MaxPool", m.input(1, 2, 6, 6, 6), kernel_shape=[2, 2, 2], strides=[0, 1, 1]
        ),
    ),
    (
        "weights [3, 3, 3, 3] with 1 groups",
        "weights (input channels, c_out / groups, kernel...)",
        lambda m: up(m, w=(3, 3, 3, 3)),
    ),
    ("pads [9, 9, 9, 9]", "pads that leave some output", lambda m: up(m, pads=[9, 9, 9, 9])),
    (
        "auto_pad SAME_LOWER of a kernel that is smaller than its stride",
        "pads, or an output_shape: runtimes differ in how large the output is",
        lambda m: up(m, auto_pad="SAME_LOWER", strides=[4, 1]),
    ),
    ("attribute 'p' is 0", "1 to 64", lambda m: pool(m, "LpPool", p=0)),
    ("attribute 'strides' is [0, 1]", "positive numbers", lambda m: conv(m, strides=[0, 1])),
    ("a kernel of [0, 2]", "positive sizes", lambda m: pool(m, kernel_shape=[0, 2])),
    ("a window of [3, 3] does not fit into the input", "", lambda m: conv(m, 1, 2, 2, 2)),
    (
        "auto_pad is 'AROUND'",
        "NOTSET, VALID, SAME_UPPER or SAME_LOWER",
        lambda m: conv(m, auto_pad="AROUND"),
    ),
    ("negative pads [-1, 0, 0, 0]", "pads of 0 and more", lambda m: conv(m, pads=[-1, 0, 0, 0])),
    (
        "weights [3, 5, 3, 3] with 1 groups",
        "weights (c_out, 2 / 1, kernel_shape...)",
        lambda m: conv(m, w=(3, 5, 3, 3)),
    ),
    ("attribute 'kernel_shape' is missing", "", lambda m: m.op("MaxPool", m.input(1, 2, 6, 6))),
]


@pytest.mark.parametrize(("says", "expected", "build"), REFUSED)
def test_what_cannot_be_read_is_refused(says, expected, build, tmp_path):
    m = OnnxModel()
    error = refused(m.save(tmp_path, build(m)), TinyrtError, says, expected)
    assert says in error.problem
