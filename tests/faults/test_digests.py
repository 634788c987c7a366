"""What digests tell apart: each has a table here, or tests elsewhere, of what changes it."""

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from tests.graphs import Builder
from tests.search import raw
from tests.search.made import blobs
from tinyrt.api.fitting import DeviceBudget
from tinyrt.cache import key_of
from tinyrt.dsp import LogMel, Pipeline
from tinyrt.dsp.learner import Learner
from tinyrt.dsp.nearest_mean import NearestMean
from tinyrt.dsp.saved import pack, unpack
from tinyrt.errors import DataError
from tinyrt.export.blob.structure import Part, digest_of
from tinyrt.export.identity import sealed
from tinyrt.ir import DType, Graph
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.search import Candidate, Problem, SearchSetting
from tinyrt.search.candidate import structure_of
from tinyrt.search.deployment import Deployment
from tinyrt.search.teacher import Teacher
from tinyrt.train.nn import Conv2d, Linear
from tinyrt.train.pipeline.samples import digest
from tinyrt.train.tracing import trace

ROOT = Path(__file__).parents[2]
MAKES = re.compile(
    r"hashlib\.\w+\(|\b(blake2[bs]|sha\d+|sha3_\d+|md5|crc32|adler32)\(|\bdigest\(\[|\bkey_of\("
)

HERE = "tests/faults/test_digests.py"
KEYS = "tests/faults/test_cache_keys.py"
TESTED = {
    "tinyrt/backends/cuda/host.py": KEYS,
    "tinyrt/backends/cuda/nvrtc.py": KEYS,
    "tinyrt/board/frames.py": "tests/board/test_frames.py",
    "tinyrt/cache.py": HERE,
    "tinyrt/convert/tflite/lost.py": "tests/quantize/test_lost_channels.py",
    "tinyrt/dsp/learner.py": HERE,
    "tinyrt/dsp/nearest_mean.py": HERE,
    "tinyrt/dsp/saved.py": HERE,
    "tinyrt/emulate/cycles/plugin.py": KEYS,
    "tinyrt/export/blob/format.py": "tests/c/test_blobs.py",
    "tinyrt/export/blob/structure.py": HERE,
    "tinyrt/export/identity.py": HERE,
    "tinyrt/export/names.py": "tests/export/test_names.py",
    "tinyrt/export/selftest.py": "tests/export/test_selftest.py",
    "tinyrt/floatmath/numba_cache.py": "tests/faults/test_caches.py",
    "tinyrt/folders.py": "tests/export/layouts/test_exporting_again.py",
    "tinyrt/interpreter/native.py": KEYS,
    "tinyrt/search/candidate.py": HERE,
    "tinyrt/search/problem.py": HERE,
    "tinyrt/search/remembered.py": "tests/search/test_teacher.py",
    "tinyrt/search/teacher.py": HERE,
    "tinyrt/search/search.py": "tests/search/test_store.py",
    "tinyrt/train/pipeline/samples.py": HERE,
}
"""Module that makes a digest -> where it is tested what tells one from another."""


def test_every_module_that_makes_a_digest_stands_in_the_table():
    files = sorted((ROOT / "tinyrt").rglob("*.py"))
    found = {str(f.relative_to(ROOT)) for f in files if MAKES.search(f.read_text("utf-8"))}
    assert found == TESTED.keys()
    assert all((ROOT / test).is_file() for test in TESTED.values())


def differ(digests):
    """Whether no two are alike."""
    return len(set(digests)) == len(digests)


# Samples and searches

DATA = blobs()
PROBLEM = Problem(DATA["x"], DATA["y"], rate=100.0)


def teacher(weight=1):
    b = Builder((1, 12))
    w = np.full((3, 12), weight, np.float32)
    y = b.op("fully_connected", ("x", b.constant(w)), FullyConnectedAttrs())
    return b.graph(y)


OTHER_PROBLEMS = {
    "x": -DATA["x"],
    "y": (DATA["y"] + 1) % 3,
    "validation": 0.3,
    "seed": 1,
    "rate": 50.0,
    "fold": 1,
    "teacher": Teacher(teacher()),
    "told": np.zeros((len(DATA["x"]), 3), np.float32),
}


def test_a_problem_is_known_by_all_of_it():
    assert OTHER_PROBLEMS.keys() | {"pixels"} == {field.name for field in fields(Problem)}
    others = [replace(PROBLEM, **{name: value}) for name, value in OTHER_PROBLEMS.items()]
    others += [replace(PROBLEM, rate=None), replace(PROBLEM, fold=None)]
    assert differ([each.digest for each in (PROBLEM, *others)])
    assert replace(PROBLEM).digest == PROBLEM.digest
    frames = Problem.of(raw.frames())
    assert frames.digest != replace(frames, pixels="rgb565_swapped").digest


def test_a_teacher_is_known_by_its_model_and_its_front_end():
    plain, front = Teacher(teacher()), Pipeline(raw.FRONT)
    others = [replace(plain, graph=teacher(2)), replace(plain, front_end=front)]
    others.append(replace(plain, front_end=Pipeline(replace(raw.FRONT, peaks=1))))
    assert differ([each.digest for each in (plain, *others)])
    assert replace(plain, file="elsewhere").digest == plain.digest


OTHER_SETTINGS = {
    "budget": DeviceBudget("cortex-m4", arena=91),
    "objectives": ("flash",),
    "epochs": 31,
    "int8_epochs": 7,
    "seed": 1,
    "folds": 2,
    "share": 3,
}


def test_a_search_is_known_by_all_choices_but_how_long_it_goes_on():
    plain = SearchSetting(DeviceBudget("cortex-m4", arena=90))
    assert OTHER_SETTINGS.keys() | {"trials", "scouts"} == {f.name for f in fields(SearchSetting)}
    others = [replace(plain, **{name: value}) for name, value in OTHER_SETTINGS.items()]
    others += [
        replace(plain, share=3, scouts=9),
        replace(plain, budget=replace(plain.budget, core="m0")),
    ]
    assert differ([str(each.facts("space", PROBLEM)) for each in (plain, *others)])
    longer = replace(plain, trials=999, scouts=9)
    assert longer.facts("space", PROBLEM) == plain.facts("space", PROBLEM)
    assert plain.facts("other", PROBLEM) != plain.facts("space", PROBLEM)


def test_arrays_are_known_by_their_types_shapes_and_order():
    zeros, ones = np.zeros(4, np.float32), np.ones(4, np.float32)
    others = [[zeros, ones], [ones, zeros], [zeros], [zeros, zeros], [zeros.reshape(2, 2)]]
    assert differ([digest(arrays) for arrays in (*others, [zeros.astype(np.int32)])])
    turned = np.arange(6.0).reshape(2, 3)
    assert digest([np.asfortranarray(turned)]) == digest([turned])
    assert digest([turned.T]) != digest([turned.reshape(3, 2)])


def joined(edges=("a", "b"), shape=(1, 8), op="add", dtype=DType.FLOAT32, activation="NONE"):
    """x goes through two layers, whose answers are joined."""
    b = Builder(shape)
    one = b.op("relu", ("x",))
    other = b.op("relu", (one,))
    names = {"x": "x", "a": one, "b": other}
    attrs = AddAttrs(activation) if op == "add" else None
    y = b.op(op, tuple(names[n] for n in edges), *([attrs] if attrs else []))
    graph = b.graph(y)
    values = {n: replace(v, dtype=dtype) for n, v in graph.values.items()}
    return replace(graph, values=values)


def test_what_costs_the_same_is_known_by_ops_attributes_types_and_edges():
    rng = np.random.default_rng(0)
    plain = Candidate(Linear(8, 8, rng=rng))
    graphs = [
        *(joined(), joined(("x", "b")), joined(("b", "b")), joined(shape=(1, 9))),
        *(joined(op="maximum"), joined(activation="RELU"), joined(dtype=DType.INT8)),
    ]
    found = [structure_of(graph, plain) for graph in graphs]
    found += [structure_of(graphs[0], replace(plain, front_end=LogMel()))]
    found += [structure_of(graphs[0], replace(plain, deployment=Deployment(by_rows=True)))]
    taps = [trace(Conv2d(3, 4, size, rng=rng), (8, 8, 3)) for size in (3, 5)]
    assert differ([*found, *(structure_of(graph, plain) for graph in taps)])
    renamed: Graph = replace(joined(), name="another")
    slower = replace(plain, learning_rate=0.5, network=Linear(3, 3, rng=rng))
    assert structure_of(renamed, slower) == found[0]


# Parts of text

APART = ([("a", "bc")], [("ab", "c")], [("a", "b"), ("", "c")], [("", "a"), ("b", "c")])
"""Names and contents that are the same letters."""


@pytest.mark.parametrize("parts", [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("abc",)])
def test_keys_tell_where_one_part_ends(parts):
    assert (key_of(*parts) == key_of("ab", "c")) is (parts == ("ab", "c"))
    assert key_of(*(part.encode() for part in parts)) == key_of(*parts)


def test_an_identity_tells_where_a_file_ends_and_not_which_was_written_first():
    assert differ([sealed(dict(files))[0] for files in APART])
    files = {"a.h": "int a;", "b.c": "int b;"}
    assert sealed(dict(reversed(files.items())))[0] == sealed(files)[0]
    assert sealed({"a.h": files["b.c"], "b.c": files["a.h"]})[0] != sealed(files)[0]


@pytest.mark.parametrize("files", APART)
def test_a_blob_is_known_by_its_parts_and_where_each_ends(files):
    texts = [[text for pair in each for text in pair] for each in (files, *APART)]
    first, *others = [digest_of([Part("what", text) for text in each]) for each in texts]
    assert [first == other for other in others] == [files is each for each in APART]
    assert first == digest_of([Part("another name", text) for text in texts[0]])


# What layers that learn save

LEARNER = Learner(((1, 2, 3), (4, 5, 6)), (7, 8), 0, 0.5)
OTHER_LEARNERS = {
    "weights": ((1, 2, 3), (4, 5, 7)),
    "biases": (7, 9),
    "zero_point": 1,
    "scale": 0.25,
    "bits": 15,
    "rate": 0.04,
    "max_step": 0.125,
    "max_drift": 2.0,
}
MEANS = NearestMean(((1, 2, 3), (4, 5, 6)), (7, 8))
OTHER_MEANS = {"sums": ((1, 2, 3), (4, 5, 7)), "counts": (7, 9), "memory": 128}
LAYERS = [(LEARNER, OTHER_LEARNERS), (MEANS, OTHER_MEANS)]


@pytest.mark.parametrize(("layer", "others"), LAYERS, ids=["Learner", "NearestMean"])
def test_a_layer_that_learns_is_known_by_all_of_it(layer, others):
    assert others.keys() == {field.name for field in fields(layer) if field.init}
    made = [layer, *(replace(layer, **{name: value}) for name, value in others.items())]
    assert differ([each.identity for each in made])
    assert replace(layer).identity == layer.identity


def test_layers_of_other_classes_and_features_are_told_apart():
    """Even where they have as many numbers: 2 * 5 + 2 are 3 * 3 + 3, and all of them are 0."""
    shapes = ((2, 5), (3, 3), (4, 2), (6, 1))
    zeros = [(((0,) * features,) * classes, (0,) * classes) for classes, features in shapes]
    assert differ([Learner(*each, 0, 0.5).identity for each in zeros])
    assert differ([NearestMean(*each).identity for each in zeros])


def test_a_save_is_whole_or_refused():
    saved = pack(1, 2, np.arange(3, dtype=np.int32))
    number, words = unpack(saved, 1, 3)
    assert (number, list(words)) == (2, [0, 1, 2])
    for at in range(len(saved)):
        changed = bytearray(saved)
        changed[at] ^= 1
        with pytest.raises(DataError, match="no layer has saved, or that are damaged"):
            unpack(bytes(changed), 1, 3)
    with pytest.raises(DataError, match="of another layer"):
        unpack(saved, 2, 3)
