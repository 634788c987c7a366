"""Broken .tflite files: each kind of refusal names the field and what it should be."""

from types import SimpleNamespace

import numpy as np
import pytest
import tflite

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tinyrt.convert.tflite.options import options_in
from tinyrt.errors import BudgetError, ModelFormatError, TinyrtError
from tinyrt.interpreter import Interpreter

CONV = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
ADD = Op("ADD", ["x", "x"], ["y"], "AddOptions")


def file(*tensors, op=ADD, more=(), shape=(1, 3)):
    """x -> y by one op, with further tensors and ops."""
    ports = {t.name for t in tensors}
    tensors = [*(Tensor(n, shape) for n in "xy" if n not in ports), *tensors]
    return build(Subgraph(tensors, [op, *more], ["x"], ["y"]))


def conv(weights=None, **fields):
    w = weights or Tensor("w", (2, 1, 1, 3), data=np.zeros((2, 1, 1, 3), np.float32))
    x, y = Tensor("x", (1, 4, 4, 3)), Tensor("y", (1, 4, 4, 2))
    op = Op("CONV_2D", ["x", "w", ""], ["y"], "Conv2DOptions", CONV | fields)
    return file(w, x, y, op=op)


def quantized(name, *shape, **parameters):
    return Tensor(name, shape, "INT8", **{"scale": 0.1, **parameters})


def dense(**parameters):
    w = quantized("w", 2, 3, data=np.zeros((2, 3), np.int8), **parameters)
    x, y = quantized("x", 1, 3), quantized("y", 1, 2)
    return file(w, x, y, op=Op("FULLY_CONNECTED", ["x", "w", ""], ["y"], "FullyConnectedOptions"))


MOST = 2**31 - 1
BROKEN = {
    "buffer": (file(Tensor("k", (4,), data=np.zeros(3, np.float32))), "buffer has 12 bytes", "16"),
    "buffer index": (file(Tensor("k", (4,), buffer=1)), "buffer 1 of 1", "0 to 0"),
    "tensor index": (file(op=Op("ADD", ["x", 2], ["y"], "AddOptions")), "tensor 2 of 2", None),
    "output index": (file(op=Op("ADD", ["x", "x"], [-5], "AddOptions")), "tensor -5 of 2", None),
    "shape": (file(shape=(-1, 3)), "dimension", "at least 1"),
    "empty": (file(shape=(0, 3)), "dimension", "at least 1"),
    "scale of 0": (file(quantized("x", 1, 3, scale=0.0)), "scales must be", None),
    "scale of NaN": (file(quantized("x", 1, 3, scale=np.nan)), "scales must be", None),
    "scale without end": (file(quantized("x", 1, 3, scale=np.inf)), "scales must be", None),
    "zero point": (file(quantized("x", 1, 3, zero_point=300)), "zero_point 300", "-128 to 127"),
    "scales": (dense(scale=(0.1, 0.1, 0.1)), "3 scales along dimension 0", "quantized_dimension"),
    "dimension": (dense(scale=(0.1, 0.1), axis=2), "dimension 2", "quantized_dimension"),
    "blocks": (dense(scale=None, blocks=True), "quantised in blocks", "quantized_dimension"),
    "weights": (dense(zero_point=3, scale=[0.1, 0.2]), "zero point 3", "0"),
    "options": (file(op=Op("ADD", ["x", "x"], ["y"], "MulOptions")), "options of kind", "AddOpt"),
    "padding": (conv(Padding=7), "padding 7", "SAME"),
    "activation": (conv(FusedActivationFunction=4), "activation TANH", "RELU6"),
    "stride": (conv(StrideH=0), "stride", None),
    "dilation": (conv(DilationWFactor=0), "dilation", None),
    "weights' shape": (
        conv(Tensor("w", (2, 1, 1, 5), data=np.zeros((2, 1, 1, 5), np.float32))),
        "input channels",
        None,
    ),
    "order": (
        file(
            Tensor("h", (1, 3)),
            op=Op("ADD", ["x", "h"], ["y"], "AddOptions"),
            more=[Op("ADD", ["x", "y"], ["h"], "AddOptions")],
        ),
        "'h' is used before it is defined",
        None,
    ),
    "two writers": (file(more=[ADD]), "'y' is defined twice", None),
    "dtype": (file(Tensor("k", (1,), "COMPLEX64")), "dtype COMPLEX64", "float32"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_the_field_is_named(kind):
    data, problem, expected = BROKEN[kind]
    with pytest.raises(TinyrtError) as caught:
        Interpreter(model_content=data)
    assert problem in caught.value.problem
    assert expected is None or expected in caught.value.expected


def test_memory_beyond_the_limit_is_refused_before_it_is_allocated():
    interpreter = Interpreter(model_content=file(shape=(MOST // 8, 4)))
    with pytest.raises(BudgetError) as caught:
        interpreter.allocate_tensors()
    assert "--max-memory" in caught.value.hint


def test_options_of_newer_ops_are_of_their_kind():
    """They lie in a union of their own, whose numbers mean others."""
    table = "StablehloConcatenateOptions"
    operator = SimpleNamespace(BuiltinOptions2Type=lambda: tflite.BuiltinOptions2.DilateOptions)
    with pytest.raises(ModelFormatError, match="options of kind") as caught:
        options_in(operator, table)
    assert caught.value.expected == table
