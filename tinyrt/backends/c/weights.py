"""How a layer's weights may be stored, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

WORTH = 0.97
"""What a sparse form must take at most of the dense one's cost."""


class Weights(StrEnum):
    """How a layer's weights are stored."""

    DENSE = "dense"
    BLOCKS = "blocks"
    ONE_OF_4 = "1:4"
    TWO_OF_4 = "2:4"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a layer takes in one of these forms.

    Attributes:
        instructions: of one inference, about.
        nbytes: of the weights with what says where they belong, and of the kernel's code where the
            form needs one of its own.

    """

    instructions: float
    nbytes: int


@dataclass(frozen=True, slots=True)
class Stored:
    """How a kernel has its weights.

    Attributes:
        form: the one that was taken.
        forms: what each form that they could have takes, the dense one among them.

    """

    form: Weights
    forms: Mapping[Weights, Cost]

    @classmethod
    def cheapest(cls, forms: Mapping[Weights, Cost], small: bool) -> Stored:
        """The form with the fewest bytes, or the fewest instructions.

        A sparse one is only taken where it takes less than ``WORTH`` of the dense one.

        Args:
            forms: what each form takes.
            small: whether bytes count.

        """

        def cost(form: Weights) -> float:
            return forms[form].nbytes if small else forms[form].instructions

        best = min(forms, key=cost)
        return cls(best if cost(best) < WORTH * cost(Weights.DENSE) else Weights.DENSE, forms)
