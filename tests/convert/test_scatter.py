"""Scattering: SCATTER_ND as LiteRT computes it, ONNX's ops as onnxruntime does."""

from itertools import cycle

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter as LiteRT

from tests.convert.onnx_build import OnnxModel, assert_matches
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.test_tflite_breadth import agree
from tests.convert.tflite_files import T, i32
from tests.sampling import sampled
from tinyrt.budget import limited
from tinyrt.convert.scatter import most_alike, rounds
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import BudgetError, ModelFormatError, UnsupportedError
from tinyrt.interpreter import Model

TYPES = {
    "FLOAT32": {},
    "INT32": {},
    "BOOL": {},
    "INT8": {"scale": 0.05, "zero_point": -7},
    "UINT8": {"scale": 0.05, "zero_point": 100},
}

PLACES = {
    "rows": ((5, 3), [[4], [0]]),
    "elements": ((4, 3), [[3, 0], [0, 0], [1, 2]]),
    "rows of rows": ((3, 4, 2), [[[2, 3], [0, 1]], [[1, 1], [0, 0]]]),
    "every row": ((3, 2), [[2], [0], [1]]),
    "the whole, alone": ((1,), [[0]]),
    "one index": ((4, 2), [2]),
}
"""Name -> the output's shape and the indices."""


def scattered(dtype, shape, indices, rows=None, **fixed):
    indices = np.array(indices, np.int32)
    rows = (*indices.shape[:-1], *shape[indices.shape[-1] :]) if rows is None else rows
    tensors = [
        Tensor("i", indices.shape, "INT32", indices if fixed.get("known", True) else None),
        T("x", rows, dtype, **TYPES[dtype]),
        i32("shape", *shape),
        T("y", tuple(max(d, 1) for d in shape), dtype, **TYPES[dtype]),
    ]
    inputs = ["x"] if fixed.get("known", True) else ["i", "x"]
    return build(Subgraph(tensors, [Op("SCATTER_ND", ["i", "x", "shape"], ["y"])], inputs, ["y"]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", PLACES)
def test_rows_go_to_their_places(name, dtype):
    """Elsewhere are stored zeros, whatever number they stand for."""
    data = scattered(dtype, *PLACES[name])
    agree(data, runs=3)
    agree(write_tflite(parse_tflite(data)))


@pytest.mark.parametrize("dtype", ["FLOAT32", "INT32", "INT64"])
@pytest.mark.parametrize(
    "indices", [[[2], [0], [2], [2], [0], [1]], [[3], [1], [3], [0], [2]]], ids=["some", "all"]
)
def test_rows_of_one_place_are_added_in_their_order(indices, dtype):
    TYPES.setdefault("INT64", {})
    agree(scattered(dtype, (4, 3), indices), runs=4, atol=0)


COMPUTED = {
    "a row": ((5, 3), [[3]]),
    "rows": ((5, 3), [[4], [0], [2]]),
    "rows of one place": ((5, 3), [[4], [0], [4], [4]]),
    "an element": ((4, 3), [[3, 1]]),
    "elements": ((4, 3), [[3, 0], [0, 0], [3, 0]]),
    "a row of a row": ((3, 4, 2), [[[2, 3]]]),
    "one index": ((4, 2), [2]),
}
"""Name -> the output's shape and the indices, which are an input."""


ALONE = {"a row", "an element", "a row of a row", "one index"}


KINDS = [
    *((name, dtype) for name in COMPUTED for dtype in ("FLOAT32", "INT32")),
    *((name, "INT8") for name in sorted(ALONE)),
]
BACKENDS = ("reference", "numba", "native")
EACH_ONCE = [(*place, backend) for place, backend in zip(KINDS, cycle(BACKENDS), strict=False)]


@pytest.mark.parametrize(
    ("name", "dtype", "backend"),
    sampled(EACH_ONCE, [(*place, backend) for place in KINDS for backend in BACKENDS]),
)
def test_rows_go_to_places_that_are_computed(name, dtype, backend):
    shape, indices = COMPUTED[name]
    indices = np.array(indices, np.int32)
    data = scattered(dtype, shape, indices, known=False)
    litert = LiteRT(model_content=data)
    litert.allocate_tensors()
    x = np.random.default_rng(0).integers(-90, 90, litert.get_input_details()[1]["shape"])
    feeds = {"i": indices, "x": x.astype(dtype.lower())}
    for detail in litert.get_input_details():
        litert.set_tensor(detail["index"], feeds[detail["name"]])
    litert.invoke()
    want = litert.get_tensor(litert.get_output_details()[0]["index"])
    for graph in (parse_tflite(data), parse_tflite(write_tflite(parse_tflite(data)))):
        (found,) = Model(graph, backend=backend).run_raw(feeds).values()
        np.testing.assert_array_equal(found, want)


def test_computed_places_of_int64_are_narrowed():
    tensors = [
        Tensor("i", (2, 1), "INT64"),
        T("x", (2, 3), "FLOAT32"),
        i32("shape", 4, 3),
        T("y", (4, 3), "FLOAT32"),
    ]
    op = Op("SCATTER_ND", ["i", "x", "shape"], ["y"])
    graph = parse_tflite(build(Subgraph(tensors, [op], ["i", "x"], ["y"])))
    feeds = {"i": np.array([[3], [1]]), "x": np.ones((2, 3), np.float32)}
    (found,) = Model(graph).run_raw(feeds).values()
    np.testing.assert_array_equal(found[:, 0], [0, 1, 0, 1])


def test_a_computed_place_outside_is_the_nearest_inside():
    graph = parse_tflite(scattered("FLOAT32", (5, 3), [[0]], known=False))
    feeds = {"i": np.array([[9]], np.int32), "x": np.ones((1, 3), np.float32)}
    (found,) = Model(graph).run_raw(feeds).values()
    np.testing.assert_array_equal(found[:, 0], [0, 0, 0, 0, 1])


def test_rows_that_fill_all_places_are_not_joined_with_zeros():
    ops = [node.op for node in parse_tflite(scattered("FLOAT32", *PLACES["every row"])).nodes]
    assert "concatenation" not in ops
    assert "gather" in ops


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (
            scattered("FLOAT32", (4,), [[1]] * 17, known=False),
            UnsupportedError,
            "the places of 17 rows are computed",
        ),
        (scattered("INT8", (4,), [[1], [3], [1]]), UnsupportedError, "2 rows have one place"),
        (scattered("FLOAT32", (4,), [[1], [4]]), ModelFormatError, "an index lies outside"),
        (scattered("FLOAT32", (4,), [[1], [-1]]), ModelFormatError, "an index lies outside"),
        (scattered("FLOAT32", (4,), [[1, 2]], (1,)), ModelFormatError, r"rows 'x' f32\[1\] at"),
        (scattered("FLOAT32", (4, 2), [[1]], (1, 3)), ModelFormatError, r"rows 'x' f32\[1,3\] at"),
        (scattered("FLOAT32", (4,), 1, (1,)), ModelFormatError, r"at 'i' s32\[\] of \[4\]"),
        (scattered("FLOAT32", (4, 0), [[1]], (1, 1)), ModelFormatError, r"of \[4, 0\]"),
        (
            scattered("INT8", (4,), [[1], [2]], known=False),
            UnsupportedError,
            "the computed places of 2 rows may be one",
        ),
        (scattered("FLOAT32", (0, 3), [[0]]), ModelFormatError, r"of \[0, 3\]"),
    ],
)
def test_what_cannot_be_scattered_is_refused(data, error, says):
    with pytest.raises(error, match=says) as caught:
        parse_tflite(data)
    assert caught.value.expected
    assert "SCATTER_ND" in caught.value.op


@pytest.mark.parametrize(
    "limits", [{"memory": 40_000_000}, {"memory": 10**9, "work": 2_900_000}], ids=str
)
def test_places_that_cost_too_much_are_refused(limits):
    """A thousand rows for one place of a thousand."""
    data = scattered("FLOAT32", (1000, 2), np.zeros((1000, 1), np.int32))
    with limited(**limits), pytest.raises(BudgetError, match="the places of 'y'"):
        parse_tflite(data)


def test_as_many_rows_as_allowed_go_to_computed_places():
    assert parse_tflite(scattered("FLOAT32", (4,), [[1]] * 16, known=False)).nodes


def test_rounds_write_each_place_once():
    places = np.array([3, 1, 3, 3, 0, 1])
    assert most_alike(places) == 3
    found = [turn.tolist() for turn in rounds(places, 5)]
    assert found == [[4, 1, 6, 0, 6], [6, 5, 6, 2, 6], [6, 6, 6, 3, 6]]


SCATTERS = {
    "rows": ("ScatterND", (5, 3), [[4], [-5]], (2, 3), {}),
    "elements": ("ScatterND", (4, 3), [[3, 0], [0, -1], [1, 2]], (3,), {}),
    "one index": ("ScatterND", (2, 4, 3), [1], (4, 3), {}),
    "last of several": ("ScatterND", (5, 2), [[1], [1], [4]], (3, 2), {}),
    "sums": ("ScatterND", (5, 2), [[1], [1], [4], [1]], (4, 2), {"reduction": "add"}),
    "along the first axis": ("ScatterElements", (3, 4), [[2, 0, 1, -1]], (1, 4), {}),
    "along the last": ("ScatterElements", (3, 4), [[3], [0], [-4]], (3, 1), {"axis": -1}),
    "more than the data": ("ScatterElements", (2, 3), [[0] * 4] * 2, (2, 4), {"axis": 1}),
    "products": ("ScatterND", (4, 2), [[0], [3], [3]], (3, 2), {"reduction": "mul"}),
    "greatest": ("ScatterND", (2, 3), [[0, 1], [0, 1], [1, 2]], (3,), {"reduction": "max"}),
    "least": ("ScatterElements", (2, 3), [[0, 1, 0]], (1, 3), {"reduction": "min"}),
    "sums of elements": (
        *("ScatterElements", (3, 2), [[0, 1], [0, 2], [0, 1], [2, 1]], (4, 2)),
        {"reduction": "add"},
    ),
}
"""Name -> op, shape of the data, indices, shape of the updates, attributes."""


@pytest.mark.parametrize("name", SCATTERS)
def test_onnx_ops_equal_onnxruntime(tmp_path, name):
    """Both are inputs; the data are constant; the updates are."""
    op, data, indices, updates, attrs = SCATTERS[name]
    for fixed in ("", "data", "updates"):
        m = OnnxModel(opset=18)
        x = m.weights(*data) if fixed == "data" else m.input(*data)
        u = m.weights(*updates) if fixed == "updates" else m.input(*updates, name="u")
        y = m.op(op, x, m.const(indices, np.int64), u, **attrs)
        assert_matches(m.save(tmp_path, m.op("Relu", y)))


def test_the_op_s_old_name_is_read(tmp_path):
    m = OnnxModel(opset=10)
    y = m.op("Scatter", m.input(3, 4), m.const([[2, 0, 1, 1]], np.int64), m.weights(1, 4))
    assert_matches(m.save(tmp_path, m.op("Relu", y)))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_known_data_are_scattered_at_once(tmp_path, op, reduction):
    m = OnnxModel(opset=18)
    indices = [[1], [0], [1]] if op == "ScatterND" else [[1, 0], [0, 0], [1, 1]]
    y = m.op(op, m.weights(3, 2), m.const(indices, np.int64), m.weights(3, 2), reduction=reduction)
    graph, _ = assert_matches(m.save(tmp_path, m.op("Mul", m.input(3, 2), y)))
    assert [node.op for node in graph.nodes] == ["mul"]


@pytest.mark.parametrize(
    ("op", "indices", "updates", "attrs", "says"),
    [
        ("ScatterND", [[5]], (1, 2), {}, "an index lies outside"),
        ("ScatterND", [[-6]], (1, 2), {}, "an index lies outside"),
        ("ScatterND", [[0, 0, 0]], (1,), {}, r"at indices \[1, 3\] into \[5, 2\]"),
        ("ScatterND", 3, (1,), {}, r"at indices \[\] into \[5, 2\]"),
        ("ScatterND", [[1]], (1, 3), {}, r"ScatterND of \[1, 3\] at"),
        ("ScatterElements", [[1]], (1, 2), {}, r"ScatterElements of \[1, 2\] at"),
        ("ScatterElements", [1], (1,), {}, r"ScatterElements of \[1\] at"),
        ("ScatterElements", [[1, 0, 0]], (1, 3), {}, r"at indices \[1, 3\] into"),
        ("ScatterElements", [[5, 0]], (1, 2), {}, "an index lies outside"),
        ("ScatterND", [[1]], (1, 2), {"reduction": "sub"}, r"'reduction' is \[sub\]"),
    ],
)
def test_onnx_ops_that_do_not_fit_are_refused(tmp_path, op, indices, updates, attrs, says):
    m = OnnxModel(opset=18)
    y = m.op(op, m.input(5, 2), m.const(indices, np.int64), m.weights(*updates), **attrs)
    with pytest.raises((ModelFormatError, UnsupportedError), match=says) as caught:
        assert_matches(m.save(tmp_path, y))
    assert caught.value.expected


def test_places_that_depend_on_the_input_are_refused(tmp_path):
    m = OnnxModel(opset=18)
    y = m.op("ScatterND", m.weights(5, 2), m.input(1, 1, name="i", dtype=7), m.weights(1, 2))
    with pytest.raises(UnsupportedError, match="where elements are written depends on"):
        assert_matches(m.save(tmp_path, y))
