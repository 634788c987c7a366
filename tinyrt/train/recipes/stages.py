"""The stages of every recipe: float, int8, pruned, int4.

Each takes what the one before has given, so that they can also be called one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tinyrt.convert.passes import optimize
from tinyrt.floatmath.parallel import one_thread
from tinyrt.ir import Graph
from tinyrt.quantize import quantize_graph
from tinyrt.train.channels import channel_scores, prune_channels
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.distill import Distillation
from tinyrt.train.fit import FitConfig, Objective, fit
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.history import Epoch
from tinyrt.train.nn import Sequential
from tinyrt.train.optim import Adam
from tinyrt.train.qat import QatConfig, QatModel, Scales
from tinyrt.train.recipes.recipe import Dataset, Recipe, Training
from tinyrt.train.tracing import trace

CALIBRATION_SAMPLES = 100
FROZEN = 1 / 3
"""Share of training as int8, at its end, in which ranges and batch norms hold still."""
MULTIPLE = 4
"""Channels that pruning leaves come in fours, as the kernels for SIMD cores work on them."""

INT4 = QatConfig(weight_bits=4, weight_scales=Scales.LSQ)

OnEpoch = Callable[[Epoch], None]


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A recipe's float model.

    Attributes:
        recipe: what it is made by.
        data: what it was trained and is tested on.
        module: the network.
        history: one entry per epoch.
        seed: of all that was drawn.

    """

    recipe: Recipe
    data: Dataset
    module: Sequential
    history: tuple[Epoch, ...]
    seed: int

    def graph(self) -> Graph:
        """The float graph for one sample, with all that is deployed."""
        whole = Sequential(**self.module.layers, **self.recipe.final.layers)
        return trace(whole, self.data.x_test.shape[1:], name=self.recipe.name)

    def score(self) -> dict[str, float]:
        """The figures on the test part."""
        return self.recipe.score(answers_of(self.module), self.data)


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """One form of a recipe's model.

    Attributes:
        name: float, ptq, qat, pruned or int4.
        graph: what is deployed.

    """

    name: str
    graph: Graph


def answers_of(module: Module) -> Callable[[Array], Array]:
    """What a module answers as deployed, arrays to arrays."""

    def answer(x: Array) -> Array:
        with module.evaluating(), no_grad():
            return module(Tensor(x)).data

    return answer


def train_float(
    recipe: Recipe,
    *,
    seed: int = 0,
    data: Dataset | None = None,
    on_epoch: OnEpoch | None = None,
    progress: bool | None = False,
) -> Trained:
    """Train the recipe's network; the same seed gives the same bits on the same processor.

    Args:
        recipe: what to train.
        seed: of split, initial weights, order and augmentation.
        data: in place of the recipe's own, as from ``held_out``.
        on_epoch: called after each epoch.
        progress: as for ``fit``.

    Raises:
        ToolError: the package that the data come with is not installed.

    """
    data = data or recipe.load(seed)
    rng = np.random.default_rng(seed)
    module = recipe.network(rng)
    history = _fit(module, recipe, data, recipe.training, rng, on_epoch=on_epoch, progress=progress)
    return Trained(recipe, data, module, history, seed)


def train_int8(
    trained: Trained,
    *,
    source: Graph | None = None,
    training: Training | None = None,
    config: QatConfig | None = None,
    on_epoch: OnEpoch | None = None,
    progress: bool | None = False,
) -> QatModel:
    """Go on training a float model on what int8 makes of it; ``deployed`` gives the int8 graph.

    The float model teaches, where the recipe distils: it holds the int8 one to its answers.

    Args:
        trained: the float model and its data.
        source: the float graph to start from, in place of the model's own.
        training: in place of the recipe's.
        config: of quantisation-aware training.
        on_epoch: called after each epoch.
        progress: as for ``fit``.

    """
    recipe, data = trained.recipe, trained.data
    source, training = source or trained.graph(), training or recipe.int8
    calibration = data.x_train[:CALIBRATION_SAMPLES]
    model = QatModel(optimize(source), calibration, source=source, config=config)
    first_frozen = training.epochs - round(FROZEN * training.epochs) + 1

    def freeze_late(number: int) -> None:
        if number >= first_frozen:
            model.freeze()

    rng = np.random.default_rng(trained.seed)
    _fit(
        model,
        recipe,
        data,
        training,
        rng,
        objective=teaching(trained),
        before_epoch=freeze_late,
        on_epoch=on_epoch,
        progress=progress,
    )
    return model


def prune(trained: Trained, *, progress: bool | None = False) -> Graph:
    """The float graph with as many channels as the recipe leaves, healed by more training."""
    recipe, data = trained.recipe, trained.data
    source = trained.graph()
    with one_thread():
        scores = channel_scores(GraphModel(source), data.x_train, data.y_train, loss=recipe.loss)
    model = GraphModel(prune_channels(source, scores, macs=recipe.macs, multiple=MULTIPLE))
    rng = np.random.default_rng(trained.seed)
    objective = teaching(trained)
    _fit(model, recipe, data, recipe.healing, rng, objective=objective, progress=progress)
    return model.trained()


def teaching(trained: Trained) -> Distillation | None:
    """The float model as a teacher, where the recipe has one."""
    recipe = trained.recipe
    return Distillation(trained.module, loss=recipe.loss) if recipe.distils else None


def variants(trained: Trained, *, progress: bool | None = False) -> Iterator[Variant]:
    """The forms of a trained model, each as soon as it is ready."""
    source = trained.graph()
    optimized = optimize(source)
    yield Variant("float", optimized)
    yield Variant("ptq", quantize_graph(optimized, trained.data.x_train[:CALIBRATION_SAMPLES]))
    yield Variant("qat", train_int8(trained, progress=progress).deployed())
    pruned = prune(trained, progress=progress)
    model = train_int8(trained, source=pruned, progress=progress)
    yield Variant("pruned", model.deployed())
    narrow = train_int8(trained, training=trained.recipe.int4, config=INT4, progress=progress)
    yield Variant("int4", narrow.deployed())


def _fit(
    module: Module,
    recipe: Recipe,
    data: Dataset,
    training: Training,
    rng: np.random.Generator,
    *,
    objective: Objective | None = None,
    before_epoch: Callable[[int], None] | None = None,
    on_epoch: OnEpoch | None = None,
    progress: bool | None = False,
) -> tuple[Epoch, ...]:
    with one_thread():
        return fit(
            module,
            Adam(module.parameters(), training.peak_lr),
            data.x_train,
            data.y_train,
            FitConfig(training.epochs, training.batch, progress=progress),
            rng=rng,
            loss=recipe.loss,
            objective=objective,
            lr=training.lr,
            augment=recipe.augment,
            before_epoch=before_epoch,
            on_epoch=on_epoch,
        )
