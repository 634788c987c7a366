"""The stage that chooses which layers get int4 weights for a number of bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tinyrt.floatmath import elementary
from tinyrt.ir import Graph
from tinyrt.train.core.function import Array
from tinyrt.train.history import Epoch
from tinyrt.train.optim import Adam, Group, Optimizer
from tinyrt.train.widths.gates import Gates
from tinyrt.train.widths.model import TwoWidthModel
from tinyrt.train.widths.plan import LayerWidth, Size, WidthPlan, noise_by_layer

REACH = 2.0
"""How far a logarithm of worth goes that is pushed the same way at each step."""
COLDEST = 0.2
"""What the gates' log-odds are divided by in the last epoch; it is 1 in the first."""

Fit = Callable[[TwoWidthModel, Optimizer, Callable[[int], None]], tuple[Epoch, ...]]
"""Trains a model with this optimiser; the function is to be called before each epoch."""


@dataclass(frozen=True, slots=True, eq=False)
class WidthChoice:
    """The width of each layer's weights.

    Attributes:
        layers: every layer that may have int4 weights.
        int4_layers: outputs of the nodes that have them.
        history: an entry per epoch of the search; empty where nothing was searched.
        state: parameters and buffers of the ``QatModel`` of these widths, as the search has left
            them; None likewise.

    """

    layers: tuple[LayerWidth, ...] = ()
    int4_layers: tuple[str, ...] = ()
    history: tuple[Epoch, ...] = ()
    state: Mapping[str, Array] | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """How widths are learned.

    Attributes:
        epochs: passes over the data; 0 to choose by noise alone.
        steps: of the optimiser in each.
        learning_rate: of the weights, its peak.
        fit: trains a model.
        loss: of a model on what it is trained on, as deployed.

    """

    epochs: int
    steps: int
    learning_rate: float
    fit: Fit
    loss: Callable[[TwoWidthModel], float]


def choose_widths(
    graph: Graph,
    source: Graph,
    data: Mapping[str, Array],
    max_bytes: int,
    size: Size,
    search: Search,
) -> WidthChoice:
    """The layers with int4 weights, so that a file of so many bytes loses the least.

    Args:
        graph: the optimised float graph.
        source: that before optimisation, with its batch norms.
        data: calibration inputs, by name.
        max_bytes: that the file may have.
        size: bytes of a graph's file, as it will be written.
        search: how widths are learned.

    Raises:
        BudgetError: nothing is small enough.

    """
    model = TwoWidthModel(graph, data, source=source)
    plan = WidthPlan(model, size, max_bytes)
    noise = noise_by_layer(model, data)
    if not (plan.is_open and search.epochs):
        return _choice(plan, model, noise, plan.narrow(noise))
    layers = plan.choosable
    gates, history = _learned(model, plan, noise, search)
    chances = dict(zip(layers, map(float, gates().data), strict=True))
    learned = dict(zip(layers, gates.worth, strict=True))

    def loss(narrow: Sequence[str]) -> float:
        model.settle(narrow)
        return search.loss(model)

    # Both with the weights and scales that the search has trained, so that only widths differ.
    narrow = min((plan.narrow(worth) for worth in (learned, noise)), key=loss)
    model.settle(narrow)
    choice = _choice(plan, model, noise, narrow)
    rows = zip(choice.layers, model.nodes_of, strict=True)
    known = tuple(replace(layer, chance=chances.get(name)) for layer, name in rows)
    return replace(choice, layers=known, history=history, state=model.state_dict())


def _learned(
    model: TwoWidthModel, plan: WidthPlan, noise: Mapping[str, float], search: Search
) -> tuple[Gates, tuple[Epoch, ...]]:
    """The gates after the search."""
    layers = plan.choosable
    costs = [plan.saved[name] for name in layers]
    gates = Gates(costs, plan.left, [noise[name] for name in layers])
    model.open(layers, gates)
    weights = [p for p in model.parameters() if p is not gates.log_worth]
    # Half a cosine has a mean of a half.
    lr_scale = 2 * REACH / (search.epochs * search.steps * search.learning_rate)
    optimizer = Adam(
        [Group(weights), Group([gates.log_worth], lr_scale=lr_scale)], search.learning_rate
    )

    def cool(number: int) -> None:
        progress = (number - 1) / max(1, search.epochs - 1)
        gates.at(float(elementary.power(COLDEST, progress)))

    history = search.fit(model, optimizer, cool)
    return gates.at(1.0), history


def _choice(
    plan: WidthPlan, model: TwoWidthModel, noise: Mapping[str, float], narrow: Sequence[str]
) -> WidthChoice:
    """The widths, with what speaks for them."""
    ops = {node.output: node.op for node in model.graph.nodes}
    layers = tuple(
        LayerWidth(
            outputs[0], ops[outputs[0]], 4 if name in narrow else 8, plan.saved[name], noise[name]
        )
        for name, outputs in model.nodes_of.items()
    )
    return WidthChoice(layers, tuple(o for n in narrow for o in model.nodes_of[n]))
