"""Trials an hour of two workers beside one: ``python -m benchmarks.search_workers``.

All trials train the same large network, to the end, so that each takes as long. They are done by
the process that searches, as with ``--workers 1``; by one worker that is started; by two. Times
have all of a search in them, from the start of its workers. Then the same training runs in one
plain process, and in two side by side, without a search: what two gain there is what this machine
can give. Real time says how fast it is, on a quiet machine; processor time says where it went, on
any.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyrt.api.fitting import DeviceBudget
from tinyrt.cluster.tasks import attempted
from tinyrt.cluster.workers import local_cluster
from tinyrt.files import scratch_folder
from tinyrt.search import Problem, SearchSetting, search_networks
from tinyrt.search.order import Order
from tinyrt.search.source import space_source
from tinyrt.search.work import deploy, train
from tinyrt.train.nn import Module
from tinyrt.train.recipes.digits import digits_cnn, load_digits

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

BUDGET = DeviceBudget("cortex-m4", arena=64 << 10)
EPOCHS = 2
"""Too few for rungs between: no trial is stopped."""


@dataclass(frozen=True, slots=True)
class Took:
    """What some trials took, seconds.

    Attributes:
        real: from the beginning to the end, the start of workers included.
        trials: how many.
        own: processor time of the program that searches; without workers, of the training, too.
        workers: processor time of its workers.

    """

    real: float
    trials: int
    own: float
    workers: float

    def __str__(self) -> str:
        """A line of the table."""
        hour = 3600 * self.trials / self.real
        return f"{self.real:8.1f}{self.own:8.1f}{self.workers:9.1f}{hour:14.0f}"


def wide(trial: BaseTrial, problem: Problem, rng: np.random.Generator) -> Module:
    """The digits' network, several times as wide; the choice only tells trials apart."""
    trial.suggest_int("number", 0, 1 << 30)
    return digits_cnn(rng, width=trial.suggest_int("width", WIDTH, WIDTH))


WIDTH = 12


def problem() -> Problem:
    """The digits."""
    return Problem(*load_digits())


def searched(workers: int, trials: int) -> Took:
    """Search from this process, with so many workers that are started; 0 for itself."""
    begin, own = time.monotonic(), time.process_time()
    with contextlib.ExitStack() as stack:
        folder, x, y = stack.enter_context(scratch_folder()), *load_digits()
        started: dict[str, Any] = {"workers": 1}
        if workers:
            cluster = stack.enter_context(local_cluster(workers))
            started = {"scheduler": stack.enter_context(cluster.get_client())}
        search_networks(
            wide,
            {"x": x, "y": y},
            folder / "found",
            SearchSetting(BUDGET, trials=trials, epochs=EPOCHS, int8_epochs=1),
            **started,
        )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(
        time.monotonic() - begin,
        trials,
        time.process_time() - own,
        used.ru_utime + used.ru_stime,
    )


def trained(trials: int) -> tuple[float, float]:
    """Real and processor seconds of training as many networks without a search."""
    of, source = problem(), space_source(wide)
    attempted(_once, source, 0, of)  # kernels are loaded
    begin, own = time.monotonic(), time.process_time()
    for number in range(trials):
        attempted(_once, source, number, of)
    return time.monotonic() - begin, time.process_time() - own


def _once(source: Any, number: int, of: Problem) -> None:
    params = {"number": number, "width": WIDTH}
    order = Order(source, params, number, "cortex-m4", EPOCHS, 1)
    deploy(order, train(order, EPOCHS, None, of).state, of)


def _process(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.search_workers", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _figures(process: subprocess.Popen[str]) -> list[float]:
    said, _ = process.communicate()
    return [float(word) for word in said.split()]


def main() -> None:
    """Print all figures, or those of one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--workers", type=int, help="one search, with so many started")
    parser.add_argument("--plain", action="store_true", help="train alone, in this process")
    given = parser.parse_args()
    number = str(given.trials)
    if given.plain:
        print(*trained(given.trials))
        return
    if given.workers is not None:
        took = searched(given.workers, given.trials)
        print(took.real, took.own, took.workers)
        return
    print("               real s   own s  workers s  trials an hour")
    of = {}
    for workers, name in ((0, "itself"), (1, "1 started"), (2, "2 started")):
        real, own, theirs = _figures(_process("--workers", str(workers), "--trials", number))
        of[workers] = Took(real, given.trials, own, theirs)
        print(f"{name:12}{of[workers]}", flush=True)
    start = partial(_process, "--plain", "--trials", number)
    (alone, alone_own) = _figures(start())
    both = [_figures(process) for process in (start(), start())]
    beside, beside_own = (sum(column) / 2 for column in zip(*both, strict=True))
    print(f"plain training: alone {alone:.1f} s, {alone_own:.1f} of a processor; two side by side ")
    print(f"  {beside:.1f} s, {beside_own:.1f} each: this machine gives {2 * alone / beside:.2f}")
    like, itself = (of[workers].real / of[2].real for workers in (1, 0))
    print(f"two workers give {like:.2f} times the trials an hour of one that is started, ")
    print(f"  and {itself:.2f} times those of the process that searches itself")


if __name__ == "__main__":
    main()
