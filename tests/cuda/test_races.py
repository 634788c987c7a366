"""Every access of the device code to memory: no two threads may meet between two barriers."""

from dataclasses import replace

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.cuda.devices import ops_on
from tests.cuda.requirements import needs_cxx
from tests.cuda.watched import WatchedDevice
from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt.backends.cuda.layout import LATENCY, THROUGHPUT, Shape
from tinyrt.backends.cuda.program import DeviceProgram, Kernel, Port, generate
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.ops.shared.spec import Form

pytestmark = [pytest.mark.slow, needs_cxx]
BY_OPS = Shape(threads=64, fused=False)
MODELS = {
    "resnet8": THROUGHPUT,
    "dscnn_kws": LATENCY,
    "autoencoder_ad": THROUGHPUT,
    "streaming_wakeword": BY_OPS,
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.whole
def test_threads_of_zoo_models_do_not_meet(zoo, tmp_path, name):
    program = generate(read_tflite(zoo / "models" / f"{name}_int8.tflite"), MODELS[name])
    device = WatchedDevice(program, tmp_path)
    samples = 3 * program.samples if program.fused else 1
    rng = np.random.default_rng(1)
    (port,) = program.inputs
    device.run({port.name: rng.integers(0, 256, (samples, port.nbytes)).astype(np.uint8)}, samples)


@pytest.mark.parametrize(
    ("form", "build", "seeds"),
    [
        (Form.INT8, build_s8, 1),
        pytest.param(Form.INT16X8, build_s16, 2, marks=pytest.mark.whole),
    ],
)
def test_threads_of_every_op_do_not_meet(tmp_path, form, build, seeds):
    ops = ops_on(form)[sampled(1, 0) :: sampled(4, 1)]
    graph, feeds = graph_of({op: CASES[op] for op in ops}, range(seeds), build)
    states = tuple(name for name in graph.values if name.endswith(("/out1", "/out2")))
    graph = replace(graph, outputs=(*graph.outputs, *states))
    WatchedDevice(generate(graph, Shape(threads=96)), tmp_path).run(feeds, 1, 1)


WRITES, READS = "t.arena[t.thread] = 1", "port_0[t.thread] = t.arena[t.thread / 2]"


FAULTS = [
    ([WRITES, READS], None, False),
    ([f"{WRITES}, {READS}"], "race of 1 bytes", True),
    ([READS], "read of what was not written of 1 bytes", True),
    (["port_0[t.thread] = t.weights[t.thread]"], "access outside", True),
    ([WRITES, READS], None, True),
    ([f"{WRITES}, {READS}"], "race of 1 bytes", False),
    (["store4(t.arena + 4 * (t.thread / 2), 7)"], "race of 4 bytes at 0 of the arena", True),
    (["store4(t.arena + 6 * t.thread, 7)"], "not aligned of 4 bytes at 6 of the arena", True),
    (["const_cast<i8 *>(t.weights)[0] = 1"], "write to a constant", True),
]
"""Phases, what is wrong with them, and whether all ops are one kernel; one of each kind first."""


@pytest.mark.parametrize(("phases", "fault", "fused"), sampled(FAULTS[1:3], FAULTS))
def test_what_would_go_wrong_is_found(tmp_path, phases, fault, fused):
    body = "\n".join(f"TINYRT_PHASE(0, {phase})" for phase in phases)
    given = "i8 *arena," if not fused else "TINYRT_SHARED_PARAMETER"
    source = f"""#include "requant.cuh"
using namespace tinyrt;
TINYRT_KERNEL(32, 1) run(TINYRT_GRID {given} const i8 *weights, int samples, i8 *port_0) {{
    (void)port_0;
    Team t = {{0, 32, arena, weights, 0}};
    if (TINYRT_BLOCK < samples) {{ {body} }}
}}
"""
    kernels, weights = (Kernel("run", 1, "all"),), np.zeros(16, np.uint8)
    ports = ((Port("x", 32),), ())
    program = DeviceProgram(source, weights, kernels, (), fused, 32, 1, 1, 256, *ports)
    device = WatchedDevice(program, tmp_path)
    feeds = {"x": np.zeros(32, np.uint8)}
    if fault is None:
        device.run(feeds, 1, 1)
        return
    with pytest.raises(AssertionError, match=fault):
        device.run(feeds, 1, 1)
