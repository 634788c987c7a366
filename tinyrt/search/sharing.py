"""Weights that all networks of a space share: each has slices of them, and traces as itself.

As in once-for-all networks (Cai et al. 2020) and BigNAS (Yu et al. 2020), without a network that
holds the others: a layer's tensors are known by their name, and stand in one array as large as any
network of the pool needs. Channels are the first ones, shorter kernels the middle of longer ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import UnsupportedError
from tinyrt.ir import Shape
from tinyrt.ops.shared.spec import Array
from tinyrt.search.candidate import Candidate
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.distill import recording
from tinyrt.train.early_exit import EarlyExit
from tinyrt.train.nn import BatchNorm, Conv2d, DepthwiseConv2d, Flatten, LayerNorm, Linear

FIRST, MIDDLE, WHOLE = "first", "middle", "whole"
"""Where along an axis a network's part lies in a longer one; a whole axis has the same length."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor of a network lies among the shared ones.

    Attributes:
        key: of the shared tensor.
        view: the shape in which channels have axes of their own.
        axes: for each of these, where along it.

    """

    key: str
    view: Shape
    axes: tuple[str, ...]

    def overlap(self, shared: Shape) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """What the network and the shared tensor have in common: its own slices, the shared."""
        pairs = [_overlap(*a) for a in zip(self.view, shared, self.axes, strict=True)]
        return tuple(own for own, _ in pairs), tuple(other for _, other in pairs)


def _overlap(own: int, shared: int, axis: str) -> tuple[slice, slice]:
    length = min(own, shared)
    starts = ((own - length) // 2, (shared - length) // 2) if axis is MIDDLE else (0, 0)
    first, other = (slice(start, start + length) for start in starts)
    return first, other


def places_of(candidate: Candidate, input_shape: Shape) -> dict[str, Place]:
    """Parameter of a candidate's network -> where it lies.

    What stands behind different front ends sees different features, and shares nothing. So do
    parameters of other layers than are known here, unless they have the same shape.

    Args:
        candidate: whose network it is.
        input_shape: of a sample as the network sees it, without the batch.

    Raises:
        UnsupportedError: it has an early exit.

    """
    if any(isinstance(module, EarlyExit) for _, module in candidate.network.named_modules()):
        raise UnsupportedError(
            "weights of a network with an early exit are not shared",
            expected="networks of one head",
            hint="leave out --share",
        )
    front = "" if candidate.front_end is None else f"{candidate.front_end} "
    flattened = _flattened(candidate.network, input_shape)
    places: dict[str, Place] = {}
    for path, module in candidate.network.named_modules():
        for name, parameter in _own(module):
            full = f"{path}.{name}" if path else name
            view, axes = _axes(module, name, parameter.shape, flattened.get(path))
            fixed = [n for n, axis in zip(view, axes, strict=True) if axis is WHOLE]
            key = f"{front}{full} {type(module).__name__} {len(view)} {fixed}"
            places[full] = Place(key, view, axes)
    return places


def _own(module: Module) -> Iterator[tuple[str, Parameter]]:
    """Parameters that are a module's own, not of parts of it."""
    return ((n, v) for n, v in module.named_parameters() if "." not in n)


def _axes(
    module: Module, name: str, shape: Shape, flattened: Shape | None
) -> tuple[Shape, tuple[str, ...]]:
    """The view of a parameter, and where a part lies along each axis."""
    known = isinstance(module, Conv2d | DepthwiseConv2d | Linear | BatchNorm | LayerNorm)
    if isinstance(module, Conv2d) and name == "weight":
        return shape, (FIRST, MIDDLE, MIDDLE, FIRST)
    if isinstance(module, DepthwiseConv2d) and name == "weight":
        return shape, (WHOLE, MIDDLE, MIDDLE, FIRST)
    if isinstance(module, Linear) and name == "weight" and flattened is not None:
        return (shape[0], *flattened), (FIRST, *(WHOLE for _ in flattened[1:]), FIRST)
    return shape, tuple(FIRST if known else WHOLE for _ in shape)


def _flattened(network: Module, input_shape: Shape) -> dict[str, Shape]:
    """Path of a dense layer right behind a ``Flatten`` -> the shape that was flattened."""
    parts = dict(network.named_modules())
    sample = Tensor(np.zeros((1, *input_shape), np.float32))
    with recording(network, parts) as outputs, network.evaluating(), no_grad():
        network(sample)
    found: dict[str, Shape] = {}
    last, flat = sample.shape[1:], None
    for path, y in outputs.items():
        if isinstance(parts[path], Linear) and flat is not None:
            found[path] = flat
        flat = last if isinstance(parts[path], Flatten) else None
        last = y.shape[1:]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A network and where its parameters lie among the shared ones."""

    network: Module
    places: Mapping[str, Place]

    @classmethod
    def of(cls, candidate: Candidate, input_shape: Shape) -> Member:
        """A candidate's network, for samples of this shape."""
        return cls(candidate.network, places_of(candidate, input_shape))

    def parts(self) -> Iterator[tuple[Parameter, Place]]:
        """Parameters and their places."""
        return ((p, self.places[name]) for name, p in self.network.named_parameters())


@dataclass(frozen=True, slots=True, eq=False)
class SharedWeights:
    """Tensors of which each network has slices.

    Attributes:
        tensors: key -> the tensor.

    """

    tensors: Mapping[str, Parameter]

    @classmethod
    def among(cls, members: Iterable[Member]) -> SharedWeights:
        """As large as any member needs, with its weights as they were drawn; the first one's count.

        What no member has is 0: the far corner of a layer that is wide in one and deep in another.
        """
        everyone = list(members)
        sizes: dict[str, list[int]] = {}
        for member in everyone:
            for _, place in member.parts():
                known = sizes.setdefault(place.key, [0] * len(place.view))
                known[:] = map(max, known, place.view)
        arrays = {key: np.full(size, np.nan, np.float32) for key, size in sizes.items()}
        for member in everyone:
            for parameter, place in member.parts():
                own, shared = place.overlap(arrays[place.key].shape)
                part = arrays[place.key][shared]
                drawn = parameter.data.reshape(place.view)[own]
                arrays[place.key][shared] = np.where(np.isnan(part), drawn, part)
        return cls({key: Parameter(np.nan_to_num(a, copy=False)) for key, a in arrays.items()})

    def give(self, member: Member) -> None:
        """Set the member's parameters to its slices; what is not shared stays as it is drawn."""
        for parameter, place in member.parts():
            if place.key in self.tensors:
                whole = self.tensors[place.key].data
                own, shared = place.overlap(whole.shape)
                data = parameter.data.reshape(place.view).copy()
                data[own] = whole[shared]
                parameter.data = data.reshape(parameter.shape)

    def learn(self, member: Member) -> None:
        """Add the member's gradients to those of its slices."""
        for parameter, place in member.parts():
            tensor = self.tensors[place.key]
            own, shared = place.overlap(tensor.shape)
            if parameter.grad is not None:
                if tensor.grad is None:
                    tensor.grad = np.zeros_like(tensor.data)
                tensor.grad[shared] += parameter.grad.reshape(place.view)[own]


def recalibrate(network: Module, x: Array, batch: int) -> None:
    """Take the statistics of batch norms from these samples, as the network is now.

    Slices of a layer have other sums than the whole: statistics cannot be shared.

    Args:
        network: whose norms these are.
        x: samples, (n, ...); the mean over all batches counts.
        batch: samples of a batch.

    """
    norms = [m for _, m in network.named_modules() if isinstance(m, BatchNorm)]
    before = [norm.momentum for norm in norms]
    network.train()
    with no_grad():
        for i, start in enumerate(range(0, len(x), batch)):
            for norm in norms:
                norm.momentum = 1 / (i + 1)
            network(Tensor(x[start : start + batch]))
    for norm, momentum in zip(norms, before, strict=True):
        norm.momentum = momentum
