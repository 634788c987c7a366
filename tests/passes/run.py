"""Applies rules to a graph and checks that its results stay."""

from __future__ import annotations

import numpy as np

from tinyrt.ir import Graph, RewriteLog, Rule, Stage, rewrite
from tinyrt.ops import verify
from tinyrt.ops.shared.evaluate import evaluate


def results(graph: Graph, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    feeds = {v.name: rng.standard_normal(v.shape).astype(np.float32) for v in graph.input_values}
    return list(evaluate(graph, feeds).values())


def apply(graph: Graph, *rules: Rule) -> tuple[Graph, RewriteLog]:
    """The graph after the rules, whose outputs have kept names and elements."""
    log = RewriteLog()
    after = rewrite(graph, rules, lambda g: verify(g, Stage.FLOAT), log, limit=100)
    assert (after.inputs, after.outputs) == (graph.inputs, graph.outputs)
    for found, wanted in zip(results(after), results(graph), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    return after, log


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def refusal(graph: Graph, *rules: Rule) -> str:
    """The one reason why the rules leave the graph as it is."""
    after, log = apply(graph, *rules)
    assert after.nodes == graph.nodes
    (reason,) = log.refused.values()
    return reason
