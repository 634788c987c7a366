"""Pieces of work: results in order, few of them in memory, and a word on what failed."""

import pytest

from tests.cluster.crowd import Crowd
from tinyrt.cluster.pieces import Crew, Pieces, evenly
from tinyrt.cluster.tasks import LacksToolsError, Task, attempted
from tinyrt.errors import DataError, ToolError


def double(number, shared):
    assert shared == "shared"
    if number in RAISED:
        raise RAISED[number]
    return 2 * number


RAISED = {
    50: DataError("no", hint="yes", file="a.npz"),
    51: KeyError("a"),
    52: LacksToolsError("not installed: gcc"),
}


def results(numbers):
    crowd = Crowd("shared")
    return crowd, Pieces(crowd, (Task(double, (n,)) for n in numbers)).results()


def test_results_come_in_the_order_of_their_pieces():
    crowd, found = results(range(20))
    assert list(found) == [2 * n for n in range(20)]
    assert crowd.most == 3, "all workers are busy, and no more is under way"
    assert list(results([])[1]) == []
    assert list(results([7])[1]) == [14]


def test_memory_holds_a_few_pieces_for_each_worker():
    asked, told = [], 0

    def tasks():
        for n in range(40):
            asked.append(n)
            yield Task(double, (n,))

    for _ in Pieces(Crowd("shared"), tasks()).results():
        told += 1
        assert len(asked) - told < 2 * Crowd.slots + 1
    assert told == 40


def test_what_a_piece_raises_is_raised_as_without_workers():
    _, found = results([1, 50, 2])
    assert next(found) == 2
    with pytest.raises(DataError) as error:
        next(found)
    assert (error.value.problem, error.value.hint, error.value.file) == ("no", "yes", "a.npz")


@pytest.mark.parametrize(("number", "said"), [(51, "KeyError: 'a'"), (52, "LacksToolsError: not")])
def test_other_failures_say_where_and_why(number, said):
    with pytest.raises(ToolError) as error:
        list(results([number])[1])
    assert error.value.problem.startswith(f"samples were not run by this machine: {said}")
    assert error.value.expected == "a run of every sample"
    assert error.value.hint == "leave out --workers and --scheduler, to see whether it fails here"


def test_only_what_speaks_to_the_user_is_kept():
    assert attempted(double, 50, "shared").error is RAISED[50]
    assert attempted(double, 51, "shared").error is None


@pytest.mark.parametrize(
    ("count", "pieces"), [(50, 1), (50, 7), (50, 50), (50, 99), (3, 2), (0, 4)]
)
def test_pieces_are_about_as_large(count, pieces):
    parts = evenly(count, pieces)
    assert [n for part in parts for n in part] == list(range(count))
    assert len(parts) == max(1, min(count, pieces))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_one_worker_is_this_process():
    assert Crew.of(1, None) is None
    assert Crew.of(None, None) == Crew()
    assert Crew.of(3, None) == Crew(3)
    assert Crew.of(1, "tcp://a") == Crew(None, "tcp://a")
    assert Crew.of(2, "tcp://a") == Crew(2, "tcp://a")
