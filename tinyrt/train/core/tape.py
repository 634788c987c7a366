"""The tape, and how it is played in reverse.

Every result links to the ``Step`` that computed it, and the step to its operands: together the
steps are the tape. ``reverse`` starts from the gradient of one tensor and asks each step's
vector-Jacobian product for those of its operands, adding up what reaches a tensor over several
paths.

The pass itself comes in two kinds. Ordinarily it runs on arrays and leaves no trace. With
``create_graph`` the same products are given tensors instead: they record what they compute, so
the gradient has a tape of its own and can be differentiated again, to any order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyrt.errors import GradientError, ShapeError
from tinyrt.floatmath import buffers
from tinyrt.train.core.function import Function
from tinyrt.train.core.modes import WATCH

if TYPE_CHECKING:
    from tinyrt.train.core.tensor import Tensor


@dataclass(slots=True, eq=False)
class Step:
    """One entry of the tape: how a tensor was computed.

    Attributes:
        function: what was applied.
        attrs: its attributes.
        inputs: its operands; emptied when the tape is freed.
        edits: how often each operand, and the result, had been edited in place by then.
        freed: whether a backward pass has used the step up.

    """

    function: Function
    attrs: Any
    inputs: tuple[Tensor, ...]
    edits: tuple[int, ...]
    freed: bool = False

    def free(self) -> None:
        """Drop the saved tensors, so that their memory is returned."""
        self.inputs, self.attrs, self.freed = (), None, True

    def check_unedited(self, output: Tensor) -> None:
        """Raise ``GradientError`` where a value that the gradient needs has been overwritten."""
        if (*[t._edits[0] for t in self.inputs], output._edits[0]) == self.edits:
            return
        for tensor, edits in zip((*self.inputs, output), self.edits, strict=True):
            if tensor.edits != edits:
                which = "result" if tensor is output else "operand"
                raise GradientError(
                    f"the {which} of {self.function.name} was edited in place afterwards, "
                    "so its gradient can no longer be computed",
                    op=self.function.name,
                    tensor=f"shape {tensor.shape}",
                    hint="go backward before the edit, or edit a copy",
                )


def reverse(
    root: Tensor,
    seed: Any,
    targets: Collection[Tensor] | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool = False,
) -> Iterator[tuple[Tensor, Any]]:
    """Every tensor that a gradient reaches, results before operands, with its whole gradient.

    Args:
        root: where to start.
        seed: its gradient; a tensor if ``create_graph``, else an array.
        targets: only gradients on the way to these are computed; None for all.
        create_graph: give tensors with a tape instead of arrays.
        retain_graph: keep the tape for another pass.

    Raises:
        GradientError: the tape was freed, or a saved tensor was edited in place.
        ShapeError: a product or a hook gives a gradient of the wrong shape.

    """
    order = _operands_first(root, targets)
    on_path = _leading_to(order, targets)
    pending = {id(root): seed}
    while order:
        tensor = order.pop()  # so that its memory is returned as soon as it is used up
        gradient, step = pending.pop(id(tensor), None), tensor.step
        if gradient is None:
            continue
        gradient = _after_hooks(tensor, gradient)
        yield tensor, gradient
        if step is None or step.freed:
            continue
        for operand, part in _operand_grads(step, tensor, gradient, on_path, create_graph):
            earlier = pending.get(id(operand))
            pending[id(operand)] = part if earlier is None else _sum(earlier, part)
        if not retain_graph:
            step.free()


def _sum(a: Any, b: Any) -> Any:
    return buffers.add(a, b) if isinstance(a, np.ndarray) else a + b


def _operands_first(root: Tensor, targets: Collection[Tensor] | None) -> list[Tensor]:
    """Tensors between ``root`` and its leaves, each after the operands it was computed from."""
    ends = {id(t) for t in targets or ()}
    finished: list[Tensor] = []
    visited = {id(root)}
    stack: list[tuple[Tensor, Iterator[Tensor]]] = [(root, _operands(root, ends))]
    while stack:
        tensor, operands = stack[-1]
        for operand in operands:
            if operand.requires_grad and id(operand) not in visited:
                visited.add(id(operand))
                stack.append((operand, _operands(operand, ends)))
                break
        else:
            finished.append(tensor)
            stack.pop()
    return finished


def _operands(tensor: Tensor, ends: Collection[int]) -> Iterator[Tensor]:
    step = tensor.step
    # The tape behind a target may be freed: the target's own gradient does not need it.
    if step is not None and step.freed and id(tensor) not in ends:
        raise GradientError(
            "a second backward pass over a tape that the first one has freed",
            op=step.function.name,
            tensor=f"shape {tensor.shape}",
            hint="compute the result again, or pass retain_graph=True to the first pass",
        )
    return iter(step.inputs if step else ())


def _leading_to(order: list[Tensor], targets: Collection[Tensor] | None) -> set[int]:
    """Identities of the tensors whose gradient is needed for the targets'."""
    if targets is None:
        return {id(t) for t in order}
    on_path = {id(t) for t in targets}
    for tensor in order:
        if tensor.step is not None and any(id(t) in on_path for t in tensor.step.inputs):
            on_path.add(id(tensor))
    return on_path


def _after_hooks(tensor: Tensor, grad: Any) -> Any:
    for hook in tensor.hooks:
        replacement = hook(grad)
        if replacement is not None:
            _check_shape(replacement, tensor, "a hook")
            grad = replacement
    return grad


def _operand_grads(
    step: Step, output: Tensor, grad: Any, on_path: set[int], create_graph: bool
) -> Iterator[tuple[Tensor, Any]]:
    """The step's operands that need a gradient, each with this step's part of it."""
    if not any(id(t) in on_path for t in step.inputs):
        return
    step.check_unedited(output)
    watch = WATCH.get()
    if create_graph:
        parts = step.function.vjp(step.attrs, step.inputs, output, grad)  # type: ignore[arg-type]
    else:
        parts = step.function.vjp(step.attrs, [t.data for t in step.inputs], output.data, grad)
    for operand, part in zip(step.inputs, parts, strict=True):
        if part is None or id(operand) not in on_path:
            continue
        value: Any = part() if callable(part) else part
        _check_shape(value, operand, step.function.name)
        if watch is not None:
            watch(step, output, grad, operand, value)
        yield operand, value


def _check_shape(grad: Any, tensor: Tensor, source: str) -> None:
    if grad.shape != tensor.shape:
        raise ShapeError(
            f"the gradient has shape {grad.shape}",
            op=source,
            expected=f"the operand's: {tensor.shape}",
        )
