"""Who does the work: killed workers, lost samples, machines without a compiler."""

import contextlib
import os
import signal
import sys
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import dask
import pytest

from tests.sampling import WHOLE
from tests.search.made import QUICK, blobs, dense, problem
from tinyrt.errors import DataError, ToolError
from tinyrt.search import search_networks, work
from tinyrt.search.store import End
from tinyrt.search.work import Failure, attempted, require_tools
from tinyrt.search.workers import Cluster, Here, Task, processors, workers_of


def double(number, problem):
    return 2 * number


def failing(error, problem):
    raise error


def lacking(number, problem):
    raise work.LacksToolsError("not installed: gcc")


class Future:
    """One that is done when it is asked for the second time."""

    def __init__(self, outcome):
        self.outcome, self.asked = outcome, 0

    def done(self):
        self.asked += 1
        return self.asked > 1

    def result(self):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


class Client:
    """A Dask client of two workers; each submission has the next of the outcomes given."""

    status = "running"

    def __init__(self, *outcomes):
        self.outcomes, self.submitted, self.sent = list(outcomes), [], 0

    def scheduler_info(self, n_workers):
        return {"workers": {"tcp://a": {}, "tcp://b": {}}}

    def scatter(self, what, **options):
        self.sent += 1
        return what

    def submit(self, function, task, *arguments, workers, **options):
        self.submitted.append(workers)
        return Future(self.outcomes.pop(0))


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr("distributed.wait", lambda *_, **__: None)


def done_by(client, *, builds=False):
    crew = Cluster(problem(), client)
    crew.begin("trial", Task(double, (21,), builds))
    return crew.finished()


def test_results_come_back_to_their_owners():
    assert done_by(Client(42)) == ("trial", 42)
    here = Here(problem())
    here.begin(1, Task(double, (2,)))
    here.begin(2, Task(double, (3,)))
    assert [here.finished(), here.finished()] == [(1, 4), (2, 6)]


def test_samples_that_were_lost_with_their_workers_are_sent_again():
    client = Client(CancelledError(), CancelledError(), 42)
    assert done_by(client) == ("trial", 42)
    assert client.sent == 3
    _, result = done_by(Client(*(CancelledError() for _ in range(4))))
    assert result == Failure("all workers died under it 4 times")


def test_a_wait_that_is_cancelled_is_none_of_the_others(monkeypatch):
    def wait(*_, **__):
        raise CancelledError

    monkeypatch.setattr("distributed.wait", wait)
    assert done_by(Client(CancelledError(), 42)) == ("trial", 42)


def test_a_cluster_without_workers_is_no_use(monkeypatch):
    def scatter(self, what, **options):
        raise TimeoutError

    monkeypatch.setattr(Client, "scatter", scatter)
    with pytest.raises(ToolError, match="the cluster has no workers") as error:
        Cluster(problem(), Client())
    assert "dask worker" in error.value.hint


def test_who_kills_every_worker_is_given_up():
    from distributed import KilledWorker

    class State:
        address = "tcp://a"

    _, result = done_by(Client(KilledWorker("key", State(), 3)))
    assert result == Failure("workers died under it 4 times, the last at tcp://a")


def test_a_machine_without_a_compiler_is_left_out_from_then_on():
    bare = Failure("not installed", lacks_tools=True, worker="tcp://a")
    client = Client(bare, 42, 43)
    crew = Cluster(problem(), client)
    for owner in (1, 2):
        crew.begin(owner, Task(double, (21,), builds=True))
        assert crew.finished() == (owner, 41 + owner)
    assert client.submitted == [None, ["tcp://b"], ["tcp://b"]]
    none = Client(bare, replace(bare, worker="tcp://b"))
    assert done_by(none, builds=True)[1].lacks_tools
    other = Client(Failure("ShapeError: no", worker="tcp://a"))
    assert done_by(other, builds=True)[1].reason == "ShapeError: no"


def test_without_a_scheduler_the_search_ends():
    for status in ("connecting", "closed"):
        client = Client(CancelledError())
        crew = Cluster(problem(), client)
        crew.begin("trial", Task(double, (21,)))
        client.status = status
        with pytest.raises(ToolError, match="the scheduler does not answer any more") as error:
            crew.finished()
        assert "--resume" in error.value.hint


def test_whatever_is_raised_in_a_trial_is_its_own():
    assert attempted(double, 3, problem()) == 6
    assert attempted(failing, KeyError("a"), problem()) == Failure("KeyError: 'a'")
    failure = attempted(failing, DataError("no", hint="yes"), problem())
    assert failure.reason.startswith("DataError: no")
    assert not failure.lacks_tools
    assert attempted(lacking, 3, problem()).lacks_tools


def test_tools_are_asked_for_as_far_as_they_are_needed(monkeypatch):
    monkeypatch.setenv("PATH", "")
    require_tools("cortex-m4", work.Basis.FORMULA)
    with pytest.raises(ToolError, match=r"not installed: arm-none-eabi-gcc, .* make\n"):
        require_tools("cortex-m4", work.Basis.LINKED)
    with pytest.raises(ToolError, match=r"not installed: .*qemu-system-arm") as error:
        require_tools("cortex-m4", work.Basis.COUNTED)
    assert "apt-get install" in error.value.hint


def test_numbers_of_workers_and_schedulers():
    with pytest.raises(DataError, match=r"^0 workers"), workers_of(problem(), 0, None):
        pass
    both = pytest.raises(DataError, match="2 workers beside scheduler tcp://a")
    with both, workers_of(problem(), 2, "tcp://a"):
        pass
    with workers_of(problem(), 1, None) as crew:
        assert isinstance(crew, Here)
    assert 1 <= processors() <= os.cpu_count()


@pytest.mark.parametrize("kind", [OSError, TimeoutError, ValueError])
def test_a_scheduler_that_does_not_answer(kind, monkeypatch):
    def client(address, timeout):
        raise kind(address)

    monkeypatch.setattr("distributed.Client", client)
    with (
        pytest.raises(ToolError, match="no scheduler answers at tcp://a"),
        workers_of(problem(), None, "tcp://a"),
    ):
        pass


def test_without_dask_one_worker_is_left(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    missing = pytest.raises(ToolError, match="workers are Dask's")
    with missing as error, workers_of(problem(), 2, None):
        pass
    assert "--workers 1" in error.value.hint
    assert attempted(double, 3, problem()) == 6
    assert attempted(failing, KeyError("a"), problem()) == Failure("KeyError: 'a'")


def test_a_cluster_of_as_many_workers_as_asked_each_of_one_thread(monkeypatch):
    @contextmanager
    def cluster(**choices):
        asked.update(choices)
        asked.update(dask.config.get("distributed.nanny.pre-spawn-environ"))
        yield "here"

    @contextmanager
    def client(address, timeout):
        asked["address"] = address
        yield Client(42)

    asked = {}
    monkeypatch.setattr("distributed.LocalCluster", cluster)
    monkeypatch.setattr("distributed.Client", client)
    with workers_of(problem(), 3, None) as crew:
        crew.begin("trial", Task(double, (21,)))
        assert crew.finished() == ("trial", 42)
    assert (asked["n_workers"], asked["threads_per_worker"]) == (3, 1)
    assert (asked["NUMBA_NUM_THREADS"], asked["OPENBLAS_NUM_THREADS"]) == (1, 1)
    assert asked["address"] == "here"
    assert "NUMBA_NUM_THREADS" not in dask.config.get("distributed.nanny.pre-spawn-environ")
    with workers_of(problem(), None, "tcp://a"):
        assert asked["address"] == "tcp://a"


def suicidal(trial, problem, rng):
    """Kills the worker that trains it, the first time."""
    from distributed import get_worker

    mark = Path(os.environ["TINYRT_TEST_MARK"])
    with contextlib.suppress(ValueError):
        get_worker()
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return dense(trial, problem, rng)


@pytest.mark.slow
@pytest.mark.skipif(not WHOLE, reason="a cluster takes seconds to start: TINYRT_TESTS=all")
def test_a_worker_that_is_killed_in_a_trial_costs_nothing_but_time(tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("TINYRT_TEST_MARK", str(tmp_path / "mark"))
    setting = replace(QUICK, trials=6)
    result = search_networks(suicidal, blobs(), tmp_path, setting, workers=2)
    assert (tmp_path / "mark").exists()
    assert len(result.records) == 6
    assert result.ends["failed"] == 0 < result.ends["trained"]
    alone = search_networks(dense, blobs(), tmp_path / "alone", setting)
    same = [n for n in range(6) if alone.records[n].structure == result.records[n].structure]
    assert any(alone.records[n].end is End.TRAINED for n in same)
    trained = [n for n in same if alone.records[n].end is result.records[n].end is End.TRAINED]
    assert all(alone.records[n] == result.records[n] for n in trained)
