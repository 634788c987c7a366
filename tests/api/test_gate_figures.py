"""What a check measures on several cores."""

from types import SimpleNamespace

from tinyrt.api.gate import figures
from tinyrt.api.gate.figures import Asked, measure


def test_tools_are_those_of_all_cores(tmp_path, monkeypatch):
    model = tmp_path / "m.tflite"
    model.write_bytes(b"")
    sizes = SimpleNamespace(arena=1, stack=2, code=3, weights=4)
    report = SimpleNamespace(ram=sizes, flash=sizes, instructions=5, agrees=True, board="b")
    monkeypatch.setattr(figures, "run_emulated", lambda *_, **__: report)
    monkeypatch.setattr(figures, "_tools", lambda core, board: {f"cc of {core}": board})
    found = measure(model, [Asked(core, ("stack",)) for core in ("m4", "rv32imc")], None)
    assert found.tools == {"cc of m4": "b", "cc of rv32imc": "b"}
