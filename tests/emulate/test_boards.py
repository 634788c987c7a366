"""Boards: which one stands in for a core, and the memory that each has."""

from dataclasses import replace

import pytest

from tinyrt.backends.c.parts.pace import pace_of
from tinyrt.emulate.boards import BOARDS, board_for, find_board
from tinyrt.export import CORES, find_core
from tinyrt.export.target import Optimize, target_of

KIB, MIB = 1024, 1024 * 1024
MEMORIES = {
    "mps2-an385": (0, 4 * MIB, 0x2000_0000, 4 * MIB),
    "mps2-an386": (0, 4 * MIB, 0x2000_0000, 4 * MIB),
    "mps2-an500": (0, 4 * MIB, 0x2000_0000, 4 * MIB),
    "mps2-an505": (0x1000_0000, 4 * MIB, 0x3800_0000, 4 * MIB),
    "mps3-an547": (0, 512 * KIB, 0x2000_0000, 512 * KIB),
    "microbit": (0, 256 * KIB, 0x2000_0000, 16 * KIB),
    "virt": (0x8000_0000, 8 * MIB, 0x8080_0000, 8 * MIB),
}
"""Flash and RAM: where they begin, and how many bytes there are."""
STANDS_IN = {
    "cortex-m0": "mps2-an385",
    "cortex-m0plus": "mps2-an385",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m23": "mps2-an505",
    "cortex-m33": "mps2-an505",
    "cortex-m55": "mps3-an547",
    "cortex-m85": "mps3-an547",
    "rv32imc": "virt",
    "rv32imcb": "virt",
    "rv32imcv": "virt",
}


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_has_the_memory_of_its_manual(name):
    board = BOARDS[name]
    places = (board.flash_origin, board.flash_bytes, board.ram_origin, board.ram_bytes)
    assert places == MEMORIES[name]
    assert board.guard_bytes == (0 if name == "microbit" else 4 * KIB)
    assert board.stack_bytes == (2 * KIB if name == "microbit" else 16 * KIB)


def test_every_core_has_its_own_board():
    found = {name: find_board(core).name for name, core in CORES.items() if core.prefix}
    assert found == STANDS_IN


def test_a_board_runs_the_code_of_older_cores():
    for core in ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7"):
        assert find_board(find_core(core), "mps2-an500") is BOARDS["mps2-an500"]


def test_this_machine_needs_no_board():
    assert board_for(find_core("host"), None) is None
    m4 = find_core("cortex-m4")
    assert board_for(m4, None) is find_board(m4)
    assert board_for(m4, "mps2-an386") is BOARDS["mps2-an386"]


def test_a_variant_has_a_processor_with_its_extensions():
    base, variant = (find_core(name) for name in ("rv32imc", "rv32imcb"))
    assert (variant.like, variant.base, base.like, base.base) == (
        "rv32imc",
        "rv32imc",
        "rv32imc",
        "",
    )
    assert find_board(base).options[-2:] == ("-cpu", "rv32,zba=false,zbb=false")
    assert find_board(variant).options[-2:] == ("-cpu", "rv32,zba=true,zbb=true")
    assert find_board(variant, "virt") == find_board(variant)
    assert variant.flags == ("-march=rv32imc_zba_zbb", *base.flags[1:])
    assert variant.link_flags == base.flags[:1] == ("-march=rv32imc",)
    assert "-cpu" not in find_board(find_core("cortex-m4")).options
    vectors = find_core("rv32imcv")
    assert (vectors.like, vectors.flags[0]) == ("rv32imc", "-march=rv32imc_zicsr_zve32x")
    assert find_board(vectors).options[-2:] == ("-cpu", "rv32,v=true,vlen=128")


VARIANTS = [core for core in CORES.values() if core.base]


@pytest.mark.parametrize("optimize", Optimize)
@pytest.mark.parametrize("core", VARIANTS, ids=lambda core: core.name)
def test_a_variant_has_the_kernels_and_the_pace_of_its_base(core, optimize):
    base = find_core(core.base)
    others = replace(target_of(core, optimize), strips=False)
    assert others == target_of(base, optimize)
    assert target_of(core, optimize).strips is (core.name == "rv32imcv")
    assert pace_of(core.like) is pace_of(base.like)
