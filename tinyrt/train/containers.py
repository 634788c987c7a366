"""Layers in a list or dict, under PyTorch's names; plain lists and dicts of them do as well."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, NoReturn, Self, overload

from tinyrt.errors import DataError, UnsupportedError
from tinyrt.train.core.module import Module


class ModuleList(Module):
    """Layers in a list; their parameters are named ``0.weight``, ``1.weight``, ...

    It has a list's indices and slices, ``len``, ``append``, ``extend``, ``insert`` and ``pop``, and
    is no layer itself: a module's ``forward`` goes through it.

    Args:
        modules: the layers to begin with.

    Raises:
        DataError: one is no module.

    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.layers: list[Module] = [_module(self, m) for m in modules]

    def children(self) -> Iterator[tuple[str, Module]]:
        """The layers by position."""
        return ((str(i), m) for i, m in enumerate(self.layers))

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.layers)

    @overload
    def __getitem__(self, index: int) -> Module: ...

    @overload
    def __getitem__(self, index: slice) -> ModuleList: ...

    def __getitem__(self, index: int | slice) -> Module:
        """A layer by position; for a slice a list of these layers, which counts from 0."""
        return ModuleList(self.layers[index]) if isinstance(index, slice) else self.layers[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self.layers[index] = _module(self, module)

    def __delitem__(self, index: int | slice) -> None:
        del self.layers[index]

    def append(self, module: Module) -> Self:
        """Add a layer at the end; gives the list, as PyTorch does."""
        self.layers.append(_module(self, module))
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add layers at the end; gives the list, as PyTorch does."""
        self.layers += [_module(self, m) for m in modules]
        return self

    def insert(self, index: int, module: Module) -> None:
        """Put a layer in front of the one at that position."""
        self.layers.insert(index, _module(self, module))

    def pop(self, index: int = -1) -> Module:
        """Take a layer out, the last one unless told."""
        return self.layers.pop(index)

    def forward(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: a list does not say how its layers follow each other."""
        raise UnsupportedError(
            "a ModuleList was called, which computes nothing itself",
            expected="a call of the layers in it",
            hint="for layer in layers: x = layer(x), or Sequential(*layers)(x) for a chain",
        )


class ModuleDict(Module):
    """Layers by name; their parameters are named ``key.weight``, in the order of definition.

    It has a dict's keys, ``len``, ``in``, ``items``, ``values``, ``update`` and ``pop``, and is no
    layer itself.

    Args:
        modules: the layers to begin with, as a mapping or as pairs of a name and a layer.

    Raises:
        DataError: one is no module, or a name is not of the kind that stands in a path.

    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        self.layers: dict[str, Module] = {}
        self.update(modules)

    def children(self) -> Iterator[tuple[str, Module]]:
        """The layers by name."""
        return iter(self.layers.items())

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.layers)

    def __contains__(self, name: object) -> bool:
        return name in self.layers

    def __getitem__(self, name: str) -> Module:
        return self.layers[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.update({name: module})

    def __delitem__(self, name: str) -> None:
        del self.layers[name]

    def keys(self) -> KeysView[str]:
        """The names."""
        return self.layers.keys()

    def values(self) -> ValuesView[Module]:
        """The layers."""
        return self.layers.values()

    def items(self) -> ItemsView[str, Module]:
        """Names and layers."""
        return self.layers.items()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add layers, or put others in the place of those of the same names; all of them or none.

        Raises:
            DataError: as on construction.

        """
        given = dict(modules.items() if isinstance(modules, Mapping | ModuleDict) else modules)
        for name, module in given.items():
            if not isinstance(name, str) or not name or "." in name:
                raise DataError(
                    f"a layer of a ModuleDict is to be called {name!r}",
                    expected="a name that is not empty and has no dot, which parts paths",
                )
            _module(self, module)
        self.layers |= given

    def pop(self, name: str) -> Module:
        """Take a layer out."""
        return self.layers.pop(name)

    def clear(self) -> None:
        """Take all layers out."""
        self.layers.clear()

    def forward(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: a dict does not say which of its layers are meant."""
        raise UnsupportedError(
            "a ModuleDict was called, which computes nothing itself",
            expected="a call of one of the layers in it",
            hint="layers['name'](x)",
        )


def _module(container: Module, given: object) -> Module:
    """What was given, if it is a module."""
    if not isinstance(given, Module):
        raise DataError(
            f"a {type(container).__name__} is to hold a {type(given).__name__}",
            expected="modules; a plain list or dict holds parameters, too",
            hint="make the layer first: Linear(...), not Linear",
        )
    return given
