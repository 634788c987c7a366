"""Where each ecosystem's build tool looks for sources, headers and what it has to know of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinyrt.errors import UnsupportedError
from tinyrt.export.target import ARM, HOST, RISCV, Core
from tinyrt.text import closest


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of a folder that an ecosystem's build tool takes.

    Attributes:
        name: as the ``--layout`` option spells it.
        tool: what the ecosystem is called.
        folder: where sources and headers lie, below the project's own folder; empty for there.
        files: path -> template of what is written beside them; ``{name}`` is the library's.
        compilers: the cores that it builds for, by the prefixes of their compilers' names.
        cores: these in words, where they are not all.
        takes_options: whether its files can say what options and macros sources need.
        max_name: most characters of a library's name.
        reserved: a beginning of names that is kept for others; None without any.

    """

    name: str
    tool: str
    folder: str = "src"
    files: Mapping[str, str] = field(default_factory=dict)
    compilers: tuple[str, ...] = (ARM, RISCV, HOST)
    cores: str = ""
    takes_options: bool = True
    max_name: int = 200
    reserved: str | None = None

    def check_core(self, core: Core) -> None:
        """Refuse a core that the ecosystem has no boards for, or whose options it cannot carry.

        Raises:
            UnsupportedError: there are none, or it cannot.

        """
        if core.prefix not in self.compilers:
            raise UnsupportedError(
                f"{self.tool} does not build for {core.name}",
                expected=self.cores,
                hint="choose another core, or --layout cmake",
            )
        if not core.unaligned and not self.takes_options:
            raise UnsupportedError(
                f"{self.tool} has no place for the compiler's option -mno-unaligned-access, which "
                "code without unaligned words needs",
                expected="a layout that carries options: "
                + ", ".join(n for n, layout in LAYOUTS.items() if layout.takes_options),
                hint="export without --no-unaligned, or in one of these",
            )

    def check_name(self, name: str) -> None:
        """Refuse a library's name that the ecosystem does not take.

        Raises:
            UnsupportedError: it does not.

        """
        if len(name) > self.max_name:
            raise UnsupportedError(
                f"{self.tool} does not take a name of {len(name)} characters, '{name}'",
                expected=f"at most {self.max_name}",
                hint="choose a shorter one with --name; of several models, it is the folder's",
            )
        if self.reserved is not None and name.startswith(self.reserved):
            raise UnsupportedError(
                f"{self.tool} keeps names such as '{name}' for libraries of its own",
                expected=f"a name that does not begin with {self.reserved}",
                hint="choose another one with --name, or --prefix",
            )


LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout("cmake", "CMake", folder=""),
        Layout(
            "arduino",
            "Arduino",
            files={
                "library.properties": "library.properties.j2",
                "keywords.txt": "keywords.txt.j2",
                "examples/{name}/{name}.ino": "sketch.ino.j2",
            },
            compilers=(ARM, RISCV),
            cores="a microcontroller's core",
            takes_options=False,
            max_name=63,
            reserved="arduino",
        ),
        Layout(
            "platformio",
            "PlatformIO",
            files={
                "library.json": "library.json.j2",
                "examples/{name}/platformio.ini": "platformio.ini.j2",
                "examples/{name}/src/main.c": "main.c.j2",
            },
            max_name=100,
        ),
        Layout(
            "zephyr",
            "Zephyr",
            files={
                "zephyr/module.yml": "zephyr_module.yml.j2",
                "zephyr/CMakeLists.txt": "zephyr_CMakeLists.txt.j2",
                "zephyr/Kconfig": "zephyr_Kconfig.j2",
                "samples/{name}/CMakeLists.txt": "zephyr_sample_CMakeLists.txt.j2",
                "samples/{name}/prj.conf": "zephyr_prj.conf.j2",
                "samples/{name}/sample.yaml": "zephyr_sample.yaml.j2",
                "samples/{name}/src/main.c": "zephyr_main.c.j2",
            },
        ),
        Layout(
            "esp-idf",
            "ESP-IDF",
            files={
                "idf_component.yml": "idf_component.yml.j2",
                "CMakeLists.txt": "idf_CMakeLists.txt.j2",
                "Kconfig": "idf_Kconfig.j2",
                "examples/{name}/CMakeLists.txt": "idf_example_CMakeLists.txt.j2",
                "examples/{name}/main/CMakeLists.txt": "idf_main_CMakeLists.txt.j2",
                "examples/{name}/main/main.c": "idf_main.c.j2",
            },
            compilers=(RISCV, HOST),
            cores="--core rv32imc: its plain C runs on RISC-V and Xtensa chips",
            max_name=64,
        ),
        Layout(
            "cmsis-pack",
            "CMSIS-Pack",
            files={
                "tinyrt.{name}.pdsc": "pack.pdsc.j2",
                "examples/{name}/main.c": "main.c.j2",
            },
            compilers=(ARM,),
            cores="an Arm core",
            takes_options=False,
        ),
        Layout(
            "mbed",
            "Mbed OS",
            files={"mbed_lib.json": "mbed_lib.json.j2", "CMakeLists.txt": "mbed_CMakeLists.txt.j2"},
            compilers=(ARM,),
            cores="an Arm core",
        ),
    )
}
"""Layouts by name; the first one is the default."""

CMAKE = LAYOUTS["cmake"]


def find_layout(name: str, core: Core) -> Layout:
    """The layout of that name, for code of that core.

    Raises:
        UnsupportedError: there is none of that name, or it does not build for the core.

    """
    layout = LAYOUTS.get(name)
    if layout is None:
        raise UnsupportedError(
            f"there is no layout '{name}'", expected=", ".join(LAYOUTS), hint=closest(name, LAYOUTS)
        )
    layout.check_core(core)
    return layout
