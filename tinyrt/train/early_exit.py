"""A network with two heads: one that may answer early, and one at the end.

Both learn together, so that the front serves both (Teerapittayanon et al. 2016, BranchyNet).
"""

from __future__ import annotations

from tinyrt.errors import ShapeError
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.losses import cross_entropy


class EarlyExit(Module):
    """A front, and behind it two heads for the same classes.

    Called, it gives the final scores, ``rest(front(x))``; ``both`` gives the exit's, too.

    Args:
        front: what both heads go on from.
        leave: the exit's head, much cheaper than the rest.
        rest: the other layers and the final head.
        weight: how much the exit's loss counts, 0 to 1; the final one counts for the remainder.

    Raises:
        ShapeError: the weight is not between 0 and 1.

    """

    def __init__(self, front: Module, leave: Module, rest: Module, *, weight: float = 0.3) -> None:
        if not 0 <= weight <= 1:
            raise ShapeError(f"the exit's loss counts {weight}", expected="a weight from 0 to 1")
        self.front, self.leave, self.rest = front, leave, rest
        self.weight = weight

    def forward(self, x: Tensor) -> Tensor:
        """The final scores of any shape that the front takes."""
        return self.rest(self.front(x))

    def both(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The exit's scores, and the final ones; for ``trace``'s argument ``outputs``."""
        features = self.front(x)
        return self.leave(features), self.rest(features)

    def losses(self, x: Array, labels: Array) -> tuple[Tensor, Tensor]:
        """Cross entropy of the exit, and of the final head."""
        leaves, stays = self.both(Tensor(x))
        return cross_entropy(leaves, labels), cross_entropy(stays, labels)


def joint_loss(module: Module, samples: Array, labels: Array) -> Tensor:
    """Both heads' losses by their weights: the ``objective`` of ``fit`` for an ``EarlyExit``.

    Raises:
        ShapeError: the module has no exit.

    """
    if not isinstance(module, EarlyExit):
        raise ShapeError(f"{type(module).__name__} has no exit", expected="an EarlyExit")
    leaves, stays = module.losses(samples, labels)
    return leaves * module.weight + stays * (1 - module.weight)
