"""Shapes that a file declares and its ops do not compute: those that are computed count."""

import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, build, single
from tests.convert.test_tflite_breadth import agree
from tests.convert.test_tflite_subgraphs import affine, const
from tests.convert.tflite_files import T, i32
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import ConversionWarning, UnsupportedError

AXIS, BLOCK = i32("axis", 1), i32("block", 2, 2)
PAIRS = T("pairs", (2, 2), "INT32", np.array([[0, 0], [0, 2]], np.int32))
BRANCHES = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
ONE_ROW = {
    "resize": single("RESIZE_BILINEAR", [
        T("x", (2, 3, 3, 1)), i32("size", 6, 6), T("y", (1, 3, 3, 1))], "ResizeBilinearOptions"),
    "of another rank": single("ADD", [T("x", (2, 3)), T("z", (4, 1, 1)), T("y", (1,))],
                              "AddOptions"),
    "pad": single("PAD", [T("x", (2, 3)), PAIRS, T("y", (1,))]),
    "pack": single("PACK", [T("x", (2, 3)), T("z", (2, 3)), T("y", (1, 3))], "PackOptions",
                   ValuesCount=2, Axis=-1),
    "expand": single("EXPAND_DIMS", [T("x", (2, 3)), AXIS, T("y", (1, 1, 3))]),
    "squeeze": single("SQUEEZE", [T("x", (2, 1, 3, 1)), T("y", (1, 3))]),
    "split": single("SPLIT", [i32("axis", 1), T("x", (2, 6)), T("y", (1, 3)), T("y1", (1, 3))],
                    "SplitOptions", NumSplits=2),
    "new axis": single("STRIDED_SLICE", [
        T("x", (4, 3)), i32("b", 0, 0, 1), i32("e", 0, 4, 2), i32("s", 1, 2, 1), T("y", (1, 1))],
        "StridedSliceOptions", NewAxisMask=1, ShrinkAxisMask=4),
    "to batch": single("SPACE_TO_BATCH_ND", [
        T("x", (2, 4, 4, 3)), BLOCK, PAIRS, T("y", (4, 2, 3, 3))]),
    "from batch": single("BATCH_TO_SPACE_ND", [
        T("x", (8, 2, 3, 3)), BLOCK, PAIRS, T("y", (1, 4, 4, 3))]),
    "l2 pool": single("L2_POOL_2D", [T("x", (2, 4, 4, 3)), T("y", (1, 2, 2, 3))], "Pool2DOptions",
                      FilterHeight=2, FilterWidth=2, StrideH=2, StrideW=2, Padding=1,
                      FusedActivationFunction=1),
    "shape": single("SHAPE", [T("x", (2, 3)), T("y", (1,), "INT32")], "ShapeOptions", OutType=2),
}  # fmt: skip


@pytest.mark.parametrize("kind", ONE_ROW)
def test_a_declared_row_is_as_many_as_are_computed(kind):
    with pytest.warns(ConversionWarning, match="'y' is declared"):
        agree(ONE_ROW[kind])


def test_dimensions_that_are_named_go():
    tensors = [T("x", (2, 1, 3, 1)), T("y", (1, 1, 3))]
    op = Op("SQUEEZE", ["x"], ["y"], "SqueezeOptions", lists={"SqueezeDims": [-1]})
    with pytest.warns(ConversionWarning, match=r"declared \[1, 1, 3\] and computed \[2, 1, 3\]"):
        agree(build(Subgraph(tensors, [op], ["x"], ["y"])))


def test_all_behind_a_wrong_shape_follow_and_one_warning_says_so():
    """Seven sums of two rows, each declared as one."""
    names = [f"h{i}" for i in range(6)]
    ops = [Op("ADD", [a, "k"], [b], "AddOptions") for a, b in zip("x", names, strict=False)]
    ops += [
        Op("ADD", [a, "k"], [b], "AddOptions")
        for a, b in zip(names, [*names[1:], "y"], strict=True)
    ]
    tensors = [T("x", (2, 3)), T("k", (1,), data=np.ones(1, np.float32))]
    data = build(Subgraph([*tensors, *(T(n, (1, 3)) for n in (*names, "y"))], ops, ["x"], ["y"]))
    with pytest.warns(ConversionWarning, match="'h4' is declared.*, and 2 more tensors") as caught:
        agree(data)
    assert len(caught) == 1
    (found,) = tinyrt.Interpreter(model_content=data).get_output_details()
    assert tuple(found["shape"]) == (2, 3)


def test_integers_of_each_sort_are_as_right():
    """uint8 and hybrid layers become int8 and float only once the file is read."""
    tensors = [
        T("x", (2, 3)),
        T("w", (4, 3), "INT8", np.ones((4, 3), np.int8), scale=0.5),
        T("y", (1, 4)),
    ]
    hybrid = single("FULLY_CONNECTED", tensors, "FullyConnectedOptions")
    ports = [
        T(name, (rows, 3), "UINT8", scale=0.1, zero_point=3) for name, rows in (("x", 2), ("y", 1))
    ]
    for data in (hybrid, single("RELU", ports)):
        with pytest.warns(ConversionWarning, match="'y' is declared"):
            assert parse_tflite(data).value("y").shape[0] == 2


def test_subgraphs_take_what_they_are_given():
    call = Op("CALL", ["z"], ["y"], "CallOptions", {"Subgraph": 1})
    twice = Op("CONCATENATION", ["x", "x"], ["z"], "ConcatenationOptions", {"Axis": 0})
    either = Op("IF", ["flag", "z"], ["y"], "IfOptions", BRANCHES)
    tensors = [T("x", (1, 3)), T("y", (1, 3)), T("z", (2, 3)), T("flag", (1,), "BOOL")]
    others = [affine("ADD", 2), affine("MUL", -3)]
    for op, inputs in ((call, ["x"]), (either, ["x", "flag"])):
        data = build(Subgraph(tensors, [twice, op], inputs, ["y"]), *others)
        with pytest.warns(ConversionWarning, match="'x' is declared"):
            assert parse_tflite(data).value("y").shape == (2, 3)


def test_shapes_that_any_branch_declares_are_named():
    def branch(builtin, inner):
        tensors = [T("x", (1, 3)), const("k", 2), T(inner, (3,)), T("y", (1, 3))]
        ops = [Op(builtin, ["x", "k"], [inner]), Op("ADD", [inner, "k"], ["y"], "AddOptions")]
        return Subgraph(tensors, ops, ["x"], ["y"])

    either = Op("IF", ["flag", "x"], ["y"], "IfOptions", BRANCHES)
    tensors = [T("flag", (1,), "BOOL"), T("x", (1, 3)), T("y", (1, 3))]
    others = branch("MAXIMUM", "left"), branch("MINIMUM", "right")
    data = build(Subgraph(tensors, [either], ["flag", "x"], ["y"]), *others)
    with pytest.warns(
        ConversionWarning, match=r"'left' is declared \[3\].*'right' is declared \[3\]"
    ):
        agree(data)


def test_a_loop_takes_what_it_is_given():
    ports = [T("i", (1,), "INT32"), T("x", (1, 3))]
    below = [const("n", 2, dtype="INT32"), T("less", (1,), "BOOL")]
    condition = Subgraph([*ports, *below], [Op("LESS", ["i", "n"], ["less"])], ["i", "x"], ["less"])
    step = [const("one", 1, dtype="INT32"), T("next", (1,), "INT32"), T("more", (1, 3))]
    ops = [Op("ADD", [a, "one"], [b], "AddOptions") for a, b in (("i", "next"),)]
    ops.append(Op("MUL", ["x", "x"], ["more"], "MulOptions"))
    body = Subgraph([*ports, *step], ops, ["i", "x"], ["next", "more"])
    fields = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    loop = Op("WHILE", ["i", "z"], ["last", "y"], "WhileOptions", fields)
    twice = Op("CONCATENATION", ["x", "x"], ["z"], "ConcatenationOptions", {"Axis": 0})
    tensors = [const("i", 0, dtype="INT32"), T("last", (1,), "INT32")]
    tensors += [T(name, (1, 3)) for name in "xyz"]
    with pytest.warns(ConversionWarning, match="'z' is declared"):
        agree(build(Subgraph(tensors, [twice, loop], ["x"], ["y"]), condition, body))


def test_sizes_that_no_kernel_counts_are_refused():
    tensors = [T("x", (1, 2, 2, 1)), i32("size", 2**17, 2**17), T("y", (1, 4, 4, 1))]
    with pytest.raises(UnsupportedError, match="17,179,869,184 elements") as caught:
        parse_tflite(single("RESIZE_BILINEAR", tensors, "ResizeBilinearOptions"))
    assert (caught.value.op, caught.value.expected) == (
        "#0 RESIZE_BILINEAR",
        "at most 2,147,483,647",
    )
