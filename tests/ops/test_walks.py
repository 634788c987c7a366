"""Walks of kernels over tensors: few axes, the same elements in the same order."""

from itertools import product
from math import prod

import numpy as np
import pytest

from tests.ops.quantised import node_of, s8
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.shared.walks import (
    broadcast_fields,
    in_runs,
    line_fields,
    merge_axes,
    reduction_fields,
    strides_of,
)


def places(dims, strides):
    """Where a walk goes, step by step."""
    return [
        sum(i * s for i, s in zip(at, strides, strict=True)) for at in product(*map(range, dims))
    ]


MERGED = {
    "all": ((2, 3, 4), [(12, 4, 1)], 1),
    "the last two": ((2, 3, 4), [(24, 4, 1)], 2),
    "the first two": ((2, 3, 4), [(15, 5, 1)], 2),
    "none": ((2, 3, 4), [(1, 2, 6)], 3),
    "what both have in a row": ((2, 3, 4), [(12, 4, 1), (0, 4, 1)], 2),
    "ones go": ((1, 3, 1, 4), [(7, 4, 9, 1)], 1),
    "ones alone": ((1, 1), [(3, 2), (5, 7)], 1),
    "none at all": ((), [()], 1),
}


@pytest.mark.parametrize("name", MERGED)
def test_axes_are_merged_where_all_tensors_go_on(name):
    dims, strides, rank = MERGED[name]
    found, steps = merge_axes(dims, *strides)
    assert len(found) == rank
    assert [places(found, s) for s in steps] == [places(dims, s) for s in strides]
    assert all(len(s) == rank for s in steps)


@pytest.mark.parametrize(
    ("dims", "strides", "run"),
    [((3, 4), (9, 1), 4), ((4,), (1,), 4), ((3, 4), (1, 3), 1), ((5,), (2,), 1)],
)
@pytest.mark.parametrize("itemsize", [1, 4])
def test_runs_are_bytes_that_lie_side_by_side(dims, strides, run, itemsize):
    sizes, steps, nbytes = in_runs(dims, strides, itemsize)
    assert nbytes == run * itemsize
    wanted = [p * itemsize + b for p in places(dims, strides) for b in range(itemsize)]
    assert [p + b for p in places(sizes, steps) for b in range(nbytes)] == wanted


@pytest.mark.parametrize(
    ("a", "b", "rank"),
    [
        ((2, 3, 4), (2, 3, 4), 1),
        ((2, 3, 4), (4,), 2),
        ((3, 1), (2, 3, 4), 3),
        ((2, 1, 4), (1, 3, 1), 3),
        ((), (5,), 1),
    ],
)
def test_broadcasts_repeat_what_has_one_element(a, b, rank):
    y = np.broadcast_shapes(a, b)
    fields = broadcast_fields(node_of("add", AddAttrs(), [s8(*a), s8(*b)], [s8(*y)]))
    assert fields["rank"] == len(fields["dims"]) == rank
    for shape, strides in ((a, fields["a_strides"]), (b, fields["b_strides"])):
        whole = np.broadcast_to(np.arange(prod(shape)).reshape(shape), y)
        assert places(fields["dims"], strides) == whole.ravel().tolist()


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (1, 2), (0, 2), (0, 1, 2), ()])
def test_a_reduction_goes_over_what_is_kept_and_what_is_not(axes):
    shape = (2, 3, 4)
    fields = reduction_fields(shape, axes)
    kept, reduced = (
        places(fields[f"{kind}_dims"], fields[f"{kind}_strides"]) for kind in ("kept", "reduced")
    )
    assert all(fields[f"{k}_rank"] == len(fields[f"{k}_dims"]) for k in ("kept", "reduced"))
    x = np.arange(24)
    found = [sum(int(x[k + r]) for r in reduced) for k in kept]
    assert found == np.ravel(x.reshape(shape).sum(axis=axes)).tolist()


@pytest.mark.parametrize("axis", range(-3, 3))
def test_lines_along_an_axis(axis):
    fields = line_fields((2, 3, 4), axis)
    outer, depth, inner = (fields[name] for name in ("outer", "depth", "inner"))
    lines = np.arange(24).reshape(outer, depth, inner).transpose(0, 2, 1).reshape(-1, depth)
    wanted = np.moveaxis(np.arange(24).reshape(2, 3, 4), axis, -1).reshape(-1, depth)
    np.testing.assert_array_equal(lines, wanted)


def test_strides_of_dense_tensors():
    assert strides_of((2, 3, 4)) == [12, 4, 1]
