"""Threads share the parts of compiled loops: all of them, once each, whoever is there to help."""

import os
import threading
import time

import numpy as np
import pytest

from tinyrt.floatmath import crew
from tinyrt.floatmath.atomics import add, load, sleep
from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.crew import Span, shared
from tinyrt.floatmath.numba_cache import KernelCache
from tinyrt.floatmath.parallel import PART_BYTES, part_size, threads

LOOKS = 200
"""Until a part gives up waiting for the other one: some hundredths of a second."""


@compiled
def _mark(span: Span, factor, marks, parts):
    parts[span[0], 0], parts[span[0], 1] = span[1], span[2]
    for i in range(span[1], span[2]):
        marks[i] += factor * i


@compiled
def _meet(span: Span, cells, met):
    add(cells, 0, 1)
    looks = 0
    while load(cells, 0) < 2 and looks < LOOKS:
        looks += 1
        sleep()
    met[span[0]] = load(cells, 0)


@compiled
def _ask_for_too_much(span: Span, sizes, found):
    found[span[0]] = np.zeros(sizes[span[0]], np.int64).size


mark, meet, ask_for_too_much = shared(_mark), shared(_meet), shared(_ask_for_too_much)


def marked(count, size):
    marks, parts = np.zeros(count, np.int64), np.full((-(-count // max(size, 1)), 2), -1)
    mark(count, size, 3, marks, parts)
    assert marks.tolist() == [3 * i for i in range(count)]
    return parts.tolist()


def both_meet():
    met = np.zeros(2, np.int64)
    meet(2, 1, np.zeros(1, np.int64), met)
    return met.tolist() == [2, 2]


def both_met():
    """Whether two threads work at a time, sooner or later: a busy machine may keep one from it."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if both_meet():
            return True
    return False


@pytest.mark.parametrize("count", [1, 2, 4])
def test_parts_are_cut_by_their_size_and_done_once(count):
    with threads(count):
        assert marked(10, 3) == [[0, 3], [3, 6], [6, 9], [9, 10]]
        assert marked(9, 3) == [[0, 3], [3, 6], [6, 9]]
        assert marked(2, 5) == [[0, 2]]
        assert marked(0, 0) == []
        for _ in range(300):
            assert len(marked(40, 1)) == 40


def test_more_parts_than_a_ticket_can_count_are_larger_ones():
    with threads(2):
        assert marked(70_000, 1)[:2] == [[0, 2], [2, 4]]


def test_a_helper_takes_part_at_once_and_after_sleep():
    with threads(1):
        assert not both_meet()
    with threads(2):
        assert both_met()
        end = time.monotonic() + 60
        while crew._crew(1).board[crew.ATTENDING] and time.monotonic() < end:
            time.sleep(0.01)
        assert crew._crew(1).board[crew.ATTENDING] == 0
        assert both_met()


def test_threads_that_have_work_at_a_time_do_it_all():
    found = []

    def work():
        found.extend(len(marked(50, 1)) for _ in range(200))

    with threads(3):
        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert found == [50] * 600


def test_who_finds_the_helpers_busy_works_alone():
    with threads(2), crew._crew(1)._busy:
        assert len(marked(20, 1)) == 20
    assert crew._crew(1)._busy.acquire(blocking=False)
    crew._crew(1)._busy.release()


@pytest.mark.parametrize("count", [1, 2])
def test_a_part_without_memory_is_an_error(count):
    sizes, found = np.array([2, 2**58, 3, 2**58]), np.zeros(4, np.int64)
    with threads(count):
        with pytest.raises(MemoryError, match="2 parts of _ask_for_too_much found no memory"):
            ask_for_too_much(4, 1, sizes, found)
        assert found.tolist() == [2, 0, 3, 0]
        ask_for_too_much(1, 1, sizes, found)  # what failed before does not count again


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_a_crew_of_its_own():
    with threads(2):
        assert both_met()
        child = os.fork()
        if child == 0:
            os._exit(0 if both_met() else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_sizes_of_parts():
    def size(parts):
        return part_size(100, int(parts * PART_BYTES))

    assert [size(n) for n in (0, 1, 1.99, 2, 3.99, 4, 400)] == [100, 100, 100, 50, 50, 25, 25]
    assert part_size(3, 400 * PART_BYTES) == 1


def test_machine_code_is_kept_by_the_loop_s_name():
    def entry(loop):
        codegen = run.targetctx.codegen()
        return KernelCache(crew._runner(loop).py_func)._name("()", codegen)

    run = crew._runner(_mark)
    assert entry(_mark) == entry(_mark)
    assert entry(_mark) != entry(_meet)
    assert entry(_mark).startswith("_mark_shared-")
