"""What other writers put into .tflite files: read, and computed as LiteRT computes it."""

import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, scaled, single
from tests.convert.tflite_files import FILES, T, i32, s8, scalar
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import ModelFormatError, TinyrtError, UnsupportedError

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="needs ai-edge-litert")

RNG = np.random.default_rng(3)


def feed(detail):
    if detail["dtype"] is np.bool_:
        return RNG.integers(0, 2, detail["shape"]).astype(np.bool_)
    if detail["dtype"] is np.float32:
        return RNG.normal(size=detail["shape"]).astype(np.float32)
    if detail["name"] == "row":  # of a table that has more
        return RNG.integers(0, 5, detail["shape"]).astype(detail["dtype"])
    limits = np.iinfo(detail["dtype"])
    return RNG.integers(limits.min, limits.max + 1, detail["shape"]).astype(detail["dtype"])


def both(data, runs=1):
    """Both interpreters' outputs of each run on the same inputs."""
    ours = tinyrt.Interpreter(model_content=data)
    peer = litert.Interpreter(
        model_content=data, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF
    )
    for interpreter in (ours, peer):
        interpreter.allocate_tensors()
    for _ in range(runs):
        for mine, theirs in zip(ours.get_input_details(), peer.get_input_details(), strict=True):
            assert mine["dtype"] is theirs["dtype"]
            x = feed(theirs)
            ours.set_tensor(mine["index"], x)
            peer.set_tensor(theirs["index"], x)
        answers = []
        for interpreter in (ours, peer):
            interpreter.invoke()
            details = interpreter.get_output_details()
            answers.append([interpreter.get_tensor(d["index"]) for d in details])
        yield answers


def agree(data, runs=1, atol=1e-6):
    for ours, theirs in both(data, runs):
        for found, expected in zip(ours, theirs, strict=True):
            assert found.dtype == expected.dtype
            assert found.shape == expected.shape
            if found.dtype == np.float32:
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=atol)
            else:
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", FILES)
def test_ops_of_other_writers(name):
    agree(FILES[name])


def test_a_scalar_s_shape_is_a_list_without_entries():
    empty = Tensor("shape", (0,), "INT32", np.empty(0, np.int32))
    agree(single("RESHAPE", [T("x", (1, 1)), empty, T("y", ())], "ReshapeOptions"))


def test_shapes_that_files_compute_are_known():
    """x of two rows -> its own shape, a part of it, packed -> another shape of x."""
    ops = [
        Op("SHAPE", ["x"], ["s"], "ShapeOptions", {"OutType": 2}),
        Op("STRIDED_SLICE", ["s", "zero", "one", "one"], ["rows"], "StridedSliceOptions",
           {"ShrinkAxisMask": 1}),
        Op("PACK", ["rows", "six"], ["target"], "PackOptions", {"ValuesCount": 2, "Axis": 0}),
        Op("RESHAPE", ["x", "target"], ["y"]),
    ]  # fmt: skip
    tensors = [
        T("x", (2, 2, 3)),
        T("s", (3,), "INT32"),
        i32("zero", 0),
        i32("one", 1),
        T("rows", (), "INT32"),
        scalar("six", 6),
        T("target", (2,), "INT32"),
        T("y", (2, 6)),
    ]
    data = build(Subgraph(tensors, ops, ["x"], ["y"]))
    assert [node.op for node in parse_tflite(data).nodes] == ["reshape"]
    agree(data)


def test_buffers_may_be_shared():
    weights = RNG.normal(size=(4, 4)).astype(np.float32)
    tensors = [T("x", (1, 4)), T("w", (4, 4), data=weights), T("again", (4, 4), shares="w"),
               T("h", (1, 4)), T("y", (1, 4))]  # fmt: skip
    ops = [
        Op("FULLY_CONNECTED", ["x", "w", ""], ["h"], "FullyConnectedOptions"),
        Op("FULLY_CONNECTED", ["h", "again", ""], ["y"], "FullyConnectedOptions"),
    ]
    agree(build(Subgraph(tensors, ops, ["x"], ["y"])))


def test_old_files_have_no_versions_and_no_options():
    tensors = [T("a", (3,)), T("b", (3,)), T("y", (3,))]
    ops = [Op("ADD", ["a", "b"], ["y"])]
    graph = Subgraph(tensors, ops, ["a", "b"], ["y"])
    agree(build(graph, versions=False, metadata={"made by": b"\x00\xff someone"}))


def increment():
    """A counter: y = count + x, which the next run begins with."""
    tensors = [T("x", (1, 2)), T("h", (), "RESOURCE"), T("old", (1, 2)), T("y", (1, 2))]
    texts = {"SharedName": "count", "Container": ""}
    ops = [
        Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}),
        Op("VAR_HANDLE", [], ["h"], "VarHandleOptions", texts=texts),
        Op("READ_VARIABLE", ["h"], ["old"], "ReadVariableOptions"),
        Op("ADD", ["old", "x"], ["y"], "AddOptions"),
        Op("ASSIGN_VARIABLE", ["h", "y"], [], "AssignVariableOptions"),
    ]
    return Subgraph(tensors, ops, ["x"], ["y"])


def beginning(value):
    texts = {"SharedName": "count", "Container": ""}
    tensors = [T("h", (), "RESOURCE"), T("zero", (1, 2), data=np.full((1, 2), value, np.float32))]
    ops = [
        Op("VAR_HANDLE", [], ["h"], "VarHandleOptions", texts=texts),
        Op("ASSIGN_VARIABLE", ["h", "zero"], [], "AssignVariableOptions"),
    ]
    return Subgraph(tensors, ops, [], [])


def test_variables_are_states():
    data = build(increment(), beginning(0))
    assert parse_tflite(data).answers == ("y",)
    agree(data, runs=3)
    interpreter = tinyrt.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    (given,), (answer,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.set_tensor(given["index"], np.ones((1, 2), np.float32))
    for _ in range(3):
        interpreter.invoke()
    assert interpreter.get_tensor(answer["index"]).tolist() == [[3, 3]]
    interpreter.reset_all_variables()
    interpreter.invoke()
    assert interpreter.get_tensor(answer["index"]).tolist() == [[1, 1]]


@pytest.mark.parametrize("value", [1, (0, 1)])
def test_variables_that_begin_otherwise_are_refused(value):
    with pytest.raises(UnsupportedError, match="begin as zeros"):
        parse_tflite(build(increment(), beginning(value)))


def test_signatures_may_be_subgraphs_of_their_own():
    data = build(scaled(2), scaled(3), signatures={"double": 0, "triple": 1})
    x = np.ones((1, 3), np.float32)
    ours, peer = tinyrt.Interpreter(model_content=data), litert.Interpreter(model_content=data)
    assert ours.get_signature_list() == peer.get_signature_list()
    for key, factor in (("double", 2), ("triple", 3)):
        for interpreter in (ours, peer):
            (y,) = interpreter.get_signature_runner(key)(x=x).values()
            np.testing.assert_array_equal(y, factor * x)
    agree(data)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_subgraphs_of_signatures_may_have_different_numbers_of_tensors(order):
    one = Subgraph([T("x", (1, 3))], [], ["x"], ["x"])
    subgraphs = [(one, scaled(3))[i] for i in order]
    data = build(*subgraphs, signatures={"one": order.index(0), "three": order.index(1)})
    interpreter = tinyrt.Interpreter(model_content=data)
    for key, factor in (("one", 1), ("three", 3)):
        (y,) = interpreter.get_signature_runner(key)(x=np.ones((1, 3), np.float32)).values()
        assert y.tolist() == [[factor] * 3]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (single("PACK", [T("a", (2,)), T("y", (1, 2))], "PackOptions", Axis=2), "axis 2"),
        (single("UNPACK", [T("x", (3,)), T("y", ())], "UnpackOptions", Num=1), "1 outputs"),
        (single("SPLIT", [scalar("axis", 0), T("x", (3,)), T("y", (1,)), T("y1", (1,))],
                "SplitOptions"), "left over"),
        (single("SPLIT_V", [T("x", (3,)), i32("n", 1), scalar("axis", 0), T("y", (1,))],
                "SplitVOptions"), "elements in all parts"),
        (single("GATHER_ND", [T("x", (3,)), i32("i", 3), T("y", ())]), "lies outside"),
        (single("SPLIT", [T("axis", (), "INT32"), T("x", (2,)), T("y", (1,)), T("y1", (1,))],
                "SplitOptions"), "computed at run time"),
        (single("L2_POOL_2D", [s8("x", 1, 2, 2, 1), s8("y", 1, 1, 1, 1)], "Pool2DOptions"),
         "on int8"),
        (single("LESS", [s8("a", 3), s8("b", 3, scale=1.5), T("y", (3,), "BOOL")]), "scale 1.5"),
        (single("READ_VARIABLE", [T("x", (1,), "RESOURCE"), T("y", (1,))]), "no handle"),
        (single("ADD", [T("a", (0, 3)), T("b", (3,)), T("y", (0, 3))]), "empty"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(data, says):
    with pytest.raises(TinyrtError, match=says):
        parse_tflite(data)


def test_a_signature_of_a_missing_subgraph_is_refused():
    with pytest.raises(ModelFormatError, match="'f' is subgraph 7 of 1"):
        parse_tflite(build(scaled(2), signatures={"f": 7}))
