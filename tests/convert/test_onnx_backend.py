"""ONNX's own node tests: the share that passes, and the page that lists the others."""

import pytest

from tests.onnx_backend import DYNAMIC, PAGE, outcomes, page
from tinyrt.convert.onnx.flow import FLOW
from tinyrt.convert.onnx.static import STATIC


@pytest.mark.slow
def test_node_tests_pass_and_the_page_is_current():
    results, excluded = outcomes()
    passed = sum(not r.problem for r in results)
    assert passed >= 0.95 * len(results)
    assert PAGE.read_text() == page(results, excluded), "run python -m tests.onnx_backend --write"


SCOPE = """
Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Clip Concat ConstantOfShape Conv
ConvInteger ConvTranspose DepthToSpace DequantizeLinear Div Dropout DynamicQuantizeLinear Einsum Elu
Equal Erf Exp Expand Flatten Floor GRU Gather Gelu Gemm GlobalAveragePool GlobalMaxPool Greater
GreaterOrEqual GroupNormalization HardSigmoid HardSwish Identity If InstanceNormalization LRN LSTM
LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop LpPool MatMul MatMulInteger Max
MaxPool Min Mish Mul Neg PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RNN Range Reciprocal
ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape Resize Round Selu Shape
Sigmoid Slice Softmax Softplus SpaceToDepth Split Sqrt Squeeze Sub Tanh Tile Transpose Unsqueeze
Where
"""
"""What converters of edge models are expected to know."""


def test_every_op_of_the_scope_has_an_importer():
    assert set(SCOPE.split()) <= DYNAMIC | FLOW.keys() | STATIC.keys()
