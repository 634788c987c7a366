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
from tinyrt.export.names import Naming
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


@dataclass(frozen=True, slots=True)
class Alone:
    """What a folder that stands alone is made of, whatever it is called.

    Attributes:
        kind: a key of ``FUNCTIONS``, and the name of its templates.
        title: what it is, in a few words; the name in C comes before.
        context: what its templates are filled in with besides.
        kernels: functions that it calls.

    """

    kind: str
    title: str
    context: Mapping[str, object]
    kernels: Sequence[str]

    def written(
        self,
        out_dir: str | Path,
        *,
        core: str,
        optimize: str,
        name: str,
        prefix: str | None,
        layout: str,
    ) -> tuple[str, Path, Core, str, tuple[str, ...]]:
        """Write files with the kernels that they call, licence and build files.

        Args:
            out_dir: the folder to write; as for ``export_c``.
            core: a name in ``tinyrt.export.target.CORES``.
            optimize: ``speed``, ``balanced`` or ``size``.
            name: of the library in C.
            prefix: what stands before that name.
            layout: as for ``export_c``.

        Returns:
            What ``ExportedAlone`` says of it, in that order.

        Raises:
            UnsupportedError: there is no such core, optimisation or layout, the layout is not for
                the core, or the name will not do.
            OutputError: the folder cannot be written.

        """
        own = Naming(name, prefix).model(name)
        target, aim = find_core(core), find_optimize(optimize)
        shape = find_layout(layout, target)
        library = library_files(own, [own], self.kernels, target, aim, parts=("",), layout=shape)
        what = f"{own}, a {self.kind.replace('_', ' ')}"
        contents = Contents(own, target, aim, what, calls=self.kind)
        whole = arranged({**self._texts(own), **library}, shape, contents)
        identity, sealed_texts = sealed(licensed(whole))
        write_folder(Path(out_dir), sealed_texts)
        return own, Path(out_dir), target, identity, written_files(sealed_texts)

    def _texts(self, name: str) -> dict[str, str]:
        """The source and the header of the templates, filled in."""
        common: dict[str, object] = {
            "name": name,
            "NAME": name.upper(),
            "title": f"{name}: {self.title}",
            "identity": IDENTITY,
            "version": Source(f'"{__version__}"'),
            "functions": FUNCTIONS[self.kind],
        }
        return {
            f"{name}{end}": render_c(
                TEMPLATES, f"{self.kind}{end}.j2", {**common, **self.context}
            ).text
            for end in (".c", ".h")
        }
