"""A folder of C that stands alone: a front end, a detector or a layer that learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tinyrt.export.identity import sealed
from tinyrt.export.layouts import Contents, arranged, find_layout
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
    layout: str,
    kind: str,
) -> tuple[str, tuple[str, ...]]:
    """Write files with the kernels that they call, licence and build files.

    Args:
        name: of the library in C.
        texts: file name -> its own code.
        kernels: functions that this calls.
        out_dir: the folder to write; as for ``export_c``.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``.
        layout: as for ``export_c``.
        kind: what it is, ``front_end``, ``detector`` or ``learner``.

    Returns:
        The identity of what was written, and the names of all files.

    Raises:
        UnsupportedError: there is no such core, optimisation or layout, or the layout is not for
            the core.
        OutputError: the folder cannot be written.

    """
    target, aim = find_core(core), find_optimize(optimize)
    shape = find_layout(layout, target)
    library = library_files(name, [name], kernels, target, aim, parts=("",), layout=shape)
    contents = Contents(name, target, aim, f"{name}, a {kind.replace('_', ' ')}", calls=kind)
    whole = arranged({**texts, **library}, shape, contents)
    identity, sealed_texts = sealed(licensed(whole))
    write_folder(Path(out_dir), sealed_texts)
    return identity, written_files(sealed_texts)
