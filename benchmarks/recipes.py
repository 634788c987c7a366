"""What the recipes must reach, measured on their test samples: one line a promise.

    python -m benchmarks.recipes [--recipes digits motion vowels distillation] [--json]

Settings are the recipes' own, which were chosen on held-out training samples (``tinyrt train
--validate``). Every int8 model is also run as the file that is deployed, and compared with what
training computed: classes, and each logit, in steps of the output.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np

from benchmarks import distil
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph
from tinyrt.ops.shared.spec import qparams
from tinyrt.train.channels import macs_of
from tinyrt.train.qat import QatModel
from tinyrt.train.recipes import RECIPES
from tinyrt.train.recipes.stages import (
    INT4,
    Trained,
    answers_of,
    prune,
    train_float,
    train_int8,
)

LABELS = 10
"""Of each class, in distillation: with all of them there is no room for a teacher."""
MIN_INT8 = 0.95
"""Top-1 of the series' recipes as int8."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One figure and its limit.

    Attributes:
        what: is measured.
        found: the figure.
        limit: least or most that it may be.
        holds: whether it is so.

    """

    what: str
    found: float
    limit: float
    holds: bool


def at_least(what: str, found: float, limit: float) -> Promise:
    return Promise(what, found, limit, found >= limit - 1e-9)


def at_most(what: str, found: float, limit: float) -> Promise:
    return Promise(what, found, limit, found <= limit + 1e-9)


def top1(trained: Trained, model: QatModel) -> float:
    """Of the deployed file's model."""
    return trained.recipe.score(Model(model.deployed()), trained.data)["top1"]


def logits_of(graph: Graph) -> Graph:
    """A deployed graph without its final softmax, as it is in training."""
    softmax = graph.nodes[-1]
    if softmax.op != "softmax":
        return graph
    values = {name: v for name, v in graph.values.items() if name not in softmax.outputs}
    return replace(graph, outputs=softmax.inputs[:1], nodes=graph.nodes[:-1], values=values)


def as_deployed(name: str, trained: Trained, model: QatModel) -> Iterator[Promise]:
    """How the deployed model's answers differ from the trained one's."""
    x, labels = trained.data.x_test, trained.data.y_test
    graph = logits_of(model.deployed())
    ours, theirs = (f(x).reshape(len(x), -1) for f in (answers_of(model), Model(graph)))
    (output,) = graph.output_values
    scale, _ = qparams(output)
    share = np.mean(ours.argmax(1) == labels)
    points = 100 * abs(share - top1(trained, model))
    yield at_most(f"{name}: deployed from trained, points", float(points), 0.2)
    within = np.mean((np.abs(ours - theirs) <= 1.001 * scale).all(axis=1))
    yield at_least(f"{name}: samples with all logits within one step", float(within), 0.995)


def digits(*, int4: bool = True) -> Iterator[Promise]:
    """Float, int8, pruned, int4; the last takes longest."""
    trained = train_float(RECIPES["digits"])
    score = trained.score()["top1"]
    whole = optimize(trained.graph())
    yield at_least("digits: float top-1", score, 0.985)
    model = train_int8(trained)
    yield at_least("digits: int8, trained", top1(trained, model), score - 0.003)
    yield from as_deployed("digits", trained, model)
    pruned = prune(trained)
    share = macs_of(pruned) / macs_of(whole)
    yield at_most("digits: MACs left by pruning channels", share, 0.5)
    answers = Model(optimize(pruned))
    yield at_least(
        "digits: pruned, float", trained.recipe.score(answers, trained.data)["top1"], score - 0.01
    )
    small = train_int8(trained, source=pruned)
    yield at_least("digits: pruned, int8", top1(trained, small), score - 0.01)
    times = len(write_tflite(whole)) / len(write_tflite(small.deployed()))
    yield at_least("digits: pruned and int8, times smaller", times, 8)
    if int4:
        narrow = train_int8(trained, training=trained.recipe.int4, config=INT4)
        yield at_least("digits: int4 weights, trained", top1(trained, narrow), score - 0.01)


def series(name: str) -> Iterator[Promise]:
    """A recipe on aeon's series, as int8."""
    trained = train_float(RECIPES[name])
    model = train_int8(trained)
    yield at_least(f"{name}: int8, trained", top1(trained, model), MIN_INT8)
    yield from as_deployed(name, trained, model)


def distillation(seeds: int = 5) -> Iterator[Promise]:
    """What a teacher is worth to a small student of the digits, where labels are few."""
    sizes = distil.parameters()
    yield at_most("distillation: student's size", sizes["student"] / sizes["teacher"], 0.25)
    found = distil.scores(LABELS, seeds)
    taught, alone = (np.mean(found[f"student from {by}"]) for by in ("teacher", "labels"))
    yield at_least("distillation: points that a teacher adds", 100 * float(taught - alone), 0.5)


def promises(recipe: str) -> Iterator[Promise]:
    """All of one recipe."""
    special = {"digits": digits, "distillation": distillation}
    return special[recipe]() if recipe in special else series(recipe)


DEFAULT = ["digits", "motion", "vowels", "distillation"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipes", nargs="+", default=DEFAULT)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    found = []
    for recipe in args.recipes:
        for promise in promises(recipe):
            found.append(promise)
            if not args.json:
                mark = "holds" if promise.holds else "FAILS"
                print(f"{promise.what:<52}{promise.found:9.4f}{promise.limit:9.4f}  {mark}")
    if args.json:
        print(json.dumps([asdict(promise) for promise in found]))
    if not all(promise.holds for promise in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
