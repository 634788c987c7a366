"""Broken copies of good files: they run, or are refused by name; nothing crashes."""

import numpy as np
import pytest

from tests.convert.raw_tflite import build, scaled
from tests.fuzz.target import open_and_run
from tests.graphs import small_cnn
from tests.ops.build import build_s8
from tests.ops.cases import CASES, rng_of
from tests.ops.stateful import keeping
from tinyrt.convert.tflite_writer import write_tflite
from tinyrt.quantize import quantize_graph

COPIES = 500
WORDS = np.array([0, 1, -1, 2**31 - 1, -(2**31), 7, 2**16, 2**24], "<i4")


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Change bytes, words or the length; most changes hit the tables rather than the weights."""
    broken = bytearray(data)
    kind = rng.integers(4)
    if kind == 0:
        return bytes(broken[: rng.integers(len(broken))])
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(broken) - 4))
        if kind == 1:
            broken[at] = rng.integers(256)
        elif kind == 2:
            broken[at : at + 4] = rng.choice(WORDS).tobytes()
        else:
            start = int(rng.integers(len(broken) - 4))
            broken[at : at + 4] = broken[start : start + 4]
    return bytes(broken)


def quantised():
    """A small int8 network."""
    graph = small_cnn()
    samples = np.random.default_rng(5).normal(size=(16, *graph.input_values[0].shape[1:]))
    return quantize_graph(graph, samples.astype(np.float32))


def recurrent():
    """An int8 LSTM with its states."""
    rng = rng_of("unidirectional_sequence_lstm", 1)
    return keeping(build_s8(CASES["unidirectional_sequence_lstm"](rng), rng).graph)


def several():
    """Two subgraphs, each with a signature."""
    return build(scaled(2), scaled(3), signatures={"double": 0, "triple": 1})


@pytest.mark.parametrize("model", [small_cnn, quantised, recurrent, several])
def test_only_our_errors(model):
    made = model()
    data = made if isinstance(made, bytes) else write_tflite(made)
    assert open_and_run(data)
    rng = np.random.default_rng(11)
    ran = sum(open_and_run(mutate(data, rng)) for _ in range(COPIES))
    assert 0 < ran < COPIES
