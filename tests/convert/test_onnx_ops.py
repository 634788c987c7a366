"""Every imported ONNX op against onnxruntime, over the opsets in which its form changed."""

import numpy as np
import pytest

from tests.convert import test_onnx_breadth, test_onnx_forms, test_onnx_lookup, test_onnx_wider
from tests.convert.onnx_build import OnnxModel, assert_matches
from tests.convert.onnx_cases import CASES, case
from tests.sampling import sampled
from tinyrt.convert.onnx import reader
from tinyrt.convert.onnx.flow import FLOW
from tinyrt.convert.onnx.ops import IMPORTERS, SEVERAL
from tinyrt.convert.onnx.reader import _finish


@case(7, 9, 11, 13)
def gemm(m):
    return m.op("Gemm", m.input(2, 6), m.weights(4, 6), m.weights(4), transB=1)


@case(13)
def gemm_scaled(m):
    attrs = {"alpha": 0.5, "beta": 3.0, "transA": 1}
    return m.op("Gemm", m.input(6, 2), m.weights(6, 4), m.weights(1, 4), **attrs)


@case(13)
def gemm_addend_matrix(m):
    return m.op("Gemm", m.input(2, 6), m.weights(6, 4), m.weights(2, 4), beta=2.0)


@case(13)
def gemm_addend_column(m):
    return m.op("Gemm", m.input(2, 6), m.weights(6, 4), m.weights(2, 1))


@case(13)
def gemm_addend_activation(m):
    x, c = m.input(2, 6), m.input(2, 4, name="c")
    return m.op("Gemm", x, m.weights(6, 4), c, beta=0.5)


@case(13)
def gemm_without_addend(m):
    return m.op("Gemm", m.input(2, 6), m.weights(6, 4))


@case(13)
def gemm_constant_left(m):
    return m.op("Gemm", m.weights(2, 6), m.input(6, 4), m.weights(4), alpha=2.0)


@case(9, 13)
def matmul(m):
    return m.op("MatMul", m.input(2, 6), m.weights(6, 4))


@case(13)
def matmul_rank_3(m):
    return m.op("MatMul", m.input(2, 5, 6), m.weights(6, 4))


@case(13)
def matmul_rank_4_unit_weights(m):
    return m.op("MatMul", m.input(1, 2, 5, 6), m.weights(1, 1, 6, 4))


@case(13)
def matmul_vector(m):
    return m.op("MatMul", m.input(2, 6), m.weights(6))


@case(13)
def matmul_constant_left(m):
    return m.op("MatMul", m.weights(4, 6), m.input(2, 6, 5))


def batch_norm(m, channels):
    return [
        m.weights(channels),
        m.weights(channels),
        m.weights(channels),
        m.const([0.5] * channels),
    ]


@case(7, 9, 14, 15)
def batch_norm_2d(m):
    return m.op("BatchNormalization", m.input(1, 3, 5, 4), *batch_norm(m, 3), epsilon=1e-3)


@case(15)
def batch_norm_flat(m):
    return m.op("BatchNormalization", m.input(2, 3), *batch_norm(m, 3))


@case(15)
def batch_norm_1d(m):
    return m.op("BatchNormalization", m.input(1, 3, 5), *batch_norm(m, 3))


@case(7, 13)
def relu(m):
    return m.op("Relu", m.input(2, 5))


def clip(low, high):
    def build(m):
        x = m.op("Mul", m.input(2, 5), m.const(4.0))
        if m.opset < 11:
            attrs = {k: float(v) for k, v in (("min", low), ("max", high)) if v is not None}
            return m.op("Clip", x, **attrs)
        limits = ["" if v is None else m.const(v) for v in (low, high)]
        return m.op("Clip", x, *limits)

    build.__name__ = f"clip_{low}_{high}"
    return build


for limits in ((0, 6), (0, None), (-1, 1), (0, 3), (-2.5, 1.5), (None, 2), (None, None)):
    case(7, 11, 13)(clip(*limits))


@case(7, 13)
def sigmoid(m):
    return m.op("Sigmoid", m.input(2, 5))


@case(7, 13)
def tanh(m):
    return m.op("Tanh", m.input(2, 5))


@case(7, 11, 13)
def softmax_default_axis(m):
    return m.op("Softmax", m.input(2, 3, 4))


@case(11, 13)
def softmax_axis_1(m):
    return m.op("Softmax", m.input(2, 3, 4, 5), axis=1)


@case(11, 13)
def softmax_last(m):
    return m.op("Softmax", m.input(2, 3, 4), axis=-1)


@case(7, 13)
def add_channels(m):
    return m.op("Add", m.input(1, 3, 5, 4), m.weights(3, 1, 1))


@case(13)
def add_activations(m):
    return m.op("Add", m.input(2, 3, 4), m.input(3, 1, name="y"))


@case(7, 13)
def sub_constant(m):
    return m.op("Sub", m.input(2, 5), m.weights(5))


@case(13)
def sub_from_constant(m):
    return m.op("Sub", m.weights(5), m.input(2, 5))


@case(13)
def sub_activations(m):
    return m.op("Sub", m.input(2, 5), m.input(2, 5, name="y"))


@case(7, 13)
def mul_scalar(m):
    return m.op("Mul", m.input(2, 5), m.const(3.0))


@case(13)
def mul_activations(m):
    return m.op("Mul", m.input(1, 3, 4, 5), m.input(1, 3, 1, 1, name="y"))


@case(7, 13)
def div_constant(m):
    return m.op("Div", m.input(2, 5), m.const([1.5, 2, 3, 4, -5]))


@case(13)
def neg(m):
    return m.op("Neg", m.input(2, 5))


@case(8, 13)
def min_max_sum(m):
    x, y = m.input(2, 5), m.input(2, 5, name="y")
    lowest = m.op("Min", x, y, m.const(0.5))
    return m.op("Sum", m.op("Max", x, m.weights(5)), lowest, y)


@case(7, 11, 13, 18)
def reduce_mean(m):
    x = m.input(2, 3, 4, 5)
    if m.opset < 18:
        return m.op("ReduceMean", x, axes=[-1, 1], keepdims=0)
    return m.op("ReduceMean", x, m.ints(-1, 1), keepdims=0)


@case(13, 18)
def reduce_mean_everything(m):
    return m.op("ReduceMean", m.input(2, 3, 4))


@case(7, 13, 14, 21)
def reshape(m):
    return m.op("Reshape", m.input(2, 3, 4), m.ints(0, -1, 2))


@case(14)
def reshape_allowzero(m):
    return m.op("Reshape", m.input(2, 3, 4), m.ints(6, -1), allowzero=1)


@case(7, 9, 11, 13)
def flatten(m):
    return m.op("Flatten", m.input(2, 3, 4), axis=2)


@case(11, 13)
def flatten_negative_axis(m):
    return m.op("Flatten", m.input(2, 3, 4), axis=-2)


@case(7, 11, 13)
def squeeze_unsqueeze(m):
    x = m.input(1, 3, 1, 4)
    if m.opset < 13:
        return m.op("Unsqueeze", m.op("Squeeze", x, axes=[0, 2]), axes=[1, 3])
    return m.op("Unsqueeze", m.op("Squeeze", x, m.ints(0, -2)), m.ints(1, -1))


@case(13)
def squeeze_everything(m):
    return m.op("Squeeze", m.input(1, 3, 1, 4))


@case(7, 13)
def transpose(m):
    return m.op("Transpose", m.input(2, 3, 4), perm=[1, 2, 0])


@case(13)
def transpose_reverses(m):
    return m.op("Transpose", m.input(2, 3, 4))


@case(7, 11, 13)
def concat(m):
    x, y = m.input(2, 3, 4), m.input(2, 2, 4, name="y")
    return m.op("Concat", x, m.weights(2, 1, 4), y, axis=1)


@case(7, 11, 13, 18)
def pad(m):
    x, pads = m.input(1, 3, 4, 5), (0, 1, 2, 0, 0, 0, 1, 3)
    if m.opset < 11:
        return m.op("Pad", x, pads=pads, value=1.5)
    return m.op("Pad", x, m.ints(*pads), m.const(1.5))


@case(18)
def pad_axes(m):
    return m.op("Pad", m.input(1, 3, 4), m.ints(1, 2), "", m.ints(-1))


@case(7, 10, 12, 13)
def identity_dropout(m):
    x = m.op("Identity", m.input(2, 5))
    if m.opset < 12:
        return m.op("Dropout", x, ratio=0.3)
    return m.op("Dropout", x, m.const(0.3), m.const(False, bool))


@pytest.mark.parametrize(
    ("name", "opset"), [(name, opset) for name, (_, opsets) in CASES.items() for opset in opsets]
)
def test_matches_onnxruntime(name, opset, tmp_path):
    model = OnnxModel(opset)
    assert_matches(model.save(tmp_path, CASES[name][0](model)))


@pytest.mark.parametrize("name", CASES)
def test_matches_onnxruntime_at_its_newest_opset(name, tmp_path):
    model = OnnxModel(opset=26)
    assert_matches(model.save(tmp_path, CASES[name][0](model)))


def test_every_importer_is_tested():
    builds = [(build, opsets[-1]) for build, opsets in CASES.values()]
    used = set()
    others = (
        *test_onnx_breadth.CASES.values(),
        *test_onnx_forms.CASES.values(),
        *test_onnx_wider.CASES.values(),
    )
    for build, opset in (*builds, *others):
        model = OnnxModel(opset)
        build(model)
        used.update(node.op_type for node in model.nodes)
    for look_up in test_onnx_lookup.MODELS.values():
        model = OnnxModel(17)
        look_up(model, model.input(1, 5))
        used.update(node.op_type for node in model.nodes)
    # onnxruntime does not have Swish yet; test_onnx_picked.py has Hardmax.
    assert used >= (IMPORTERS.keys() | SEVERAL.keys() | FLOW.keys()) - {"Swish", "Hardmax"}


NAMED = {
    **{name: (build, opsets[-1]) for name, (build, opsets) in CASES.items()},
    **test_onnx_breadth.CASES,
    **test_onnx_forms.CASES,
    "swish": (lambda m: m.op("Swish", m.input(2, 5), alpha=1.7), 24),
    "nearest along two axes": (
        lambda m: m.op("Resize", m.input(2, 3, 1, 1), "", m.const([2, 2, 1, 1]), mode="nearest"),
        13,
    ),
}
NAMED_AGAIN = {
    "lp_pool": "the mean has the name, what is computed from it has a number",
    "a_loop_of_three": "the body has names of the graph around it",
    "a_scan": "as a loop",
}


OF_THEIR_NAMES = sorted(NAMED.keys() - NAMED_AGAIN)


@pytest.mark.parametrize("name", OF_THEIR_NAMES[:: sampled(3, 1)])
def test_a_tensor_of_the_files_name_is_that_tensor(name, tmp_path, monkeypatch):
    build, opset = NAMED[name]
    m = OnnxModel(opset)
    path = m.save(tmp_path, build(m))
    named = []

    def finish(builder, *args):
        for output in (o for node in m.nodes for o in node.output if o in builder.values):
            named.append((builder.tensors[output].name, output))
        return _finish(builder, *args)

    monkeypatch.setattr(reader, "_finish", finish)
    reader.read_onnx(path)
    # A layer on channels last has the name; what follows it turns them back.
    assert all(found in (output, f"{output}.nchw") for found, output in named)


def test_casts_to_float_vanish(tmp_path):
    m = OnnxModel()
    y = m.op("Cast", m.op("Relu", m.input(2, 5)), to=1)
    graph, _ = assert_matches(m.save(tmp_path, y))
    assert [node.op for node in graph.nodes] == ["relu"]


def test_one_value_may_be_several_outputs(tmp_path):
    m = OnnxModel()
    x = m.input(1, 3, 5, 4)
    y = m.op("Conv", x, m.weights(2, 3, 3, 3))
    graph, _ = assert_matches(m.save(tmp_path, y, m.op("Identity", y), m.op("Identity", x)))
    assert len(set(graph.outputs)) == 3
    assert np.prod(graph.output_values[0].shape) == 12
