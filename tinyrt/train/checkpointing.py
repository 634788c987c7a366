"""Gradient checkpointing: forget a segment's inner results, and compute them again when needed.

Chen, Xu, Zhang & Guestrin 2016, "Training Deep Nets with Sublinear Memory Cost". With n layers in
segments of sqrt(n), memory for results falls from n to 2 sqrt(n), for one more forward pass.

The gradient of a convolution or dense layer needs its input, not its output. So where a segment
ends in one, only the layers before it are computed again. Cut behind every such layer
(``checkpoint_cheap_layers``), a chain keeps the results of its convolutions alone and repeats
nothing but what is cheap: norms, activations, pools.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tinyrt.train.core.autograd import partial_derivatives
from tinyrt.train.core.function import Array, Function, Gradient
from tinyrt.train.core.tensor import Tensor, apply, enable_grad, no_grad, preset_output
from tinyrt.train.nn import Conv2d, DepthwiseConv2d, Linear, Module, Sequential

WEIGHTED = (Conv2d, DepthwiseConv2d, Linear)
"""Layers of one op, but for a border, whose gradient does not need the op's result."""


def checkpoint(module: Module, x: Tensor) -> Tensor:
    """``module(x)``, of which only ``x`` is kept for the backward pass.

    The segment is computed once more on the way back: with the same random numbers, and without
    moving running statistics a second time.

    Args:
        module: the segment; it may hold parameters, and may be differentiated to any order.
        x: its input, any shape that the module takes.

    """
    modules = [m for _, m in module.named_modules()]
    random = [(m, m.random_state()) for m in modules if m.random_state() is not None]
    segment = _Segment(module, x.requires_grad, tuple(random))
    return apply(_SEGMENT, segment, x, *module.parameters())


def checkpoint_sequential(layers: Sequential, x: Tensor, segments: int) -> Tensor:
    """``layers(x)`` with every segment but the last checkpointed.

    Args:
        layers: the chain.
        x: its input.
        segments: into how many parts of about equal length it is cut; the square root of the
            number of layers needs least memory.

    """
    parts = list(layers.layers.items())
    size = -(-len(parts) // segments)
    for start in range(0, len(parts), size):
        segment = Sequential(**dict(parts[start : start + size]))
        x = checkpoint(segment, x) if start + size < len(parts) else segment(x)
    return x


def checkpoint_cheap_layers(layers: Sequential, x: Tensor) -> Tensor:
    """``layers(x)``, keeping only what convolutions and dense layers gave.

    Args:
        layers: the chain.
        x: its input.

    """
    segment: dict[str, Module] = {}
    for name, layer in layers.layers.items():
        segment[name] = layer
        if isinstance(layer, WEIGHTED):
            part = Sequential(**segment)
            x = checkpoint(part, x) if len(segment) > 1 else part(x)
            segment = {}
    return Sequential(**segment)(x)


@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    """A module, whether its input wants a gradient, and the random states it started from."""

    module: Module
    input_requires_grad: bool
    random: tuple[tuple[Module, Any], ...]

    @contextmanager
    def repeating(self) -> Iterator[None]:
        """Compute as the first time within a ``with`` block, and leave no trace of it."""
        buffers = [(b, b.data) for _, b in self.module.named_buffers()]
        later = [(m, m.random_state()) for m, _ in self.random]
        for module, state in self.random:
            module.set_random_state(state)
        try:
            yield
        finally:
            for module, state in later:
                module.set_random_state(state)
            for buffer, data in buffers:
                buffer.data = data


def _forward(segment: _Segment, x: Array, *parameters: Array) -> Array:
    del parameters  # the module has them; they are operands so that gradients reach them
    with no_grad():
        return segment.module(Tensor(x)).data


def _vjp(segment: _Segment, inputs: Sequence[Any], output: Any, grad: Any) -> tuple[Gradient, ...]:
    create_graph = isinstance(output, Tensor)
    with enable_grad(), segment.repeating():
        if create_graph:
            x = inputs[0].reshape(inputs[0].shape)  # a name of its own for the segment's input
        else:
            x = Tensor(inputs[0], requires_grad=segment.input_requires_grad)
        again = _again(segment.module, x, None if create_graph else output)
        gradients = partial_derivatives(
            again, [x, *segment.module.parameters()], grad, create_graph=create_graph
        )
    return tuple(g if create_graph or g is None else g.data for g in gradients)  # type: ignore[misc]


def _again(module: Module, x: Tensor, output: Array | None) -> Tensor:
    """``module(x)`` with ``output`` as its value; computed anew where that is None."""
    layers = list(module.layers.items()) if isinstance(module, Sequential) else []
    last = layers[-1][1] if layers else None
    is_one_op = isinstance(last, WEIGHTED) and getattr(last, "border", None) is None
    if output is None or last is None or not is_one_op:
        return module(x)
    inner = Sequential(**dict(layers[:-1]))(x)
    with preset_output(output):
        return last(inner)


_SEGMENT = Function("checkpoint", _forward, _vjp)
