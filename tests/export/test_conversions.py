"""What converts values between a product's types and a port's: as the host does, on any core."""

import re
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.asked import asked
from tests.c.host import SANITIZE, host_compiler
from tests.convert.test_port_types import ODD, stored
from tests.dsp.device import run_invoke
from tests.export.models import dense, views
from tests.firmware.device import require_core
from tests.listening import float_net, int8_net
from tests.sampling import sampled
from tinyrt.convert.port_types import with_port_types
from tinyrt.export import Port, export_graph
from tinyrt.ir import DType, QParams
from tinyrt.ops.shared.lut import rescale
from tinyrt.ops.shared.requant import multiplier
from tinyrt.quantize import QuantConfig
from tinyrt.quantize.config import Scheme

SOURCE = (Path(__file__).parent / "conversions.c").read_text()
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wdouble-promotion", "-Werror"]
STRICT = [*WARNINGS, "-pedantic-errors"]
CORES = ["cortex-m0", "cortex-m4", "rv32imc"]
POINTS = [(-128, 127), (127, -128), (3, -7)]
"""Zero points of the input and the output."""


def graph_of(zero_points, scale=0.0235):
    """A dense layer between such ports."""
    graph = dense("net")
    x, y = (QParams((s,), z) for s, z in zip((scale, scale * 40), zero_points, strict=True))
    w = graph.value("w")
    bias = QParams((float(np.float32(scale) * np.float32(w.q.scale)),))
    changed = {"x": x, "y": y, "b": bias}
    values = {n: replace(v, q=changed.get(n, v.q)) for n, v in graph.values.items()}
    return replace(graph, values=values)


def floats_for(value, count=3_000):
    """Halves, what lies beside them, corners, and any other."""
    scale = np.float32(value.q.scale)
    halves = ((np.arange(-300, 300) + 0.5) * scale).astype(np.float32)
    beside = [np.nextafter(halves, np.float32(side)) for side in (-1e9, 1e9)]
    ends = np.float32([255, 256, 257, -255, -256, -257, 65535, 65536, -65536, -65535]) * scale
    rng = np.random.default_rng(7)
    wide = rng.normal(0, 1, count) * 10.0 ** rng.uniform(-3, 6, count) * scale
    return np.concatenate([ODD, ends, halves, *beside, wide]).astype(np.float32)


def expected(graph, floats, shorts):
    """What C has to write: quantised floats and int16, and all conversions of each byte."""
    (x,), (y,) = graph.input_values, graph.output_values
    scaled = rescale(shorts.astype(np.int64), *multiplier(1 / 128))
    s16 = np.clip(scaled + x.q.zero_point, -128, 127).astype(np.int8)
    bytes_ = np.arange(-128, 128)
    rows = np.zeros(256, [("q", "i1"), ("u8", "u1"), ("s16", "<i2"), ("f32", "<f4")])
    rows["q"], rows["u8"] = bytes_, bytes_ + 128
    rows["s16"] = (bytes_ - y.q.zero_point) * 128
    rows["f32"] = np.float32(y.q.scale) * (bytes_ - y.q.zero_point).astype(np.float32)
    return stored(x, floats).tobytes() + s16.tobytes() + rows.tobytes()


def source_of(floats, shorts, port="int8_t", *, blob=False, program=False):
    sizes = {"FLOATS": len(floats), "SHORTS": len(shorts), "PORT": port}
    sizes |= {"EACH": 8 if port == "int8_t" else 0}
    sizes |= {name: 1 for name, wanted in (("BLOB", blob), ("PROGRAM", program)) if wanted}
    return "".join(f"#define {n} {v}\n" for n, v in sizes.items()) + SOURCE


def run_here(graph, folder, floats, shorts, port="int8_t", **options):
    """What a program of this machine writes, built with sanitizers and every warning."""
    blob = options.get("blob", False)
    sources = ["main.c", "net_blob.c", "net.c", "tinyrt/*.c"] if blob else ["main.c"]
    export_graph(graph, folder, core="host", **asked(name="net", **options))
    (folder / "main.c").write_text(source_of(floats, shorts, port, blob=blob, program=True))
    command = [host_compiler(), "-std=c99", *STRICT, *SANITIZE.split(), "-o", "program"]
    subprocess.run(" ".join([*command, *sources]), cwd=folder, shell=True, check=True)
    data = floats.tobytes() + shorts.tobytes()
    done = subprocess.run([folder / "program"], input=data, capture_output=True, check=True)
    return done.stdout


EVERY_SHORT = np.arange(-(1 << 15), 1 << 15).astype(np.int16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("zero_points", "blob"),
    sampled(
        [(POINTS[0], False), (POINTS[1], True), (POINTS[2], False)],
        [*product(POINTS, (False, True))],
    ),
)
def test_all_values_are_as_the_host_has_them(zero_points, blob, tmp_path):
    graph = graph_of(zero_points)
    floats = floats_for(graph.value("x"))
    found = run_here(graph, tmp_path, floats, EVERY_SHORT, blob=blob)
    assert found == expected(graph, floats, EVERY_SHORT)


@pytest.mark.slow
def test_ports_of_other_types(tmp_path):
    wide = int8_net(config=QuantConfig(scheme=Scheme.INT16X8))
    unsigned = with_port_types(graph_of((3, -7)), DType.UINT8, DType.UINT8)
    none = EVERY_SHORT[:0]
    for graph, port in ((wide, "int16_t"), (unsigned, "uint8_t")):
        value = graph.input_values[0]
        floats = floats_for(value)
        found = run_here(graph, tmp_path / port, floats, none, port)
        np.testing.assert_array_equal(
            np.frombuffer(found, value.dtype.numpy), stored(value, floats)
        )
        header = (tmp_path / port / "net.h").read_text()
        assert f"net_dequantize_f32({port} value)" in header
        assert not re.search("quantize_(u8|s16)", header)


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_cores_convert_as_the_host_does(core, tmp_path):
    require_core(core)
    graph = graph_of((3, -7))
    floats, shorts = floats_for(graph.value("x"), 600), EVERY_SHORT[::61]
    project = export_graph(graph, tmp_path / "net", core=core, **asked(name="net"))
    want = expected(graph, floats, shorts)
    data = np.frombuffer(floats.tobytes() + shorts.tobytes(), np.uint8)[None]
    invoke = source_of(floats, shorts)
    _, done = run_invoke(project.directory, "net", core, tmp_path, invoke, data, 64, len(want))
    assert done.outputs == want


def test_each_port_has_its_own(tmp_path):
    header = export_graph(views(), tmp_path / "a", **asked(name="net")).directory / "net.h"
    text = header.read_text()
    assert "int8_t net_quantize_f32(float real)" in text
    for i in (0, 1):
        assert f"float net_dequantize_f32_{i}(int8_t value)" in text
        assert f"(int32_t)value - NET_OUTPUT_{i}_ZERO_POINT;" in text
    header = export_graph(float_net(), tmp_path / "b", **asked(name="net")).directory / "net.h"
    assert "quantize" not in header.read_text()
    # Nor has what a file gives a scale and is none of these.
    for dtype, limits in (
        *((DType.FLOAT32, None), (DType.INT32, None), (DType.INT8, (-128, 127))),
        *((DType.UINT8, (0, 255)), (DType.INT16, (-32768, 32767))),
    ):
        assert Port("x", dtype, (1,), 0, 4, 0.5, 0).limits == limits
        assert Port("x", dtype, (1,), 0, 4, None, None).limits is None


@pytest.mark.parametrize(("language", "standard"), [("c", "c99"), ("c++", "c++11")])
def test_a_header_that_is_not_used_costs_nothing(language, standard, tmp_path):
    """Nor a warning, also as C++."""
    export_graph(dense(), tmp_path, core="host", **asked(name="net"))
    (tmp_path / "main.c").write_text('#include "net.h"\n')
    options = ["-x", language, f"-std={standard}", *STRICT, "-O0", "-c", "main.c", "-o", "main.o"]
    subprocess.run([host_compiler(), *options], cwd=tmp_path, check=True)
    symbols = subprocess.run(["nm", "main.o"], cwd=tmp_path, capture_output=True, check=True)
    assert symbols.stdout == b""
