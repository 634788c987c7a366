"""The HTTP interface beside the commands and functions that it stands for."""

import asyncio
import io
import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fastapi import UploadFile
from fastapi.testclient import TestClient

import tinyrt
from tests.report.made import samples, save_pair
from tests.sampling import sampled
from tinyrt.quantize.config import Preset, Scheme, configure
from tinyrt.report import write_report
from tinyrt.serve.app import _saved, _zipped, make_app
from tinyrt.serve.jobs import Limits

HERE = "http://127.0.0.1:8000"
CORPUS = [
    path
    for path in sorted((Path(__file__).parents[1] / "fuzz" / "corpus").iterdir())
    if path.suffix in (".onnx", ".tflite", ".npz")
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_pair(folder)
    return folder


@pytest.fixture(scope="module")
def client():
    with TestClient(make_app(Limits(upload=1 << 20)), base_url=HERE) as client:
        yield client


def upload(path):
    return (path.name, path.read_bytes())


def test_a_report_is_that_of_the_function(client, files, tmp_path):
    form = {"core": "cortex-m3", "optimize": "size"}
    answer = client.post("/api/report", data=form, files={"model": upload(files / "int8.tflite")})
    made = write_report(
        [files / "int8.tflite"],
        tmp_path / "report.html",
        cores=["cortex-m3"],
        optimize="size",
        estimate=True,
    )
    assert answer.status_code == 200
    assert answer.json() == json.loads(json.dumps(made.as_dict())) | {"warnings": []}


ONNX = ("own net.onnx", b"not read here")
SAID = """import json, pathlib, sys
told = [a.replace(str(pathlib.Path.cwd()), "") for a in sys.argv[1:]]
made = sys.argv[sys.argv.index("-o") + 1]
before = [p.read_text() for a in sys.argv if "/made/" in a and (p := pathlib.Path(a)).is_file()]
pathlib.Path(made).write_text("; ".join([*before, " ".join(told)]))
print(json.dumps({"output": made}))
"""
"""A command that writes what it was told, behind what made the files that it reads was told."""


@pytest.mark.parametrize(
    ("form", "option"), [({"measured": "true"}, ""), ({"optimize": "speed"}, " --estimate")]
)
def test_a_page_of_an_onnx_model(form, option, client, tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\n{SAID}")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    answer = client.post("/api/page", data=form, files={"model": ONNX})
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    goal = form.get("optimize", "balanced")
    assert answer.text == (
        "-m tinyrt convert /own_net.onnx -o /made/own_net.tflite --json; "
        "-m tinyrt report /made/own_net.tflite -o /made/page.html "
        f"--core cortex-m4 --optimize {goal}{option} --json"
    )


@pytest.mark.whole
def test_a_quantised_model_is_that_of_the_function(client, files, tmp_path):
    np.savez(tmp_path / "own.npz", x=samples(32))
    form = {"scheme": "int16x8", "preset": "fast"}
    sent = {"model": upload(files / "net.tflite"), "calibration": upload(tmp_path / "own.npz")}
    answer = client.post("/api/quantize", data=form, files=sent)
    assert answer.headers["content-disposition"] == 'attachment; filename="net_int16x8.tflite"'
    config = configure(Preset.FAST, scheme=Scheme("int16x8"))
    tinyrt.quantize_model(files / "net.tflite", samples(32), tmp_path / "q.tflite", config=config)
    assert answer.content == (tmp_path / "q.tflite").read_bytes()


OWN, ARRAY = ({"calibration": (f"own.{end}", b"not read either")} for end in ("npz", "npy"))


@pytest.mark.parametrize(
    ("form", "more", "options"),
    [
        ({"scheme": "float"}, {}, "--scheme float"),
        ({"preset": "fast"}, {}, "--scheme int8 --preset fast"),
        ({"scheme": "int4"}, OWN, "--scheme int4 --calibration /samples_own.npz"),
        ({}, ARRAY, "--scheme int8 --calibration /samples_own.npy"),
    ],
)
def test_a_model_is_quantised_as_it_is_asked_for(
    form, more, options, client, tmp_path, monkeypatch
):
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\n{SAID}")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    answer = client.post("/api/quantize", data=form, files={"model": ONNX} | more)
    made = f"own_net_{form.get('scheme', 'int8')}.tflite"
    assert answer.text == f"-m tinyrt quantize /own_net.onnx -o /made/{made} {options} --json"
    assert made in answer.headers["content-disposition"]


def test_an_export_is_that_of_the_function(client, files, tmp_path):
    form = {"core": "cortex-m0", "optimize": "size", "layout": "arduino"}
    answer = client.post("/api/export", data=form, files={"model": upload(files / "int8.tflite")})
    assert answer.headers["content-disposition"] == 'attachment; filename="int8_cortex-m0.zip"'
    own = tmp_path / "int8"
    options = tinyrt.ExportOptions(layout="arduino")
    tinyrt.export_c(files / "int8.tflite", own, core="cortex-m0", optimize="size", options=options)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    wanted = {str(p.relative_to(tmp_path)): p.read_bytes() for p in own.rglob("*") if p.is_file()}
    assert found == wanted


@pytest.mark.parametrize("turn", [1, -1])
def test_files_lie_in_an_archive_in_the_order_of_their_names(turn, tmp_path):
    """However the folder lists them: equal exports are equal archives but for their times."""
    names = ["m/a.c", "m/a.h", "m/tinyrt/b.h", "m/z.txt"]
    for name in names[::turn]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    with zipfile.ZipFile(io.BytesIO(_zipped(tmp_path / "m"))) as archive:
        assert archive.namelist() == names
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_DEFLATED}


@pytest.mark.parametrize("path", sampled(CORPUS[14:15], CORPUS), ids=lambda p: p.name)
def test_hostile_files_are_refused_in_words_and_leave_nothing(path, client, files, tmp_path):
    if path.suffix == ".npz":
        sent = {"model": upload(files / "net.tflite"), "calibration": upload(path)}
        answer = client.post("/api/quantize", files=sent)
    else:
        answer = client.post("/api/report", files={"model": upload(path)})
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 422:
        assert len(answer.json()["error"]["problem"]) > 10
        assert "defect of tinyrt" not in answer.text


REFUSED = {
    "no model": ({}, {}, 422, "field model: Field required"),
    "an unknown core": ({"core": "z80"}, {"model": ("a.tflite", b"")}, 422, "field core: Input"),
    "another suffix": ({}, {"model": ("a.h5", b"")}, 415, "the file's name ends with none of"),
    "no file at all": ({}, {"model": ("a.tflite", b"x" * 9)}, 422, ""),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_have_one_form(what, client):
    form, sent, status, problem = REFUSED[what]
    answer = client.post("/api/report", data=form, files=sent or None)
    assert answer.status_code == status
    assert answer.json()["error"]["problem"].startswith(problem)


def test_what_is_too_large_is_not_read(client):
    sent = {"model": ("a.tflite", bytes(1 << 20))}
    assert client.post("/api/report", files=sent).status_code == 413

    def pieces():
        yield b'--x\r\nContent-Disposition: form-data; name="model"; filename="a.tflite"\r\n\r\n'
        yield from [bytes(1 << 18)] * 5
        yield b"\r\n--x--\r\n"

    kind = {"content-type": "multipart/form-data; boundary=x"}
    assert client.post("/api/report", content=pieces(), headers=kind).status_code == 413


def test_a_file_of_several_pieces_is_saved_whole(tmp_path):
    content = bytes(range(256)) * 10_000
    asyncio.run(_saved(UploadFile(io.BytesIO(content)), tmp_path / "a.tflite"))
    assert (tmp_path / "a.tflite").read_bytes() == content


def test_the_description_says_whose_it_is(monkeypatch):
    monkeypatch.setattr("tinyrt.serve.app.__version__", "7.8.9")
    told = make_app().openapi()["info"]
    assert (told["title"], told["version"]) == ("tinyrt", "7.8.9")


def test_the_description_has_every_path_field_and_choice(client):
    described = client.get("/openapi.json").json()
    assert list(described["paths"]) == ["/api/report", "/api/page", "/api/quantize", "/api/export"]
    bodies = described["components"]["schemas"]
    fields = {
        name.removeprefix("Body_").partition("_api")[0]: list(body["properties"])
        for name, body in bodies.items()
        if name.startswith("Body_")
    }
    assert fields == {
        "report": ["model", "core", "optimize", "measured"],
        "report_page": ["model", "core", "optimize", "measured"],
        "quantize": ["model", "calibration", "scheme", "preset"],
        "export": ["model", "core", "optimize", "layout"],
    }
    for name, body in bodies.items():
        if name.startswith("Body_"):
            assert [f for f, said in body["properties"].items() if "description" not in said] == []
    assert "cortex-m55" in bodies["Core"]["enum"]
    assert not any(core.startswith("host") for core in bodies["Core"]["enum"])
    statuses = set(described["paths"]["/api/export"]["post"]["responses"])
    assert statuses == {"200", "403", "413", "415", "422", "504"}


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/docs/oauth2-redirect"])
def test_there_is_no_page_whose_scripts_come_from_elsewhere(path, client):
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (404, {"error": {"problem": "Not Found"}})


def test_no_page_names_another_machine_that_it_would_fetch_from(client):
    text = client.get("/").text
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//|url\(["']?https?:""", text)


WHO = {
    ("127.0.0.1:8000", None): 200,
    ("localhost:8000", "http://localhost:8000"): 200,
    ("127.0.0.1", None): 200,
    ("LocalHost:8000", None): 200,
    ("[::1]:8000", None): 403,
    ("127.0.0.1:8000", "http://127.0.0.1:9000"): 403,
    ("127.0.0.1:8000", "https://127.0.0.1:8000"): 403,
    ("127.0.0.1:8000", "null"): 403,
    ("example.org", None): 403,
    ("example.org:8000", "http://example.org:8000"): 403,
    ("127.0.0.1.example.org", None): 403,
    ("[", None): 403,
    ("", None): 403,
}


@pytest.mark.parametrize(("host", "origin"), WHO)
def test_other_pages_and_forged_names_are_refused(host, origin, client):
    headers = {"host": host} | ({} if origin is None else {"origin": origin})
    answer = client.get("/", headers=headers)
    assert answer.status_code == WHO[host, origin]
    if answer.status_code == 403:
        problem = "the request comes from another page or machine"
        assert answer.json() == {"error": {"problem": problem}}
