"""Who does the work: killed workers, lost samples, machines without a compiler."""

import re
import sys
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace

import dask
import pytest

from tests.search.made import problem
from tinyrt.cluster import tasks
from tinyrt.cluster.tasks import Failure, Lack, Task, attempted
from tinyrt.cluster.workers import Cluster, Here, local_cluster, processors, workers_of
from tinyrt.errors import DataError, ToolError
from tinyrt.floatmath.parallel import helper_count, threads
from tinyrt.search import work
from tinyrt.search.work import require_tools


def double(number, problem):
    return 2 * number


def failing(error, problem):
    raise error


def lacking(number, problem):
    raise tasks.LacksToolsError("not installed: gcc")


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
    dashboard_link = "http://a:8787/status"

    def __init__(self, *outcomes):
        self.outcomes, self.submitted, self.sent = list(outcomes), [], 0

    def scheduler_info(self, n_workers):
        return {"workers": {"tcp://a": {}, "tcp://b": {}}}

    def wait_for_workers(self, number, timeout):
        assert (number, timeout) == (1, 300)

    def scatter(self, what, **options):
        self.sent += 1
        return object()

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


def test_losses_are_counted_anew_for_the_next_task_of_an_owner():
    lost = CancelledError()
    crew = Cluster(problem(), Client(lost, lost, 1, lost, lost, 2))
    for result in (1, 2):
        crew.begin("trial", Task(double, (21,)))
        assert crew.finished() == ("trial", result)


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
    bare = Failure("not installed", lacks=Lack.TOOLS, worker="tcp://a")
    client = Client(bare, 42, 43)
    crew = Cluster(problem(), client)
    for owner in (1, 2):
        crew.begin(owner, Task(double, (21,), builds=True))
        assert crew.finished() == (owner, 41 + owner)
    assert client.submitted == [None, ["tcp://b"], ["tcp://b"]]
    none = Client(bare, replace(bare, worker="tcp://b"))
    assert done_by(none, builds=True)[1].lacks is Lack.TOOLS
    other = Client(Failure("ShapeError: no", worker="tcp://a"))
    assert done_by(other, builds=True)[1].reason == "ShapeError: no"


def test_without_a_scheduler_the_search_ends():
    client = Client(CancelledError())
    crew = Cluster(problem(), client)
    crew.begin("trial", Task(double, (21,)))
    client.status = "closed"
    with pytest.raises(ToolError, match="the scheduler does not answer any more") as error:
        crew.finished()
    assert "--resume" in error.value.hint


def test_a_trial_has_one_thread():
    with threads(3):
        assert attempted(helper_count) == 0
        assert helper_count() == 2


def test_whatever_is_raised_in_a_trial_is_its_own():
    assert attempted(double, 3, problem()) == 6
    assert attempted(failing, KeyError("a"), problem()) == Failure("KeyError: 'a'")
    failure = attempted(failing, DataError("no", hint="yes"), problem())
    assert failure.reason.startswith("DataError: no")
    assert failure.lacks is None
    assert attempted(lacking, 3, problem()).lacks is Lack.TOOLS


def test_tools_are_asked_for_as_far_as_they_are_needed(monkeypatch):
    monkeypatch.setenv("PATH", "")
    require_tools("cortex-m4", work.Basis.FORMULA)
    with pytest.raises(ToolError, match=r"not installed: arm-none-eabi-gcc, .* make\n"):
        require_tools("cortex-m4", work.Basis.LINKED)
    with pytest.raises(ToolError, match=r"not installed: .*qemu-system-arm") as error:
        require_tools("cortex-m4", work.Basis.COUNTED)
    assert "apt-get install" in error.value.hint
    assert not re.search(r"\bcc\b", error.value.problem)
    with pytest.raises(ToolError, match=r"not installed: .*qemu-system-arm, cc\n"):
        require_tools("cortex-m4", work.Basis.TIMED)

    def old(*_):
        raise ToolError("make is old", expected="a new one", hint="get it")

    monkeypatch.setattr(work.toolchain, "require", old)
    with pytest.raises(tasks.LacksToolsError) as error:
        require_tools("cortex-m4", work.Basis.LINKED)
    said = error.value.problem, error.value.expected, error.value.hint
    assert said == ("make is old", "a new one", "get it")


def test_numbers_of_workers_and_schedulers():
    with pytest.raises(DataError, match=r"^0 workers"), workers_of(problem(), 0, None):
        pass
    both = pytest.raises(DataError, match="2 workers beside scheduler tcp://a")
    with both, workers_of(problem(), 2, "tcp://a"):
        pass
    with workers_of(problem(), 1, None) as crew:
        assert isinstance(crew, Here)


@pytest.mark.parametrize(
    ("allowed", "there", "number"), [({0, 2, 5}, 8, 3), (None, 8, 8), (None, None, 1)]
)
def test_processors_are_those_that_the_process_may_use(allowed, there, number, monkeypatch):
    """Not all of the machine, where the system tells which."""
    monkeypatch.setattr("os.cpu_count", lambda: there)
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    if allowed is not None:
        monkeypatch.setattr("os.sched_getaffinity", lambda of: allowed, raising=False)
    assert processors() == number


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
    shown = []
    with workers_of(problem(), 3, None, shown.append) as crew:
        assert shown == [Client.dashboard_link]
        crew.begin("trial", Task(double, (21,)))
        assert crew.finished() == ("trial", 42)
    assert (asked["n_workers"], asked["threads_per_worker"]) == (3, 1)
    assert asked["dashboard_address"] == "127.0.0.1:0", "others on the network see nothing"
    assert (asked["NUMBA_NUM_THREADS"], asked["OPENBLAS_NUM_THREADS"]) == (1, 1)
    kept = asked["MALLOC_TRIM_THRESHOLD_"], asked["MALLOC_MMAP_THRESHOLD_"]
    assert min(kept) >= 32 << 20, "memory is not given back between two steps of training"
    assert asked["address"] == "here"
    with local_cluster(None):
        assert asked["n_workers"] == processors()
    assert "NUMBA_NUM_THREADS" not in dask.config.get("distributed.nanny.pre-spawn-environ")
    monkeypatch.setattr(Client, "dashboard_link", None)
    with workers_of(problem(), None, "tcp://a", shown.append):
        assert asked["address"] == "tcp://a"
    with workers_of(problem(), 1, None, shown.append):
        assert len(shown) == 1, "neither schedulers without one nor this process have any"


def test_work_for_workers_that_are_gone_goes_to_those_that_came(monkeypatch):
    bare = Failure("not installed", lacks=Lack.TOOLS, worker="tcp://a")
    client = Client(bare, "never", 42)
    crew = Cluster(problem(), client)
    crew.begin("trial", Task(double, (21,), builds=True))
    submit, cancelled = client.submit, []

    def strand(function, task, *arguments, **options):
        future = submit(function, task, *arguments, **options)
        if future.outcome == "never":
            monkeypatch.setattr(future, "done", lambda: False, raising=False)
            monkeypatch.setattr(future, "cancel", lambda: cancelled.append(1), raising=False)
            there = {"workers": {"tcp://a": {}, "tcp://c": {}}}
            monkeypatch.setattr(client, "scheduler_info", lambda n_workers: there)
        return future

    monkeypatch.setattr(client, "submit", strand)
    assert crew.finished() == ("trial", 42)
    assert client.submitted == [None, ["tcp://b"], ["tcp://c"]]
    assert cancelled == [1]


def test_samples_are_sent_again_once_for_all_that_lost_them():
    client = Client(CancelledError(), CancelledError(), 42, 43)
    crew = Cluster(problem(), client)
    for owner in (1, 2):
        crew.begin(owner, Task(double, (21,)))
    assert {crew.finished()[0], crew.finished()[0]} == {1, 2}
    assert client.sent == 2


def test_a_scheduler_that_is_away_for_a_moment_is_waited_for(monkeypatch):
    client = Client(42)
    crew = Cluster(problem(), client)
    states, asked = iter(["connecting", "connecting", "running"]), []

    def info(n_workers):
        asked.append(n_workers)
        if len(asked) == 1:
            raise OSError("the connection broke")
        return {"workers": {"tcp://a": {}}}

    monkeypatch.setattr(client, "scheduler_info", info)
    monkeypatch.setattr(
        Client, "status", property(lambda _: next(states, "running")), raising=False
    )
    assert crew._addresses() == {"tcp://a"}
    assert len(asked) == 2
    assert next(states, "all seen") == "all seen"
