"""A search beside a recipe by hand: ``python -m benchmarks.search_recipes motion FOLDER``.

The recipe is trained first, and its pruned int8 model counted (``--unpruned``: the one with all
channels): what that costs is the limit, for digits .7 of its instructions. Within it, networks and
their deployment are chosen for the recipe's training samples: convolutions along time and their
strides, or for digits the space ``cnn``, which begins with two by hand. The recipe's float model
teaches them, as it does the pruned one. The test samples judge the front, and chose nothing.
``--recipe-only`` prints the recipe's figures.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyrt.api.costs import Basis, ModelCost, cost
from tinyrt.api.fitting import DeviceBudget
from tinyrt.convert.passes import optimize
from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph
from tinyrt.quantize import Preset, Scheme
from tinyrt.search import SPACES, Candidate, Deployment, Problem, SearchSetting, search_networks
from tinyrt.search.store import End, Record
from tinyrt.train.nn import Conv2d, DepthwiseConv2d, GlobalAvgPool2d, Linear, Module, Sequential
from tinyrt.train.recipes import RECIPES
from tinyrt.train.recipes.series import normed
from tinyrt.train.recipes.stages import prune, train_float, train_int8

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

DEPLOYMENTS = {
    "int8": Deployment(),
    "int8-untrained": Deployment(preset=Preset.BALANCED),
    "int4": Deployment(Scheme.INT4),
}
CORE = "cortex-m4"

SHARES = {"digits": 0.7, "motion": 1.0, "vowels": 1.0}
"""Recipe -> share of its pruned int8 model's instructions that a network may take."""


def small_cnn(width: int) -> dict[str, Any]:
    """Choices of a small network by hand: three convolutions, of which two stride."""
    widths, strides = (width, width, width + width // 2), (1, 2, 2)
    chosen: dict[str, Any] = {"layers": 3, "head": "flat", "learning_rate": 1e-2}
    for i, (channels, stride) in enumerate(zip(widths, strides, strict=True), start=1):
        chosen |= {f"conv{i}": channels, f"conv{i}_kernel": 3, f"conv{i}_stride": stride}
    return chosen


BEGIN = {("digits", "cnn"): tuple(small_cnn(width) for width in (8, 16))}
"""Recipe and space -> choices of the first trials, which others are compared with from then on."""


@dataclass(frozen=True, slots=True)
class Hand:
    """A recipe's int8 model.

    Attributes:
        top1: share of the test samples that it answers right.
        cost: what it costs on ``CORE``, counted.
        teacher: the recipe's float model, which taught it.

    """

    top1: float
    cost: ModelCost
    teacher: Graph

    def limits(self, share: float) -> DeviceBudget:
        """Its arena, flash and that share of its instructions."""
        flash, instructions = self.cost.flash, self.cost.instructions
        assert flash is not None
        assert instructions is not None
        return DeviceBudget(
            CORE, arena=self.cost.arena, flash=flash, instructions=int(share * instructions)
        )


def by_hand(recipe: str, seed: int, pruned: bool = True) -> Hand:
    """Train a recipe, prune it unless all channels stay, and count what its int8 model costs."""
    trained = train_float(RECIPES[recipe], seed=seed)
    graph = train_int8(trained, source=prune(trained) if pruned else None).deployed()
    top1 = trained.recipe.score(Model(graph), trained.data)["top1"]
    return Hand(top1, cost(graph, CORE, basis=Basis.COUNTED), optimize(trained.graph()))


def space_for(
    recipe: str, images_space: str = "cnn"
) -> Callable[[BaseTrial, Problem, np.random.Generator], Candidate]:
    """The space for a recipe's samples, varied as the recipe does; for images one that ships."""
    batch, augment = RECIPES[recipe].training.batch, RECIPES[recipe].augment
    loss = RECIPES[recipe].loss

    def images(trial: BaseTrial, problem: Problem, rng: np.random.Generator) -> Candidate:
        made = SPACES[images_space](trial, problem, rng)
        assert isinstance(made, Candidate), "as those that ship are"
        return replace(made, batch=batch, augment=augment, loss=loss)

    if recipe == "digits":
        return images

    def space(trial: BaseTrial, problem: Problem, rng: np.random.Generator) -> Candidate:
        channels, layers = problem.input_shape[2], dict[str, Module]()
        for i in range(trial.suggest_int("layers", 1, 3)):
            width = trial.suggest_int(f"width{i}", 4, 48, step=4)
            kernel = (1, trial.suggest_int(f"kernel{i}", 3, 9, step=2))
            stride = (1, trial.suggest_int(f"stride{i}", 1, 4))
            if i:
                along = DepthwiseConv2d(channels, kernel, stride=stride, rng=rng, bias=False)
                layers |= normed(f"along{i}", along, channels)
                kernel = stride = (1, 1)
            across = Conv2d(channels, width, kernel, stride=stride, rng=rng, bias=False)
            layers |= normed(f"across{i}", across, width)
            channels = width
        out = Linear(channels, problem.outputs, rng=rng)
        rate = trial.suggest_float("learning_rate", 3e-3, 3e-2, log=True)
        deployment = DEPLOYMENTS[trial.suggest_categorical("deployment", list(DEPLOYMENTS))]
        network = Sequential(**layers, mean=GlobalAvgPool2d(), out=out)
        return Candidate(network, rate, batch, augment, deployment=deployment, loss=loss)

    return space


class Watch:
    """Says when a trial is better than all before; passed to a search as ``on_trial``."""

    def __init__(self) -> None:
        self._begin, self._best = time.monotonic(), 0.0

    def __call__(self, done: int, total: int, record: Record) -> None:
        """Take note of a trial."""
        if record.end is not End.TRAINED or record.score is None or record.score <= self._best:
            return
        self._best, costs = record.score, record.costs or {}
        print(f"{time.monotonic() - self._begin:5.0f} s, trial {done} of {total}: ", end="")
        print(f"{record.score:.2%}, {costs['instructions']:,} instructions", flush=True)


def main() -> None:
    """Search, and print the front."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", choices=tuple(SHARES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--space", default="cnn", help="for digits, one that ships")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--validation", type=float, default=0.2)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--share", type=int, default=0)
    parser.add_argument("--scouts", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--unpruned", action="store_true", help="beside all channels")
    parser.add_argument("--recipe-only", action="store_true", help="do not search")
    given = parser.parse_args()
    hand = by_hand(given.recipe, given.seed, not given.unpruned)
    limits = hand.limits(SHARES[given.recipe])
    spent = hand.cost
    print(f"by hand: test {hand.top1:.2%}, arena {spent.arena:,}, flash {spent.flash:,}, ", end="")
    print(f"instructions {spent.instructions:,}; limits {limits.limits}", flush=True)
    if given.recipe_only:
        return
    data = RECIPES[given.recipe].load(given.seed)
    found = search_networks(
        space_for(given.recipe, given.space),
        {"x": data.x_train, "y": data.y_train},
        given.folder,
        SearchSetting(
            *(limits, given.trials, ("instructions",), given.epochs),
            seed=given.seed,
            folds=given.folds,
            share=given.share,
            scouts=given.scouts,
        ),
        validation=given.validation,
        workers=given.workers,
        teacher=hand.teacher,
        begin=BEGIN.get((given.recipe, given.space), ()),
        test={"x": data.x_test, "y": data.y_test},
        on_trial=Watch(),
    )
    print(" ".join(f"{end} {number}" for end, number in found.ends.items()))
    print("scouts:", " ".join(f"{end} {number}" for end, number in found.scout_ends.items()))
    spent = time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    print(f"{spent:.0f} seconds of processor time, compiler and emulator included")
    for point in found.front:
        costs = " ".join(f"{name} {figure:,}" for name, figure in point.costs.items())
        chosen_by = f"{point.score:.2%} of those to choose by, loss {point.loss:.4f}"
        print(f"{chosen_by}, test {point.test:.2%}, {costs}")
        print(f"    {dict(point.params)}, {point.model.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
