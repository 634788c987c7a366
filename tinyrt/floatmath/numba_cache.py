"""Functions compiled by Numba, kept in tinyrt's own cache.

Numba's own cache unpickles any file in its folder and so may run foreign code. This cache first
checks an entry's digest, owner and permissions, and unpickles it only if they are right. Otherwise
the function is compiled anew. The key holds everything that the machine code depends on. It has a
digest of the source files (``sources``), because Numba does not track all of them.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys

from tinyrt.cache import cache_folder, keep, key_of, read_entry
from tinyrt.errors import OutputError
from tinyrt.floatmath.numba_streams import leave_streams

KIND = "numba"

leave_streams()  # all modules that compile import this one


class KernelCache(NullCache):  # type: ignore[misc]
    """The cache of one function, in place of Numba's."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @property
    def cache_path(self) -> str:
        """The cache's folder."""
        return str(cache_folder(KIND))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function of that signature, or None."""
        content = read_entry(KIND, self._name(sig, target_context.codegen()))
        if content is None:
            target_context.refresh()  # only a compilation needs Numba's full registry
            return None
        rtsys.initialize(target_context)
        return CompileResult._rebuild(target_context, *pickle.loads(content))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the function compiled for a signature, if another process can use it."""
        if data.library.has_dynamic_globals:
            return
        # If the entry cannot be written, the next start compiles again: that costs time only.
        with suppress(OutputError):
            keep(KIND, self._name(sig, data.codegen), serialize.dumps(data._reduce()))

    def _name(self, sig: Any, codegen: Any) -> str:
        function = self._function
        closure = [_named(cell.cell_contents) for cell in function.__closure__ or ()]
        key = key_of(
            *(numba.__version__, llvmlite.__version__, sys.version, sources()),
            *(function.__module__, function.__qualname__, str(sig), str(codegen.magic_tuple())),
            *(function.__code__.co_code, serialize.dumps(closure)),
        )
        return f"{function.__name__[:60]}-{key}.bin"


def _named(content: Any) -> Any:
    """Another compiled function by its name: pickled, it has a number drawn in each process."""
    inner = getattr(content, "py_func", None)
    return content if inner is None else (inner.__module__, inner.__qualname__)


@cache
def sources() -> str:
    """A digest of all source files that define compiled functions and their constants."""
    package = Path(__file__).parents[1]
    files = [package / "fixedpoint.py", package / "backends" / "lanes.py"]
    for folder in ("floatmath", "ops", "backends/numba"):
        files += sorted((package / folder).rglob("*.py"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
