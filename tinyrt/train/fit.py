"""The training loop: epochs of batches, validation, early stopping, and resuming exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tinyrt.errors import DataError
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.data import in_order
from tinyrt.train.feed import Arrays, Feed, Stream, feed_of, inputs_of
from tinyrt.train.feed import Augment as Augment
from tinyrt.train.fit_state import FitConfig as FitConfig
from tinyrt.train.fit_state import FitState, Schedule
from tinyrt.train.history import Epoch, progress_bar
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import Module
from tinyrt.train.optim import Optimizer, clip_gradients

Loss = Callable[[Any, Any], Tensor]
Objective = Callable[[Module, Any, Any], Tensor]


def fit(
    module: Module,
    optimizer: Optimizer,
    x: Arrays | Stream,
    y: Arrays | None,
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
    origin: Mapping[str, str] | None = None,
) -> tuple[Epoch, ...]:
    """Train, and give the history.

    With a state file, all that the next epoch depends on is written after each: parameters,
    buffers, optimiser, random generators, history. If the file is there at the start, training
    goes on from it and ends with the same bits as if it had never been interrupted. Optimiser,
    batches and schedule must be what they were; more epochs may follow where the rate is constant.

    Args:
        module: what to train; in training mode from here on. Where it is so already, parts that are
            not, as norms whose statistics are to stay, are left alone.
        optimizer: of its parameters.
        x: samples, (n, ...), a tuple of arrays for several inputs; or batches, as an iterable of
            pairs of samples and labels that begins anew in each epoch, or as a function that gives
            those of an epoch and draws from the generator that it gets.
        y: what the loss compares with, (n, ...), a tuple of arrays for several outputs; None where
            ``x`` gives batches.
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
        origin: what else a state file must be of, in words: data, the weights at the start, ...

    Raises:
        DataError: samples and labels differ in number, or are no arrays or batches; there are other
            batches than was said, or it must be said how many; the state file is of another
            training, there is no validation to choose the best epoch by, the optimiser has
            parameters that the loss does not reach, or a loss or parameter is not finite any more.

    """
    if validate is None and (config.keep_best or config.patience is not None):
        raise DataError(
            "the best epoch can only be told by a score",
            expected="validate, where keep_best or patience is set",
        )
    objective = objective or objective_of(loss)
    feed = feed_of(x, y, config)
    steps = config.epochs * _steps_of(feed, lr is not None or on_step is not None)
    schedule = None if lr is None else Schedule(lr, steps)
    state = FitState(module, optimizer, rng, config, feed.facts, schedule, origin or {})
    if state_file is not None and state_file.exists():
        state.restore(state_file)
    if not module.training:
        module.train()
    modes = _modes(module)

    def stepped() -> None:
        if on_step is not None:
            on_step(optimizer.steps, steps)

    with progress_bar(config.epochs, config.progress) as show:
        while not state.finished:
            number = len(state.history) + 1
            if before_epoch is not None:
                before_epoch(number)
            if not module.training:  # a callback saw it as deployed
                _set_modes(modes)
            mean_loss = _epoch(state, feed, objective, augment, stepped)
            modes = _modes(module)
            score = float("nan") if validate is None else validate(module)
            state.add(Epoch(number, config.epochs, mean_loss, optimizer.lr, score))
            if state_file is not None:
                state.save(state_file)
            show(state.history[-1])
            if on_epoch is not None:
                on_epoch(state.history[-1])
    if config.keep_best and state.best is not None:
        module.load_state_dict(state.best)
    return tuple(state.history)


def objective_of(loss: Loss) -> Objective:
    """A loss of the module's output as what ``fit`` brings down."""

    def objective(module: Module, samples: Any, labels: Any) -> Tensor:
        return loss(module(*inputs_of(samples)), labels)

    return objective


def _steps_of(feed: Feed, needed: bool) -> int:
    """The optimiser's steps in an epoch; 0 where nobody asks for them and nobody knows."""
    steps = feed.steps()
    if steps is None and needed:
        raise DataError(
            "it is not known how many steps there will be, which lr and on_step are told",
            expected="FitConfig(batches=...), as many as an epoch has",
        )
    return steps or 0


def _epoch(
    state: FitState,
    feed: Feed,
    objective: Objective,
    augment: Augment | None,
    stepped: Callable[[], None],
) -> float:
    """One pass over the data; the mean loss of a sample."""
    module, optimizer, config = state.module, state.optimizer, state.config
    number, losses, count = len(state.history) + 1, list[float](), 0
    optimizer.zero_grad()
    for i, batch in enumerate(in_order(feed.jobs(augment, state.rng), config.workers), start=1):
        if state.schedule is not None:
            optimizer.lr = state.schedule.rate(optimizer.steps)
        value = objective(module, batch.samples, batch.labels)
        _require_finite(value.data, f"the loss of epoch {number}, batch {i}")
        (value if batch.share == 1 else value * batch.share).backward()
        if i == 1 and len(state.history) == state.resumed:
            _require_reached(module, optimizer)
        losses.append(value.item() * batch.count)
        count += batch.count
        if batch.ends_step:
            _step(optimizer, config.clip_norm)
            stepped()
    for name, parameter in module.named_parameters():
        _require_finite(parameter.data, f"parameter '{name}' after epoch {number}")
    return float(np.sum(losses)) / count


def _modes(module: Module) -> list[tuple[Module, bool]]:
    """Which parts behave as in training."""
    return [(m, m.training) for _, m in module.named_modules()]


def _set_modes(modes: Iterable[tuple[Module, bool]]) -> None:
    for module, mode in modes:
        module.training = mode


def _require_finite(array: Array, what: str) -> None:
    if not np.isfinite(array).all():
        raise DataError(
            f"{what} is not finite any more",
            expected="finite numbers",
            hint="look for such numbers in the data; lower the learning rate; clip_norm=1.0 holds "
            "back single large gradients",
        )


def _require_reached(module: Module, optimizer: Optimizer) -> None:
    """Refuse parameters of another module, which would stay as they are."""
    own = {id(p) for p in module.parameters()}
    lost = [p for p in optimizer.parameters if p.grad is None and id(p) not in own]
    if lost:
        raise DataError(
            f"{len(lost)} of the optimiser's {len(optimizer.parameters)} parameters are not the "
            "module's, and the loss does not depend on them",
            tensor=f"the first has shape {lost[0].shape}",
            expected="module.parameters() of the module that is trained",
        )


def _step(optimizer: Optimizer, clip_norm: float | None) -> None:
    if clip_norm is not None:
        clip_gradients(optimizer.parameters, clip_norm)
    optimizer.step()
    optimizer.zero_grad()
