"""Work by blocks: the same bits whatever the number of threads."""

import os
import sys
import threading
import time
import weakref
from functools import partial

import numpy as np
import pytest
import threadpoolctl

from tinyrt.floatmath import buffers, columns
from tinyrt.floatmath.parallel import (
    PART_BYTES,
    each_block,
    each_part,
    helper_count,
    one_thread,
    threads,
)
from tinyrt.ops.shared.convolution import CONVOLUTION
from tinyrt.ops.shared.convolution_shapes import Shapes
from tinyrt.ops.shared.window import Window


def test_blocks_are_in_order_and_cover_all():
    for count in (1, 2):
        with threads(count):
            found = each_block(10, 1000, lambda block: (block.start, block.stop), 300)
        assert found == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert each_block(4, 0, lambda block: block.stop) == [4]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kind", ["conv", "depthwise"])
def test_threads_do_not_change_a_bit(kind, stride):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 20, 20, 16)).astype(np.float32)
    window = Window.of((20, 20), (3, 3), (stride, stride), "SAME")
    shapes = Shapes(window, x.shape, (8, 3, 3, 16) if kind == "conv" else (16, 3, 3, 1))
    w = rng.normal(size=shapes.w).astype(np.float32)
    found = []
    for count in (1, 3):
        with threads(count):
            y = CONVOLUTION.y.forward(shapes, x, w)
            found.append(
                (y, CONVOLUTION.dx.forward(shapes, y, w), CONVOLUTION.dw.forward(shapes, x, y))
            )
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)


def test_columns_are_as_numpy_has_them_and_threads_do_not_change_a_bit():
    rng = np.random.default_rng(1)
    rows, grad = rng.normal(3, 1, (2, 9001, 17)).astype(np.float32)
    a, b, c, d = rng.normal(size=(4, 17)).astype(np.float32)
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(
                [
                    columns.totals(rows),
                    columns.squares(rows, a),
                    columns.products(rows, grad, a),
                    columns.scaled(rows, a, b, c),
                    columns.combined(rows, grad, a, b, c, d),
                ]
            )
    centred = rows.astype(np.float64) - a
    expected = [
        rows.sum(0, dtype=np.float64),
        (centred**2).sum(0),
        np.stack([grad.sum(0, dtype=np.float64), (grad * centred).sum(0)]),
        centred * b + c,
        centred * b + grad * c + d,
    ]
    for one, many, exact in zip(*found, expected, strict=True):
        np.testing.assert_array_equal(one, many)
        np.testing.assert_allclose(one, exact, rtol=1e-4, atol=2e-2)


def test_products_have_one_thread_until_the_block_ends(monkeypatch):
    """Libraries are looked for again only once something was imported, which may bring one."""
    looked, look = [], threadpoolctl.ThreadpoolController

    def controller():
        looked.append(1)
        return look()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", controller)
    monkeypatch.setitem(sys.modules, "tests.ops.first", sys)

    def counts():
        return [each["num_threads"] for each in look().info() if each["user_api"] == "blas"]

    with look().limit(limits=2, user_api="blas"):
        before = counts()
        for _ in range(2):
            with one_thread():
                assert counts() == [1] * len(before)
                with one_thread():
                    assert counts() == [1] * len(before)
            assert counts() == before
        assert (before, len(looked)) == ([2] * len(before), 1)
        monkeypatch.setitem(sys.modules, "tests.ops.second", sys)
        with one_thread():
            assert len(looked) == 2


def test_an_error_in_a_block_is_raised():
    def fail(block: slice) -> None:
        raise ValueError(f"block from {block.start}")

    with threads(2), pytest.raises(ValueError, match="block from"):
        each_block(10, 1000, fail, 300)


@pytest.mark.parametrize("of_helper", [True, False])
def test_an_error_is_raised_whoever_meets_it(of_helper):
    """The thread that called, or a helper alone: the other is at work meanwhile."""
    met = threading.Event()

    def fail(block: slice) -> None:
        is_helper = threading.current_thread() is not threading.main_thread()
        if is_helper == of_helper:
            met.set()
            raise ValueError(f"block from {block.start}")
        assert met.wait(9), "both have a block"

    with threads(2), pytest.raises(ValueError, match="block from"):
        each_block(10, 1000, fail, 500)


@pytest.mark.parametrize("name", ["tinyrt-0", "tinyrt-1"])
def test_an_error_is_raised_whichever_helper_meets_it(name):
    """Each of three threads has a block; which helper has which one is left to chance."""
    for _ in range(10):
        together = threading.Barrier(3)

        def fail(block: slice, together: threading.Barrier = together) -> None:
            together.wait(9)
            if threading.current_thread().name == name:
                raise ValueError(f"block from {block.start}")

        with threads(3), pytest.raises(ValueError, match="block from"):
            each_block(9, 900, fail, 300)


def test_there_are_as_many_threads_as_before_once_a_block_ends():
    with threads(3):
        with threads(2):
            assert helper_count() == 1
        assert helper_count() == 2
        with pytest.raises(ValueError, match="inside"), threads(1):
            raise ValueError("inside")
        assert helper_count() == 2


def test_what_work_refers_to_is_let_go_of():
    # A helper that comes too late must not find, and keep, what was called off.
    for _ in range(50):
        array = np.zeros(8)
        known = weakref.ref(array)
        with threads(3):
            each_block(8, 800, partial(lambda array, block: array[block].sum(), array), 100)
        del array
        assert known() is None


def test_parts_are_worth_a_thread_and_few():
    counts = [
        len(each_part(32, nbytes, lambda part: part))
        for nbytes in (0, *(n * PART_BYTES + more for n in (1, 2, 3, 4, 400) for more in (0, 1)))
    ]
    assert counts == [1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4]


def test_a_buffer_is_used_again_once_no_array_is_a_view_of_it():
    buffers.release()
    first = buffers.empty((256, 256), np.float32)
    first[:] = 1
    kept = first[3:5].reshape(-1)
    address = first.ctypes.data
    del first
    other = buffers.empty((256, 256), np.float32)
    other[:] = 2
    assert (kept == 1).all()
    del kept
    again = buffers.empty((65_536,), np.float32)
    assert again.ctypes.data == address
    assert (other == 2).all()
    buffers.release()
    assert (other == 2).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_helpers_of_its_own():
    def worker(_):
        time.sleep(0.05)
        return threading.current_thread().name

    with threads(2):
        each_block(8, 800, worker, 100)
        child = os.fork()
        if child == 0:
            found = set(each_block(8, 800, worker, 100))
            os._exit(0 if len(found) == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
