"""A debugger attaches to an emulation that waits for it, and lets it run to its end."""

import re
import shlex
import socket
import threading
import time

import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.export.models import dense
from tests.firmware.device import require_core
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.errors import UnsupportedError

PROGRAM_COUNTER = 15
DATA = re.compile(rb"\$([0-9a-f]+)#")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def connected(port):
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=20)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError("nothing waits at the port")


def ask(link, text):
    """Send a packet of the remote protocol; returns all that comes back with an answer's end."""
    link.sendall(b"$%s#%02x" % (text, sum(text) % 256))
    answer = b""
    while not re.search(rb"#[0-9a-f]{2}", answer):
        part = link.recv(4096)
        assert part, answer
        answer += part
    link.sendall(b"+")
    return answer


def words(answer):
    """The 32-bit words of an answer in hexadecimal."""
    data = bytes.fromhex(DATA.search(answer)[1].decode())
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


@pytest.mark.device
@shows("emulate", "gdb")
def test_a_debugger_reads_the_program_counter_and_continues(tmp_path):
    require_core("cortex-m4")
    save_tflite(dense(), tmp_path / "net.tflite")
    port, found = free_port(), []
    options = ("--gdb", port, "--keep", tmp_path / "kept", "--samples", "1")

    def emulate():
        found.append(call_json("emulate", tmp_path / "net.tflite", *options))

    thread = threading.Thread(target=emulate, daemon=True)
    thread.start()
    with connected(port) as link:
        assert b"PacketSize=" in ask(link, b"qSupported")
        registers, vectors = words(ask(link, b"g")), words(ask(link, b"m0,8"))
        assert registers[PROGRAM_COUNTER] == vectors[1] & ~1
        assert thread.is_alive()
        assert not found
        link.sendall(b"$c#63")
        thread.join(60)
    assert found[0]["bit_exact"] is True


def test_this_machine_waits_for_no_debugger(tmp_path):
    save_tflite(dense(), tmp_path / "net.tflite")
    with pytest.raises(UnsupportedError, match="a debugger is waited for by the emulator"):
        run_emulated(
            tmp_path / "net.tflite", inputs={}, build_dir=tmp_path / "b", core="host", gdb=1234
        )


def test_the_command_to_attach_is_shown(tmp_path):
    save_tflite(dense(), tmp_path / "net.tflite")
    kept = tmp_path / "[bold] #1" / ("deep" * 30)
    options = ("--gdb", "1234", "--keep", kept, "--core", "host")
    said = call("emulate", tmp_path / "net.tflite", *options, code=1).stderr
    command = next(line for line in said.splitlines() if line.startswith("waiting for: "))
    asked = shlex.split(command)[2:]
    image = str(kept / "image" / "image.elf")
    assert asked == ["gdb-multiarch", image, "-ex", "target remote :1234"]
