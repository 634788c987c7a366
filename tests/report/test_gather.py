"""The data of a report: its figures are those of the other commands."""

import json
import os
import re
import threading
from dataclasses import asdict, replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import fastjsonschema
import numpy as np
import pytest

from tests.cli.test_disagreement import AGREES
from tests.convert.onnx_build import OnnxModel
from tests.report.made import reported, save_pair
from tests.sampling import sampled
from tinyrt import api
from tinyrt.api.inspection import inspect_graph
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.planning import CKernels, kernels_of
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import Timing
from tinyrt.emulate.report import Ram
from tinyrt.errors import DataError, ModelFormatError, ToolError
from tinyrt.export import CORES as CORES_OF_ALL
from tinyrt.export import find_core
from tinyrt.export.target import Optimize, target_of
from tinyrt.report import gather, write_report
from tinyrt.report.gather import distinct
from tinyrt.report.schema import schema
from tinyrt.tools import run_tool


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return save_pair(tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="module")
def report():
    return reported()[0]


CORES = {"cortex-m4": InstructionSet.DSP, "cortex-m55": InstructionSet.MVE}


@pytest.mark.parametrize("core", CORES)
def test_costs_by_formula_are_those_of_cost_and_inspect(core, files, report):
    int8 = files[1]
    (found,) = (one for one in report.models[0].cores if one.core == core)
    cost, inspection = api.cost(int8, core), api.inspect_model(int8, core=core)
    assert (found.basis, found.board, found.bit_exact) == ("formula", None, None)
    assert (found.instructions, found.flash.weights) == (cost.instructions, cost.weights)
    assert (found.flash.code, found.flash.total) == (None, None)
    assert (found.ram.arena, found.arena.bytes) == (cost.arena, inspection.arena_bytes)
    assert found.ram.total == cost.arena
    assert found.instructions_per_mac == cost.instructions / inspection.macs
    assert sum(op.instructions for op in found.ops) == pytest.approx(cost.instructions, abs=4)
    assert [op.arena for op in found.ops] == [op.arena_bytes for op in inspection.ops]
    kernels = kernels_of(CORES[core])
    chosen = [kernels.kernel(node).name for node in inspection.graph.bound()]
    assert [op.kernel for op in found.ops] == chosen
    assert all(op.why for op in found.ops)


def test_the_arena_is_that_of_inspect(files, report):
    inspection = api.inspect_model(files[1])
    arena, plan = report.models[0].cores[0].arena, inspection.plan
    assert (arena.lower_bound, arena.optimal) == (plan.lower_bound, plan.optimal)
    peak = plan.fullest()
    assert (arena.peak, [(k.name, k.bytes) for k in arena.kept]) == (peak.node, [*peak.sizes])
    assert [(w.what, w.bytes) for w in arena.ways] == [
        (a.what, a.arena_bytes) for a in inspection.advice
    ]
    last = len(inspection.ops) - 1
    assert [(b.offset, b.bytes, b.first, b.last) for b in arena.buffers] == [
        (plan.start_of(b.names[0]), b.nbytes, max(b.first, 0), min(b.last, last))
        for b in plan.buffers
    ]


def test_what_is_true_of_a_model_on_every_core_is_that_of_inspect(files, report):
    for path, model in zip((files[1], files[0]), report.models, strict=True):
        graph = api.open_model(path, optimize=False)
        assert (model.name, model.file_bytes) == (path.stem, path.stat().st_size)
        assert model.quantized == graph.is_quantized
        assert [op.op for op in model.ops] == [node.op for node in graph.nodes]
        values = [v for v in graph.values.values() if v.is_constant]
        assert model.weight_bytes == sum(v.data.nbytes for v in values)
    int8 = report.models[0]
    assert int8.macs == api.inspect_model(files[1]).macs == sum(op.macs for op in int8.ops)
    assert [op.sources for op in int8.ops] == [(), (0,), (0, 1), (2,), (3,), (4,), (5,), (6,)]
    assert int8.ops[3].attributes == {
        "stride": "(2, 2)",
        "padding": "SAME",
        "dilation": "(1, 1)",
        "activation": "RELU6",
    }
    (x,) = int8.inputs
    value = api.open_model(files[1]).input_values[0]
    assert (x.name, x.shape, x.scales, x.zero_point) == (
        *("x", (1, 8, 8, 3)),
        *(value.q.scales, value.q.zero_point),
    )
    weights = int8.ops[1].inputs[1]
    assert (weights.constant, weights.scale_count, len(weights.scales)) == (True, 8, 4)


def test_quality_is_that_of_eval_and_errors_those_of_debug(files, report):
    net, int8, data = files
    found, evaluated = report.models[0].quality, api.evaluate(int8, data, against=net)
    assert asdict(found) == {
        name: getattr(evaluated, name)
        for name in ("samples", "correct", "top1", "agreement", "sqnr_db")
    }
    debugged, errors = api.debug_model(net, int8, data), report.models[0].errors
    assert (errors.samples, errors.sqnr_db) == (debugged.samples, debugged.sqnr_db)
    ordered = sorted(debugged.layers, key=lambda layer: layer.index)
    for layer, other in zip(errors.layers, ordered, strict=True):
        said = asdict(layer)
        node = said.pop("node")
        assert said == {name: getattr(other, name) for name in said}
        ops = [op.index for op in report.models[0].ops if op.outputs[0].name == layer.name]
        assert node == next(iter(ops), None)
        assert (node is None) == (layer.op == "input")
    assert report.models[1].errors is None  # the float model itself


@pytest.mark.device
@pytest.mark.slow
def test_counted_costs_are_those_of_emulate(files, tmp_path):
    int8 = files[1]
    report = write_report(int8, tmp_path / "r.html", cores=["m4"])
    (found,), emulation = report.models[0].cores, api.run_emulated(int8, samples=1, profile=True)
    assert (found.basis, found.board, found.bit_exact) == ("counted", emulation.board, True)
    assert found.instructions == emulation.instructions
    assert found.instructions_per_mac == emulation.instructions_per_mac
    assert found.flash.code == emulation.flash.code
    assert found.flash.total == emulation.flash.code + emulation.flash.weights
    assert asdict(found.ram) == asdict(emulation.ram)
    parts = (emulation.ram.arena, emulation.ram.stack_bound, emulation.ram.static)
    assert found.ram.total == sum(parts)
    assert [op.instructions for op in found.ops] == [op.instructions for op in emulation.ops]
    assert found.arena.bytes == emulation.ram.arena
    page = (tmp_path / "r.html").read_text()
    assert f"<b>{emulation.instructions:,}</b>instructions, counted" in page
    assert f"<b>{found.flash.total:,}</b>bytes of flash" in page
    assert f"<b>{emulation.ram.stack:,}</b>bytes of stack used" in page


def test_each_part_of_ram_is_the_emulated_one(files):
    target, ram = target_of(find_core("m4"), Optimize.BALANCED), Ram(1, 2, 3, 4, 5)
    inspection = inspect_graph(read_tflite(files[1]), CKernels(target))
    assert asdict(gather._counted(inspection, target, replace(AGREES, ram=ram)).ram) == asdict(ram)


@pytest.mark.parametrize(
    ("bit_exact", "float_error", "agrees"),
    [(True, None, True), (False, None, False), (False, 1e-6, True), (False, 1e-2, False)],
)
def test_floats_that_are_nearly_the_hosts_are_no_difference(files, bit_exact, float_error, agrees):
    target = target_of(find_core("m4"), Optimize.BALANCED)
    inspection = inspect_graph(read_tflite(files[1]), CKernels(target))
    counted = replace(AGREES, bit_exact=bit_exact, float_error=float_error)
    assert gather._counted(inspection, target, counted).bit_exact is agrees


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_cycles_are_those_of_emulate(files, tmp_path):
    int8, page = files[1], tmp_path / "r.html"
    (found,) = write_report(int8, page, cores=["m4"], cycles=True).models[0].cores
    emulation = api.run_emulated(int8, samples=1, cycles=Timing())
    told = emulation.cycles.cycles
    assert told.low < told.high
    assert (found.cycles.low, found.cycles.high) == (told.low, told.high)
    of_ops = {op.index: (op.cycles.low, op.cycles.high) for op in emulation.ops}
    text = page.read_text()
    for i, op in enumerate(found.ops):
        assert (op.cycles.low, op.cycles.high) == of_ops[i]
        ends = " to ".join(f"{end:,}" for end in dict.fromkeys(of_ops[i]))
        assert f'<td class="n">{ends}</td>' in text
        assert f'"cycles": "{ends}"' in text or f'"cycles":"{ends}"' in text
    assert f"<b>{told.low:,} to {told.high:,}</b>cycles" in text


def test_cycles_of_what_is_not_built_are_refused(files, tmp_path):
    with pytest.raises(DataError, match="nothing is built for an estimate"):
        write_report(files[1], tmp_path / "r.html", estimate=True, cycles=True)
    assert not (tmp_path / "r.html").exists()


MODELS = ("dscnn_kws", "autoencoder_ad", "mobilenet_vww", "resnet8", "streaming_wakeword")


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(MODELS[:1], MODELS))
def test_pages_of_models_of_the_zoo_are_small(name, zoo, tmp_path):
    page, model = tmp_path / "r.html", zoo / f"models/{name}_int8.tflite"
    report = write_report(model, page, cores=["m4", "m55"], estimate=True)
    assert page.stat().st_size < 2e6
    for core in report.models[0].cores:
        assert core.ram.arena == core.arena.bytes
        assert core.baseline is not None
        assert f"{core.baseline / core.instructions:.2f} times" in page.read_text()
        assert sum(op.baseline or 0 for op in core.ops) == pytest.approx(core.baseline, rel=0.01)


def test_this_machine_has_no_counts(files, tmp_path):
    found = write_report(files[1], tmp_path / "r.html", cores=["host"], estimate=True)
    (core,) = found.models[0].cores
    assert (core.instructions, core.instructions_per_mac) == (None, None)
    assert {op.instructions for op in core.ops} == {None}


def test_steps_are_reported(files, tmp_path):
    steps = []
    options = {"estimate": True, "progress": lambda *step: steps.append(step)}
    write_report([files[0], files[1]], tmp_path / "r.html", cores=["m4", "m0"], **options)
    assert steps == [(i, 6) for i in range(1, 7)]


def test_after_a_failure_nothing_else_is_begun(files, tmp_path, monkeypatch):
    """Each processor is at one core at most; the data, which do not fit, are read meanwhile."""
    begun, refused = [], threading.Event()

    def slow(*args):
        begun.append(args)
        assert refused.wait(30)

    def refuse(*args):
        refused.set()
        raise DataError("these data do not fit")

    monkeypatch.setattr(gather, "on_core", slow)
    monkeypatch.setattr(gather, "model_facts", refuse)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    cores = [name for name in CORES_OF_ALL if not name.startswith("host")]
    with pytest.raises(DataError, match="these data do not fit"):
        write_report(files[1], tmp_path / "r.html", cores=cores)
    assert len(begun) <= 2 < len(cores)


def test_after_a_failure_what_runs_is_ended(files, tmp_path, monkeypatch):
    begun, ended = threading.Event(), []

    def slow(*args):
        begun.set()
        with pytest.raises(ToolError, match="nobody waits") as caught:
            run_tool(["sleep", "60"])
        ended.append(caught.value)

    def refuse(*args):
        assert begun.wait(30)
        raise DataError("these data do not fit")

    monkeypatch.setattr(gather, "on_core", slow)
    monkeypatch.setattr(gather, "model_facts", refuse)
    with pytest.raises(DataError, match="these data do not fit"):
        write_report(files[1], tmp_path / "r.html", cores=["m4"])
    assert len(ended) == 1


def test_the_aim_of_the_code_reaches_the_estimates(files, tmp_path):
    costs = {}
    for optimize in ("speed", "size"):
        options = {"estimate": True, "optimize": optimize}
        found = write_report(files[1], tmp_path / "r.html", **options)
        assert found.optimize == optimize
        costs[optimize] = found.models[0].cores[0].instructions
        assert costs[optimize] == api.cost(files[1], optimize=optimize).instructions


def test_the_core_and_the_aim_of_the_code_reach_the_emulator(files, monkeypatch):
    asked = {}
    monkeypatch.setattr(gather, "_counted", lambda *args: args)
    monkeypatch.setattr(gather, "run_emulated", lambda model, **options: asked.update(options))
    graph, core = read_tflite(files[1]), find_core("m0")
    told = SimpleNamespace(estimate=False, cycles=False)
    _, target, _ = gather.on_core(files[1], graph, core, Optimize.SIZE, told)
    assert target == target_of(core, Optimize.SIZE)
    assert asked == {
        **{"core": "cortex-m0", "optimize": "size", "samples": 1, "profile": True},
        "cycles": None,
    }


WRONG = [
    ({"models": []}, "a report of no model\n  expected: one model or several, each once"),
    ({"cores": []}, "a report of no core\n  expected: one core or several, each once"),
    (
        {"cores": ["m4", "m0", "cortex-m4"]},
        "cortex-m4 is given twice\n  expected: one core",
    ),
    ({"twice": True}, "int8.tflite is given twice\n  expected: one model or several, each once"),
    ({"against": "net"}, "net.tflite is there to compare with, and there are no samples"),
]


@pytest.mark.parametrize(
    ("change", "text"), WRONG, ids=["no model", "no core", "one core twice", "twice", "no data"]
)
def test_what_makes_no_report_is_refused(change, text, files, tmp_path):
    options = {"models": [files[1]], "cores": ["m4"], "estimate": True} | change
    if options.pop("twice", False):
        options["models"] = [files[1], files[0], files[1]]
    if "against" in options:
        options["against"] = files[0]
    with pytest.raises(DataError) as caught:
        write_report(options.pop("models"), tmp_path / "r.html", **options)
    assert text in str(caught.value)
    assert not (tmp_path / "r.html").exists()


def test_a_model_is_a_tflite_file_as_it_stands(tmp_path):
    """An ONNX model would be optimised first, and have other costs."""
    m = OnnxModel()
    m.save(tmp_path, m.op("Relu", m.input(1, 4)))
    with pytest.raises(ModelFormatError) as caught:
        write_report(tmp_path / "model.onnx", tmp_path / "r.html", estimate=True)
    assert "this is not a .tflite file" in str(caught.value)
    assert "try:      make one with tinyrt convert (float) or tinyrt quantize (int8)" in str(
        caught.value
    )


NAMES = [
    (["a/net.tflite", "a/other.tflite"], ["net", "other"]),
    (["v1/net.tflite", "v2/net.tflite"], ["v1/net", "v2/net"]),
    (["v1/x/net.tflite", "v2/x/net.tflite", "v2/x/o.tflite"], ["v1/x/net", "v2/x/net", "v2/x/o"]),
    (["a/net.tflite", "a/net.tfl"], ["net.tflite", "net.tfl"]),
    (["/net.tflite", "/x/y/net.tflite", "/z/y/net.tflite"], ["/net", "x/y/net", "z/y/net"]),
]


@pytest.mark.parametrize(("paths", "names"), NAMES)
def test_models_are_called_by_as_much_of_their_path_as_tells_them_apart(paths, names):
    assert distinct(paths) == names


def test_names_of_relative_paths_are_those_of_the_folders_that_they_mean(tmp_path, monkeypatch):
    (tmp_path / "first" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "first")
    assert distinct(["m.tflite", "../m.tflite"]) == ["first/m", f"{tmp_path.name}/m"]
    assert distinct(["inner/../m.tflite", "inner/m.tflite"]) == ["first/m", "inner/m"]
    assert distinct(["../first/m.tflite", "m.onnx"]) == ["m.tflite", "m.onnx"]


def test_the_data_are_as_the_schema_says(report):
    plain = json.loads(json.dumps(report.as_dict()))
    check = fastjsonschema.compile(schema())
    check(plain)
    for wrong in ({"more": 1}, {"optimize": 1}, {"models": [{}]}):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            check(plain | wrong)
    with pytest.raises(fastjsonschema.JsonSchemaException):
        check({name: plain[name] for name in plain if name != "tinyrt"})


def test_the_schema_that_is_published_is_that_of_the_types():
    page = Path(__file__).parents[2] / "docs" / "report.schema.json"
    assert json.loads(page.read_text()) == schema()


def test_every_record_of_the_schema_says_what_it_is():
    definitions = schema()["definitions"]
    assert {"Report", "ModelFacts", "CoreFacts", "Histogram"} <= set(definitions)
    for definition in definitions.values():
        assert len(definition["description"]) > 8
        assert set(definition["required"]) == set(definition["properties"])


def test_data_without_labels_have_no_accuracy(files, tmp_path):
    data = {"x": np.load(files[2])["x"]}
    found = write_report(files[1], tmp_path / "r.html", estimate=True, data=data)
    assert found.models[0].quality == replace(
        found.models[0].quality, samples=16, correct=None, top1=None, agreement=None
    )
    assert found.models[0].errors is None


def test_a_notebook_shows_the_page_in_a_frame():
    report, page = reported()
    shown = report._repr_html_()
    (frame,) = re.findall(r'<iframe srcdoc="([^"]*)" title="tinyrt report" [^<>]*></iframe>', shown)
    assert "<" not in frame
    assert unescape(frame) == page
    assert "page" not in report.as_dict()
