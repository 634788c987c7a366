"""Whether a candidate's score before training tells how good it becomes.

``python -m benchmarks.search_zero_cost`` draws candidates of a space at random, scores each
untrained, trains it as the search does, and compares the orders: by Spearman's rank correlation, by
what is left of it beside the MACs, which are known anyway, and by how many of the best third the
better half has. docs/search.md has the figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from tinyrt.api.fitting import DeviceBudget
from tinyrt.floatmath.parallel import one_thread, threads
from tinyrt.search import SPACES, Problem, SearchSetting
from tinyrt.search.candidate import Candidate, candidate_of, graph_of
from tinyrt.search.order import Order
from tinyrt.search.source import space_source
from tinyrt.search.store import optuna_there
from tinyrt.search.work import train
from tinyrt.train.channels import macs_of
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.nn import Module, ReLU
from tinyrt.train.recipes.digits import load_digits
from tinyrt.train.recipes.vowels import VOWELS

SAMPLES = 64
"""That NASWOT looks at."""

CORE = "cortex-m4"


def naswot(candidate: Candidate, x: Array) -> float:
    """How differently ReLUs of the untrained network respond to samples (Mellor et al. 2021).

    Samples have a code: which ReLUs let them through. The score is the logarithm of the determinant
    of the matrix that says in how many places two codes agree.
    """
    relus = [m for _, m in candidate.network.named_modules() if isinstance(m, ReLU)]
    kernel = np.zeros((len(x), len(x)))

    def observe(y: Tensor) -> None:
        code = (y.data.reshape(len(x), -1) > 0).astype(np.float64)
        kernel[...] += code @ code.T + (1 - code) @ (1 - code).T

    for relu in relus:
        relu.observers = (observe,)
    with no_grad():
        candidate.network(Tensor(x))
    for relu in relus:
        relu.observers = ()
    sign, value = np.linalg.slogdet(kernel)
    return float(value) if sign > 0 else -np.inf


def synflow(candidate: Candidate, x: Array) -> float:
    """Logarithm of the sum of weights times gradients, all positive (Tanaka et al. 2020).

    The input is all ones, weights are their magnitudes, and norms pass on what they get.
    """
    network: Module = candidate.network
    kept = {name: p.data.copy() for name, p in network.named_parameters()}
    for _, parameter in network.named_parameters():
        parameter.data = np.abs(parameter.data)
    with network.evaluating():
        network(Tensor(np.ones_like(x[:1]))).sum().backward()
    total = 0.0
    for name, parameter in network.named_parameters():
        gradient = parameter.grad
        if gradient is not None:
            total += float(np.abs(parameter.data.astype(np.float64) * np.asarray(gradient)).sum())
        parameter.data, parameter.grad = kept[name], None
    return float(np.log(max(total, 1e-300)))


SCORES: dict[str, Callable[[Candidate, Array], float]] = {"NASWOT": naswot, "SynFlow": synflow}


def measured(space: str, problem: Problem, number: int, epochs: int) -> dict[str, list[float]]:
    """What is known of so many candidates: before training, after the first rung, and after it."""
    optuna = optuna_there()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    rung = SearchSetting(DeviceBudget(CORE, arena=1 << 20), epochs=epochs).first_rung
    x = problem.x[problem.parts[0][:SAMPLES]]
    found: dict[str, list[float]] = {}
    for seed in range(number):
        trial = study.ask()
        candidate = candidate_of(SPACES[space], trial, problem, seed)
        figures = {name: score(candidate, x) for name, score in SCORES.items()}
        parameters = [p.data.size for _, p in candidate.network.named_parameters()]
        graph = graph_of(candidate, problem)
        figures |= {"parameters": float(sum(parameters)), "MACs": float(macs_of(graph))}
        order = Order(space_source(space), dict(trial.params), seed, CORE, epochs, 1)
        early = train(order, rung, None, problem)
        figures["first rung"] = early.score
        figures["trained"] = train(order, epochs, early.state, problem).score
        for name, value in figures.items():
            found.setdefault(name, []).append(value)
        print(" ".join(f"{name} {value:.4g}" for name, value in figures.items()), flush=True)
    return found


def ranks(values: list[float]) -> Array:
    """The place of each in their order; equal ones share the mean of theirs."""
    x = np.array(values)
    less, equal = x[:, None] > x, x[:, None] == x
    return np.asarray(less.sum(1) + (equal.sum(1) - 1) / 2)


def correlation(a: list[float], b: list[float]) -> float:
    """Spearman's: 1 for the same order, 0 for none, -1 for the reverse."""
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def beside(score: list[float], known: list[float], trained: list[float]) -> float:
    """The correlation that is left once what is known anyway is accounted for (partial)."""
    own, other = correlation(score, trained), correlation(known, trained)
    both = correlation(score, known)
    return (own - other * both) / float(np.sqrt((1 - other**2) * (1 - both**2)))


def kept(score: list[float], trained: list[float]) -> float:
    """Share of the best third, once trained, that the better half by the score has."""
    half = set(np.argsort(ranks(score), kind="stable")[len(score) // 2 :].tolist())
    best = np.argsort(ranks(trained), kind="stable")[-(len(trained) // 3) :].tolist()
    return len(half & set(best)) / len(best)


def vowels() -> Problem:
    """The recipe's training samples."""
    data = VOWELS.load(0)
    return Problem(data.x_train, data.y_train)


def main() -> None:
    """Print each candidate, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=18)
    parser.add_argument("--data", choices=("digits", "vowels"), default="digits")
    given = parser.parse_args()
    is_digits = given.data == "digits"
    problem = Problem(*load_digits()) if is_digits else vowels()
    with one_thread(), threads(1):
        found = measured("dscnn" if is_digits else "tcn", problem, given.number, given.epochs)
    trained = found["trained"]
    print(
        f"{given.data}, {given.number} candidates: rank correlation, beside MACs, best third kept"
    )
    for name, score in found.items():
        if name != "trained":
            by_rank = correlation(score, trained)
            more = 0.0 if name == "MACs" else beside(score, found["MACs"], trained)
            print(f"{name:>12}  {by_rank:6.2f}  {more:6.2f}  {kept(score, trained):.0%}")


if __name__ == "__main__":
    main()
