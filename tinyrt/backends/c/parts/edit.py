"""Calls with other parameters and pointers: new records, made from those of a whole call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tinyrt.backends.c.kernel import Arg, Call, Data, Field, Params, Place


@dataclass(frozen=True, slots=True)
class Cut:
    """A call that can be made in parts.

    Attributes:
        units: number of units, of which a part has one or more.
        part: the call for the units [start, stop), of which there are two at least in all.
        fixed: instructions of a part besides those of its units.
        most: most units of a part; None for any number.
        last: what share of a unit the last one is.
        first: share of all instructions that the first part takes besides those of its units.
        after: as ``part``, behind a part that does what the first one does besides, which is that
            of the units [0, 0); None where that is no part of its own.

    """

    units: int
    part: Callable[[int, int], Call]
    fixed: float = 100
    most: int | None = None
    last: float = 1
    first: float = 0
    after: Callable[[int, int], Call] | None = None


def params_of(call: Call) -> Mapping[str, Any]:
    """The fields of a call's first parameter struct; none where it has no struct."""
    structs = (arg.fields for arg in call.args if isinstance(arg, Params))
    return next(structs, {})


def ends_of(call: Call) -> tuple[int, int]:
    """Places of the input and of the output among the arguments."""
    places = [i for i, arg in enumerate(call.args) if isinstance(arg, Place)]
    return places[0], places[-1]


def edited(call: Call, fields: Mapping[str, Field], args: Mapping[int, Arg]) -> Call:
    """The call with other fields and arguments; fields of a nested struct by ``outer.inner``."""
    new = [args.get(i, arg) for i, arg in enumerate(call.args)]
    for i, arg in enumerate(new):
        if isinstance(arg, Params) and fields:
            new[i] = replace(arg, fields=_with(arg.fields, fields))
            break
    return replace(call, args=tuple(new))


def _with(fields: Mapping[str, Any], changes: Mapping[str, Field]) -> dict[str, Field]:
    result = dict(fields)
    for path, value in changes.items():
        name, _, inner = path.partition(".")
        result[name] = _with(result[name], {inner: value}) if inner else value
    return result


def moved(arg: Arg, elements: int) -> Arg:
    """A pointer that many elements further on; no pointer stays none."""
    if isinstance(arg, Place | Data):
        return replace(arg, skip=arg.skip + elements)
    return arg


def moved_data(data: Data, elements: int) -> Data:
    """A pointer into an array, that many elements further on."""
    return replace(data, skip=data.skip + elements)
