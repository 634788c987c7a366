"""Verification refuses each broken invariant, and names where."""

from dataclasses import replace

import pytest

from tests.graphs import small_cnn
from tinyrt.errors import TinyrtError
from tinyrt.ir import DType, Stage, dump
from tinyrt.ops import verify
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.softmax import SoftmaxAttrs


def _broken_order(graph):
    first, second, *rest = graph.nodes
    return replace(graph, nodes=(second, first, *rest))


def _wrong_shape(graph):
    name = graph.nodes[0].outputs[0]
    values = graph.values | {name: replace(graph.values[name], shape=(1, 8, 8, 9))}
    return replace(graph, values=values)


def _wrong_dtype(graph):
    name = graph.nodes[0].outputs[0]
    values = graph.values | {name: replace(graph.values[name], dtype=DType.INT8)}
    return replace(graph, values=values)


def _unknown_op(graph):
    return replace(graph, nodes=(replace(graph.nodes[0], op="nonsense"), *graph.nodes[1:]))


def _defined_twice(graph):
    return replace(graph, nodes=(*graph.nodes, graph.nodes[-1]))


def _missing_output(graph):
    return replace(graph, outputs=("nothing",))


def _too_many_inputs(graph):
    first = graph.nodes[0]
    return replace(graph, nodes=(replace(first, inputs=first.inputs * 2), *graph.nodes[1:]))


def _attributes_of_another_op(graph):
    first = replace(graph.nodes[0], attrs=SoftmaxAttrs())
    return replace(graph, nodes=(first, *graph.nodes[1:]))


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (_broken_order, "used before it is defined"),
        (_wrong_shape, "output is f32[1,8,8,9]"),
        (_wrong_dtype, "output is s8"),
        (_unknown_op, "there is no op 'nonsense'"),
        (_defined_twice, "defined twice"),
        (_missing_output, "never computed"),
        (_too_many_inputs, "6 inputs"),
        (_attributes_of_another_op, "expected: a Conv2dAttrs"),
    ],
    ids=lambda f: getattr(f, "__name__", None),
)
def test_broken_invariants_are_refused(broken, says):
    with pytest.raises(TinyrtError) as caught:
        verify(broken(small_cnn()))
    assert says in str(caught.value)


def test_attributes_are_of_the_type_that_is_asked_for():
    first = small_cnn().bind(0)
    assert first.attrs_as(Conv2dAttrs) is first.attrs
    with pytest.raises(TypeError, match="not SoftmaxAttrs"):
        first.attrs_as(SoftmaxAttrs)


def test_stages_differ():
    graph = small_cnn()
    verify(graph, Stage.FLOAT)
    with pytest.raises(TinyrtError, match="no place in the arena"):
        verify(graph, Stage.PLANNED, placed={"x"})


def test_dump_names_every_op_and_its_attributes():
    text = dump(small_cnn())
    assert "input  %x: f32[1,8,8,3]" in text
    assert (
        "%conv2d_0: f32[1,8,8,8] = conv2d(%x, const f32[8,3,3,3], const f32[8]) "
        "{stride=(1, 1), padding=SAME, dilation=(1, 1), activation=RELU}" in text
    )
    assert text.endswith("output %softmax_7")
