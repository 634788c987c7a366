"""Cases on the ends of every range on emulated cores: instructions that the host does not have."""

from collections.abc import Collection, Iterator

import pytest

from tests.c.programs import one_graph
from tests.firmware.device import ONE_OF_EACH_KIND, check_on_device
from tests.ops.build import Built
from tests.ops.corners import FAMILIES
from tests.sampling import sampled

pytestmark = pytest.mark.slow

INTEGERS = [family for family in FAMILIES if family != "floats"]

VECTORS = ("add", "sub", "maximum", "minimum", "logistic", "mean", "sum")
"""Ops besides layers that a Cortex-M55 computes in vectors, one of each kernel."""

RUNS = sampled(
    [
        ("cortex-m4", "layers", ()),
        ("cortex-m55", "layers", ()),
        ("cortex-m55", "int4 layers", ()),
        ("cortex-m55", "elementwise", VECTORS),
        ("cortex-m55", "reducing", VECTORS),
        ("cortex-m4", "legacy", ()),
    ],
    [(core, family, ()) for core in ONE_OF_EACH_KIND for family in INTEGERS],
)
"""(core, family, ops; none: all); first those with kernels that no other test gives such cases."""

MOST_CASES, MOST_BYTES = 240, 300_000
"""Of a program, so that it fits into every board, with its pointers on the stack."""


def programs(family: str, ops: Collection[str]) -> Iterator[dict[str, Built]]:
    """The family's cases, a program's at a time; of these ops, if there are any."""
    part: dict[str, Built] = {}
    room = MOST_BYTES
    for name, built in FAMILIES[family]().items():
        if ops and name.split(":")[0] not in ops:
            continue
        graph, _ = one_graph({name: built})
        needs = sum(graph.value(port).nbytes for port in (*graph.inputs, *graph.outputs))
        if part and (room < needs or len(part) == MOST_CASES):
            yield part
            part, room = {}, MOST_BYTES
        part[name], room = built, room - needs
    yield part


@pytest.mark.parametrize(("core", "family", "ops"), RUNS)
def test_integers_equal_the_references(tmp_path, core, family, ops):
    for i, cases in enumerate(programs(family, ops)):
        graph, feeds = one_graph(cases)
        folder = tmp_path / str(i)
        folder.mkdir()
        check_on_device(graph, feeds, folder, core)
