"""A folder of C that stands alone: what is in front of a network, behind it, or learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinyrt import __version__
from tinyrt.export.identity import IDENTITY, sealed
from tinyrt.export.layouts import Contents, arranged, find_layout
from tinyrt.export.layouts.arrange import FUNCTIONS
from tinyrt.export.licence import licensed
from tinyrt.export.model import library_files
from tinyrt.export.rendering import TEMPLATES, Source, render_c
from tinyrt.export.target import Core, find_core, find_optimize
from tinyrt.folders import write_folder, written_files


@dataclass(frozen=True, slots=True)
class ExportedAlone:
    """An exported project that stands alone.

    Attributes:
        name: its name as a C identifier: the prefix of all its public names.
        directory: the folder.
        core: the target core.
        identity: eight hexadecimal digits that all its symbols hold, and no other export's.
        files: the names of all files in the folder that tinyrt wrote, sorted.

    """

    name: str
    directory: Path
    core: Core
    identity: str
    files: tuple[str, ...]


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
) -> tuple[str, Path, Core, str, tuple[str, ...]]:
    """Write files with the kernels that they call, licence and build files.

    Args:
        name: of the library in C.
        texts: file name -> its own code.
        kernels: functions that this calls.
        out_dir: the folder to write; as for ``export_c``.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``.
        layout: as for ``export_c``.
        kind: what it is: a key of ``FUNCTIONS``.

    Returns:
        What ``ExportedAlone`` says of it, in that order.

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
    return name, Path(out_dir), target, identity, written_files(sealed_texts)


def rendered(name: str, kind: str, context: Mapping[str, object]) -> dict[str, str]:
    """The source and the header of a kind's templates, filled in with what all of them have.

    Args:
        name: of the library in C.
        kind: a key of ``FUNCTIONS``.
        context: what this kind has besides.

    """
    common: dict[str, object] = {
        "name": name,
        "NAME": name.upper(),
        "identity": IDENTITY,
        "version": Source(f'"{__version__}"'),
        "functions": FUNCTIONS[kind],
    }
    return {
        f"{name}{end}": render_c(TEMPLATES, f"{kind}{end}.j2", {**common, **context}).text
        for end in (".c", ".h")
    }
