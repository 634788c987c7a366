"""Answers of a model to raw samples are its outputs that are no state."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.search import raw
from tinyrt.dsp import Pipeline
from tinyrt.errors import DataError
from tinyrt.ops.add import AddAttrs
from tinyrt.search import answers
from tinyrt.search.answers import answered


def test_the_first_output_that_is_no_state_is_the_answer():
    b = Builder((1, 3), (1, 3))
    total, y = b.op("add", b.inputs, AddAttrs()), b.op("abs", ("x",))
    graph = replace(b.graph(total, y), states=(("x1", total),))
    x = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(answered(graph, None, x), np.abs(x))


def test_samples_that_no_sensor_gives_are_refused(monkeypatch):
    x = raw.windows()["x"]
    monkeypatch.setattr(answers, "features_of", lambda front, windows: windows)
    fit = SimpleNamespace(
        pipeline=Pipeline(motion=raw.FRONT),
        input=SimpleNamespace(shape=(1, *x.shape[1:])),
        stored_windows=lambda features: features,
    )
    np.testing.assert_array_equal(answers._stored(fit, x.astype(np.float32)), x)
    with pytest.raises(DataError, match="no integers of 16 bits"):
        answers._stored(fit, x + 0.5)
