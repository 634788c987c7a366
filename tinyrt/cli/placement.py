"""Which ops of a model run on a GPU, and which the user leaves to the CPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tinyrt.errors import DataError
from tinyrt.interpreter import CUDA, FALLBACK


@dataclass(frozen=True, slots=True)
class Segments:
    """The part of a report that says where ops run.

    Attributes:
        data: for ``--json``.
        facts: name -> value, for people.

    """

    data: dict[str, object] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)


def placement(model: str | Path, backend: str, allow_fallback: bool) -> tuple[str, Segments]:
    """The backend with or without fallback, and with it the segments that it makes.

    Raises:
        DataError: fallback is allowed to a backend that does not run on a GPU.

    """
    if not allow_fallback:
        return backend, Segments()
    if backend not in (CUDA, FALLBACK):
        raise DataError(
            f"--allow-fallback with backend {backend}",
            expected=f"--backend {CUDA}",
            hint="leave --allow-fallback out",
        )
    from tinyrt import api
    from tinyrt.api.inspection import placement_of

    segments = placement_of(api.open_model(model), FALLBACK)
    described = "; ".join(segment.describe() for segment in segments)
    return FALLBACK, Segments(
        {"segments": [segment.as_dict() for segment in segments]}, {"segments": described}
    )
