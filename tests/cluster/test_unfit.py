"""Who does a task where some workers lack what it takes: the others, and all of them once told."""

from types import SimpleNamespace

import pytest

from tinyrt.cluster import workers
from tinyrt.cluster.tasks import Failure, Lack, Task
from tinyrt.cluster.workers import Cluster
from tinyrt.errors import OutputError

THERE = ("tcp://a", "tcp://b", "tcp://c")


class Future:
    """Done at once, with what the next answer is."""

    def __init__(self, answer):
        self.answer = answer

    def done(self):
        return True

    def result(self):
        return self.answer


class Client:
    """A scheduler of three workers, which gives answers in their order."""

    status = "running"

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def wait_for_workers(self, *_, **__):
        pass

    def scatter(self, shared, **_):
        return shared

    def scheduler_info(self, **_):
        return {"workers": dict.fromkeys(THERE)}

    def submit(self, *_, workers, **__):
        self.asked.append(workers)
        return Future(self.answers.pop(0))


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    dask = SimpleNamespace(wait=lambda *_, **__: None, KilledWorker=KeyError)
    monkeypatch.setattr(workers, "_distributed", lambda: dask)


@pytest.mark.parametrize(("count", "slots"), [(0, 2), (1, 2), (3, 4), (4, 6), (9, 12)])
def test_a_few_more_tasks_are_under_way_than_there_are_workers(count, slots):
    client = Client()
    client.scheduler_info = lambda **_: {"workers": dict.fromkeys(range(count))}
    assert Cluster("samples", client).slots == slots


def test_workers_that_came_are_counted_after_a_while(monkeypatch):
    """A look is asked of the scheduler: it is not taken each time."""
    client, now, there = Client(), [100.0], [1]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(workers, "time", clock)
    client.scheduler_info = lambda **_: {"workers": dict.fromkeys(range(there[0]))}
    crew, found = Cluster("samples", client), []
    for later in (0, 0, workers.LOOK_S, 0.1):
        now[0] += later
        found.append(crew.slots)
        there[0] = 3
    assert found == [2, 2, 2, 4]


class Waiting(Future):
    """Done once it is told an answer."""

    def done(self):
        return self.answer is not None

    def cancel(self):
        self.answer = None


def test_what_waits_for_workers_that_are_gone_is_begun_again(monkeypatch):
    """All of it, and nothing that others may do."""
    client = Client(Failure("no gcc", Lack.TOOLS, THERE[1]), "built")
    crew, futures = Cluster("samples", client), []
    crew.begin(0, task(True))
    assert crew.finished() == (0, "built")

    def submit(*_, workers, **__):
        client.asked.append(workers)
        futures.append(Waiting("late" if client.there == ["tcp://d"] else None))
        return futures[-1]

    client.submit, client.there = submit, THERE
    client.scheduler_info = lambda **_: {"workers": dict.fromkeys(client.there)}
    for owner, builds in ((1, True), (2, False), (3, True)):
        crew.begin(owner, task(builds))
    client.asked.clear()
    client.there = ["tcp://d"]
    assert [crew.finished() for _ in range(2)] == [(1, "late"), (3, "late")]
    assert client.asked == [["tcp://d"]] * 2


def task(builds):
    return Task(len, (), builds=builds)


@pytest.mark.parametrize("lack", Lack)
def test_who_lacks_something_is_not_asked_for_what_takes_it(lack):
    client = Client(Failure("no", lack, THERE[1]), "built", "trained", "built again")
    crew = Cluster("samples", client)
    for owner, builds in ((0, True), (1, False), (2, True)):
        crew.begin(owner, task(builds))
        assert crew.finished()[1] in ("built", "trained", "built again")
    able = [THERE[0], THERE[2]]
    trains = None if lack is Lack.TOOLS else able
    assert client.asked == [None, able, trains, able]


def test_where_all_lack_tools_the_task_fails_and_others_are_done_by_all():
    client = Client(*(Failure("no gcc", Lack.TOOLS, each) for each in THERE), "trained")
    crew = Cluster("samples", client)
    crew.begin(0, task(True))
    assert crew.finished() == (0, Failure("no gcc", Lack.TOOLS, THERE[2]))
    crew.begin(1, task(False))
    assert crew.finished() == (1, "trained")
    assert client.asked == [None, [*THERE[1:]], [THERE[2]], None]


def test_where_all_disks_are_full_the_work_ends():
    crew = Cluster("samples", Client(*(Failure("full", Lack.ROOM, each) for each in THERE)))
    crew.begin(0, task(False))
    with pytest.raises(OutputError, match=f"the disk of {THERE[2]} is full: full"):
        crew.finished()
