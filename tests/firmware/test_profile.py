"""Instructions op by op: exact, complete, and beside the peer's where they are known."""

import numpy as np
import pytest

from tests.firmware.device import require_core
from tests.firmware.projects import fake_project
from tests.firmware.test_zoo import emulate
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import build_image
from tinyrt.emulate.baseline import load_baseline
from tinyrt.emulate.profile import op_instructions
from tinyrt.emulate.qemu import boot
from tinyrt.errors import DataError

INPUT = bytes([1, 2, 3, 4])
TURN = 2
"""Instructions of one turn of the loop."""


def loop(turns):
    return f'n = {turns}; __asm volatile("1: subs %0, #1\\n bne 1b" : "+l"(n) :: "cc");'


def test_counts_are_exact(tmp_path):
    """Ops of known length, one of them called twice, one after more than a timer's tick."""
    ops = [(0, 1000), (1, 1001), (2, 7), (0, 500), (3, 100_000)]
    hooks = "\n".join(
        f"TINYRT_PROFILE_BEGIN({op}); {loop(turns)} TINYRT_PROFILE_END({op});" for op, turns in ops
    )
    image = build_image(
        fake_project(tmp_path / "project", f"unsigned n;\n{hooks}"), tmp_path, profile=True
    )
    found = op_instructions(boot(image, INPUT, tmp_path))
    assert found[1] - found[0] == pytest.approx(TURN * (1001 - 1500), abs=8)
    assert found[3] - found[2] == pytest.approx(TURN * (100_000 - 7), abs=4)
    assert found[2] == pytest.approx(TURN * 7, abs=8)


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55", "rv32imc"])
def test_ops_add_up_to_the_inference(zoo, tmp_path, core):
    require_core(core)
    report, graph = emulate(zoo, "streaming_wakeword", tmp_path, core, samples=1, profile=True)
    assert report.bit_exact
    assert [op.op for op in report.ops] == [node.op for node in graph.nodes]
    total = sum(op.instructions for op in report.ops)
    assert 0.995 * report.instructions < total < 1.005 * report.instructions
    assert all(op.instructions > 0 for op in report.ops if op.op != "reshape")
    assert sum(op.macs for op in report.ops) == 826_368


def test_peer_is_found_by_the_model_s_structure(zoo):
    peer = load_baseline()
    for name in ("resnet8", "dscnn_kws", "mobilenet_vww", "streaming_wakeword", "autoencoder_ad"):
        graph = read_tflite(zoo / "models" / f"{name}_int8.tflite")
        assert peer.model(graph) == name
        total = peer.total("cortex-m4", graph)
        per_op = peer.ops("cortex-m4", graph)
        assert sum(per_op.values()) == pytest.approx(total, rel=1e-3)
        assert peer.ops("cortex-m0", graph) == {}
        assert peer.total("rv32imc", graph) is None
        widest = max(per_op, key=per_op.get)
        assert graph.nodes[widest].op in ("conv2d", "fully_connected", "depthwise_conv2d")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "figures.json").write_text('{"engine": "none"}')
    with pytest.raises(DataError, match="not a file of instruction counts"):
        load_baseline(tmp_path / "figures.json")


@pytest.mark.whole
def test_profile_does_not_change_the_answers(zoo, tmp_path):
    plain, _ = emulate(zoo, "autoencoder_ad", tmp_path / "plain", samples=1)
    profiled, _ = emulate(zoo, "autoencoder_ad", tmp_path / "profiled", samples=1, profile=True)
    assert plain.instructions == profiled.instructions
    for name, outputs in plain.outputs.items():
        np.testing.assert_array_equal(outputs, profiled.outputs[name])
