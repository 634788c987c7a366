"""Runs a graph with the reference kernels, one op after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt import budget
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Outputs, Quant, is_integer

Kernel = Callable[..., Outputs]
Arrays = Sequence[NDArray[Any] | None]


def reference_kernel(node: BoundNode) -> Kernel:
    """The node's prepared reference kernel: a function from input arrays to output array(s).

    Raises:
        UnsupportedError: the op has no reference for the node's dtypes.
        VerifyError: quantisation parameters break the op's rules.

    """
    spec = OPS[node.op]
    if is_integer(node):
        ref, prepared = spec.form(node).ref, spec.prepared(node)
        return lambda *arrays: ref(prepared, *arrays)
    if spec.ref_f32 is None:
        raise UnsupportedError(
            f"{node.op} has no float kernel", op=node.describe(), hint="quantise the model"
        )
    ref_f32 = spec.ref_f32
    return lambda *arrays: ref_f32(node.attrs, *arrays)


def as_tuple(outputs: Outputs) -> tuple[NDArray[Any], ...]:
    """A kernel's result as a tuple with one array per output.

    NumPy's sums and products of arrays without dimensions are numbers, not arrays.
    """
    results = outputs if isinstance(outputs, tuple) else (outputs,)
    return tuple(np.asarray(result) for result in results)


def folded(node: BoundNode) -> tuple[NDArray[Any], ...]:
    """The outputs of a node whose inputs are all constant, computed if the budget allows it.

    Raises:
        UnsupportedError: the op has no reference for the node's dtypes.
        BudgetError: the computation would take more memory or work than the budget has left.

    """
    what = f"'{node.output.name}', the constant result of {node.op},"
    spec, spent = OPS[node.op], budget.current()
    moved = sum(v.size * v.dtype.itemsize for v in (*node.inputs, *node.outputs) if v is not None)
    macs = spec.macs(node)
    # The kernel copies the elements of all windows, of at least one image at a time.
    channels = node.output.shape[-1] if node.output.shape else 1
    gathered = WIDEST * (macs // max(channels, 1))
    copies = MOVING if spec.quant is Quant.SAME_AS_INPUT else COMPUTING
    nbytes = copies * moved + gathered
    kernel = reference_kernel(node)
    arrays = [None if v is None else v.data for v in node.inputs]
    work = nbytes + macs + spec.work(node)
    return spent.computed(what, nbytes, lambda: as_tuple(kernel(*arrays)), work)


MOVING, COMPUTING = 2, 6
"""Upper bound on the copies of its operands and results that a reference kernel holds."""

WIDEST = 8
"""Bytes of the widest element type."""


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
        arrays_out = as_tuple(reference_kernel(node)(*arrays))
        for value, array in zip(node.outputs, arrays_out, strict=True):
            live[value.name] = array
            if on_value is not None:
                on_value(value, array)
        for name in node.node.inputs:
            if last_use[name] == node.index and name not in graph.outputs:
                live.pop(name, None)
    return {n: live[n] for n in graph.outputs}
