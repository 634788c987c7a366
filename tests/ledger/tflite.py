""".tflite files with constants of every kind, and what reading them asks for."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from tests.convert.raw_tflite import Op, Sparse, Subgraph, Tensor, build
from tests.graphs import small_cnn
from tests.ledger.case import Run, add, asks
from tests.ledger.watch import Entry
from tinyrt.budget import OP
from tinyrt.convert.channels.lost import Lost
from tinyrt.convert.tflite.constants import fill, number_range
from tinyrt.convert.tflite.lost import LOST, lost_entry, read_lost
from tinyrt.convert.tflite.one_hot import one_hot
from tinyrt.convert.tflite.parts import Parts
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.signal import BANDS
from tinyrt.convert.tflite.states import FRESH
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.convert.unsigned import to_signed
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs

N = 300
SIDE = (N, N)
TEXT = "reading tensors"
T = Tensor


def tensor(name: str, *more: Entry, scales: int = 0) -> list[Entry]:
    """What a tensor of that name asks for, and its scales, and more."""
    asked: list[Entry] = [("spend", OP + len(name), TEXT), ("hold", 1000 + len(name), TEXT)]
    if scales:
        asked += [("spend", 100 * scales, "reading scales"), ("hold", 100 * scales, "scales")]
    return [*asked, *more]


def constant(text: str, nbytes: int) -> Entry:
    return ("hold", nbytes, f"the constant {text}")


def unaligned(make: partial[bytes]) -> bytes:
    """A file with a constant of floats behind all tables, at an odd place."""
    start = len(make((1001, 4 * N * N))) | 1
    data = np.ones(SIDE).astype(np.float32).tobytes()
    return make((start, len(data))).ljust(start, b"\0") + data


@asks("convert/tflite/tensors.py")
def constants_that_are_no_views(folder: Path) -> tuple[Run, list[Entry]]:
    ports = [T(name, SIDE) for name in ("x", "ya", "yb", "yc", "yd")]

    def make(where: tuple[int, int]) -> bytes:
        more = [
            T("view", SIDE, data=np.ones(SIDE).astype(np.float32)),
            T("odd", SIDE, outside=where),
            T("truth", SIDE, "BOOL", np.full(SIDE, 2, np.uint8)),
            T("half", SIDE, "INT4", np.zeros(N * N // 2, np.uint8), scale=0.5),
            T("centred", SIDE, "INT8", np.zeros(SIDE, np.int8), [0.5] * N, [*range(-50, 50)] * 3),
            T("f", SIDE),
            T("g", SIDE),
        ]
        ops = [
            Op("SELECT_V2", ["truth", "x", "view"], ["ya"]),
            Op("ADD", ["x", "odd"], ["yb"], "AddOptions"),
            Op("DEQUANTIZE", ["half"], ["f"]),
            Op("ADD", ["x", "f"], ["yc"], "AddOptions"),
            Op("DEQUANTIZE", ["centred"], ["g"]),
            Op("ADD", ["x", "g"], ["yd"], "AddOptions"),
        ]
        graph = Subgraph([*ports, *more], ops, ["x"], ["ya", "yb", "yc", "yd"])
        return build(graph)

    data = unaligned(partial(make))
    size = N * N
    return lambda: parse_tflite(data), [
        *(entry for port in ports for entry in tensor(port.name)),
        *tensor("view"),
        *tensor("odd", constant(f"'odd' f32[{N},{N}]", 4 * size)),
        *tensor("truth", constant(f"'truth' b8[{N},{N}]", size)),
        *tensor("half", constant(f"'half' s4[{N},{N}]", size), scales=1),
        *tensor("centred", constant(f"'centred' s8[{N},{N}]", 2 * size), scales=N),
        *tensor("f"),
        *tensor("g"),
    ]


def thinned(gap: int) -> tuple[bytes, int]:
    """A product with a constant that is zero but for each so many columns; elements of these."""
    columns = np.arange(0, N, gap)
    held = N * len(columns)
    rows = np.arange(0, held + 1, len(columns)), np.tile(columns, N)
    levels = [N, tuple(numbers.astype(np.int32) for numbers in rows)]
    k = T("k", SIDE, data=np.ones(held, np.float32), sparse=Sparse((0, 1), levels))
    op = Op("MUL", ["x", "k"], ["y"], "MulOptions")
    return build(Subgraph([T("x", SIDE), k, T("y", SIDE)], [op], ["x"], ["y"])), held


for gap in (3, 50):
    data, held = thinned(gap)
    add(
        f"one_column_of_{gap}",
        ("convert/tflite/tensors.py", "convert/tflite/sparse.py"),
        partial(parse_tflite, data),
        *tensor("x"),
        *tensor(
            "k",
            *(("reserve", 40 * count, f"'k' [{N},{N}]") for count in (N, N + 1, held)),
            constant(f"'k' f32[{N},{N}]", 4 * N * N),
        ),
        *tensor("y"),
    )


@asks(
    "convert/tflite/reader.py",
    "convert/tflite/parts.py",
    "convert/tflite/variables.py",
    "convert/tflite/directory.py",
    "convert/tflite/metadata.py",
)
def ops_and_signatures(folder: Path) -> tuple[Run, list[Entry]]:
    """A variable that is set once and added to, in a file with signatures and metadata."""
    named = {"SharedName": "v", "Container": ""}
    handle = Op("VAR_HANDLE", [], ["h"], "VarHandleOptions", texts=named)
    h, zeros = T("h", (1,), "RESOURCE"), T("z", (1, 2), data=np.zeros((1, 2), np.float32))
    first = Subgraph([h, zeros], [handle, Op("ASSIGN_VARIABLE", ["h", "z"], [])], [], [])
    ops = [
        Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}),
        handle,
        Op("READ_VARIABLE", ["h"], ["a"], "ReadVariableOptions"),
        Op("ADD", ["a", "x"], ["y"], "AddOptions"),
        Op("ASSIGN_VARIABLE", ["h", "y"], []),
    ]
    tensors = [h, *(T(name, (1, 2)) for name in "axy")]
    data = build(
        Subgraph(tensors, ops, ["x"], ["y"]),
        first,
        signatures={"serving": 0, "once": 1},
        metadata={FRESH: b'["other"]'},
    )
    read = node = ("spend", OP, "reading ops")
    fresh = ("reserve", 100 * len('["other"]'), f"metadata '{FRESH}'")
    ports = [("spend", 1000 * n, "reading ops") for n in (0, 1, 2, 3, 2)]
    return lambda: parse_tflite(data), [
        ("allow_for", len(data)),
        fresh,
        ports[0],
        fresh,
        read,
        read,
        *ports[1:4],
        node,
        ports[4],
        node,
        ("spend", OP + OP // 2 * 2, "reading signatures"),
        ("hold", 1000 * 3, "signatures"),
        ("spend", OP, "reading signatures"),
        ("hold", 1000, "signatures"),
    ]


@asks("convert/tflite/codec.py", "convert/tflite/constants.py", "convert/tflite/parts.py")
def constants_that_ops_make(folder: Path) -> tuple[Run, list[Entry]]:
    """Numbers of a shape, that many elements, and a sum of constants, which is computed at once."""
    shape = Value.constant("n", np.array([N, N], np.int32))
    one = Value.constant("one", np.array(1, np.int64))
    sums = [Value.constant(name, np.zeros(N * N, np.int64)) for name in "ab"]
    y, total = Value("y", DType.INT64, (N, N)), Value("total", DType.INT64, (N * N,))
    state = Value("state", DType.FLOAT32, (N, N))

    def run() -> Parts:
        parts = Parts([shape, one, *sums, y, total, state])
        fill(parts, None, [shape, one], [y])
        parts.add("add", sums, total, AddAttrs())
        parts.next_of(state, begins_anew=True)
        parts.add("neg", [state], parts.new("minus", state))
        return parts

    return run, [
        ("spend", 64 * 2, "reading the shape"),
        ("hold", 64 * 2, "the shape, 'n' s32[2],"),
        constant(f"'y' s64[{N},{N}]", 8 * N * N),
        ("spend", OP, "reading ops"),
        constant(f"'total' s64[{N * N}]", 8 * N * N),
        ("hold", 4 * N * N, f"the state 'state' f32[{N},{N}]"),
        ("spend", OP, "reading ops"),
    ]


@asks("convert/tflite/scatter.py")
def rows_at_their_places(folder: Path) -> tuple[Run, list[Entry]]:
    """Two rows for each of two thirds of the places: two rounds, and zeros elsewhere."""
    count, n = 3000, 4000
    places = np.random.default_rng(0).permutation(n).astype(np.int32)[:, None] % 2000
    tensors = [
        T("i", (n, 1), "INT32", places),
        T("x", (n, 2)),
        T("shape", (2,), "INT32", np.array([count, 2], np.int32)),
        T("y", (count, 2)),
    ]
    data = build(Subgraph(tensors, [Op("SCATTER_ND", ["i", "x", "shape"], ["y"])], ["x"], ["y"]))
    return lambda: parse_tflite(data), [
        ("reserve", 48 * 2 * count, "the places of 'y'"),
        ("spend", 2 * (count + 2 * count), "the places of 'y'"),
        constant("'y/zeros' f32[1,2]", 8),
        ("reserve", 48 * count, "the places of 'y/placed'"),
        ("reserve", 48 * count, "the places of 'y/placed_1'"),
    ]


@asks("convert/tflite/signal.py")
def bands_of_a_filter_bank(folder: Path) -> tuple[Run, list[Entry]]:
    """Lists of numbers that become an op's attributes."""
    count = 2000
    lists = dict.fromkeys(("weights", "unweights"), 4 * count)
    lists |= dict.fromkeys(BANDS, count)
    tensors = [T(k, (n,), "INT16", np.zeros(n, np.int16)) for k, n in lists.items()]
    tensors += [T("x", (9,), "UINT32"), T("y", (count - 1,), "UINT64")]
    op = Op("CUSTOM (SignalFilterBank)", ["x", *lists], ["y"], fields={"num_channels": count - 1})
    data = build(Subgraph(tensors, [op], ["x"], ["y"]))
    return lambda: parse_tflite(data), [
        ("hold", 64 * count, f"{name}, '{name}' s16[{count}],") for name in BANDS
    ]


@asks("convert/tflite/lost.py", "convert/tflite/metadata.py")
def channels_that_were_lost(folder: Path) -> tuple[Run, list[Entry]]:
    """Of the CNN's eight channels, an eighth of all that there were."""
    graph, count = small_cnn(), 60_000
    name = graph.nodes[0].outputs[0]
    kept = np.zeros(count, bool)
    kept[: graph.value(name).shape[-1]] = True
    told = lost_entry({name: Lost(kept, np.where(kept, np.nan, 3.0))}, graph)
    data = bytes(write_tflite(graph, metadata=told))
    what = f"metadata '{LOST}'"
    return lambda: read_lost(data, graph), [
        ("reserve", 100 * len(told[LOST]), what),
        ("hold", 10 * count, what),
    ]


@asks("convert/tflite/constants.py", "convert/tflite/one_hot.py")
def rows_and_ranges(folder: Path) -> tuple[Run, list[Entry]]:
    """Rows of one-hot vectors, and as many numbers in a row."""
    zero, one, depth, limit = (
        Value.constant(f"of {n}", np.array(n, np.int32)) for n in (0, 1, N, N * N)
    )
    index, y = Value("i", DType.INT32, (3,)), Value("y", DType.INT32, (3, N))
    numbers = Value("numbers", DType.INT32, (N * N,))

    def run() -> Parts:
        parts = Parts([zero, depth, limit, one, index, y, numbers])
        one_hot(parts, None, [index, depth, one, zero], [y])
        number_range(parts, None, [zero, limit, one], [numbers])
        return parts

    return run, [
        constant(f"'y/rows' s32[{N + 2},{N}]", 4 * (N + 2) * N),
        constant(f"'numbers' s32[{N * N}]", 4 * N * N),
    ]


def dense(zero_point: int) -> Graph:
    """A layer on uint8; weights on both sides of a zero point do not fit int8."""
    q = QParams((0.5,), zero_point)
    data = np.arange(N * N, dtype=np.int64).reshape(SIDE).astype(np.uint8)
    values = [Value(n, DType.UINT8, (1, N), QParams((0.5,), 7)) for n in "xy"]
    values.append(Value.constant("w", data, q))
    node = Node("fully_connected", "y", ("x", "w"), ("y",), FullyConnectedAttrs())
    return Graph("net", ("x",), ("y",), {v.name: v for v in values}, (node,))


for zero_point, parts in ((128, 1), (100, 2)):
    add(
        f"weights_on_uint8_in_{parts}",
        ("convert/unsigned.py",),
        partial(to_signed, dense(zero_point)),
        constant(f"'w' u8[{N},{N}]", N * N),
        ("spend", OP + 10 * N * N, "converting weights"),
        ("reserve", 10 * N * N, f"converting 'w' u8[{N},{N}]"),
        ("hold", parts * N * N, "the weights 'w/int8'"),
    )
