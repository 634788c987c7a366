"""Run a graph with the reference kernels, value by value: the specification at work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.ops import OPS
from tinyrt.ops.spec import Outputs, is_integer

Kernel = Callable[..., Outputs]
Arrays = Sequence[NDArray[Any] | None]


def reference_kernel(node: BoundNode) -> Kernel:
    """The node's reference kernel, prepared: takes the input arrays, returns the output array(s).

    Raises:
        UnsupportedError: the op has no reference for the node's dtypes.
        VerifyError: quantisation parameters break the op's rules.

    """
    spec = OPS[node.op]
    if is_integer(node):
        form = spec.form(node)
        prepared = form.prepare(node)
        return lambda *arrays: form.ref(prepared, *arrays)
    if spec.ref_f32 is None:
        raise UnsupportedError(
            f"{node.op} has no float kernel", op=node.describe(), hint="quantise the model"
        )
    ref_f32 = spec.ref_f32
    return lambda *arrays: ref_f32(node.attrs, *arrays)


def as_tuple(found: Outputs) -> tuple[NDArray[Any], ...]:
    """What a kernel returns, as one array per output."""
    return found if isinstance(found, tuple) else (found,)


def evaluate(
    graph: Graph,
    feeds: Mapping[str, NDArray[Any]],
    on_value: Callable[[Value, NDArray[Any]], None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Run the graph once.

    Args:
        graph: a verified graph.
        feeds: input name -> array of the input's shape and dtype.
        on_value: called with every input and every op's output as it is computed.

    Returns:
        Output name -> array.

    """
    live: dict[str, NDArray[Any]] = {
        n: v.data for n, v in graph.values.items() if v.data is not None
    }
    live.update(feeds)
    if on_value is not None:
        for value in graph.input_values:
            on_value(value, live[value.name])
    last_use = {n: i for i, node in enumerate(graph.nodes) for n in node.inputs}
    for node in graph.bound():
        arrays = [live[v.name] if v else None for v in node.inputs]
        found = as_tuple(reference_kernel(node)(*arrays))
        for value, array in zip(node.outputs, found, strict=True):
            live[value.name] = array
            if on_value is not None:
                on_value(value, array)
        for name in node.node.inputs:
            if name and last_use[name] == node.index and name not in graph.outputs:
                live.pop(name, None)
    return {n: live[n] for n in graph.outputs}
