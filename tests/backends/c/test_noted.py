"""What is noted of a node serves every target and every number of rows that asks for the same.

Working out a layer's constants takes long, so that a graph keeps them. A key that lacks a part
hands one kernel what another one has packed.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests.backends.c.test_choice import conv, dense
from tests.backends.c.test_choice import depthwise as square
from tests.ops.build import Case, build_s8, build_s16
from tests.sampling import sampled
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.kernel import Choices, Target
from tinyrt.errors import UnsupportedError
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.ir import BoundNode, DType, Graph
from tinyrt.ops import OPS


def depthwise(x: tuple[int, ...], kernel: int, filters: int = 1) -> Case:
    case = square(x[3], kernel, filters=filters)
    return replace(case, shapes=(x, *case.shapes[1:]))


CASES = {
    "pixels": conv((1, 5, 5, 8), (12, 1, 1, 8)),
    "a column of pixels": conv((1, 6, 1, 32), (24, 1, 1, 32)),
    "windows": conv((1, 9, 3, 4), (8, 3, 3, 4)),
    "groups": conv((1, 9, 3, 8), (8, 3, 3, 4)),
    "channels": depthwise((1, 9, 3, 8), 3),
    "wide channels": depthwise((1, 9, 4, 8), 5),
    "filters of a channel": depthwise((1, 9, 9, 1), 3, filters=12),
    "a row": dense(1, 32, 24),
    "rows": dense(2, 32, 12),
    "legacy rows": dense(2, 32, 12, legacy=True),
}
"""Images are higher than wide, and on a few rows wider than high: kernels may turn them."""

CHOICES = Choices(frozenset({0}), frozenset({0}))
M3, M4, M55 = (
    target_of(find_core(core), Optimize.BALANCED)
    for core in ("cortex-m3", "cortex-m4", "cortex-m55")
)
TARGETS = [
    M3,
    M4,
    M55,
    *(replace(target, choices=CHOICES) for target in (M3, M4, M55)),
    *(target_of(find_core("cortex-m4"), aim) for aim in (Optimize.SIZE, Optimize.SPEED)),
    *(target_of(find_core(core), Optimize.BALANCED) for core in ("cortex-m0", "rv32imcv", "host")),
]
"""Each asks for weights in forms, or in an order, of its own."""


def with_weights(graph: Graph, change: Callable[[Any], Any]) -> Graph:
    w = graph.value("in1")
    changed = replace(w, data=change(w.data.astype(np.int16)).astype(np.int8))
    return replace(graph, values=graph.values | {"in1": changed})


def halves(w: Any) -> Any:
    """Every second group of four weights is zero."""
    return w * (np.arange(w.size).reshape(w.shape) // 4 % 2)


FORMS: dict[str, Callable[[Case, np.random.Generator], Graph]] = {
    "dense": lambda case, rng: build_s8(case, rng).graph,
    "sparse": lambda case, rng: with_weights(build_s8(case, rng).graph, halves),
    "four bits": lambda case, rng: build_s8(case, rng, weights=DType.INT4).graph,
    "least": lambda case, rng: with_weights(build_s8(case, rng).graph, lambda w: 0 * w - 128),
    "int16": lambda case, rng: build_s16(case, rng).graph,
    "int16, least": lambda case, rng: with_weights(
        build_s16(case, rng).graph, lambda w: 0 * w - 128
    ),
}
"""What the weights are."""


def nodes_of(graph: Graph) -> Iterator[BoundNode]:
    """The node, and what it is on a few rows."""
    node = graph.bind(0)
    yield node
    by_row = OPS[node.op].rows
    rows = by_row(node) if by_row is not None else None
    if rows is not None and rows.fold is None:
        yield from map(rows.on_rows, (1, 4))


def plain(thing: Any) -> Any:
    """What can be compared: arrays as bytes, records as their fields."""
    if isinstance(thing, np.ndarray):
        return str(thing.dtype), thing.shape, thing.tobytes()
    if is_dataclass(thing) and not isinstance(thing, type | BoundNode):
        own = [f.name for f in fields(thing) if f.compare]
        return type(thing), [plain(getattr(thing, name)) for name in own]
    if isinstance(thing, dict):
        return [(key, plain(value)) for key, value in thing.items()]
    return [plain(one) for one in thing] if isinstance(thing, list | tuple) else thing


def calls_of(node: BoundNode, target: Target) -> Any:
    try:
        return plain(choose(node, target).calls)
    except UnsupportedError as error:
        return str(error)


def forms_of(case: Case) -> Iterator[str]:
    """The forms that its weights can have; the legacy rounding is of int8 alone."""
    no = ("four", "int16") if getattr(case.attrs, "legacy", False) else ()
    yield from (form for form in FORMS if not form.startswith(no))


PAIRS = [(name, form) for name, case in CASES.items() for form in forms_of(case)]


@pytest.mark.parametrize(("name", "form"), sampled(PAIRS[::2], PAIRS))
def test_what_one_target_notes_serves_the_others(name, form):
    graph = FORMS[form](CASES[name], np.random.default_rng(0))
    shared = list(nodes_of(graph))
    for target in TARGETS:
        for i, node in enumerate(shared):
            alone = list(nodes_of(replace(graph)))[i]
            assert calls_of(node, target) == calls_of(alone, target)
