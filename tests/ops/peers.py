"""The interpreters that integer results are held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.build import Built
from tinyrt.convert.passes.targets import LACKING
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.ir import DType, Graph
from tinyrt.ops.comparison import ACCEPTED

ARENA_BYTES = 1 << 20

NOT_IN_TFLM = {
    "cast",
    "exp",
    "gelu",
    "log",
    "pow",
    "reduce_min",
    "reduce_prod",
    "relu_0_to_1",
    "relu_n1_to_1",
    "resize_nearest_neighbor",
    "sign",
    "sqrt",
    "topk_v2",
}
"""Ops, or their int8 form, that only LiteRT has."""


NOT_IN_TFLM_S16 = NOT_IN_TFLM | {
    *("embedding", "gather", "gather_nd", "mirror_pad", "reduce_max"),
    *ACCEPTED,
}
"""Ops whose int16 form only LiteRT has."""


TFLM_WITHOUT_S64 = {"arg_max", "arg_min"}
"""Ops whose answers TFLM has as int32 only."""


TFLM_WITHOUT_PLACES = {"select_v2"}
"""Ops that TFLM does not have on int32 and int64."""


TFLM_WITHOUT_BOTH = {DType.INT8, DType.INT16}
"""Types that TFLM does not multiply with each other."""


NOT_IN_BUILTIN_REF = {"tile"}
"""Ops of which LiteRT's reference resolver lacks the version that LiteRT's own converter writes."""


def run_peer(op: str, graph: Graph, inputs: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The first output, from the interpreter whose kernel of this op is the rule."""
    if op == "signal_energy":
        return _of_a_range(graph, run_tflm(graph, inputs))
    if op in NOT_IN_BUILTIN_REF:
        return answers_of_litert(graph, dict(zip(graph.inputs, inputs, strict=True)))[0]
    if op == "pointwise" and any(s.op in LACKING["tflm"] for s in graph.nodes[0].attrs.steps):
        # The reference kernels lack some of the others that a file of its ops needs.
        return run_litert(graph, inputs, "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
    wide = any(v.dtype is DType.INT16 for v in graph.values.values())
    missing = NOT_IN_TFLM_S16 if wide else NOT_IN_TFLM
    free = {v.dtype for v in graph.values.values() if not v.is_constant}
    if DType.INT64 in free:
        missing = missing | TFLM_WITHOUT_S64
    if free & {DType.INT32, DType.INT64}:
        missing = missing | TFLM_WITHOUT_PLACES
    if free >= TFLM_WITHOUT_BOTH:
        missing = missing | {"batch_matmul"}
    return (run_litert if op in missing else run_tflm)(graph, inputs)


def _of_a_range(graph: Graph, energies: NDArray[Any]) -> NDArray[Any]:
    """Energies, with zeros for those frequencies of which TFLM leaves what was in memory."""
    attrs, places = graph.nodes[0].attrs, np.arange(len(energies))
    inside = (places >= attrs.start_index) & (places < attrs.end_index)
    return np.where(inside, energies, energies.dtype.type(0))


def run_tflm(graph: Graph, inputs: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The first output, as TFLM's reference kernels compute it."""
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    interpreter = tflm.runtime.Interpreter.from_bytes(write_tflite(graph), arena_size=ARENA_BYTES)
    for i, array in enumerate(inputs):
        interpreter.set_input(array, i)
    interpreter.invoke()
    return interpreter.get_output(0)


def answers_of_litert(graph: Graph, feeds: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """All outputs, in the graph's order, as LiteRT's default kernels compute them."""
    litert = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="package ai-edge-litert is not installed"
    )
    interpreter = litert.Interpreter(model_content=write_tflite(graph))
    interpreter.allocate_tensors()
    for detail, name in zip(interpreter.get_input_details(), graph.inputs, strict=True):
        interpreter.set_tensor(detail["index"], feeds[name])
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def run_litert(
    graph: Graph, inputs: Sequence[NDArray[Any]], kernels: str = "BUILTIN_REF"
) -> NDArray[Any]:
    """The first output, as LiteRT's reference kernels compute it, or others of its own."""
    litert = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="package ai-edge-litert is not installed"
    )
    interpreter = litert.Interpreter(
        model_content=write_tflite(graph),
        experimental_op_resolver_type=litert.OpResolverType[kernels],
    )
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def real_quotient(built: Built) -> np.ndarray:
    """What the output of an int8 div were without rounding, in its steps."""
    values = [built.graph.value(name) for name in built.graph.nodes[0].inputs]
    dividend, divisor = (
        v.q.scale * (np.asarray(built.feeds.get(v.name, v.data), float) - v.q.zero_point)
        for v in values
    )
    y = built.graph.value("out").q
    return dividend / divisor / y.scale + y.zero_point
