"""Several models in one folder: one library, one arena, and both answer in turns."""

import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from tests.c.host import SANITIZE, host_compiler
from tests.cascades import pair
from tests.cli.calls import call_json
from tests.export.models import dense, views
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import BudgetError, UnsupportedError
from tinyrt.export import ExportOptions, Memories, export_c, export_cascade, export_several
from tinyrt.export.several import _largest
from tinyrt.memory import Region
from tinyrt.memory.regions import ARENA
from tinyrt.ops.shared.evaluate import evaluate

MAIN = """
#include <stdio.h>
#include "both_arena.h"

static _Alignas(BOTH_ARENA_ALIGNMENT) int8_t arena[BOTH_ARENA_BYTES];

int main(void) {
    for (int8_t turn = 0; turn < 2; ++turn) {
        const int8_t x[12] = {1, 2, 3, 4, 5, turn, 7, 8, 9, 10, 11, 12};
        int8_t y[2], copy[12], flat[12];
        const net_io_t net = {.input_0 = x, .output_0 = y};
        const views_io_t views = {.input_0 = x, .output_0 = flat, .output_1 = copy};
        if (net_invoke(&net, arena) != 0 || views_invoke(&views, arena) != 0) {
            return 1;
        }
        fwrite(y, 1, sizeof y, stdout);
        fwrite(flat, 1, sizeof flat, stdout);
    }
    return 0;
}
"""


@pytest.fixture
def models(tmp_path):
    paths = []
    for graph in (dense(), views()):
        paths.append(tmp_path / f"{graph.name}.tflite")
        save_tflite(graph, paths[-1])
    return paths


@pytest.mark.slow
def test_models_take_turns_in_one_arena(tmp_path, models):
    found = call_json("export", *models, "-o", tmp_path / "both", "--shared-arena")
    sizes = [export_c(m, tmp_path / m.stem, core="cortex-m4").arena_bytes for m in models]
    assert found["arena_bytes"] == max(sizes)
    assert found["models"] == dict(zip(("net", "views"), sizes, strict=True))
    cc, folder = host_compiler(), tmp_path / "both"
    subprocess.run(["make", "-s", "-C", folder, f"CC={cc}"], check=True)
    (tmp_path / "main.c").write_text(MAIN)
    program = tmp_path / "program"
    library = folder / "build" / "libboth.a"
    options = ["-std=c11", "-Wall", *SANITIZE.split(), f"-I{folder}", tmp_path / "main.c"]
    subprocess.run([cc, *options, library, "-o", program], check=True)
    done = subprocess.run([program], check=True, capture_output=True).stdout
    answers = np.frombuffer(done, np.int8).reshape(2, 14)
    for turn, answer in enumerate(answers):
        x = np.array([[1, 2, 3, 4, 5, turn, 7, 8, 9, 10, 11, 12]], np.int8)
        np.testing.assert_array_equal(answer[:2], evaluate(dense(), {"x": x[:, :4]})["y"][0])
        expected = evaluate(views(), {"x": x.reshape(1, 2, 6)})["y"][0]
        np.testing.assert_array_equal(answer[2:], expected)


def test_without_sharing_each_has_its_own(tmp_path, models):
    found = export_several(models, tmp_path / "both")
    assert found.arena_bytes == sum(m.arena_bytes for m in found.models)
    assert not (tmp_path / "both" / "both_arena.h").exists()


@pytest.mark.parametrize(
    ("sizes", "shared"),
    [
        (({"sram": 10}, {"sram": 20}), {ARENA: 20}),
        (({"dtcm": 7, "sram": 10}, {"dtcm": 5, "sram": None}), {"dtcm": 7, "sram": 10}),
    ],
)
def test_a_shared_region_is_as_large_as_the_largest_and_a_single_one_is_the_arena(sizes, shared):
    projects = [
        SimpleNamespace(regions=tuple(Region(name, size) for name, size in regions.items()))
        for regions in sizes
    ]
    assert _largest(projects) == tuple(Region(name, size) for name, size in shared.items())


def test_headers_declare_the_alignment_that_is_asked_for(tmp_path, models):
    """Of a model's own arena, of one that several share, and of a cascade's."""
    parts = pair(tmp_path)
    for asked, declared in ((4, 16), (64, 64)):
        options = ExportOptions(memories=Memories(alignment=asked))
        export_c(models[0], tmp_path / "one", options=options)
        export_several(models, tmp_path / "both", options=options, shared_arena=True)
        export_cascade(*parts, tmp_path / "cascade", threshold=9, options=options)
        for folder in ("one", "both", "cascade"):
            texts = "".join(path.read_text() for path in (tmp_path / folder).glob("*.h"))
            found = re.findall(r"_ARENA_ALIGNMENT\s+(\d+)", texts)
            assert set(map(int, found)) == {declared}, folder


def test_names_must_differ(tmp_path, models):
    with pytest.raises(UnsupportedError, match="two models are called 'net'"):
        export_several([models[0], models[0]], tmp_path / "both")
    assert not (tmp_path / "both").exists()


def test_regions_that_are_too_small_are_named(tmp_path, zoo):
    path = zoo / "models" / "resnet8_int8.tflite"
    with pytest.raises(BudgetError, match="region 'sram' would need") as error:
        export_c(
            path,
            tmp_path / "c",
            options=ExportOptions(memories=Memories((Region("dtcm", 64), Region("sram", 99)))),
        )
    assert "activation" in str(error.value) or "Relu" in str(error.value)
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
def test_the_command_takes_regions_and_sections(tmp_path, zoo):
    path = zoo / "models" / "dscnn_kws_int8.tflite"
    found = call_json(
        *("export", path, "-o", tmp_path / "c", "--region", "dtcm=6k", "--region", "sram"),
        *("--input-outside", "--alignment", "8", "--weights-section", ".qspi"),
    )
    assert found["regions"]["dtcm"] <= 6 * 1024
    assert found["arena_bytes"] == sum(found["regions"].values())
    header = (tmp_path / "c" / "dscnn_kws_int8.h").read_text()
    assert "INPUT_0_OFFSET" not in header
    assert "void *dtcm;" in header
    weights = (tmp_path / "c" / "dscnn_kws_int8_weights.c").read_text()
    assert '__attribute__((section(".qspi")))' in weights
    subprocess.run(["make", "-s", "-C", tmp_path / "c", f"CC={host_compiler()}"], check=True)
    for wrong in ("a b=3", "dtcm=3q", "state"):
        arguments = ("export", path, "-o", tmp_path / "d", "--region", wrong)
        assert "error" in call_json(*arguments, code=1)


@pytest.mark.whole
@pytest.mark.slow
def test_models_by_rows_share_an_arena(tmp_path, zoo):
    names = ("resnet8_int8", "dscnn_kws_int8")
    paths = [zoo / "models" / f"{name}.tflite" for name in names]
    folder = tmp_path / "both"
    found = call_json("export", *paths, "-o", folder, "--shared-arena", "--by-rows")
    assert all(found["row_by_row"][name] for name in names)
    assert found["arena_bytes"] == max(found["models"].values()) <= 14_784
    for name in names:
        assert 0 < found["arena_lower_bounds"][name] <= found["models"][name]
    subprocess.run(["make", "-s", "-C", folder, f"CC={host_compiler()}"], check=True)
