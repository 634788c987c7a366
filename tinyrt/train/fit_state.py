"""Where a training stands, and what a file of it must agree with to go on from it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tinyrt.data import load_npz, save_npz
from tinyrt.errors import DataError, boundary
from tinyrt.train.core.function import Array
from tinyrt.train.history import Epoch
from tinyrt.train.nn import Module
from tinyrt.train.optim import Optimizer


@dataclass(frozen=True, slots=True)
class FitConfig:
    """How to train.

    Attributes:
        epochs: passes over the data, at most.
        batch: samples per batch.
        accumulate: batches whose gradients are added up to one step, as if they were one.
        clip_norm: greatest norm of all gradients together; None for no limit.
        patience: epochs without a better score before training stops; None to go on to the end.
        workers: threads that prepare batches ahead; the results are the same bits.
        keep_best: leave the module as it was after its best epoch, instead of after the last.
        progress: show a bar on stderr; None to show it where that is a terminal.
        batches: how many an epoch has, where an iterable gives them; None for all that it gives.

    """

    epochs: int
    batch: int = 32
    accumulate: int = 1
    clip_norm: float | None = None
    patience: int | None = None
    workers: int = 0
    keep_best: bool = False
    progress: bool | None = None
    batches: int | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """The learning rate of each step."""

    lr: Callable[[int, int], float]
    steps: int

    def rate(self, step: int) -> float:
        """Of a step, from 0."""
        return self.lr(step, self.steps)


class FitState:
    """Where a training stands."""

    def __init__(
        self,
        module: Module,
        optimizer: Optimizer,
        rng: np.random.Generator,
        config: FitConfig,
        shapes: tuple[Any, Any],
        schedule: Schedule | None,
        origin: Mapping[str, str],
    ) -> None:
        self.module, self.optimizer, self.rng, self.config = module, optimizer, rng, config
        self.shapes, self.schedule, self.origin = shapes, schedule, origin
        self.first_lr = optimizer.lr
        self.history: list[Epoch] = []
        self.resumed = 0
        self.best: dict[str, Array] | None = None

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or the score has not risen for too long."""
        if len(self.history) >= self.config.epochs:
            return True
        patience = self.config.patience
        return patience is not None and len(self.history) - self._best_epoch() > patience

    def _best_epoch(self) -> int:
        """Number of the epoch with the greatest score, the first of equals; 0 before any."""
        scores = [-math.inf if math.isnan(e.score) else e.score for e in self.history]
        return 1 + int(np.argmax(scores)) if scores else 0

    def add(self, epoch: Epoch) -> None:
        """Take note of an epoch, and of the module if it is the best so far."""
        self.history.append(epoch)
        if self.config.keep_best and self._best_epoch() == epoch.number:
            self.best = self.module.state_dict()

    def save(self, path: Path) -> None:
        """Write everything to a file, or nothing."""
        parts = {
            "module": self.module.state_dict(),
            "best": self.best or {},
            "optimizer": self.optimizer.state_dict(),
        }
        arrays = {f"{part}/{name}": a for part, table in parts.items() for name, a in table.items()}
        facts = {
            "history": [asdict(e) for e in self.history],
            "kind": self._kind(),
            "random": [self.rng.bit_generator.state, *(s for _, s in self._module_random())],
        }
        save_npz(path, {**arrays, "facts": np.asarray(json.dumps(facts))})

    def restore(self, path: Path) -> None:
        """Go on from a file.

        Raises:
            DataError: it is not a state file, is damaged, or of another module.

        """
        arrays = load_npz(path, text=True)
        if "facts" not in arrays:
            raise DataError(
                "the file is not the state of a training",
                file=str(path),
                hint="give another name, or remove the file to start anew",
            )
        wrong = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)
        with boundary("training state", file=str(path), corrupt=wrong, damaged=DataError):
            self._take(arrays)

    def _take(self, arrays: dict[str, Array]) -> None:
        """Continue from the state in a file."""
        parts: dict[str, dict[str, Array]] = {"module": {}, "best": {}, "optimizer": {}}
        for key, array in arrays.items():
            part, slash, name = key.partition("/")
            if slash:
                parts[part][name] = array
        facts: dict[str, Any] = json.loads(str(arrays["facts"]))
        self._compare(facts["kind"], self._kind())
        history = [Epoch(**e) for e in facts["history"]]
        if self.schedule is not None and history:
            rate = self.schedule.rate(int(parts["optimizer"]["steps"]) - 1)
            what = f"lr in epoch {len(history)}"
            self._compare({what: history[-1].lr}, {what: rate})
        self.module.load_state_dict(parts["module"])
        self.optimizer.load_state_dict(parts["optimizer"])
        self.best = parts["best"] or None
        self.history, self.resumed = history, len(history)
        own, *others = facts["random"]
        self.rng.bit_generator.state = own
        for (module, _), state in zip(self._module_random(), others, strict=True):
            module.set_random_state(state)

    def _compare(self, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        """Refuse a state whose facts are others than those of this training."""
        names = [k for k in {**expected, **found} if found.get(k) != expected.get(k)]
        if names:
            raise DataError(
                "the state is of another training, with "
                + ", ".join(f"{k} {found.get(k)}" for k in names),
                expected=", ".join(f"{k} {expected.get(k)}" for k in names),
                hint="give another name, or remove the file to start anew",
            )

    def _kind(self) -> dict[str, Any]:
        """What a state must be of, beside the module's own names and shapes."""
        samples, labels = self.shapes
        kind = {
            **self.optimizer.settings(),
            **self.origin,
            "samples": samples,
            "labels": labels,
            "batch": self.config.batch,
            "accumulate": self.config.accumulate,
            "clip_norm": self.config.clip_norm,
            "layers that draw at random": len(self._module_random()),
            "lr": "by a schedule" if self.schedule is not None else self.first_lr,
        }
        return dict(json.loads(json.dumps(kind)))

    def _module_random(self) -> list[tuple[Module, Any]]:
        states = ((m, m.random_state()) for _, m in self.module.named_modules())
        return [(m, s) for m, s in states if s is not None]
