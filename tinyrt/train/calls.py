"""Calls of modules with other tensors than their own, and of functions sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from operator import setitem
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.errors import DataError, GradientError, ShapeError, UnsupportedError
from tinyrt.train.core.module import Buffer, Module
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.functional import stack

Undo = list[Callable[[], None]]


def functional_call(
    module: Module, parameters: Mapping[str, Tensor], inputs: Tensor | tuple[Tensor, ...]
) -> Any:
    """What the module gives for these inputs with these tensors in place of its parameters.

    Gradients go to the tensors that were given, and to what these were computed from. The module
    has its own tensors back afterwards, after an error as well; running statistics that it follows
    are followed in what was given, or in copies that are let go of. Draws, as of ``Dropout``, go
    on.

    Args:
        module: in the mode, training or not, that it is to be called in.
        parameters: a tensor of the same shape for names of ``module.named_parameters()``, and of
            ``module.named_buffers()`` if wanted; what is not named stays the module's own.
        inputs: one, or a tuple of several.

    Raises:
        DataError: a name is unknown, or what is given is no tensor.
        ShapeError: a tensor has not the shape of what it stands for.
        GradientError: the module checkpoints parts, which it would compute again with its own.

    """
    own = dict(module.named_tensors())
    _require_fitting(own, parameters)
    buffers = {k: Buffer(b.data.copy(), dtype=b.dtype) for k, b in module.named_buffers()}
    twins = {k: _in_place_of(own[k], t) for k, t in (buffers | dict(parameters)).items()}
    before = {k: twin.data for k, twin in twins.items()}
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    with _lending(module, {id(own[k]): twin for k, twin in twins.items()}):
        output = module(*given)
    _require_whole(output, (*given, *parameters.values()))
    for name, tensor in parameters.items():
        if twins[name].data is not before[name]:
            tensor.data = twins[name].data
    return output


def vmap(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that does for each of several samples what this one does for one.

    It takes them one after the other: this saves writing the loop, not the time. Samples lie along
    the first dimension of every argument, which ``function`` does not see; results are stacked
    along a new first dimension. Gradients go through both.

    Args:
        function: of one sample's tensors (arrays for arguments that are arrays, as labels are);
            gives a tensor, or tuples, lists and dicts of tensors.

    Raises:
        ShapeError: (when it is called) arguments have no first dimension, or unequal ones, there
            is no sample, or results of unequal shapes.
        UnsupportedError: (likewise) results that are no tensors, or not of one structure.

    """

    def of_samples(*arguments: Tensor | ArrayLike) -> Any:
        batches = [x if isinstance(x, Tensor) else np.asarray(x) for x in arguments]
        shapes = [tuple(x.shape) for x in batches]
        if len({shape[:1] for shape in shapes}) != 1 or shapes[0][:1] in ((), (0,)):
            raise ShapeError(
                f"samples along the first dimension of {', '.join(map(str, shapes)) or 'nothing'}",
                expected="the same number in every argument, at least one",
                hint="what is the same for every sample the function takes from around it, not as "
                "an argument",
            )
        count = shapes[0][0]
        return _stacked([function(*(x[i] for x in batches)) for i in range(count)])

    return of_samples


def _require_fitting(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    """Refuse names and shapes that are not the module's."""
    unknown = sorted(given.keys() - own.keys())
    if unknown:
        raise DataError(
            f"the module has no {', '.join(map(repr, unknown))}", expected=f"of {', '.join(own)}"
        )
    for name, tensor in given.items():
        if not isinstance(tensor, Tensor):
            raise DataError(
                f"'{name}' is to be a {type(tensor).__name__}",
                expected="a Tensor",
                hint="Tensor(array), with requires_grad=True if its gradient is wanted",
            )
        if tensor.shape != own[name].shape:
            raise ShapeError(
                f"'{name}' is to have shape {tensor.shape}", expected=f"{own[name].shape}"
            )


def _in_place_of(own: Tensor, given: Tensor) -> Tensor:
    """The given tensor under another name that is a parameter or buffer, as ``own`` is."""
    view = given.reshape(given.shape)
    twin = type(own).__new__(type(own))
    for slot in Tensor.__slots__:
        setattr(twin, slot, getattr(view, slot))
    return twin


@contextmanager
def _lending(module: Module, lent: Mapping[int, Tensor]) -> Iterator[None]:
    """Within a ``with`` block, other tensors (by the ids of the module's own) in all places."""
    undo: Undo = []
    try:
        for _, part in list(module.named_modules()):
            _exchange(vars(part), vars(part).items(), lent, undo)
        yield
    finally:
        for put_back in reversed(undo):
            put_back()


def _exchange(held: Any, items: Any, lent: Mapping[int, Tensor], undo: Undo) -> None:
    """Put others into a dict or list, and what undoes that into ``undo``."""
    for key, value in list(items):
        other = _other(value, lent, undo)
        if other is not value:
            undo.append(partial(setitem, held, key, value))
            held[key] = other


def _other(value: Any, lent: Mapping[int, Tensor], undo: Undo) -> Any:
    """What stands in a value's place; containers that can be changed are changed."""
    if isinstance(value, Tensor):
        return lent.get(id(value), value)
    if isinstance(value, dict | list):
        _exchange(value, value.items() if isinstance(value, dict) else enumerate(value), lent, undo)
    if not isinstance(value, tuple):
        return value
    others = [_other(part, lent, undo) for part in value]
    if all(other is part for other, part in zip(others, value, strict=True)):
        return value
    return type(value)(*others) if hasattr(value, "_fields") else tuple(others)


def _require_whole(output: Any, ends: Sequence[Tensor]) -> None:
    """Refuse a checkpoint between these tensors and the output."""
    visited = {id(end) for end in ends}
    pending = list(_tensors(output))
    while pending:
        tensor = pending.pop()
        if id(tensor) in visited or tensor.step is None:
            continue
        visited.add(id(tensor))
        if tensor.step.function.name == "checkpoint":
            raise GradientError(
                "a checkpoint in a module that is called with other tensors",
                tensor=f"shape {tensor.shape}",
                expected="parts that keep what they compute",
                hint="the way back would compute the part with the module's own parameters: call "
                "it without checkpoint, or within no_grad() if no gradient is wanted",
            )
        pending += tensor.step.inputs


def _tensors(value: Any) -> Iterator[Tensor]:
    """Those in tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)


def _stacked(results: Sequence[Any]) -> Any:
    """Results of one structure, their tensors along a new first dimension."""
    first = results[0]
    if all(isinstance(r, Tensor) for r in results):
        return stack(results)
    if isinstance(first, dict) and all(
        isinstance(r, dict) and r.keys() == first.keys() for r in results
    ):
        return {key: _stacked([r[key] for r in results]) for key in first}
    if isinstance(first, tuple | list) and all(
        isinstance(r, tuple | list) and len(r) == len(first) for r in results
    ):
        return type(first)(_stacked(parts) for parts in zip(*results, strict=True))
    kinds = sorted({type(r).__name__ for r in results})
    raise UnsupportedError(
        f"results of samples are of kind {', '.join(kinds)}",
        expected="tensors, or tuples, lists and dicts of them, alike for every sample",
        hint="give arrays as Tensor(array)",
    )
