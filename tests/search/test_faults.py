"""What goes wrong on the way: the study goes on, nothing is counted twice, and nothing is lost.

Clusters are Dask's own, within this process; TINYRT_TESTS=all kills processes, too.
"""

import contextlib
import errno
import os
import resource
import signal
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import distributed
import optuna
import pytest

from tests.sampling import WHOLE, sampled
from tests.search.made import QUICK, blobs, dense
from tests.search.test_search import priced
from tinyrt.api.fitting import DeviceBudget
from tinyrt.cluster import tasks
from tinyrt.cluster.tasks import Failure, Lack, Task
from tinyrt.cluster.workers import Here
from tinyrt.errors import OutputError, ToolError
from tinyrt.search import SearchSetting, search_networks, store, work
from tinyrt.search.store import End
from tinyrt.train.nn import Linear, Module

FEW = replace(QUICK, trials=6)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The search that nothing happens to."""
    return search_networks(dense, blobs(), tmp_path_factory.mktemp("alone"), FEW)


@contextmanager
def cluster(port=0, workers=2):
    """Dask's scheduler and workers, in threads of this process."""
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        scheduler_port=port,
        dashboard_address=None,
        silence_logs=50,
    ) as started:
        yield started


def told(result, seen, number):
    """Each trial came to one end, which was told once and stands in the file once."""
    assert sorted(result.records) == list(range(number))
    assert len(seen) == number
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(result.study))
    )
    rungs = optuna.load_study(study_name=store.RUNGS, storage=storage).trials
    owners = [trial.user_attrs.get(store.OF) for trial in rungs if trial.intermediate_values]
    assert len(owners) == len(set(owners)), "scores of training count once"
    assert None not in owners


def same_training(result, alone):
    """Trials of the same candidates have the same scores, whoever trained them."""
    both = [n for n in alone.records if result.records[n].structure == alone.records[n].structure]
    trained = [n for n in both if alone.records[n].end is result.records[n].end is End.TRAINED]
    assert trained
    assert all(result.records[n] == alone.records[n] for n in trained)


@contextmanager
def files_of_at_most(size):
    """As on a full disk: the kernel cuts files off at this size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", sampled([4_001], [4_001, *range(2_000, 10_000, 727)]))
def test_a_study_that_finds_no_room_ends_and_goes_on(size, tmp_path):
    seen = []

    def search(**options):
        return search_networks(
            dense, blobs(), tmp_path, FEW, on_trial=lambda *of: seen.append(of), **options
        )

    with pytest.raises(OutputError, match="File too large") as error, files_of_at_most(size):
        search()
    if "this machine" not in error.value.problem:  # the file with the state may be longer
        assert error.value.file == str(tmp_path / "study.log")
    assert "--resume" in error.value.hint
    before = [record for _, _, record in seen]
    result = search(resume=True)
    told(result, seen[len(before) :], FEW.trials)
    assert seen[: len(before)] == seen[len(before) : 2 * len(before)], "first what there is"
    assert [result.records[n] for n in range(len(before))] == before
    assert result.ends["failed"] == 0


@pytest.mark.whole
def test_training_that_finds_no_room_for_its_state_goes_on_from_the_rung_before(
    alone, tmp_path, monkeypatch
):
    from tinyrt import files
    from tinyrt.search import funnel

    written = []

    def write(path, content):
        written.append(path.name)
        if len(written) == 2:
            with files.writing(path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return files.write_bytes(path, content)

    monkeypatch.setattr(funnel, "write_bytes", write)
    with pytest.raises(OutputError, match="No space left on device") as error:
        search_networks(dense, blobs(), tmp_path, FEW)
    assert error.value.file.endswith(written[1])
    epochs, train = [], funnel.train
    monkeypatch.setattr(funnel, "train", lambda *given: (epochs.append(given[1]), train(*given))[1])
    result = search_networks(dense, blobs(), tmp_path, FEW, resume=True)
    assert epochs[0] == FEW.rungs[1]
    same_training(result, alone)
    assert len(result.records) == FEW.trials


def test_a_disk_that_is_full_where_one_works_alone_ends_the_search(alone, tmp_path, monkeypatch):
    scratch = work.scratch_folder

    @contextmanager
    def full():
        calls.append(None)
        if len(calls) == 3:
            raise OutputError("cannot write") from OSError(errno.ENOSPC, "No space left")
        with scratch() as folder:
            yield folder

    calls = []
    monkeypatch.setattr(work, "scratch_folder", full)
    with pytest.raises(OutputError, match="the disk of this machine is full: ") as error:
        search_networks(dense, blobs(), tmp_path, FEW)
    assert "--resume" in error.value.hint
    result = search_networks(dense, blobs(), tmp_path, FEW, resume=True)
    assert result.ends["failed"] == 0
    same_training(result, alone)


class Undefined(Module):
    """Its loss is finite; its answers are not, once it is trained."""

    def __init__(self, rng):
        self.out, self.is_trained = Linear(12, 3, rng=rng), False

    def forward(self, x):
        self.is_trained |= self.training
        broken = self.is_trained and not self.training
        return self.out(x) * (float("nan") if broken else 1.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_answers_that_are_no_numbers_are_no_class(tmp_path):
    def undefined(trial, problem, rng):
        trial.suggest_int("width", 1, 99)
        return Undefined(rng)

    result = search_networks(undefined, blobs(), tmp_path, replace(FEW, trials=2))
    assert {(r.end, r.stage) for r in result.records.values()} == {(End.FAILED, "training")}
    assert "answers of the trained network are not finite" in result.records[0].reason
    assert [trial["reason"] for trial in result.as_dict()["not_trained"]] == [
        r.reason for _, r in sorted(result.records.items())
    ]


def test_a_scheduler_that_is_started_again_goes_on_with_the_study(alone, tmp_path):
    seen, running = [], contextlib.ExitStack()
    first = running.enter_context(cluster())
    address = first.scheduler_address

    def restart(*of):
        seen.append(of)
        if len(seen) == 2:
            running.close()
            running.enter_context(cluster(port=int(address.rpartition(":")[2])))

    with running:
        result = search_networks(dense, blobs(), tmp_path, FEW, scheduler=address, on_trial=restart)
    told(result, seen, FEW.trials)
    assert result.ends["failed"] == 0
    same_training(result, alone)


class Tried:
    """Which workers were asked for a price, what they lack, and how many of them."""

    by, lack, unfit = list[str](), Lack.TOOLS, 1


def price(*arguments):
    """A price, from workers that have what it takes; Dask finds the function by its name."""
    here = tasks._worker()
    Tried.by.append(here)
    if here in list(dict.fromkeys(Tried.by))[: Tried.unfit]:
        if Tried.lack is Lack.TOOLS:
            raise tasks.LacksToolsError("not installed: gcc")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return work.price(*arguments)


@pytest.fixture(params=Lack)
def lacking(request, monkeypatch):
    monkeypatch.setattr("tinyrt.search.funnel.price", price)
    monkeypatch.setattr(Tried, "by", [])
    monkeypatch.setattr(Tried, "lack", request.param)
    monkeypatch.setattr(work, "cost", priced(9_000, 70_000, []))
    monkeypatch.setattr(work, "require_tools", lambda *_: None)
    return request.param


FLASH = SearchSetting(DeviceBudget(flash=8_999), trials=6, epochs=1)


@pytest.mark.parametrize("lacking", sampled([Lack.ROOM], Lack), indirect=True)
def test_what_a_worker_lacks_another_does(lacking, tmp_path):
    with cluster() as started:
        address = started.scheduler_address
        result = search_networks(dense, blobs(), tmp_path, FLASH, scheduler=address)
    assert len(set(Tried.by)) == 2
    assert Tried.by.count(Tried.by[0]) <= 3, "so many are begun before the first comes back"
    assert {r.end for r in result.records.values()} <= {End.REFUSED, End.REPEATED}


def test_what_all_workers_lack(lacking, tmp_path, monkeypatch):
    monkeypatch.setattr(Tried, "unfit", 2)
    with cluster() as started:
        address = started.scheduler_address
        if lacking is Lack.ROOM:
            with pytest.raises(
                OutputError, match=r"^the disk of tcp://\S+ is full: OSError: \[Errno 28\]"
            ):
                search_networks(dense, blobs(), tmp_path, FLASH, scheduler=address)
            return
        result = search_networks(dense, blobs(), tmp_path, FLASH, scheduler=address)
    assert {(r.end, r.stage) for r in result.records.values()} == {(End.FAILED, "cost")}
    assert all("not installed: gcc" in r.reason for r in result.records.values())


def test_a_full_disk_is_known_by_its_error():
    for number, lack in ((errno.ENOSPC, Lack.ROOM), (errno.EDQUOT, Lack.ROOM), (errno.EIO, None)):
        assert tasks.attempted(_raise, OSError(number, "no")).lacks is lack
    assert tasks.attempted(_raise, ToolError("no")).lacks is None
    here = Here(None)
    here.begin(1, Task(lambda problem: Failure("no", Lack.TOOLS), ()))
    assert here.finished() == (1, Failure("no", Lack.TOOLS))


def _raise(error):
    raise error


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
