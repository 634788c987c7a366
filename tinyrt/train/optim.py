"""Optimisers: how a gradient becomes a step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.errors import DataError
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor

State = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Group:
    """Parameters with a learning rate or weight decay of their own.

    Attributes:
        parameters: the leaves.
        lr_scale: factor on the optimiser's learning rate.
        weight_decay: in place of the optimiser's; None for that.

    """

    parameters: Sequence[Tensor]
    lr_scale: float = 1.0
    weight_decay: float | None = None


class Optimizer(ABC):
    """Moves parameters along their gradients, in place.

    Args:
        parameters: the leaves to train, or groups of them.
        lr: learning rate; may be changed between steps.
        weight_decay: how strongly weights are drawn to 0.

    Attributes:
        decoupled: how weight decay acts: as an L2 penalty, on the gradient (``g += weight_decay *
            w``), or decoupled from it, on the step (``w -= lr * weight_decay * w`` besides).
        lr: learning rate of the next step.
        steps: steps taken so far.
        state: per parameter, the arrays that its rule remembers, by name.

    Raises:
        DataError: there is nothing to train, a parameter comes twice, or a setting is out of its
            range.

    """

    decoupled = False

    def __init__(
        self, parameters: Iterable[Tensor] | Iterable[Group], lr: float, weight_decay: float = 0.0
    ) -> None:
        _require_range(lr=lr, weight_decay=weight_decay)
        self.lr, self.weight_decay = lr, weight_decay
        groups = [g if isinstance(g, Group) else Group([g]) for g in parameters]
        for group in groups:
            decay = self.weight_decay if group.weight_decay is None else group.weight_decay
            _require_range(lr_scale=group.lr_scale, weight_decay=decay)
        self.parameters = [p for g in groups for p in g.parameters]
        self._group_of = [g for g in groups for _ in g.parameters]
        if not self.parameters:
            raise DataError(
                "there is nothing to train",
                expected="the parameters of a module, or groups of them",
                hint="layers are found as attributes of a module, or in its lists and dicts",
            )
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise DataError(
                "a parameter is given twice, which would step twice",
                expected="each parameter in one group; module.parameters() has each once",
            )
        self.state: list[State] = [{} for _ in self.parameters]
        self.steps = 0

    def step(self) -> None:
        """Update every parameter that has a gradient; DataError where the rate is below 0."""
        _require_range(lr=self.lr)
        self.steps += 1
        everything = zip(self.parameters, self._group_of, self.state, strict=True)
        for parameter, group, state in everything:
            grad = parameter.grad
            if grad is None:
                continue
            decay = self.weight_decay if group.weight_decay is None else group.weight_decay
            if decay and not self.decoupled:
                grad = grad + decay * parameter.data
            change = self._change(grad, state)
            if decay and self.decoupled:
                change = change + decay * parameter.data
            parameter.data -= (self.lr * group.lr_scale) * change

    def zero_grad(self) -> None:
        """Forget the gradients gathered so far."""
        for parameter in self.parameters:
            parameter.grad = None

    def settings(self) -> dict[str, Any]:
        """What was chosen for all steps, by name, and per parameter its group's own choices."""
        groups = [[g.lr_scale, g.weight_decay] for g in self._group_of]
        own = {k: v for k, v in vars(self).items() if isinstance(v, float | int | tuple)}
        chosen = {k: v for k, v in own.items() if k not in ("lr", "steps")}
        return {"optimiser": type(self).__name__, **chosen, "groups": groups}

    def state_dict(self) -> State:
        """Copies of all that the next step depends on, beside the parameters, by name."""
        arrays = {f"{i}.{k}": a.copy() for i, s in enumerate(self.state) for k, a in s.items()}
        return {"steps": np.asarray(self.steps), "lr": np.asarray(self.lr), **arrays}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Go on from where ``state_dict`` was taken.

        Raises:
            DataError: an array does not fit the parameter it belongs to.

        """
        states: list[State] = [{} for _ in self.parameters]
        for key, array in state.items():
            index, _, name = key.partition(".")
            if not name:
                continue
            i = int(index)
            if i >= len(states) or array.shape != self.parameters[i].shape:
                raise DataError(
                    f"optimiser state '{key}' of shape {array.shape} fits no parameter",
                    expected=f"the state of {len(states)} parameters in this order",
                )
            states[i][name] = array.copy()
        self.state, self.steps, self.lr = states, int(state["steps"]), float(state["lr"])

    @abstractmethod
    def _change(self, grad: Array, state: State) -> Array:
        """What to subtract from a parameter, per unit of learning rate; ``state`` starts empty."""


class SGD(Optimizer):
    """Gradient descent with momentum (Polyak 1964): ``v = momentum * v + g``, ``w -= lr * v``.

    With Nesterov's correction (Sutskever et al. 2013) the step is ``g + momentum * v``.

    Args beside those of ``Optimizer``:
        momentum: share of the last step that is kept, 0 for none.
        nesterov: look ahead by the momentum.

    """

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[Group],
        lr: float,
        *,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        _require_range(below_one=True, momentum=momentum)
        if nesterov and not momentum:
            raise DataError("Nesterov's correction needs momentum", expected="momentum above 0")
        self.momentum, self.nesterov = momentum, nesterov

    def _change(self, grad: Array, state: State) -> Array:
        if not self.momentum:
            return grad
        velocity = _remembered(state, "velocity", grad)
        velocity *= self.momentum
        velocity += grad
        return grad + self.momentum * velocity if self.nesterov else velocity


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015, algorithm 1).

    ``m`` and ``v`` are running averages of the gradient and of its square, corrected for having
    started at 0: ``w -= lr * m / (sqrt(v) + eps)``.

    Args beside those of ``Optimizer``:
        betas: how much of ``m`` and of ``v`` is kept at each step.
        eps: keeps the quotient finite.

    """

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        _require_range(below_one=True, **{"betas[0]": betas[0], "betas[1]": betas[1]})
        _require_range(eps=eps)
        self.betas, self.eps = betas, eps

    def _change(self, grad: Array, state: State) -> Array:
        # Importing Numba is slow.
        from tinyrt.floatmath.adam_loop import change, rates

        changes = np.empty_like(grad, order="C")
        m, v = _remembered(state, "m", grad), _remembered(state, "v", grad)
        settings = rates(self.betas, self.eps, self.steps, grad.dtype)
        flat = [a.reshape(-1) for a in (np.ascontiguousarray(grad), m, v, changes)]
        change(flat[0], flat[1], flat[2], flat[3], settings)
        return changes


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""

    decoupled = True


class RMSProp(Optimizer):
    """``v`` is a running average of the squared gradient: ``w -= lr * g / (sqrt(v) + eps)``.

    Tieleman & Hinton 2012, lecture 6.5.

    Args beside those of ``Optimizer``:
        decay: how much of ``v`` is kept at each step.
        eps: keeps the quotient finite.

    """

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-2,
        *,
        decay: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        _require_range(below_one=True, decay=decay)
        _require_range(eps=eps)
        self.decay, self.eps = decay, eps

    def _change(self, grad: Array, state: State) -> Array:
        v = _remembered(state, "v", grad)
        v += (1 - self.decay) * (grad * grad - v)
        return np.asarray(grad / (np.sqrt(v) + self.eps))


class Lion(Optimizer):
    """The sign of an average of gradient and momentum (Chen et al. 2023, algorithm 2).

    ``w -= lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * w)``, then ``m`` keeps ``beta2``
    of itself. Wants a learning rate about ten times smaller than Adam's.

    Args beside those of ``Optimizer``:
        betas: share of the momentum in the step, and what it keeps.

    """

    decoupled = True

    def __init__(
        self,
        parameters: Iterable[Tensor] | Iterable[Group],
        lr: float = 1e-4,
        *,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        _require_range(below_one=True, **{"betas[0]": betas[0], "betas[1]": betas[1]})
        self.betas = betas

    def _change(self, grad: Array, state: State) -> Array:
        beta1, beta2 = self.betas
        m = _remembered(state, "m", grad)
        direction = np.sign(beta1 * m + (1 - beta1) * grad)
        m += (1 - beta2) * (grad - m)
        return np.asarray(direction)


def _require_range(*, below_one: bool = False, **settings: float) -> None:
    """Refuse settings that are negative, not finite, or reach 1 where they must not."""
    greatest = 1.0 if below_one else math.inf
    for name, value in settings.items():
        if not 0 <= value < greatest:
            limit = "0 or more, below 1" if below_one else "0 or more, finite"
            raise DataError(f"{name} is {value}", expected=limit)


def _remembered(state: State, name: str, like: Array) -> Array:
    """The array of that name, zeros in the gradient's shape at first."""
    if name not in state:
        state[name] = np.zeros(like.shape, like.dtype)
    return state[name]


def clip_gradients(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Scale all gradients down so that their common Euclidean norm is at most ``max_norm``.

    Pascanu, Mikolov & Bengio 2013.

    Returns:
        The norm before.

    """
    gradients = [(p, p.grad) for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(float(np.square(g, dtype=np.float64).sum()) for _, g in gradients))
    if norm > max_norm:
        for parameter, gradient in gradients:
            parameter.grad = gradient * (max_norm / norm)
    return norm
