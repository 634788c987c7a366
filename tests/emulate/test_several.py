"""Several models in one image: what is asked for, and what is told; nothing is built here."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from tinyrt.emulate import several
from tinyrt.emulate.several import run_emulated_several
from tinyrt.export import ExportOptions


@dataclass(frozen=True)
class Image:
    name: str = "image"
    stack_bound: object = None


def model(name, *nbytes):
    return SimpleNamespace(
        name=name, inputs=(), outputs=[SimpleNamespace(nbytes=n) for n in nbytes]
    )


@pytest.fixture
def asked(monkeypatch):
    """What is asked of each step."""
    found = {}

    def noted(name, answer):
        def call(*args, **kwargs):
            found[name] = args, kwargs
            return answer

        return call

    def run(*args, progress=None, **kwargs):
        found["run"] = args, kwargs
        if progress is not None:
            progress(7)
        return {"_one": "run of one", "_two": "run of two"}

    packed = {3: (b"abc", 3), 5: (b"hello", 5)}
    bundle = SimpleNamespace(models=[model("one", 4), model("two", 2, 8)])
    monkeypatch.setattr(several, "export_several", noted("export", bundle))
    monkeypatch.setattr(several, "pack_inputs", lambda ports, n: packed[n])
    monkeypatch.setattr(several, "build_several", noted("build", (Image(), {"two": 80})))
    monkeypatch.setattr(several, "run_parts", run)
    monkeypatch.setattr(several, "report_of", lambda project, *others: others)
    return found


def test_each_model_has_its_own_run_samples_answers_and_stack(asked, tmp_path):
    reports = run_emulated_several(
        ["a.tflite", "b.tflite"],
        inputs=[3, 5],
        expected=["answers of one", "answers of two"],
        build_dir=tmp_path / "b",
    )
    assert reports == {
        "one": (Image(), "run of one", 3, "answers of one"),
        "two": (Image(stack_bound=80), "run of two", 5, "answers of two"),
    }
    assert asked["run"][0][1] == {"_one": b"abc", "_two": b"hello"}


@pytest.mark.parametrize("shared", [False, True])
def test_what_is_asked_for_reaches_each_step(shared, asked, tmp_path):
    options, told = ExportOptions(), []
    run_emulated_several(
        ["a.tflite", "b.tflite"],
        inputs=[3, 5],
        build_dir=tmp_path / "b",
        core="m3",
        optimize="size",
        options=options,
        shared_arena=shared,
        timeout_s=9.0,
        progress=lambda *counts: told.append(counts),
    )
    assert asked["export"][1] == {
        "core": "cortex-m3",
        "optimize": "size",
        "options": options,
        "shared_arena": shared,
    }
    assert asked["build"][1]["board"].name == "mps2-an385"
    assert asked["run"][1] == {"timeout_s": 9.0}
    assert told == [(7, 3 * 4 + 5 * (2 + 8))]


@pytest.mark.parametrize("regions", [(), ("arena",), ("fast", "slow")])
def test_each_model_has_a_harness_and_with_an_arena_for_all_they_take_turns(
    regions, monkeypatch, tmp_path
):
    """In the same memory, which the first one alone has."""
    brought, written = [], {}

    def write(library, path, text):
        written[path.relative_to(tmp_path).as_posix()] = library, text

    monkeypatch.setattr(several, "bring_model", lambda *args: brought.append(args))
    monkeypatch.setattr(several, "render", lambda folder, name, context: (name, context))
    monkeypatch.setattr(several, "write_source", write)
    models = [model("one", 4), model("two", 2)]
    bundle = SimpleNamespace(models=models, regions=regions)
    sources = several._bring_models(bundle, "library", tmp_path)
    assert sources == ("harness_several.c", "harness_main_one.c", "harness_main_two.c")
    assert brought == [(m, tmp_path, f"harness_model_{m.name}.h") for m in models]
    one, turns = "harness_one.c.j2", "harness_several.c.j2"
    shared = bool(regions)
    assert written == {
        "harness_main_one.c": ("library", (one, {"name": "one", "shared": shared, "first": True})),
        "harness_main_two.c": ("library", (one, {"name": "two", "shared": shared, "first": False})),
        "harness_several.c": ("library", (turns, {"names": ["one", "two"]})),
    }
