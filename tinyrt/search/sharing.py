"""Weights that all networks of a space share: each has slices of them, and traces as itself.

As in once-for-all networks (Cai et al. 2020) and BigNAS (Yu et al. 2020), without a network that
holds the others: a layer's tensors are known by their name, and stand in one array as large as any
network of the pool needs. Channels are the first ones, shorter kernels the middle of longer ones.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from tinyrt.ir import Shape
from tinyrt.ops.shared.spec import Array
from tinyrt.search.candidate import Candidate
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.nn import BatchNorm, Conv2d, DepthwiseConv2d, Flatten, LayerNorm, Linear

FIRST, MIDDLE, WHOLE = "first", "middle", "whole"
"""Where along an axis a network's part lies in a longer one; a whole axis has the same length."""

RECALIBRATED = 8
"""Batches that the statistics of batch norms are taken from."""


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

    """
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
    grouped = isinstance(module, Conv2d) and shape[0] == 1
    if isinstance(module, Conv2d) and name == "weight" and not grouped:
        return shape, (FIRST, MIDDLE, MIDDLE, FIRST)
    if isinstance(module, DepthwiseConv2d) and name == "weight":
        return shape, (WHOLE, MIDDLE, MIDDLE, FIRST)
    if isinstance(module, Linear) and name == "weight":
        if flattened is None:
            return shape, (FIRST, FIRST)
        return (shape[0], *flattened), (FIRST, *(WHOLE for _ in flattened[1:]), FIRST)
    if isinstance(module, Conv2d | DepthwiseConv2d | Linear | BatchNorm | LayerNorm):
        return shape, tuple(FIRST for _ in shape)
    return shape, tuple(WHOLE for _ in shape)


def _flattened(network: Module, input_shape: Shape) -> dict[str, Shape]:
    """Path of a dense layer right behind a ``Flatten`` -> the shape that was flattened."""
    last, flat = tuple(input_shape), None
    found: dict[str, Shape] = {}

    def noted(path: str, module: Module, y: Tensor) -> None:
        nonlocal last, flat
        if isinstance(module, Linear) and flat is not None:
            found[path] = flat
        flat = last if isinstance(module, Flatten) else None
        last = y.shape[1:]

    with _observed(network, noted), network.evaluating(), no_grad():
        network(Tensor(np.zeros((1, *input_shape), np.float32)))
    return found
