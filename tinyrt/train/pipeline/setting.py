"""The user's choices for training an imported model for int8."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tinyrt.errors import DataError, UnsupportedError
from tinyrt.quantize.config import Scheme
from tinyrt.train.pipeline.lessons import Teaching

TRAINED = (Scheme.INT8, Scheme.INT4, Scheme.INT16X8)
"""Schemes that training knows."""


class Pruned(StrEnum):
    """What pruning takes away."""

    CHANNELS = "channels"
    """Whole channels, with what computes and reads them."""
    WEIGHTS = "weights"
    """Single weights, which become 0."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """How much is pruned.

    Attributes:
        what: channels or weights.
        share: of the multiply-accumulates, or of the weights, that goes; above 0, below 1.

    Raises:
        DataError: the share is out of range.

    """

    what: Pruned
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise DataError(
                f"pruning takes away {self.share:g} of the {self.what.value}",
                expected="a share above 0 and below 1",
            )


@dataclass(frozen=True, slots=True)
class QatSetting:
    """The user's choices.

    Attributes:
        epochs: passes over the data in training for int8, at most.
        finetune: passes in float before; as many as ``epochs`` where something is pruned, else
            none.
        pruning: what is pruned before that, if anything.
        patience: epochs without a better score before training ends with the best; None for all
            epochs, the last of which is kept.
        validation: share of the samples that are held out, to choose the best epoch by and to
            measure with.
        batch: samples per step.
        learning_rate: greatest learning rate; from there half a cosine leads down to 0.
        seed: of the samples held out, and of the order of the others.
        teaching: how much a teacher counts.
        scheme: int8; int4: int8 activations, int4 weights but for depthwise layers; or int16x8:
            int16 activations, int8 weights.
        max_bytes: size of the file at most; as many layers as that takes get int4 weights.
        width_epochs: passes before training in which is learned which layers these are; 0 to choose
            them by the noise that they add; None for 0 without ``max_bytes``, else for a third of
            ``epochs``.
        state_file: where training stands, written after each epoch, and gone on from if there is
            one; the float part has a file beside it, ``NAME.float.npz``, the search for widths
            ``NAME.widths.npz``.
        progress: show bars on stderr; None to show them where that is a terminal.

    Raises:
        DataError: a number is out of range, or two choices exclude each other.
        UnsupportedError: there is no training for the scheme.

    """

    epochs: int = 20
    finetune: int | None = None
    pruning: Pruning | None = None
    patience: int | None = 5
    validation: float = 0.1
    batch: int = 32
    learning_rate: float = 3e-4
    seed: int = 0
    teaching: Teaching = field(default_factory=Teaching)
    scheme: Scheme = Scheme.INT8
    max_bytes: int | None = None
    width_epochs: int | None = None
    state_file: Path | None = None
    progress: bool | None = False

    def __post_init__(self) -> None:
        least = {
            "epochs": 1,
            "patience": 1,
            "batch": 1,
            "finetune": 0,
            "seed": 0,
            "width_epochs": 0,
        }
        for name, lowest in least.items():
            given = getattr(self, name)
            if given is not None and given < lowest:
                raise DataError(f"{name} is {given}", expected=f"{lowest} or more")
        if not 0 < self.validation < 1:
            raise DataError(
                f"{self.validation:g} of the samples are to be held out",
                expected="a share above 0 and below 1",
                hint="0.1 holds out a tenth",
            )
        if not 0 < self.learning_rate < float("inf"):
            raise DataError(f"a learning rate of {self.learning_rate:g}", expected="above 0")
        if self.scheme not in TRAINED:
            raise UnsupportedError(
                f"there is no training for scheme {self.scheme.value}",
                expected=" or ".join(scheme.value for scheme in TRAINED),
                hint=f"tinyrt quantize --scheme {self.scheme.value} loses little after training",
            )
        if self.max_bytes is not None and self.scheme is not Scheme.INT8:
            raise DataError(
                f"a number of bytes says nothing beside scheme {self.scheme.value}",
                expected="scheme int8, from which layers become int4 as the bytes ask for it",
            )
        if self.width_epochs and self.max_bytes is None:
            raise DataError(
                f"{self.width_epochs} epochs are to learn widths, but nothing asks for int4",
                expected="a number of bytes that the file may have",
                hint="--max-bytes 40k",
            )

    @property
    def float_epochs(self) -> int:
        """Passes over the data in float."""
        if self.finetune is not None:
            return self.finetune
        return 0 if self.pruning is None else self.epochs

    @property
    def searched_epochs(self) -> int:
        """Passes in which widths are learned."""
        if self.width_epochs is not None:
            return self.width_epochs
        return 0 if self.max_bytes is None else -(-self.epochs // 3)

    @property
    def float_state(self) -> Path | None:
        """The state file of the float part."""
        return self._state_of("float")

    @property
    def width_state(self) -> Path | None:
        """The state file of the search for widths."""
        return self._state_of("widths")

    def _state_of(self, part: str) -> Path | None:
        path = self.state_file
        return None if path is None else path.with_name(f"{path.stem}.{part}{path.suffix}")
