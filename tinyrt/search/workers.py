"""Who does the work: this process, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from tinyrt.errors import DataError, ToolError
from tinyrt.search.problem import Problem
from tinyrt.search.work import Failure, attempted

DEATHS = 3
"""Workers that may die under a piece of work before it is given up."""

LOSSES = 3
"""How often the samples are sent again after all workers that had them died."""

CONNECT_S = 30
"""Seconds that a scheduler may take to answer."""

ENVIRONMENT = {"NUMBA_NUM_THREADS": 1, "OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1}
"""Of each worker: as many are started as there are processors."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A piece of work.

    Attributes:
        work: takes the arguments, then the problem.
        arguments: plain data.
        builds: whether it takes a compiler.

    """

    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    builds: bool = False


class Workers(Protocol):
    """Who does the work."""

    slots: int
    """Trials that are under way at the same time."""

    def begin(self, owner: Hashable, task: Task) -> None:
        """Have a task done for its owner, who has no other."""
        ...

    def finished(self) -> tuple[Hashable, Any]:
        """An owner whose task is done, and its result or ``Failure``; waits for it."""
        ...


class Here:
    """One piece after the other, in the process of the search."""

    slots = 1

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._waiting: deque[tuple[Hashable, Task]] = deque()

    def begin(self, owner: Hashable, task: Task) -> None:
        """See ``Workers``."""
        self._waiting.append((owner, task))

    def finished(self) -> tuple[Hashable, Any]:
        """See ``Workers``."""
        owner, task = self._waiting.popleft()
        return owner, attempted(task.work, *task.arguments, self._problem)


class Cluster:
    """The workers of a Dask cluster."""

    def __init__(self, problem: Problem, client: Any) -> None:
        self._problem, self._client = problem, client
        self._samples: Any = None
        self._owners: dict[Any, tuple[Hashable, Task]] = {}
        self._losses: dict[Hashable, int] = {}
        self._bare: set[str] = set()
        # One more than there are workers: the next has its work while the last is told.
        self.slots = max(1, len(self._addresses())) + 1
        self._send_samples()

    def begin(self, owner: Hashable, task: Task) -> None:
        """See ``Workers``."""
        able = None
        if task.builds and self._bare:
            able = sorted(self._addresses() - self._bare)
        future = self._client.submit(
            attempted,
            task.work,
            *task.arguments,
            self._samples,
            pure=False,
            retries=0,
            workers=able or None,
        )
        self._owners[future] = owner, task

    def finished(self) -> tuple[Hashable, Any]:
        """See ``Workers``.

        Raises:
            ToolError: the scheduler is gone.

        """
        while True:
            self._require_scheduler()
            with contextlib.suppress(TimeoutError, CancelledError):  # each result says so itself
                _distributed().wait(list(self._owners), timeout=2, return_when="FIRST_COMPLETED")
            done = next((f for f in self._owners if f.done()), None)
            if done is None:
                continue
            owner, task = self._owners.pop(done)
            result = self._result(owner, done)
            if result is not None and not self._passed_on(owner, task, result):
                self._losses.pop(owner, None)
                return owner, result
            if result is None:
                self.begin(owner, task)

    def _result(self, owner: Hashable, future: Any) -> Any:
        """The future's result; None where the samples were lost, and are sent again."""
        try:
            return future.result()
        except _distributed().KilledWorker as error:
            times, last = error.allowed_failures + 1, error.last_worker.address
            return Failure(f"workers died under it {times} times, the last at {last}")
        except CancelledError:
            self._require_scheduler()
            lost = self._losses[owner] = self._losses.get(owner, 0) + 1
            if lost > LOSSES:
                return Failure(f"all workers died under it {lost} times")
            self._send_samples()
            return None

    def _passed_on(self, owner: Hashable, task: Task, result: Any) -> bool:
        """Whether another worker does it, since this one has no compiler."""
        if not isinstance(result, Failure) or not result.lacks_tools:
            return False
        self._bare.add(result.worker)
        if not self._addresses() - self._bare:
            return False
        self.begin(owner, task)
        return True

    def _addresses(self) -> set[str]:
        return set(self._client.scheduler_info(n_workers=-1)["workers"])

    def _send_samples(self) -> None:
        try:
            self._samples = self._client.scatter(self._problem, broadcast=True, hash=False)
        except TimeoutError as error:
            raise ToolError(
                "the cluster has no workers",
                expected="one that takes the samples",
                hint="start some: dask worker ADDRESS; a study goes on with --resume",
            ) from error

    def _require_scheduler(self) -> None:
        if self._client.status != "running":
            raise ToolError(
                f"the scheduler does not answer any more: {self._client.status}",
                hint="start it again; the study goes on with --resume",
            )


@contextmanager
def workers_of(problem: Problem, number: int | None, scheduler: str | None) -> Iterator[Workers]:
    """Workers: this process for one, a cluster of so many processes, or that of a scheduler.

    Args:
        problem: what they are sent once.
        number: of workers on this machine; None for one to each processor.
        scheduler: the address of a Dask scheduler, in place of these.

    Raises:
        DataError: both are given, or there are no workers.
        ToolError: distributed is not installed, or the scheduler does not answer.

    """
    if number is not None and (scheduler is not None or number < 1):
        raise DataError(
            f"{number} workers" + (f" beside scheduler {scheduler}" if scheduler else ""),
            expected="a number of workers from 1, or the scheduler that has them",
        )
    if scheduler is None and (number or processors()) == 1:
        yield Here(problem)
        return
    distributed = _distributed()
    with contextlib.ExitStack() as stack:
        if scheduler is None:
            address = stack.enter_context(_local(number or processors()))
        else:
            address = scheduler
        try:
            client = stack.enter_context(distributed.Client(address, timeout=CONNECT_S))
        except (OSError, TimeoutError, ValueError) as error:
            raise ToolError(
                f"no scheduler answers at {address}",
                expected="the address that dask scheduler prints, as tcp://host:8786",
            ) from error
        yield Cluster(problem, client)


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
def _local(number: int) -> Iterator[Any]:
    """A cluster of processes on this machine, which share its memory evenly."""
    import dask

    choices = {f"distributed.nanny.pre-spawn-environ.{key}": n for key, n in ENVIRONMENT.items()}
    choices["distributed.scheduler.allowed-failures"] = DEATHS
    with (
        dask.config.set(choices),
        _distributed().LocalCluster(
            n_workers=number, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        yield cluster
