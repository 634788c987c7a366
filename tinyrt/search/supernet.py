"""Training of shared weights, and what is done with them; plain data in, plain data out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tinyrt.data import load_npz, save_npz
from tinyrt.errors import DataError
from tinyrt.files import scratch_folder
from tinyrt.ops.shared.spec import Array
from tinyrt.search.candidate import Candidate
from tinyrt.search.learning import BATCH, loss_for, score_of
from tinyrt.search.order import Order
from tinyrt.search.problem import Problem
from tinyrt.search.seen import seen
from tinyrt.search.sharing import Member, SharedWeights, recalibrate
from tinyrt.train.core.module import Parameter
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.optim import Adam
from tinyrt.train.recipes.recipe import Training

TOGETHER = 4
"""Networks that are trained at each step; their gradients are averaged."""

RECALIBRATION = 8
"""Batches that the statistics of a network's batch norms are taken from."""

FACTS, WEIGHT, OPTIMISER = "facts", "weight/", "optimizer/"
"""Names in a file of shared weights."""


class _Pool:
    """The networks that share weights, as they are trained together."""

    def __init__(self, orders: Sequence[Order], problem: Problem) -> None:
        self.candidates = [order.candidate(problem) for order in orders]
        self.shown = [seen(c.front_end, problem)[0] for c in self.candidates]
        self.members = [
            Member.of(candidate, shown.input_shape)
            for candidate, shown in zip(self.candidates, self.shown, strict=True)
        ]

    def step(self, rows: Array, weights: SharedWeights, rng: np.random.Generator) -> None:
        """Let some networks learn from these samples: the mean of their gradients."""
        chosen = rng.permutation(len(self.members))[:TOGETHER]
        for index in chosen:
            self._learn(int(index), rows, weights, 1 / len(chosen), rng)

    def _learn(
        self,
        index: int,
        rows: Array,
        weights: SharedWeights,
        share: float,
        rng: np.random.Generator,
    ) -> None:
        candidate, shown = self.candidates[index], self.shown[index]
        member = self.members[index]
        x = shown.x[rows]
        if candidate.augment is not None:
            x = candidate.augment(x, rng)
        weights.give(member)
        network = member.network.train()
        network.zero_grad()
        loss = loss_for(shown)(network(Tensor(x)), shown.y[rows])
        if not np.isfinite(loss.data).all():
            raise DataError(
                "the loss of shared weights is not finite any more",
                expected="finite numbers",
                hint="propose lower learning rates in the space, or search without --share",
            )
        (loss * share).backward()
        weights.learn(member)


def train_shared(
    orders: Sequence[Order], epochs: int, state: bytes | None, problem: Problem
) -> bytes:
    """Train the weights that these candidates share up to some epoch; they all have one rate.

    Args:
        orders: the pool; its first one says how long, how fast and in which batches.
        epochs: passes over the data by then.
        state: what an earlier call gave.
        problem: the samples.

    Returns:
        The content of a file, from which training goes on.

    """
    pool, order = _Pool(orders, problem), orders[0]
    first = pool.candidates[0]
    rows = problem.parts[0]
    per_epoch = -(-len(rows) // first.batch)
    whole = Training(order.epochs, first.learning_rate, order.epochs // 15, first.batch)
    with scratch_folder() as folder:
        path = folder / "shared.npz"
        if state is None:
            weights = SharedWeights.among(pool.members)
            adam, done = Adam(weights.tensors.values()), 0
        else:
            path.write_bytes(state)
            weights, adam, done = _loaded(path)
        for epoch in range(done, epochs):
            rng = np.random.default_rng([order.seed, 2, epoch])
            mixed = rng.permutation(rows)
            for start in range(0, len(rows), first.batch):
                adam.lr = whole.lr(adam.steps, order.epochs * per_epoch)
                pool.step(mixed[start : start + first.batch], weights, rng)
                adam.step()
                adam.zero_grad()
        _save(path, weights, adam, epochs)
        return path.read_bytes()


def judge(order: Order, weights: bytes, problem: Problem) -> float:
    """The score in float of a candidate that has shared weights, on the samples to choose by."""
    candidate = order.candidate(problem)
    shown, _ = seen(candidate.front_end, problem)
    inherit(candidate, weights, shown)
    rows, held = shown.parts
    recalibrate(candidate.network, shown.x[rows[: RECALIBRATION * BATCH]], BATCH)
    return score_of(candidate.network, shown, held)


def inherit(candidate: Candidate, weights: bytes, shown: Problem) -> None:
    """Give a candidate the weights that are shared."""
    with scratch_folder() as folder:
        path = folder / "shared.npz"
        path.write_bytes(weights)
        _loaded(path)[0].give(Member.of(candidate, shown.input_shape))


def trained_epochs(path: Path) -> int:
    """How long the weights in a file were trained.

    Raises:
        DataError: it is damaged, or has no shared weights.

    """
    return _loaded(path)[2]


def _save(path: Path, weights: SharedWeights, adam: Adam, epochs: int) -> None:
    arrays = {f"{WEIGHT}{i}": t.data for i, t in enumerate(weights.tensors.values())}
    arrays |= {f"{OPTIMISER}{name}": a for name, a in adam.state_dict().items()}
    facts = json.dumps({"keys": list(weights.tensors), "epochs": epochs})
    save_npz(path, {**arrays, FACTS: np.asarray(facts)})


def _loaded(path: Path) -> tuple[SharedWeights, Adam, int]:
    """Shared weights, their optimiser, and how many epochs they were trained.

    Raises:
        DataError: the file is damaged, or has none.

    """
    arrays = load_npz(path, text=True)
    try:
        facts = json.loads(str(arrays[FACTS]))
        tensors = {k: Parameter(arrays[f"{WEIGHT}{i}"]) for i, k in enumerate(facts["keys"])}
        adam = Adam(tensors.values())
        adam.load_state_dict(
            {n.removeprefix(OPTIMISER): a for n, a in arrays.items() if n.startswith(OPTIMISER)}
        )
        return SharedWeights(tensors), adam, int(facts["epochs"])
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            f"the file has no shared weights: {type(error).__name__}: {error}",
            file=str(path),
            expected="what tinyrt search --share wrote",
            hint="delete it: they are trained again",
        ) from error
