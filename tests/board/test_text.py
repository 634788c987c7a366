"""Text commands of an exported port, as MLPerf Tiny's host runner reads their answers."""

import re
import struct

import numpy as np
import pytest

from tests.board.host import answered, build
from tests.export.models import dense
from tests.sampling import sampled
from tinyrt import __version__
from tinyrt.export import ExportOptions, export_graph
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.shared.spec import NoAttrs

HERTZ = 1_000_000


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dense")
    return build(
        export_graph(
            dense("kws01"), folder / "model", core="host", options=ExportOptions(board=True)
        ),
        folder,
    )


def lines(program, text, *arguments):
    """What is written behind the greeting, by lines."""
    data = answered(program, text.encode(), *(arguments or (HERTZ,))).decode()
    greeting = "m-init-done\r\nm-ready\r\n"
    assert data.startswith(greeting)
    assert data.count("\n") == data.count("\r\n")
    return data[len(greeting) :].split("\r\n")[:-1]


def results(x):
    """The two outputs for these four inputs, with three decimals."""
    (y,) = Model(dense()).run_raw({"x": np.array([x], np.int8)}).values()
    return ",".join(f"{(int(v) - 3) * 0.5:.3f}" for v in y.ravel())


HELP = [
    "name, timestamp, profile, help, db load N, db HEX.., db print [N] [OFFSET],",
    "infer [N] [WARMUP], results; each with a percent sign behind it",
]
ANSWERS = {
    "%": [],
    "   %": [],
    "name%": ["m-name-dut-[kws01]"],
    "\r\n name %": ["m-name-dut-[kws01]"],
    "profile%": [f"m-profile-[tinyrt {__version__}]", "m-model-[kws01]"],
    "timestamp%": ["m-lap-us-1500"],
    "help%": HELP,
    "names%": ["e-[Unknown command: names]"],
    "nam%": ["e-[Unknown command: nam]"],
    "results%": ["e-[Nothing has run yet]"],
    "infer 1 0%": ["e-[Load an input first: db load N]"],
    "infer 0%": ["e-[Inference iterations must be a number above 0]"],
    "infer x%": ["e-[Inference iterations must be a number above 0]"],
    "infer 1234567890%": ["e-[Inference iterations must be a number above 0]"],
    "infer 1 -1%": ["e-[Inference warmup must be a number]"],
    "db%": ["e-[Command 'db' requires a subcommand]"],
    "db load%": ["e-[Command 'db load' must be of 4 bytes]"],
    "db load 5%": ["e-[Command 'db load' must be of 4 bytes]"],
    "db 01%": ["e-[No bytes are expected: db load N comes first]"],
    "db load 4%": ["m-[Expecting 4 bytes]"],
    "db 0%": ["e-[Insufficient number of hex digits]"],
    "db 0g%": ["e-[Invalid hex digit]"],
    "db print%": ["m-buffer-00-00-00-00"],
    "db print 2%": ["m-buffer-00-00"],
    "db print 9 3%": ["m-buffer-00"],
    "db print x%": ["e-[Command 'db print' takes two numbers]"],
    "db print 1 x%": ["e-[Command 'db print' takes two numbers]"],
    "x" * 263 + "%": ["e-[Unknown command: " + "x" * 263 + "]"],
    "x" * 264 + "%": ["e-[The command is too long]"],
}


def test_each_command_has_its_answer(program):
    found = lines(program, "".join(ANSWERS))
    assert found == [line for answer in ANSWERS.values() for line in (*answer, "m-ready")]


@pytest.mark.parametrize("garbage", [b"\xa5", b"\x01", b"\x1f", b"\x7f", b"\xff", b"\r\n"])
def test_other_bytes_begin_a_line_anew(garbage, program):
    said = answered(program, b"na" + garbage + b"me%" + b"x" + garbage + b"name%")
    assert said.endswith(b"e-[Unknown command: me]\r\nm-ready\r\nm-name-dut-[kws01]\r\nm-ready\r\n")


def test_a_session_of_the_host_runner(program):
    """Loads in parts, warms up, measures, and reads the results; all of it twice."""
    for x in ((1, 2, 3, 4), (-128, 127, 0, -1)):
        data = struct.pack("4b", *x).hex()
        text = f"name%profile%timestamp%db load 4%db {data[:4]}%db {data[4:]}%db print%infer 3 1%"
        found = lines(program, text + "results%")
        assert found[:7] == [
            *("m-name-dut-[kws01]", "m-ready", f"m-profile-[tinyrt {__version__}]"),
            *("m-model-[kws01]", "m-ready", "m-lap-us-1500", "m-ready"),
        ]
        assert found[7:] == [
            *("m-[Expecting 4 bytes]", "m-ready", "m-ready", "m-load-done", "m-ready"),
            *(f"m-buffer-{'-'.join(data[i : i + 2] for i in range(0, 8, 2))}", "m-ready"),
            *("m-warmup-start-1", "m-warmup-done", "m-infer-start-3", "m-lap-us-3000"),
            *("m-lap-us-4500", "m-infer-done", f"m-results-[{results(x)}]", "m-ready"),
            *(f"m-results-[{results(x)}]", "m-ready"),
        ]


def test_an_inference_takes_one_after_ten_warm_ups_where_nothing_is_said(program):
    found = lines(program, "db load 4%db 01020304%infer%infer 2%")
    assert [s for s in found if "start" in s] == [
        *("m-warmup-start-10", "m-infer-start-1", "m-warmup-start-10", "m-infer-start-2")
    ]


def test_more_bytes_than_announced_are_left_out_and_too_few_load_nothing(program):
    found = lines(program, "db load 4%db 0102%infer 1 0%db 0304ffff%db print%db 05%")
    assert found == [
        *("m-[Expecting 4 bytes]", "m-ready", "m-ready"),
        *("e-[Load an input first: db load N]", "m-ready", "m-load-done", "m-ready"),
        *("m-buffer-01-02-03-04", "m-ready"),
        *("e-[No bytes are expected: db load N comes first]", "m-ready"),
    ]


def test_what_is_loaded_can_be_converted(program):
    found = lines(program, "db load 4%db 0080ff7F%db print%", HERTZ, "flip")
    assert found[4] == "m-buffer-80-00-7f-ff"


@pytest.mark.parametrize("hertz", [3, 168_000_000, 4_000_000_000])
def test_ticks_are_microseconds(program, hertz):
    found = lines(program, "timestamp%timestamp%", hertz)
    assert found[0::2] == [f"m-lap-us-{ticks * 10**6 // hertz}" for ticks in (1500, 3000)]


def test_a_clock_that_is_not_known_tells_no_time(program):
    said = "e-[The clock's ticks per second are unknown]"
    found = lines(program, "timestamp%db load 4%db 01020304%infer 1 0%", 0)
    assert found[:2] == [said, "m-ready"]
    assert [s for s in found if "lap" in s] == []
    assert found[-2].startswith("m-results-[")


def test_buffers_are_shown_by_eight_bytes(tmp_path):
    project = export_graph(
        dense(size=10), tmp_path / "model", core="host", options=ExportOptions(board=True)
    )
    found = lines(build(project, tmp_path), "db load 10%db 000102030405060708 09%db 00%db print 9%")
    assert found[-3:] == ["m-buffer-00-01-02-03-04-05-06-07", "m-buffer-08", "m-ready"]


def relu(dtype, q, count):
    values = [Value(name, dtype, (1, count), q) for name in "xy"]
    node = Node("relu", "relu", ("x",), ("y",), NoAttrs())
    return verify(Graph("net", ("x",), ("y",), {v.name: v for v in values}, (node,)))


SCALES = sampled((1 / 3,), (1 / 3, 1.7e-9, 5e-4, 1.0, 12345.678, 3e10, 2.0**-140))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("dtype", "zero"), [(DType.INT8, -5), (DType.INT16, 0)])
def test_quantised_results_are_real_numbers(scale, dtype, zero, tmp_path):
    scale = float(np.float32(scale))
    graph = relu(dtype, QParams((scale,), zero), 5)
    program = build(
        export_graph(graph, tmp_path / "model", core="host", options=ExportOptions(board=True)),
        tmp_path,
    )
    most = np.iinfo(dtype.numpy).max
    x = np.array([zero, zero + 1, 17, most - 1, most], dtype.numpy)
    text = f"db load {x.nbytes}%db {x.tobytes().hex()}%infer 1 0%"
    (found,) = (s for s in lines(program, text) if "results" in s)
    shown = [float(s) for s in re.search(r"\[(.*)\]", found)[1].split(",")]
    exact = [(int(v) - zero) * scale for v in x]
    assert np.allclose(shown, exact, rtol=1e-15, atol=0.5000001e-3)
    assert all(re.fullmatch(r"\d+\.\d{3}", s) for s in found[len("m-results-[") : -1].split(","))


def test_integers_without_a_scale_are_shown_as_they_are(tmp_path):
    types = {"x": DType.INT32, "y": DType.INT32, "z": DType.UINT32}
    values = {name: Value(name, dtype, (1, 6)) for name, dtype in types.items()}
    nodes = [Node("cast", n, ("x",), (n,), CastAttrs(types[n])) for n in "yz"]
    graph = verify(Graph("net", ("x",), ("y", "z"), values, tuple(nodes)))
    options = ExportOptions(board=True)
    project = export_graph(graph, tmp_path / "model", core="host", options=options)
    x = np.array([0, -1, 9, 1234567890, 2**31 - 1, -(2**31)], np.int32)
    text = f"db load 24%db {x.tobytes().hex()}%infer 1 0%"
    (found,) = (s for s in lines(build(project, tmp_path), text) if "results" in s)
    shown = [*x.tolist(), *x.astype(np.uint32).tolist()]
    assert found == f"m-results-[{','.join(map(str, shown))}]"


def test_float_results_are_rounded_to_three_decimals(tmp_path):
    graph = relu(DType.FLOAT32, None, 16)
    program = build(
        export_graph(graph, tmp_path / "model", core="host", options=ExportOptions(board=True)),
        tmp_path,
    )
    rng = np.random.default_rng(7)
    values = [0.0, 1.0, 0.4, 1e-3, 5e-4, 4.9e-4, 1e-40, 123456.789, 2.0**24, 2.0**52, 9e15, 1e30]
    x = np.array([*values, np.inf, *rng.standard_normal(3) ** 2], np.float32)
    data = x.tobytes().hex()
    parts = "".join(f"db {data[i : i + 60]}%" for i in range(0, len(data), 60))
    (found,) = (s for s in lines(program, f"db load 64%{parts}infer 1 0%") if "results" in s)
    for value, text in zip(x.tolist(), found[len("m-results-[") : -1].split(","), strict=True):
        if value < 2.0**53:
            assert text == f"{round(value, 3):.3f}" or abs(float(text) - value) <= 5.0001e-4
        else:
            assert text == "inf"
