"""Optimisers: how a gradient becomes a step. And the learning rate's way through training."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np

from tinyrt.ops.spec import Array
from tinyrt.train.tensor import Tensor


class Optimizer(ABC):
    """Moves parameters along their gradients, in place.

    Args:
        parameters: the leaves to train.
        lr: learning rate; may be changed between steps.

    Attributes:
        lr: learning rate of the next step.
        state: per parameter, the arrays that its rule remembers, by name.

    """

    def __init__(self, parameters: Iterable[Tensor], lr: float) -> None:
        self.parameters = list(parameters)
        self.lr = lr
        self.state: list[dict[str, Array]] = [{} for _ in self.parameters]
        self.steps = 0

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self.steps += 1
        for parameter, state in zip(self.parameters, self.state, strict=True):
            if parameter.grad is not None:
                parameter.data -= self._change(parameter.data, parameter.grad, state)

    def zero_grad(self) -> None:
        """Forget the gradients gathered so far."""
        for parameter in self.parameters:
            parameter.grad = None

    @abstractmethod
    def _change(self, data: Array, grad: Array, state: dict[str, Array]) -> Array:
        """What to subtract from ``data``; ``state`` is this parameter's own, empty at first."""


class SGD(Optimizer):
    """Gradient descent with momentum (Polyak 1964): ``v = momentum * v + g``, ``w -= lr * v``.

    Args:
        parameters: the leaves to train.
        lr: learning rate.
        momentum: share of the last step that is kept, 0 for none.
        weight_decay: L2 penalty, ``g = grad + weight_decay * w``.

    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        *,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr)
        self.momentum, self.weight_decay = momentum, weight_decay

    def _change(self, data: Array, grad: Array, state: dict[str, Array]) -> Array:
        if self.weight_decay:
            grad = grad + self.weight_decay * data
        if self.momentum:
            velocity = state.setdefault("velocity", np.zeros_like(data))
            velocity *= self.momentum
            velocity += grad
            grad = velocity
        return self.lr * grad


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015, algorithm 1).

    ``m`` and ``v`` are running averages of the gradient and of its square, corrected for having
    started at 0: ``w -= lr * m / (sqrt(v) + eps)``.

    Args:
        parameters: the leaves to train.
        lr: learning rate.
        betas: how much of ``m`` and of ``v`` is kept at each step.
        eps: keeps the quotient finite.

    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(parameters, lr)
        self.betas, self.eps = betas, eps

    def _change(self, data: Array, grad: Array, state: dict[str, Array]) -> Array:
        beta1, beta2 = self.betas
        m = state.setdefault("m", np.zeros_like(data))
        v = state.setdefault("v", np.zeros_like(data))
        m += (1 - beta1) * (grad - m)
        v += (1 - beta2) * (grad * grad - v)
        unbiased_lr = self.lr / (1 - beta1**self.steps)
        root = np.sqrt(v / (1 - beta2**self.steps))
        return unbiased_lr * m / (root + self.eps)


def cosine_lr(step: int, steps: int, peak: float, warmup: int = 0) -> float:
    """Learning rate of step ``step`` of ``steps``: a linear rise, then half a cosine down to 0.

    Loshchilov & Hutter 2017, without restarts; the rise takes ``warmup`` steps.
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return 0.5 * peak * (1 + math.cos(math.pi * progress))
