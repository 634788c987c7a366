"""What spends from a budget: memory while it is held, work before it is done, once for each."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest

from tinyrt.budget import (
    MAX_MEMORY,
    MAX_WORK,
    MEMORY_PER_BYTE,
    WORK_PER_BYTE,
    Budget,
    as_budget,
    current,
    limited,
    readable,
)
from tinyrt.entry import entry
from tinyrt.errors import BudgetError, DefectError


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"),
        (1536, "1,536 bytes"),
        ((1 << 20) - 1, "1,048,575 bytes"),
        (1 << 20, "1.0 MiB"),
        (24 << 20, "24.0 MiB"),
        ((1 << 30) - 1, "1,024.0 MiB"),
        (1 << 30, "1.0 GiB"),
        (5000 << 30, "5,000.0 GiB"),
    ],
)
def test_sizes_are_shown_in_units_that_fit(nbytes, text):
    assert readable(nbytes) == text


def refused(action):
    with pytest.raises(BudgetError) as caught:
        action()
    return caught.value


def test_a_refusal_says_what_is_held_and_what_may_be():
    budget = Budget(memory=2 << 20)
    error = refused(lambda: budget.reserve(3 << 20, "a table"))
    assert error.problem == "a table takes 3.0 MiB"
    budget.hold(100, "a constant")
    error = refused(lambda: budget.hold(3 << 20, "a table"))
    assert error.problem == "a table takes 3.0 MiB, beside 100 bytes that are held"
    assert error.expected == "at most 2.0 MiB in all"
    assert "--max-memory" in error.hint
    assert budget.memory_used == 100
    error = refused(lambda: Budget(work=1_500_000_000).spend(2 * 10**9, "folding"))
    assert error.problem == "folding takes more work than a file of this size may cost"
    assert error.expected == "at most 1.5 billion element operations in all"
    assert "without them" in error.hint


def test_memory_of_a_block_is_given_back_however_it_ends():
    budget = Budget(memory=100)
    with budget.holding(60, "a while"):
        assert budget.memory_used == 60
    with pytest.raises(KeyError), budget.holding(60, "a while"):
        raise KeyError
    assert budget.memory_used == 0
    with pytest.raises(BudgetError), budget.holding(101, "a while"):
        pass
    assert budget.memory_used == 0


def test_an_array_is_held_once_and_with_the_whole_that_it_is_a_view_of(tmp_path):
    budget = Budget(memory=1000)
    whole = np.zeros(100, np.uint8)
    part = whole[10:20].reshape(2, 5)
    for array in (part, whole, whole[:1]):
        budget.keep(array, "an array")
        assert budget.memory_used == 100
    other = np.zeros(50, np.uint8)
    budget.keep(other, "another")
    assert budget.memory_used == 150
    del whole, array, other
    gc.collect()
    assert budget.memory_used == 100
    del part
    gc.collect()
    assert budget.memory_used == 0
    mapped = np.memmap(tmp_path / "file", np.uint8, "w+", shape=(5000,))
    budget.keep(mapped[:10], "a file")
    assert budget.memory_used == 0


def test_results_are_computed_when_there_is_room_and_then_held():
    budget, calls = Budget(memory=100, work=1000), []

    def compute(*sizes):
        calls.append(sizes)
        return [np.zeros(n, np.uint8) for n in sizes]

    kept = [budget.computed("a sum", 60, lambda: compute(40)[0])]
    assert (budget.memory_used, budget.work_used) == (40, 60)
    kept.append(budget.computed("parts", 50, lambda: compute(20, 10), work=7))
    assert (budget.memory_used, budget.work_used) == (70, 67)
    assert [len(array) for array in kept[1]] == [20, 10]
    error = refused(lambda: budget.computed("a sum", 31, lambda: compute(1)[0]))
    assert error.problem == "a sum takes 31 bytes, beside 70 bytes that are held"
    error = refused(lambda: budget.computed("a sum", 30, lambda: compute(1)[0], work=934))
    assert error.problem.startswith("computing a sum takes more work")
    assert calls == [(40,), (20, 10)]


def test_a_file_that_belongs_to_another_adds_to_both_limits_unless_they_were_given():
    def extended(**limits):
        with limited(file_bytes=10, **limits) as budget:
            before = budget.memory, budget.work
            budget.extend(1000)
            return budget.memory - before[0], budget.work - before[1]

    memory, work = 1000 * MEMORY_PER_BYTE, 1000 * WORK_PER_BYTE
    assert extended() == (memory, work)
    assert extended(memory=5) == (0, work)
    assert extended(work=5) == (memory, 0)
    budget = current()
    budget.extend(1)
    assert (budget.memory, budget.work) == (MAX_MEMORY + MEMORY_PER_BYTE, MAX_WORK + WORK_PER_BYTE)


def test_limits_are_those_of_the_file_or_those_that_were_given():
    with limited(file_bytes=7) as budget:
        assert budget.memory == MAX_MEMORY + 7 * MEMORY_PER_BYTE
        assert budget.work == MAX_WORK + 7 * WORK_PER_BYTE
    with limited(memory=0, work=0, file_bytes=7) as budget:
        assert (budget.memory, budget.work) == (0, 0)
    assert MAX_MEMORY < 1 << 30


def spend_and_fail(outer):
    with limited(file_bytes=10):
        outer.spend(4, "folding")
        assert (outer.work, outer.work_used) == (MAX_WORK + 10 * WORK_PER_BYTE, 4)
        raise KeyError


def test_a_budget_is_open_until_its_block_ends_however_it_does():
    with pytest.raises(KeyError), limited(memory=5):
        raise KeyError
    assert current().memory == MAX_MEMORY
    with limited() as outer:
        outer.spend(3, "folding")
        with pytest.raises(KeyError):
            spend_and_fail(outer)
        assert (outer.work, outer.work_used) == (MAX_WORK, 3)


def test_a_budget_is_taken_as_it_is_a_number_is_its_memory_and_none_is_the_open_one():
    budget = Budget(memory=5)
    assert as_budget(budget) is budget
    assert (as_budget(7).memory, as_budget(0).memory) == (7, 0)
    assert as_budget(7).memory_per_byte == 0
    with limited(memory=9) as opened:
        assert as_budget(None) is opened
    assert as_budget(None).memory == MAX_MEMORY


# Functions of the Python interface


@entry
def memory_of(path=None, *, max_memory=None):
    """Its name and this text stay."""
    return current().memory, current() is current(), path


def test_a_function_of_the_interface_has_one_budget_of_the_size_that_is_asked_for():
    assert memory_of() == (MAX_MEMORY, True, None)
    assert memory_of("a", max_memory=77) == (77, True, "a")
    with limited(memory=5):
        assert memory_of(max_memory=77) == (5, True, None)
    assert memory_of.__name__ == "memory_of"
    assert memory_of.__doc__ == "Its name and this text stay."


@pytest.mark.parametrize("package", ["tinyrt", "numpy", "numba", "flatbuffers", "onnx", "google"])
def test_failures_of_our_packages_are_defects_and_those_of_callers_are_their_own(package):
    inside: dict = {"__name__": f"{package}.part"}
    exec("def fail():\n    raise KeyError('x')", inside)
    with pytest.raises(DefectError, match="KeyError: 'x'"):
        entry(inside["fail"])()
    theirs = SimpleNamespace(fail=lambda: {}["x"])
    with pytest.raises(KeyError):
        entry(theirs.fail)()
