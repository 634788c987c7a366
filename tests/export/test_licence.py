"""Every exported file says its licence, tinyrt's version and its export; the header, the model."""

import hashlib
import json
import re
import subprocess

import pytest

from tests.c.host import host_compiler
from tests.docs.pages import ROOT
from tests.export.models import dense, views
from tinyrt import __version__, kernels_c
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import export_c, export_graph, export_several

HEAD = re.compile(
    r"(?:/\* |# )SPDX-License-Identifier: (\S+)(?: \*/)?\n"
    r"(?:/\* |# )tinyrt (\S+), export ([0-9a-f]{8})(?: \*/)?\n"
)


@pytest.fixture
def models(tmp_path):
    paths = [tmp_path / f"{graph.name}.tflite" for graph in (dense(), views())]
    for graph, path in zip((dense(), views()), paths, strict=True):
        save_tflite(graph, path)
    return paths


@pytest.mark.parametrize("several", [False, True])
def test_every_file_begins_with_its_licence(tmp_path, models, several):
    folder = tmp_path / "out"
    if several:
        project = export_several(models, folder, shared_arena=True)
    else:
        project = export_c(models[0], folder)
    assert set(project.files) == {
        str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()
    }
    for name in project.files:
        text = (folder / name).read_text()
        if name == "LICENSE":
            assert text == (ROOT / "LICENSE").read_text()
        elif name == "tinyrt-files.json":
            assert json.loads(text)["SPDX-License-Identifier"] == "Apache-2.0"
        else:
            licence, version, identity = HEAD.match(text).groups()
            assert licence == ("LicenseRef-Model" if "_weights.c" in name else "Apache-2.0"), name
            assert (version, identity) == (__version__, project.identity)


def test_the_package_brings_the_licence():
    assert (kernels_c.ROOT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert '"kernels_c/LICENSE"' in (ROOT / "pyproject.toml").read_text()


def test_the_header_tells_a_program_what_it_is(tmp_path, models):
    digests = {p.stem: hashlib.sha256(p.read_bytes()).hexdigest() for p in models}
    bundle = export_several(models, tmp_path / "both", core="host")
    alone = export_c(models[0], tmp_path / "net", core="host")
    assert alone.model_sha256 == digests["net"]
    assert {m.name: m.model_sha256 for m in bundle.models} == digests
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "net.h"\n#include "views.h"\n'
        'int main(void) { return puts(NET_TINYRT_VERSION " " NET_MODEL_SHA256 " " '
        'VIEWS_TINYRT_VERSION " " VIEWS_MODEL_SHA256) < 0; }\n'
    )
    program = tmp_path / "program"
    command = [host_compiler(), f"-I{tmp_path / 'both'}", tmp_path / "main.c", "-o", program]
    subprocess.run(command, check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert said.split() == [__version__, digests["net"], __version__, digests["views"]]


def test_a_graph_without_a_file_has_no_digest(tmp_path):
    project = export_graph(dense(), tmp_path / "out", core="host")
    text = (tmp_path / "out" / "net.h").read_text()
    assert f'#define NET_TINYRT_VERSION "{__version__}"\n' in text
    assert "SHA256" not in text
    assert project.model_sha256 is None
