"""Verification refuses each broken invariant, and names where."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.graphs import lstm_net, small_cnn
from tests.ops.quantised import constant, f32, graph_of, s8, value
from tests.refusals_plugin import raises_of
from tinyrt.errors import VerifyError
from tinyrt.ir import DType, Stage, Value, dump, verifier
from tinyrt.ops import verify
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

NET, LSTM = small_cnn(), lstm_net()
FIRST = NET.nodes[0]


def with_first(**fields):
    return replace(NET, nodes=(replace(FIRST, **fields), *NET.nodes[1:]))


def with_first_output(**fields):
    (name,) = FIRST.outputs
    return replace(NET, values=NET.values | {name: replace(NET.value(name), **fields)})


def one_op(*inputs, y=None, op="abs", attrs=None, **fields):
    graph = graph_of(op, attrs or NoAttrs(), inputs, [y or inputs[0]])
    return replace(graph, **fields)


def says(problem, **fields):
    return {"problem": problem, **fields}


UNFIT = "a tensor does not fit its stage"
STORED = "activations in another dtype: this one is for constants alone"
TYPED = "its dtype and shape in the graph's values"
STATES = "an input and an output of the model, each of one state"
CONV, ABS = "conv2d 'conv2d_0'", "abs 'op'"

BROKEN = {
    "a state of nothing": (
        replace(NET, states=(("x", "nothing"),)),
        says("state 'x' -> 'nothing'", expected=STATES),
    ),
    "a state twice": (
        one_op(f32(2), states=(("a", "y"), ("a", "y"))),
        says("state 'a' -> 'y'", expected=STATES),
    ),
    "a state that no op computes": (
        one_op(f32(2), outputs=("y", "a"), states=(("a", "a"),)),
        says(
            "state 'a' -> 'a'",
            expected="an output that an op computes: reshape what a state keeps as it is",
        ),
    ),
    "a state that changes": (
        replace(NET, states=(("x", NET.outputs[0]),)),
        says(
            "state 'x' f32[1,8,8,3] becomes 'softmax_7' f32[1,5]",
            expected="the same type",
        ),
    ),
    "another order": (
        replace(NET, nodes=(NET.nodes[1], FIRST, *NET.nodes[2:])),
        says(
            "'conv2d_0' is used before it is defined",
            op="conv2d 'conv2d_1'",
            expected="an input, a constant, or the output of an earlier op",
        ),
    ),
    "an op twice": (
        replace(NET, nodes=(*NET.nodes, NET.nodes[-1])),
        says(
            "'softmax_7' is defined twice",
            op="softmax 'softmax_7'",
            expected="a tensor of its own for each output",
        ),
    ),
    "an output twice": (
        with_first(outputs=FIRST.outputs * 2),
        says(
            "'conv2d_0' is defined twice", op=CONV, expected="a tensor of its own for each output"
        ),
    ),
    "an op's output without a type": (
        with_first(outputs=(*FIRST.outputs, "nowhere")),
        says("output 'nowhere' has no value", op=CONV, expected=TYPED),
    ),
    "an output of nothing": (
        replace(NET, outputs=("nothing",)),
        says(
            "output 'nothing' is never computed",
            expected="an input, a constant, or the output of an op",
        ),
    ),
    "an input without a type": (
        replace(NET, inputs=("x", "y")),
        says("input 'y' has no value", expected=TYPED),
    ),
    "an input twice": (
        replace(NET, inputs=("x", "x")),
        says(
            "two inputs of the model are one tensor",
            tensor="'x' f32[1,8,8,3]",
            expected="a tensor for each",
        ),
    ),
    "an input with data": (
        replace(NET, inputs=("x", FIRST.inputs[1])),
        says(
            "an input of the model is a constant",
            tensor="'const1' f32[8,3,3,3]",
            expected="a tensor without data",
        ),
    ),
    "too many of some inputs": (
        with_first(inputs=FIRST.inputs * 2),
        says("6 inputs", op=CONV, expected="2-3"),
    ),
    "too many inputs": (one_op(f32(2), f32(2)), says("2 inputs", op=ABS, expected="1")),
    "an absent input": (
        with_first(inputs=("", *FIRST.inputs[1:])),
        says("input 0 is missing", op=CONV, expected="a tensor"),
    ),
    "an unknown op": (
        with_first(op="nonsense"),
        says(
            "there is no op 'nonsense'",
            op="nonsense 'conv2d_0'",
            expected="an op of the table that 'tinyrt ops' prints",
        ),
    ),
    "another op's attributes": (
        with_first(attrs=SoftmaxAttrs()),
        says(
            "attributes are SoftmaxAttrs(beta=1.0, widen=False)", op=CONV, expected="a Conv2dAttrs"
        ),
    ),
    "another shape": (
        with_first_output(shape=(1, 8, 8, 9)),
        says(
            "output is f32[1,8,8,9]",
            op=CONV,
            tensor="'conv2d_0' f32[1,8,8,9]",
            expected="f32[1,8,8,8]",
        ),
    ),
    "another shape of a later output": (
        replace(LSTM, values=LSTM.values | {"cell": replace(LSTM.value("cell"), shape=(1, 5))}),
        says(
            "output is f32[1,6,4], f32[1,4], f32[1,5]",
            op="unidirectional_sequence_lstm 'lstm'",
            tensor="'all' f32[1,6,4]",
            expected="f32[1,6,4], f32[1,4], f32[1,4]",
        ),
    ),
    "another dtype": (
        with_first_output(dtype=DType.INT8),
        says(
            "output is s8[1,8,8,8]",
            op=CONV,
            tensor="'conv2d_0' s8[1,8,8,8]",
            expected="f32[1,8,8,8]",
        ),
    ),
    "an input that is only stored": (
        one_op(Value("", DType.FLOAT16, (2,))),
        says(UNFIT, tensor="'a' f16[2]", expected=STORED),
    ),
    "an activation that is only stored": (
        one_op(
            constant(DType.FLOAT16, 1, 2, scale=0),
            y=Value("", DType.FLOAT16, (2,)),
            op="reshape",
            attrs=ReshapeAttrs((2,)),
        ),
        says(UNFIT, op="reshape 'op'", tensor="'y' f16[2]", expected=STORED),
    ),
    "no parameters": (
        one_op(s8(2, scale=0)),
        says(
            UNFIT,
            op=ABS,
            tensor="'a' s8[2]",
            expected="quantisation parameters on every int8 and int16 tensor",
        ),
    ),
}
BROKEN_FOR_STAGE = {
    "integers": (
        (one_op(s8(2)), Stage.FLOAT),
        says(UNFIT, op=ABS, tensor="'a' s8[2]", expected="float32 activations before quantisation"),
    ),
    "a float op": (
        (one_op(value(DType.INT32, 2), y=f32(2), op="cast", attrs=CastAttrs()), Stage.INT8),
        says(
            "the op has no integer form",
            op="cast 'op'",
            hint="fold or replace it before quantising",
        ),
    ),
    "no place": (
        (NET, Stage.PLANNED, {"x"}),
        says(
            "no place in the arena",
            tensor="'conv2d_0' f32[1,8,8,8]",
            expected="a place for each input, and for each output of an op",
        ),
    ),
}
ALL = {name: ((graph,), said) for name, (graph, said) in BROKEN.items()} | BROKEN_FOR_STAGE


def refusal(*case):
    with pytest.raises(VerifyError) as caught:
        verify(*case)
    return caught


@pytest.mark.parametrize("name", ALL)
def test_each_refusal_names_the_op_the_tensor_and_what_was_expected(name):
    case, said = ALL[name]
    assert refusal(*case).value.as_dict() == said


def test_the_table_has_every_refusal_of_the_verifier():
    seen = {refusal(*case).traceback[-1].lineno + 1 for case, _ in ALL.values()}
    statements = raises_of(Path(verifier.__file__).parent)
    assert seen == {raised.line for raised in statements if raised.file == "verifier.py"}


def test_attributes_are_of_the_type_that_is_asked_for():
    first = small_cnn().bind(0)
    assert first.attrs_as(Conv2dAttrs) is first.attrs
    with pytest.raises(TypeError, match="not SoftmaxAttrs"):
        first.attrs_as(SoftmaxAttrs)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16, DType.UINT32, DType.UINT64])
@pytest.mark.parametrize("stage", [None, Stage.FLOAT, Stage.INT8])
def test_some_ops_take_integers_without_scales(dtype, stage):
    x, y = value(dtype, 2, 3), value(dtype, 6)
    graph = one_op(replace(x, q=None), y=replace(y, q=None), op="reshape", attrs=ReshapeAttrs((6,)))
    assert verify(graph, stage) is graph


def test_integers_with_scales_are_none_of_a_float_graph():
    graph = one_op(s8(2, 3), y=s8(6), op="reshape", attrs=ReshapeAttrs((6,)))
    assert UNFIT in refusal(graph, Stage.FLOAT).value.problem


def test_a_float_graph_is_one_at_its_stage():
    """With the bias of its first op, or without one."""
    assert verify(NET, Stage.FLOAT) is NET
    bare = with_first(inputs=(*FIRST.inputs[:2], ""))
    assert verify(bare, Stage.FLOAT) is bare


def test_dump_names_every_op_and_its_attributes():
    text = dump(small_cnn())
    assert "input  %x: f32[1,8,8,3]" in text
    assert (
        "%conv2d_0: f32[1,8,8,8] = conv2d(%x, const f32[8,3,3,3], const f32[8]) "
        "{stride=(1, 1), padding=SAME, dilation=(1, 1), activation=RELU}" in text
    )
    assert text.endswith("output %softmax_7")


def test_what_was_correct_is_checked_again_where_its_tensors_differ():
    """An op's record is of the node with what it reads and with what it puts out."""
    graph = one_op(f32(2, 3))
    for name in ("a", "y"):
        known = {}
        assert verify(graph, Stage.FLOAT, verified=known) is graph
        assert known.keys() == {id(node) for node in graph.nodes}
        wrong = replace(graph.value(name), shape=(2, 4))
        with pytest.raises(VerifyError, match="output is"):
            verify(replace(graph, values=graph.values | {name: wrong}), verified=known)
        right = {n: replace(graph.value(n), shape=(2, 4)) for n in ("a", "y")}
        verify(replace(graph, values=right), Stage.FLOAT, verified=known)


def test_what_was_correct_and_is_the_same_is_not_checked_again(monkeypatch):
    checked, known = [], {}
    check = verifier.check_types

    def noted(bound, rules):
        checked.append(bound.name)
        check(bound, rules)

    monkeypatch.setattr(verifier, "check_types", noted)
    verify(NET, Stage.FLOAT, verified=known)
    verify(NET, Stage.FLOAT, verified=known)
    changed = with_first(name="another")
    verify(changed, Stage.FLOAT, verified=known)
    assert checked == [*(node.name for node in NET.nodes), "another"]


def test_a_node_is_the_same_with_the_same_values_alone():
    """An equal one may have been made of others, of which nothing was verified."""
    graph = one_op(f32(2))
    node = graph.bind(0)
    assert verifier._is_same(node, node)
    assert verifier._is_same(node, replace(node))
    assert not verifier._is_same(None, node)
    assert not verifier._is_same(replace(node, node=replace(node.node)), node)
    assert not verifier._is_same(replace(node, inputs=(replace(node.input(0)),)), node)


BYTES = value(DType.INT8, 2, scale=0.0)
STAGES = {
    "floats before": (one_op(f32(2)), Stage.FLOAT, True),
    "bytes before": (one_op(s8(2)), Stage.FLOAT, False),
    "plain bytes before": (one_op(BYTES), Stage.FLOAT, False),
    "plain bytes that move before": (
        one_op(BYTES, op="reshape", attrs=ReshapeAttrs((2,))),
        Stage.FLOAT,
        True,
    ),
    "bytes with a scale that move before": (
        one_op(s8(2), op="reshape", attrs=ReshapeAttrs((2,))),
        Stage.FLOAT,
        False,
    ),
    "an op on floats behind": (one_op(f32(2), op="sin"), Stage.INT8, True),
}


@pytest.mark.parametrize("name", STAGES)
def test_stages_tell_which_tensors_may_be_integers(name):
    graph, stage, fits = STAGES[name]
    if fits:
        assert verify(graph, stage) is graph
    else:
        with pytest.raises(VerifyError):
            verify(graph, stage)
