"""What a check measures on several cores, and figures and baselines at their ends."""

import json
from types import SimpleNamespace

import pytest

from tinyrt.api.gate import figures
from tinyrt.api.gate.baseline import MAX_BYTES, read_baseline, write_baseline
from tinyrt.api.gate.checking import Checked, Row, Verdict
from tinyrt.api.gate.figures import Asked, Measured, measure


def test_tools_are_those_of_all_cores(tmp_path, monkeypatch):
    model = tmp_path / "m.tflite"
    model.write_bytes(b"")
    sizes = SimpleNamespace(arena=1, stack=2, code=3, weights=4)
    report = SimpleNamespace(ram=sizes, flash=sizes, instructions=5, agrees=True, board="b")
    monkeypatch.setattr(figures, "run_emulated", lambda *_, **__: report)
    monkeypatch.setattr(figures, "_tools", lambda core, board: {f"cc of {core}": board})
    found = measure(model, [Asked(core, ("stack",)) for core in ("m4", "rv32imc")], None)
    assert found.tools == {"cc of m4": "b", "cc of rv32imc": "b"}


def test_tools_are_those_that_are_installed(monkeypatch):
    said = {"arm-none-eabi-gcc": " arm gcc 9 \nand more", "qemu-system-arm": ""}
    monkeypatch.setattr(figures.shutil, "which", lambda name: name if name in said else None)
    monkeypatch.setattr(figures, "run_tool", lambda c, **_: SimpleNamespace(out=said[c[0]]))
    compiler = {"arm-none-eabi-gcc": "arm gcc 9"}
    assert figures._tools("m4", None) == compiler
    assert figures._tools("m4", "mps2-an386") == compiler | {"qemu-system-arm": "unknown"}
    del said["arm-none-eabi-gcc"]
    assert figures._tools("m4", "mps2-an386") == {"qemu-system-arm": "unknown"}


@pytest.mark.parametrize("top1", [0.0, 1.0])
def test_a_baseline_of_the_most_bytes_and_of_all_or_no_right_answers(top1, tmp_path):
    path = write_baseline(tmp_path / "b", Measured({"accuracy": {"top1": top1}}))
    path.write_text(path.read_text().ljust(MAX_BYTES))
    assert read_baseline(path).figures == {"accuracy": {"top1": top1}}


CHANGES = {
    "from nothing": (("file", "bytes", 3, None, 0), None),
    "of nothing": (("file", "bytes", 0, None, 0), 0.0),
    "of bytes": (("file", "bytes", 50, None, 40), 25.0),
    "of right answers": (("accuracy", "top1", 0.75, None, 0.5), 25.0),
    "not measured": (("file", "bytes", None, None, 40), None),
    "not there before": (("file", "bytes", 5, None, None), None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_part_of_what_is_told(name):
    row, change = CHANGES[name]
    found = Checked("m", (Row(*row, Verdict.OK),), ("note",)).as_dict()
    names = ("where", "what", "value", "limit", "before")
    figure = dict(zip(names, row, strict=True)) | {"verdict": "ok", "change": change}
    whole = {"model": "m", "passed": True, "figures": [figure], "notes": ["note"]}
    assert json.loads(json.dumps(found)) == whole
