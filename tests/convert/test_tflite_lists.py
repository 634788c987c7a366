"""Loops that fill a list row by row, as Keras' recurrent layers do with ``return_sequences``."""

import warnings

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.test_tflite_breadth import agree
from tests.passes.run import ops
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import UnsupportedError

T = Tensor
ROWS, WIDTH = 4, 3


def ints(name, *numbers, shape=None):
    return T(name, (len(numbers),) if shape is None else shape, "INT32", np.int32(numbers))


def start(name, first, tail):
    """The place (i, ...) of a row, from its number."""
    made = T(f"{name}_row", (1,), "INT32"), T(name, (3,), "INT32"), ints(f"{name}_tail", *tail)
    steps = [
        Op("RESHAPE", [first, "one_dim"], [f"{name}_row"]),
        Op("CONCATENATION", [f"{name}_row", f"{name}_tail"], [name], "ConcatenationOptions"),
    ]
    return made, steps


def filling(others=(), extra=(), last="filled"):
    """list[i] = x * 2**i for each of four rows; i counts two ways, as Keras' do.

    Args:
        others: ops at the end of the body.
        extra: tensors of these.
        last: the list that the body hands on.

    """
    ports = [T("i", (), "INT32"), T("list", (ROWS, 1, WIDTH)), T("x", (1, WIDTH))]
    names = ["i", "list", "x"]
    condition = Subgraph(
        [*ports, ints("n", ROWS, shape=()), T("less", (), "BOOL")],
        [Op("LESS", ["i", "n"], ["less"], "LessOptions")],
        names,
        ["less"],
    )
    before, find_end = start("end", "i", (-1, -1))
    behind, find_start = start("begin", "next", (0, 0))
    tensors = [
        *ports,
        ints("one", 1, shape=()),
        ints("one_dim", 1),
        ints("zeros", 0, 0, 0),
        ints("rest", -1, -1, -1),
        ints("row_shape", 1, 1, WIDTH),
        T("two", (1,), data=np.float32([2])),
        T("next", (), "INT32"),
        T("twice", (1, WIDTH)),
        *before,
        *behind,
        # As the converter declares them: what they are differs from round to round.
        T("head", (1, 1, 1), signature=(-1, -1, -1)),
        T("foot", (1, 1, WIDTH), signature=(-1, -1, -1)),
        T("row", (1, 1, WIDTH)),
        T("filled", (ROWS, 1, WIDTH)),
        *extra,
    ]
    steps = [
        Op("ADD", ["i", "one"], ["next"], "AddOptions"),
        Op("MUL", ["x", "two"], ["twice"], "MulOptions"),
        *find_end,
        Op("SLICE", ["list", "zeros", "end"], ["head"], "SliceOptions"),
        *find_start,
        Op("SLICE", ["list", "begin", "rest"], ["foot"], "SliceOptions"),
        Op("RESHAPE", ["x", "row_shape"], ["row"]),
        Op("CONCATENATION", ["head", "row", "foot"], ["filled"], "ConcatenationOptions"),
        *others,
    ]
    body = Subgraph(tensors, steps, names, ["next", last, "twice"])
    fields = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    loop = Op("WHILE", ["i0", "list0", "x"], ["i4", "y", "x4"], "WhileOptions", fields)
    main = [
        T("x", (1, WIDTH)),
        ints("i0", 0, shape=()),
        T("list0", (ROWS, 1, WIDTH), data=np.zeros((ROWS, 1, WIDTH), np.float32)),
        T("i4", (), "INT32"),
        T("y", (ROWS, 1, WIDTH)),
        T("x4", (1, WIDTH)),
    ]
    return build(Subgraph(main, [loop], ["x"], ["y"]), condition, body)


def test_a_list_is_filled_as_litert_fills_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # declared shapes of a loop's inside say nothing
        agree(filling())


def test_the_rows_are_joined_once():
    graph = optimize(parse_tflite(filling()))
    assert sorted(ops(graph)) == ["concatenation", *["mul"] * 3, *["reshape"] * ROWS]
    assert len(graph.nodes[-1].inputs) == ROWS


def test_names_do_not_grow_from_round_to_round():
    assert max(map(len, parse_tflite(filling()).values)) < 30


def test_another_op_does_not_read_what_has_no_elements():
    others = [Op("ABS", ["head"], ["sizes"], "AbsOptions")]
    data = filling(others, [T("sizes", (1, 1, 1))])
    with pytest.raises(UnsupportedError, match="reads a tensor without elements") as caught:
        parse_tflite(data)
    assert "'head'" in caught.value.tensor
    assert "what CONCATENATION joins" in caught.value.expected
    assert caught.value.op == "#10 ABS of subgraph 2"


@pytest.mark.parametrize("stop", [1, 0])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_strided_slice_without_rows_adds_none_to_what_is_joined(is_first, stop):
    """Which ends where it begins, or before it."""
    tensors = [
        T("x", (2, WIDTH)),
        *(ints("begin", 1, 0), ints("end", stop, WIDTH), ints("strides", 1, 1)),
        T("none", (1, WIDTH), signature=(-1, WIDTH)),
        T("y", (2, WIDTH)),
    ]
    parts = ["none", "x"] if is_first else ["x", "none"]
    steps = [
        Op("STRIDED_SLICE", ["x", "begin", "end", "strides"], ["none"], "StridedSliceOptions"),
        Op("CONCATENATION", parts, ["y"], "ConcatenationOptions"),
    ]
    agree(build(Subgraph(tensors, steps, ["x"], ["y"])))
