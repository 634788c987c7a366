"""The generated code for real GPUs: NVRTC needs none, and must have nothing to say against it."""

import os
import re
from pathlib import Path

import pytest

from benchmarks.cuda_cost import phase_costs
from tests.c.conformance import graph_of
from tests.cuda.devices import ops_on
from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt.backends.cuda import nvrtc
from tinyrt.backends.cuda.layout import LATENCY, Shape
from tinyrt.backends.cuda.nvrtc import compile_source, load_nvrtc
from tinyrt.backends.cuda.program import generate
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.errors import ToolError
from tinyrt.ops.shared.spec import Form

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
BUILDS = ((Form.INT8, build_s8), (Form.INT16X8, build_s16))
ARCHITECTURES = sampled(["sm_90"], ["sm_80", "sm_90"])
INSTRUCTIONS = {
    "resnet8": 35_500,
    "dscnn_kws": 31_000,
    "mobilenet_vww": 95_500,
    "autoencoder_ad": 500,
    "streaming_wakeword": 7_500,
}
"""Of all warps for one sample, on sm_90; the compiler's versions differ a little."""
PAGE = Path(__file__).parents[2] / "docs" / "cuda.md"
REGISTERS = 65536
"""Of a multiprocessor."""


def _installed():
    try:
        return bool(load_nvrtc())
    except ToolError:
        return False


def most_registers(log):
    return max(map(int, re.findall(r"Used (\d+) registers", log)))


def documented(name):
    """Instructions of a sample, as the page has them."""
    row = re.search(rf"^\| {name} \| ([\d,]+) \| .* M \|$", PAGE.read_text(), re.MULTILINE)
    return int(row[1].replace(",", ""))


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not _installed() and not os.environ.get("CI"),
        reason="NVIDIA's run-time compiler is not installed: pip install 'tinyrt[cuda]'",
    ),
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Where nothing is cached yet."""
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.whole
def test_zoo_models_compile_without_a_warning(zoo, name, arch):
    program = generate(read_tflite(zoo / "models" / f"{name}_int8.tflite"))
    compiled = compile_source(program.source, arch)
    assert compiled.image[:4] == b"\x7fELF"
    assert "warning" not in compiled.log
    assert most_registers(compiled.log) <= 128
    if arch == "sm_90":
        costs = phase_costs(program, compiled.image)
        counted = sum(cost.instructions for cost in costs)
        assert counted <= INSTRUCTIONS[name]
        assert counted == pytest.approx(documented(name), rel=0.03)


LAYOUTS = [pytest.param(LATENCY, id="latency"), pytest.param(Shape(fused=False), id="op by op")]


@pytest.mark.parametrize("shape", LAYOUTS)
@pytest.mark.whole
def test_every_layout_compiles_without_a_warning(zoo, shape):
    """With registers for as many threads as it has."""
    program = generate(read_tflite(zoo / "models" / "dscnn_kws_int8.tflite"), shape)
    compiled = compile_source(program.source, "sm_90")
    assert "warning" not in compiled.log
    assert compiled.log.count("Used ") == len(program.kernels)
    assert most_registers(compiled.log) * program.threads * program.blocks <= REGISTERS


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kernel_compiles_without_a_warning(arch):
    for form, build in sampled(BUILDS[:1], BUILDS):
        ops = ops_on(form)[:: sampled(6, 1)]
        graph, _ = graph_of({op: CASES[op] for op in ops}, range(1), build)
        compiled = compile_source(generate(graph, Shape(threads=64)).source, arch)
        assert "warning" not in compiled.log


SMALL = 'extern "C" __global__ void f(int *p) { *p = 1; }'


def test_a_second_start_compiles_nothing(monkeypatch):
    first = compile_source(SMALL, "sm_90").image
    with monkeypatch.context() as patched:
        patched.setattr(nvrtc, "_compile", None)
        assert compile_source(SMALL, "sm_90").image == first
        with pytest.raises(TypeError):  # another architecture is another file
            compile_source(SMALL, "sm_80")


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-1], lambda raw: b"\0" + raw[1:], lambda _: b""]
)
def test_a_damaged_file_is_compiled_again(tmp_path, damage):
    first = compile_source(SMALL, "sm_90").image
    (path,) = (tmp_path / "cuda").glob("*.cubin")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert compile_source(SMALL, "sm_90").image == first
    assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TINYRT_CACHE", str(tmp_path / "file"))
    assert compile_source(SMALL, "sm_90").image[:4] == b"\x7fELF"


def test_what_the_compiler_refuses_is_said():
    with pytest.raises(ToolError, match=r"refused the device code for sm_90: .*error"):
        compile_source("this is no code", "sm_90")
