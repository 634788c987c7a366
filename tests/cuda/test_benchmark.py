"""The GPU's benchmark, from end to end, on a stand-in for the driver that has an H200's name."""

import json

import pytest

from benchmarks import cuda as benchmark
from benchmarks import cuda_figures
from benchmarks.cuda_figures import MARKS, Row, verdicts
from tests.cuda.fake_driver import FakeDriver, compile_on_host
from tests.cuda.requirements import needs_cxx
from tinyrt.backends.cuda import backend as cuda_backend
from tinyrt.backends.cuda import driver, runtime
from tinyrt.errors import ToolError

pytestmark = needs_cxx
NAME = "streaming_wakeword"


@pytest.fixture
def quick(monkeypatch):
    """Few samples, and goals for them."""
    monkeypatch.setattr(benchmark, "BATCHES", (1, 3))
    monkeypatch.setattr(benchmark, "TEST_SET", 5)
    monkeypatch.setattr(cuda_figures, "GOALS", {(NAME, 3): 1e12})


def opened(monkeypatch, open_driver):
    for module in (driver, cuda_backend, benchmark):
        monkeypatch.setattr(module, "open_driver", open_driver)


def figures(zoo, tmp_path, *options):
    out = tmp_path / "figures.json"
    benchmark.main(
        ["--zoo", str(zoo), "--model", NAME, "--seconds", "0.01", "-o", str(out), *options]
    )
    return json.loads(out.read_text())


@pytest.mark.slow
def test_on_a_gpu_figures_go_into_the_page(quick, monkeypatch, zoo, tmp_path, capsys):
    gpu = FakeDriver()
    gpu.name = "NVIDIA H200 stand-in"
    opened(monkeypatch, lambda: gpu)
    monkeypatch.setattr(runtime.CudaModel.__init__, "__defaults__", (None, compile_on_host))

    def broken(models, name, batch):
        raise RuntimeError("out of memory\nand a long trace")

    peer = benchmark.Engine("broken peer", broken, on_gpu=True)
    monkeypatch.setattr(benchmark, "ENGINES", (*benchmark.ENGINES[:2], peer))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
    found = figures(zoo, tmp_path, "--markdown", str(page))
    rows = {(row["engine"], row["batch"]): row for row in found["rows"]}
    for engine in ("tinyrt cuda", "tinyrt cuda, kernels alone"):
        for batch in (1, 3):
            row = rows[engine, batch]
            assert row["images_per_second"] > 0
            assert min(row["of_int8_peak"], row["of_l2"], row["of_shared"]) > 0
    assert ("tinyrt cuda, whole test set", 5) in rows
    assert any("FAILED" in s and "out of memory" in s for s in found["skipped"])
    text = page.read_text()
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "GPU: NVIDIA H200 stand-in, sm_90" in text
    assert f"{NAME}, batch 3: " in text
    assert "of 1,000,000,000,000: missed" in text
    assert f"- {NAME}, batch 1: " in text
    assert "| model | batch | tinyrt cuda | tinyrt cuda, kernels alone | tinyrt numba |" in text
    assert capsys.readouterr().out.count("| tinyrt cuda |") == 2


def test_peers_are_measured_against():
    rows = [
        Row("m", 1, "tinyrt cuda", 60.0, 40.0),
        Row("m", 1, "peer", 10.0, 240.0),
        Row("m", 1, "on the CPU", 1000.0, 1.0),
    ]
    assert verdicts(rows, {"peer"}) == [
        "m, batch 1: 40.0 µs of 50: met",
        "m, batch 1: 6.0 times peer of 5: met",
    ]


def test_figures_of_several_runs_go_into_one_page(tmp_path):
    rows = [
        {"model": "m", "batch": 4096, "engine": "tinyrt cuda", "images_per_second": 12_392_369.0},
        {"model": "m", "batch": 4096, "engine": "slow", "images_per_second": 649_218.0},
        {
            "model": "m",
            "batch": 9,
            "engine": "tinyrt cuda, whole test set",
            "images_per_second": 94.26,
        },
    ]
    for i, row in enumerate(rows):
        run = {"device": "GPU: one", "rows": [row | {"microseconds": 1.0}], "skipped": [f"no {i}"]}
        (tmp_path / f"{i}.json").write_text(json.dumps(run))
    page = tmp_path / "page.md"
    page.write_text("\n".join(MARKS))
    files = [str(tmp_path / f"{i}.json") for i in range(3)]
    benchmark.main(["--markdown", str(page), "--figures", *files])
    lines = page.read_text().splitlines()
    assert "GPU: one." in lines
    assert "| model | batch | tinyrt cuda | slow |" in lines
    assert "| m | 4,096 | 12.4 M | 649 k |" in lines
    assert "| m | 9 by `load` | 94.3 | – |" in lines
    assert "- skipped: no 2" in lines
    other = json.loads((tmp_path / "0.json").read_text()) | {"device": "GPU: another"}
    (tmp_path / "0.json").write_text(json.dumps(other))
    with pytest.raises(ToolError, match="more than one machine: GPU: another, GPU: one"):
        benchmark.main(["--markdown", str(page), "--figures", *files])
    with pytest.raises(SystemExit):
        benchmark.main(["--figures", *files])


@pytest.mark.slow
@pytest.mark.whole
def test_without_a_gpu_the_rest_is_measured(quick, monkeypatch, zoo, tmp_path, capsys):
    def none():
        raise ToolError("there is no GPU number 0")

    opened(monkeypatch, none)
    some = ("tinyrt cuda", "tinyrt numba", "onnxruntime CPU, int8 QDQ")
    engines = tuple(engine for engine in benchmark.ENGINES if engine.name in some)
    monkeypatch.setattr(benchmark, "ENGINES", engines)
    found = figures(zoo, tmp_path)
    measured = {row["engine"] for row in found["rows"]}
    assert {"tinyrt numba", "tinyrt numba, whole test set"} <= measured
    assert "tinyrt cuda: there is no GPU number 0" in found["skipped"]
    assert not [reason for reason in found["skipped"] if "FAILED" in reason]
    assert "no GPU: there is no GPU number 0" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        figures(zoo, tmp_path, "--markdown", str(tmp_path / "page.md"))
