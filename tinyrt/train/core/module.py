"""Modules: parts of a model that own parameters, know their names, and keep their state."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self, overload

from tinyrt.errors import DataError, GradientError, ShapeError
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor

_active: ContextVar[Module | None] = ContextVar("active", default=None)


def active_module() -> Module | None:
    """The innermost module that is computing its output right now."""
    return _active.get()


class Parameter(Tensor):
    """A tensor that training changes by its gradient."""

    __slots__ = ()

    def __init__(self, data: Array) -> None:
        super().__init__(data, requires_grad=True)


class Buffer(Tensor):
    """A tensor that belongs to the model's state but is not trained by gradient."""

    __slots__ = ()


class Module:
    """A part of a model: parameters, buffers and other modules are its attributes.

    Parts are named by the path of attributes that leads to them: ``stem.conv.weight``. They may
    stand in lists, tuples and dicts, too: ``blocks.0.conv.weight``.

    Attributes:
        training: whether the module behaves as in training (batch statistics) or as deployed.
        observers: called with each output.

    """

    training: bool = True
    observers: tuple[Callable[[Tensor], None], ...] = ()

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The module's output for its inputs."""
        token = _active.set(self)
        try:
            return self.announce(self.forward(*inputs))
        finally:
            _active.reset(token)

    def announce(self, y: Tensor) -> Tensor:
        """Tell the observers of an output, and give it on."""
        for observer in self.observers:
            observer(y)
        return y

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Compute the output; every module says what inputs and shapes it takes and gives."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def joint(self, after: Module) -> Callable[[Tensor], Tensor] | None:
        """What computes this module and the one behind it in one go; None where nothing does."""
        del after
        return None

    def children(self) -> Iterator[tuple[str, Module]]:
        """Modules that this one holds directly, by name, in the order of definition."""
        return ((k, v) for k, v in _parts(vars(self)) if isinstance(v, Module))

    def named_modules(self, path: str = "") -> Iterator[tuple[str, Module]]:
        """All modules of the tree, this one first, each with its path (``path`` for this one).

        A module that several hold comes once, under the first of its paths.
        """
        return self._tree(path, set())

    def _tree(self, path: str, visited: set[int]) -> Iterator[tuple[str, Module]]:
        if id(self) in visited:
            return
        visited.add(id(self))
        yield path, self
        for name, child in self.children():
            yield from child._tree(_joined(path, name), visited)

    def named_tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and buffers of this module and of all below it, by path, each once.

        Raises:
            GradientError: an attribute wants a gradient, but is no parameter.

        """
        visited: set[int] = set()
        for path, module in self.named_modules():
            for name, value in _parts(vars(module)):
                if not isinstance(value, Tensor) or id(value) in visited:
                    continue
                visited.add(id(value))
                if isinstance(value, Parameter | Buffer):
                    yield _joined(path, name), value
                elif value.requires_grad and value.step is None:
                    raise GradientError(
                        f"'{_joined(path, name)}' wants a gradient, but nothing would train it",
                        tensor=f"shape {value.shape}",
                        expected="a Parameter, or a Tensor without requires_grad",
                        hint=f"write self.{name.partition('.')[0]} = Parameter(array)",
                    )

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Parameters of this module and of all below it, by path."""
        return ((k, t) for k, t in self.named_tensors() if isinstance(t, Parameter))

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """Buffers of this module and of all below it, by path."""
        return ((k, t) for k, t in self.named_tensors() if isinstance(t, Buffer))

    def random_state(self) -> Any:
        """The state of what this module itself draws from as it runs; None if nothing."""
        return None

    def set_random_state(self, state: Any) -> None:
        """Draw from here on as from where ``random_state`` gave ``state``."""

    def parameters(self) -> list[Parameter]:
        """What an optimiser takes."""
        return [p for _, p in self.named_parameters()]

    def train(self, mode: bool = True) -> Self:
        """Set ``training`` here and in all modules below; gives the module."""
        for _, module in self.named_modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """``train(False)``."""
        return self.train(False)

    def zero_grad(self) -> None:
        """Forget the gradients gathered so far."""
        for parameter in self.parameters():
            parameter.grad = None

    def __repr__(self) -> str:
        """The parts by name, each with the shapes of its own parameters and buffers."""
        own = [f"{k} {v.shape}" for k, v in _parts(vars(self)) if isinstance(v, Parameter | Buffer)]
        lines = [f"{name}: {child!r}" for name, child in self.children()]
        inner = "".join(f"\n{textwrap.indent(line, '  ')}" for line in lines)
        return f"{type(self).__name__}({', '.join(own)}{inner}{chr(10) if inner else ''})"

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Behave as deployed within a ``with`` block, then as before."""
        before = [(m, m.training) for _, m in self.named_modules()]
        self.train(False)
        try:
            yield
        finally:
            for module, mode in before:
                module.training = mode

    def state_dict(self) -> dict[str, Array]:
        """Copies of all parameters and buffers by path."""
        return {name: tensor.data.copy() for name, tensor in self.named_tensors()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Set all parameters and buffers; nothing changes unless all fit.

        Raises:
            DataError: a name is missing or unknown.
            ShapeError: an array does not have its tensor's shape.

        """
        own = dict(self.named_tensors())
        missing, unknown = own.keys() - state.keys(), state.keys() - own.keys()
        if missing or unknown:
            raise DataError(
                "the state does not belong to this module: "
                f"missing {sorted(missing)}, unknown {sorted(unknown)}",
                expected=", ".join(own),
            )
        for name, tensor in own.items():
            if state[name].shape != tensor.shape:
                raise ShapeError(
                    f"'{name}' has shape {state[name].shape} in the state",
                    expected=f"{tensor.shape}",
                )
        for name, tensor in own.items():
            tensor.data = state[name].astype(tensor.dtype)


def _parts(held: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What is held, by name; of lists, tuples and dicts what is in them, by position or key."""
    for name, value in held.items():
        if isinstance(value, dict | list | tuple):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            yield from _parts({f"{name}.{k}": v for k, v in pairs})
        else:
            yield name, value


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


class Sequential(Module):
    """Modules applied one after the other, named by position, or by keyword.

    ``Sequential(Linear(...), ReLU())`` names its parameters ``0.weight``, ...;
    ``Sequential(hidden=Linear(...), relu=ReLU())`` names them ``hidden.weight``, ...
    """

    def __init__(self, *modules: Module, **named: Module) -> None:
        self.layers = {str(i): m for i, m in enumerate(modules)} | named

    def children(self) -> Iterator[tuple[str, Module]]:
        """The layers in order."""
        return iter(self.layers.items())

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.layers.values())

    @overload
    def __getitem__(self, index: int | str) -> Module: ...

    @overload
    def __getitem__(self, index: slice) -> Sequential: ...

    def __getitem__(self, index: int | str | slice) -> Module:
        """A layer by position or name; for a slice a chain of these layers, under their names."""
        if isinstance(index, slice):
            return Sequential(**dict(list(self.layers.items())[index]))
        return self.layers[index] if isinstance(index, str) else list(self)[index]

    def forward(self, x: Tensor) -> Tensor:
        """Any shape that the first layer takes."""
        left = iter(self.layers.values())
        layer = next(left, None)
        while layer is not None:
            after = next(left, None)
            both = None if after is None else layer.joint(after)
            if both is None or after is None:
                x, layer = layer(x), after
            else:
                x, layer = after.announce(both(x)), next(left, None)
        return x


def require_channels(layer: Module, x: Tensor, count: int) -> None:
    """Refuse another last dimension, which ops would flatten or broadcast."""
    if x.shape[-1:] != (count,):
        raise ShapeError(
            f"{type(layer).__name__} gets shape {x.shape}",
            expected=f"(..., {count})",
            hint="put Flatten() in front, if all but the first dimension are one",
        )
