"""One budget for what a file may cost."""

import pytest

from tinyrt.budget import MAX_MEMORY, MEMORY_PER_BYTE, Budget, current, limited
from tinyrt.errors import (
    BudgetError,
    DataError,
    DefectError,
    ModelFormatError,
    TinyrtError,
    boundary,
)


def test_memory_is_refused_beyond_the_limit_and_not_at_it():
    budget = Budget(memory=100)
    budget.reserve(100, "all of it")
    budget.hold(60, "a constant")
    budget.reserve(40, "the rest")
    with pytest.raises(BudgetError, match="a table takes 41 bytes, beside 60 bytes"):
        budget.reserve(41, "a table")
    with budget.holding(40, "a while"), pytest.raises(BudgetError):
        budget.reserve(1, "one more")
    budget.release(60)
    budget.reserve(100, "all of it again")


def test_work_adds_up():
    budget = Budget(work=10)
    budget.spend(4, "folding")
    budget.spend(6, "folding")
    with pytest.raises(BudgetError, match="unrolling takes more work"):
        budget.spend(1, "unrolling")


def test_the_outermost_budget_counts():
    assert current() is not current()
    with limited(memory=50) as outer:
        with limited(memory=10**9) as inner:
            assert inner is outer is current()
        assert current() is outer
    with limited(file_bytes=1000) as budget:
        assert budget.memory == MAX_MEMORY + 1000 * MEMORY_PER_BYTE


@pytest.mark.parametrize(
    ("raised", "expected", "message"),
    [
        (DataError("no"), DataError, "no"),
        (MemoryError(), BudgetError, "memory ran out"),
        (RecursionError(), BudgetError, "nested calls ran out"),
        (EOFError("end"), ModelFormatError, "cut short or damaged .EOFError: end"),
        (KeyError("x"), DefectError, "reading the file of numbers failed: KeyError"),
    ],
    ids=lambda p: getattr(p, "__name__", type(p).__name__),
)
def test_boundary(raised, expected, message):
    with (
        pytest.raises(TinyrtError, match=message) as caught,
        boundary("file of numbers", file="a.bin", corrupt=(EOFError,)),
    ):
        raise raised
    assert type(caught.value) is expected
    assert caught.value.file == "a.bin"


def test_boundary_takes_a_parsers_failure_for_damage():
    def parse():
        import json

        json.loads("{")

    with pytest.raises(ModelFormatError), boundary("file", parsers=("json",)):
        parse()
