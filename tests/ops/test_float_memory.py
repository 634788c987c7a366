"""Memory and types of float loops: buffers are used again, and never by two arrays at once."""

import numpy as np
import pytest

from tinyrt.floatmath import buffers
from tinyrt.floatmath.products import matmul


@pytest.fixture
def pool(monkeypatch):
    """A small pool of its own."""
    monkeypatch.setattr(buffers, "MAX_BYTES", 10 * buffers.MIN_BYTES)
    buffers.release()
    yield buffers._pool
    buffers.release()


def held(pool):
    return sum(size * len(free) for size, free in pool.items())


def test_a_buffer_is_used_again_when_its_array_is_gone(pool):
    n = buffers.MIN_BYTES
    first = buffers.empty((n,), np.uint8)
    place = buffers.address(first)
    second = buffers.empty((n,), np.uint8)
    assert not np.shares_memory(first, second)
    del first
    assert buffers.address(buffers.empty((n,), np.uint8)) == place
    assert held(pool) == 2 * n


@pytest.mark.parametrize("sizes", [range(1, 9), [3] * 8], ids=["of many sizes", "of one size"])
def test_the_pool_stays_within_its_limit(pool, sizes):
    alive = []
    for i, size in enumerate(sizes):
        array = buffers.empty((size * buffers.MIN_BYTES,), np.uint8)
        array.fill(i)
        alive.append(array)
        assert held(pool) <= buffers.MAX_BYTES
    assert [set(np.unique(array).tolist()) for array in alive] == [{i} for i in range(8)]


def test_what_is_larger_than_the_pool_is_not_kept(pool):
    large = buffers.empty((buffers.MAX_BYTES + 1,), np.uint8)
    assert large.nbytes > buffers.MAX_BYTES
    assert held(pool) == 0


@pytest.mark.parametrize(
    ("left", "right", "to"),
    [("f4", "f4", "f4"), ("f4", "f8", "f8"), ("i4", "f4", "f8"), ("i1", "i1", "f4")],
)
def test_products_have_the_type_that_holds_both_operands(left, right, to):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (3, 4, 4)).astype(dtype) for dtype in (left, right))
    found = matmul(a, b)
    assert found.dtype == to
    np.testing.assert_array_equal(found, np.matmul(a.astype("f8"), b.astype("f8")))


def test_large_arrays_begin_at_a_line_of_the_cache(pool):
    sizes = range(buffers.MIN_BYTES, buffers.MIN_BYTES + 200, 24)
    arrays = [buffers.empty((n,), np.uint8) for n in sizes]
    assert {buffers.address(array) % buffers.ALIGNMENT for array in arrays} == {0}
