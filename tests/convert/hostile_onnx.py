"""ONNX files that ask for too much, contradict themselves or point elsewhere, made by hand.

Each table maps what is wrong to what writes such a file into a folder. Files are small; what they
ask for is not. ``hostile_files`` has those with damaged constants, names and weights files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.convert.onnx_build import OnnxModel

HUGE = 2_000_000_000
INT64 = np.int64
Build = Callable[[OnnxModel], str]
Write = Callable[[Path], Path]


def info(name: str, dtype: int = T.FLOAT, shape: list[int] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def save(folder: Path, model: onnx.ModelProto) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def built(build: Build, opset: int = 17) -> Write:
    """A model that a function builds op by op; what it returns is the output."""

    def write(folder: Path) -> Path:
        m = OnnxModel(opset)
        return m.save(folder, build(m))

    return write


def changed(change: Callable[[onnx.ModelProto], None]) -> Write:
    """A small valid model, and one thing about it changed."""

    def write(folder: Path) -> Path:
        m = OnnxModel(17)
        x = m.op("MatMul", m.input(1, 4), m.weights(4, 3))
        model = m.model(m.op("Relu", m.op("Reshape", x, m.ints(3, 1))))
        change(model)
        return save(folder, model)

    return write


# Constants that would be computed


def filled(m: OnnxModel, *shape: int, value: float = 1.0, dtype=np.float32) -> str:
    return m.op(
        "ConstantOfShape", m.ints(*shape), value=numpy_helper.from_array(np.full(1, value, dtype))
    )


def joined(build: Build) -> Build:
    """Add the constant to the input, which it does not fit: it must not come to that."""
    return lambda m: m.op("Add", m.input(1, 4), build(m))


def widened(m: OnnxModel, dtype=np.float32) -> tuple[str, str]:
    """A column and a row of 60,000 elements: 3.6 billion together."""
    return filled(m, 60_000, 1, dtype=dtype), filled(m, 1, 60_000, dtype=dtype)


def chained(op: str, times: int, **attrs) -> Build:
    """An op on pairs of the same, which doubles what it is given."""

    def build(m: OnnxModel) -> str:
        x = m.const(np.ones(1024))
        for _ in range(times):
            x = m.op(op, x, x, **attrs)
        return x

    return build


FOLDS: dict[str, Build] = {
    "Range": lambda m: m.op(
        "Cast",
        m.op("Range", m.const(0, INT64), m.const(2**40, INT64), m.const(1, INT64)),
        to=T.FLOAT,
    ),
    "Range by a small step": lambda m: m.op("Range", m.const(0), m.const(1e30), m.const(1e-3)),
    "ConstantOfShape": lambda m: filled(m, HUGE),
    "ConstantOfShape in many dimensions": lambda m: filled(m, *[1000] * 8),
    "Expand": lambda m: m.op("Expand", m.const([1.0]), m.ints(HUGE)),
    "Tile": lambda m: m.op("Tile", m.const([1.0]), m.ints(HUGE)),
    "Concat of itself": chained("Concat", 30, axis=0),
    "Add of a column and a row": lambda m: m.op("Add", *widened(m)),
    "Div of a column and a row": lambda m: m.op("Div", *widened(m, INT64)),
    "Where of a column and a row": lambda m: m.op(
        "Where", filled(m, 60_000, 1, dtype=bool), filled(m, 1, 60_000), m.const([0.0])
    ),
    "Max of a column and a row": lambda m: m.op("Max", *widened(m)),
    "Pow of a column and a row": lambda m: m.op("Pow", *widened(m)),
    "Gather": lambda m: m.op(
        "Gather", filled(m, 1, 30_000), filled(m, 1_000_000, value=0, dtype=INT64), axis=0
    ),
    "NonZero": lambda m: m.op("Cast", m.op("NonZero", filled(m, *[1] * 40, 2_000_000)), to=T.FLOAT),
    "Cast": lambda m: m.op("Cast", filled(m, 70_000_000, dtype=np.int8), to=T.FLOAT),
    "Trilu": lambda m: m.op("Trilu", filled(m, 7000, 7000)),
    "OneHot": lambda m: m.op(
        "OneHot",
        m.op("Cast", m.input(4, name="i"), to=T.INT64),
        m.const(HUGE, INT64),
        m.const([0.0, 1.0]),
    ),
    "numbers one by one": lambda m: m.op(
        "Expand", m.const([1.0]), filled(m, 60_000_000, dtype=INT64)
    ),
    "a loop that gathers": lambda m: loop(
        m,
        4000,
        lambda b: [b.node("Expand", "one", "size")],
        {"one": np.ones(1, np.float32), "size": np.array([200_000])},
    ),
}
"""Ops on constants whose results, or what is needed on the way to them, are huge."""

FOLDED: dict[str, Build] = {
    "a product of constants": lambda m: m.op(
        "Einsum", filled(m, 200_000, 1), filled(m, 1, 200_000), equation="ij,jk->ik"
    ),
    "a dense layer of constants": lambda m: m.op(
        "MatMul", m.op("Softmax", filled(m, 150_000, 8)), m.op("Softmax", filled(m, 8, 150_000))
    ),
    "a convolution of constants": lambda m: m.op(
        "Conv", m.op("Softmax", filled(m, 1, 8, 4000, 4000)), m.weights(8, 8, 1, 1)
    ),
    "a padded constant": lambda m: m.op(
        "Pad", m.op("Softmax", filled(m, 1, 4)), m.ints(0, 0, 0, HUGE)
    ),
    "a resized constant": lambda m: m.op(
        "Resize",
        m.op("Softmax", filled(m, 1, 1, 4, 4)),
        "",
        "",
        m.ints(1, 1, 40_000, 40_000),
        mode="linear",
    ),
    "an activation": lambda m: m.op("Expand", m.input(1, 1), m.ints(60_000, 60_000)),
    "a constant that is widened by the passes": lambda m: m.op(
        "Add",
        m.op("Add", m.input(20_000, 20_000), m.op("Softmax", filled(m, 20_000, 1))),
        m.op("Softmax", filled(m, 1, 20_000)),
    ),
}
"""Ops of the graph that are, or could be, folded."""


# Loops and functions


class Body:
    """A loop's body, node by node."""

    around = 0
    """Bodies that are being built: names have their number, since bodies see outer names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.depth = Body.around

    def node(self, op: str, *inputs: str, **attrs) -> str:
        name = f"b{self.depth}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        return name


def loop_body(build: Callable[[Body], list[str]], state: int = 0) -> onnx.GraphProto:
    """A body for Loop: it goes on, hands on its states, and gives what ``build`` returns."""
    b = Body()
    Body.around += 1
    scans = build(b)
    Body.around -= 1
    go_on = b.node("Identity", "go")
    states = [f"s{i}" for i in range(state)]
    inputs = [info("i", T.INT64, []), info("go", T.BOOL, []), *map(info, states)]
    outs = [*scans[:state], *scans[state:]]
    return helper.make_graph(b.nodes, "body", inputs, [info(go_on, T.BOOL, []), *map(info, outs)])


def loop(m: OnnxModel, trips: int, build: Callable[[Body], list[str]], constants=None) -> str:
    """A loop that gathers what ``build`` returns."""
    for name, data in (constants or {}).items():
        m.const(data, data.dtype, name)
    trip, go = m.const(trips, INT64), m.const(True, np.bool_)
    return m.op("Loop", trip, go, body=loop_body(build))


def nested_loops(depth: int, trips: int) -> Build:
    def inside(left: int) -> Callable[[Body], list[str]]:
        def build(b: Body) -> list[str]:
            if left == 0:
                return [b.node("Identity", "one")]
            return [b.node("Loop", "trips", "yes", body=loop_body(inside(left - 1)))]

        return build

    def outer(m: OnnxModel) -> str:
        for name, data in (("one", np.float32(1)), ("trips", INT64(trips)), ("yes", np.True_)):
            m.const(data, data.dtype, name)
        return m.op("Loop", "trips", "yes", body=loop_body(inside(depth - 1)))

    return outer


def functions(bodies: dict[str, list[tuple[str, ...]]], first: str) -> Write:
    """Functions of one input and output; nodes are (op, output, inputs...)."""

    def write(folder: Path) -> Path:
        m = OnnxModel(17)
        model = m.model(m.op(first, m.input(1, 4), domain="own"))
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        for name, body in bodies.items():
            own = [op in bodies for op, *_ in body]
            nodes = [
                helper.make_node(op, list(ins), [out], domain="own" if is_own else None)
                for (op, out, *ins), is_own in zip(body, own, strict=True)
            ]
            model.functions.append(helper.make_function("own", name, ["x"], ["y"], nodes, opsets))
        model.opset_import.append(helper.make_opsetid("own", 1))
        return save(folder, model)

    return write


def doubling(depth: int, leaf: str = "Relu") -> Write:
    """f0 calls f1 twice, which calls f2 twice, and so on."""
    bodies = {f"f{i}": [(f"f{i + 1}", "a", "x"), (f"f{i + 1}", "y", "a")] for i in range(depth)}
    return functions(bodies | {f"f{depth}": [(leaf, "y", "x")]}, "f0")


def many_dead_nodes(m: OnnxModel) -> str:
    """A loop whose body holds nodes that nothing needs."""

    def build(b: Body) -> list[str]:
        for _ in range(20_000):
            b.node("Relu", "i")
        return [b.node("Identity", "one")]

    return loop(m, 4096, build, {"one": np.ones(1, np.float32)})


def wide_scope(m: OnnxModel) -> str:
    """Loops inside of loops that see many names around them, and read one."""
    for i in range(5000):
        m.const(1.0, name=f"around{i}")
    names = [m.op("Identity", f"around{i}") for i in range(5000)]
    all_of_them = m.op("Sum", *names)

    def inner(b: Body) -> list[str]:
        return [b.node("Identity", all_of_them)]

    def build(b: Body) -> list[str]:
        return [b.node("Loop", "trips", "yes", body=loop_body(inner))]

    return loop(m, 4096, build, {"trips": INT64(4096), "yes": np.True_})


def max_pool_over_diamonds(m: OnnxModel) -> str:
    """Each op reads the one before twice: 2 ** 40 ways from the end to the start."""
    x = m.op("Relu", m.input(1, 1, 4, 4))
    for _ in range(40):
        x = m.op("Concat", x, m.op("Relu", m.op("Neg", x)), axis=1)
        x = m.op("Slice", x, m.ints(0), m.ints(1), m.ints(1))
        x = m.op("Max", x, x)
    return m.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 0, 1, 0], strides=[1, 2])


EXPANSIONS: dict[str, Write] = {
    "functions that each call the next one twice": doubling(30),
    "functions deeper than any model's": doubling(40),
    "a function that calls itself": functions({"f": [("f", "y", "x")]}, "f"),
    "functions that call each other": functions(
        {"f": [("g", "y", "x")], "g": [("f", "y", "x")]}, "f"
    ),
    "loops in loops": built(nested_loops(2, 4096)),
    "loops in loops in loops": built(nested_loops(3, 4096)),
    "bodies inside of bodies": built(nested_loops(28, 1)),
    "a loop without an end": built(
        lambda m: m.op(
            "Loop", "", m.const(True, np.bool_), body=loop_body(lambda b: [b.node("Identity", "i")])
        )
    ),
    "nodes that nothing needs, again and again": built(many_dead_nodes),
    "many names around a loop": built(wide_scope),
    "ops that double their way back": built(max_pool_over_diamonds),
}
"""Models that are small as they stand, and large, or without end, when they are written out."""
