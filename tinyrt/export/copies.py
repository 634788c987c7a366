"""Copies of parameter structs whose fields depend on what is known only while the code runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tinyrt.backends.c.kernel import Data, Field, Params
from tinyrt.export.code import CallLine, Int, Statement, Struct, Tokens, line

MAX_FIELDS = 16
"""Fields of a parameter struct that is copied by an assignment."""


def leaves(fields: Mapping[str, Field], path: str = "") -> Iterator[tuple[str, object]]:
    """Numbers and data of a struct, each with its path; numbers of an array one by one."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}{name}.")
        elif isinstance(value, list | tuple | np.ndarray):
            yield from ((f"{path}{name}[{i}]", one) for i, one in enumerate(value))
        elif isinstance(value, Data):
            yield path + name, value.role
        else:
            yield path + name, value


def data_of(fields: Mapping[str, Field], path: str = "") -> Iterator[tuple[str, Data]]:
    """The data of a struct, each with its path."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from data_of(value, f"{path}{name}.")
        elif isinstance(value, Data):
            yield path + name, value


def field_path(path: str) -> Tokens:
    """The tokens of a field's path, after the struct's name."""
    name, *indices = path.replace("]", "").split("[")
    return f".{name}", *(t for i in indices for t in ("[", Int(int(i)), "]"))


def copied(struct: Struct, params: Params) -> list[Statement]:
    """A copy of parameters: by assignment if small, else by a call.

    For a large struct or for arrays, compilers would turn an assignment into memcpy or memset.
    """
    paths = [path for path, _ in leaves(params.fields)]
    own, target = replace(struct, copied=True), replace(struct, pointer=True, copied=True)
    if len(paths) <= MAX_FIELDS and not any(path.endswith("]") for path in paths):
        return [line(f"{struct.ctype} ", own, " = ", struct, ";")]
    source = "(const int8_t *)", replace(struct, pointer=True)
    end = "(int8_t *)(", target, " + ", Int(1), ")"
    return [
        line(f"{struct.ctype} ", own, ";"),
        CallLine("tinyrt_copy_words", (source, end, ("(int8_t *)", target))),
    ]
