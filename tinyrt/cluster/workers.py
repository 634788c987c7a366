"""Who does the work: this process, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from tinyrt.cluster import memory
from tinyrt.cluster.tasks import Failure, Lack, Task, attempted
from tinyrt.errors import DataError, OutputError, ToolError

DEATHS = 3
"""Workers that may die under a piece of work before it is given up."""

LOSSES = 3
"""How often the samples are sent again after all workers that had them died."""

CONNECT_S = 60
"""Seconds that a scheduler may take to answer, or be gone for."""

WORKERS_S = 300
"""Seconds that a cluster may be without workers."""

SPARE = 4
"""For each so many workers, one more trial is under way, so that none waits for a proposal."""

LOOK_S, PAUSE_S = 2, 0.1
"""Seconds between looks at who is there while nothing is done, and while the scheduler is gone."""

DASHBOARD = "127.0.0.1:0"
"""Where a cluster on this machine shows itself: to this machine alone, at a port that is free."""

ENVIRONMENT = memory.ENVIRONMENT | {
    **{"NUMBA_NUM_THREADS": 1, "OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
}
"""Of each worker: as many are started as there are processors, and they keep their memory."""


class Workers(Protocol):
    """Who does the work."""

    @property
    def slots(self) -> int:
        """Trials that are under way at the same time."""
        ...

    def begin(self, owner: Hashable, task: Task) -> None:
        """Have a task done for its owner, who has no other."""
        ...

    def finished(self) -> tuple[Hashable, Any]:
        """An owner whose task is done, and its result or ``Failure``; waits for it."""
        ...


class Here:
    """One piece after the other, in the process of the search."""

    slots = 1

    def __init__(self, shared: Any) -> None:
        self._shared = shared
        self._waiting: deque[tuple[Hashable, Task]] = deque()

    def begin(self, owner: Hashable, task: Task) -> None:
        """See ``Workers``."""
        self._waiting.append((owner, task))

    def finished(self) -> tuple[Hashable, Any]:
        """See ``Workers``.

        Raises:
            OutputError: the disk is full.

        """
        owner, task = self._waiting.popleft()
        result = attempted(task.work, *task.arguments, self._shared)
        if isinstance(result, Failure) and result.lacks is Lack.ROOM:
            raise _no_room(result)
        return owner, result


@dataclass(frozen=True, slots=True, eq=False)
class _Begun:
    """A task that workers have: whose it is, with which samples, and who may do it; all if none."""

    owner: Hashable
    task: Task
    samples: Any
    able: frozenset[str]


class Cluster:
    """The workers of a Dask cluster."""

    def __init__(self, shared: Any, client: Any) -> None:
        self._shared, self._client = shared, client
        self._samples: Any = None
        self._begun: dict[Any, _Begun] = {}
        self._losses: dict[Hashable, int] = {}
        self._unfit: dict[Lack, set[str]] = {lack: set() for lack in Lack}
        self._looked, self._slots = -float("inf"), 1
        self._send_samples()

    @property
    def slots(self) -> int:
        """More than there are workers: the next have their work while the last are told."""
        if time.monotonic() > self._looked + LOOK_S:
            there = max(1, len(self._addresses()))
            self._looked, self._slots = time.monotonic(), there + 1 + there // SPARE
        return self._slots

    def begin(self, owner: Hashable, task: Task) -> None:
        """See ``Workers``."""
        able: frozenset[str] = frozenset()
        if unfit := self._unfit_for(task):
            able = frozenset(self._addresses() - unfit)
        future = self._client.submit(
            attempted,
            task.work,
            *task.arguments,
            self._samples,
            pure=False,
            retries=0,
            workers=sorted(able) or None,
        )
        self._begun[future] = _Begun(owner, task, self._samples, able)

    def finished(self) -> tuple[Hashable, Any]:
        """See ``Workers``.

        Raises:
            OutputError: the disks of all workers are full.
            ToolError: the scheduler is gone.

        """
        while True:
            self._require_scheduler()
            with contextlib.suppress(TimeoutError, CancelledError):  # each result says so itself
                _distributed().wait(
                    list(self._begun), timeout=LOOK_S, return_when="FIRST_COMPLETED"
                )
            done = next((f for f in self._begun if f.done()), None)
            if done is None:
                self._begin_stranded()
                continue
            begun = self._begun.pop(done)
            result = self._result(begun, done)
            if result is None:
                self.begin(begun.owner, begun.task)
            elif not self._passed_on(begun, result):
                self._losses.pop(begun.owner, None)
                return begun.owner, result

    def _result(self, begun: _Begun, future: Any) -> Any:
        """The future's result; None where it was lost with its samples, which are sent again."""
        try:
            return future.result()
        except _distributed().KilledWorker as error:
            times, last = error.allowed_failures + 1, error.last_worker.address
            return Failure(f"workers died under it {times} times, the last at {last}")
        except CancelledError:
            self._require_scheduler()
            owner = begun.owner
            lost = self._losses[owner] = self._losses.get(owner, 0) + 1
            if lost > LOSSES:
                return Failure(f"all workers died under it {lost} times")
            if begun.samples is self._samples:
                self._send_samples()
            return None

    def _passed_on(self, begun: _Begun, result: Any) -> bool:
        """Whether another worker does it, since this one has no compiler or no room."""
        if not isinstance(result, Failure) or result.lacks is None:
            return False
        self._unfit[result.lacks].add(result.worker)
        if not self._addresses() - self._unfit_for(begun.task):
            if result.lacks is Lack.ROOM:
                raise _no_room(result)
            return False
        self.begin(begun.owner, begun.task)
        return True

    def _unfit_for(self, task: Task) -> set[str]:
        """Addresses of the workers that cannot do a task."""
        unfit = self._unfit[Lack.ROOM]
        return unfit | self._unfit[Lack.TOOLS] if task.builds else unfit

    def _begin_stranded(self) -> None:
        """Begin again what waits for workers that are gone: others may have come."""
        if not any(begun.able for begun in self._begun.values()):
            return
        there = self._addresses()
        for future, begun in list(self._begun.items()):
            if begun.able and not begun.able & there:
                del self._begun[future]
                future.cancel()
                self.begin(begun.owner, begun.task)

    def _addresses(self) -> set[str]:
        return set(self._answered(lambda: self._client.scheduler_info(n_workers=-1)["workers"]))

    def _send_samples(self) -> None:
        def send() -> Any:
            self._client.wait_for_workers(1, timeout=WORKERS_S)
            return self._client.scatter(self._shared, broadcast=True, hash=False)

        try:
            self._samples = self._answered(send)
        except TimeoutError as error:
            raise ToolError(
                "the cluster has no workers",
                expected="one that takes the samples",
                hint="start some: dask worker ADDRESS; a study goes on with --resume",
            ) from error

    def _answered(self, ask: Callable[[], Any]) -> Any:
        """What the scheduler answers, also one that is started again meanwhile."""
        while True:
            self._require_scheduler()
            try:
                return ask()
            except TimeoutError:
                raise
            except OSError:  # the connection broke: Dask's client sees it, too, in a moment
                time.sleep(PAUSE_S)

    def _require_scheduler(self) -> None:
        """Wait for a scheduler that is started again: Dask's client looks for it by itself."""
        while self._client.status == "connecting":
            time.sleep(PAUSE_S)
        if self._client.status != "running":
            raise ToolError(
                f"the scheduler does not answer any more: {self._client.status}",
                hint="start it again; a study goes on with --resume",
            )


def _no_room(failure: Failure) -> OutputError:
    return OutputError(
        f"the disk of {failure.worker or 'this machine'} is full: {failure.reason}",
        hint="make room on it; a study goes on with --resume",
    )


@contextmanager
def workers_of(
    shared: Any,
    number: int | None,
    scheduler: Any,
    on_dashboard: Callable[[str], object] = lambda address: None,
) -> Iterator[Workers]:
    """Workers: this process for one, a cluster of so many processes, or that of a scheduler.

    Args:
        shared: what they are sent once.
        number: of workers on this machine; None for one to each processor.
        scheduler: the address of a Dask scheduler, or a client of it, in place of these.
        on_dashboard: told the address of Dask's dashboard, where there is one.

    Raises:
        DataError: both are given, or there are no workers.
        ToolError: distributed is not installed, or the scheduler does not answer.

    """
    if number is not None and (scheduler is not None or number < 1):
        raise DataError(
            f"{number} workers" + ("" if scheduler is None else f" beside scheduler {scheduler}"),
            expected="a number of workers from 1, or the scheduler that has them",
        )
    if scheduler is None and (number or processors()) == 1:
        yield Here(shared)
        return
    with contextlib.ExitStack() as stack:
        if scheduler is None:
            client = stack.enter_context(_client(stack.enter_context(local_cluster(number))))
        elif isinstance(scheduler, str):
            client = stack.enter_context(_client(scheduler))
        else:
            client = scheduler
        if client.dashboard_link:
            on_dashboard(client.dashboard_link)
        yield Cluster(shared, client)


def _client(address: Any) -> Any:
    """A client of the scheduler there, or of a cluster of this machine."""
    try:
        return _distributed().Client(address, timeout=CONNECT_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise ToolError(
            f"no scheduler answers at {address}",
            expected="the address that dask scheduler prints, as tcp://host:8786",
        ) from error


def _distributed() -> Any:
    """Dask's package, whose functions have no types."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise ToolError(
            "workers are Dask's, which is not installed",
            expected="distributed",
            hint="pip install 'tinyrt[search]', or --workers 1",
        ) from error


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_cluster(number: int | None) -> Iterator[Any]:
    """A cluster of so many processes on this machine, which share its memory evenly.

    Args:
        number: of workers; None for one to each processor.

    Raises:
        ToolError: distributed is not installed.

    """
    distributed = _distributed()
    import dask

    choices = {f"distributed.nanny.pre-spawn-environ.{key}": n for key, n in ENVIRONMENT.items()}
    choices["distributed.scheduler.allowed-failures"] = DEATHS
    with (
        dask.config.set(choices),
        distributed.LocalCluster(
            n_workers=number or processors(),
            threads_per_worker=1,
            dashboard_address=DASHBOARD,
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster
