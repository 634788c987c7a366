"""Exported files, moved to where an ecosystem looks for them, and what it has to know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tinyrt import __version__
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.export.identity import IDENTITY
from tinyrt.export.layouts.example import arena_of, run_of
from tinyrt.export.layouts.table import Layout
from tinyrt.export.rendering import Source, render
from tinyrt.export.target import HOST, Core, Optimize

if TYPE_CHECKING:
    from tinyrt.export.project import ExportedProject

TEMPLATES = Path(__file__).parent / "templates"

PRIVATE = "_weights.h"
"""Ending of the header that is for a model's own sources alone."""

FUNCTIONS = {
    "front_end": ("reset", "push_audio"),
    "detector": ("reset", "push"),
    "anomaly": ("reset", "push"),
    "boxes": ("find",),
    "top_k": ("find",),
    "learner": ("reset", "scores", "learn", "save", "load"),
}
"""What the functions of a project without models are called behind its name, by its kind."""

DSP_CORES = ("Cortex-M4", "Cortex-M7", "Cortex-M33", "Cortex-M35P", "Cortex-M55", "Cortex-M85")
MVE_CORES = ("Cortex-M55", "Cortex-M85")


@dataclass(frozen=True, slots=True)
class Contents:
    """What an export holds, as far as an ecosystem has to know.

    Attributes:
        name: of the library in C.
        core: the target core.
        optimize: the goal of the code.
        what: in a few words, what this is.
        models: the models that the example runs; none in a folder without models.
        calls: what it is where it is no model: a kind in ``FUNCTIONS``.

    """

    name: str
    core: Core
    optimize: Optimize
    what: str
    models: Sequence[ExportedProject] = ()
    calls: str | None = None


def arranged(texts: Mapping[str, str], layout: Layout, contents: Contents) -> dict[str, str]:
    """The files in the layout's places, with those that it needs beside them.

    Args:
        texts: name -> text of all files, those of a library that CMake and make build left out.
        layout: the shape of the folder.
        contents: what the files are.

    Raises:
        UnsupportedError: the ecosystem does not take the library's name.

    """
    if not layout.files:
        return dict(texts)
    layout.check_name(contents.name)
    moved = {f"{layout.folder}/{name}": text for name, text in texts.items()}
    context = _context(texts, layout, contents)
    written = {
        path.format(name=contents.name): render(TEMPLATES, template, context)
        for path, template in layout.files.items()
    }
    return moved | written


def semantic(version: str) -> str:
    """A version of Python's kind in the form of semver.org: ``1.2rc1`` is ``1.2.0-rc1``."""
    release: list[str] = []
    parts = version.partition("+")[0].split(".")
    extra = ""
    for i, part in enumerate(parts):
        digits = "".join(takewhile(str.isdigit, part))
        release += [str(int(digits))] if digits else []
        if digits != part:
            extra = ".".join([part[len(digits) :], *parts[i + 1 :]])
            break
    numbers = ".".join([*release, "0", "0"][:3])
    return f"{numbers}-{extra}" if extra else numbers


def _context(texts: Mapping[str, str], layout: Layout, contents: Contents) -> dict[str, object]:
    """What the templates are filled in with."""
    name, core, optimize = contents.name, contents.core, contents.optimize
    own = [path for path in sorted(texts) if "/" not in path]
    private = {path.removesuffix(".h") + PRIVATE for path in own}
    shared = name if f"{name}_arena.h" in texts else None
    runs = [run_of(model, shared) for model in contents.models]
    definitions = optimize.definitions if layout.takes_options else ()
    options = _needed_options(core)
    libm = any("#include <math.h>" in text for text in texts.values())
    return {
        "name": name,
        "NAME": name.upper(),
        "what": contents.what,
        "version": Source(f"{semantic(__version__)}+{IDENTITY}"),
        "plain_version": Source(semantic(__version__)),
        "identity": IDENTITY,
        "tinyrt_version": Source(__version__),
        "folder": layout.folder,
        "sources": [n for n in sorted(texts) if PurePosixPath(n).suffix == ".c"],
        "headers": [n for n in own if n.endswith(".h") and n not in private],
        "core": core,
        "is_mve": core.isa is InstructionSet.MVE,
        "pack_cores": _PACK_CORES.get(core.isa, ()),
        "optimize": optimize,
        "definitions": definitions,
        "options": options,
        "libm": libm,
        "flags": [*(f"-D{macro}" for macro in definitions), *options, *["-lm"] * libm],
        "calls": f"{contents.calls or 'model'}_calls.c.j2",
        "runs": runs,
        "names": [run.name for run in runs] or [name],
        "shared_arena": arena_of(name, contents.models[0]) if shared else (),
        "functions": FUNCTIONS.get(contents.calls or "", ()),
    }


_PACK_CORES = {InstructionSet.DSP: DSP_CORES, InstructionSet.MVE: MVE_CORES}


def _needed_options(core: Core) -> tuple[str, ...]:
    """The compiler's options without which the code does not compile."""
    if core.prefix == HOST:
        return core.flags
    return () if core.unaligned else ("-mno-unaligned-access",)
