"""Every pass: it fires, it refuses with its reason, it keeps the results of random graphs."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tests.passes.examples import EXAMPLES_OF, Made
from tests.passes.random_graphs import graphs, seeded
from tests.passes.random_net import RandomNet as Net
from tests.sampling import sampled
from tinyrt.budget import Budget
from tinyrt.convert.passes import FLOAT_PIPELINE, optimize
from tinyrt.convert.passes.known import KNOWN_PASSES
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.ir import Graph, Patch, RewriteLog, Rule, Stage, rewrite
from tinyrt.ops import verify
from tinyrt.ops.shared.evaluate import evaluate

RULES = {rule.name: rule for rule in FLOAT_PIPELINE}
BEFORE = {"flip_regions": ("remove_identity", "merge_transposes", "turn_input", "turn_output")}
"""Pass -> those without which it may turn the same things to and fro."""

EXAMPLES = sampled(3, 25)
RARE = (
    *(31, 32, 33, 35, 47, 72, 97, 106, 114, 126, 139, 156, 178, 189, 190),
    *(206, 209, 215, 222, 223, 226, 229, 233, 239, 241, 252, 275),
)
"""Graphs that the rarest passes have an occasion in."""

SEEDS = sampled([*range(13), *RARE], [*range(300)])
"""Of graphs; all passes have an occasion in those of the sample."""


def made(name: str, build: Callable[[Net], Made]) -> Graph:
    net = Net(EXAMPLES_OF[name].shape)
    outputs = build(net)
    return net.graph(*([outputs] if isinstance(outputs, str) else outputs))


def applied(graph: Graph, *rules: Rule) -> tuple[Graph, RewriteLog]:
    """The graph after the rules, whose results have stayed, whichever layout they are in."""
    log = RewriteLog()
    after = rewrite(graph, rules, lambda g: verify(g, Stage.FLOAT), log, limit=500)
    assert_same(graph, after)
    return after, log


def assert_same(graph: Graph, after: Graph) -> None:
    assert (after.inputs, after.outputs) == (graph.inputs, graph.outputs)
    rng = np.random.default_rng(0)
    feeds = {v.name: rng.standard_normal(v.shape).astype(np.float32) for v in graph.input_values}
    turned = {
        v.name: feeds[v.name] if v.shape == feeds[v.name].shape else _last(feeds[v.name])
        for v in after.input_values
    }
    found = evaluate(after, turned).values()
    for y, want in zip(found, evaluate(graph, feeds).values(), strict=True):
        finite = np.abs(want[np.isfinite(want)])
        scale = max(1.0, float(finite.max()) if finite.size else 1.0)
        tolerance = {"rtol": 1e-4, "atol": 1e-5 * scale, "equal_nan": True}
        layouts = [x for x in (want, _last(want)) if x.shape == y.shape]
        assert any(np.allclose(y, x, **tolerance) for x in layouts), (y, want)


def _last(x: np.ndarray) -> np.ndarray:
    """Channels last."""
    return np.moveaxis(x, 1, -1) if x.ndim > 2 else x


def refuses(rule: Rule) -> bool:
    """Whether the pass can refuse, by what it says that it returns."""
    found = inspect.signature(rule.apply).return_annotation
    return found is inspect.Signature.empty or "Refusal" in str(found)


def test_every_pass_has_its_three_tests():
    assert EXAMPLES_OF.keys() == RULES.keys()
    assert len(RULES) == len(FLOAT_PIPELINE)
    silent = {name for name, example in EXAMPLES_OF.items() if example.stays is None}
    assert {name for name in silent if refuses(RULES[name])} == set()


@pytest.mark.parametrize("name", EXAMPLES_OF)
def test_constants_that_it_computes_are_paid_for_first(name, monkeypatch):
    graph, rule = made(name, EXAMPLES_OF[name].fires), RULES[name]
    asked = []
    monkeypatch.setattr(Budget, "reserve", lambda self, nbytes, what: asked.append(nbytes))
    for node in (n for n in graph.nodes if not rule.ops or n.op in rule.ops):
        asked.clear()
        patch = rule.apply(graph, node)
        values = patch.values if isinstance(patch, Patch) else ()
        made_here = [v.data for v in values if v.data is not None and v.data.size > 2]
        old = [v.data for v in graph.values.values() if v.data is not None]
        copies = [d for d in made_here if not any(np.shares_memory(d, o) for o in old)]
        assert sum(d.nbytes for d in copies) <= sum(asked)


@pytest.mark.parametrize("name", EXAMPLES_OF)
def test_it_fires(name):
    graph = made(name, EXAMPLES_OF[name].fires)
    _, log = applied(graph, RULES[name])
    assert name in {rule for rule, _ in log.applied}


@pytest.mark.parametrize("name", [n for n, e in EXAMPLES_OF.items() if e.stays is not None])
def test_it_refuses_with_its_reason(name):
    example = EXAMPLES_OF[name]
    graph = made(name, example.stays)
    after, log = applied(graph, RULES[name])
    assert after.nodes == graph.nodes
    reasons = [reason for (rule, _), reason in log.refused.items() if rule == name]
    assert any(example.reason in reason for reason in reasons), reasons


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_it_keeps_the_results_of_random_graphs(name):
    fired = []

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
    @given(graphs)
    def check(graph: Graph) -> None:
        before = [RULES[other] for other in BEFORE.get(name, ())]
        _, log = applied(graph, REMOVE_DEAD, *before, RULES[name])
        fired.extend(log.applied)

    check()


@pytest.mark.slow
def test_all_together_keep_the_results_of_random_graphs():
    """Between them, the graphs give every pass an occasion."""
    fired: set[str] = set()
    for seed in SEEDS:
        graph = seeded(seed)
        for keep_layout in sampled((seed % 2 == 0,), (True, False)):
            log = RewriteLog()
            assert_same(graph, optimize(graph, keep_layout=keep_layout, log=log))
            fired.update(rule for rule, _ in log.applied)
    assert fired - {*KNOWN_PASSES} == RULES.keys()
