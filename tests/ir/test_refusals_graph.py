"""Graphs and parameters that cannot be are refused by name."""

from dataclasses import replace

import pytest

from tests.graphs import small_cnn
from tests.ops.quantised import f32, graph_of, node_of, s8, value
from tinyrt.errors import VerifyError
from tinyrt.ir import DType, QParams, Stage, Value
from tinyrt.ops import verify
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.shared.spec import NoAttrs

NONE = NoAttrs()
COUNTS = value(DType.INT32, 2)


def refused(action, kind=VerifyError):
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def with_states(*states):
    graph = small_cnn()
    return replace(graph, states=states)


def renamed_output():
    graph = small_cnn()
    first = replace(graph.nodes[0], outputs=("nowhere",))
    return replace(graph, nodes=(first, *graph.nodes[1:]))


def unquantised(dtype):
    return graph_of("abs", NONE, *[[Value("", dtype, (2,))]] * 2)


SMALL = small_cnn()
BROKEN = [
    (
        lambda: verify(with_states(("x", "nothing"))),
        ["state 'x' -> 'nothing'", "an input and an output of the model"],
    ),
    (
        lambda: verify(with_states(("x", SMALL.outputs[0]))),
        ["state 'x' f32[1,8,8,3] becomes 'softmax_7' f32[1,5]", "the same type"],
    ),
    (lambda: verify(renamed_output()), ["output 'nowhere' has no value", "#0 conv2d"]),
    (lambda: verify(replace(SMALL, inputs=("x", "y"))), ["input 'y' has no value"]),
    (
        lambda: verify(graph_of("abs", NONE, [s8(2)], [s8(2)]), Stage.FLOAT),
        ["does not fit its stage", "'a' s8[2]", "float32 activations", "#0 abs 'op'"],
    ),
    (
        lambda: verify(unquantised(DType.INT8)),
        ["does not fit its stage", "'a' s8[2]", "quantisation parameters on every int8 and int16"],
    ),
    (
        lambda: verify(graph_of("cast", CastAttrs(), [COUNTS], [f32(2)]), Stage.INT8),
        ["no integer form", "fold or replace it", "#0 cast 'op'"],
    ),
    (
        lambda: node_of("abs", NONE, [f32(2)], [f32(2)]).input(1),
        ["input 1 is missing", "#0 abs 'op'"],
    ),
]


@pytest.mark.parametrize(("action", "says"), BROKEN)
def test_broken_graphs_are_refused(action, says):
    text = refused(action)
    for part in says:
        assert part in text


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (lambda: QParams(()), "at least one scale"),
        (lambda: QParams((1.0, 2.0)), "2 scales, but no axis that they belong to"),
        (lambda: QParams((1.0, 2.0), axis=0).scale, "per-channel quantisation has 2 scales"),
    ],
)
def test_parameters_that_cannot_be_are_refused(action, says):
    assert says in refused(action, ValueError)
