"""Options of ``tinyrt export`` and ``emulate``."""

import re

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tinyrt.api import random_inputs
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import run as emulation
from tinyrt.emulate.boards import BOARDS
from tinyrt.errors import ToolError

pytestmark = pytest.mark.slow


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def header(folder):
    """Name -> number, of a header's definitions."""
    (text,) = (p.read_text() for p in folder.glob("*.h") if "_weights" not in p.name)
    return {name: int(n) for name, n in re.findall(r"#define (\w+) (\d+)\n", text)} | {"": text}


def small(folder, found):
    assert found["arena_bytes"] <= 4000
    assert found["row_by_row"]


def in_two(folder, found):
    text = header(folder)
    assert found["regions"] == {
        name: text[f"TALL_{name.upper()}_BYTES"] for name in ("fast", "slow")
    }
    assert 0 < found["regions"]["fast"] <= 2048


def aligned(folder, found):
    text = header(folder)
    offsets = [n for name, n in text.items() if name.endswith("_OFFSET")]
    assert offsets
    assert not any(n % 64 for n in offsets)
    assert text["TALL_ARENA_ALIGNMENT"] == 64


def in_section(folder, found):
    arrays = (folder / "tall_weights.c").read_text().split("\nTALL_WEIGHTS\n")
    assert '__attribute__((section(".qspi")))' in arrays[0]
    assert arrays[1:]
    assert all(array.startswith("const ") for array in arrays[1:])


def without(what):
    def check(folder, found):
        places = {name for name in header(folder) if name.endswith("_OFFSET")}
        assert places == {"TALL_INPUT_0_OFFSET", "TALL_OUTPUT_0_OFFSET"} - {f"TALL_{what}_0_OFFSET"}

    return check


def sliced(folder, found):
    assert found["slices"]["limit"] == 15000
    text = header(folder)
    assert text["TALL_SLICES"] == found["slices"]["count"] > 1
    assert text["TALL_LONGEST_SLICE"] == found["slices"]["longest"]["instructions"] <= 15000


def in_blob(folder, found):
    blob = (folder / "tall.blob").read_bytes()
    assert found["blob"] == {
        "bytes": len(blob),
        "alignment": 8,
        "structure": blob[16:32].hex(),
    }
    assert found["flash"]["weights"] == len(blob)
    assert {"tall.blob", "tall_blob.json", "tall_blob.c", "tall_blob.h"} <= {*found["files"]}
    assert "tall_weights.c" not in found["files"]


SHARED = {
    "core": ("--core cortex-m0", lambda folder, found: found["core"] == "cortex-m0"),
    "optimize": ("--optimize size", lambda folder, found: found["optimize"] == "size"),
    "max_arena": ("--max-arena 4000", small),
    "by_rows": ("--by-rows", small),
    "input_rows": ("--input-rows", small),
    "region": ("--region fast=2k --region slow", in_two),
    "input_in_arena": ("--input-outside", without("INPUT")),
    "output_in_arena": ("--output-outside", without("OUTPUT")),
    "alignment": ("--alignment 64", aligned),
    "weights_section": ("--weights-section .qspi", in_section),
    "slices": ("--slices 15000", sliced),
    "blob": ("--blob", in_blob),
}
"""Options of both commands, and what the project that they make shows."""


@pytest.fixture(scope="module")
def plain(made, tmp_path_factory):
    """The project without any option."""
    folder = tmp_path_factory.mktemp("plain") / "c"
    return folder, call_json("export", made.tall, "-o", folder)


@pytest.fixture
def unbuilt(monkeypatch):
    """No image is built: the emulation ends where its project is written."""

    def refuse(*arguments, **options):
        built.append(options)
        raise ToolError("no image is built here")

    built = []
    monkeypatch.setattr(emulation, "build_image", refuse)
    return built


@shows("export", *SHARED)
@shows("emulate", *SHARED, "keep")
@pytest.mark.parametrize(("options", "check"), SHARED.values(), ids=SHARED)
def test_both_commands_write_the_project_asked_for(options, check, made, plain, unbuilt, tmp_path):
    found = call_json("export", made.tall, "-o", tmp_path / "c", *options.split())
    assert check(tmp_path / "c", found) is not False
    files = files_of(tmp_path / "c")
    assert files != files_of(plain[0])
    arguments = ("emulate", made.tall, "--samples", "1", "--keep", tmp_path / "kept")
    assert "no image" in call(*arguments, *options.split(), code=1).stderr
    assert files_of(tmp_path / "kept" / "model") == files


@pytest.mark.parametrize("option", ["--input-in-arena", "--output-in-arena"])
def test_the_other_name_of_a_switch_is_what_holds_without_it(option, made, plain, tmp_path):
    call("export", made.tall, "-o", tmp_path / "c", option)
    assert files_of(tmp_path / "c") == files_of(plain[0])


@shows("export", "models", "output", "shared_arena")
def test_models_beside_each_other_share_one_arena_on_request(made, tmp_path):
    models = (made.int8, made.tall)
    single = [call_json("export", m, "-o", tmp_path / m.stem)["arena_bytes"] for m in models]
    assert (tmp_path / "int8" / "int8.h").is_file()
    assert (tmp_path / "tall" / "tall.h").is_file()
    apart = call_json("export", *models, "-o", tmp_path / "apart")
    shared = call_json("export", *models, "-o", tmp_path / "shared", "--shared-arena")
    assert apart["arena_bytes"] == sum(single)
    assert shared["arena_bytes"] == max(single)
    assert (apart["shared_arena"], shared["shared_arena"]) == (False, True)
    for folder, arenas in (("apart", 0), ("shared", 1)):
        names = {p.name for p in (tmp_path / folder).iterdir()}
        assert names >= {"int8.h", "tall.h"}
        assert f"{folder}_arena.h" in names or not arenas


@shows("export", "name", "prefix")
def test_files_are_called_as_is_asked_for(made, tmp_path):
    for options, names in (
        (("--name", "kws"), ["kws"]),
        (("--prefix", "acme"), ["acme_int8"]),
        (("--name", "kws", "--prefix", "acme_", "--shared-arena"), ["acme_kws"]),
    ):
        folder = tmp_path / "-".join(options)
        call("export", made.int8, "-o", folder, *options)
        assert [p.stem for p in sorted(folder.glob("*.c")) if "weights" not in p.stem] == names
    found = call_json("export", made.int8, made.tall, "-o", tmp_path / "both", "--prefix", "acme")
    assert (found["name"], list(found["models"])) == ("acme_both", ["acme_int8", "acme_tall"])
    models = (made.int8, made.tall, "-o", tmp_path / "d")
    wrong = call("export", *models, "--name", "kws", code=2).stderr
    assert "--name: 2 models cannot all be called 'kws'" in " ".join(wrong.split())
    refused = call("export", made.int8, "-o", tmp_path / "d", "--name", "Kws", code=1)
    assert "'kws' would do" in refused.stderr


@shows("export", "info")
def test_a_project_tells_names_of_tensors_on_request(made, tmp_path):
    for models, names in (((made.int8,), ["int8"]), ((made.int8, made.tall), ["int8", "tall"])):
        folder = tmp_path / "-".join(names)
        found = call_json("export", *models, "-o", folder, "--info")
        assert {f"{name}_info.c" for name in names} <= set(found["files"])
        assert not any("info" in n for n in call_json("export", *models, "-o", folder)["files"])
        assert not list(folder.glob("*info*"))


@shows("export", "no_unaligned")
def test_words_are_loaded_at_multiples_of_four_on_request(made, tmp_path):
    for models in ((made.int8,), (made.int8, made.tall)):
        for options, says in (((), False), (("--no-unaligned",), True)):
            folder = tmp_path / "-".join((str(len(models)), *options))
            call("export", *models, "-o", folder, *options)
            names = (folder / "tinyrt" / "tinyrt_names.h").read_text()
            assert ("#define TINYRT_NO_UNALIGNED\n" in names) == says
            assert ("-mno-unaligned-access" in (folder / "Makefile").read_text()) == says


@shows("export", "layout")
def test_a_project_has_the_shape_of_an_ecosystem_on_request(made, tmp_path):
    for models, name in (((made.int8,), "int8"), ((made.int8, made.tall), "both")):
        folder = tmp_path / name
        assert call_json("export", *models, "-o", folder)["layout"] == "cmake"
        assert (folder / "CMakeLists.txt").is_file()
        found = call_json("export", *models, "-o", folder, "--layout", "arduino")
        assert found["layout"] == "arduino"
        assert f"examples/{name}/{name}.ino" in found["files"]
        assert not (folder / "CMakeLists.txt").exists()
        arguments = ("export", *models, "-o", folder, "--layout", "esp-idf", "--core", "m4")
        assert "ESP-IDF does not build for cortex-m4" in call(*arguments, code=1).stderr


@shows("export", "selftest")
def test_golden_vectors_are_brought_along_on_request(made, tmp_path):
    for models, options, names in (
        ((made.int8,), (), ["int8"]),
        ((made.int8, made.tall), ("--shared-arena",), ["int8", "tall"]),
    ):
        folder = tmp_path / "-".join(names)
        found = call_json("export", *models, "-o", folder, *options, "--selftest", "3")
        assert {f"{name}_selftest.c" for name in names} <= set(found["files"])
        tests = [found["selftest"]] if len(names) == 1 else list(found["selftest"].values())
        for name, test in zip(names, tests, strict=True):
            header = (folder / f"{name}_selftest.h").read_text()
            assert f"#define {name.upper()}_SELFTEST_VECTORS 3\n" in header
            assert test["vectors"] == 3
            assert test["looks"] > 0
        shown = call("export", *models, "-o", folder, *options, "--selftest", "1").stdout
        assert "1 vectors" not in shown
        assert ("selftest" in shown) == (len(names) == 1)
        assert "selftest" not in call_json("export", *models, "-o", folder, *options)
        assert not list(folder.glob("*selftest*"))


@shows("export", "board")
def test_a_port_is_brought_along_on_request(made, tmp_path):
    for models, options, names in (
        ((made.int8,), (), ["int8"]),
        ((made.int8, made.tall), ("--shared-arena",), ["int8", "tall"]),
    ):
        folder = tmp_path / "-".join(names)
        found = call_json("export", *models, "-o", folder, *options, "--board")
        assert {f"{name}_board.c" for name in names} <= set(found["files"])
        ports = [found["board"]] if len(names) == 1 else list(found["board"].values())
        for name, model, port in zip(names, models, ports, strict=True):
            graph = read_tflite(model)
            sizes = [graph.value(names[0]).nbytes for names in (graph.fed, graph.answers)]
            assert port == {"protocol": 1, "input_bytes": sizes[0], "output_bytes": sizes[1]}
            for build in ("Makefile", "CMakeLists.txt"):
                assert f"{name}_board" in (folder / build).read_text()
        shown = call("export", *models, "-o", folder, *options, "--board").stdout
        if len(names) == 1:
            said = f"protocol 1, inputs {sizes[0]:,} bytes, outputs {sizes[1]}"
            assert said in " ".join(shown.split())
        assert "board" not in call_json("export", *models, "-o", folder, *options)
        assert not list(folder.glob("*board*"))


@shows("export", "input_type", "output_type")
def test_ports_are_of_the_type_that_is_asked_for(made, tmp_path):
    types = ("--input-type", "uint8", "--output-type", "float32")
    for models, options, of in (
        ((made.int8,), (), lambda found: found["ports"]),
        ((made.int8, made.tall), ("--shared-arena",), lambda found: found["ports"]["tall"]),
    ):
        arguments = ("export", *models, "-o", tmp_path / str(len(models)), *options)
        ports = [of(call_json(*arguments, *more)) for more in ((), types)]
        kinds = [[port["dtype"] for side in each.values() for port in side] for each in ports]
        assert kinds == [["int8", "int8"], ["uint8", "float32"]]
    text = call("export", made.int8, "-o", tmp_path / "x", "--input-type", "int4", code=1).stderr
    assert "there are no inputs and outputs of type 'int4'" in text


# emulate, on this machine


@pytest.mark.slow
@shows("emulate", "models", "inputs", "samples")
def test_the_inputs_named_or_as_many_random_ones_are_run(made, tmp_path):
    arguments = ("emulate", made.int8, "--core", "host")
    graph = read_tflite(made.int8)
    for samples in (1, 3):
        found = call_json(*arguments, "--samples", samples)
        assert (found["samples"], found["bit_exact"]) == (samples, True)
    (output,) = found["outputs"].values()
    np.savez(tmp_path / "same.npz", **random_inputs(graph, 3))
    (same,) = call_json(*arguments, "-i", tmp_path / "same.npz")["outputs"].values()
    assert same == output
    (other,) = call_json(*arguments, "-i", made.test)["outputs"].values()
    assert len(other) == 16
    assert other[:3] != output


@shows("emulate", "board")
def test_the_image_is_made_for_the_board_named(made, unbuilt):
    for options, board in ((), "mps2-an386"), (("--board", "mps2-an500"), "mps2-an500"):
        call("emulate", made.int8, *options, code=1)
        assert unbuilt.pop()["board"] is BOARDS[board]
    refused = call("emulate", made.int8, "--core", "cortex-m55", "--board", "mps2-an386", code=1)
    assert "mps2-an386" in refused.stderr


@shows("emulate", "timeout")
def test_the_emulator_is_given_as_long_as_asked(made, monkeypatch):
    given = []

    def run(image, *arguments, timeout_s, **options):
        given.append(timeout_s)
        raise ToolError("nothing is run here")

    monkeypatch.setattr(emulation, "build_image", lambda *arguments, **options: None)
    monkeypatch.setattr(emulation, "run_image", run)
    for options in ((), ("--timeout", "1.5")):
        call("emulate", made.int8, "--samples", "1", *options, code=1)
    assert given == [300, 1.5]


@pytest.mark.device
@pytest.mark.slow
@shows("emulate", "profile")
def test_ops_are_counted_on_request(made):
    arguments = ("emulate", made.int8, "--samples", "1")
    plain = call_json(*arguments)
    assert "ops" not in plain
    ops = call_json(*arguments, "--profile")["ops"]
    assert [op["op"] for op in ops] == [n.op for n in read_tflite(made.int8).nodes]
    assert 0.5 < sum(op["instructions"] for op in ops) / plain["instructions"] < 1.5
    assert call_json(*arguments, "--no-profile") == plain
    assert "not on this machine" in call(*arguments, "--profile", "--core", "host", code=1).stderr


def test_slices_of_each_model_are_said(made, tmp_path):
    models = (made.int8, made.tall, "-o", tmp_path / "c", "--slices", "15000")
    found = call_json("export", *models)["slices"]
    assert list(found) == ["int8", "tall"]
    assert all(plan["limit"] == 15000 for plan in found.values())
    shown = [" ".join(line.split()) for line in call("export", *models).stdout.splitlines()]
    for name, plan in found.items():
        assert f"{name}, slices {plan['count']:,}" in shown
    alone = call("export", made.tall, "-o", tmp_path / "d", "--slices", "15000").stdout
    shown = [" ".join(line.split()) for line in alone.splitlines()]
    at = shown.index(f"slices {found['tall']['count']:,}")
    longest = found["tall"]["longest"]
    assert shown[at + 1].endswith(f"estimated {longest['instructions']:,}")
    assert shown[at + 2].startswith(f"its ops {longest['ops'][0]} ")
    plain = call_json("export", *models[:-2])
    assert "slices" not in plain


def test_blobs_of_each_model_are_said(made, tmp_path):
    models = (made.int8, made.tall, "-o", tmp_path / "c", "--blob")
    found = call_json("export", *models)["blob"]
    sizes = {name: (tmp_path / "c" / f"{name}.blob").stat().st_size for name in ("int8", "tall")}
    assert {name: blob["bytes"] for name, blob in found.items()} == sizes
    alone = call("export", made.tall, "-o", tmp_path / "d", "--blob").stdout
    assert f"{sizes['tall']:,} bytes, structure" in " ".join(alone.split())


@shows("blob", "model", "project", "output", "revision")
def test_a_new_blob_is_written_for_a_project(made, tmp_path):
    call("export", made.int8, "-o", tmp_path / "c", "--blob")
    arguments = (made.int8, "--for", tmp_path / "c", "-o", tmp_path / "new.blob")
    found = call_json("blob", *arguments, "--revision", "7")
    old, new = (tmp_path / "c" / "int8.blob").read_bytes(), (tmp_path / "new.blob").read_bytes()
    assert (old[36:40], new[36:40]) == (bytes(4), b"\7\0\0\0")
    assert (old[:36], old[40:124], old[128:]) == (new[:36], new[40:124], new[128:])
    assert found == {
        "output": str(tmp_path / "new.blob"),
        "name": "int8",
        "structure": old[16:32].hex(),
        "revision": 7,
        "bytes": len(old),
        "model_sha256": old[72:104].hex(),
    }
    call("blob", *arguments)
    assert (tmp_path / "new.blob").read_bytes() == old
    other = call("blob", made.tall, *arguments[1:], code=1).stderr
    assert "does not fit the exported code" in other
    assert call("blob", *arguments, "--revision", "-1", code=2).stderr
