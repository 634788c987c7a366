"""The exported C, built for this host: the device's answers, one library per model, kept."""

import shutil
from functools import partial

import numpy as np
import pytest

from tests.c.conformance import C_OPS, INT4_OPS, INT16_OPS, graph_of
from tests.graphs import small_cnn
from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.test_conformance import CNN
from tests.sampling import sampled
from tinyrt import cache as cache_files
from tinyrt.backends.c.choice import KERNELS
from tinyrt.errors import ToolError, UnsupportedError
from tinyrt.interpreter import Interpreter, load, native
from tinyrt.ir import DType
from tinyrt.ops.shared.evaluate import evaluate

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
MANY, FEW = range(sampled(4, 100)), range(sampled(3, 20))
PARTS = sampled(6, 4)
"""Models that share the ops out: plans of very many tensors take long."""


def together(ops):
    """Sets of ops, each a model: all in one, or where all cases are asked for, each by itself."""
    return sampled([sorted(ops)], [[op] for op in sorted(ops)])


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not any(map(shutil.which, native.COMPILERS)), reason="no C compiler on this machine"
    ),
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Where no library is kept yet; what Numba compiled is where it always is."""
    usual = cache_files.cache_folder
    monkeypatch.setattr(
        cache_files,
        "cache_folder",
        lambda kind: tmp_path / kind if kind == "native" else usual(kind),
    )
    return tmp_path / "native"


@pytest.mark.whole
@pytest.mark.parametrize("name", MODELS)
def test_golden_outputs(zoo, name):
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    model = load(zoo / "models" / f"{name}_int8.tflite", backend="native")
    np.testing.assert_array_equal(model(golden["inputs"][:, 0]), golden["outputs"][:, 0])


def check_all(ops, seeds, build=build_s8):
    """Random cases of every op, as one model: one build, one run."""
    graph, feeds = graph_of({op: CASES[op] for op in ops}, seeds, build)
    interpreter = Interpreter.from_graph(graph, backend="native")
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], feeds[detail["name"]])
    interpreter.invoke()
    expected = evaluate(graph, feeds)
    for detail in interpreter.get_output_details():
        found = interpreter.get_tensor(detail["index"])
        np.testing.assert_array_equal(found, expected[detail["name"]], err_msg=detail["name"])


@pytest.mark.parametrize("ops", together(CNN), ids=" ".join)
def test_the_ops_of_convolutional_networks(ops):
    check_all(ops, MANY)


@pytest.mark.parametrize("part", range(PARTS)[: sampled(1, None)])
def test_every_other_op_that_has_c(part):
    check_all(sorted(set(C_OPS) - CNN)[part::PARTS], FEW)


@pytest.mark.parametrize("ops", together(INT4_OPS), ids=" ".join)
def test_int4_weights(ops):
    check_all(ops, MANY, partial(build_s8, weights=DType.INT4))


@pytest.mark.whole
@pytest.mark.parametrize("ops", together(CNN & set(INT16_OPS)), ids=" ".join)
def test_int16_activations(ops):
    check_all(ops, MANY, build_s16)


@pytest.mark.parametrize("part", range(PARTS)[sampled(slice(1, 2), slice(None))])
def test_every_other_op_on_int16(part):
    check_all(sorted(set(INT16_OPS) - CNN)[part::PARTS], FEW, build_s16)


@pytest.mark.whole
@pytest.mark.parametrize("core", sorted(native.CORES))
def test_every_instruction_set_of_this_processor(monkeypatch, core):
    best = native.core_of(native.find_compiler())
    cores = list(native.CORES)
    if cores.index(core) < cores.index(best):
        pytest.skip(f"this processor cannot run {core}")
    monkeypatch.setattr(native, "core_of", lambda compiler: core)
    check_all(sorted(CNN), range(200, 225))


@pytest.mark.parametrize("threads", [1, 2])
def test_samples_of_a_batch(zoo, threads):
    path = zoo / "models" / "streaming_wakeword_int8.tflite"
    models = [load(path, backend=b, num_threads=threads) for b in ("native", "numba")]
    samples = np.random.default_rng(7).integers(-128, 128, (45, 30, 1, 40)).astype(np.int8)
    np.testing.assert_array_equal(*(model(samples) for model in models))


def test_auto_takes_what_is_there(monkeypatch):
    def chosen(graph, **options):
        interpreter = Interpreter.from_graph(graph, backend="auto", **options)
        interpreter.allocate_tensors()
        return interpreter.backend

    assert chosen(_dense(1).graph) == "native"
    assert chosen(_dense(1).graph, on_op=print) == "numba"
    monkeypatch.setenv("PATH", "")
    assert chosen(_dense(1).graph) == "numba"


def _dense(seed):
    rng = rng_of("fully_connected", seed)
    return build_s8(CASES["fully_connected"](rng), rng)


def test_a_library_is_built_once_per_content(cache):
    """It holds the constants."""
    for seed in (1, 1, 2, 1):
        graph = _dense(seed).graph
        interpreter = Interpreter.from_graph(graph, backend="native")
        interpreter.allocate_tensors()
        constants = [v.data for v in graph.values.values() if v.is_constant]
        assert interpreter.packed_bytes == sum(data.nbytes for data in constants) > 0
    assert len(list(cache.iterdir())) == 2


def test_a_library_is_built_anew_with_other_options(cache, monkeypatch):
    graph, usual = _dense(1).graph, native.flags_of(native.find_compiler())
    for options in (usual, (*usual, "-DNDEBUG")):
        monkeypatch.setattr(native, "flags_of", lambda compiler, options=options: options)
        Interpreter.from_graph(graph, backend="native").allocate_tensors()
    assert len(list(cache.iterdir())) == 2


def test_large_sources_are_compiled_as_they_stand(cache, monkeypatch):
    monkeypatch.setattr(native, "MAX_OPTIMISED", 1000)
    sizes = {True: [], False: []}
    compile_ = native._compile

    def noting(command):
        sources = [word for word in command if str(word).endswith(".c")]
        sizes["-O0" in command] += [source.stat().st_size for source in sources]
        compile_(command)

    monkeypatch.setattr(native, "_compile", noting)
    case = _dense(3)
    answers = []
    for backend in ("native", "reference"):
        interpreter = Interpreter.from_graph(case.graph, backend=backend)
        interpreter.allocate_tensors()
        interpreter.invoke()
        answers.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    np.testing.assert_array_equal(*answers)
    assert min(sizes[True]) > 1000 >= max(sizes[False])


def test_what_cannot_be_done_is_said(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setitem(KERNELS, "conv2d", {})
        with pytest.raises(UnsupportedError, match="conv2d"):
            Interpreter.from_graph(small_cnn(), backend="native").allocate_tensors()
    watched = Interpreter.from_graph(_dense(1).graph, backend="native", on_op=print)
    watched.allocate_tensors()
    with pytest.raises(UnsupportedError, match="one call"):
        watched.invoke()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolError, match="no C compiler"):
        Interpreter.from_graph(_dense(1).graph, backend="native").allocate_tensors()


@pytest.mark.parametrize(("allowed", "asked"), [(2.5, 2.5), (1e9, native.PROBE_S)])
def test_a_compiler_that_is_asked_something_gets_no_more_time_than_there_is(
    allowed, asked, monkeypatch
):
    monkeypatch.setattr(native, "limit", lambda: allowed)
    monkeypatch.setattr(native, "run_tool", lambda command, limit_s: (command, limit_s))
    assert native._probe("cc", "--version") == (["cc", "--version"], asked)
