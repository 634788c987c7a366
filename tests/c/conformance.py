"""Many random cases of every op with a C kernel, as one graph: one project, one build, one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from tests.ops.build import Built, Case, Rng, build_f32, build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tinyrt.backends.c.choice import KERNELS
from tinyrt.ir import DType, Graph, Node
from tinyrt.ops import OPS, verify
from tinyrt.ops.shared.spec import Form

C_OPS = sorted(op for op, choosers in KERNELS.items() if Form.INT8 in choosers)

INT16_OPS = sorted(name for name, spec in OPS.items() if Form.INT16X8 in spec.forms)
INT4_OPS = sorted(name for name, spec in OPS.items() if spec.int4_weights)
F32_OPS = sorted(op for op, choosers in KERNELS.items() if Form.FLOAT in choosers)


def all_ops(
    seeds: Iterable[int], ops: Iterable[str] = C_OPS
) -> tuple[Graph, dict[str, np.ndarray]]:
    """Every op's own cases; see ``graph_of``."""
    return graph_of({op: CASES[op] for op in ops}, seeds)


def all_int16_ops(seeds: Iterable[int]) -> tuple[Graph, dict[str, np.ndarray]]:
    """Every op's own cases, on int16 activations; see ``graph_of``."""
    return graph_of({op: CASES[op] for op in INT16_OPS}, seeds, build_s16)


def all_int4_ops(seeds: Iterable[int]) -> tuple[Graph, dict[str, np.ndarray]]:
    """The cases of every op that takes int4 weights, with these; see ``graph_of``."""
    build = partial(build_s8, weights=DType.INT4)
    return graph_of({op: CASES[op] for op in INT4_OPS}, seeds, build)


def all_float_ops(
    seeds: Iterable[int], ops: Iterable[str] = F32_OPS
) -> tuple[Graph, dict[str, np.ndarray]]:
    """Every op's own cases, in float; see ``graph_of``."""
    return graph_of({op: CASES[op] for op in ops}, seeds, build_f32)


def graph_of(
    cases: Mapping[str, Callable[[Rng], Case]],
    seeds: Iterable[int],
    build: Callable[[Case, Rng], Built] = build_s8,
) -> tuple[Graph, dict[str, np.ndarray]]:
    """A graph whose outputs are ``<case>/<seed>/out``, ``out1``, ..., and data for its inputs."""
    values, nodes, feeds = {}, [], {}
    inputs, outputs = [], []
    for op, case in cases.items():
        for seed in seeds:
            rng = rng_of(op, seed)
            built = build(case(rng), rng)
            new = {name: f"{op}/{seed}/{name}" for name in built.graph.values}
            values |= {new[n]: _renamed(v, new[n]) for n, v in built.graph.values.items()}
            (node,) = built.graph.nodes
            nodes.append(
                Node(node.op, f"{op}/{seed}", *_names(node, new), node.attrs),
            )
            feeds |= {new[name]: array for name, array in built.feeds.items()}
            inputs += [new[name] for name in built.graph.inputs]
            outputs += [new[name] for name in built.graph.outputs]
    return verify(Graph("all_ops", tuple(inputs), tuple(outputs), values, tuple(nodes))), feeds


def other_data(feeds: Mapping[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Further data for the same inputs: of each tensor all values, or its extremes only."""
    return {name: _other(array, rng) for name, array in feeds.items()}


def _other(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype not in (np.int8, np.int16):
        return rng.permuted(array) if np.issubdtype(array.dtype, np.floating) else array
    least, most = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
    if rng.random() < 0.2:
        return rng.choice(np.array([least, most], array.dtype), array.shape)
    return rng.integers(least, most + 1, array.shape, array.dtype)


def _renamed(value, name):
    return type(value)(name, value.dtype, value.shape, value.q, value.data)


def _names(node, new):
    return tuple(new[n] if n else "" for n in node.inputs), tuple(new[n] for n in node.outputs)
