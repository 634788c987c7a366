"""Which op made the first number that is none, on the way to a result or of a gradient back."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tinyrt.errors import GradientError
from tinyrt.train.core.function import Array, Function
from tinyrt.train.core.modes import watching
from tinyrt.train.core.module import Module, active_module
from tinyrt.train.core.tape import Step
from tinyrt.train.core.tensor import Tensor, listening

OWN = str(Path(__file__).parent)


@contextmanager
def detect_anomaly(module: Module | None = None) -> Iterator[None]:
    """Look at every result and gradient within a ``with`` block, and end at the first bad one.

    A result must not be NaN where no operand is; a gradient must be finite where what arrived is.
    That takes time, and keeps the steps: it is for the step or epoch where the place is looked for.

    Args:
        module: whose layers are named by their paths; without it by their kinds.

    Raises:
        GradientError: one is not. It names the op, the layer that applied it, the line of code that
            called that, and from where to where the op's operands go.

    """
    watch = _Anomalies(module)
    with np.errstate(all="ignore"), listening(watch.applied), watching(watch.passed_back):
        yield


class _Anomalies:
    """Where each op was applied, and what is wrong with what it gives."""

    def __init__(self, module: Module | None) -> None:
        modules = [] if module is None else list(module.named_modules())
        self._paths = {id(m): path for path, m in modules if path}
        # Steps are kept beside their places: an id is unique only while its step lives.
        self._places: dict[int, tuple[Step, str]] = {}

    def applied(
        self, function: Function, attrs: Any, operands: tuple[Tensor, ...], output: Tensor
    ) -> None:
        """Look at a result."""
        del attrs
        place = self._place()
        if output.step is not None:
            self._places[id(output.step)] = output.step, place
        if _has_nan(output.data) and not any(_has_nan(t.data) for t in operands):
            raise GradientError(
                f"{_bad(output.data)} of the result are no numbers, and those of operands are",
                op=f"{function.name} {place}",
                tensor=_ranges({f"operand {i}": t.data for i, t in enumerate(operands)}),
                hint="keep operands where the function is defined, as with clip; lower the rate",
            )

    def passed_back(
        self, step: Step, output: Tensor, arrived: Any, operand: Tensor, part: Any
    ) -> None:
        """Look at a gradient."""
        gradient, before = (a.data if isinstance(a, Tensor) else a for a in (part, arrived))
        if np.isfinite(gradient).all() or not np.isfinite(before).all():
            return
        _, place = self._places.get(id(step), (step, "from before the block"))
        number = next(i for i, t in enumerate(step.inputs) if t is operand)
        operands = {f"operand {i}": t.data for i, t in enumerate(step.inputs)}
        raise GradientError(
            f"{_bad(gradient)} of the gradient of operand {number} are not finite, and what "
            "arrived was",
            op=f"{step.function.name} {place}",
            tensor=_ranges({**operands, "result": output.data, "arrived": before}),
            hint="keep operands away from where the function is steep, as with clip or an epsilon",
        )

    def _place(self) -> str:
        """Of what applies an op right now: the layer, and the line outside of this package."""
        frames = traceback.extract_stack()
        frame = next(f for f in reversed(frames) if not f.filename.startswith(OWN))
        layer, by = active_module(), ""
        if layer is not None:
            by = f"of '{self._paths.get(id(layer), type(layer).__name__)}' "
        return f"{by}({Path(frame.filename).name}, line {frame.lineno}: {frame.line})"


def _has_nan(array: Array) -> bool:
    return bool(np.isnan(array).any())


def _bad(array: Array) -> str:
    return f"{int((~np.isfinite(array)).sum())} of {array.size} elements"


def _ranges(arrays: dict[str, Array]) -> str:
    """Least and greatest element of each."""
    return "; ".join(
        f"{name} {a.shape} from {a.min():.4g} to {a.max():.4g}" for name, a in arrays.items()
    )
