"""What a model costs on a core, against what it may cost there."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tinyrt.api.costs import Basis, cost
from tinyrt.errors import BudgetError, DataError
from tinyrt.ir import Graph


@dataclass(frozen=True, slots=True)
class Costs:
    """Of a model on a core.

    Attributes:
        arena: bytes of activations.
        flash: bytes of code, tables and weights; None where nothing was built.
        instructions: per inference, as the emulator counts them; None likewise.
        cycles: per inference at most, of flash without wait states; None where nobody asked.

    """

    arena: int
    flash: int | None = None
    instructions: int | None = None
    cycles: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceBudget:
    """What a model may cost on a core.

    Attributes:
        core: the processor core.
        arena: bytes of activations at most.
        flash: bytes of code, tables and weights at most.
        instructions: per inference at most.
        cycles: per inference at most, the high end of their range, without wait states.

    Raises:
        DataError: nothing is limited, or a limit is below 1.

    """

    core: str = "cortex-m4"
    arena: int | None = None
    flash: int | None = None
    instructions: int | None = None
    cycles: int | None = None

    def __post_init__(self) -> None:
        limits = list(self.limits.values())
        if not limits or min(limits) < 1:
            raise DataError(
                f"limits of {', '.join(map(str, limits)) or 'nothing'} on {self.core}",
                expected="arena, flash, instructions or cycles, 1 or more",
            )

    @property
    def limits(self) -> dict[str, int]:
        """What is limited, and to how much."""
        given = {f.name: getattr(self, f.name) for f in fields(Costs)}
        return {name: limit for name, limit in given.items() if limit is not None}

    def costs(self, graph: Graph) -> Costs:
        """What a quantised model costs, built and emulated if anything but the arena is limited.

        Raises:
            TinyrtError: it cannot be exported or emulated.

        """
        if self.limits.keys() == {"arena"}:
            return Costs(cost(graph, self.core).arena)
        basis = Basis.TIMED if "cycles" in self.limits else Basis.COUNTED
        whole = cost(graph, self.core, basis=basis)
        return Costs(whole.arena, whole.flash, whole.instructions, whole.cycles)

    def excess(self, costs: Costs) -> dict[str, int | None]:
        """What is beyond its limit, and how much it costs; None where that is not known."""
        spent = {name: getattr(costs, name) for name in self.limits}
        return {name: n for name, n in spent.items() if n is None or n > self.limits[name]}

    def require(self, costs: Costs) -> None:
        """Refuse a model that costs more.

        Raises:
            BudgetError: it does.

        """
        if beyond := self.excess(costs):
            raise BudgetError(
                f"on {self.core}, the trained model costs "
                + ", ".join(
                    f"an unknown number of {name}" if n is None else f"{n:,} of {name}"
                    for name, n in beyond.items()
                ),
                expected=", ".join(f"at most {self.limits[name]:,}" for name in beyond),
                hint="leave a margin: training changes what zeros and constants allow",
            )

    def fits(self, graph: Graph) -> bool:
        """Whether a quantised model costs no more."""
        return not self.excess(self.costs(graph))
