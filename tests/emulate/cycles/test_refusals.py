"""What has no cycles says why, and what to do instead."""

import stat

import numpy as np
import pytest

from tests.emulate.test_refusals import refused
from tests.export.models import dense
from tinyrt import cache
from tinyrt.cli.cycles import timing_of
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import Flash, Timing, run_emulated
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.cycles import plugin
from tinyrt.emulate.cycles.counts import Counts, Edge, read_counts
from tinyrt.emulate.cycles.disassembly import Instruction, Listing
from tinyrt.emulate.cycles.estimate import Cycles, estimate
from tinyrt.emulate.cycles.kinds import facts_of
from tinyrt.emulate.cycles.meter import BEGIN, CALL, COUNTS, Meter, meter_for
from tinyrt.emulate.cycles.table import table_of
from tinyrt.emulate.cycles.timing import CoreTiming
from tinyrt.errors import DataError, ToolError, UnsupportedError
from tinyrt.export import find_core


@pytest.mark.parametrize("core", ["rv32imc", "cortex-m23"])
def test_cores_without_a_table_are_refused(core):
    text = refused(lambda: meter_for(find_core(core), None, Timing()), UnsupportedError)
    assert f"the cycles of {core} are not known" in text
    assert "cortex-m4, cortex-m55" in text


def test_this_machine_has_no_cycles(tmp_path):
    save_tflite(dense(), tmp_path / "net.tflite")
    inputs = {"x": np.zeros((1, 4), np.int8)}
    options = {"build_dir": tmp_path, "core": "host", "cycles": Timing()}
    text = refused(
        lambda: run_emulated(tmp_path / "net.tflite", inputs=inputs, **options), UnsupportedError
    )
    assert "cycles are told of emulated cores, not of this machine" in text
    assert "cortex-m7, cortex-m85" in text


def test_a_multiplier_takes_1_or_32_cycles():
    names = ("clock", "mj_per_mcycle", "flash_wait", "flash_line", "code_cache", "data_cache")
    nothing = dict.fromkeys(names)
    text = refused(lambda: timing_of(True, **nothing, multiplier=2), DataError)
    assert "--multiplier 2" in text


def test_an_instruction_that_nobody_knows_is_named():
    text = refused(lambda: facts_of(Instruction(0x1F0, 4, "frob", "r0, r1")), UnsupportedError)
    assert "'frob r0, r1' at 0x1f0" in text


def test_an_instruction_that_the_core_has_not_is_refused():
    timing = CoreTiming(table_of("cortex-m0"))
    divide = Instruction(0, 4, "sdiv", "r0, r1, r2")
    text = refused(lambda: timing.one(divide, None), UnsupportedError)
    assert "the table of cortex-m0 has no cycles for divide" in text


@pytest.mark.parametrize(
    "text",
    ["", "segment 0\nedge 1 2 3\n", "edge 1 2 3 4\n", "segment x\n", "memory 1 2 3 4 5\n"],
    ids=["short", "three", "no segment", "no number", "memory first"],
)
def test_counts_that_are_not_whole_are_refused(tmp_path, text):
    path = tmp_path / COUNTS
    if text:
        path.write_text(text)
    assert "no counts that can be read" in refused(lambda: read_counts(path), ToolError)


def test_blocks_that_the_image_lacks_are_refused():
    code = {2: Instruction(2, 2, "nop", "")}
    counts = Counts({Edge(2, 3, 8): 1})

    def run():
        estimate(counts, code, CoreTiming(table_of("cortex-m4")), Flash())

    assert "ran 3 instructions from 0x2 on, and the image has none at 0x4" in refused(
        run, ToolError
    )


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"wait": -1}, "-1 wait states"),
        ({"wait": 256}, "256 wait states"),
        ({"line": 2}, "a line of flash has 2 bytes"),
        ({"line": 24}, "a line of flash has 24 bytes"),
        ({"line": 2048}, "a line of flash has 2048 bytes"),
        ({"code_cache": -1}, "the cache for code has -1 bytes"),
        ({"data_cache": -8}, "the cache for data has -8 bytes"),
    ],
)
def test_flash_that_cannot_be_is_refused(figures, words):
    assert words in refused(lambda: Flash(**figures), DataError)
    assert Flash(255, 1024, 0, 0).wait == Flash(255, 4).wait == 255


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize(("name", "word"), [("clock_hz", "clock"), ("mj_per_mcycle", "energy")])
def test_a_clock_and_energy_are_above_zero(name, word, value):
    assert f"the {word} is {value:g}" in refused(lambda: Timing(**{name: value}), DataError)


# The plugin and the clock

CODE = {0x100: Instruction(0x100, 2, "adds", "r0, #1"), 0x102: Instruction(0x102, 2, "bx", "lr")}
LISTING = Listing(CODE, {CALL: 0x40, BEGIN: 0x50})


def metered(folder, mark, times, beyond=0):
    """A meter whose plugin has counted blocks of two instructions in each of two passes."""
    stretch = f"segment {mark:x}\nmemory 0 0 0 0 0\nedge 100 2 30 {times:x}\n"
    (folder / COUNTS).write_text(("segment 0\nmemory 0 0 0 0 0\n" + stretch * 2) + stretch * beyond)
    core = find_core("cortex-m0")
    return Meter(core, find_board(core), Timing(), table_of(core.name), folder / "edges.so")


def test_a_plugin_that_counts_something_else_than_the_clock_is_refused(tmp_path):
    meter = metered(tmp_path, 0x40, 1000)
    assert meter.of_inference(LISTING, tmp_path, 2000, 2).cycles == Cycles(4000, 4000)
    assert meter.of_inference(LISTING, tmp_path, 2016, 2).cycles == Cycles(4000, 4000)
    for clock in (2017, 1983):
        text = refused(lambda n=clock: meter.of_inference(LISTING, tmp_path, n, 2), ToolError)
        assert f"counted 2,000 instructions, its clock {clock:,}" in text
    text = refused(lambda: meter.of_inference(LISTING, tmp_path, 2000, 3), ToolError)
    assert "counted 0 instructions" in text


def test_an_op_that_the_plugin_counts_otherwise_is_refused(tmp_path):
    meter = metered(tmp_path, 0x50, 1000)
    ops, clock = [7, 9], {7: 1000, 9: 1000}
    found = meter.of_ops(LISTING, tmp_path, ops, clock, 2)
    assert found == {7: Cycles(2000, 2000), 9: Cycles(2000, 2000)}
    with (tmp_path / COUNTS).open("a") as counts:  # the harness's own, behind those of the model
        counts.write("segment 50\nmemory 9 9 9 9 9\nedge 10 7 30 99\n" * 2)
    assert meter.of_ops(LISTING, tmp_path, ops, clock, 2) == found
    counts = (tmp_path / COUNTS).read_text()  # and what ran before the clock did
    (tmp_path / COUNTS).write_text("segment 50\nmemory 0 0 0 0 0\nedge 100 2 30 1\n" + counts)
    assert meter.of_ops(LISTING, tmp_path, ops, clock, 2) == found
    again = meter.of_ops(LISTING, tmp_path, [7, 7], {7: 2000}, 2)
    assert again == {7: Cycles(4000, 4000)}
    for wrong in (991, 1009):
        clock = {7: wrong, 9: 1000}
        refused(lambda n=clock: meter.of_ops(LISTING, tmp_path, ops, n, 2), ToolError)
    assert meter.of_ops(LISTING, tmp_path, ops, {7: 992, 9: 1008}, 2) == found


# Emulators that are scripts


def program(folder, name, body):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    built = []

    def compiled(api):
        built.append(api)
        return f"library for {api}".encode()

    monkeypatch.setattr(plugin, "_compiled", compiled)
    return built


def test_an_emulator_without_plugins_is_told_apart(tmp_path, cached):
    words = "qemu: plugin interface not enabled in this build"
    program(tmp_path, "qemu-a", f"echo '{words}' >&2; exit 1")
    assert plugin.plugin_for("qemu-a") is None
    assert cached == []


def test_a_plugin_is_built_once_for_each_emulator(tmp_path, cached):
    program(tmp_path, "qemu-a", "echo version 1")
    first = plugin.plugin_for("qemu-a")
    assert plugin.plugin_for("qemu-a") == first
    assert cached == [1]
    assert cache.read_entry(plugin.CACHE, first.name) == b"library for 1"
    program(tmp_path, "qemu-a", "echo version 2")
    assert plugin.plugin_for("qemu-a") != first
    assert cached == [1, 1]


@pytest.mark.parametrize("what", ["source", "compiler"])
def test_a_plugin_is_built_anew_where_another_is_made_of_it(what, tmp_path, cached, monkeypatch):
    program(tmp_path, "qemu-a", "exit 0")
    program(tmp_path, "cc", "echo cc 1")
    monkeypatch.setattr(plugin, "SOURCE", tmp_path / "edges.c")
    plugin.SOURCE.write_text("counts")
    first = plugin.plugin_for("qemu-a")
    if what == "source":
        plugin.SOURCE.write_text("counts more")
    else:
        program(tmp_path, "cc", "echo cc 2")
    assert plugin.plugin_for("qemu-a") != first
    assert cached == [1, 1]


def test_a_plugin_is_built_for_the_interface_that_the_emulator_has(tmp_path, cached):
    body = """grep -q 'library for 3' "$TINYRT_CACHE"/qemu-plugin/* 2>/dev/null && exit 0
case "$*" in *version) exit 0;; esac
echo 'plugin requires API version 1, but this QEMU supports only a minimum version of 3' >&2
exit 1"""
    program(tmp_path, "qemu-a", body)
    path = plugin.plugin_for("qemu-a")
    assert cached == [1, 3]
    assert cache.read_entry(plugin.CACHE, path.name) == b"library for 3"


@pytest.mark.parametrize(
    "words", ["no such symbol", "this QEMU supports only a minimum version of 1"]
)
def test_a_plugin_that_does_not_load_is_not_kept(tmp_path, cached, words):
    program(tmp_path, "qemu-a", f'case "$*" in *version) exit 0;; esac; echo "{words}" >&2; exit 1')
    text = refused(lambda: plugin.plugin_for("qemu-a"), ToolError)
    assert "does not load the plugin" in text
    assert words in text
    assert cached == [1]
    assert not list((tmp_path / "cache" / plugin.CACHE).glob("*"))


def test_the_emulator_s_option_names_files_whatever_their_commas(tmp_path):
    library, counts = tmp_path / "a,b.so", tmp_path / "c,d" / "e.txt"
    found = plugin.option(library, counts, ("mark", "1f"), ("mark", "20"))
    path, out = (str(each).replace(",", ",,") for each in (library, counts))
    assert found == ["-plugin", f"{path},out={out},mark=1f,mark=20"]
