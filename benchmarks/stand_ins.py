"""Stand-ins for the work of a search: each takes its time; its figures depend on choices.

Nothing is built or trained, so that a search of thousands of trials can be watched. Workers find
these functions by their names.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import numpy as np

from tinyrt.api.costs import Basis, ModelCost
from tinyrt.search import Problem, funnel
from tinyrt.search.candidate import Candidate
from tinyrt.search.learning import Verdict
from tinyrt.search.order import Order
from tinyrt.search.work import Deployed, Outline, Rung
from tinyrt.train.nn import Flatten, Module, Sequential

ARENA = 12_000
"""Bytes that a candidate of the space may take."""

STATE = 20_000
"""Bytes of a state of training."""


class Pace:
    """How long work takes, who lets the time pass, and how much has passed."""

    epoch = 1.0
    """Seconds of an epoch."""

    look = 0.05
    """Seconds for shape and plan."""

    spend: Callable[[float], None] = staticmethod(time.sleep)
    busy: ClassVar[list[float]] = []


def space(trial: object, problem: Problem, rng: np.random.Generator) -> Candidate:
    """Choices of about as many parameters as the spaces that ship have."""
    del problem, rng
    suggest = trial
    for i in range(suggest.suggest_int("blocks", 1, 4)):  # type: ignore[attr-defined]
        suggest.suggest_int(f"block{i}", 4, 64, step=4)  # type: ignore[attr-defined]
        suggest.suggest_int(f"kernel{i}", 3, 5, step=2)  # type: ignore[attr-defined]
    suggest.suggest_categorical("head", ["mean", "flat"])  # type: ignore[attr-defined]
    suggest.suggest_float("rate", 1e-3, 1e-1, log=True)  # type: ignore[attr-defined]
    network: Module = Sequential(flat=Flatten())
    return Candidate(network)


def costs(order: Order) -> ModelCost:
    """An arena that grows with the choices."""
    p = order.params
    arena = sum(40 * p[f"block{i}"] * p[f"kernel{i}"] for i in range(p["blocks"]))
    arena += 300 * (p["head"] == "flat")
    return ModelCost(order.core, Basis.FORMULA, arena, 2 * arena, None, None)


def score(order: Order) -> float:
    """A score that rises with the choices, and has its best rate; noise as of training."""
    p = order.params
    size = sum(math.sqrt(p[f"block{i}"]) + (p[f"kernel{i}"] == 5) for i in range(p["blocks"]))
    noise = np.random.default_rng(order.seed).normal(0, 0.01)
    return float(1 - math.exp(-size / 12) - 0.1 * math.log10(p["rate"] / 1e-2) ** 2 + noise)


def spend(seconds: float) -> None:
    """Let the time pass, and count it."""
    Pace.spend(seconds)
    Pace.busy.append(seconds)


def outlined(order: Order, problem: Problem) -> Outline:
    """See ``tinyrt.search.work``."""
    spend(Pace.look)
    text = json.dumps(dict(order.params), sort_keys=True)
    return Outline(hashlib.sha256(text.encode()).hexdigest()[:24], costs(order))


def price(order: Order, basis: Basis, problem: Problem) -> ModelCost:
    """See ``tinyrt.search.work``."""
    spend(Pace.look)
    return costs(order)


def train(order: Order, epochs: int, state: bytes | None, problem: Problem) -> Rung:
    """See ``tinyrt.search.work``; training takes as long as the candidate is large."""
    before = int.from_bytes(state[:4], "little") if state else 0
    spend((epochs - before) * Pace.epoch * (0.5 + costs(order).arena / ARENA))
    reached = score(order) * (1 - 0.5 / epochs)
    return Rung(reached, epochs.to_bytes(4, "little") + bytes(STATE - 4))


def deploy(order: Order, state: bytes, problem: Problem) -> Deployed:
    """See ``tinyrt.search.work``; the model is its costs."""
    spend(order.int8_epochs * Pace.epoch)
    known = costs(order)
    model = json.dumps([known.arena, known.weights]).encode()
    return Deployed(Verdict(score(order), 0.0), 1, model)


def price_model(model: bytes, order: Order, basis: Basis, problem: Problem) -> ModelCost:
    """See ``tinyrt.search.funnel``."""
    spend(Pace.look)
    arena, weights = json.loads(model)
    return ModelCost(order.core, basis, arena, weights, None, None)


@contextmanager
def standing_in() -> Iterator[None]:
    """Searches have the stand-ins do their work."""
    given = {
        "outlined": outlined,
        "price": price,
        "train": train,
        "deploy": deploy,
        "price_model": price_model,
    }
    before = {name: getattr(funnel, name) for name in given}
    vars(funnel).update(given)
    Pace.busy = []
    try:
        yield
    finally:
        vars(funnel).update(before)
