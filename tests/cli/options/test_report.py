"""Options of ``tinyrt report``."""

import re

import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.sampling import WHOLE
from tinyrt import api
from tinyrt.report.gather import distinct


def reported(tmp_path, *arguments):
    """What the command says, and the page that it writes."""
    page = tmp_path / "r.html"
    found = call_json("report", *arguments, "-o", page, "--estimate")
    assert found["output"] == str(page)
    assert found["bytes"] == page.stat().st_size
    return found["report"], page.read_text()


@shows("report", "models", "output")
def test_the_page_compares_the_models_named(made, tmp_path):
    for models in ([made.int8], [made.tall, made.int8]):
        found, page = reported(tmp_path, *models)
        assert [model["name"] for model in found["models"]] == distinct(models)
        assert f"<h1>{', '.join(distinct(models))}</h1>" in page
        counts = [len(model["ops"]) for model in found["models"]]
        assert counts == [len(api.open_model(model).nodes) for model in models]


@shows("report", "core")
def test_costs_are_those_of_the_cores_named(made, tmp_path):
    for options, names in (
        ((), ["cortex-m4"]),
        (("--core", "m0"), ["cortex-m0"]),
        (("--core", "m55", "--core", "m4"), ["cortex-m55", "cortex-m4"]),
    ):
        found, page = reported(tmp_path, made.int8, *options)
        cores = found["models"][0]["cores"]
        assert [core["core"] for core in cores] == names
        for core in cores:
            assert core["instructions"] == api.cost(made.int8, core["core"]).instructions
            assert f"{core['instructions']:,}</b>instructions, estimated" in page


@shows("report", "optimize")
def test_the_code_is_made_for_what_is_named(made, tmp_path):
    for aim in ("speed", "size"):
        found, page = reported(tmp_path, made.int8, "--optimize", aim)
        cost = api.cost(made.int8, optimize=aim)
        assert found["models"][0]["cores"][0]["instructions"] == cost.instructions
        assert f"<code>--optimize {aim}</code>" in page


@shows("report", "estimate")
@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_estimates_build_nothing(made, tmp_path):
    counted = call_json("report", made.int8, "-o", tmp_path / "c.html")["report"]
    found, _ = reported(tmp_path, made.int8)
    bases = [each["models"][0]["cores"][0] for each in (counted, found)]
    assert [base["basis"] for base in bases] == ["counted", "formula"]
    assert bases[0]["bit_exact"]
    assert bases[1]["flash"]["code"] is None


@shows("report", "cycles")
@pytest.mark.device
@pytest.mark.slow
def test_cycles_are_told_beside_instructions(made, tmp_path):
    page = tmp_path / "c.html"
    found = call_json("report", made.int8, "-o", page, "--cycles")["report"]["models"][0]
    low, high = (f"{found['cores'][0]['cycles'][end]:,}" for end in ("low", "high"))
    assert f"<b>{low} to {high}</b>cycles, of flash without wait states" in page.read_text()
    if WHOLE:
        emulated = call_json("emulate", made.int8, "--samples", "1", "--cycles")
        assert found["cores"][0]["cycles"] == emulated["cycles"]
        out = call("report", made.int8, "-o", page, "--cycles", "--core", "m0").stdout
        (cycles,) = re.findall(r"cortex-m0 +[\d,]+ +([\d,]+) ", out)
        assert f"<b>{cycles}</b>cycles, of flash without wait states" in page.read_text()
        plain = call_json("report", made.int8, "-o", page)["report"]["models"][0]["cores"][0]
        assert (plain["cycles"], {op["cycles"] for op in plain["ops"]}) == (None, {None})
    text = call(*("report", made.int8, "-o", page), "--cycles", "--estimate", code=1).stderr
    assert "expected: one of both" in text


@shows("report", "data", "against")
def test_accuracy_and_errors_are_on_the_data_named(made, tmp_path):
    plain, _ = reported(tmp_path, made.int8)
    assert plain["models"][0]["quality"] is None
    assert plain["models"][0]["activations"] == []
    for data, correct in ((made.test, True), (made.calib, False)):
        found, page = reported(tmp_path, made.int8, "-d", data)
        model = found["models"][0]
        assert model["quality"]["correct"] == api.evaluate(made.int8, data).correct
        assert (model["quality"]["correct"] is not None) == correct
        assert len(model["activations"]) == len(model["ops"])
        assert model["errors"] is None
        assert "Quantisation error of each layer" not in page
    found, page = reported(tmp_path, made.int8, "-d", made.test, "--against", made.net)
    errors = found["models"][0]["errors"]
    assert errors["sqnr_db"] == api.debug_model(made.net, made.int8, made.test).sqnr_db
    assert "Quantisation error of each layer" in page
    text = call(
        "report", made.int8, "-o", tmp_path / "r.html", "--against", made.net, code=1
    ).stderr
    assert "expected: data beside it" in text


def test_without_json_there_is_a_line_for_each_model_on_each_core(made, tmp_path):
    page = tmp_path / "r.html"
    out = call(
        *("report", made.int8, made.tall, "-o", page, "--estimate"),
        *("--core", "m4", "--core", "m0"),
    ).stdout
    lines = re.findall(r"(int8|tall) +(cortex-m\w+) +- +([\d,]+) +- +([\d,]+) +-", out)
    want = []
    for path in (made.int8, made.tall):
        for core in ("cortex-m4", "cortex-m0"):
            cost = api.cost(path, core)
            want.append((path.stem, core, f"{cost.instructions:,}", f"{cost.arena:,}"))
    assert lines == want
    assert f"{page.stat().st_size:,}" in out


def test_a_device_that_answers_otherwise_ends_with_one(made, tmp_path, monkeypatch):
    from dataclasses import replace

    from tinyrt.report import gather

    real = gather.on_core

    for differs in ("cortex-m0", "cortex-m4"):

        def wrong(*args, differs=differs):
            return replace(real(*args), bit_exact=args[2].name != differs)

        monkeypatch.setattr(gather, "on_core", wrong)
        cores = ("--core", "m0", "--core", "m4")
        call("report", made.int8, "-o", tmp_path / "r.html", "--estimate", *cores, code=1)
        assert "<b>NO</b>answers as the host does" in (tmp_path / "r.html").read_text()
