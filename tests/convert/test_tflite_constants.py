"""Ops that make constants, and quotients rounded down: as LiteRT and TFLM compute them."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, build, single
from tests.convert.test_tflite_breadth import agree
from tests.convert.tflite_files import T, i32, s8
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import ModelFormatError
from tinyrt.ops.shared.evaluate import evaluate

RNG = np.random.default_rng(5)
SCALE = {"scale": 0.05, "zero_point": -7}
HALF = T("half", (), data=np.array(0.5, np.float32))


def beside(op, tensors, ports=()):
    """y = x + h, where the op makes h."""
    add = Op("ADD", ["x", "h"], ["y"], "AddOptions")
    ports = ports or [T("x", (2, 3)), T("y", (2, 3))]
    return build(Subgraph([*ports, *tensors], [op, add], ["x"], ["y"]))


MADE = {
    "fill": beside(
        Op("FILL", ["n", "half"], ["h"]), tensors=[i32("n", 2, 3), HALF, T("h", (2, 3))]),
    "fill int8": beside(
        Op("FILL", ["n", "k"], ["h"]),
        tensors=[i32("n", 3), T("k", (), "INT8", np.array(9, np.int8), **SCALE), s8("h", 3)],
        ports=[s8("x", 2, 3), s8("y", 2, 3)]),
    "fill computed": single("FILL", [i32("n", 4, 5), T("x", ()), T("y", (4, 5))]),
    "fill one row": single("FILL", [i32("n", 1, 5), T("x", ()), T("y", (1, 5))]),
    "fill computed int8": single("FILL", [i32("n", 4, 5), s8("x"), s8("y", 4, 5)]),
    "zeros": beside(Op("ZEROS_LIKE", ["x"], ["h"], "ZerosLikeOptions"), tensors=[T("h", (2, 3))]),
    "a shape of both": build(Subgraph(
        [T("x", (1, 3)), i32("a", 1, 3), i32("b", 4, 1), T("n", (2,), "INT32"), T("y", (4, 3))],
        [Op("BROADCAST_ARGS", ["a", "b"], ["n"]), Op("BROADCAST_TO", ["x", "n"], ["y"])],
        ["x"], ["y"])),
    "quotients of places": single("FLOOR_DIV", [
        T("x", (2, 3), "INT32"), i32("k", 7, -3, 5), T("y", (2, 3), "INT32")]),
    "remainder of places": single("FLOOR_MOD", [
        T("x", (2, 3), "INT32"), i32("k", 7, -3, 5), T("y", (2, 3), "INT32")]),
}  # fmt: skip


@pytest.mark.parametrize("kind", MADE)
def test_what_is_made_equals_litert(kind):
    agree(MADE[kind])


@pytest.mark.parametrize(("builtin", "begin"), [("FLOOR_DIV", (1, 6)), ("FLOOR_MOD", (6, 6))])
def test_integers_of_constants_are_known(builtin, begin):
    """Where a slice begins: -7 and 4 by 2 and 3, rounded down, or what that leaves; and 5."""
    tensors = [T("x", (9, 9)), i32("a", -7, 4), i32("b", 2, 3), i32("k", 5), T("y", (1, 1))]
    tensors += [T("n", (2,), "INT32"), T("m", (2,), "INT32"), i32("s", 1, 1)]
    ops = [
        Op(builtin, ["a", "b"], ["n"]),
        Op("ADD", ["n", "k"], ["m"], "AddOptions"),
        Op("SLICE", ["x", "m", "s"], ["y"], "SliceOptions"),
    ]
    (node,) = parse_tflite(build(Subgraph(tensors, ops, ["x"], ["y"]))).nodes
    assert node.attrs.begin == begin


@pytest.mark.parametrize("builtin", ["FLOOR_DIV", "FLOOR_MOD"])
def test_floats_equal_tflm(builtin):
    """Among them multiples of the divisor, and zeros of either sign."""
    runtime = pytest.importorskip("tflite_micro").runtime
    data = single(builtin, [T("a", (4, 50)), T("b", (50,)), T("y", (4, 50))])
    b = RNG.normal(size=50).astype(np.float32)
    a = np.concatenate([RNG.normal(size=(2, 50)) * 9, 3 * b[None], [[0.0, -0.0] * 25]])
    feeds = {"a": a.astype(np.float32), "b": b}
    peer = runtime.Interpreter.from_bytes(data, arena_size=1 << 16)
    for i, array in enumerate(feeds.values()):
        peer.set_input(array, i)
    peer.invoke()
    found = evaluate(parse_tflite(data), feeds)["y"]
    np.testing.assert_array_equal(found.view(np.int32), peer.get_output(0).view(np.int32))


def of_constants(builtin, a, b):
    return beside(Op(builtin, [a.name, b.name], ["h"]), tensors=[a, b, T("h", (2,), b.dtype)])


REFUSED = {
    "no size": (of_constants("FILL", i32("n", 0), HALF), ModelFormatError, "FILL of"),
    "two numbers": (
        single("FILL", [i32("n", 2), T("x", (2,)), T("y", (2,))]),
        ModelFormatError,
        "FILL of",
    ),
    "another type": (
        single("FILL", [i32("n", 2), T("x", (), "INT32"), T("y", (2,))]),
        ModelFormatError,
        "FILL of",
    ),
    "a number without a scale": (
        single("FILL", [i32("n", 2), T("x", (), "INT8"), s8("y", 2)]),
        ModelFormatError,
        r"FILL of \[2\] with 'x' s8\[\]",
    ),
    "a result without a scale": (
        single("FILL", [i32("n", 2), s8("x"), T("y", (2,), "INT8")]),
        ModelFormatError,
        r"FILL of \[2\] with 'x' s8\[\]",
    ),
    "a constant without a scale": (
        beside(
            Op("FILL", ["n", "k"], ["h"]),
            tensors=[i32("n", 3), T("k", (), "INT8", np.array(9, np.int8)), s8("h", 3)],
            ports=[s8("x", 2, 3), s8("y", 2, 3)],
        ),
        ModelFormatError,
        r"FILL of \[3\] with 'k' s8\[\]",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_makes_no_sense_is_refused(kind):
    data, error, says = REFUSED[kind]
    with pytest.raises(error, match=says) as caught:
        parse_tflite(data)
    assert caught.value.expected == "sizes of at least 1, and one number of the output's type"
