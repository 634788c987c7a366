"""What the plugin is told, and what an emulator without plugins leaves."""

from pathlib import Path

from tinyrt.emulate import Flash, Timing
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.cycles.disassembly import Instruction, Listing
from tinyrt.emulate.cycles.estimate import Cycles
from tinyrt.emulate.cycles.meter import CALL, COUNTS, STOP, Meter
from tinyrt.emulate.cycles.table import table_of
from tinyrt.export import find_core

CODE = {
    at: Instruction(at, 2, name, text)
    for at, name, text in (
        (0x120, "adds", "r0, #1"),
        (0x122, "ldr", "r1, [r0]"),
        (0x1F4, "bx", "lr"),
    )
}
LISTING = Listing(CODE, {CALL: 0x40, STOP: 0x6C, "other": 0x120})


def meter(plugin, flash=Flash()):  # noqa: B008 - it is frozen
    core = find_core("cortex-m33")
    return Meter(core, find_board(core), Timing(flash), table_of("cortex-m0"), plugin)


def test_the_plugin_is_told_where_to_count_and_what_the_memory_is_like(tmp_path):
    library = tmp_path / "edges.so"
    flash = Flash(3, 32, code_cache=800, data_cache=544)
    found = meter(library, flash).options(LISTING, (CALL, STOP), tmp_path)
    told = ["mark=40", "mark=6c", "code=120-1f4", "flash=10000000-103fffff"]
    told += ["line=20", "code_lines=19", "data_lines=11"]
    assert found == ["-plugin", ",".join([str(library), f"out={tmp_path / COUNTS}", *told])]


def test_without_a_plugin_instructions_alone_are_priced():
    without = meter(None)
    assert without.options(LISTING, (CALL,), Path("nowhere")) == []
    # One of an adds and a load: 3 cycles for two; the return takes 3.
    report = without.of_inference(LISTING, Path("nowhere"), 100, 4)
    assert (report.basis, report.cycles) == ("instructions", Cycles(150, 300))
    assert without.of_ops(LISTING, Path("nowhere"), [1, 5], {1: 10, 5: 20}, 4) == {
        1: Cycles(15, 30),
        5: Cycles(30, 60),
    }
    assert meter(Path("edges.so")).basis == "edges"
