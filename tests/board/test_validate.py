"""A board over a serial port: what is compared, and what each fault is called."""

import struct
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import serial
from serial.tools import list_ports

import tinyrt
from tests.board.fake import FakeBoard, sealed
from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.export.models import apart, dense
from tests.graphs import small_cnn
from tinyrt.board import session
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ToolError
from tinyrt.export import identity
from tinyrt.export.board import Command, Fault
from tinyrt.export.identity import sha256_of

SHORT_S = 0.3


class Made:
    """A model in a file, and boards that run it."""

    def __init__(self, graph, path):
        save_tflite(graph, path)
        self.path, self.graph, self.sha256 = path, read_tflite(path), sha256_of(path)

    def board(self, change=None, **numbers):
        of = (self.graph, numbers.pop("sha256", self.sha256), self.path.with_name("port"))
        return FakeBoard(*of, change, **numbers)


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return Made(dense(size=40), tmp_path_factory.mktemp("net") / "net.tflite")


def validate(made, board, timeout_s=10, **options):
    return tinyrt.validate(made.path, port=board.port, timeout_s=timeout_s, **options)


def test_a_board_that_answers_as_the_host_is_said_to(net):
    with net.board() as board:
        report = validate(net, board, samples=3)
        steps = []
        again = validate(net, board, samples=3, progress=lambda *done: steps.append(done))
    assert report.agrees
    assert (report.samples, report.equal) == (3, 3)
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert report.as_dict()["ticks"] == {"min": 11, "median": 12, "max": 13}
    assert (report.measured, report.as_told) == (None, None), "no cycles were told"
    assert again.as_dict()["milliseconds"] == {"min": 14.0, "median": 15.0, "max": 16.0}
    assert report.as_dict()["board"] == {
        **{"export": "0000abcd", "model_sha256": net.sha256, "tinyrt_version": tinyrt.__version__},
        **{"arena_bytes": 400, "state_bytes": 8, "ticks_per_second": 1000, "selftest": False},
    }
    # 40 bytes of inputs by at most 60 to a frame, and one frame for all of the outputs
    commands = [command for command, _ in board.frames[: len(board.frames) // 2]]
    assert commands == [1, 5, *[2, 3, 4] * 3]


def test_several_inputs_and_outputs_are_read_in_parts(tmp_path):
    made = Made(apart(), tmp_path / "apart.tflite")
    with made.board(payload=16, hertz=0) as board:
        report = validate(made, board)
    assert (report.samples, report.equal) == (4, 4)
    assert report.as_dict()["milliseconds"] is None
    assert report.as_dict()["board"]["ticks_per_second"] is None
    # Of 35 bytes of input, 12 and their offset are one frame; of 35 bytes of output, 15.
    commands = [command for command, _ in board.frames]
    assert commands == [Command.IDENTIFY, Command.RESET, *[*[2] * 3, 3, *[4] * 3] * 4]
    with made.board(only(Command.READ, flip_all)) as board:
        report = validate(made, board)
    assert report.equal == 0
    assert str(report.difference).startswith("sample 0, output 'b_relu', element 0:")


def flip_all(command, number, sequence, payload):
    return sealed(command | 0x80, sequence, payload[:1] + bytes(b ^ 1 for b in payload[1:]))


def changed(payload, at, by=1):
    return payload[:at] + bytes([(payload[at] + by) % 256]) + payload[at + 1 :]


def second_differs(command, number, sequence, payload):
    if command == Command.READ and number >= 1:
        return sealed(command | 0x80, sequence, changed(payload, 2))
    return ...


def test_the_first_difference_is_named(net):
    with net.board(second_differs) as board:
        report = validate(net, board)
    assert not report.agrees
    assert (report.samples, report.equal) == (4, 1)
    found = report.as_dict()["difference"]
    assert (found["sample"], found["output"], found["index"]) == (1, "y", 1)
    assert (found["found"] - found["expected"]) % 256 == 1
    assert str(report.difference) == (
        f"sample 1, output 'y', element 1: {found['found']} instead of {found['expected']}"
    )


@pytest.mark.parametrize(("off", "equal"), [(0.9e-4, True), (1.2e-4, False)])
def test_floats_may_differ_in_their_last_bits(off, equal, tmp_path):
    made = Made(small_cnn(), tmp_path / "cnn.tflite")

    def nearly(command, number, sequence, payload):
        if command != Command.READ or number % 100:
            return ...
        y = np.frombuffer(payload[1:], np.float32).copy()
        y[1] += off * np.abs(y).max()
        return sealed(command | 0x80, sequence, payload[:1] + y.tobytes())

    with made.board(nearly, payload=256) as board:
        report = validate(made, board, samples=2)
    assert report.agrees is equal
    assert report.equal == 1 + equal
    assert equal or report.difference.index == 1


PASSED = dict.fromkeys(session.SELFTEST_FIELDS, 0) | {"op": -1, "output": -1}
FAILED = dict(zip(session.SELFTEST_FIELDS, (-1, 1, 7, 2**32 - 1, 3, 0, 8, 4, 9), strict=True))


@pytest.mark.parametrize(("fields", "passed"), [(PASSED, True), (FAILED, False)])
def test_a_board_tests_itself_where_it_can(fields, passed, net):
    numbers = struct.pack("<9I", *(number % 2**32 for number in fields.values()))
    tested = only(Command.SELFTEST, lambda c, n, s, p: sealed(c | 0x80, s, b"\0" + numbers))
    with net.board(tested, selftest=1) as board:
        arguments = ("validate", net.path, "--port", board.port)
        found = call_json(*arguments, code=0 if passed else 1)
        shown = call(*arguments, code=0 if passed else 1).stdout
    assert found["selftest"] == fields
    assert (found["agrees"], found["equal"], found["difference"]) == (passed, 4, None)
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "all of them yes" in lines
    assert f"self-test {'yes' if passed else 'NO'}" in lines
    failed = ["status -1", "vector 1", "op 7", "output 0", "byte 8"]
    names = {text.split()[0] for text in failed}
    said = [line for line in lines if line.partition(" ")[0] in names]
    assert said == ([] if passed else failed)
    commands = [command for command, _ in board.frames]
    assert commands[:3] == [Command.IDENTIFY, Command.SELFTEST, Command.RESET]


def only(which, answer):
    """That answer to one kind of command."""
    return lambda command, number, sequence, payload: (
        answer(command, number, sequence, payload) if command == which else ...
    )


def test_data_are_run_as_the_host_runs_them(net, tmp_path):
    data = np.linspace(-20, 20, 5 * 40).reshape(5, 40).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=data)
    for options, count in (({}, 5), ({"samples": 2}, 2), ({"samples": 9}, 5)):
        with net.board() as board:
            report = validate(net, board, data=tmp_path / "data.npz", **options)
        assert (report.samples, report.equal) == (count, count)
        last = np.frombuffer(board.input, np.int8)
        assert np.abs((last - 3.0) * 0.5 - data[count - 1]).max() <= 0.25


@shows("validate", "model", "port", "baud", "data", "samples", "timeout", "json")
def test_the_command_shows_what_was_measured(net, tmp_path, monkeypatch):
    np.savez(tmp_path / "data.npz", x=np.ones((3, 40), np.float32))
    options = ("--data", tmp_path / "data.npz", "--samples", 2)
    with net.board() as board:
        arguments = ("validate", net.path, "--port", board.port)
        found = call_json(*arguments, *options)
        shown = call(*arguments).stdout
    assert (found["samples"], found["equal"], found["agrees"]) == (2, 2, True)
    assert found["port"] == board.port
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "answered as on the host 4" in lines
    assert "all of them yes" in lines
    assert "ticks, least 13 (13.000 ms)" in lines
    assert "ticks, median 14.50 (14.500 ms)" in lines
    assert "ticks, most 16 (16.000 ms)" in lines
    with net.board(second_differs, hertz=0) as board:
        wrong = call("validate", net.path, "--port", board.port, code=1).stdout
    lines = [" ".join(line.split()) for line in wrong.splitlines()]
    assert "first difference sample 1, output y, element 1" in lines
    assert "all of them NO" in lines
    assert "ticks, least 11" in lines
    given = {}
    monkeypatch.setattr("tinyrt.api.validate", lambda *a, **k: given.update(k) or 1 / 0)
    call("validate", net.path, "--port", "p", "--baud", "9600", "--timeout", "0.7", code=1)
    assert (given["baud"], given["timeout_s"], given["port"]) == (9600, 0.7, "p")
    call("validate", net.path, "--port", "p", code=1)
    assert (given["baud"], given["timeout_s"], given["samples"]) == (115_200, 5.0, None)


def test_the_baud_rate_is_the_ports(net, monkeypatch):
    given = {}
    monkeypatch.setattr(serial, "serial_for_url", lambda *a, **k: given.update(k) or 1 / 0)
    for baud in (9600, 115_200):
        with pytest.raises(Exception, match="division"):
            tinyrt.validate(net.path, port="p", baud=baud)
        assert given["baudrate"] == baud


# What goes wrong on the way. Each fault happens once or for ever.


def flip(command, number, sequence, payload):
    """A damaged answer."""
    good = sealed(command | 0x80, sequence, payload)
    return good[:3] + bytes([good[3] ^ 1]) + good[4:]


def test_damage_on_the_way_is_repaired(net):
    def damaged(command, number, sequence, payload):
        if command == Command.RUN and number < 2:
            return flip(command, number, sequence, payload)
        if command == Command.READ and number in (1, 2):
            return sealed(0x80 | 7, 99, bytes([Fault.BAD_CRC]))
        if command == Command.LOAD and number == 2:
            return sealed(command | 0x80, sequence, bytes([Fault.TOO_LONG]))
        if command == Command.LOAD and number == 4:
            return None
        return b"text\r\n\xa5" + sealed(command | 0x80, sequence, payload)

    with net.board(damaged) as board:
        report = validate(net, board, timeout_s=1)
    assert (report.samples, report.equal) == (4, 4)
    repeated = [
        pair for pair, other in zip(board.frames, board.frames[1:], strict=False) if pair == other
    ]
    assert [command for command, _ in repeated] == [3, 3, 4, 4, 2, 2]


def late(command, number, sequence, payload):
    return sealed(command | 0x80, (sequence - 1) % 256, payload)


def stops(command, number, sequence, payload):
    return None if number else sealed(command | 0x80, sequence, payload)[:-1] + b"\0"


FAULTS = {
    "silent": (lambda *_: None, "is silent: IDENTIFY had no answer within 0.6 seconds"),
    "garbage": (lambda *_: b"\x00\xffhello\r\n", "sends bytes that are no frames, at last"),
    "long": (lambda *_: b"\xa5\x5a\x81\x01\xff\xff", "sends a frame of 65,535 bytes"),
    "hangs": (only(Command.RUN, lambda *_: None), "answered before, and not to RUN, within 0.6"),
    "stops": (only(Command.RUN, stops), "answered before, and not to RUN, within 0.6"),
    "late": (only(Command.RUN, late), "answers too late: within 0.6 seconds"),
    "damaged": (only(Command.RUN, flip), "arrive damaged: that to RUN, asked for 4 times"),
    "length": (
        only(Command.READ, lambda c, n, s, p: sealed(c | 0x80, s, p[:-1])),
        "answers READ with 1 bytes",
    ),
    "empty": (
        only(Command.LOAD, lambda c, n, s, p: sealed(c | 0x80, s, b"")),
        "answers LOAD with nothing in it",
    ),
    "fault": (
        only(Command.LOAD, lambda c, n, s, p: sealed(c | 0x80, s, b"\x63")),
        "answers LOAD with fault 99",
    ),
    "refused": (
        only(Command.LOAD, lambda c, n, s, p: sealed(c | 0x80, s, bytes([Fault.OUT_OF_RANGE]))),
        "refuses LOAD: OUT_OF_RANGE, these bytes lie outside",
    ),
    "model": (
        only(
            Command.RUN,
            lambda c, n, s, p: sealed(
                c | 0x80, s, bytes([Fault.MODEL_FAILED]) + struct.pack("<i", 2)
            ),
        ),
        "returned status 2",
    ),
    "no status": (
        only(Command.RUN, lambda c, n, s, p: sealed(c | 0x80, s, bytes([Fault.MODEL_FAILED, 2]))),
        "refuses RUN: MODEL_FAILED",
    ),
    "deaf": (
        only(Command.LOAD, lambda c, n, s, p: sealed(c | 0x80, s, bytes([Fault.BAD_CRC]))),
        "gets damaged frames: LOAD, sent 4 times",
    ),
    "gone": (only(Command.RUN, lambda *_: FakeBoard.hang_up), "is gone in the middle"),
}


HINTS = {
    **{
        "silent": "RX and TX",
        "garbage": "set --baud",
        "long": "NAME_board.c",
        **dict.fromkeys(("hangs", "stops"), "--timeout"),
    },
    **{"late": "--timeout", "damaged": "lower the baud", "length": "NAME_board.c", "deaf": "queue"},
    **{"empty": "NAME_board.c", "fault": "NAME_board.c", "refused": "flash", "gone": "cable"},
    **{"model": "tinyrt_types.h", "no status": "export the model again"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_its_own_error(fault, net):
    change, said = FAULTS[fault]
    start = time.monotonic()
    with net.board(change) as board, pytest.raises(ToolError, match=said) as caught:
        validate(net, board, timeout_s=SHORT_S)
    assert time.monotonic() - start < 30
    assert board.port in caught.value.problem
    assert caught.value.expected
    assert HINTS[fault] in caught.value.hint
    asked = board.frames.count(board.frames[-1])
    assert asked == {"silent": 2, "hangs": 2, "late": 2, "damaged": 4, "deaf": 4}.get(fault, asked)


IDENTITIES = {
    "protocol": ({"protocol": 2}, "speaks version 2 of the protocol"),
    "model": ({"sha256": "ab" * 32}, f"runs another model, {'ab' * 32}"),
    "no file": ({"sha256": "00" * 32}, "runs a model without a file"),
    "tinyrt": ({"version": "0.0.9"}, "runs this model as tinyrt 0.0.9 exported it"),
    "inputs": ({"inputs": 41}, "holds inputs of 41 bytes, outputs of 2"),
    "outputs": ({"outputs": 9}, "holds inputs of 40 bytes, outputs of 9"),
    "payload": ({"payload": 15}, "answers IDENTIFY with payloads of at most 15 bytes"),
}


@pytest.mark.parametrize("which", IDENTITIES)
def test_another_model_or_build_is_refused(which, net, monkeypatch):
    other, said = IDENTITIES[which]
    own = "cd" * 32
    monkeypatch.setattr(identity, "sha256_of", lambda path: own)
    with (
        net.board(**{"sha256": own, **other}) as board,
        pytest.raises(ToolError, match=said) as caught,
    ):
        validate(net, board)
    assert caught.value.hint
    assert {command for command, _ in board.frames} == {Command.IDENTIFY}


@pytest.mark.parametrize(
    ("nbytes", "said"),
    [
        (0, "answers IDENTIFY with 0 bytes"),
        (39, "answers IDENTIFY with 39 bytes"),
        (62, "with 62 bytes"),
        (63, "as tinyrt  exported"),
    ],
)
def test_an_identity_may_end_before_the_version_and_no_earlier(nbytes, said, net):
    short = only(Command.IDENTIFY, lambda c, n, s, p: sealed(c | 0x80, s, p[: 1 + nbytes]))
    with net.board(short) as board, pytest.raises(ToolError, match=said):
        validate(net, board)


@pytest.mark.parametrize("there", [[], ["/dev/ttyB", "/dev/ttyA"]])
def test_a_port_that_is_not_there_is_named(there, net, tmp_path, monkeypatch):
    ports = [SimpleNamespace(device=name) for name in there]
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    with pytest.raises(ToolError, match="nothing at 9600 baud") as caught:
        tinyrt.validate(net.path, port=str(tmp_path / "nothing"), baud=9600)
    assert "dialout" in caught.value.hint
    assert caught.value.expected.endswith(", ".join(sorted(there)) or "none")


def test_without_pyserial_it_is_said_how_to_install_it(net, monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(ToolError, match="not installed") as caught:
        tinyrt.validate(net.path, port="p")
    assert caught.value.hint == "pip install 'tinyrt[serial]'"


def test_sequence_numbers_go_around(net):
    with net.board() as board:
        report = validate(net, board, samples=100)
    assert report.equal == 100
    numbers = [number for _, number in board.frames]
    assert numbers == [(i + 1) % 256 for i in range(302)]
