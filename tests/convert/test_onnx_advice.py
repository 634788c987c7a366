"""A refused ONNX file is answered with advice that fits what is wrong with it."""

import pytest
from onnx import defs

from tests.convert import test_onnx_errors, test_refusals_onnx_graphs, test_refusals_onnx_layers
from tests.convert.onnx_build import OnnxModel
from tests.convert.test_onnx_errors import refused
from tinyrt.convert.onnx.advice import OTHERS
from tinyrt.convert.onnx.ops import IMPORTERS
from tinyrt.errors import TinyrtError, UnsupportedError

FORMS = {
    "a 3-D convolution": "2-D convolutions",
    "weights that are computed": "fixed shapes and weights",
    "training": "model.eval()",
    "indices": "without indices",
    "a crop of everything": "works on nothing",
    "an edge that is cut off": "with Slice in front of Pad",
    "parts that do not fit": "parts that fit",
    "rows that are written at run time": "fixed shapes and weights",
    "unknown coordinates": "another coordinate_transformation_mode",
    "a division by zero": "correct the model",
    "an input of complex numbers": "the part of the model that computes on numbers",
    "an input of text": "the part of the model that computes on numbers",
    "a root of integers": "cast the integers to FLOAT",
    "a cast": "without conversions",
    "a sparse constant": "without sparse and string constants",
    "an output that is constant": "the nodes between its inputs and its outputs",
}
"""Name of a case -> what its advice says."""

USUAL = "onnx.checker"
REST = "change this part of the model"
ADVICE = {
    "input 'nowhere' is not defined": "the file is damaged",
    "auto_pad SAME_LOWER of a kernel that is smaller than its stride": "explicit pads",
    "has element type uint16": "cast the integers",
    "the constant 'c0' holds NaN": "the training converged",
    "Scan of 0 sequences": REST,
    "Scan over [3, 4] elements": REST,
    "whether the loop goes on depends on the model's input": "a fixed number of iterations",
    "the condition of If depends on the model's input": "--value",
    "the branches of If answer [1] and [2]": "--value x=NUMBER",
    "a scan over integers": "QDQ form",
    "a loop gathers integers": "QDQ form",
    "the loop never runs, and its outputs are empty": "remove the loop",
    "a body computes no z": "the file is damaged",
    "Concat joins integers of different scales": "QDQ form",
    "two inputs are called 'x'": "export the model again",
    "an input has no name": "export the model again",
    "the constants define [k] once more": "the file is damaged",
    "a border of integers without a scale": "QDQ form",
    "scales per block": "per tensor or per channel",
    "a tensor is quantised to FLOAT8E4M3FN": "8 or 16 bits",
    "a tensor is quantised to int32": "8 or 16 bits",
    "QLinearAveragePool with channels last": "without onnxruntime's layout optimisation",
    "a cast to STRING": "export the model in float32",
    "a diagonal of STRING": "export the model in float32",
    "LSTM with input_forget": REST,
    "100000 steps": REST,
    "a product with constant weights of shape [2, 3, 2]": "one per matrix",
    "the variance is not positive": "the training converged",
    "Resize in mode 'lanczos'": "another mode",
    "Dropout is in training mode": "model.eval()",
    "Pad in mode 'mirror'": "use one",
    "a border of integers": "QDQ form",
    "Gelu approximated by 'fast'": REST,
    "pads [9, 9, 9, 9]": "correct the layer's pads",
    "a window of [3, 3] does not fit into the input": "--shape NAME=",
    "negative pads [-1, 0, 0, 0]": "remove the cropping",
    "weights [3, 5, 3, 3] with 1 groups": "--shape NAME=",
}
"""The problem -> what its advice says; the usual one for all others."""


@pytest.mark.parametrize("name", list(FORMS))
def test_forms_that_are_not_supported(name, tmp_path):
    m = OnnxModel()
    build, _ = test_onnx_errors.REFUSED[name]
    assert FORMS[name] in refused(m.save(tmp_path, build(m)), TinyrtError).hint


def test_every_form_has_advice_here():
    assert FORMS.keys() == test_onnx_errors.REFUSED.keys()


@pytest.mark.parametrize(
    ("says", "build"),
    [
        (says, build)
        for module in (test_refusals_onnx_graphs, test_refusals_onnx_layers)
        for says, _, build in module.REFUSED
    ],
)
def test_files_that_cannot_be_read(says, build, tmp_path):
    m = OnnxModel()
    hint = refused(m.save(tmp_path, build(m)), TinyrtError).hint
    assert ADVICE.get(says, USUAL) in hint


MISSING = {
    "GridSample": "sample with Resize",
    "BitShift": "with Div, Mod and Mul by powers of two",
    "MelWeightMatrix": "tinyrt front-end",
    "NonZero": "how large its result is depends on the input",
    "NonMaxSuppression": "up to the boxes and scores",
    "StringNormalizer": "let the model take numbers",
    "RandomNormalLike": "make random numbers an input",
    "Det": "export the part before them",
}
"""An op that there is not -> what its advice says."""


@pytest.mark.parametrize("op", MISSING)
def test_ops_that_there_are_not(op, tmp_path):
    m = OnnxModel(18)
    error = refused(m.save(tmp_path, m.op(op, m.input(3, 3))), UnsupportedError)
    assert error.problem == f"the model uses ops that tinyrt does not have: {op}"
    assert MISSING[op] in error.hint


LEARNED, MICROSOFT = "ai.onnx.ml", "com.microsoft"
TOGETHER = [
    ([("FeatureVectorizer", LEARNED), ("TreeEnsembleRegressor", LEARNED)], "a small network"),
    ([("Det", ""), ("QAttention", MICROSOFT)], "quantise the model in QDQ form"),
    ([("AffineGrid", ""), ("GridSample", "")], "sample with Resize"),
    ([("GridSample", ""), ("NonZero", "")], "export the part before them"),
]
"""Ops and their domains -> what the advice on all of them says."""


@pytest.mark.parametrize(("ops", "says"), TOGETHER)
@pytest.mark.parametrize("order", [1, -1])
def test_several_ops_that_there_are_not(ops, says, order, tmp_path):
    m = OnnxModel(18)
    y = m.input(3, 3)
    for op, domain in ops[::order]:
        y = m.op(op, y, domain=domain)
    assert says in refused(m.save(tmp_path, y), UnsupportedError).hint


def test_advice_is_on_ops_that_there_are_not():
    assert not OTHERS.keys() & IMPORTERS.keys()
    assert all(defs.has(op) for op in OTHERS)
