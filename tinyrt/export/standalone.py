"""A folder of C that stands alone: a front end or a detector, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tinyrt.export.identity import sealed
from tinyrt.export.licence import licensed
from tinyrt.export.model import library_files
from tinyrt.export.target import find_core, find_optimize
from tinyrt.folders import write_folder, written_files


def write_standalone(
    name: str,
    texts: Mapping[str, str],
    kernels: Sequence[str],
    out_dir: str | Path,
    *,
    core: str,
    optimize: str,
) -> tuple[str, tuple[str, ...]]:
    """Write files with the kernels that they call, licence and build files.

    Args:
        name: of the library in C.
        texts: file name -> its own code.
        kernels: functions that this calls.
        out_dir: the folder to write; as for ``export_c``.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``.

    Returns:
        The identity of what was written, and the names of all files.

    Raises:
        UnsupportedError: there is no such core or optimisation.
        OutputError: the folder cannot be written.

    """
    target, aim = find_core(core), find_optimize(optimize)
    whole = {**texts, **library_files(name, [name], kernels, target, aim, parts=("",))}
    identity, sealed_texts = sealed(licensed(whole))
    write_folder(Path(out_dir), sealed_texts)
    return identity, written_files(sealed_texts)
