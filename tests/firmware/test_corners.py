"""Cases on the ends of every range on emulated cores: instructions that the host does not have."""

import pytest

from tests.c.programs import one_graph
from tests.firmware.device import ONE_OF_EACH_KIND, check_on_device
from tests.ops.build import Built
from tests.ops.corners import FAMILIES
from tests.sampling import sampled
from tinyrt.emulate.boards import find_board
from tinyrt.export import find_core

pytestmark = pytest.mark.slow

INTEGERS = [family for family in FAMILIES if family != "floats"]

RUNS = sampled(
    [("cortex-m4", "layers")],
    [(core, family) for core in ONE_OF_EACH_KIND for family in INTEGERS],
)
"""Core and family; kernels in vectors get such cases on this machine, in ``tests/c``."""

MOST_CASES = 240
"""Of a program, so that pointers to all ports fit on the stack."""

SHARE = 0.57
"""Of a board's memory for the inputs and outputs of a program."""

FEW, STEP, PROGRAMS = sampled((60, 7, 1), (0, 1, None))
"""Most cases of a family that is run whole, every how many of others, in how many programs; those
of few, large cases are the last."""


def programs(core: str, family: str) -> list[dict[str, Built]]:
    """The family's cases, as many in each program as fit."""
    board = find_board(find_core(core))
    most_bytes = int(SHARE * board.ram_bytes)
    parts: list[dict[str, Built]] = []
    rooms: list[int] = []
    cases = [*FAMILIES[family]().items()]
    for name, built in cases[:: STEP if len(cases) > FEW else 1]:
        graph, _ = one_graph({name: built})
        needs = sum(graph.value(port).nbytes for port in (*graph.inputs, *graph.outputs))
        fits = (i for i, r in enumerate(rooms) if r >= needs and len(parts[i]) < MOST_CASES)
        place = next(fits, len(parts))
        if place == len(parts):
            parts.append({})
            rooms.append(most_bytes)
        parts[place][name] = built
        rooms[place] -= needs
    return parts


@pytest.mark.parametrize(("core", "family"), RUNS)
def test_integers_equal_the_references(tmp_path, core, family):
    for i, cases in enumerate(programs(core, family)[:PROGRAMS]):
        graph, feeds = one_graph(cases)
        folder = tmp_path / str(i)
        folder.mkdir()
        check_on_device(graph, feeds, folder, core)
