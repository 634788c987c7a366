"""The plugin that counts: built by the host's compiler where it is used, and kept."""

from __future__ import annotations

import re
from pathlib import Path

from tinyrt.cache import entry_path, keep, key_of
from tinyrt.emulate import toolchain
from tinyrt.errors import ToolError
from tinyrt.files import scratch_folder
from tinyrt.tools import PROBE_S, Finished, run_tool

SOURCE = Path(__file__).parent / "edges.c"
CACHE = "qemu-plugin"
COMPILER = "cc"
FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")

FIRST_API = 1
"""The version of the plugins' interface that QEMU 4.2 to 8.2 take; later ones name their own."""

_NO_PLUGINS = "plugin interface not enabled"
_LEAST_API = re.compile(r"supports only a minimum version of (\d+)")


def plugin_for(qemu: str) -> Path | None:
    """The plugin for one of QEMU's programs, built unless it is kept from earlier.

    What is kept depends on the source, the compiler and the emulator. None where the emulator was
    built without plugins.

    Raises:
        ToolError: the emulator or the compiler is missing, or the plugin is not built or loaded.
        OutputError: the cache cannot be written.

    """
    toolchain.require(qemu)
    if _NO_PLUGINS in run_tool([qemu, "-plugin", "none", "-version"], limit_s=PROBE_S).err:
        return None
    toolchain.require(COMPILER)
    tools = (qemu, COMPILER)
    versions = [toolchain.run([tool, "--version"], doing=f"asking {tool}") for tool in tools]
    key = key_of(SOURCE.read_bytes(), *FLAGS, *versions)
    name = f"edges-{key}.so"
    return entry_path(CACHE, name) or _built(qemu, name)


def _built(qemu: str, name: str) -> Path:
    """Build for the interface that the emulator has, load it once, and keep it."""
    api = FIRST_API
    while True:
        path = keep(CACHE, name, _compiled(api))
        answer = _loaded(qemu, path)
        if answer.status == 0:
            return path
        path.unlink()
        asked = _LEAST_API.search(answer.err)
        if asked is None or int(asked[1]) <= api:
            raise ToolError(
                f"{qemu} does not load the plugin that counts:\n{answer.last_words}",
                file=str(SOURCE),
                expected="a release of QEMU from 4.2 on, with its plugins",
                hint="leave --cycles out to count instructions only",
            )
        api = int(asked[1])


def _compiled(api: int) -> bytes:
    with scratch_folder() as folder:
        library = folder / "edges.so"
        toolchain.run(
            [COMPILER, *FLAGS, f"-DTINYRT_PLUGIN_VERSION={api}", SOURCE, "-o", library],
            doing="building the plugin that counts",
        )
        return library.read_bytes()


def _loaded(qemu: str, path: Path) -> Finished:
    """Start an empty machine with the plugin and leave it at once."""
    with scratch_folder() as folder:
        arguments = option(path, folder / "counts.txt")
        machine = ("-M", "none", "-display", "none", "-serial", "none", "-monitor", "stdio")
        return run_tool([qemu, *machine, *arguments], input_text="quit\n", limit_s=PROBE_S)


def option(path: Path, counts: Path, *told: tuple[str, str]) -> list[str]:
    """QEMU's option for the plugin: where it writes its counts, and name and value of the rest."""
    rest = "".join(f",{name}={value}" for name, value in told)
    return ["-plugin", f"{_escaped(path)},out={_escaped(counts)}{rest}"]


def _escaped(path: Path) -> str:
    return str(path.resolve()).replace(",", ",,")
