"""Ops that run other subgraphs: written out, and computed as LiteRT computes them."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.test_tflite_breadth import agree
from tinyrt.convert.tflite import reader
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate

T = Tensor
FLAG, COUNT = T("flag", (1,), "BOOL"), T("i", (1,), "INT32")


def const(name, *numbers, dtype="FLOAT32"):
    kind = {"FLOAT32": np.float32, "INT32": np.int32, "BOOL": np.bool_}[dtype]
    return T(name, (len(numbers),), dtype, np.array(numbers, kind))


def binary(builtin, a, b, y):
    return Op(builtin, [a, b], [y], f"{builtin.title()}Options")


def model(op, *tensors, inputs=("x",), others=(), y=None):
    """The op on x of three floats, and the subgraphs that it runs."""
    ports = [T("x", (1, 3)), y or T("y", (1, 3))]
    return build(Subgraph([*ports, *tensors], [op], list(inputs), ["y"]), *others)


def affine(builtin, number):
    """y = x + number, or x * number."""
    tensors = [T("x", (1, 3)), const("k", number), T("y", (1, 3))]
    return Subgraph(tensors, [binary(builtin, "x", "k", "y")], ["x"], ["y"])


def choice(*tensors, inputs=("flag", "x")):
    fields = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
    op = Op("IF", ["flag", "x"], ["y"], "IfOptions", fields)
    return model(op, *tensors, inputs=inputs, others=[affine("ADD", 2), affine("MUL", -3)])


def composite(inner, **options):
    fields = {"DecompositionSubgraphIndex": 1}
    op = Op("STABLEHLO_COMPOSITE", ["x"], ["y"], "StableHLOCompositeOptions", fields)
    return model(op, others=[inner], **options)


@pytest.mark.parametrize("kind", ["call", "composite"])
def test_a_subgraph_takes_the_op_s_place(kind):
    call = Op("CALL", ["x"], ["y"], "CallOptions", {"Subgraph": 1})
    inner = affine("MUL", 7)
    graph = parse_tflite(composite(inner) if kind == "composite" else model(call, others=[inner]))
    assert [node.op for node in graph.nodes] == ["mul", "reshape"]
    x = np.array([[1, -2, 3]], np.float32)
    np.testing.assert_array_equal(evaluate(graph, {"x": x})["y"], 7 * x)


@pytest.mark.parametrize("flag", [True, False])
def test_a_known_branch_is_the_only_one(flag):
    data = choice(const("flag", flag, dtype="BOOL"), inputs=["x"])
    agree(data)
    assert [node.op for node in parse_tflite(data).nodes] == ["add" if flag else "mul", "reshape"]


@pytest.mark.parametrize("shape", [(1,), ()])
def test_of_unknown_branches_one_is_chosen(shape):
    data = choice(T("flag", shape, "BOOL"))
    agree(data, runs=6)
    assert [node.op for node in parse_tflite(data).nodes][-1] == "select_v2"


def counting(limit=4, first=0, others=()):
    """x = 2 * x + i for i from ``first`` on, as long as it is below the limit."""
    ports = [COUNT, T("x", (1, 3))]
    below = [*ports, const("n", limit, dtype="INT32"), T("less", (1,), "BOOL")]
    condition = Subgraph(
        below, [Op("LESS", ["i", "n"], ["less"], "LessOptions")], ["i", "x"], ["less"]
    )
    step = [
        const("two", 2),
        const("one", 1, dtype="INT32"),
        T("f", (1,)),
        T("z", (1, 3)),
        T("more", (1, 3)),
        T("next", (1,), "INT32"),
    ]
    ops = [
        Op("CAST", ["i"], ["f"], "CastOptions", {"InDataType": 2, "OutDataType": 0}),
        binary("MUL", "x", "two", "z"),
        binary("ADD", "z", "f", "more"),
        binary("ADD", "i", "one", "next"),
    ]
    body = Subgraph([*ports, *step], ops, ["i", "x"], ["next", "more"])
    fields = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    op = Op("WHILE", ["i", "x"], ["last", "y"], "WhileOptions", fields)
    last = T("last", (1,), "INT32")
    return model(op, const("i", first, dtype="INT32"), last, others=[condition, body, *others])


@pytest.mark.parametrize("first", [0, 3, 4])
def test_a_loop_is_written_out(first):
    data = counting(first=first)
    agree(data)
    ops = [node.op for node in parse_tflite(data).nodes]
    assert ops.count("mul") == ops.count("add") == 4 - first


def test_what_a_loop_hands_on_stays_the_constant_that_it_is():
    """Weights go in and come out of each round; none is copied."""
    ports = [COUNT, T("w", (3,)), T("x", (1, 3))]
    names = ["i", "w", "x"]
    below = Subgraph(
        [*ports, const("n", 3, dtype="INT32"), T("less", (1,), "BOOL")],
        [Op("LESS", ["i", "n"], ["less"], "LessOptions")],
        names,
        ["less"],
    )
    step = [const("one", 1, dtype="INT32"), T("next", (1,), "INT32"), T("more", (1, 3))]
    ops = [binary("ADD", "i", "one", "next"), binary("MUL", "x", "w", "more")]
    body = Subgraph([*ports, *step], ops, names, ["next", "w", "more"])
    fields = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    op = Op("WHILE", names, ["last", "v", "y"], "WhileOptions", fields)
    extra = [const("i", 0, dtype="INT32"), const("w", 1, -2, 3), T("last", (1,), "INT32")]
    data = model(op, *extra, T("v", (3,)), others=[below, body])
    agree(data)
    graph = parse_tflite(data)
    weights = [graph.value(node.inputs[1]).data for node in graph.nodes if node.op == "mul"]
    assert len(weights) == 3
    assert all(np.shares_memory(w, weights[0]) for w in weights)


def test_a_loop_of_unknown_length_is_refused():
    tensors = [T("x", (1, 3)), T("less", (1,), "BOOL"), const("i", 1, dtype="INT32")]
    unknown = Subgraph(
        tensors,
        [
            Op("REDUCE_ANY", ["flags", "i"], ["less"], "ReducerOptions"),
            Op("LESS", ["x", "x"], ["flags"], "LessOptions"),
        ][::-1],
        ["x"],
        ["less"],
    )
    unknown.tensors.append(T("flags", (1, 3), "BOOL"))
    op = Op("WHILE", ["x"], ["y"], "WhileOptions", {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2})
    with pytest.raises(UnsupportedError, match="rounds that is computed at run time") as caught:
        parse_tflite(model(op, others=[unknown, affine("ADD", 1)]))
    assert caught.value.op == "#0 WHILE"
    assert "fixed number of steps" in caught.value.hint


def test_an_op_inside_is_named_with_its_subgraph():
    wrong = Subgraph(
        [T("x", (1, 3)), T("y", (1, 3))],
        [Op("PACK", ["x"], ["y"], "PackOptions", {"Axis": 9})],
        ["x"],
        ["y"],
    )
    with pytest.raises(ModelFormatError, match="axis 9") as caught:
        parse_tflite(composite(wrong))
    assert caught.value.op == "#0 PACK of subgraph 1"


STATE = Subgraph(
    [T("x", (1, 3)), T("h", (1,), "RESOURCE")],
    [Op("VAR_HANDLE", [], ["h"], "VarHandleOptions", texts={"SharedName": "v"})],
    ["x"],
    ["x"],
)
CONDITION = Op("WHILE", ["x"], ["y"], "WhileOptions", {"CondSubgraphIndex": 1})
FILTER = Subgraph(
    [
        T("x", (1, 3)),
        T("feature", (1, 3), data=np.ones((1, 3), np.float32)),
        T("time", (1, 2), data=np.ones((1, 2), np.float32)),
        const("bias", 0),
        T("s", (1, 2), variable=True),
        T("y", (1, 1)),
    ],
    [Op("SVDF", ["x", "feature", "time", "bias", "s"], ["y"], "SVDFOptions", {"Rank": 1})],
    ["x"],
    ["y"],
)
REFUSED = {
    "a subgraph that runs itself": (
        model(Op("CALL", ["x"], ["y"], "CallOptions", {"Subgraph": 0})),
        ModelFormatError,
        "16 deep",
    ),
    "too few inputs": (
        model(Op("CALL", [], ["y"], "CallOptions", {"Subgraph": 1}), others=[affine("ADD", 1)]),
        ModelFormatError,
        "subgraph 1 has 1 inputs",
    ),
    "an input left out": (
        model(
            Op("CALL", ["x", -1], ["y"], "CallOptions", {"Subgraph": 1}), others=[affine("ADD", 1)]
        ),
        ModelFormatError,
        "lacks an input",
    ),
    "too few outputs": (
        composite(Subgraph([T("x", (1, 3))], [], ["x"], [])),
        ModelFormatError,
        "the subgraph has 0 outputs",
    ),
    "an input of another dtype": (
        composite(Subgraph([T("x", (1, 3), "INT32")], [], ["x"], ["x"])),
        UnsupportedError,
        "another type",
    ),
    "an input of another scale": (
        build(
            Subgraph(
                [T(name, (1, 3), "INT8", scale=0.5) for name in "xy"],
                [Op("CALL", ["x"], ["y"], "CallOptions", {"Subgraph": 1})],
                ["x"],
                ["y"],
            ),
            Subgraph([T("x", (1, 3), "INT8", scale=0.25)], [], ["x"], ["x"]),
        ),
        UnsupportedError,
        "another type",
    ),
    "an output of another dtype": (
        composite(affine("ADD", 1), y=T("y", (1, 3), "INT32")),
        UnsupportedError,
        "another type",
    ),
    "a tensor that nothing computes": (
        composite(Subgraph([T("x", (1, 3)), T("y", (1, 3))], [], ["x"], ["y"])),
        ModelFormatError,
        "no op of the subgraph computes",
    ),
    "state inside": (composite(STATE), UnsupportedError, "subgraph 1 keeps state"),
    "a filter inside": (
        composite(FILTER, y=T("y", (1, 1))),
        UnsupportedError,
        "subgraph 1 keeps state",
    ),
    "a choice without a condition": (
        model(Op("IF", [], ["y"], "IfOptions", {"ThenSubgraphIndex": 1})),
        ModelFormatError,
        "IF without a condition",
    ),
    "a choice by numbers": (choice(T("flag", (1,))), ModelFormatError, "IF without a condition"),
    "a choice by several": (
        choice(T("flag", (2,), "BOOL")),
        ModelFormatError,
        "IF without a condition",
    ),
    "a loop without a condition": (
        model(CONDITION, others=[affine("ADD", 1)]),
        ModelFormatError,
        "WHILE without a condition",
    ),
    "a loop with fewer results": (
        model(
            Op(
                "WHILE",
                ["i", "x"],
                ["y"],
                "WhileOptions",
                {"CondSubgraphIndex": 1, "BodySubgraphIndex": 1},
            ),
            const("i", 9, dtype="INT32"),
            others=[
                Subgraph(
                    [COUNT, T("x", (1, 3)), const("no", False, dtype="BOOL")],
                    [],
                    ["i", "x"],
                    ["no"],
                )
            ],
        ),
        ModelFormatError,
        "the op has 1 outputs",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_does_not_fit_is_refused(kind):
    data, error, says = REFUSED[kind]
    with pytest.raises(error, match=says) as caught:
        parse_tflite(data)
    assert caught.value.expected or caught.value.hint


def test_subgraphs_may_lie_as_deep_as_allowed(monkeypatch):
    deep = composite(affine("ADD", 1))
    monkeypatch.setattr(reader, "DEEPEST", 1)
    assert parse_tflite(deep).nodes
    monkeypatch.setattr(reader, "DEEPEST", 0)
    with pytest.raises(ModelFormatError, match="0 deep"):
        parse_tflite(deep)
