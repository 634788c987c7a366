"""Pruning weights: the least are set to 0 and held there, more and more of them as training goes.

A ``Pruner`` is called after each step of the optimiser (``fit(..., on_step=pruner)``). It keeps no
state: which weights go follows from their magnitudes then, so a weight that was set to 0 may come
back if the gradient insists, and a resumed training prunes as an uninterrupted one. Zeros stay
zeros in int8, so the same pruner serves training for int8.

Zeros alone make a model smaller only where what stores or computes it knows of them: the exported C
code does where they lie in blocks or are N of four, see ``tinyrt.backends.c.blocks.zeros``.
``channels`` removes whole channels instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import DataError
from tinyrt.floatmath import elementary
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module, Parameter

Mask = NDArray[np.bool_]

SHAPE, VECTOR_SHAPE = (8, 4), (4, 16)
"""Output and input channels of a block that all scalar and DSP cores skip, and cores with MVE."""


class Scope(StrEnum):
    """Among which weights the least are sought."""

    LAYER = "layer"
    """Each layer loses the same share."""
    GLOBAL = "global"
    """Layers whose weights matter less lose more: the limit is common to all."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the share of zeros rises (Zhu & Gupta 2017, "To prune, or not to prune", equation 1).

    ``final + (initial - final) * (1 - progress) ** 3`` between begin and end: fast while much is
    superfluous, slowly where it begins to hurt.

    Attributes:
        final: share of zeros at the end, 0 to 1.
        initial: share of zeros at the begin.
        begin: when it begins, as a share of the training.
        end: when it ends; what remains of the training heals the wounds.
        power: of the polynomial.

    Raises:
        DataError: a share is out of range.

    """

    final: float
    initial: float = 0.0
    begin: float = 0.0
    end: float = 0.7
    power: float = 3.0

    def __post_init__(self) -> None:
        if not (0 <= self.initial <= self.final < 1 and 0 <= self.begin < self.end <= 1):
            raise DataError(
                f"sparsity from {self.initial} to {self.final} between {self.begin} and {self.end}",
                expected="0 <= initial <= final < 1 and 0 <= begin < end <= 1",
            )

    def sparsity(self, step: int, steps: int) -> float:
        """The share of zeros after ``step`` of ``steps``."""
        progress = (step / max(1, steps) - self.begin) / (self.end - self.begin)
        if progress < 0:
            return 0.0
        rest = float(elementary.power(max(0.0, 1 - progress), self.power))
        return self.final + (self.initial - self.final) * rest


class Pruner:
    """Sets the least weights to 0 after each step.

    Args:
        module: whose weights are pruned, see ``prunable``.
        schedule: what share, and when.
        scope: among which weights the least are sought.

    """

    def __init__(self, module: Module, schedule: Schedule, *, scope: Scope = Scope.GLOBAL) -> None:
        self.weights = prunable(module)
        self.schedule, self.scope = schedule, scope

    def __call__(self, step: int, steps: int) -> None:
        """Prune after ``step`` of ``steps``."""
        sparsity = self.schedule.sparsity(step, steps)
        weights = [w.data for w in self.weights.values()]
        if self.scope is Scope.GLOBAL:
            masks = _global_masks(weights, sparsity)
        else:
            masks = [_global_masks([w], sparsity)[0] for w in weights]
        _apply(self.weights, masks)


class BlockPruner:
    """Sets those blocks of weights to 0 that matter least, each as a whole.

    A block is some neighbouring output channels by some neighbouring input channels at one tap.
    The default is what every scalar and DSP kernel for sparse weights skips at once; kernels with
    vectors skip ``VECTOR_SHAPE``. A block counts as much as its mean square, relative to its
    layer's.

    Args:
        module: whose weights are pruned. Layers whose channels are no multiple of a block's are
            left alone.
        schedule: what share of the blocks, and when.
        shape: output and input channels of a block.

    Raises:
        DataError: no layer has such blocks.

    """

    def __init__(
        self, module: Module, schedule: Schedule, *, shape: tuple[int, int] = SHAPE
    ) -> None:
        out, inner = shape
        self.weights = {
            name: w
            for name, w in prunable(module).items()
            if w.shape[0] % out == 0 and w.shape[-1] % inner == 0
        }
        if not self.weights:
            raise DataError(
                f"no layer has blocks of {out} output and {inner} input channels",
                hint="choose a smaller shape, or prune by magnitude instead",
            )
        self.schedule, self.shape = schedule, shape

    def __call__(self, step: int, steps: int) -> None:
        """Prune after ``step`` of ``steps``."""
        sizes = [self._sizes(w.data) for w in self.weights.values()]
        masks = _global_masks(sizes, self.schedule.sparsity(step, steps))
        _apply(
            self.weights,
            [self._spread(m, w) for m, w in zip(masks, self.weights.values(), strict=True)],
        )

    def _sizes(self, weights: Array) -> Array:
        """(output blocks, input blocks) of a layer, whose taps count as input channels."""
        out, inner = self.shape
        flat = weights.reshape(weights.shape[0] // out, out, -1, inner)
        squares = np.square(flat).mean(axis=(1, 3))
        return np.asarray(squares / max(float(squares.mean()), 1e-30))

    def _spread(self, mask: Mask, weight: Parameter) -> Mask:
        return np.kron(mask, np.ones(self.shape, bool)).reshape(weight.shape)


class StructuredPruner:
    """Keeps the ``n`` greatest of every ``m`` weights that lie side by side along the input (N:M).

    Mishra et al. 2021, "Accelerating Sparse Deep Neural Networks". Layers whose input channels
    ``m`` does not divide are left alone.

    Args:
        module: whose weights are pruned.
        n: weights that are kept of each group.
        m: weights of a group.
        begin: from when on, as a share of the training.

    Raises:
        DataError: not 0 < n < m, or no layer has groups of m.

    """

    def __init__(self, module: Module, n: int, m: int, *, begin: float = 0.0) -> None:
        if not 0 < n < m:
            raise DataError(f"{n}:{m} sparsity", expected="n from 1 to m - 1, as 2:4 or 1:4")
        self.weights = {k: w for k, w in prunable(module).items() if w.shape[-1] % m == 0}
        if not self.weights:
            raise DataError(
                f"no layer has input channels in groups of {m}", hint="prune by magnitude instead"
            )
        self.n, self.m, self.begin = n, m, begin

    def __call__(self, step: int, steps: int) -> None:
        """Prune after ``step`` of ``steps``."""
        if step >= self.begin * steps:
            masks = [n_of_m(w.data, self.n, self.m) for w in self.weights.values()]
            _apply(self.weights, masks)


def prunable(module: Module) -> dict[str, Parameter]:
    """Weights by name that pruning may touch: those that a sum over input channels is made of.

    Biases, norms and the few weights of depthwise layers are not worth the error.
    """
    return {
        name: tensor
        for name, tensor in module.named_parameters()
        if name.rpartition(".")[2] == "weight" and tensor.ndim >= 2 and tensor.shape[0] > 1
    }


def n_of_m(weights: Array, n: int, m: int) -> Mask:
    """Which weights are among the ``n`` greatest of their group of ``m`` along the last axis.

    Args:
        weights: (..., k), ``m`` divides k.
        n: how many are kept of each group.
        m: size of a group.

    """
    groups = np.abs(weights).reshape(-1, m)
    mask = np.zeros(groups.shape, bool)
    order = np.argsort(-groups, axis=1, kind="stable")
    np.put_along_axis(mask, order[:, :n], True, axis=1)
    return mask.reshape(weights.shape)


def sparsity_of(module: Module) -> float:
    """Share of zeros among the weights that pruning may touch."""
    weights = [w.data for w in prunable(module).values()]
    return sum(int((w == 0).sum()) for w in weights) / max(1, sum(w.size for w in weights))


def _global_masks(weights: list[Array], sparsity: float) -> list[Mask]:
    """Masks that keep all but the least ``sparsity`` of all the weights together."""
    magnitudes = np.concatenate([np.abs(w).ravel() for w in weights])
    count = round(sparsity * magnitudes.size)
    mask = np.ones(magnitudes.size, bool)
    mask[np.argsort(magnitudes, kind="stable")[:count]] = False
    ends = np.cumsum([w.size for w in weights])[:-1]
    return [m.reshape(w.shape) for m, w in zip(np.split(mask, ends), weights, strict=True)]


def _apply(weights: Mapping[str, Parameter], masks: list[Mask]) -> None:
    for weight, mask in zip(weights.values(), masks, strict=True):
        weight.data = weight.data * mask
