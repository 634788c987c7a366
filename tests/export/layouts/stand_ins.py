"""Exported folders, built as their ecosystems do: from what their own files list, and nothing else.

Frameworks of gigabytes are stood in for by the macros that an export's CMake files call. What a
board's compiler makes of the sources and of the example is then linked into one object: names that
are missing there are missing in the export.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.c.host import require_tool
from tests.firmware.device import require_core
from tinyrt.export import Core

WARNINGS = "-O1 -Wall -Wextra -Wconversion -Wpedantic -Werror"

ZEPHYR = """
set(CONFIG_TINYRT_{NAME} y)
set(CONFIG_TINYRT_{NAME}_OPTIMIZE y)
add_library(zephyr_interface INTERFACE)
macro(zephyr_include_directories folder)
    target_include_directories(zephyr_interface INTERFACE ${{CMAKE_CURRENT_SOURCE_DIR}}/${{folder}})
endmacro()
macro(zephyr_library_named name)
    set(ZEPHYR_CURRENT_LIBRARY ${{name}})
    add_library(${{name}} STATIC)
    target_link_libraries(${{name}} PUBLIC zephyr_interface)
endmacro()
macro(zephyr_library_sources)
    target_sources(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endmacro()
macro(zephyr_library_compile_definitions)
    target_compile_definitions(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endmacro()
macro(zephyr_library_compile_options)
    target_compile_options(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endmacro()
add_subdirectory({folder}/zephyr module)
add_library(app OBJECT {folder}/samples/{name}/src/main.c)
target_include_directories(app PRIVATE stubs)
target_link_libraries(app PRIVATE zephyr_interface)
"""

IDF = """
set(CONFIG_TINYRT_{NAME}_OPTIMIZE y)
function(idf_component_register)
    cmake_parse_arguments(PARSE_ARGV 0 ARG "" "" "SRCS;INCLUDE_DIRS;PRIV_REQUIRES")
    get_filename_component(component ${{CMAKE_CURRENT_SOURCE_DIR}} NAME)
    add_library(${{component}} STATIC ${{ARG_SRCS}})
    target_include_directories(${{component}} PUBLIC ${{ARG_INCLUDE_DIRS}})
    target_link_libraries(${{component}} PRIVATE ${{ARG_PRIV_REQUIRES}})
    set(COMPONENT_LIB ${{component}} PARENT_SCOPE)
endfunction()
add_subdirectory({folder} component)
add_subdirectory({folder}/examples/{name}/main main)
"""

MBED = """
add_library(mbed-core-flags INTERFACE)
add_subdirectory({folder} library)
get_target_property(linked {name} LINK_LIBRARIES)
if(NOT linked MATCHES mbed-core-flags)
    message(FATAL_ERROR "the options of the board's processor are missing")
endif()
"""

TOPS = {"zephyr": ZEPHYR, "esp-idf": IDF, "mbed": MBED}
"""Layout -> what stands in for its framework's CMake."""

PRINTK = "#include <stdio.h>\n#define printk printf\n"
SERIAL = """#include <stddef.h>
#include <stdint.h>
struct Stream {
    void begin(long);
    void print(const char *);
    void print(unsigned long);
    void println(int);
    void println(long);
};
extern Stream Serial;
void delay(unsigned long), setup(void), loop(void);
"""


def by_cmake(layout: str, folder: Path, name: str, core: Core, build: Path, flags: str) -> Path:
    """Build the layout's own CMake files; returns the folder of what was built."""
    require_tool("cmake")
    stubs = build / "stubs" / "zephyr" / "sys"
    stubs.mkdir(parents=True)
    (stubs / "printk.h").write_text(PRINTK)
    text = TOPS[layout].format(folder=folder, name=name, NAME=name.upper())
    (build / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\nproject(top C)\n{text}"
    )
    # What the compiler is, nobody asks of it: that takes longer than all else here.
    known = ("CMAKE_C_COMPILER_WORKS", "CMAKE_C_COMPILER_FORCED", "CMAKE_EXPORT_COMPILE_COMMANDS")
    options = [f"-D{option}=ON" for option in known]
    options += ["-DCMAKE_SYSTEM_NAME=Generic", f"-DCMAKE_C_COMPILER={core.compiler}"]
    options += [f"-DCMAKE_C_FLAGS={' '.join(core.flags)} {flags}"]
    _run("cmake", "-S", build, "-B", build / "made", "-DCMAKE_C_COMPILER_ID=GNU", *options)
    _run("cmake", "--build", build / "made", "-j", "2")
    return build / "made"


@dataclass(frozen=True)
class Listed:
    """What a layout's files say to a build tool."""

    sources: list[Path]
    folders: list[Path]
    options: list[str]


def listed(layout: str, folder: Path, name: str) -> Listed:
    """What the files of a layout without CMake say."""
    if layout == "arduino":
        # The specification: all sources below src, which is on the path of headers.
        return Listed(sorted((folder / "src").rglob("*.c")), [folder / "src"], [])
    if layout == "platformio":
        build = json.loads((folder / "library.json").read_text())["build"]
        places = [folder / build["srcDir"], folder / build["includeDir"]]
        return Listed(sorted(places[0].rglob("*.c")), places[1:], build["flags"])
    pack = ElementTree.parse(folder / f"tinyrt.{name}.pdsc").getroot()
    files = [file.attrib for file in pack.iter("file") if "attr" not in file.attrib]
    by_kind = {
        kind: [folder / file["name"] for file in files if file["category"] == kind]
        for kind in ("source", "include")
    }
    return Listed(by_kind["source"], by_kind["include"], [])


def by_list(layout: str, folder: Path, name: str, core: Core, build: Path) -> Path:
    """Compile what the layout's files list, and its example; returns the folder of objects."""
    found = listed(layout, folder, name)
    places = [f"-I{place}" for place in found.folders]
    compiler = [core.compiler, *core.flags, *WARNINGS.split(), *places]
    build.mkdir()
    (build / "Arduino.h").write_text(SERIAL)
    objects = [option for option in found.options if not option.startswith("-l")]
    _run(*compiler, "-std=c99", *objects, "-c", *found.sources, cwd=build)
    if layout == "arduino":
        sketch = ("-x", "c++", "-include", "Arduino.h", folder / f"examples/{name}/{name}.ino")
        _run(*compiler, "-c", *sketch, "-o", "example.o", cwd=build)
    else:
        (example,) = folder.glob(f"examples/{name}/**/main.c")
        _run(*compiler, "-std=c99", "-c", example, "-o", "example.o", cwd=build)
    return build


def build_with_example(layout: str, folder: Path, name: str, core: Core, build: Path) -> Path:
    """Compile a folder and its example for a core, as the layout's files say."""
    require_core(core.name)
    if layout not in TOPS:
        return by_list(layout, folder, name, core, build)
    build.mkdir()
    return by_cmake(layout, folder, name, core, build, WARNINGS)


def lacking(folder: Path, core: Core, identity: str) -> set[str]:
    """Names of this export's own that its objects use, and none defines."""
    objects = [*folder.rglob("*.o"), *folder.rglob("*.obj")]
    assert len(objects) > 2
    listing = _run(f"{core.prefix}nm", "-g", *objects).splitlines()
    symbols = [line.split() for line in listing if identity in line]
    defined = {words[-1] for words in symbols if "U" not in words}
    assert defined
    return {words[-1] for words in symbols if "U" in words} - defined


def _run(*command: object, cwd: Path | None = None) -> str:
    words: Sequence[str] = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout
