"""What an export says of its model: names and labels are data, to the last byte."""

import hashlib
import re
import subprocess
import zipfile
from dataclasses import replace

import pytest

from tests.c.host import host_compiler
from tests.cascades import pair
from tests.export.models import dense, views
from tests.export.test_names import ATTACKS, renamed
from tinyrt import __version__
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.export import ExportOptions, export_c, export_cascade, export_graph, export_several
from tinyrt.export.info import MAX_LABEL_BYTES, labels_in, labels_of

MAIN = r"""
#include <stdio.h>
#include "net_info.h"
static void list(const char *const *strings, int count) {
    for (int i = 0; i < count; ++i) {
        fputs(strings[i], stdout);
        putchar(0);
    }
}
int main(void) {
    const char *const own[] = {net_info.name, net_info.tinyrt_version, net_info.model_sha256};
    list(own, 3);
    list(net_info.inputs, NET_INFO_INPUTS);
    list(net_info.outputs, NET_INFO_OUTPUTS);
    list(net_info.labels, NET_INFO_LABELS);
    return net_info.labelled_output;
}
"""


def said(folder, tmp_path):
    """What a program prints of the information, and the number of the labelled output."""
    (tmp_path / "main.c").write_text(MAIN)
    sources = [tmp_path / "main.c", *folder.glob("*.c"), *folder.glob("tinyrt/*.c")]
    options = ["-std=c99", "-trigraphs", "-Wall", "-Wextra", "-Werror", f"-I{folder}"]
    program = tmp_path / "program"
    subprocess.run([host_compiler(), *options, *sources, "-lm", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, check=False)
    return done.stdout.decode().split("\0")[:-1], done.returncode


def packed(tmp_path, files, graph=None):
    """A model with an archive behind it."""
    path = tmp_path / "net.tflite"
    save_tflite(graph or dense(), path)
    return pack(path, files)


def pack(path, files):
    with zipfile.ZipFile(path, "a") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_names_and_labels_are_told(tmp_path):
    path = packed(tmp_path, {"labels.txt": 'café\n"??/ \\n\n', "vocabulary.txt": "a\nb\nc\n"})
    project = export_c(path, tmp_path / "out", core="host", options=ExportOptions(info=True))
    found, labelled = said(tmp_path / "out", tmp_path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    names = [port.name for port in (*project.inputs, *project.outputs)]
    assert found == ["net", __version__, digest, *names, "café", '"??/ \\n']
    assert labelled == 0
    assert {"net_info.c", "net_info.h"} <= set(project.files)


def test_hostile_names_are_told_as_they_are(tmp_path):
    graph = replace(dense(), name="net")
    attacks = [name for name in ATTACKS if 0 < len(name) < 500 and "\0" not in name]
    hostile = renamed(graph, [name for name in attacks if "\ud800" not in name][:4])
    project = export_graph(hostile, tmp_path / "out", core="host", labels=())
    found, _ = said(tmp_path / "out", tmp_path)
    names = [port.name for port in (*project.inputs, *project.outputs)]
    assert found == ["net", __version__, "", *names]


def test_without_being_asked_nothing_is_told(tmp_path):
    project = export_c(packed(tmp_path, {"labels.txt": "a\nb"}), tmp_path / "out")
    assert not [name for name in project.files if "info" in name]


@pytest.mark.slow
def test_each_of_several_models_has_its_own(tmp_path):
    paths = [tmp_path / f"{graph.name}.tflite" for graph in (dense(), views())]
    for graph, path in zip((dense(), views()), paths, strict=True):
        save_tflite(graph, path)
    project = export_several(
        paths, tmp_path / "both", core="host", options=ExportOptions(info=True)
    )
    make = ["make", "-s", "-C", tmp_path / "both", f"CC={host_compiler()}"]
    subprocess.run(make, check=True)
    nm = ["nm", "-g", "--defined-only", tmp_path / "both" / "build" / "libboth.a"]
    listing = subprocess.run(nm, check=True, capture_output=True, text=True).stdout
    for model in project.models:
        assert f" {model.name}_{project.identity}_info\n" in listing
    clashing = [paths[0], tmp_path / "net_info.tflite"]
    save_tflite(replace(dense(), name="net_info"), clashing[1])
    with pytest.raises(UnsupportedError, match=r"a file 'net_info\.h'"):
        export_several(clashing, tmp_path / "x", options=ExportOptions(info=True))


def together(paths, folder, options):
    return export_several(paths, folder, options=options)


def in_turn(paths, folder, options):
    return export_cascade(*paths, folder, threshold=9, options=options)


@pytest.mark.parametrize("export", [together, in_turn])
def test_labels_are_those_of_their_own_model_and_so_are_errors(export, tmp_path):
    paths, options = pair(tmp_path), ExportOptions(info=True)
    for path in paths:
        pack(path, {"labels.txt": "\n".join(f"{path.stem} {i}" for i in range(5))})
    export(paths, tmp_path / "out", options)
    for path in paths:
        text = (tmp_path / "out" / f"{path.stem}_info.c").read_text()
        assert re.findall(r'"(\w+ \d)"', text) == [f"{path.stem} {i}" for i in range(5)]
    pack(paths[1], {"more.txt": b"\xff\xfe"})
    with pytest.raises(ModelFormatError, match="cannot be read") as caught:
        export(paths, tmp_path / "out", options)
    assert caught.value.file == str(paths[1])


def test_labels_are_those_of_an_output_with_as_many_classes(tmp_path):
    outputs = export_graph(views(), tmp_path / "out").outputs  # (1, 12) and (3, 4)
    four, twelve = tuple("abcd"), tuple("abcdefghijkl")
    assert labels_of([four], outputs) == (four, 1)
    assert labels_of([four, twelve], outputs) == (twelve, 0)
    assert labels_of([twelve, twelve, four], outputs) == (four, 1)
    assert labels_of([("a",), ()], outputs) == ((), 0)
    assert labels_of([("a",)], [replace(outputs[0], shape=())]) == ((), 0)
    assert labels_of([four], [replace(outputs[0], shape=()), outputs[1]]) == (four, 1)


def test_text_files_of_a_usual_size_are_read(tmp_path):
    files = {"a.txt": "1\n2", "B.TXT": "3", "c.json": "{}"}
    path = packed(tmp_path, files)
    assert labels_in(path) == (("1", "2"), ("3",))
    assert read_tflite(path).name == "net"
    save_tflite(dense(), tmp_path / "plain.tflite")
    assert labels_in(tmp_path / "plain.tflite") == ()


@pytest.mark.parametrize("beyond", [0, 1])
def test_text_files_are_read_up_to_a_size_in_all(tmp_path, beyond):
    size = MAX_LABEL_BYTES // 2
    path = packed(tmp_path, {"a.txt": "x" * size, "b.txt": "y" * (size + beyond)})
    if not beyond:
        assert [len(lines) for lines in labels_in(path)] == [1, 1]
        return
    with pytest.raises(ModelFormatError, match="take 1,048,577 bytes") as caught:
        export_c(path, tmp_path / "out", options=ExportOptions(info=True))
    assert "leave --info out" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_archive_that_cannot_be_read_is_refused(tmp_path):
    path = packed(tmp_path, {"labels.txt": b"\xff\xfe"})
    with pytest.raises(ModelFormatError, match="the archive behind the model cannot be read"):
        export_c(path, tmp_path / "out", options=ExportOptions(info=True))
    assert not (tmp_path / "out").exists()
    export_c(path, tmp_path / "out")
