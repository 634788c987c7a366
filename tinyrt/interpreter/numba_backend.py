"""Backend ``numba``: compiled int8 kernels, the whole model in one call.

Float ops run the NumPy reference, which spends its time in BLAS; ``support`` says so. numba itself
is imported when the first int8 op is prepared.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError, error_context
from tinyrt.interpreter.program import Program, Step, StepList, Tensors
from tinyrt.interpreter.reference import reference_step
from tinyrt.ir import BoundNode, Graph
from tinyrt.ops import OPS
from tinyrt.ops.spec import Form, form_of, is_integer

if TYPE_CHECKING:
    from tinyrt.interpreter.numba_kernels.abi import Call
    from tinyrt.interpreter.numba_kernels.workspace import Workspace

NUMPY = "numpy"
"""Stands for the NumPy reference: an int8 op that has no compiled kernel, but runs all the same."""

KERNELS: dict[str, str] = {
    "abs": "lut.pack",
    "add": "elementwise.pack_add",
    "arg_max": NUMPY,
    "arg_min": NUMPY,
    "average_pool2d": "pool.pack_average",
    "batch_matmul": NUMPY,
    "broadcast_to": "movement.pack_move",
    "concatenation": "movement.pack_concatenation",
    "conv2d": "conv2d.pack",
    "cumsum": NUMPY,
    "depth_to_space": "movement.pack_move",
    "depthwise_conv2d": "depthwise_conv2d.pack",
    "dequantize": "quantize.pack_dequantize",
    "div": NUMPY,
    "elu": "lut.pack",
    "embedding": NUMPY,
    "equal": NUMPY,
    "exp": "lut.pack",
    "fully_connected": "fully_connected.pack",
    "gather": "movement.pack_move",
    "gelu": "lut.pack",
    "greater": NUMPY,
    "greater_equal": NUMPY,
    "hard_swish": "lut.pack",
    "l2_normalization": NUMPY,
    "leaky_relu": "lut.pack",
    "less": NUMPY,
    "less_equal": NUMPY,
    "log": "lut.pack",
    "log_softmax": NUMPY,
    "logistic": "lut.pack",
    "max_pool2d": "pool.pack_max",
    "maximum": "elementwise.pack_maximum",
    "mean": "mean.pack",
    "minimum": "elementwise.pack_minimum",
    "mirror_pad": "movement.pack_move",
    "mul": "elementwise.pack_mul",
    "not_equal": NUMPY,
    "pad": "movement.pack_pad",
    "pointwise": "lut.pack",
    "prelu": NUMPY,
    "quantize": "quantize.pack_quantize",
    "reduce_max": NUMPY,
    "reduce_min": NUMPY,
    "reduce_prod": NUMPY,
    "relu": "lut.pack",
    "relu6": "lut.pack",
    "relu_0_to_1": "lut.pack",
    "relu_n1_to_1": "lut.pack",
    "reshape": "movement.pack_reshape",
    "resize_bilinear": "resize.pack",
    "resize_nearest_neighbor": "movement.pack_move",
    "rsqrt": "lut.pack",
    "select_v2": NUMPY,
    "slice": "movement.pack_move",
    "softmax": "softmax.pack",
    "space_to_depth": "movement.pack_move",
    "sqrt": "lut.pack",
    "squared_difference": NUMPY,
    "sub": "elementwise.pack_sub",
    "sum": "mean.pack",
    "svdf": "svdf.pack",
    "tanh": "lut.pack",
    "tile": "movement.pack_move",
    "transpose": "movement.pack_transpose",
    "transpose_conv": "transpose_conv.pack",
    "unidirectional_sequence_lstm": "lstm.pack",
}
"""Op -> the function of ``numba_kernels`` that packs an int8 node for its kernel, or ``NUMPY``."""

KERNELS_S16: dict[str, str] = {
    "add": "wide_pairs.pack_add",
    "average_pool2d": "wide_pool.pack_average",
    "conv2d": "wide.pack_conv2d",
    "depthwise_conv2d": "wide.pack_depthwise",
    "fully_connected": "wide.pack_dense",
    "logistic": "wide_tables.pack_logistic",
    "max_pool2d": "wide_pool.pack_max",
    "mean": "wide_pool.pack_mean",
    "mul": "wide_pairs.pack_mul",
    "reshape": "movement.pack_reshape",
    "softmax": "wide_tables.pack_softmax",
    "sub": "wide_pairs.pack_sub",
    "tanh": "wide_tables.pack_tanh",
    "unidirectional_sequence_lstm": "lstm.pack",
}
"""The same for nodes on int16; ops that are not here run the NumPy reference."""


def prepare(graph: Graph, tensors: Tensors) -> Program:
    """Pack every int8 op for its kernel; float ops become NumPy calls.

    Raises:
        UnsupportedError: an int8 op has no kernel here, or a float op has no reference.

    """
    nodes = list(graph.bound())
    if not any(map(_is_compiled, nodes)):
        return StepList([reference_step(node, tensors) for node in nodes])
    return _Compiled(nodes, tensors)


class _Compiled:
    """Runs of compiled ops, each one call, with NumPy calls between them."""

    def __init__(self, nodes: list[BoundNode], tensors: Tensors) -> None:
        from tinyrt.interpreter.numba_kernels.abi import address, address_of, runner
        from tinyrt.interpreter.numba_kernels.workspace import Workspace

        workspace = Workspace(tensors)
        calls = {n.index: _pack(n, workspace) for n in nodes if _is_compiled(n)}
        scratch = workspace.scratch()
        self._table = np.zeros((len(nodes), 2), np.int64)
        self._kept: list[Any] = [workspace]
        for index, call in calls.items():
            row = call.row._replace(scratch=scratch) if "scratch" in call.row._fields else call.row
            arguments: NDArray[np.int64] = np.array(row, np.int64)
            self._kept.append(arguments)
            self._table[index] = address_of(call.kernel), address(arguments)
        self._run = runner()
        self._numpy = {n.index: reference_step(n, tensors) for n in nodes if n.index not in calls}
        self._spans = [
            step
            for compiled, indices in groupby(range(len(nodes)), key=calls.__contains__)
            for step in self._span(compiled, list(indices))
        ]
        self._steps = [self._numpy.get(n.index) or self._rows(n.index, n.index + 1) for n in nodes]
        self.packed_bytes = workspace.packed_bytes

    def _span(self, compiled: bool, indices: list[int]) -> list[Step]:
        if not compiled:
            return [self._numpy[i] for i in indices]
        return [self._rows(indices[0], indices[-1] + 1)]

    def _rows(self, first: int, last: int) -> Step:
        """One call for some rows of the table."""
        span = np.array([self._table.ctypes.data, first, last], np.int64)
        self._kept.append(span)
        return partial(self._run, span.ctypes.data)

    def run(self) -> None:
        """Run all ops."""
        for span in self._spans:
            span()

    def run_op(self, index: int) -> None:
        """Run one op."""
        self._steps[index]()


def _is_compiled(node: BoundNode) -> bool:
    if not is_integer(node):
        return False
    if form_of(node) is Form.INT16X8:
        return node.op in KERNELS_S16
    return KERNELS.get(node.op) != NUMPY


def _pack(node: BoundNode, workspace: Workspace) -> Call:
    kernels = KERNELS_S16 if form_of(node) is Form.INT16X8 else KERNELS
    spec, where = OPS[node.op], kernels.get(node.op)
    if where is None:
        raise UnsupportedError(
            f"backend numba has no int8 kernel for {node.op}",
            op=node.describe(),
            expected=", ".join(KERNELS),
            hint="choose backend 'reference'",
        )
    module, function = where.split(".")
    package = f"{__package__}.numba_kernels"
    pack = getattr(import_module(f"{package}.{module}"), function)
    with error_context(op=node.describe()):
        call: Call = pack(node, spec.form(node).prepare(node), workspace)
    return call
