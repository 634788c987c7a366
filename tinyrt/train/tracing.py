"""From a trained module to a graph: run it once as deployed, and write down every op applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tinyrt.errors import DataError, UnsupportedError
from tinyrt.ir import DType, Graph, Node, Shape, Stage, Value
from tinyrt.ops import OPS, verify
from tinyrt.train.core.function import Array, Function
from tinyrt.train.core.modes import tracing
from tinyrt.train.core.module import Module, active_module
from tinyrt.train.core.tensor import Tensor, no_grad


def trace(
    module: Module,
    input_shape: Shape | Mapping[str, Shape],
    *,
    name: str = "model",
    dtype: DTypeLike | Mapping[str, DTypeLike] = np.float32,
    outputs: Callable[..., Sequence[Tensor]] | None = None,
) -> Graph:
    """The float graph that computes what the module computes when it is not training.

    Parameters and buffers become constants under their path in the module. An op is named by the
    path of the layer that applied it (``stem.conv``); where a module with parts of its own did,
    by that path and the op's type (``block.add``).

    The module is run twice, on zeros and on random numbers (of places and truth values, zeros and
    ones): what it does must not depend on them.

    Args:
        module: any composition of table ops; control flow may depend on shapes, not on values.
        input_shape: of one sample, without the batch dimension; for several inputs by the names
            that the graph gives them, in the order in which the module takes them.
        name: the graph's name; an only input is called ``input`` unless it is named.
        dtype: of the inputs, or by name for some of them: int32 where the module takes places, as
            ``Embedding`` does.
        outputs: a method of the module that gives several outputs, which the graph then has in this
            order; by default the module itself gives one, or a tuple of several.

    Returns:
        A verified graph for batch 1.

    Raises:
        UnsupportedError: the module applies a function that the op table does not have, or what it
            applies depends on the values of its input; or two outputs are the same.
        ShapeError: the module does not take this input.
        DataError: a parameter or buffer is not finite, or ``dtype`` names no input.

    """
    shapes = input_shape if isinstance(input_shape, Mapping) else {"input": input_shape}
    dtypes = _dtypes(shapes, dtype)
    for path, tensor in module.named_tensors():
        if not np.isfinite(tensor.data).all():
            raise DataError(
                f"'{path}' holds numbers that are not finite",
                tensor=f"shape {tensor.shape}",
                expected="finite parameters and buffers",
                hint="train anew with a lower learning rate, or load a state from before",
            )
    rng = np.random.default_rng(0)
    zeros = {k: np.zeros((1, *shape), dtypes[k]) for k, shape in shapes.items()}
    numbers = {
        k: np.asarray(
            rng.normal(size=x.shape) if x.dtype.kind == "f" else rng.integers(0, 2, x.shape),
            x.dtype,
        )
        for k, x in zeros.items()
    }
    give = outputs or module
    graph = _recorded(module, give, zeros, name)
    _require_same(graph, _recorded(module, give, numbers, name))
    return verify(graph, Stage.FLOAT)


def _dtypes(
    shapes: Mapping[str, Shape], dtype: DTypeLike | Mapping[str, DTypeLike]
) -> dict[str, np.dtype[Any]]:
    """Of each input; float32 for those that are not named."""
    if not isinstance(dtype, Mapping):
        return dict.fromkeys(shapes, np.dtype(dtype))
    if unknown := [name for name in dtype if name not in shapes]:
        raise DataError(
            f"there is no input '{unknown[0]}' to give a dtype", expected=", ".join(shapes)
        )
    named: Mapping[str, Any] = dtype
    return {name: np.dtype(named.get(name, np.float32)) for name in shapes}


def _recorded(
    module: Module, give: Callable[..., Any], samples: Mapping[str, Array], name: str
) -> Graph:
    """The graph of what the module does with one sample; ``give`` computes its outputs."""
    inputs = {k: Tensor(x, dtype=x.dtype) for k, x in samples.items()}
    recorder = _Recorder(name, inputs, module)
    with module.evaluating(), no_grad(), tracing(recorder.record):
        answers = give(*inputs.values())
    return recorder.graph((answers,) if isinstance(answers, Tensor) else tuple(answers))


def _require_same(graph: Graph, other: Graph) -> None:
    """Refuse a module that does other things with other values."""
    for node, again in zip_longest(graph.nodes, other.nodes):
        if node != again:
            kinds = [f"{n.op} '{n.name}'" if n is not None else "nothing" for n in (node, again)]
            raise UnsupportedError(
                f"what the module does depends on its input's values: {kinds[0]} for zeros, "
                f"{kinds[1]} for random numbers",
                expected="the same ops for every input of this shape",
                hint="branch on shapes only; choose between values by arithmetic, as with "
                "apply('maximum', ...), or trace each branch as a model of its own",
            )
    for name, value in graph.values.items():
        constant = other.values[name].data if other.has_value(name) else None
        if value.data is not None and not _equal(value.data, constant):
            raise UnsupportedError(
                "a constant is computed from the input, and would be that of zeros for ever",
                op=", ".join(f"{n.op} '{n.name}'" for n in graph.consumers(name)) or "the output",
                tensor=value.describe(),
                expected="ops on tensors from input to output",
                hint="compute with the tensor's own methods and tinyrt.train.apply, not with "
                ".data, .item() or NumPy",
            )


def _equal(one: Array, other: Array | None) -> bool:
    return other is not None and np.array_equal(one, other)


def _dtype_of(tensor: Tensor) -> DType:
    """Float32 of all floats; places and truth values stay as they are."""
    return DType.FLOAT32 if tensor.dtype.kind == "f" else DType.of(tensor.dtype)


class _Recorder:
    """The graph of the ops applied so far."""

    def __init__(self, name: str, given: Mapping[str, Tensor], module: Module) -> None:
        self._modules = {id(m): path for path, m in module.named_modules()}
        self._tensors = {id(t): path for path, t in module.named_tensors()}
        # Tensors are kept beside their names: an id is unique only while its tensor lives.
        self._names = {id(x): (x, k) for k, x in given.items()}
        inputs = {k: Value(k, _dtype_of(x), x.shape) for k, x in given.items()}
        self._graph = Graph(name, tuple(inputs), (), inputs, ())

    def record(
        self, function: Function, attrs: Any, inputs: tuple[Tensor, ...], output: Tensor
    ) -> None:
        """Add one op."""
        deployed = function.deployed(attrs) if function.deployed is not None else None
        if deployed is None:
            raise UnsupportedError(
                f"{function.name} exists in training only, so no graph can hold it",
                tensor=f"shape {output.shape}",
                hint="build the module's forward from layers and table ops",
            )
        op, attrs = deployed
        names = tuple(self._name_of(t) for t in inputs)
        name = self._graph.unique_name(self._node_name(op))
        self._names[id(output)] = (output, name)
        types = OPS[op].infer(attrs, [self._graph.value(n).type for n in names])
        values = [Value(name, _dtype_of(output), output.shape)]
        for i, type_ in enumerate(types[1:], 1):  # which no function of one output reads
            values.append(Value(self._graph.unique_name(f"{name}.{i}"), type_.dtype, type_.shape))
        node = Node(op, name, names, tuple(v.name for v in values), attrs)
        self._graph = self._graph.with_nodes((*self._graph.nodes, node), values)

    def graph(self, answers: Sequence[Tensor]) -> Graph:
        """What was recorded, with these tensors as the outputs."""
        names = tuple(map(self._name_of, answers))  # which may add constants to the graph
        if len(set(names)) != len(names) or not names:
            raise UnsupportedError(
                f"the module gives {len(names)} outputs: {', '.join(names)}",
                expected="at least one, each computed apart",
                hint="leave out what is there already",
            )
        return replace(self._graph, outputs=names)

    def _node_name(self, op: str) -> str:
        module = active_module()
        path = self._modules.get(id(module), "")
        if module is None or not path:
            return op
        is_layer = next(module.children(), None) is None
        return path if is_layer else f"{path}.{op}"

    def _name_of(self, tensor: Tensor) -> str:
        """The tensor's name; one that was not computed here becomes a constant."""
        if id(tensor) not in self._names:
            name = self._graph.unique_name(self._tensors.get(id(tensor), "constant"))
            self._names[id(tensor)] = (tensor, name)
            # A copy: an optimiser may go on to change the parameter in place.
            constant = Value.constant(name, np.array(tensor.data, _dtype_of(tensor).numpy))
            self._graph = self._graph.with_nodes(self._graph.nodes, [constant])
        return self._names[id(tensor)][1]
