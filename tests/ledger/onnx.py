"""ONNX files with constants and control flow of every kind, and what reading them asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.convert.onnx_build import FLOAT, OnnxModel
from tests.convert.onnx_small import I64, untyped
from tests.convert.test_onnx_limits import of_old
from tests.ledger.case import CASES, Case, Run, asks
from tests.ledger.watch import Entry
from tinyrt.budget import OP
from tinyrt.convert.onnx.call import Builder
from tinyrt.convert.onnx.nodes import HANDLE, LOOK
from tinyrt.convert.onnx.proto import MESSAGE
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.ir import Value

N = 200
SIZE = N * N
Build = Callable[[OnnxModel], str]


def listed(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def sized(what: str, *shape: int, copies: int = 2) -> list[Entry]:
    """What constants of a shape ask for, before they are computed."""
    text, elements = f"{what} of shape {listed(shape)}", copies * prod(shape)
    return [("reserve", 8 * elements, text), ("spend", elements, text)]


def tensor(name: str, *shape: int) -> Entry:
    return ("reserve", 4 * prod(shape), f"the tensor '{name}' f32[{','.join(map(str, shape))}]")


def read(
    name: str,
    module: str,
    build: Build,
    *entries: list[Entry],
    opset: int = 18,
    measured: bool = True,
) -> None:
    """A case: reading a model of one output."""

    def made(folder: Path) -> tuple[Run, list[Entry]]:
        m = OnnxModel(opset)
        path = m.save(folder, build(m))
        return lambda: read_onnx(path), [e for some in entries for e in some]

    CASES.append(Case(name, (f"convert/onnx/{module}.py",), made, measured, raw=True))


# Places, tables and masks of ops

PLACES = 6
"""Copies of an index, as a number among others in lists."""


def gathered(m: OnnxModel) -> str:
    """Places all of which are numbers of their own, no two equally far apart."""
    places = np.random.default_rng(0).permutation(5000)
    return m.op("Gather", m.input(5000, 2), m.const(places, np.int64))


def gathered_places(m: OnnxModel) -> str:
    places = np.stack([np.arange(3000) % 4, np.arange(3000) % 3], 1)
    return m.op("GatherND", m.input(4, 3), m.const(places, np.int64))


def gathered_elements(m: OnnxModel) -> str:
    places = np.random.default_rng(0).integers(0, 9, (9, 500))
    return m.op("GatherElements", m.input(9, 500), m.const(places, np.int64))


def computed_parts(m: OnnxModel) -> str:
    """A number of each sample's own row."""
    places = m.input(3000, 1, name="places", dtype=I64)
    return m.op("GatherND", m.input(3000, 4), places, batch_dims=1)


def scattered(m: OnnxModel, reduction: str) -> str:
    """Rows at two thirds of the places, each of which two rows go to."""
    places = np.random.default_rng(0).permutation(4000)[:, None] % 2000
    x, rows = m.input(3000, 2), m.weights(4000, 2)
    return m.op("ScatterND", x, m.const(places, np.int64), rows, reduction=reduction)


def one_hot(m: OnnxModel) -> str:
    return m.op("OneHot", m.input(2, dtype=I64), m.const(N, np.int64), m.const([0, 1]))


def resized(m: OnnxModel, mode: str) -> str:
    roi = m.const([0, 0, 0.1, 0.1, 1, 1, 1.2, 0.9])
    sizes = m.ints(1, 2, N, 5)
    return m.op(
        "Resize", m.input(1, 2, 6, 5), roi if "crop" in mode else "", "", sizes,
        mode="linear" if "crop" in mode else "cubic", coordinate_transformation_mode=mode,
    )  # fmt: skip


def normalised(m: OnnxModel) -> str:
    return m.op("InstanceNormalization", m.input(1, 9, 4), m.weights(9), m.weights(9))


def normalised_groups(m: OnnxModel) -> str:
    return m.op("GroupNormalization", m.input(1, 9, 4), m.weights(3), m.weights(3), num_groups=3)


def padded(m: OnnxModel) -> str:
    return m.op("Pad", m.input(2, 3), m.ints(1, 2000, 0, 3000), mode="edge")


def turned(m: OnnxModel, **attrs: object) -> str:
    groups = attrs.get("group", 1)
    weights = m.weights(60, 60 // groups, 5, 3)
    return m.op("ConvTranspose", m.input(1, 60, 4, 4), weights, **attrs)


read("gather", "move", gathered,
     sized("the places of 't0'", 5000, copies=4),
     sized("the places of 't0'", 5000, copies=PLACES))  # fmt: skip
read("gather_nd", "lookup", gathered_places, sized("the places of 't0'", 3000, 2, copies=PLACES))
read(
    "gather_elements", "lookup", gathered_elements,
    sized("the places of 't0'", 2, 9, 500, copies=PLACES),
)  # fmt: skip
read(
    "computed_parts", "lookup", computed_parts,
    sized("the places of 't0'", 2, 3000),
)  # fmt: skip
PICKED = (
    sized("the places of 't0.before'", 2000, copies=PLACES),
    sized("the places of 't0.with'", 2000, copies=PLACES),
)
WRITTEN = sized("the places of 't0.written'", 3000, copies=PLACES)
read(
    "scatter_nd", "scatter", partial(scattered, reduction="none"),
    sized("the places of 't0'", 2, 4000, 1, copies=PLACES),
    sized("the places of 't0'", 3000, copies=PLACES),
    WRITTEN,
)  # fmt: skip
read(
    "scatter_nd_of_sums", "scatter", partial(scattered, reduction="add"),
    sized("the places of 't0'", 2, 4000, 1, copies=PLACES),
    sized("the places of 't0'", 2, 3000, copies=PLACES),
    *(*PICKED, WRITTEN) * 2,
)  # fmt: skip
read("one_hot", "lookup", one_hot, sized("the table of 't0'", N + 2, N))
read(
    "hardmax", "lookup", lambda m: m.op("Hardmax", m.input(3, N)),
    sized("the table of 't0'", N, N),
)  # fmt: skip
read(
    "resize",
    "resize",
    lambda m: resized(m, "half_pixel"),
    *(sized("the places of a resize", n, copies=6) for n in (1, 2, N, 5)),
)
read(
    "resize_by_cubes", "resample", lambda m: resized(m, "half_pixel"),
    sized("the weights of a resize", N, 8 * (2 * (2 + 1) + 1) + 2 * 6, copies=1),
)  # fmt: skip
read(
    "resize_of_a_part", "resample", lambda m: resized(m, "tf_crop_and_resize"),
    sized("the weights of a resize", N, 8 * (2 * (1 + 1) + 1) + 2 * 6, copies=1),
    sized("the weights of a resize", 5, 8 * (2 * (1 + 1) + 1) + 2 * 5, copies=1),
    sized("the border of a resize", 1, 1, N, 1),
)  # fmt: skip
for build, count, repeat in ((normalised, 9, 1), (normalised_groups, 3, 3)):
    read(
        build.__name__, "reduce", build,
        sized("scale", count, repeat), sized("bias", count, repeat),
    )  # fmt: skip
read(
    "triangle", "reduce", lambda m: m.op("Trilu", m.input(N, 100)),
    sized("the mask of 't0'", N, 100),
)  # fmt: skip
read(
    "pad", "border", padded,
    sized("the places of 't0'", 2 + 1, copies=PLACES),
    sized("the places of 't0'", 3 + 5000, copies=PLACES),
)  # fmt: skip
read(
    "pool", "taps", lambda m: m.op(
        "MaxPool", m.input(1, 2, 9, 7), kernel_shape=[3, 2], dilations=[2, 3]
    ),
    sized("the places that a window sees", 3, 9 - 4, copies=6),
    sized("the places that a window sees", 2, 7 - 3, copies=6),
)  # fmt: skip
read(
    "groups", "upsample", lambda m: turned(m, group=2),
    sized("the weights of all groups", 60, 60, 5, 3, copies=1),
)  # fmt: skip
read(
    "dilated", "upsample", lambda m: turned(m, dilations=[2, 3]),
    sized("the dilated weights", 60, 60, 9, 7, copies=1),
)  # fmt: skip
read(
    "waves of a Fourier transform",
    "spectra",
    lambda m: m.op("DFT", m.input(2, N, 3, 1), axis=1),
    sized("the waves of a Fourier transform", N, N, copies=12),
    [("hold", 2 * 4 * 2 * SIZE, "the waves of 't0'")],
    opset=17,
    measured=False,  # what is held is copied once more when the node that has it is read
)


@asks("convert/onnx/reader.py")
def an_older_operator_set(folder: Path) -> tuple[Run, list[Entry]]:
    """Copies of the model, as onnx brings it to the oldest set that is read."""
    old = of_old(6, helper.make_node("Mul", ["x", "w"], ["y"]), w=np.ones((2, 3, 4), np.float32))
    (folder / "old.onnx").write_bytes(old.SerializeToString())
    return lambda: read_onnx(folder / "old.onnx"), [
        ("allow_for", old.ByteSize()),
        ("reserve", 4 * old.ByteSize(), "the model in a later operator set"),
    ]


# Constants


@asks("convert/onnx/call.py", "convert/onnx/static.py", "convert/onnx/shapes.py")
def known_results(folder: Path) -> tuple[Run, list[Entry]]:
    """x + 2 * a constant of a shape; its file is small, and the shape is read when it is used."""
    m, side = OnnxModel(), 400
    size = side * side
    value = numpy_helper.from_array(np.ones(1, np.float32))
    filled = m.op("ConstantOfShape", m.ints(side, side), value=value)
    scaled = m.op("Mul", filled, m.const([2]))
    path = m.save(folder, m.op("Add", m.input(side, side), scaled))

    def result(name: str, op: str, copies: int) -> list[Entry]:
        what = f"'{name}', the constant result of {op}"
        checked = f"{what} of shape {listed((side, side))}"
        whole = ("computed", (8 * copies * size, copies * size), what)
        return [("reserve", 0, checked), ("spend", 0, checked), whole]

    shape: list[Entry] = [("reserve", 50 * 2, "the shape"), ("spend", 50 * 2, "the shape")]
    return lambda: read_onnx(path), [
        tensor("x", side, side),
        *shape,
        *result("t0", "ConstantOfShape", 1),
        *shape,
        *result("t1", "Mul", 2),
        ("spend", size, "the constant 't1'"),
        ("reserve", size, "the constant 't1'"),
        ("keep", 4 * size, "the constant 't1'"),
        tensor("t2", side, side),
        ("spend", OP, "expanding the model's layers, loops and functions"),
    ]


@asks("convert/onnx/call.py")
def constants_of_a_builder(folder: Path) -> tuple[Run, list[Entry]]:
    """Doubles that are narrowed, columns that are put in order, and the same numbers again."""
    data = np.arange(2.0 * SIZE).reshape(2 * N, N)
    again = np.asarray(data[::2], np.float32)

    def run() -> list[Value]:
        builder = Builder()
        narrow = builder.narrowed("k", data)
        return [builder.constant("k", array) for array in (narrow[::2], again)]

    return run, [
        ("computed", (4 * 2 * SIZE,), "the constant 'k' in float32"),
        ("computed", (4 * SIZE,), "the constant 'k'"),
        ("keep", 4 * SIZE, "the constant 'k'"),
        ("spend", SIZE, "comparing the constants named 'k'"),
    ]


@asks("convert/onnx/weights.py")
def constants_in_the_file_and_beside_it(folder: Path) -> tuple[Run, list[Entry]]:
    m = OnnxModel(17)
    y, weights = m.input(N, N), np.ones((N, N), np.float32)
    for name in ("typed", "half", "outside", "raw"):
        y = m.op("Add", y, m.const(weights, name=name))
    y = m.op("Add", y, m.op("Cast", "half_of_it", to=FLOAT))
    model = m.model(y)
    typed, half, outside, _ = model.graph.initializer
    typed.CopyFrom(helper.make_tensor("typed", FLOAT, (N, N), weights.ravel()))
    half.CopyFrom(numpy_helper.from_array(weights, "half"))
    float16 = helper.make_tensor("half_of_it", onnx.TensorProto.FLOAT16, (N, N), weights.ravel())
    model.graph.initializer.append(float16)
    (folder / "weights.bin").write_bytes(weights.tobytes())
    outside.ClearField("raw_data")
    outside.data_location = onnx.TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="weights.bin")
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    size = SIZE
    return lambda: read_onnx(folder / "model.onnx"), [
        ("spend", 50 * size, f"reading 'typed' FLOAT{listed((N, N))}"),
        ("reserve", (8 + 4) * size, f"the constant 'typed' FLOAT{listed((N, N))}"),
        ("extend", 4 * size),
        ("spend", 50 * size, f"reading 'half_of_it' FLOAT16{listed((N, N))}"),
        ("reserve", (8 + 2) * size, f"the constant 'half_of_it' FLOAT16{listed((N, N))}"),
        ("computed", (8 * size,), f"'half_of_it' FLOAT16{listed((N, N))} in float32"),
    ]


# Nodes


@asks("convert/onnx/nodes.py", "convert/onnx/proto.py", "convert/onnx/reader.py")
def nodes_of_a_branch(folder: Path) -> tuple[Run, list[Entry]]:
    """Three nodes of the model, one of which nobody needs, and one of the branch."""
    m = OnnxModel()
    m.op("Tanh", m.input(2))
    y = m.op("If", m.const(True, bool), then_branch=untyped([("Relu", ["x"], ["y"])], [], ["y"]),
             else_branch=untyped([], [], ["x"]))  # fmt: skip
    path = m.save(folder, m.op("Neg", y))
    size = path.stat().st_size
    messages = sum(1 for _ in parts(onnx.load(path)))
    look = ("spend", MESSAGE, "looking through the parts of the file")
    body = ("spend", HANDLE, "importing the bodies of functions and control flow")
    node = ("spend", HANDLE, "importing the nodes, loops and functions written out")
    return lambda: read_onnx(path), [
        ("allow_for", size),
        ("reserve", 3 * size, "the parsed file"),
        *[look] * messages,
        ("spend", 3 * LOOK, "going through 3 nodes"),
        body,
        node,
        ("spend", LOOK, "going through 1 nodes"),
        body,
        node,
        node,
    ]


def parts(message: object) -> list[object]:
    """All messages inside of one."""
    found: list[object] = []
    for field, value in message.ListFields():  # type: ignore[attr-defined]
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                found += [inner, *parts(inner)]
    return found


@asks("convert/onnx/flow.py", raw=True)
def known_sequences(folder: Path) -> tuple[Run, list[Entry]]:
    """A scan over constants, whose results are gathered along the last dimension."""
    m = OnnxModel(17)
    body = untyped([("Neg", ["e"], ["y"])], ["e"], ["y"])
    sequence = m.const(np.ones((N, 2, N), np.float32))
    scanned = m.op(
        "Scan", sequence, body=body, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[2]
    )
    path = m.save(folder, m.op("Add", m.input(N, N, 2), scanned))
    return lambda: read_onnx(path), [
        ("computed", (4 * SIZE,), "'t0', element 0"),
        ("computed", (4 * SIZE,), "'t0', element 1"),
        ("computed", (2 * 4 * SIZE,), "'t0', what the loop gathers,"),
    ]
