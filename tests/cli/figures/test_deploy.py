"""Figures of ``emulate``, ``export`` and ``bench``."""

import hashlib
import itertools
import re
import statistics
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.cli.figures.compare import assert_fields
from tests.cli.figures.test_models import SHAPES
from tests.cli.options.test_deploy import header
from tests.convert.onnx_build import OnnxModel
from tinyrt import bench
from tinyrt.api import random_inputs
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.interpreter import Model
from tinyrt.ir import Value
from tinyrt.quantize import QuantConfig, quantize_graph

pytestmark = pytest.mark.slow

MACS = sum(macs for _, _, macs in SHAPES.values())
SIZES = {"int8": 1, "int16": 2, "int32": 4}


def constants_in(project, word=""):
    """Bytes of the arrays in the C file of weights whose names contain a word."""
    text = (project / f"{project_name(project)}_weights.c").read_text()
    arrays = re.findall(r"^const (\w+)_t (\w+)\[(\d+)\]", text, re.MULTILINE)
    return sum(SIZES[kind] * int(count) for kind, name, count in arrays if word in name)


def project_name(project):
    (path,) = project.glob("*_weights.c")
    return path.name.removesuffix("_weights.c")


def sections(path):
    """Section -> size, read from a 32-bit ELF file itself."""
    data = path.read_bytes()
    assert data[:5] == b"\x7fELF\x01"
    start, entry, count, names = (
        *struct.unpack_from("<I", data, 32),
        *struct.unpack_from("<3H", data, 46),
    )
    rows = [struct.unpack_from("<6I", data, start + i * entry) for i in range(count)]
    texts = data[rows[names][4] :]
    return {texts[row[0] :].split(b"\0", 1)[0].decode(): row[5] for row in rows}


def answers(path, samples):
    model = Model(read_tflite(path))
    raw = model.run_raw(random_inputs(model.graph, samples))
    return {name: array.tolist() for name, array in raw.items()}


@pytest.mark.slow
def test_emulate_on_this_machine(made, tmp_path):
    options = ("--core", "host", "--samples", "2", "--keep", tmp_path)
    found = call_json("emulate", made.int8, *options)
    project = tmp_path / "model"
    parts = found["flash"]["parts"]
    expected = {
        "core": "host",
        "board": None,
        "samples": 2,
        "instructions": None,
        "instructions_per_mac": None,
        "baseline": None,
        "flash": {
            "code": sum(parts.values()),
            "weights": constants_in(project),
            "filters": constants_in(project, "_w"),
            "parts": dict.fromkeys(("kernels", "model", "tables"), lambda n: n > 0)
            | {"library": 0},
            "harness": 0,
        },
        "ram": {
            "arena": header(project)["INT8_ARENA_BYTES"],
            "stack": None,
            "stack_bound": None,
            "static": 0,
            "state": 0,
        },
        "row_by_row": [],
        "bit_exact": True,
        "float_error": None,
        "outputs": answers(made.int8, 2),
    }
    assert_fields(found, expected)


def flash_in(folder):
    """What the image takes of flash, by its sections."""
    elf = sections(folder / "image" / "image.elf")
    parts = {
        "kernels": elf[".kernels"],
        "model": elf[".model_code"],
        "tables": elf[".model_tables"],
        "library": elf.get(".library", 0) + elf.get(".ARM.exidx", 0) + elf[".data"],
    }
    return {
        "code": sum(parts.values()),
        "weights": elf[".weights"],
        "filters": constants_in(folder / "model", "_w"),
        "parts": parts,
        "harness": elf[".vectors"] + elf[".harness"],
    }


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_the_c_librarys_part_counts_as_code(made, tmp_path):
    """A float softmax calls for exp."""
    found = call_json("emulate", made.net, "--samples", "1", "--keep", tmp_path)
    flash = flash_in(tmp_path) | {"filters": found["flash"]["filters"]}
    assert_fields(found["flash"], flash)
    assert flash["parts"]["library"] > 0


@pytest.mark.device
@pytest.mark.slow
def test_emulate_on_a_board(made, tmp_path):
    found = call_json("emulate", made.int8, "--samples", "2", "--keep", tmp_path, "--profile")
    project, flash = tmp_path / "model", flash_in(tmp_path)
    ops = found["ops"]
    expected = {
        "core": "cortex-m4",
        "board": "mps2-an386",
        "samples": 2,
        "instructions": lambda n: 0 <= n - sum(op["instructions"] for op in ops) < 0.05 * n,
        "instructions_per_mac": found["instructions"] / MACS,
        "baseline": None,
        "flash": flash,
        "ram": {
            "arena": header(project)["INT8_ARENA_BYTES"],
            "stack": lambda n: 0 < n <= found["ram"]["stack_bound"],
            "stack_bound": lambda n: n < 1024,
            "static": 0,
            "state": 0,
        },
        "row_by_row": [],
        "bit_exact": True,
        "float_error": None,
        "ops": [
            {
                "index": i,
                "op": op,
                "name": name,
                "macs": macs,
                "instructions": lambda n: n >= 0,
                "instructions_per_mac": ops[i]["instructions"] / macs if macs else None,
                "baseline": None,
                "ratio": None,
            }
            for i, (name, (op, _, macs)) in enumerate(SHAPES.items())
        ],
        "outputs": answers(made.int8, 2),
    }
    assert_fields(found, expected)
    assert flash["weights"] == constants_in(project)
    shown = call("emulate", made.int8, "--samples", "1", "--profile").stdout
    total = sum(op["instructions"] for op in ops)
    for op in ops[:2]:
        assert f"{100 * op['instructions'] / total:.2f} %" in shown


@pytest.mark.slow
def test_a_float_outputs_error_is_relative_to_its_largest_element(made):
    found = call_json("emulate", made.net, "--core", "host", "--samples", "2")
    assert 0 <= found["float_error"] < 1e-5
    (wanted,) = answers(made.net, 2).values()
    ((name, output),) = found["outputs"].items()
    wanted, output = np.array(wanted, np.float32), np.array(output, np.float32)
    error = np.abs(wanted.astype(np.float64) - output).max() / np.abs(wanted).max()
    assert found["float_error"] == pytest.approx(float(error))
    assert found["bit_exact"] == bool((wanted == output).all()), name


# export


def called_kernels(project):
    """Kernels in the order of their first calls."""
    text = (project / f"{project_name(project)}.c").read_text()
    return list(dict.fromkeys(re.findall(r"^ +(?:\w+ = )?(tinyrt_\w+)\(", text, re.MULTILINE)))


def identity_of(project, name):
    """The digits in the name of the function that a program calls."""
    text = (project / f"{name}.h").read_text()
    return re.search(rf"#define {name}_invoke {name}_([0-9a-f]{{8}})_invoke\n", text)[1]


def exported(made, project, name):
    return {
        "output": str(project),
        "name": name,
        "identity": identity_of(project, name),
        "core": "cortex-m4",
        "optimize": "balanced",
        "layout": "cmake",
        "arena_bytes": header(project).get(f"{name.upper()}_ARENA_BYTES"),
        "arena_lower_bound": call_json("inspect", getattr(made, name))["arena_lower_bound"],
        "row_by_row": [],
        "kernels": lambda kernels: set(kernels) == set(called_kernels(project)),
        "sparse": [],
        "model_sha256": hashlib.sha256(getattr(made, name).read_bytes()).hexdigest(),
        "flash": flash_of(project),
        "ports": ports_of(project, getattr(made, name)),
        "files": files_of(project),
    }


def flash_of(project):
    """What is known without a compiler."""
    weights, filters = constants_in(project), constants_in(project, "_w")
    return {"code": None, "weights": weights, "filters": filters}


def ports_of(project, model):
    """Tensors as the model has them, at the places that the header says."""
    graph, text = read_tflite(model), header(project)

    def port(kind, i, name):
        value = graph.value(name)
        return {
            "name": name,
            "dtype": value.dtype.value,
            "shape": list(value.shape),
            "scale": value.q.scale if value.q else None,
            "zero_point": value.q.zero_point if value.q else None,
            "offset": text[f"{project_name(project).upper()}_{kind}_{i}_OFFSET"],
            "bytes": value.nbytes,
        }

    return {
        "inputs": [port("INPUT", i, name) for i, name in enumerate(graph.inputs)],
        "outputs": [port("OUTPUT", i, name) for i, name in enumerate(graph.outputs)],
    }


def files_of(project):
    return sorted(str(p.relative_to(project)) for p in project.rglob("*") if p.is_file())


def test_export(made, tmp_path):
    found = call_json("export", made.int8, "-o", tmp_path / "c")
    assert_fields(found, exported(made, tmp_path / "c", "int8"))
    assert found["identity"] != "00000000"


@pytest.mark.whole
def test_export_by_rows_and_in_regions(made, tmp_path):
    rows = call_json("export", made.tall, "-o", tmp_path / "rows", "--by-rows")
    (segment,) = call_json("inspect", made.tall, "--by-rows")["segments"]
    inspected = call_json("inspect", made.tall, "--by-rows")
    assert rows["row_by_row"] == [f"{segment['first']}-{segment['last']}"]
    assert rows["arena_bytes"] == inspected["arena_bytes"]
    assert rows["arena_lower_bound"] == inspected["arena_lower_bound"]
    path = tmp_path / "regions"
    found = call_json("export", made.tall, "-o", path, "--region", "a=2k", "--region", "b")
    text = header(path)
    sizes = {"a": text["TALL_A_BYTES"], "b": text["TALL_B_BYTES"]}
    whole = sum(sizes.values())
    bound = found["arena_lower_bound"]
    assert 0 < bound <= whole
    ports = ports_of(path, made.tall)
    places = re.findall(r"from the start of region (\w+) \*/", text[""])
    for port, place in zip((*ports["inputs"], *ports["outputs"]), places, strict=True):
        port["region"] = place
    others = {"regions": sizes, "arena_bytes": whole, "arena_lower_bound": bound, "ports": ports}
    assert_fields(found, exported(made, path, "tall") | others)


def test_export_of_a_stream_counts_what_it_keeps(tmp_path):
    """Rows move on within the memory that holds all five that an output needs, of two channels."""
    file, path = OnnxModel(), tmp_path / "stream.tflite"
    model = file.save(tmp_path, file.op("Conv", file.input(1, 2, 12), file.weights(3, 2, 5)))
    axis = call_json("convert", model, "-o", path)["inputs"]["x"].index(12)
    call("convert", model, "-o", path, "--stream", axis)
    found = call_json("export", path, "-o", tmp_path / "c")
    assert found["state_bytes"] == header(tmp_path / "c")["STREAM_STATE_BYTES"] == 5 * 2 * 4


@pytest.mark.parametrize(
    ("count", "options", "arena"),
    [(2, [], sum), (2, ["--shared-arena"], max), (1, ["--shared-arena"], max)],
)
def test_export_of_several(count, options, arena, made, tmp_path):
    models = (made.int8, made.tall)[:count]
    found = call_json("export", *models, "-o", tmp_path / "both", *options)
    alone = {m.stem: call_json("export", m, "-o", tmp_path / m.stem) for m in models}
    expected = {
        "output": str(tmp_path / "both"),
        "name": "both",
        "identity": identity_of(tmp_path / "both", "int8"),
        "layout": "cmake",
        "arena_bytes": arena(a["arena_bytes"] for a in alone.values()),
        "shared_arena": bool(options),
        "models": {name: a["arena_bytes"] for name, a in alone.items()},
        "arena_lower_bounds": {name: a["arena_lower_bound"] for name, a in alone.items()},
        "row_by_row": {name: [] for name in alone},
        "model_sha256": {name: a["model_sha256"] for name, a in alone.items()},
        "flash": {name: a["flash"] for name, a in alone.items()},
        "ports": {name: a["ports"] for name, a in alone.items()},
        "files": files_of(tmp_path / "both"),
    }
    assert_fields(found, expected)


def test_zeros_of_a_pruned_layer_are_counted(made, tmp_path):
    graph, rng = read_tflite(made.net), np.random.default_rng(3)
    name = graph.producer("conv2d_1").inputs[1]
    weights = graph.value(name).data * (rng.random(graph.value(name).shape) < 0.3)
    graph = graph.with_nodes(graph.nodes, [Value.constant(name, weights.astype(np.float32))])
    x = rng.normal(size=(24, 8, 8, 3)).astype(np.float32)
    int8 = quantize_graph(graph, x, QuantConfig())
    save_tflite(int8, tmp_path / "pruned.tflite")
    (layer,) = call_json("export", tmp_path / "pruned.tflite", "-o", tmp_path / "c")["sparse"]
    stored = int8.value(int8.producer("conv2d_1").inputs[1]).data
    costs = dict.fromkeys(("instructions", "bytes"), lambda ratio: 0 < ratio < 8)
    ratios = dict.fromkeys(layer["relative_to_dense"], costs)
    expected = {
        "index": 1,
        "name": "conv2d_1",
        "zeros": round(float((stored == 0).mean()), 3),
        "stored": lambda form: form == "dense" or form in ratios,
        "relative_to_dense": ratios,
    }
    assert ratios
    assert_fields(layer, expected)


# bench


def test_bench(made, monkeypatch):
    """Engines take known times; a second's clock ticks with each look at it."""
    rng, now = np.random.default_rng(0), itertools.count(9)
    times = [rng.gamma(2, 1e-3, 101).tolist(), rng.gamma(2, 2e-3, 101).tolist()]
    monkeypatch.setattr(bench, "_latencies", lambda *arguments: times)
    monkeypatch.setattr(bench, "peak_macs_per_second", lambda: 1e9)
    monkeypatch.setattr(bench, "cores", lambda: 2)
    monkeypatch.setattr(bench._Engine, "cold_start", lambda engine, path: 0.25)
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(now))
    arguments = ("bench", made.int8, "--against", "", "--backend", "numba,reference")
    found = call_json(*arguments)
    medians = [statistics.median(t) for t in times]
    expected = [
        {
            "engine": f"tinyrt {backend}",
            "latency_us": {
                "median": 1e6 * medians[i],
                "p90": 1e6 * statistics.quantiles(times[i], n=10, method="inclusive")[8],
            },
            "cold_start_ms": 250.0,
            "samples_per_second": bench.BATCH / 1.0,
            "samples_per_second_one_thread": bench.BATCH / 1.0,
            "macs_per_second": MACS / medians[i],
            "share_of_peak": MACS / medians[i] / 1e9,
            "ratio": medians[i] / medians[0],
        }
        for i, backend in enumerate(("numba", "reference"))
    ]
    assert_fields(found, {"results": expected})


def test_the_best_of_rounds_counts_and_the_least_of_cold_starts(monkeypatch):
    seconds = iter([5, 3, 4, 2, 9, 9, 9, 9])
    now = [9.0]

    def run():
        now[0] += next(seconds)

    monkeypatch.setattr(bench.time, "perf_counter", lambda: now[0])
    engine = bench._tinyrt("numba")
    fast = bench._Engine(engine.name, "", "", engine.open, lambda *arguments: run)
    assert bench._throughputs([fast], "", np.zeros(64), 1) == [64 / 2]
    outs = iter(["0.5", "0.25", "0.75"])
    monkeypatch.setattr(
        bench, "run_tool", lambda command: SimpleNamespace(status=0, out=next(outs))
    )
    assert engine.cold_start("model.tflite") == 0.25
