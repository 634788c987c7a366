"""What lies at a limit of the .tflite reader is read, and one more is refused."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, single
from tinyrt.convert.tflite import index, tensors
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.tensors import check_quantization
from tinyrt.errors import ModelFormatError, TinyrtError
from tinyrt.ir import DType, QParams
from tinyrt.ops.shared.evaluate import evaluate

ENDS = [
    (DType.INT4, -8, 7),
    (DType.INT8, -128, 127),
    (DType.UINT8, 0, 255),
    (DType.INT16, -32768, 32767),
    (DType.INT32, -(2**31), 2**31 - 1),
]


@pytest.mark.parametrize(("dtype", "low", "high"), ENDS)
def test_zero_points_are_values_of_their_dtype(dtype, low, high):
    for zero_point in (low, high):
        check_quantization(QParams((0.5,), zero_point), dtype, (3,), "'x'")
    for zero_point in (low - 1, high + 1):
        with pytest.raises(ModelFormatError, match=f"zero_point {zero_point}") as caught:
            check_quantization(QParams((0.5,), zero_point), dtype, (3,), "'x'")
        assert caught.value.expected == f"{low} to {high}"


@pytest.mark.parametrize(
    ("axis", "is_taken"), [(None, True), (0, False), (1, True), (2, False), (-1, False)]
)
def test_scales_lie_along_a_dimension_of_their_length(axis, is_taken):
    scales = (0.5,) if axis is None else (0.5, 0.25, 1.0)
    if is_taken:
        check_quantization(QParams(scales, 0, axis), DType.INT8, (2, 3), "'x'")
    else:
        with pytest.raises((ModelFormatError, ValueError)):
            check_quantization(QParams(scales, 0, axis), DType.INT8, (2, 3), "'x'")


def _doubled(*shape):
    """x + x of that shape."""
    values = [Tensor(name, shape) for name in ("x", "y")]
    op = Op("ADD", ["x", "x"], ["y"], "AddOptions")
    return build(Subgraph(values, [op], ["x"], ["y"]))


@pytest.mark.parametrize(
    ("name", "most", "shape"),
    [("MAX_DIMENSIONS", 3, (1, 2, 1)), ("MAX_ELEMENTS", 12, (4, 3))],
)
def test_as_much_as_allowed_and_one_more(name, most, shape, monkeypatch):
    monkeypatch.setattr(tensors, name, most)
    assert parse_tflite(_doubled(*shape)).nodes
    monkeypatch.setattr(tensors, name, most - 1)
    with pytest.raises(TinyrtError) as caught:
        parse_tflite(_doubled(*shape))
    assert caught.value.expected == f"at most {most - 1}"
    assert "'x'" in caught.value.tensor


def test_the_last_bytes_of_a_file_are_a_constant_and_none_behind_them():
    def file(at):
        k = Tensor("k", (4,), outside=(at, 16))
        op = Op("ADD", ["x", "k"], ["y"], "AddOptions")
        return build(Subgraph([Tensor("x", (4,)), k, Tensor("y", (4,))], [op], ["x"], ["y"]))

    size = len(file(99))
    data = file(size - 16)
    assert parse_tflite(data).value("k").data.tobytes() == data[-16:]
    with pytest.raises(ModelFormatError, match=f"is bytes {size - 15} to {size + 1} of {size}"):
        parse_tflite(file(size - 15))


def _cut(shape, begin, end, strides, result, **masks):
    def ints(name, numbers):
        return Tensor(name, (len(numbers),), "INT32", np.array(numbers, np.int32))

    lists = ints("b", begin), ints("e", end), ints("s", strides)
    values = [Tensor("x", shape), *lists, Tensor("y", result)]
    return single("STRIDED_SLICE", values, "StridedSliceOptions", **masks)


@pytest.mark.parametrize(("most", "is_read"), [(2, True), (1, False)])
def test_an_index_of_as_many_entries_as_masks_have_bits(most, is_read, monkeypatch):
    monkeypatch.setattr(index, "MASKED", most)
    file = _cut((4, 5), (0, 1), (4, 3), (1, 1), (4, 2))
    if is_read:
        assert parse_tflite(file).nodes
    else:
        with pytest.raises(ModelFormatError):
            parse_tflite(file)


NEW, ELLIPSIS, SINGLE, BEGIN, END = (
    *("NewAxisMask", "EllipsisMask", "ShrinkAxisMask"),
    *("BeginMask", "EndMask"),
)
X = np.arange(2 * 5 * 6, dtype=np.float32).reshape(2, 5, 6)


@pytest.mark.parametrize(
    ("begin", "end", "strides", "masks", "expected"),
    [
        ((0, 1, 2), (2, 4, 5), (1, 2, 1), {}, X[0:2, 1:4:2, 2:5]),
        ((0, 1), (2, 4), (1, 1), {}, X[0:2, 1:4]),
        ((1, 1, -1), (2, 9, -9), (1, 1, -2), {}, X[1:2, 1:9, -1:-9:-2]),
        ((1, 1, 1), (1, 3, 3), (1, 1, 1), {BEGIN: 6, END: 1}, X[1:, :3, :3]),
        ((1, 1, 1), (1, 3, 3), (1, 1, 1), {BEGIN: 1, END: 6}, X[:1, 1:, 1:]),
        ((0, -2, 0), (2, 0, 6), (1, 1, 1), {SINGLE: 2}, X[0:2, -2, 0:6]),
        ((1, 3, 2), (0, 0, 6), (1, 1, 1), {SINGLE: 3}, X[1, 3, 2:6]),
        ((0, 2), (0, 4), (1, 1), {ELLIPSIS: 1}, X[..., 2:4]),
        ((1, 0, 2), (2, 0, 4), (1, 1, 1), {ELLIPSIS: 2}, X[1:2, ..., 2:4]),
        ((0, 0), (2, 0), (1, 1), {ELLIPSIS: 2}, X[0:2, ...]),
        ((0, 0, 1), (0, 2, 3), (1, 1, 1), {NEW: 1}, X[None, 0:2, 1:3]),
        ((0, 0, 1), (2, 0, 3), (1, 1, 1), {NEW: 2}, X[0:2, None, 1:3]),
        ((0, 0, 4), (0, 0, 6), (1, 1, 1), {ELLIPSIS: 1, NEW: 2}, X[..., None, 4:6]),
        ((1, 0, 2), (0, 0, 4), (1, 1, 1), {SINGLE: 1, NEW: 2}, X[1, None, 2:4]),
        ((0, 1, 2), (1, 2, 3), (1, 1, 1), {"Offset": True}, X[0:1, 1:3, 2:5]),
        ((-1, -3, -4), (1, 3, 2), (1, 1, 1), {"Offset": True}, X[-1:, -3:, -4:-2]),
        ((1, 1, 2), (1, 3, 3), (1, 1, 1), {"Offset": True, BEGIN: 5}, X[:1, 1:4, :3]),
        ((0, 2, 5), (1, 3, -3), (1, 1, -1), {"Offset": True, BEGIN: 4}, X[:1, 2:5, :2:-1]),
        ((0, 2, 1), (1, 3, 2), (1, 1, 1), {"Offset": True, END: 2}, X[:1, 2:, 1:3]),
    ],
)
def test_an_index_is_what_it_is_in_numpy(begin, end, strides, masks, expected):
    graph = parse_tflite(_cut(X.shape, begin, end, strides, expected.shape, **masks))
    (found,) = evaluate(graph, {"x": X}).values()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("begin", "end", "strides", "masks"),
    [
        ((0, 0), (2, 5, 6), (1, 1), {}),
        ((0, 0), (2, 5), (1, 0), {}),
        ((0, 0, 0, 0), (2, 5, 6, 1), (1, 1, 1, 1), {}),
        ((0, 0), (0, 0), (1, 1), {ELLIPSIS: 3}),
    ],
)
def test_an_index_that_does_not_fit_is_refused(begin, end, strides, masks):
    with pytest.raises(ModelFormatError):
        parse_tflite(_cut(X.shape, begin, end, strides, X.shape, **masks))
