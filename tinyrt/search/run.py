"""Trials on their way: who is next, and what becomes of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tinyrt.cluster.tasks import Task
from tinyrt.cluster.workers import Workers
from tinyrt.search.funnel import Course, Ended, Funnel
from tinyrt.search.store import Record

if TYPE_CHECKING:
    from optuna.trial import Trial

OnTrial = Callable[[int, int, Record], None]
"""Told how many trials came to their end, how many there will be, and what became of the last."""


class Run:
    """Trials on their way, as many at a time as there are workers for."""

    def __init__(self, funnel: Funnel, crew: Workers, on_trial: OnTrial) -> None:
        self.funnel, self.crew, self.on_trial = funnel, crew, on_trial
        self.total = funnel.setting.trials
        self.left = funnel.store.under_way()
        self.done = len(funnel.store.finished())
        self.running: dict[int, tuple[Trial, Course]] = {}

    def all(self) -> None:
        """All trials that are missing; those that an earlier run did are told first."""
        for done, record in enumerate(self.funnel.store.records().values(), start=1):
            self.on_trial(done, self.total, record)
        while True:
            while len(self.running) < self.crew.slots and self._is_more():
                self._start(self.left.pop() if self.left else self.funnel.ask())
            if not self.running:
                return
            number, result = self.crew.finished()
            self._go_on(number, result)

    def _is_more(self) -> bool:
        return bool(self.left) or self.done + len(self.running) < self.total

    def _start(self, trial: Trial) -> None:
        self.running[trial.number] = trial, self.funnel.course(trial)
        self._go_on(trial.number, None)

    def _go_on(self, number: Any, result: Any) -> None:
        trial, course = self.running[number]
        try:
            task: Task = course.send(result)
        except StopIteration as stop:
            self._end(trial, stop.value)
        else:
            self.crew.begin(number, task)

    def _end(self, trial: Trial, ended: Ended) -> None:
        self.funnel.store.end(trial, ended.record, ended.values)
        self.funnel.state_file(trial.number).unlink(missing_ok=True)
        del self.running[trial.number]
        self.done += 1
        self.on_trial(self.done, self.total, ended.record)
