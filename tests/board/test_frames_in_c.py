"""The exported port, by frames: answers are the interpreter's, and each fault has its number."""

import struct
import subprocess

import numpy as np
import pytest

from tests.asked import asked
from tests.board.host import ProgramLine, answered, build
from tests.c.host import host_compiler
from tests.export.models import dense, echo, views
from tests.graphs import small_cnn
from tests.memory.nets import random_net
from tests.quantize.test_mixed import samples
from tests.sampling import sampled
from tinyrt import __version__
from tinyrt.board import Session, Subject, validate_on
from tinyrt.board.frames import Reader, frame
from tinyrt.errors import UnsupportedError
from tinyrt.export import Memories, export_graph
from tinyrt.export.board import PAYLOAD_BYTES, Command, Fault, Places
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.memory import Region
from tinyrt.ops import verify
from tinyrt.ops.shared.samples import random_inputs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

SHA256 = "0123456789abcdef" * 4
GREETING = b"m-init-done\r\nm-ready\r\n"
LIMIT_S = 20.0


def cnn():
    return quantize_graph(small_cnn(), samples(50), QuantConfig())


def exported(graph, folder, **options):
    options = {"core": "host", "board": True, "model_sha256": SHA256, **options}
    return export_graph(graph, folder / "model", **asked(**options))


def answers_of(data):
    """Command, sequence number, fault and the rest of each answer."""
    return [
        (a.command, a.sequence, Fault(a.payload[0]), a.payload[1:]) for a in Reader().take(data)
    ]


REGIONS = Memories((Region("dtcm", 16), Region("sram")))
MODELS = {
    "cnn": (cnn, {}),
    "float": (small_cnn, {}),
    "two outputs": (views, {}),
    "state": (echo, {"selftest": 1}),
    "rows": (lambda: random_net(28), {"input_rows": True}),
    "regions": (dense, {"memories": REGIONS}),
    "slices": (dense, {"slices": 5_000}),
    "outside": (dense, {"memories": Memories(inputs_in_arena=False, outputs_in_arena=False)}),
}


@pytest.mark.parametrize("name", sampled(["two outputs", "state"], MODELS))
def test_answers_are_the_hosts(name, tmp_path):
    graph, options = MODELS[name][0](), MODELS[name][1]
    project = exported(graph, tmp_path, **options)
    inputs, outputs = (tuple(map(graph.value, names)) for names in (graph.fed, graph.answers))
    feeds = random_inputs(graph, 3)
    expected = Model(graph).run_raw(feeds)
    runs = [
        {v.name: arrays[v.name].reshape(3, *v.shape) for v in values}
        for arrays, values in ((feeds, inputs), (expected, outputs))
    ]
    with ProgramLine(build(project, tmp_path), 2_000_000) as line:
        report = validate_on(line, Subject(SHA256, inputs, outputs), *runs, answer_s=LIMIT_S)
        again = validate_on(line, Subject(SHA256, inputs, outputs), *runs, answer_s=LIMIT_S)
    assert (report.samples, report.equal, report.difference) == (3, 3, None)
    assert report.as_dict()["milliseconds"] == {"min": 0.75, "median": 0.75, "max": 0.75}
    assert again == report
    sizes = [Places.of([v.nbytes for v in values]).nbytes for values in (inputs, outputs)]
    assert report.identity.as_dict() == {
        "export": project.identity,
        "model_sha256": SHA256,
        "tinyrt_version": __version__,
        "arena_bytes": project.arena_bytes,
        "state_bytes": project.state_bytes,
        "ticks_per_second": 2_000_000,
        "selftest": "selftest" in options,
    }
    assert report.passed is (True if "selftest" in options else None)
    identity = report.identity
    assert [identity.input_bytes, identity.output_bytes] == sizes
    assert identity.payload_bytes == PAYLOAD_BYTES
    assert project.board.as_dict() == {
        "protocol": 1,
        "input_bytes": sizes[0],
        "output_bytes": sizes[1],
    }


def load(data, at=0):
    return struct.pack("<I", at) + data


def read(at, count):
    return struct.pack("<IH", at, count)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model of 4 bytes in and 2 out, as a program, and its graph."""
    folder = tmp_path_factory.mktemp("dense")
    return build(exported(dense(), folder, selftest=1), folder), dense()


FAULTS = {
    "unknown": (0x70, b"", Fault.UNKNOWN_COMMAND),
    "identify": (Command.IDENTIFY, b"x", Fault.BAD_LENGTH),
    "load nothing": (Command.LOAD, b"\0\0\0", Fault.BAD_LENGTH),
    "load all": (Command.LOAD, load(b"abcd"), Fault.OK),
    "load the end": (Command.LOAD, load(b"", 4), Fault.OK),
    "load too much": (Command.LOAD, load(b"abcde"), Fault.OUT_OF_RANGE),
    "load behind": (Command.LOAD, load(b"", 5), Fault.OUT_OF_RANGE),
    "load far": (Command.LOAD, load(b"abcd", 0xFFFFFFFE), Fault.OUT_OF_RANGE),
    "run with": (Command.RUN, b"x", Fault.BAD_LENGTH),
    "read short": (Command.READ, b"\0\0\0\0\0", Fault.BAD_LENGTH),
    "read with": (Command.READ, read(0, 2) + b"x", Fault.BAD_LENGTH),
    "read too much": (Command.READ, read(0, 3), Fault.OUT_OF_RANGE),
    "read behind": (Command.READ, read(3, 0), Fault.OUT_OF_RANGE),
    "read far": (Command.READ, read(0xFFFFFFFF, 2), Fault.OUT_OF_RANGE),
    "read long": (Command.READ, read(0, 0xFFFF), Fault.OUT_OF_RANGE),
    "reset with": (Command.RESET, b"x", Fault.BAD_LENGTH),
    "test with": (Command.SELFTEST, b"x", Fault.BAD_LENGTH),
}


def test_each_fault_has_its_number(small):
    requests = [
        frame(command, i, payload) for i, (command, payload, _) in enumerate(FAULTS.values())
    ]
    data = answered(small[0], b"".join(requests))
    assert data.startswith(GREETING)
    found = [(command, i, fault) for command, i, fault, _ in answers_of(data)]
    assert found == [(command, i, fault) for i, (command, _, fault) in enumerate(FAULTS.values())]
    assert all(rest == b"" for *_, rest in answers_of(data))


def test_nothing_runs_before_a_load_and_nothing_is_read_before_a_run(small):
    steps = [
        (Command.RUN, b"", Fault.NOTHING_LOADED),
        (Command.READ, read(0, 2), Fault.NOTHING_RUN),
        (Command.LOAD, load(b"\1\2\3\4"), Fault.OK),
        (Command.READ, read(0, 2), Fault.NOTHING_RUN),
        (Command.RUN, b"", Fault.OK),
        (Command.READ, read(0, 2), Fault.OK),
        (Command.READ, read(1, 1), Fault.OK),
        (Command.RESET, b"", Fault.OK),
        (Command.READ, read(0, 2), Fault.NOTHING_RUN),
    ]
    data = b"".join(frame(command, i, payload) for i, (command, payload, _) in enumerate(steps))
    found = answers_of(answered(small[0], data))
    assert [fault for _, _, fault, _ in found] == [fault for *_, fault in steps]
    (y,) = Model(small[1]).run_raw({"x": np.array([[1, 2, 3, 4]], np.int8)}).values()
    assert found[4][3] == struct.pack("<iQ", 0, 1500)
    assert (found[5][3], found[6][3]) == (y.tobytes(), y.tobytes()[1:])


def test_a_model_that_fails_says_its_status_and_has_no_output(small):
    steps = [(Command.LOAD, load(b"abcd")), (Command.RUN, b""), (Command.READ, read(0, 2))]
    data = b"".join(frame(command, i, payload) for i, (command, payload) in enumerate(steps))
    written = answered(small[0], data + b"infer 1 0%infer 1 1%results%", 1000, "flip", "misaligned")
    found = answers_of(written)
    assert [fault for _, _, fault, _ in found] == [Fault.OK, Fault.MODEL_FAILED, Fault.NOTHING_RUN]
    assert found[1][3] == struct.pack("<iQ", 2, 1500)
    said = b"e-[The model answers status 2]\r\nm-ready\r\n"
    warm, start = (
        b"m-warmup-start-%d\r\n",
        b"m-warmup-done\r\nm-infer-start-1\r\nm-lap-us-4500000\r\n",
    )
    end = b"e-[Nothing has run yet]\r\nm-ready\r\n"
    assert written.endswith(warm % 0 + start + said + warm % 1 + said + end)


class DamagingLine(ProgramLine):
    """Makes the first RUN a frame of 250 bytes more, which never come."""

    damaged = False

    def write(self, data):
        if data[2] == Command.RUN and not self.damaged:
            self.damaged = True
            data = data[:4] + bytes([250]) + data[5:]
        super().write(data)


def test_a_board_that_waits_for_the_rest_of_a_frame_is_woken(small):
    graph = small[1]
    feeds = random_inputs(graph, 2)
    with DamagingLine(small[0]) as line:
        session = Session(line, 1.0)
        assert session.identify().model_sha256 == SHA256
        session.load(feeds["x"][0].tobytes(), PAYLOAD_BYTES)
        assert session.run() == 1500
        assert session.outputs(2, PAYLOAD_BYTES) == Model(graph).run_raw(feeds)["y"][0].tobytes()
    assert line.damaged


def test_the_last_frame_again_gets_the_last_answer_and_runs_nothing(small):
    run = frame(Command.RUN, 7)
    data = frame(Command.LOAD, 6, load(b"abcd")) + run + run
    damaged = run[:-1] + bytes([run[-1] ^ 1])
    data += damaged + run + frame(Command.RUN, 8)
    found = answers_of(answered(small[0], data))
    ticks = [struct.unpack("<iQ", rest)[1] for *_, rest in found[1:] if rest]
    assert [fault for _, _, fault, _ in found] == [Fault.OK] * 3 + [Fault.BAD_CRC] + [Fault.OK] * 2
    assert found[1] == found[2] == found[4]
    assert ticks == [1500] * 4
    # The clock counts each look at it: two inferences took four.
    last = answered(small[0], data + b"timestamp%", 1_000_000)
    assert b"m-lap-us-7500\r\n" in last


def test_a_conversation_that_begins_runs_what_the_last_one_ran(small):
    run = frame(Command.LOAD, 6, load(b"abcd")) + frame(Command.RUN, 2)
    ask = frame(Command.IDENTIFY, 1)
    found = answers_of(answered(small[0], run + ask + ask + frame(Command.RUN, 2) + b"timestamp%"))
    assert found[2] == found[3]
    assert found[2][3][:3] == b"\1\1\0"
    ran = answered(small[0], run + ask + frame(Command.RUN, 2) + b"timestamp%", 1_000_000)
    assert b"m-lap-us-7500\r\n" in ran


def test_the_first_frame_is_no_repeated_one_whatever_its_crc(small):
    """Four bytes of data for which the CRC is that of no frame: 0."""
    first = frame(Command.LOAD, 1, load(struct.pack("<I", 0xFA5B50)))
    assert first[-4:] == bytes(4)
    assert answers_of(answered(small[0], first)) == [(Command.LOAD, 1, Fault.OK, b"")]


def test_frames_that_are_too_long_or_damaged_are_answered(small):
    longest = frame(Command.LOAD, 1, bytes(PAYLOAD_BYTES))
    longer = frame(Command.LOAD, 2, bytes(PAYLOAD_BYTES + 1))
    found = answers_of(answered(small[0], longest + longer + frame(Command.LOAD, 3, load(b"abcd"))))
    assert [fault for _, _, fault, _ in found] == [Fault.OUT_OF_RANGE, Fault.TOO_LONG, Fault.OK]
    assert found[1][:2] == (Command.LOAD, 2)


def test_the_project_tests_itself_on_request(small, tmp_path):
    with ProgramLine(small[0]) as line:
        session = Session(line, LIMIT_S)
        assert session.identify().has_selftest
        found = session.selftest()
    fields = ("vector", "op_expected", "op_found", "byte", "expected", "found")
    assert found == dict.fromkeys(("status", *fields), 0) | {"op": -1, "output": -1}
    without = build(exported(dense(), tmp_path), tmp_path)
    ((*_, fault, _),) = answers_of(answered(without, frame(Command.SELFTEST, 1)))
    assert fault is Fault.UNKNOWN_COMMAND


def test_the_state_begins_anew_with_a_reset(tmp_path):
    """y = x + the input before it."""
    program = build(exported(echo(), tmp_path), tmp_path)
    step = frame(Command.RUN, 2) + frame(Command.READ, 3, read(0, 4))
    again = frame(Command.RUN, 4) + frame(Command.READ, 5, read(0, 4))
    first = frame(Command.LOAD, 1, load(b"\5\5\5\5")) + step
    found = answers_of(answered(program, first + again + frame(Command.RESET, 6) + step))
    outputs = [rest for command, _, _, rest in found if command == Command.READ]
    assert outputs[0] != outputs[1]
    assert outputs[0] == outputs[2]


MISSING = {
    "0, &calls, memory": 6,
    "&port, 0, memory": 6,
    "&port, &mute, memory": 6,
    "&port, &timeless, memory": 6,
    "&port, &calls, 0": 1,
    "&port, &calls, memory": 0,
}


def test_what_is_missing_at_the_start_is_a_status(small, tmp_path):
    starts = "".join(f'    printf("%d ", net_board_start({each}));\n' for each in MISSING)
    (tmp_path / "main.c").write_text(
        f"""#include <stdio.h>
#include "net_board.h"
static void put(void *c, const uint8_t *b, uint32_t n) {{ (void)c; (void)b; (void)n; }}
static uint64_t now(void *c) {{ (void)c; return 0; }}
static uint64_t memory[NET_ARENA_BYTES];
static struct net_board port;
int main(void) {{
    const net_board_calls_t calls = {{0, put, now, 0, 0}};
    const net_board_calls_t mute = {{0, 0, now, 0, 0}};
    const net_board_calls_t timeless = {{0, put, 0, 0, 0}};
{starts}    return 0;
}}
"""
    )
    model = small[0].parent / "model"
    sources = [tmp_path / "main.c", *model.glob("*.c"), *model.glob("tinyrt/*.c")]
    command = [host_compiler(), f"-I{model}", *sources, "-lm", "-o", tmp_path / "main"]
    subprocess.run(command, check=True)
    said = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout
    assert list(map(int, said.split())) == list(MISSING.values())


def test_a_blob_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="a blob brings others"):
        exported(dense(), tmp_path, blob=True)
    assert not list(tmp_path.iterdir())


def test_tensors_begin_at_multiples_of_eight():
    assert Places.of([3, 8, 1]) == Places((0, 8, 16), 17)
    assert Places.of([9, 2]) == Places((0, 16), 18)


def test_an_answer_holds_what_a_payload_does(tmp_path):
    program = build(exported(scaled(0.5, PAYLOAD_BYTES), tmp_path), tmp_path)
    data = bytes(range(1, 101))
    steps = [(Command.LOAD, load(data)), (Command.RUN, b"")]
    steps += [(Command.READ, read(0, n)) for n in (PAYLOAD_BYTES - 1, PAYLOAD_BYTES)]
    requests = (frame(command, i, payload) for i, (command, payload) in enumerate(steps))
    found = answers_of(answered(program, b"".join(requests)))
    assert [fault for _, _, fault, _ in found] == [Fault.OK] * 3 + [Fault.OUT_OF_RANGE]
    assert found[2][3] == data + bytes(PAYLOAD_BYTES - 1 - len(data))


def scaled(scale, count=4):
    q = QParams((scale,), 0)
    values = [Value(name, DType.INT8, (1, count), q) for name in "xy"]
    node = Node("relu", "relu", ("x",), ("y",), NoAttrs())
    return verify(Graph("net", ("x",), ("y",), {v.name: v for v in values}, (node,)))


def test_a_scale_that_cannot_be_printed_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="a port prints values below"):
        exported(scaled(3.6e10), tmp_path)
    assert exported(scaled(3.5e10), tmp_path).board
