"""The command that fetches the zoo, and what a test run without one says."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.graphs import small_cnn
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.interpreter import load
from tinyrt.quantize import quantize_graph
from tools import zoo as tool

ROOT = Path(__file__).resolve().parents[1]
FILES = ("models/small_int8.tflite", "models/public/other__small.tflite")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(tmp_path):
    """A folder that is served, and the server's address."""
    folder = tmp_path / "served"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as own:
        threading.Thread(target=own.serve_forever, args=(0.02,), daemon=True).start()
        yield folder, f"http://127.0.0.1:{own.server_port}"
        own.shutdown()


@pytest.fixture
def record(server, tmp_path, monkeypatch):
    """A record of one small model, which is served as two files."""
    graph = small_cnn()
    (value,) = graph.input_values
    x = np.random.default_rng(0).normal(size=(8, *value.shape[1:])).astype(np.float32)
    place = server[0] / "someone" / "models" / "0123" / "a folder" / "m.tflite"
    place.parent.mkdir(parents=True)
    save_tflite(quantize_graph(graph, x), place)
    entry = {"path": "a folder/m.tflite", "sha256": hashlib.sha256(place.read_bytes()).hexdigest()}
    origin = {"repository": "someone/models", "commit": "0123", "licence": "MIT"}
    written = tmp_path / "zoo.json"
    content = {"published": [{**origin, "files": dict.fromkeys(FILES, entry)}], "unpublished": []}
    written.write_text(json.dumps(content))
    monkeypatch.setattr(tool, "RECORD", written)
    return place


def test_models_are_fetched_and_answered_once(server, record, tmp_path, capsys):
    folder = tmp_path / "zoo"
    assert len(tool.missing(folder)) == 4
    assert tool.main([str(folder), "--host", server[1]]) == 0
    assert "2 files fetched, 2 files of answers" in capsys.readouterr().out
    assert tool.missing(folder) == []
    model = load(folder / FILES[0])
    golden = np.load(folder / "golden" / "small_int8.npz")
    np.testing.assert_array_equal(model(golden["inputs"][:, 0]), golden["outputs"][:, 0])
    assert sum("_t" in key for key in golden.files) == len(model.graph.nodes)
    public = np.load(folder / "models" / "public" / "other__small.npz")
    for sample in range(tool.SAMPLES):
        np.testing.assert_array_equal(model(public[f"in{sample}_0"]), public[f"tflm{sample}_0"])
    assert tool.main([str(folder), "--host", server[1]]) == 0
    assert "0 files fetched, 0 files of answers" in capsys.readouterr().out


def test_what_is_not_as_published_is_refused(server, record, tmp_path, capsys):
    folder = tmp_path / "zoo"
    original = record.read_bytes()
    record.write_bytes(original + b"!")
    assert tool.main([str(folder), "--host", server[1]]) == 1
    assert "SHA256 hash" in capsys.readouterr().err
    assert not list(folder.rglob("*.tflite"))
    record.write_bytes(original)
    assert tool.main([str(folder), "--host", server[1]]) == 0
    (folder / FILES[0]).write_bytes(b"changed later")
    assert tool.main([str(folder), "--host", server[1]]) == 1
    assert f"not as published: {FILES[0]}" in capsys.readouterr().err


def test_a_server_without_the_file_is_an_error_that_says_what_to_do(
    server, record, tmp_path, capsys
):
    record.unlink()
    assert tool.main([str(tmp_path / "zoo"), "--host", server[1]]) == 1
    assert "try: run it again" in capsys.readouterr().err


def test_every_published_file_has_its_origin_and_hash():
    sources = tool.published()
    assert len({s.file for s in sources}) == len(sources) > 70
    for source in sources:
        assert len(source.commit) == 40
        assert len(source.sha256) == 64
        assert source.url().startswith("https://raw.githubusercontent.com/")
    assert not {s.file for s in sources} & set(tool.unpublished())


def test_the_zoo_is_what_its_authors_publish(zoo):
    assert tool.missing(zoo) == []
    assert tool.changed(zoo) == []


TESTS = """
import pytest

@pytest.mark.parametrize("n", range(3))
def test_models(zoo, n):
    assert (zoo / "models").is_dir()

def test_unpublished(zoo):
    assert (zoo / "models" / "resnet8.onnx").is_file()

def test_other():
    pass
"""
CONFTEST = """
from pathlib import Path
import tests.zoo_plugin

tests.zoo_plugin.ROOT = Path("nowhere")
pytest_plugins = ["tests.zoo_plugin"]
"""


def run(folder, *options, **variables):
    """Pytest in a process of its own on a few tests that ask for a zoo."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_few.py").write_text(TESTS)
    settings = ("CI", "TINYRT_ZOO", "TINYRT_REQUIRE_ZOO", "PYTEST_ADDOPTS")
    env = {k: v for k, v in os.environ.items() if k not in settings}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        env={**env, **variables, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [(), pytest.param(("-p", "xdist", "-n", "2"), marks=pytest.mark.whole)],
    ids=["one process", "workers"],
)
@pytest.mark.whole
def test_a_run_without_the_zoo_says_once_what_it_skipped(tmp_path, options):
    result = run(tmp_path, *options)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("4 tests were skipped for want of the zoo") == 1
    assert result.stdout.count("make zoo") == 1
    assert "1 passed, 4 skipped" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "variable", ["CI", pytest.param("TINYRT_REQUIRE_ZOO", marks=pytest.mark.whole)]
)
@pytest.mark.whole
def test_where_the_zoo_is_required_its_absence_fails_the_run(tmp_path, variable):
    result = run(tmp_path, **{variable: "1"})
    assert result.returncode != 0
    assert "this run needs the zoo of public models: make zoo" in result.stderr
    assert run(tmp_path, **{variable: "1", "TINYRT_REQUIRE_ZOO": "0"}).returncode == 0


def test_a_folder_that_is_no_zoo_ends_the_run(tmp_path):
    result = run(tmp_path, TINYRT_ZOO=str(tmp_path))
    assert result.returncode != 0
    assert "of its files (models/" in result.stderr


@pytest.mark.slow
@pytest.mark.whole
def test_files_that_nobody_publishes_are_counted_apart(tmp_path, zoo):
    """In a zoo of links to all that is published."""
    for file in [s.file for s in tool.published()]:
        for name in filter(None, (file, tool.answers_of(file))):
            (tmp_path / "zoo" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "zoo" / name).symlink_to(zoo / name)
    result = run(tmp_path, TINYRT_ZOO=str(tmp_path / "zoo"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 tests were skipped, since they need files that nobody publishes" in result.stdout
    assert "4 passed, 1 skipped" in result.stdout
    required = run(tmp_path, TINYRT_ZOO=str(tmp_path / "zoo"), TINYRT_REQUIRE_ZOO="all")
    assert required.returncode != 0
    assert ".onnx" in required.stderr
