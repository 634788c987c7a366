"""Ways to make a model's arena smaller: tries each one quickly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinyrt.budget import current
from tinyrt.errors import TinyrtError
from tinyrt.ir import Graph
from tinyrt.memory.arena import plan_memory
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.order import schedule
from tinyrt.memory.plan import ArenaPlan, MemoryOptions
from tinyrt.memory.rows.candidates import QUICK
from tinyrt.memory.rows.plan import plan_by_rows, plan_pushed


@dataclass(frozen=True, slots=True)
class Advice:
    """One way to a smaller arena.

    Attributes:
        what: the change, with the option that makes it.
        arena_bytes: about the arena's size with it, from a quick search; what the option does
            searches longer, and trades some bytes for fewer instructions.

    """

    what: str
    arena_bytes: int


def advise(graph: Graph, kernels: Kernels, plan: ArenaPlan) -> list[Advice]:
    """Ways to an arena below that of ``plan``, the smallest first; none that ``plan`` goes already.

    For huge models it does not try all ways: they may take at most half of the budget.
    """

    def outside(*names: str) -> ArenaPlan:
        options = MemoryOptions(outside=frozenset(names))
        return plan_memory(graph, kernels, options=options, checked=False)

    ways: dict[str, Callable[[], ArenaPlan]] = {}
    if not plan.segments:
        ways["run ops row by row: --by-rows"] = lambda: plan_by_rows(graph, kernels, effort=QUICK)
    if not any(segment.pushed for segment in plan.segments):
        ways["feed the input row by row: --input-rows"] = lambda: plan_pushed(
            graph, kernels, effort=QUICK
        )
    ways |= {
        "keep inputs in memory of your own: --input-outside": lambda: outside(*graph.fed),
        "keep outputs in memory of your own: --output-outside": lambda: outside(*graph.answers),
        "order the ops anew: tinyrt convert": lambda: plan_memory(
            schedule(graph), kernels, checked=False
        ),
    }
    advices = []
    budget = current()
    for what, way in ways.items():
        if budget.work_used > budget.work // 2:
            break  # the rest of the budget belongs to the command itself
        try:
            nbytes = way().arena_bytes
        except TinyrtError:
            continue  # not every model can be run in every way
        if nbytes < plan.arena_bytes:
            advices.append(Advice(what, nbytes))
    return sorted(advices, key=lambda advice: advice.arena_bytes)
