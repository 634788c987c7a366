"""The example's firmware in QEMU: by its pseudo-terminal, and as a firmware of the user's own."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tinyrt
from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.export.models import dense
from tests.firmware.device import require_core
from tests.graphs import small_cnn
from tests.quantize.test_mixed import samples
from tinyrt.board.emulated import EmulatedLine
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, ToolError
from tinyrt.export import ExportOptions, export_c, find_core
from tinyrt.quantize import QuantConfig, quantize_graph

EXAMPLE = Path(__file__).parents[2] / "firmware_examples" / "serial_port"
MACHINES = {"cortex-m4": "mps2-an386", "cortex-m0": "mps2-an385", "cortex-m3": "mps2-an385"}
QEMU = [
    *("qemu-system-arm", "-M", "mps2-an386", "-display", "none"),
    *("-monitor", "none", "-serial", "pty"),
]
PTY = re.compile(rb"redirected to (/dev/\S+)")

pytestmark = pytest.mark.device


def firmware(model, folder, core):
    """The example, built from an exported folder as its README says."""
    require_core(core)
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("no qemu-system-arm on this machine")
    example = folder / "serial_port"
    shutil.copytree(EXAMPLE, example, ignore=shutil.ignore_patterns("build", "exported"))
    export_c(
        model, example / "exported", core=core, options=ExportOptions(board=True, name="digits")
    )
    flags = " ".join(find_core(core).flags)
    command = ["make", "-s", f"MACHINE={MACHINES[core]}", f"TARGET_FLAGS={flags}"]
    done = subprocess.run(command, cwd=example, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return example / "build" / "serial_port.elf"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("cnn") / "cnn.tflite"
    save_tflite(quantize_graph(small_cnn(), samples(50), QuantConfig()), path)
    return path


@pytest.fixture(scope="module")
def elf(model, tmp_path_factory):
    return firmware(model, tmp_path_factory.mktemp("m4"), "cortex-m4")


@pytest.mark.whole
def test_a_board_behind_a_pseudo_terminal_is_exact(model, elf):
    process = subprocess.Popen(
        [*QEMU, "-kernel", elf],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        port = PTY.search(process.stdout.readline())[1].decode()
        found = call_json("validate", model, "--port", port, "--samples", 3, "--timeout", 60)
    finally:
        process.kill()
        process.wait()
    assert (found["samples"], found["equal"], found["agrees"]) == (3, 3, True)
    assert found["board"]["ticks_per_second"] == 25_000_000
    assert found["milliseconds"]["median"] == found["ticks"]["median"] / 25_000


@shows("emulate", "elf", "machine")
def test_a_firmware_of_ones_own_is_run(model, elf):
    arguments = ("emulate", model, "--elf", elf)
    found = call_json(*arguments, "--samples", 2, "--timeout", 60)
    assert (found["samples"], found["equal"], found["agrees"]) == (2, 2, True)
    assert found["instructions"] is None
    assert found["port"] == "mps2-an386 in QEMU"
    assert found["elf"] == str(elf)
    # The emulator's time is that of its instructions; when bytes arrive is this machine's affair.
    again = call_json(*arguments, "--samples", 2)
    assert again["ticks"]["median"] == pytest.approx(found["ticks"]["median"], abs=2)
    assert again["board"] == found["board"]
    shown = " ".join(call(*arguments, "--machine", "mps2-an500").stdout.split())
    assert "port mps2-an500 in QEMU" in shown
    assert "instructions not counted: ticks are of the firmware's own clock" in shown


def test_a_firmware_is_given_what_is_asked_for(model, monkeypatch):
    given = []
    monkeypatch.setattr(tinyrt.api, "run_firmware", lambda *a, **k: given.append((a, k)) or 1 / 0)
    options = ("-i", "x.npz", "--samples", 2, "--timeout", 7, "--machine", "virt")
    for more in ((), options):
        call("emulate", model, "--elf", "a.elf", *more, code=1)
    (first, usual), (_, asked) = given
    assert first == (model, Path("a.elf"))
    names = ("machine", "data", "samples", "timeout_s")
    assert [usual[name] for name in names] == [None, None, None, 30]
    assert [asked[name] for name in names] == ["virt", Path("x.npz"), 2, 7]


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3"])
def test_other_cores_are_exact(core, model, tmp_path):
    elf = firmware(model, tmp_path, core)
    report = tinyrt.api.run_firmware(model, elf, machine=MACHINES[core])
    assert (report.samples, report.equal) == (4, 4)


def test_the_ticks_are_those_of_the_instructions(model, elf):
    """A tick of 25 MHz is 40 instructions; the emulation of the same model counts its own."""
    counted = tinyrt.run_emulated(model, samples=1).instructions
    report = tinyrt.api.run_firmware(model, elf, samples=3)
    assert report.ticks.median * 40 == pytest.approx(counted, rel=0.05)


def test_another_model_is_refused(elf, tmp_path):
    save_tflite(dense(), tmp_path / "net.tflite")
    with pytest.raises(ToolError, match="runs another model"):
        tinyrt.api.run_firmware(tmp_path / "net.tflite", elf)


def test_a_machine_that_is_not_there_is_the_emulators_to_refuse(model, elf):
    with pytest.raises(ToolError, match="ended in the middle") as caught:
        tinyrt.api.run_firmware(model, elf, machine="nothing")
    assert "unsupported machine type" in caught.value.problem


@pytest.mark.parametrize(
    "header", [b"", b"\x7fELF\x02\x01" + bytes(12) + b"\x28\0", b"\x7fELF\x01\x01" + bytes(14)]
)
def test_what_is_no_firmware_is_refused(header, model, tmp_path):
    (tmp_path / "a.elf").write_bytes(header)
    with pytest.raises(DataError, match="no firmware that can be emulated"):
        tinyrt.api.run_firmware(model, tmp_path / "a.elf")


def test_a_firmware_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(DataError, match="cannot read the firmware"):
        tinyrt.api.run_firmware(model, tmp_path / "a.elf")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--machine", "virt"), "--machine says nothing without --elf"),
        *(
            (("--elf", "a.elf", *option.split()), f"{option.split()[0]} says nothing beside --elf")
            for option in (
                *("--board mps2-an386", "--max-arena 4k", "--slices 5000", "--region a=1k"),
                *("--weights-section .qspi", "--keep kept", "--profile", "--blob", "--gdb 1234"),
                *("--core m0", "--optimize size", "--by-rows", "--input-rows", "--shared-arena"),
                *("--input-outside", "--output-outside", "--alignment 8"),
                *("--cycles", "--cycles --clock 8MHz", "--recording a.wav"),
            )
        ),
        (("other.tflite", "--elf", "a.elf"), "--elf belongs to one model, and 2 are named"),
    ],
)
def test_options_that_would_reach_nothing_are_refused(options, said, model):
    assert said in " ".join(call("emulate", model, *options, code=1).stderr.split())


def test_an_emulator_that_is_gone_says_its_last_words(tmp_path):
    with (tmp_path / "words").open("w+b") as words:
        command = ["sh", "-c", "echo no machine >&2; exec <&-; exit 4"]
        with EmulatedLine(command, "the machine", words) as line:
            line._process.wait()
            with pytest.raises(ToolError, match=r"conversation \(status 4\)") as caught:
                line.write(b"hello")
            assert "no machine" in str(caught.value)
            with pytest.raises(ToolError, match=r"conversation \(status 4\)"):
                line.read()
