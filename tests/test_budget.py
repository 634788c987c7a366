"""One budget for what a file may cost."""

import pytest

from tests.convert.onnx_build import OnnxModel
from tests.graphs import small_cnn
from tinyrt.api.reading import open_model
from tinyrt.budget import MAX_MEMORY, MAX_WORK, MEMORY_PER_BYTE, Budget, current, limited
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import (
    BudgetError,
    DataError,
    DefectError,
    ModelFormatError,
    TinyrtError,
    boundary,
    catch_all,
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
        with limited(file_bytes=1000):
            assert outer.memory == 50
    with limited(file_bytes=1000) as budget:
        assert budget.memory == MAX_MEMORY + 1000 * MEMORY_PER_BYTE
        with limited(file_bytes=500):
            assert budget.memory == MAX_MEMORY + 1500 * MEMORY_PER_BYTE


def test_a_model_that_is_opened_allows_for_its_bytes_once(tmp_path):
    save_tflite(small_cnn(), tmp_path / "model.tflite")
    net = OnnxModel()
    for path in (tmp_path / "model.tflite", net.save(tmp_path, net.op("Relu", net.input(1, 4)))):
        with limited() as budget:
            open_model(path)
            assert budget.memory == MAX_MEMORY + MEMORY_PER_BYTE * path.stat().st_size


def test_each_task_of_a_command_has_work_of_its_own():
    with limited() as budget:
        for _ in range(3):
            with limited(file_bytes=1000):
                budget.spend(MAX_WORK + 1, "folding")
        with limited(), pytest.raises(BudgetError):
            budget.spend(MAX_WORK + 1, "folding")
        assert budget.work_used == 0
    with limited(work=10), limited(file_bytes=1000), pytest.raises(BudgetError):
        current().spend(11, "folding")


def test_memory_is_held_while_anything_refers_to_it():
    budget = Budget(memory=100)
    view = budget.zeros(80, "an arena")[:8]
    with pytest.raises(BudgetError, match="another takes 21 bytes, beside 80 bytes"):
        budget.zeros(21, "another")
    del view
    assert budget.zeros(100, "another").sum() == budget.memory_used - 100 == 0


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


@pytest.mark.parametrize(
    ("raised", "expected", "message"),
    [
        (DataError("no"), DataError, "no"),
        (MemoryError(), BudgetError, "memory ran out"),
        (KeyError("x" * 10_000), DefectError, "tinyrt failed in tinyrt/budget.py.* KeyError: 'xxx"),
    ],
    ids=lambda p: getattr(p, "__name__", type(p).__name__),
)
def test_catch_all(monkeypatch, raised, expected, message):
    def reserve(self, nbytes, what):
        raise raised

    monkeypatch.setattr(Budget, "reserve", reserve)
    with pytest.raises(TinyrtError, match=message) as caught, catch_all():
        Budget().hold(1, "a byte")
    assert type(caught.value) is expected
    assert len(str(caught.value)) < 1000


def test_catch_all_leaves_alone_what_it_is_told_to():
    for given in ((KeyError,), ()):
        with pytest.raises(KeyError), catch_all(*given, only_from=("tinyrt",)):
            raise KeyError
