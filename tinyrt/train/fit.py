"""The training loop: epochs of batches, validation, early stopping, and resuming exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tinyrt.data import load_npz, save_npz
from tinyrt.errors import DataError, boundary
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.data import batches, in_order
from tinyrt.train.history import Epoch, progress_bar
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import Module
from tinyrt.train.optim import Optimizer, clip_gradients

Loss = Callable[[Tensor, Array], Tensor]
Objective = Callable[[Module, Array, Array], Tensor]
Augment = Callable[[Array, np.random.Generator], Array]


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

    """

    epochs: int
    batch: int = 32
    accumulate: int = 1
    clip_norm: float | None = None
    patience: int | None = None
    workers: int = 0
    keep_best: bool = False
    progress: bool | None = None


def fit(
    module: Module,
    optimizer: Optimizer,
    x: Array,
    y: Array,
    config: FitConfig,
    *,
    rng: np.random.Generator,
    loss: Loss = cross_entropy,
    objective: Objective | None = None,
    lr: Callable[[int, int], float] | None = None,
    augment: Augment | None = None,
    validate: Callable[[Module], float] | None = None,
    before_epoch: Callable[[int], None] | None = None,
    on_step: Callable[[int, int], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    state_file: Path | None = None,
) -> tuple[Epoch, ...]:
    """Train, and give the history.

    With a state file, all that the next epoch depends on is written after each: parameters,
    buffers, optimiser, random generators, history. If the file is there at the start, training
    goes on from it and ends with the same bits as if it had never been interrupted.

    Args:
        module: what to train; in training mode from here on.
        optimizer: of its parameters.
        x: samples, (n, ...).
        y: what the loss compares with, (n, ...).
        config: how to train.
        rng: draws order and augmentation.
        loss: of the module's output and a batch of ``y``, a tensor of one element.
        objective: in place of the loss, where it needs more than the output: of the module, a
            batch of samples and of ``y``; ``distill.Distillation`` is one.
        lr: learning rate of a step, from its number and that of all steps; None leaves it alone.
        augment: changes a batch of samples before each use; its generator is the batch's own, so
            that batches can be prepared at the same time.
        validate: the module's score, greater is better.
        before_epoch: called with the number of each epoch, also after resuming.
        on_step: called after each step with how many are done and how many there will be;
            ``prune.Pruner`` is one.
        on_epoch: called after each epoch, for progress.
        state_file: an ``.npz`` file to write to and resume from.

    Raises:
        DataError: samples and labels differ in number, the state file is of another training, or
            there is no validation to choose the best epoch by.

    """
    if validate is None and (config.keep_best or config.patience is not None):
        raise DataError(
            "the best epoch can only be told by a score",
            expected="validate, where keep_best or patience is set",
        )
    if objective is None:

        def objective(module: Module, samples: Array, labels: Array) -> Tensor:
            return loss(module(Tensor(samples)), labels)

    run = _Run(module, optimizer, rng, config)
    if state_file is not None and state_file.exists():
        run.restore(state_file)
    steps = config.epochs * -(-len(x) // (config.batch * config.accumulate))
    with progress_bar(config.epochs, config.progress) as show:
        while not run.finished:
            number = len(run.history) + 1
            if before_epoch is not None:
                before_epoch(number)
            module.train()
            optimizer.zero_grad()
            losses = []
            pairs = in_order(_jobs(x, y, config.batch, augment, rng), config.workers)
            for i, (samples, labels) in enumerate(pairs, start=1):
                if lr is not None:
                    optimizer.lr = lr(optimizer.steps, steps)
                value = objective(module, samples, labels)
                share = _share_of_step(i - 1, len(samples), len(x), config)
                (value if share == 1 else value * share).backward()
                losses.append(value.item() * len(samples))
                if i % config.accumulate == 0 or i * config.batch >= len(x):
                    _step(optimizer, config.clip_norm)
                    if on_step is not None:
                        on_step(optimizer.steps, steps)
            score = float("nan") if validate is None else validate(module)
            mean_loss = float(np.sum(losses)) / len(x)
            run.add(Epoch(number, config.epochs, mean_loss, optimizer.lr, score))
            if state_file is not None:
                run.save(state_file)
            show(run.history[-1])
            if on_epoch is not None:
                on_epoch(run.history[-1])
    if config.keep_best and run.best is not None:
        module.load_state_dict(run.best)
    return tuple(run.history)


def _jobs(
    x: Array, y: Array, size: int, augment: Augment | None, rng: np.random.Generator
) -> Iterator[Callable[[], tuple[Array, Array]]]:
    """One pass over the data: what gives each batch. All random choices are made here, in order."""
    for samples, labels in batches(x, y, size, rng):
        own = np.random.default_rng(rng.integers(2**63)) if augment is not None else rng
        yield partial(_augmented, samples, labels, augment, own)


def _augmented(
    x: Array, y: Array, augment: Augment | None, rng: np.random.Generator
) -> tuple[Array, Array]:
    return x if augment is None else augment(x, rng), y


def _share_of_step(batch: int, count: int, samples: int, config: FitConfig) -> float:
    """Which part of the samples that its step sees a batch holds; the last step may see fewer."""
    whole = config.batch * config.accumulate
    before = batch * config.batch // whole * whole
    return count / min(whole, samples - before)


def _step(optimizer: Optimizer, clip_norm: float | None) -> None:
    if clip_norm is not None:
        clip_gradients(optimizer.parameters, clip_norm)
    optimizer.step()
    optimizer.zero_grad()


class _Run:
    """Where a training stands."""

    def __init__(
        self, module: Module, optimizer: Optimizer, rng: np.random.Generator, config: FitConfig
    ) -> None:
        self.module, self.optimizer, self.rng, self.config = module, optimizer, rng, config
        self.history: list[Epoch] = []
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
            self._take(arrays, path)

    def _take(self, arrays: dict[str, Array], path: Path) -> None:
        """Continue from the state in a file."""
        parts: dict[str, dict[str, Array]] = {"module": {}, "best": {}, "optimizer": {}}
        for key, array in arrays.items():
            part, slash, name = key.partition("/")
            if slash:
                parts[part][name] = array
        facts: dict[str, Any] = json.loads(str(arrays["facts"]))
        if facts["kind"] != self._kind():
            raise DataError(
                f"the state is of another training: {facts['kind']}",
                file=str(path),
                expected=self._kind(),
                hint="give another name, or remove the file to start anew",
            )
        self.module.load_state_dict(parts["module"])
        self.optimizer.load_state_dict(parts["optimizer"])
        self.best = parts["best"] or None
        self.history = [Epoch(**e) for e in facts["history"]]
        own, *others = facts["random"]
        self.rng.bit_generator.state = own
        for (module, _), state in zip(self._module_random(), others, strict=True):
            module.set_random_state(state)

    def _kind(self) -> str:
        """What a state must be of, beside the module's own names and shapes."""
        random = len(self._module_random())
        return f"{type(self.optimizer).__name__}, {random} layers that draw at random"

    def _module_random(self) -> list[tuple[Module, Any]]:
        states = ((m, m.random_state()) for _, m in self.module.named_modules())
        return [(m, s) for m, s in states if s is not None]
