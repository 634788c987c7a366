"""Recurrent layers, control flow, functions and unusual forms of ops, beside onnxruntime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.convert.onnx_build import OnnxModel, assert_matches, count
from tests.sampling import sampled
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import ModelFormatError, ShapeError, TinyrtError, UnsupportedError

Case = Callable[[OnnxModel], str]
CASES: dict[str, tuple[Case, int]] = {}


def case(build: Case, name: str = "", opset: int = 18) -> Case:
    CASES[name or build.__name__] = (build, opset)
    return build


for bounded in ("Acos", "Asin", "Atanh"):
    case(
        lambda m, op=bounded: m.op(op, m.op("Mul", m.op("Tanh", m.input(2, 3, 4)), m.const(0.9))),
        bounded,
    )
case(lambda m: m.op("Acosh", m.op("Exp", m.op("Abs", m.input(2, 3, 4)))), "Acosh")

STEPS, BATCH, INPUTS, HIDDEN = 4, 2, 3, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(op: str, direction: str, state: bool, peepholes: bool = False, **attrs) -> None:
    def build(m):
        sides = 2 if direction == "bidirectional" else 1
        rows = GATES[op] * HIDDEN
        operands = [m.input(STEPS, BATCH, INPUTS), m.weights(sides, rows, INPUTS)]
        operands += [m.weights(sides, rows, HIDDEN), m.weights(sides, 2 * rows)]
        operands.append(m.const([STEPS] * BATCH, np.int32) if state else "")
        operands.append(m.input(sides, BATCH, HIDDEN, name="h0") if state else "")
        if op == "LSTM":
            operands.append(m.weights(sides, BATCH, HIDDEN) if state else "")
            operands.append(m.weights(sides, 3 * HIDDEN) if peepholes else "")
        while operands[-1] == "":
            operands.pop()
        outputs = 3 if op == "LSTM" else 2
        y = m.op(op, *operands, outputs=outputs, hidden_size=HIDDEN, direction=direction, **attrs)
        last = m.op("Transpose", y + "_1", perm=[1, 0, 2])
        every = m.op("ReduceSum", y, m.ints(0))
        return m.op(
            "Add",
            m.op("Reshape", last, m.ints(BATCH, -1)),
            m.op("Reshape", every, m.ints(BATCH, -1)),
        )

    name = "_".join([op, direction, "state" if state else "plain", *map(str, attrs.values())])
    case(build, f"{name}_peepholes" if peepholes else name)


for kind in GATES:
    for way in ("forward", "reverse", "bidirectional"):
        recurrent(kind, way, state=way != "reverse")
recurrent("GRU", "forward", state=False, linear_before_reset=1)
recurrent("GRU", "bidirectional", state=True, linear_before_reset=1)
recurrent("LSTM", "forward", state=True, peepholes=True)
recurrent("LSTM", "forward", state=False, peepholes=True)
recurrent("RNN", "forward", state=False, activations=["Relu"])
for kind in GATES:
    recurrent(kind, "bidirectional", state=True, clip=0.2)
recurrent("LSTM", "forward", state=False, activations=["HardSigmoid", "LeakyRelu", "Elu"])
for functions, alphas, betas in (
    # Each function that has parameters takes the next ones, then its own: 1 for Elu.
    (["Sigmoid", "LeakyRelu", "Tanh"], [0.4], []),
    (["HardSigmoid", "LeakyRelu", "Affine"], [0.3, 0.4, 0.7], [0.45, 0.2]),
    (["HardSigmoid", "Elu", "Elu"], [0.3, 0.6], [0.5]),
):
    parameters = {"activation_alpha": alphas, "activation_beta": betas}
    given = {name: numbers for name, numbers in parameters.items() if numbers}
    recurrent("LSTM", "forward", state=False, activations=functions, **given)
for functions in (["Affine", "LeakyRelu"], ["Tanh", "LeakyRelu"]):
    recurrent(
        "RNN", "bidirectional", state=True, activations=functions, activation_alpha=[0.5, 0.3]
    )


for extremum, keep in (("ArgMax", 0), ("ArgMin", 1)):
    case(
        lambda m, op=extremum, keep=keep: m.op(
            "Cast",
            m.op(op, m.op("Round", m.input(2, 9, 5)), axis=-2, keepdims=keep, select_last_index=1),
            to=TensorProto.FLOAT,
        ),
        f"the last {extremum} of equals",
    )


def einsum(equation: str, *shapes: tuple[int, ...], constant: bool = False) -> None:
    def build(m):
        operands = [m.input(*shapes[0])]
        for i, shape in enumerate(shapes[1:]):
            operands.append(m.weights(*shape) if constant else m.input(*shape, name=f"x{i}"))
        return m.op("Einsum", *operands, equation=equation)

    case(build, f"Einsum {equation}" + (" constant" if constant else ""))


einsum("ij,jk->ik", (3, 4), (4, 5))
einsum("ij,jk->ik", (3, 4), (4, 5), constant=True)
einsum("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 4, 5))
einsum("bhqk,bkhd->bqhd", (2, 4, 3, 6), (2, 6, 4, 5))
einsum("...ij,...jk", (2, 3, 4), (2, 4, 5))
einsum("bij,bjk->bik", (2, 3, 4), (2, 4, 5), constant=True)
einsum("ij,bjk->bik", (3, 4), (1, 4, 5), constant=True)
einsum("ca,ab", (3, 4), (4, 5))
einsum("ij->ji", (3, 4))
einsum("ijk->i", (2, 3, 4))
einsum("ij,ij->ij", (3, 4), (3, 4))
einsum("i,j->ij", (3,), (4,))
einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))
einsum("i,i", (5,), (5,))
einsum("ij,ij->", (3, 4), (3, 4), constant=True)
einsum("i,i,jk->kj", (5,), (5,), (3, 4))


@case
def running_sums(m):
    x = m.input(2, 3, 4)
    a = m.op("CumSum", x, m.const(1, np.int64))
    b = m.op("CumSum", x, m.const(-1, np.int64), exclusive=1, reverse=1)
    return m.op("Add", a, b)


@case
def triangles(m):
    x = m.input(2, 4, 5)
    upper = m.op("Trilu", x, m.const(1, np.int64), upper=2)  # ONNX: any but zero
    return m.op("Sub", upper, m.op("Trilu", x, upper=0))


@case
def exclusive_or(m):
    x, y = m.input(2, 5), m.input(2, 5, name="y")
    zero = m.const(0.0)
    either = m.op("Xor", m.op("Less", x, zero), m.op("Less", y, zero))
    return m.op("CastLike", either, x)


for kind in (np.float64, np.float16, np.int32):
    case(
        lambda m, kind=kind: m.op(
            "Cast",
            m.op("CastLike", m.op("Round", m.input(2, 5)), m.const(0, kind)),
            to=TensorProto.FLOAT,
        ),
        f"CastLike {kind.__name__}",
    )


@case
def pads_by_reflection(m):
    widths = m.ints(0, 0, 1, 2, 0, 0, 2, 1)
    return m.op(
        "Conv", m.op("Pad", m.input(1, 3, 6, 7), widths, mode="reflect"), m.weights(4, 3, 3, 3)
    )


@case
def pads_of_the_edge(m):
    return m.op("Pad", m.input(1, 3, 4, 5), m.ints(0, 0, 1, 2, 0, 0, 2, 0), mode="edge")


@case
def pads_that_wrap(m):
    return m.op("Pad", m.input(1, 3, 4, 5), m.ints(0, 0, 0, 2, 0, 0, 0, 3), mode="wrap")


def pooled(op: str, shape: tuple[int, ...], name: str, **attrs) -> None:
    case(lambda m: m.op(op, m.input(*shape), **attrs), f"{op} {name}", 18)


VOLUME = (1, 2, 6, 7, 5)
for pool in ("MaxPool", "AveragePool", "LpPool"):
    pooled(pool, VOLUME, "over a volume", kernel_shape=[2, 3, 2], strides=[2, 1, 1])
pooled("MaxPool", (1, 2, 8, 9), "dilated", kernel_shape=[2, 2], dilations=[2, 3], pads=[1, 1, 1, 1])
pooled("MaxPool", (1, 2, 8, 9), "off centre", kernel_shape=[3, 2], pads=[2, 1, 0, 1])
pooled("MaxPool", (1, 2, 8, 9), "ceil", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
pooled("AveragePool", VOLUME, "padded", kernel_shape=[3, 3, 3], pads=[1, 1, 1, 0, 1, 1])
pooled(
    "AveragePool", (1, 2, 8, 9), "counting", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
    count_include_pad=1, strides=[2, 2], ceil_mode=1,
)  # fmt: skip
pooled("GlobalLpPool", (1, 3, 4, 5), "2", p=2)
pooled("GlobalLpPool", (1, 3, 4, 5), "3", p=3)
pooled("GlobalMaxPool", VOLUME, "over a volume")


def resized(name: str, scales: list[float], **attrs) -> None:
    case(
        lambda m: m.op("Resize", m.input(1, 2, 6, 7), "", m.const(scales), **attrs),
        f"Resize {name}",
    )


resized("cubic", [1, 1, 2, 1.5], mode="cubic")
resized("cubic of other shape", [1, 1, 0.7, 2.2], mode="cubic", cubic_coeff_a=-0.5)
resized("cubic inside", [1, 1, 0.8, 0.8], mode="cubic", exclude_outside=1)
resized("uneven", [1, 1, 0.6, 1.3], mode="linear")
resized("from the start", [1, 1, 2, 3], mode="linear", coordinate_transformation_mode="asymmetric")
resized(
    "torch's half pixels", [1, 1, 0.4, 0.3], mode="linear",
    coordinate_transformation_mode="pytorch_half_pixel",
)  # fmt: skip


def body(inputs, nodes, outputs, constants=()):
    """A graph for control flow; values are given as (name, element type, shape)."""
    infos = [
        [helper.make_tensor_value_info(*value) for value in values] for values in (inputs, outputs)
    ]
    return helper.make_graph(nodes, "body", *infos, list(constants))


@case
def a_branch_by_a_known_condition(m):
    x = m.input(2, 3)
    shape = m.op("Gather", m.op("Shape", x), m.const(0, np.int64))
    both = m.op("Equal", shape, m.const(2, np.int64))
    result = ("r", TensorProto.FLOAT, [2, 3])
    branches = {
        "then_branch": body([], [helper.make_node("Relu", [x], ["r"])], [result]),
        "else_branch": body([], [helper.make_node("Hardmax", [x], ["r"])], [result]),
    }
    return m.op("Add", m.op("If", both, **branches), x)


@case
def a_loop_of_three(m):
    x, w = m.input(2, 4), m.weights(4, 4)
    nodes = [
        helper.make_node("MatMul", ["h", w], ["p"]),
        helper.make_node("Tanh", ["p"], ["h_next"]),
        helper.make_node("Identity", ["going"], ["goes_on"]),
    ]
    scalar = ("going", TensorProto.BOOL, [])
    looped = body(
        [("i", TensorProto.INT64, []), scalar, ("h", TensorProto.FLOAT, [2, 4])],
        nodes,
        [
            ("goes_on", TensorProto.BOOL, []),
            ("h_next", TensorProto.FLOAT, [2, 4]),
            ("p", TensorProto.FLOAT, [2, 4]),
        ],
    )
    h = m.op("Loop", m.const(3, np.int64), m.const(True, np.bool_), x, outputs=2, body=looped)
    return m.op("Add", m.op("ReduceSum", h + "_1", m.ints(0), keepdims=0), h)


@case
def a_scan(m):
    x, start = m.input(4, 2, 3), m.const(np.zeros((2, 3)))
    state, element = ("s", TensorProto.FLOAT, [2, 3]), ("e", TensorProto.FLOAT, [2, 3])
    nodes = [
        helper.make_node("Add", ["s", "e"], ["next"]),
        helper.make_node("Exp", ["next"], ["out"]),
    ]
    results = [("next", TensorProto.FLOAT, [2, 3]), ("out", TensorProto.FLOAT, [2, 3])]
    attrs = {"body": body([state, element], nodes, results), "num_scan_inputs": 1}
    y = m.op("Scan", start, x, outputs=2, **attrs)
    return m.op("Add", m.op("ReduceSum", y + "_1", m.ints(0), keepdims=0), y)


OF_NEIGHBOURS = {
    *("GRU_bidirectional_state_0.2", "GRU_bidirectional_state", "LSTM_bidirectional_state"),
    *("LSTM_forward_plain_peepholes", "RNN_bidirectional_state"),
    "LSTM_forward_plain_['HardSigmoid', 'LeakyRelu', 'Elu']",
}
"""Cases all of whose parts are in other ones."""


@pytest.mark.parametrize("name", sampled([n for n in CASES if n not in OF_NEIGHBOURS], CASES))
def test_matches_onnxruntime(name, tmp_path):
    build, opset = CASES[name]
    model = OnnxModel(opset)
    assert_matches(model.save(tmp_path, build(model)), tolerance=1e-4)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk,j->ik", [(3, 4), (4, 5), (4,)]),
        ("ij,jk,kl,jm->im", [(2, 3), (3, 4), (4, 5), (3, 6)]),
        ("bij,bjk->bik", [(1, 2, 3), (4, 3, 5)]),
    ],
)
def test_a_label_that_operands_share_is_summed_over_once(equation, shapes, tmp_path):
    """A label is summed over once, and not before its last operand; one sample fits any number."""
    m = OnnxModel(18)
    operands = m.input(*shapes[0]), *(m.weights(*shape) for shape in shapes[1:])
    y = m.op("Einsum", *operands, equation=equation)
    assert_matches(m.save(tmp_path, y), tolerance=1e-4)


def test_functions_are_inlined(tmp_path):
    m = OnnxModel(18)
    y = m.op("Scaled", m.op("Scaled", m.input(2, 3), domain="mine", by=3.0), domain="mine")
    proto = m.model(y)
    nodes = [
        helper.make_node("Constant", [], ["factor"]),
        helper.make_node("Mul", ["a", "factor"], ["p"]),
        helper.make_node("Outer", ["p"], ["b"], domain="mine"),
    ]
    attribute = nodes[0].attribute.add()
    attribute.name, attribute.ref_attr_name = "value_float", "by"
    attribute.type = onnx.AttributeProto.FLOAT
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    given = [helper.make_attribute("by", 2.0)]
    scaled = helper.make_function("mine", "Scaled", ["a"], ["b"], nodes, opsets, [], given)
    inner = [helper.make_node("Relu", ["a"], ["b"])]
    outer = helper.make_function("mine", "Outer", ["a"], ["b"], inner, opsets)
    proto.functions.extend([scaled, outer])
    proto.opset_import.append(opsets[1])
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    graph, _ = assert_matches(path)
    assert count(graph, "mul") + count(graph, "relu") == len(graph.nodes)


def test_a_function_that_calls_itself_is_refused(tmp_path):
    m = OnnxModel(18)
    proto = m.model(m.op("Again", m.input(2), domain="mine"))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    node = helper.make_node("Again", ["a"], ["b"], domain="mine")
    proto.functions.append(helper.make_function("mine", "Again", ["a"], ["b"], [node], opsets))
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(ModelFormatError, match="deep"):
        read_onnx(path)


def _endless(m):
    nodes = [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Relu", ["h"], ["k"])]
    looped = body(
        [("i", TensorProto.INT64, []), ("c", TensorProto.BOOL, []), ("h", TensorProto.FLOAT, [2])],
        nodes,
        [("d", TensorProto.BOOL, []), ("k", TensorProto.FLOAT, [2])],
    )
    return m.op("Loop", "", m.const(True, np.bool_), m.input(2), body=looped)


REFUSED: dict[str, tuple[Case, type[TinyrtError], str]] = {
    "an endless loop": (_endless, UnsupportedError, "more than 4096 times"),
    "sequences of several lengths": (
        lambda m: m.op(
            "RNN", m.input(3, 2, 4), m.weights(1, 5, 4), m.weights(1, 5, 5), "",
            m.const([3, 1], np.int32), hidden_size=5,
        ),
        UnsupportedError,
        "lengths [3, 1]",
    ),
    "weights of another size": (
        lambda m: m.op("GRU", m.input(3, 2, 4), m.weights(1, 6, 4), m.weights(1, 5, 5)),
        ModelFormatError,
        "shape [1, 6, 4]",
    ),
    "gates of another function": (
        lambda m: m.op(
            "RNN", m.input(3, 2, 4), m.weights(1, 5, 4), m.weights(1, 5, 5), activations=["Mish"]
        ),
        UnsupportedError,
        "RNN with activations ['Mish']",
    ),
    "a diagonal": (
        lambda m: m.op("Einsum", m.input(3, 3), equation="ii->i"),
        UnsupportedError,
        "a label twice",
    ),
    "labels that do not fit": (
        lambda m: m.op("Einsum", m.input(3, 3), equation="ijk->i"),
        ModelFormatError,
        "3 labels|2 labels",
    ),
    "a window in the padding": (
        lambda m: m.op("MaxPool", m.input(1, 1, 8, 8), kernel_shape=[2, 2], pads=[2, 0, 0, 0]),
        UnsupportedError,
        "padding only",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_forms_are_refused(name, tmp_path):
    build, kind, says = REFUSED[name]
    model = OnnxModel(18)
    path = model.save(tmp_path, build(model))
    with pytest.raises((kind, ShapeError), match=says.replace("[", r"\[").replace("]", r"\]")):
        read_onnx(path)
