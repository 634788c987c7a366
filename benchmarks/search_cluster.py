"""How busy a search keeps a cluster: ``python -m benchmarks.search_cluster``.

Training is a stand-in that takes its time. By default time is counted and not waited for: a clock
adds the processor time that the search takes for itself, and workers take what their work lasts.
``--real`` has Dask's workers, as threads of this process, that sleep as long.
"""

from __future__ import annotations

import argparse
import heapq
import resource
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import stand_ins
from benchmarks.stand_ins import Pace, standing_in
from tinyrt.api.fitting import DeviceBudget
from tinyrt.cluster.tasks import Task
from tinyrt.cluster.workers import SPARE, Cluster
from tinyrt.files import scratch_folder
from tinyrt.search import Problem, SearchSetting
from tinyrt.search.funnel import Funnel
from tinyrt.search.run import Run
from tinyrt.search.setting import FACTOR
from tinyrt.search.source import space_source
from tinyrt.search.store import Record, opened, optuna_there

EPOCHS = 9
"""Of the best candidates, so that rungs are at 1, 3 and 9."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How things stand after some trials.

    Attributes:
        trials: that came to their end.
        seconds: since the beginning, by the clock.
        busy: share of the workers' time that they worked, since the last mark.
        own: processor seconds of the search for each trial, since the last mark.
        memory: greatest memory of the process so far, bytes.
        journal: bytes of the study's file.

    """

    trials: int
    seconds: float
    busy: float
    own: float
    memory: int
    journal: int

    def __str__(self) -> str:
        """A line of the table."""
        return (
            f"{self.trials:6,}  {self.seconds / 3600:8.3f}  {self.busy:5.1%}  "
            f"{1000 * self.own:12.1f}  {self.memory / 1e6:9.0f}  {self.journal / 1e6:10.1f}"
        )


Show = Callable[[Mark], object]


class Clocked:
    """Workers of which only the clock knows: what they do is done at once."""

    def __init__(self, number: int) -> None:
        self.slots = number + 1 + number // SPARE
        self._worked = 0.0
        self._free = [0.0] * number
        self._done: list[tuple[float, int, float, Hashable, Any]] = []
        self._begun, self._now = 0, 0.0
        self._own = time.process_time()

    def now(self) -> float:
        """The clock: it goes on while the search thinks."""
        spent = time.process_time()
        self._now += spent - self._own
        self._own = spent
        return self._now

    def begin(self, owner: Hashable, task: Task) -> None:
        """See ``Workers``: the first that is free takes it."""
        start = max(self.now(), heapq.heappop(self._free))
        before = len(Pace.busy)
        result = task.work(*task.arguments, None)
        lasts = sum(Pace.busy[before:])
        end = start + lasts
        heapq.heappush(self._free, end)
        self._begun += 1
        heapq.heappush(self._done, (end, self._begun, lasts, owner, result))
        self._own = time.process_time()  # stand-ins are no part of the search

    def finished(self) -> tuple[Hashable, Any]:
        """See ``Workers``."""
        now = self.now()
        end, _, lasts, owner, result = heapq.heappop(self._done)
        self._now = max(now, end)
        self._worked += lasts
        return owner, result

    def worked(self) -> float:
        """Seconds that workers have worked by now."""
        now = self.now()
        under_way = (min(max(now - end + lasts, 0), lasts) for end, _, lasts, *_ in self._done)
        return self._worked + sum(under_way)


def measured(
    crew: Any,
    number: int,
    trials: int,
    now: Callable[[], float],
    busy: Callable[[], float],
    folder: Path,
    every: int,
    show: Show = lambda mark: None,
) -> list[Mark]:
    """Search with these workers, and look every so many trials."""
    setting = SearchSetting(
        DeviceBudget(arena=stand_ins.ARENA), trials=trials, epochs=EPOCHS, int8_epochs=2
    )
    problem = Problem(np.zeros((4, 1, 1, 1), np.float32), np.arange(4) % 2, 0.5)
    pruner = optuna_there().pruners.SuccessiveHalvingPruner(
        min_resource=setting.first_rung, reduction_factor=FACTOR
    )
    path, marks, begin = folder / "study.log", list[Mark](), now()
    last = [begin, 0.0, time.process_time()]

    def look(done: int, total: int, record: Record) -> None:
        if done % every:
            return
        seconds, worked, own = now(), busy(), time.process_time()
        share = (worked - last[1]) / (number * (seconds - last[0]))
        memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = path.stat().st_size
        marks.append(Mark(done, seconds - begin, share, (own - last[2]) / every, memory, size))
        show(marks[-1])
        last[:] = seconds, worked, own

    basis = setting.basis.value
    with (
        standing_in(),
        opened(
            *(path, setting.facts("stand-ins", problem), setting.directions, 0, pruner, basis),
            resume=False,
        ) as store,
    ):
        funnel = Funnel(space_source(stand_ins.space), problem, setting, store, folder)
        Run(funnel, crew, look).all()
    return marks


@contextmanager
def real_cluster(number: int) -> Iterator[Any]:
    """Dask's scheduler and workers, as threads of this process, and a client."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def clocked(
    number: int, trials: int, epoch: float, every: int, show: Show = lambda mark: None
) -> list[Mark]:
    """A search on workers that only the clock knows."""
    Pace.epoch, Pace.spend = epoch, staticmethod(lambda seconds: None)
    crew = Clocked(number)
    with scratch_folder() as folder:
        return measured(crew, number, trials, crew.now, crew.worked, folder, every, show)


def real(
    number: int, trials: int, epoch: float, every: int, show: Show = lambda mark: None
) -> tuple[list[Mark], int]:
    """A search on Dask's workers, and how many tasks its scheduler remembers at the end."""
    Pace.epoch, Pace.spend = epoch, staticmethod(time.sleep)
    with scratch_folder() as folder, real_cluster(number) as client:
        crew = Cluster(Problem(np.zeros((4, 1, 1, 1), np.float32), np.arange(4) % 2, 0.5), client)
        marks = measured(
            crew, number, trials, time.monotonic, lambda: sum(Pace.busy), folder, every, show
        )
        return marks, len(client.cluster.scheduler.tasks)


def main() -> None:
    """Print a line for every mark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--epoch", type=float, default=10.0, help="seconds")
    parser.add_argument("--every", type=int, default=1_000, help="trials between lines")
    parser.add_argument("--real", action="store_true", help="on Dask's workers, which sleep")
    chosen = parser.parse_args()
    given = chosen.workers, chosen.trials, chosen.epoch, chosen.every
    print("trials     hours   busy  own ms/trial  memory MB  journal MB")

    def show(mark: Mark) -> None:
        print(mark, flush=True)

    if chosen.real:
        _, left = real(*given, show)
        print(f"tasks that the scheduler remembers: {left}")
    else:
        clocked(*given, show)


if __name__ == "__main__":
    main()
