"""Which board runs which core, and what does not fit where."""

from dataclasses import replace

import numpy as np
import pytest

from tests.export.models import dense
from tests.firmware.device import require_core
from tests.firmware.test_zoo import emulate
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import BOARDS, run_emulated
from tinyrt.errors import ToolError, UnsupportedError
from tinyrt.export import CORES, find_core

GOOD = np.zeros((3, 4), np.int8)


@pytest.fixture
def model(tmp_path):
    save_tflite(dense(), tmp_path / "net.tflite")
    return tmp_path / "net.tflite"


ALL = [(board.name, core) for board in BOARDS.values() for core in board.cores]
"""Board and core."""


def each_once(pairs):
    """Every board with the last of its cores, and the cores that are left, each on one board."""
    own = {board: (board, core) for board, core in pairs}
    first = {core: (board, core) for board, core in reversed(pairs)}
    there = {core for _, core in own.values()}
    return [*own.values(), *(pair for core, pair in first.items() if core not in there)]


OTHERWISE_UNUSED = [("mps2-an500", "cortex-m7"), ("mps2-an505", "cortex-m23")]
"""Boards and cores that no other test takes."""


@pytest.mark.parametrize(("board", "core"), sampled(OTHERWISE_UNUSED[1:], ALL))
def test_every_board_runs_the_code_of_its_cores(model, tmp_path, board, core):
    require_core(core)
    report = run_emulated(model, inputs={"x": GOOD}, build_dir=tmp_path, core=core, board=board)
    assert (report.board, report.samples, report.core) == (board, 3, core)
    assert report.instructions > 0
    assert report.ram.stack <= report.ram.stack_bound


def test_every_core_has_a_board():
    covered = {core for board in BOARDS.values() for core in board.cores}
    assert covered == {core.name for core in CORES.values() if core.prefix}


@pytest.mark.whole
def test_microbit_runs_a_model_in_16_kilobytes(zoo, tmp_path):
    report, _ = emulate(zoo, "streaming_wakeword", tmp_path, "m0", samples=1, board="microbit")
    assert report.bit_exact
    assert report.board == "microbit"


def test_host_runs_the_same_code(zoo, tmp_path):
    report, _ = emulate(zoo, "dscnn_kws", tmp_path, "host")
    assert report.bit_exact
    assert report.instructions is None
    assert report.flash.kernels > 0
    assert report.ram.static == 0


@pytest.mark.parametrize("name", sampled(["autoencoder_ad"], ["autoencoder_ad", "resnet8"]))
def test_model_that_does_not_fit(zoo, tmp_path, name):
    """Into its flash; the second, into its RAM."""
    with pytest.raises(ToolError, match=r"does not fit into board microbit: it lacks \d+ bytes"):
        emulate(zoo, name, tmp_path, "m0", samples=1, board="microbit")


@pytest.mark.parametrize(
    ("core", "board", "words"),
    [
        ("m0", "arduino", "there is no board 'arduino'"),
        ("m7", "microbit", "board microbit does not run code for cortex-m7"),
        ("host", "virt", "board virt does not run code for host"),
        ("m1", None, "there is no core 'm1'"),
    ],
)
def test_refusals(model, tmp_path, core, board, words):
    with pytest.raises(UnsupportedError, match=words):
        run_emulated(model, inputs={"x": GOOD}, build_dir=tmp_path, core=core, board=board)


def test_core_that_the_compiler_does_not_know(model, tmp_path, monkeypatch):
    flags = ("-mcpu=cortex-m850",)
    old = type(find_core("m85"))("cortex-m850", find_core("m85").isa, flags)
    monkeypatch.setitem(CORES, "cortex-m850", old)
    monkeypatch.setitem(BOARDS, "new", type(BOARDS["virt"])("new", ("cortex-m850",), 0, 0, 0, 0))
    with pytest.raises(ToolError, match="arm-none-eabi-gcc does not build for cortex-m850"):
        run_emulated(model, inputs={"x": GOOD}, build_dir=tmp_path, core="m850")


@pytest.mark.whole
def test_code_of_a_variant_does_not_run_on_its_base(zoo, tmp_path, monkeypatch):
    require_core("rv32imcb")
    base = find_core("rv32imc").processor
    monkeypatch.setitem(CORES, "rv32imcb", replace(find_core("rv32imcb"), processor=base))
    with pytest.raises(ToolError, match="fault_cause 00000002"):
        emulate(zoo, "autoencoder_ad", tmp_path, "rv32imcb", samples=1)


def test_host_is_not_profiled(model, tmp_path):
    with pytest.raises(UnsupportedError, match="counted by the emulator"):
        run_emulated(model, inputs={"x": GOOD}, build_dir=tmp_path, core="host", profile=True)
