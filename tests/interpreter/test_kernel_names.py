"""Compiled functions have names of their own: kernels from the disk cache bring theirs along."""

from collections import Counter
from importlib import import_module
from pkgutil import iter_modules

import pytest

import tinyrt.backends.numba as kernels

pytest.importorskip("numba")


def test_no_two_subroutines_share_a_name():
    from numba.core.registry import CPUDispatcher

    found = set()
    for module in iter_modules(kernels.__path__, f"{kernels.__name__}."):
        values = vars(import_module(module.name)).values()
        found |= {v.py_func for v in values if isinstance(v, CPUDispatcher)}
    names = Counter(f"{function.__module__}.{function.__qualname__}" for function in found)
    assert len(names) > 30
    assert [name for name, count in names.items() if count > 1] == []


def test_an_inner_function_without_a_name_of_its_own_is_refused():
    from tinyrt.backends.numba.abi import subroutine

    with pytest.raises(ValueError, match="shares its name"):
        subroutine(lambda x: x)
