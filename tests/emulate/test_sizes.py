"""Flash and RAM by part, read from listings of ``size``."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tinyrt.emulate import toolchain
from tinyrt.emulate.sizes import Sizes, sizes_of_image, sizes_of_library
from tinyrt.export import find_core

NET = SimpleNamespace(name="net", weights_section=None, blob=None, sample_files=[])
IMAGE = """image.elf  :
section            size        addr
.vectors              1           0
.kernels             10         512
.model_code         200        1024
.model_tables      3000        2048
.library          40000        4096
.ARM.exidx            8        8192
.weights         500000       16384
.harness             60       65536
.data               700  0x20000000
.bss               9000  536871000
.ram              77777  536879000
.debug_info      888888           0
Total           1234567
"""
MEMBERS = """net.o   (ex libnet.a):
section        size   addr
.text           100      0
.text.invoke     20      0
.rodata.table     3      0
.data.rel.ro.x    4      0
.bss.y         5000      0
.comment         99      0
Total          5226


net_weights.o   (ex libnet.a):
section        size   addr
.rodata       60000      0
Total         60000


tinyrt_lut_s8.o   (ex libnet.a):
section        size   addr
.text             7      0
.rodata          80      0
.data.rel.ro    900      0
.data            11      0
Total           998


other.o   (ex libnet.a):
section        size   addr
.text        123456      0
Total        123456
"""


@pytest.fixture
def listed(monkeypatch):
    """Lets ``size`` list this text; returns the commands that ask for it."""

    def by(text):
        commands = []

        def run(command, *, doing):
            commands.append([str(part) for part in command])
            return text

        monkeypatch.setattr(toolchain, "run", run)
        return commands

    return by


def test_each_part_of_an_image_has_its_sections(listed):
    commands = listed(IMAGE)
    found = sizes_of_image(Path("image.elf"), find_core("cortex-m4"))
    assert commands == [["arm-none-eabi-size", "-A", "-d", "image.elf"]]
    assert found == Sizes(
        kernels=10, model=200, tables=3000, library=40708, weights=500000, harness=61, static=9700
    )
    assert found.code == 43918


def test_parts_that_are_not_there_take_nothing(listed):
    listed("image.elf  :\nsection size addr\n.kernels 10 0\n")
    found = sizes_of_image(Path("image.elf"), find_core("cortex-m4"))
    assert found == Sizes(10, 0, 0, 0, 0, 0, 0)


def test_each_part_of_a_library_has_its_members(listed):
    commands = listed(MEMBERS)
    found = sizes_of_library(Path("libnet.a"), [NET], find_core("host"))
    assert commands == [["size", "-A", "-d", "libnet.a"]]
    assert found == Sizes(
        kernels=987, model=120, tables=7, library=0, weights=60000, harness=0, static=5011
    )


def test_a_library_without_a_model_is_empty(listed):
    listed("")
    assert sizes_of_library(Path("a"), [NET], find_core("host")) == Sizes(0, 0, 0, 0, 0, 0, 0)


def test_weights_in_a_section_of_their_own_are_weights(listed):
    listed("net_weights.o   (ex libnet.a):\nsection size addr\n.qspi 70 0\n.rodata 5 0\n\n")
    named = SimpleNamespace(name="net", weights_section=".qspi", blob=None, sample_files=[])
    assert sizes_of_library(Path("a"), [named], find_core("host")).weights == 75
    assert sizes_of_library(Path("a"), [NET], find_core("host")).weights == 5


def test_the_weights_of_a_blob_are_its_own(listed):
    files = ("net_weights", "net_blob", "blob_net")
    listed("\n\n".join(f"{n}.o   (ex x.a):\n.rodata {i} 0" for i, n in enumerate(files, 4)))
    model = SimpleNamespace(**vars(NET) | {"blob": "how it is laid out"})
    assert sizes_of_library(Path("a"), [model], find_core("host")).weights == 5
    assert sizes_of_library(Path("a"), [NET, model], find_core("host")).weights == 4 + 5


def test_files_for_samples_are_the_models_own(listed):
    listed("net_samples.o   (ex libnet.a):\nsection size addr\n.text 70 0\n.rodata 5 0\n\n")
    hears = SimpleNamespace(**vars(NET) | {"sample_files": ["net_samples"]})
    found = sizes_of_library(Path("a"), [hears], find_core("host"))
    assert (found.model, found.tables) == (70, 5)
