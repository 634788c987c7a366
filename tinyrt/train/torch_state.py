"""Weights from PyTorch's names and layouts into a module's own, and back; PyTorch is not needed.

A PyTorch module that is built of the same layers, under the same names, has the same state in other
layouts: channels first, an LSTM's gates in another order, three maps of an attention as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.errors import DataError, ShapeError, UnsupportedError
from tinyrt.ir import BoundNode, Graph, Shape
from tinyrt.ops import OPS, is_weighted
from tinyrt.train.activations import PReLU
from tinyrt.train.bidirectional import Bidirectional
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    ConvTranspose2d,
    DepthwiseConv2d,
    GroupNorm,
    LayerNorm,
    Linear,
)
from tinyrt.train.sequence import GRU, LSTM, Conv1d, Embedding, MultiHeadAttention
from tinyrt.train.tracing import trace

Turn = Callable[[Array], Array]
GATES = {LSTM: (0, 1, 3, 2), GRU: (0, 1, 2)}
"""PyTorch's gates (i f g o, r z n) by their places in ours; each order undoes itself."""
COUNTER = "num_batches_tracked"
"""What PyTorch's batch norms count, and tinyrt's do not."""


@dataclass(frozen=True, slots=True)
class _Twin:
    """One tensor of PyTorch, and what it is here.

    Attributes:
        theirs: its name there.
        ours: names here; several lie one behind the other there, along the first dimension.
        shape: the shape there.
        here: from PyTorch's layout to ours.
        there: and back.

    """

    theirs: str
    ours: tuple[str, ...]
    shape: Shape
    here: Turn
    there: Turn


def from_torch(
    module: Module,
    state: Mapping[str, Any],
    *,
    input_shape: Shape | Mapping[str, Shape] | None = None,
    flattened: Mapping[str, Shape] | None = None,
) -> dict[str, Array]:
    """A PyTorch ``state_dict`` as ``module.load_state_dict`` takes it.

    Args:
        module: of the same layers as the PyTorch module, under the same names.
        state: PyTorch's names -> arrays, or tensors on the CPU.
        input_shape: of one sample, as ``trace`` takes it. It tells which dense layers read images
            that were flattened, whose channels PyTorch has in front.
        flattened: in its place, dense layer -> (h, w, c) or (t, c) of what was flattened for it.

    Returns:
        A state of the module's names.

    Raises:
        DataError: a name is missing or unknown, or it must be said what was flattened.
        ShapeError: an array has another shape, or what was flattened does not fit.
        UnsupportedError: PyTorch's form of a layer is not known.

    """
    twins = _twins(module, input_shape, flattened)
    given = {k: np.asarray(v) for k, v in state.items() if k.rpartition(".")[2] != COUNTER}
    names = {twin.theirs for twin in twins}
    if missing := names ^ given.keys():
        raise DataError(
            "the state does not belong to this module: "
            f"missing {sorted(names - given.keys())}, unknown {sorted(missing - names)}",
            expected=", ".join(sorted(names)),
        )
    found: dict[str, Array] = {}
    for twin in twins:
        array = given[twin.theirs]
        if array.shape != twin.shape:
            raise ShapeError(
                f"'{twin.theirs}' has shape {array.shape} in the state", expected=f"{twin.shape}"
            )
        parts = np.split(twin.here(array), len(twin.ours))
        found |= {k: np.ascontiguousarray(p) for k, p in zip(twin.ours, parts, strict=True)}
    return found


def to_torch(
    module: Module,
    *,
    input_shape: Shape | Mapping[str, Shape] | None = None,
    flattened: Mapping[str, Shape] | None = None,
) -> dict[str, Array]:
    """A module's state by PyTorch's names, in its layouts; ``torch.from_numpy`` makes tensors.

    Args:
        module: as for ``from_torch``.
        input_shape: as for ``from_torch``.
        flattened: as for ``from_torch``.

    Raises:
        DataError: it must be said what was flattened.
        ShapeError: what was flattened does not fit.
        UnsupportedError: PyTorch's form of a layer is not known.

    """
    state, found = module.state_dict(), dict[str, Array]()
    for twin in _twins(module, input_shape, flattened):
        array = twin.there(np.concatenate([state[name] for name in twin.ours]))
        found[twin.theirs] = np.ascontiguousarray(array).reshape(twin.shape)
        if twin.theirs.endswith(".running_var") or twin.theirs == "running_var":
            found[twin.theirs[: -len("running_var")] + COUNTER] = np.array(0, np.int64)
    return found


def _twins(
    module: Module,
    input_shape: Shape | Mapping[str, Shape] | None,
    flattened: Mapping[str, Shape] | None,
) -> list[_Twin]:
    """All tensors of the module."""
    given = _flattened(module, input_shape) if flattened is None else dict(flattened)
    twins = [t for path, layer in _layers(module, "") for t in _of_layer(path, layer, given)]
    if given:
        raise DataError(
            f"there is no dense layer '{next(iter(given))}' to have read what was flattened",
            expected="names of Linear layers",
        )
    covered = {name for twin in twins for name in twin.ours}
    for name, tensor in module.named_tensors():
        if name not in covered:
            raise UnsupportedError(
                f"what PyTorch has for '{name}' is not known",
                tensor=f"shape {tensor.shape}",
                expected="parameters of tinyrt's own layers",
                hint="move that one by hand, and the parts of the module each by itself",
            )
    return twins


def _layers(module: Module, path: str) -> Iterator[tuple[str, Module]]:
    """The parts that PyTorch knows under a name of their own; parts of these are not looked at."""
    if type(module) in _KNOWN:
        yield path, module
        return
    for name, child in module.children():
        yield from _layers(child, f"{path}.{name}" if path else name)


def _of_layer(path: str, layer: Module, flattened: dict[str, Shape]) -> Iterator[_Twin]:
    """The tensors of a layer of a known kind; takes what it reads from ``flattened``."""
    dot = f"{path}." if path else ""
    if isinstance(layer, Linear):
        yield from _of_linear(dot, layer, flattened.pop(path, None))
    elif isinstance(layer, Bidirectional):
        for end, part in (("", layer.ahead), ("_reverse", layer.back)):
            if not isinstance(part, LSTM | GRU):
                raise UnsupportedError(
                    f"PyTorch has no '{path}' with a {type(part).__name__} in it",
                    expected="Bidirectional of two LSTM, or two GRU",
                )
            yield from _of_recurrent(dot, f"{dot}{'back' if end else 'ahead'}.", part, end)
    elif isinstance(layer, LSTM | GRU):
        yield from _of_recurrent(dot, dot, layer, "")
    elif isinstance(layer, MultiHeadAttention):
        yield from _of_attention(dot, layer)
    else:
        inner = "conv." if isinstance(layer, Conv1d) else ""
        tensors = dict(layer.named_tensors())
        for ours, (theirs, here, there) in _KNOWN[type(layer)].items():
            if inner + ours in tensors:
                shape = there(tensors[inner + ours].data).shape
                yield _Twin(dot + theirs, (dot + inner + ours,), shape, here, there)


def _of_linear(dot: str, layer: Linear, read: Shape | None) -> Iterator[_Twin]:
    shape = layer.weight.shape
    turns: tuple[Turn, Turn] = (_same, _same)
    if read is not None:
        if math.prod(read) != shape[1]:
            raise ShapeError(
                f"'{dot}weight' reads {shape[1]} elements, which {read} has not",
                expected="the shape of one sample in front of its flattening, channels last",
            )
        turns = _between(read, shape)
    yield _Twin(f"{dot}weight", (f"{dot}weight",), shape, *turns)
    if layer.bias is not None:
        yield _Twin(f"{dot}bias", (f"{dot}bias",), layer.bias.shape, _same, _same)


def _between(read: Shape, shape: Shape) -> tuple[Turn, Turn]:
    """Weights (c_out, k) whose inputs are flattened with the channels in front, and last."""
    theirs, last = (-1, *read[-1:], *read[:-1]), len(read)

    def here(w: Array) -> Array:
        return np.moveaxis(w.reshape(theirs), 1, last).reshape(shape)

    def there(w: Array) -> Array:
        return np.moveaxis(w.reshape(-1, *read), last, 1).reshape(shape)

    return here, there


def _of_recurrent(dot: str, own: str, layer: LSTM | GRU, end: str) -> Iterator[_Twin]:
    order = GATES[LSTM if isinstance(layer, LSTM) else GRU]

    def turned(array: Array) -> Array:
        parts = np.split(array, len(order))
        return np.concatenate([parts[i] for i in order])

    for name, part in (("ih", layer.input), ("hh", layer.state)):
        for kind, ours in (("weight", part.weight), ("bias", part.bias)):
            assert ours is not None, "recurrent layers have biases"
            side = "input" if name == "ih" else "state"
            theirs = f"{dot}{kind}_{name}_l0{end}"
            yield _Twin(theirs, (f"{own}{side}.{kind}",), ours.shape, turned, turned)


def _of_attention(dot: str, layer: MultiHeadAttention) -> Iterator[_Twin]:
    maps, size = ("query", "key", "value"), layer.output.weight.shape[0]
    for kind, shape in (("weight", (size, size)), ("bias", (size,))):
        together = (3 * size, *shape[1:])
        names = tuple(f"{dot}{name}.{kind}" for name in maps)
        yield _Twin(f"{dot}in_proj_{kind}", names, together, _same, _same)
        yield _Twin(f"{dot}out_proj.{kind}", (f"{dot}output.{kind}",), shape, _same, _same)


def _same(array: Array) -> Array:
    return array


def _moved(*order: int) -> tuple[Turn, Turn]:
    """To ours by this transposition, and back."""
    back = tuple(int(i) for i in np.argsort(order))
    return (lambda a: a.transpose(order)), (lambda a: a.transpose(back))


_Kind = dict[str, tuple[str, Turn, Turn]]
_SCALED: _Kind = {"gamma": ("weight", _same, _same), "beta": ("bias", _same, _same)}
_BIAS: _Kind = {"bias": ("bias", _same, _same)}
_KNOWN: dict[type[Module], _Kind] = {
    Linear: {},  # these five have a function each
    LSTM: {},
    GRU: {},
    Bidirectional: {},
    MultiHeadAttention: {},
    Conv2d: {"weight": ("weight", *_moved(0, 2, 3, 1))} | _BIAS,
    DepthwiseConv2d: {"weight": ("weight", *_moved(1, 2, 3, 0))} | _BIAS,
    ConvTranspose2d: {"weight": ("weight", *_moved(1, 2, 3, 0))} | _BIAS,
    Conv1d: {
        "weight": (
            "weight",
            lambda a: a.transpose(0, 2, 1)[:, None],
            lambda a: a[:, 0].transpose(0, 2, 1),
        )
    }
    | _BIAS,
    BatchNorm: _SCALED
    | {"mean": ("running_mean", _same, _same), "variance": ("running_var", _same, _same)},
    LayerNorm: _SCALED,
    GroupNorm: _SCALED,
    PReLU: {"slope": ("weight", _same, _same)},
    Embedding: {"weight": ("weight", _same, _same)},
}
"""Layer -> our name of a tensor -> PyTorch's, from its layout to ours, and back."""


def _flattened(module: Module, input_shape: Shape | Mapping[str, Shape] | None) -> dict[str, Shape]:
    """Dense layers that read what was flattened with channels last, and the shape it had."""
    layers = [layer for _, layer in _layers(module, "")]
    images = any(isinstance(m, Conv2d | DepthwiseConv2d | ConvTranspose2d) for m in layers)
    series = any(isinstance(m, Conv1d) for m in layers)
    if not (images or series) or not any(isinstance(m, Linear) for m in layers):
        return {}
    if input_shape is None:
        raise DataError(
            "a dense layer behind convolutions may read flattened images, whose channels PyTorch "
            "has in front",
            expected="input_shape, to see it by, or flattened",
            hint="from_torch(module, state, input_shape=(h, w, c)); flattened={} for none",
        )
    graph = trace(module, input_shape)
    return {
        path: shape
        for path, layer in _layers(module, "")
        if isinstance(layer, Linear) and (shape := _read_shape(graph, f"{path}.weight", series))
    }


def _read_shape(graph: Graph, weight: str, series: bool) -> Shape | None:
    """Of what was flattened for the dense layer with that weight; None if nothing was.

    Looks back as far as other layers with weights, behind which the order is the model's own.
    """
    by_output = {value.name: node for node in graph.bound() for value in node.outputs}
    pending = [
        (node.input(0).name, True)
        for node in graph.bound()
        if is_weighted(node) and node.input(1).name == weight
    ]
    while pending:
        name, directly = pending.pop()
        node = by_output.get(name)
        if node is None or is_weighted(node):
            continue
        before = node.input(0).shape
        mixes = node.op == "reshape" and before[-1] != node.output.shape[-1]
        if mixes and (len(before) == 4 or series):
            _require_known(weight, node, directly, before[1:])
            return before[1:]
        operands = [value for value in node.inputs if value is not None]
        varying = [value for value in operands if not value.is_constant]
        plain = OPS[node.op].traits.elementwise and all(
            v.size == 1 for v in operands if v.is_constant
        )
        pending += [(v.name, directly and plain and len(varying) == 1) for v in varying]
    return None


def _require_known(weight: str, node: BoundNode, directly: bool, read: Shape) -> None:
    """Refuse flattened channels that other parameters than a dense layer's may belong to."""
    if not directly:
        raise DataError(
            f"'{weight}' reads {read} that were flattened, but not directly",
            op=node.describe(),
            expected="at most activations without parameters between Flatten and Linear",
            hint="PyTorch has the channels in front: move these weights by hand, and the parts of "
            "the module each by itself",
        )
    if len(read) == 2:
        raise DataError(
            f"'{weight}' reads {read} that were flattened, and PyTorch has (c, t) behind "
            "convolutions, (t, c) behind recurrences",
            op=node.describe(),
            expected="flattened, instead of input_shape",
            hint=f"flattened={{'{weight.removesuffix('.weight')}': {read}}} for (c, t), "
            "flattened={} for (t, c)",
        )
