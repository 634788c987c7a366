"""``python -m tests.ecosystems``: what tools of ESP-IDF, Zephyr and PlatformIO say of exports.

They come with ``make test-ecosystems``. PlatformIO builds and runs its example on this machine,
with its own platform ``native``, which it brings from its registry.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.export.models import dense
from tinyrt.export import ExportedProject, ExportOptions, export_graph


def esp_idf(project: ExportedProject) -> str:
    """The component's manifest as for the registry, and its options."""
    from idf_component_tools.manager import ManifestManager, UploadMode

    manager = ManifestManager(str(project.directory), "net", upload_mode=UploadMode.component)
    manifest = manager.load()
    assert str(manifest.version).endswith(f"+{project.identity}")
    _run(sys.executable, "-m", "kconfcheck", project.directory / "Kconfig")
    return f"version {manifest.version}, licence {manifest.license}"


def zephyr(project: ExportedProject) -> str:
    """The module's options, as the sample's configuration sets them."""
    import kconfiglib

    os.environ["KCONFIG_STRICT"] = "y"
    options = kconfiglib.Kconfig(str(project.directory / "zephyr" / "Kconfig"))
    options.load_config(str(project.directory / "samples" / "net" / "prj.conf"))
    values = {name: options.syms[name].str_value for name in ("TINYRT_NET", "TINYRT_NET_OPTIMIZE")}
    assert set(values.values()) == {"y"}
    foreign = [text for text in options.warnings if "PRINTK" not in text]
    assert foreign == []
    return ", ".join(f"{name} is {value}" for name, value in values.items())


def platformio(project: ExportedProject) -> str:
    """The library's manifest, and its example, built and run here."""
    from platformio.package.manifest.parser import ManifestParserFactory
    from platformio.package.manifest.schema import ManifestSchema

    # Its list of licences is on a server; that ours is on it needs no asking.
    known = {"licenses": [{"licenseId": "Apache-2.0"}]}
    ManifestSchema.load_spdx_licenses = staticmethod(lambda: known)
    parser = ManifestParserFactory.new_from_file(str(project.directory / "library.json"))
    manifest = ManifestSchema().load_manifest(parser.as_dict())
    example = project.directory / "examples" / "net"
    pio = (sys.executable, "-m", "platformio", "run", "-d", example, "-e", "native")
    _run(*pio)
    said = _run(example / ".pio" / "build" / "native" / "program")
    assert said.splitlines()[-1] == "status 0"
    return f"version {manifest['version']}, the example runs"


def _run(*command: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


CHECKS: dict[str, tuple[Callable[[ExportedProject], str], str]] = {
    "esp-idf": (esp_idf, "rv32imc"),
    "zephyr": (zephyr, "cortex-m4"),
    "platformio": (platformio, "cortex-m4"),
}
"""Layout -> who judges it, and for which core it is exported."""


def main() -> None:
    """Export a model in each layout, and print what is said of it."""
    for layout, (check, core) in CHECKS.items():
        with tempfile.TemporaryDirectory() as folder:
            project = export_graph(
                dense(), Path(folder) / "net", core=core, options=ExportOptions(layout=layout)
            )
            print(f"{layout}: {check(project)}", flush=True)


if __name__ == "__main__":
    main()
