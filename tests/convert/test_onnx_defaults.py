"""What an ONNX op is without the attributes and inputs that it may leave out, in every version."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches

I64 = np.int64


def _op(op, *shape, **attrs):
    """The op on an input, and nothing else."""
    return lambda m: m.op(op, m.input(*(shape or (2, 3, 4))), **attrs)


def _around(op, **attrs):
    """The op on an input with values on both sides of its corners."""
    return lambda m: m.op(op, m.op("Mul", m.input(2, 3, 4), m.const([3.0])), **attrs)


def _window(op, **attrs):
    return _op(op, 1, 2, 5, 6, **attrs)


def _quantized(m, x):
    return m.op("QuantizeLinear", x, m.const(0.05), m.const(3, np.int8))


CASES = {
    **{
        f"{op} {opset}": (opset, _around(op))
        for op, opsets in {
            "LeakyRelu": (7, 16),
            "Elu": (7, 22),
            "Selu": (7, 22),
            "Celu": (12,),
            "HardSigmoid": (7, 22),
            "ThresholdedRelu": (10, 22),
            "Shrink": (9,),
            "Gelu": (20,),
            "Softplus": (7,),
            "Softsign": (7,),
            "HardSwish": (14,),
            "Mish": (18,),
            "Softmax": (7, 11, 12, 13),
            "LogSoftmax": (11, 13),
            "Flatten": (7, 13),
            "Squeeze": (7,),
            "LpNormalization": (7,),
            "ReduceSum": (7, 11, 13),
            "ReduceMean": (7, 13, 18),
            "ReduceL2": (7, 13, 18),
            "ReduceMax": (7, 13, 18),
        }.items()
        for opset in opsets
    },
    "Transpose": (13, _op("Transpose", 2, 3, 4)),
    "DepthToSpace": (13, _op("DepthToSpace", 1, 8, 2, 3, blocksize=2)),
    "MaxPool": (12, _window("MaxPool", kernel_shape=[2, 3])),
    "AveragePool": (11, _window("AveragePool", kernel_shape=[2, 3])),
    "AveragePool with pads": (
        11,
        _window("AveragePool", kernel_shape=[2, 3], pads=[1, 1, 1, 1]),
    ),
    "LpPool": (18, _window("LpPool", kernel_shape=[2, 3])),
    "GlobalLpPool": (7, _window("GlobalLpPool")),
    "Conv": (11, lambda m: m.op("Conv", m.input(1, 2, 5, 6), m.weights(3, 2, 2, 3))),
    "ConvTranspose": (
        11,
        lambda m: m.op("ConvTranspose", m.input(1, 2, 5, 6), m.weights(2, 3, 2, 3)),
    ),
    "LRN": (13, _window("LRN", size=3)),
    "Concat of inputs": (
        13,
        lambda m: m.op("Concat", m.input(2, 3), m.input(2, 3, name="y"), axis=0),
    ),
    "Gather": (13, lambda m: m.op("Gather", m.input(3, 4), m.ints(2, 0))),
    "Gather of a constant": (
        13,
        lambda m: m.op("Mul", m.input(2, 4), m.op("Gather", m.weights(3, 4), m.ints(2, 0))),
    ),
    "Split": (13, lambda m: m.op("Split", m.input(4, 3), outputs=2)),
    "Split of a constant": (
        13,
        lambda m: m.op("Mul", m.input(2, 3), m.op("Split", m.weights(4, 3), outputs=2)),
    ),
    "OneHot": (
        13,
        lambda m: m.op(
            "OneHot",
            m.op("Cast", m.op("Relu", m.input(2, 3)), to=7),
            m.const(4, I64),
            m.const([0.0, 1]),
        ),
    ),
    "ArgMax": (13, lambda m: m.op("Cast", m.op("ArgMax", m.input(3, 4)), to=1)),
    "CumSum": (14, lambda m: m.op("CumSum", m.input(2, 3, 4), m.const(1, I64))),
    "CumSum of a constant": (
        14,
        lambda m: m.op("Mul", m.input(2, 4), m.op("CumSum", m.weights(2, 4), m.const(1, I64))),
    ),
    "Trilu": (14, lambda m: m.op("Trilu", m.input(3, 4))),
    "Pad before opset 11": (7, _op("Pad", 2, 3, pads=[1, 0, 0, 2])),
    "Pad in opset 10": (10, _op("Pad", 2, 3, pads=[1, 0, 0, 2], value=0.5)),
    "Pad by an input": (11, lambda m: m.op("Pad", m.input(2, 3), m.ints(1, 0, 0, 2))),
    "Pad of some axes": (
        18,
        lambda m: m.op("Pad", m.input(2, 3), m.ints(0, 2), "", m.ints(1)),
    ),
    "a mirror as wide as it may be": (
        18,
        lambda m: m.op("Pad", m.input(2, 4), m.ints(0, 3, 1, 3), mode="reflect"),
    ),
    "edges wider than the input": (
        18,
        lambda m: m.op("Pad", m.input(2, 3), m.ints(0, 4, 3, 0), mode="edge"),
    ),
    "Clip before opset 11": (7, _around("Clip", max=1.0)),
    "Clip in opset 10": (10, _around("Clip", min=-1.0)),
    "Clip from below alone": (11, lambda m: m.op("Clip", m.input(2, 3), m.const(0.1))),
    "Clip from above alone": (11, lambda m: m.op("Clip", m.input(2, 3), "", m.const(0.1))),
    "Slice in opset 9": (9, _op("Slice", 4, 5, starts=[1, 0], ends=[3, -1])),
    "Slice in opset 10": (10, lambda m: m.op("Slice", m.input(4, 5), m.ints(1, 0), m.ints(3, -1))),
    "a constant's slice in opset 10": (
        10,
        lambda m: m.op(
            "Mul", m.input(2, 4), m.op("Slice", m.weights(4, 5), m.ints(1, 0), m.ints(3, -1))
        ),
    ),
    "Upsample before opset 9": (7, _op("Upsample", 1, 2, 3, 4, scales=[1, 1, 2, 2.0])),
    "Upsample in opset 9": (
        9,
        lambda m: m.op("Upsample", m.input(1, 2, 3, 4), m.const([1, 1, 2, 2.0])),
    ),
    "Resize in opset 10": (
        10,
        lambda m: m.op("Resize", m.input(1, 2, 3, 4), m.const([1, 1, 2, 2.0])),
    ),
    "Resize in opset 11": (
        11,
        lambda m: m.op("Resize", m.input(1, 2, 3, 4), m.const([]), m.const([1, 1, 2, 2.0])),
    ),
    "Resize by cubes": (
        13,
        lambda m: m.op("Resize", m.input(1, 2, 3, 4), "", m.const([1, 1, 2, 2.0]), mode="cubic"),
    ),
    "BatchNormalization": (
        15,
        lambda m: m.op(
            "BatchNormalization",
            m.input(1, 3, 4, 5),
            *(m.weights(3, low=low) for low in (-1.0, -1.0, -1.0)),
            m.const(np.full(3, 1e-5)),
        ),
    ),
    "InstanceNormalization": (
        7,
        lambda m: m.op(
            "InstanceNormalization",
            m.op("Mul", m.input(1, 3, 4, 5), m.const([0.01])),
            m.weights(3),
            m.weights(3),
        ),
    ),
    "LayerNormalization": (
        17,
        lambda m: m.op(
            "LayerNormalization", m.op("Mul", m.input(2, 3, 4), m.const([0.01])), m.weights(4)
        ),
    ),
    "GroupNormalization": (
        21,
        lambda m: m.op(
            "GroupNormalization",
            m.op("Mul", m.input(1, 4, 3, 5), m.const([0.01])),
            m.weights(4),
            m.weights(4),
            num_groups=2,
        ),
    ),
    "GroupNormalization before opset 21": (
        18,
        lambda m: m.op(
            "GroupNormalization",
            m.op("Mul", m.input(1, 4, 3, 5), m.const([0.01])),
            m.weights(2),
            m.weights(2),
            num_groups=2,
        ),
    ),
    "Gemm": (11, lambda m: m.op("Gemm", m.input(2, 3), m.weights(3, 4))),
    "Gemm of a constant": (11, lambda m: m.op("Gemm", m.weights(2, 3), m.input(3, 4))),
    "Gemm of a constant and an addend": (
        11,
        lambda m: m.op("Gemm", m.weights(2, 3), m.input(3, 4), m.weights(4), beta=0.5),
    ),
    "Gemm of two inputs": (
        11,
        lambda m: m.op("Gemm", m.input(2, 3), m.input(3, 4, name="y"), alpha=0.5),
    ),
    "QuantizeLinear along no axis": (
        13,
        lambda m: m.op("DequantizeLinear", _quantized(m, m.input(2, 3)), m.const(0.05)),
    ),
    "QuantizeLinear without a zero point": (
        13,
        lambda m: m.op(
            "DequantizeLinear", m.op("QuantizeLinear", m.input(8, 9), m.const(0.02)), m.const(0.02)
        ),
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_it_equals_onnxruntime(name, tmp_path):
    opset, build = CASES[name]
    m = OnnxModel(opset)
    assert_matches(m.save(tmp_path, build(m)), 1e-4)
