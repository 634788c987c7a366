"""REVERSE_SEQUENCE of .tflite files, against LiteRT's kernel."""

from collections import Counter

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.test_tflite_breadth import agree
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import ModelFormatError, UnsupportedError

SHAPE = (4, 5, 3)


def reversed_file(lengths, along=1, by=0, dtype="FLOAT32", kind=np.int32, shape=SHAPE):
    scale = 0.1 if dtype in ("INT8", "UINT8") else None
    data = None if lengths is None else np.array(lengths, kind)
    size = shape[by] if lengths is None else len(lengths)
    tensors = [
        Tensor("x", shape, dtype, None, scale),
        Tensor("n", (size,), np.dtype(kind).name.upper(), data),
        Tensor("y", shape, dtype, None, scale),
    ]
    fields = {"SeqDim": along, "BatchDim": by}
    op = Op("REVERSE_SEQUENCE", ["x", "n"], ["y"], "ReverseSequenceOptions", fields)
    return build(Subgraph(tensors, [op], ["x"] if lengths else ["x", "n"], ["y"]))


@pytest.mark.parametrize("dtype", ["FLOAT32", "INT32", "UINT8"])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("lengths", "along", "by"),
    [
        ([5, 2, 0, 3], 1, 0),
        ([1, 5, 5, 4], 1, 0),
        ([4, 4, 4, 2, 1], 0, 1),
        ([3, 0, 2, 2], 2, 0),
        ([4, 1, 3], 0, 2),
    ],
)
def test_rows_are_turned_as_in_litert(lengths, along, by, kind, dtype):
    agree(reversed_file(lengths, along, by, dtype, kind), runs=2)


def test_rows_of_one_length_are_turned_together():
    graph = parse_tflite(reversed_file([2, 2, 2, 1]))
    assert Counter(n.op for n in graph.nodes) == {"slice": 3, "concatenation": 2}


@pytest.mark.parametrize(
    ("lengths", "along", "by", "text"),
    [
        ([1, 2, 3], 1, 0, "lengths .1, 2, 3."),
        ([1, 2, 3, 6], 1, 0, "lengths .1, 2, 3, 6."),
        ([1, 2, 3, -1], 1, 0, "lengths .1, 2, 3, -1."),
        ([1, 2, 3, 4], 0, 0, "sequences along dimension 0, and one for each of dimension 0"),
        ([1, 2, 3, 4], 3, 0, "sequences along dimension 3"),
        ([1, 2, 3, 4], -1, 0, "sequences along dimension -1"),
    ],
)
def test_what_cannot_be_turned_is_refused(lengths, along, by, text):
    with pytest.raises(ModelFormatError, match=text):
        parse_tflite(reversed_file(lengths, along, by))


def test_lengths_that_are_given_at_run_time_are_refused():
    with pytest.raises(UnsupportedError, match="lengths is computed at run time"):
        parse_tflite(reversed_file(None))
