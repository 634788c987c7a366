"""Models that share an image, emulated with one command."""

import json

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.export.models import dense
from tests.firmware.device import require_core
from tests.firmware.test_kept import rebuild
from tests.graphs import small_cnn
from tests.quantize.test_mixed import samples
from tests.sampling import sampled
from tinyrt import api, emulate
from tinyrt.cli.emulate import require_one
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import several
from tinyrt.errors import DataError
from tinyrt.export import ExportOptions
from tinyrt.quantize import QuantConfig, quantize_graph


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    paths = [folder / "dense.tflite", folder / "cnn.tflite"]
    save_tflite(dense(), paths[0])
    save_tflite(quantize_graph(small_cnn(), samples(50), QuantConfig()), paths[1])
    return paths


SHARED = ("--shared-arena", "--board", "mps2-an500", "--blob")


@pytest.mark.device
@shows("emulate", "shared_arena")
@pytest.mark.parametrize(
    ("options", "board"),
    [
        pytest.param((), "mps2-an386", id="apart", marks=pytest.mark.whole),
        pytest.param(SHARED, "mps2-an500", id="shared"),
    ],
)
def test_each_answers_as_on_the_host(models, options, board, tmp_path):
    require_core("cortex-m4")
    found = call_json("emulate", *models, *options, "--samples", "3", "--keep", tmp_path)
    assert found["shared_arena"] == bool(options)
    reports = found["models"]
    assert list(reports) == ["dense", "cnn"]
    for report in reports.values():
        assert (report["bit_exact"], report["samples"], report["board"]) == (True, 3, board)
    for path, report in [*zip(models, reports.values(), strict=True)][: sampled(1, 2)]:
        alone = api.run_emulated(path, samples=3, options=ExportOptions(blob="--blob" in options))
        assert report["instructions"] == alone.instructions
        assert report["ram"]["stack"] == alone.ram.stack
        assert report["ram"]["stack_bound"] == alone.ram.stack_bound
        for name, array in alone.outputs.items():
            np.testing.assert_array_equal(report["outputs"][name], array)
    image = tmp_path / "image" / "image.elf"
    before = image.read_bytes()
    if options:
        assert rebuild(tmp_path / "image", "image.elf").read_bytes() == before
    symbols = before.count(b"harness_memory")
    assert bool(symbols) == bool(options)


@pytest.mark.whole
def test_they_run_on_this_machine(models, tmp_path):
    found = call("emulate", *models, "--core", "host", "--shared-arena", "--keep", tmp_path)
    header, _, *rows = [line.rstrip() for line in found.stdout.splitlines() if line.strip()]
    assert header.split() == ["dense", "cnn"]
    assert {len(row) for row in rows} == {len(header)}  # numbers end below each other
    assert (tmp_path / "outputs_dense.bin").stat().st_size > 0
    assert (tmp_path / "outputs_cnn.bin").stat().st_size > 0
    one = json.loads(
        call("emulate", models[0], "--core", "host", "--shared-arena", "--json").stdout
    )
    assert list(one["models"]) == ["dense"]


OPTIONS = {"optimize": "size", "options": ExportOptions(slices=5_000), "shared_arena": True}


@pytest.mark.parametrize("option", OPTIONS)
def test_what_is_asked_for_is_exported(models, option, tmp_path, monkeypatch):
    asked = []

    def export(paths, folder, **options):
        asked.append(options)
        raise OSError("enough")

    monkeypatch.setattr(several, "export_several", export)
    with pytest.raises(OSError, match="enough"):
        emulate.run_emulated_several(
            models,
            inputs=[],
            build_dir=tmp_path,
            core="m3",
            **{option: OPTIONS[option]},
        )
    defaults = {"core": "cortex-m3", "optimize": "balanced", "options": ExportOptions()}
    defaults |= {"shared_arena": False}
    assert asked == [defaults | {option: OPTIONS[option]}]


def test_a_model_that_answers_otherwise_is_seen(models, monkeypatch, tmp_path):
    report = several.report_of

    def wrong(project, image, run, count, expected, **others):
        if project.name == "cnn":
            expected = {name: array + 1 for name, array in expected.items()}
        return report(project, image, run, count, expected, **others)

    monkeypatch.setattr(several, "report_of", wrong)
    found = call_json("emulate", *models, "--core", "host", "--samples", "1", code=1)
    exact = {name: one["bit_exact"] for name, one in found["models"].items()}
    assert exact == {"dense": True, "cnn": False}


@pytest.mark.parametrize(
    "option",
    [("--profile",), ("--input", "x.npz"), ("--gdb", "1234", "--keep", "kept")],
    ids=lambda o: o[0],
)
def test_what_belongs_to_one_model_is_refused(models, option):
    error = call_json("emulate", *models, *option, code=1)["error"]
    assert f"{option[0]} belongs to one model" in error["problem"]


def test_the_refusal_says_what_to_do():
    require_one("--profile", None)
    with pytest.raises(DataError) as caught:
        require_one("--profile", True)
    assert "emulate the models one by one" in str(caught.value)
