"""Custom ops: those that the schema has no number for, only a name.

Their options are a map of FlexBuffers. Of the audio front end's ops, TFLM reads an option by its
place among the names, which are in order: from a map that lacks one or has one more, it would read
another one's value. Of other ops it reads them by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flatbuffers import flexbuffers

from tinyrt.errors import ModelFormatError


def read_options(operator: Any, names: Sequence[str]) -> dict[str, int]:
    """Numbers and truth values by name; none where the op takes none, whatever the file has.

    Raises:
        ModelFormatError: the options are damaged, have other names, or are no whole numbers.

    """
    if not names:
        return {}
    if not operator.CustomOptionsLength():
        raise ModelFormatError("the op has no options", expected=", ".join(names))
    with _whole():
        return _numbers(options_of(operator), names)


def options_of(operator: Any) -> bytes:
    """The bytes of the op's options; none where it has none."""
    has_any = operator.CustomOptionsLength()
    return operator.CustomOptionsAsNumpy().tobytes() if has_any else b""


def named_options(data: bytes, names: Sequence[str]) -> dict[str, int | float]:
    """Those numbers and truth values of these names that there are; others do not count.

    Raises:
        ModelFormatError: the options are damaged, or one of them is no number.

    """
    if not data:
        raise ModelFormatError("the op has no options", expected=", ".join(names))
    with _whole():
        options = _map(data, names)
        return {name: value for name in names if (value := _number(options, name)) is not None}


def _number(options: Any, name: str) -> int | float | None:
    try:
        value = options[name]
    except KeyError:
        return None
    if value.IsFloat:
        return float(value.AsFloat)
    if not (value.IsInt or value.IsBool):
        raise ModelFormatError(f"option {name} is no number", expected="int, float or bool")
    return int(value.AsInt)


@contextmanager
def _whole() -> Iterator[None]:
    try:
        yield
    except ValueError as error:  # what the bindings' enumeration says of a type that there is not
        raise ModelFormatError(
            f"the op's options are damaged: {error}", expected="a map of FlexBuffers"
        ) from error


def _map(data: bytes, names: Sequence[str]) -> Any:
    root = flexbuffers.GetRoot(data)
    if not root.IsMap:
        raise ModelFormatError("the op's options are no map", expected=", ".join(names))
    return root.AsMap


def _numbers(data: bytes, names: Sequence[str]) -> dict[str, int]:
    options = _map(data, names)
    found = [key.AsKey for key in options.Keys] if len(options) == len(names) else []
    if found != list(names):
        raise ModelFormatError(
            f"the op has {len(options)} options: {', '.join(found) or 'not looked at'}",
            expected=", ".join(names),
        )
    values = {name: options[i] for i, name in enumerate(names)}
    for name, value in values.items():
        if not (value.IsInt or value.IsBool):
            raise ModelFormatError(f"option {name} is no whole number", expected="int or bool")
    return {name: value.AsInt for name, value in values.items()}


def written_options(options: Mapping[str, Any]) -> bytes:
    """The bytes of a map of options."""
    return bytes(flexbuffers.Dumps(dict(options)))
