"""The forms in which a layer's weights may be stored, and their costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

WORTH = 0.97
"""Most that another form may cost, as a share of the dense form's cost."""

BYTE_PAYS, FAST_BYTE_PAYS = 32.0, 4.0
"""Instructions of an inference that a byte more than the dense form's has to save; the same where
code is made for speed."""


class Weights(StrEnum):
    """How a layer's weights are stored."""

    DENSE = "dense"
    BLOCKS = "blocks"
    ONE_OF_4 = "1:4"
    TWO_OF_4 = "2:4"
    WINOGRAD = "winograd"


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a layer in one of these forms.

    Attributes:
        instructions: approximate instructions of one inference.
        nbytes: bytes of the weights with their indices, and of the code of a kernel that only this
            form needs.

    """

    instructions: float
    nbytes: int


@dataclass(frozen=True, slots=True)
class Stored:
    """The form of a kernel's weights.

    Attributes:
        form: the chosen form.
        forms: the cost of each possible form, including the dense one.

    """

    form: Weights
    forms: Mapping[Weights, Cost]

    @classmethod
    def cheapest(
        cls, forms: Mapping[Weights, Cost], small: bool, byte_pays: float = BYTE_PAYS
    ) -> Stored:
        """The form with the fewest bytes, or the fewest instructions.

        Another form than the dense one is chosen only if it costs less than ``WORTH`` of that, and
        if what it takes of flash pays.

        Args:
            forms: the cost of each form.
            small: whether to minimise bytes, else instructions.
            byte_pays: instructions that a byte more than the dense form's has to save.

        """
        dense = forms[Weights.DENSE]

        def cost(form: Weights) -> float:
            return forms[form].nbytes if small else forms[form].instructions

        def pays(form: Weights) -> bool:
            saved = dense.instructions - forms[form].instructions
            return saved >= byte_pays * (forms[form].nbytes - dense.nbytes)

        best = min((form for form in forms if small or pays(form)), key=cost)
        return cls(best if cost(best) < WORTH * cost(Weights.DENSE) else Weights.DENSE, forms)
