"""A front end at its model: which inputs hold its rows, and what they store of features."""

from dataclasses import replace

import numpy as np
import pytest

from tests.listening import PIPELINE, int8_net, saved
from tests.seeing import GREY
from tinyrt import attached
from tinyrt.attached import alarm_at, carried_on, fitted, front_end_of, pipeline_of
from tinyrt.dsp import Detector, LogMel, Motion, Pipeline
from tinyrt.dsp.anomaly import Anomaly
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Graph, QParams, Value

ROW = 3
SOUND = Pipeline(LogMel(bands=ROW), scale=0.5, offset=4)
STEP = 0.125


def value(name, shape, dtype=DType.INT8, step=STEP, zero_point=-7):
    return Value(name, dtype, shape, None if step is None else QParams((step,), zero_point))


def model(*values, fed=1, states=()):
    """So many inputs, of which states are fed by the outputs; all others are outputs."""
    named = {v.name: v for v in values}
    return Graph("net", (*named,)[:fed], (*named,)[fed:], named, (), states)


def at(shape, pipeline=SOUND, **options):
    return fitted(pipeline, model(value("x", shape, **options), value("y", (1, 5))))


def refused(action):
    with pytest.raises(UnsupportedError) as caught:
        action()
    return caught.value


@pytest.mark.parametrize(
    ("shape", "rows"),
    [
        ((1, 4, ROW), 4),
        ((1, 4 * ROW), 4),
        ((5 * ROW,), 5),
        ((1, 4, 1, ROW), 4),
        ((1, 1, 4, ROW, 1), 4),
        ((1, ROW), 1),
        ((1, ROW, ROW), 3),
        ((1, ROW, 4), None),
        ((1, 2, 6), None),
        ((1, 4), None),
        ((1, 1), None),
        ((2, 2, ROW), None),
    ],
)
def test_inputs_hold_rows_one_after_the_other(shape, rows):
    if rows is not None:
        assert (at(shape).rows, at(shape).stride, at(shape).row) == (rows, rows, ROW)
        return
    error = refused(lambda: at(shape))
    assert error.problem == "the input holds no rows of 3 features"
    assert error.tensor == value("x", shape).describe()
    assert error.expected.startswith("[1, rows, 3]")
    assert "give log_mel as many bands" in error.hint
    moved = Pipeline(motion=Motion(axes=1, window=8, step=4, edges=(0, 2)))
    assert "give motion the axes" in refused(lambda: at((1, 1), moved)).hint


@pytest.mark.parametrize(
    ("stride", "has_state", "fits"),
    [(1, False, 1), (4, False, 4), (5, False, None), (4, True, 4), (3, True, None), (5, True, None),
     (None, True, 4)],
)  # fmt: skip
def test_a_stride_shows_all_rows_and_to_a_state_each_once(stride, has_state, fits):
    values = value("x", (1, 4, ROW)), value("s", (1, 2)), value("y", (1, 5)), value("t", (1, 2))
    graph = model(*values, fed=2, states=(("s", "t"),)) if has_state else model(*values[::2])
    pipeline = replace(SOUND, stride=stride)
    if fits is not None:
        assert fitted(pipeline, graph).stride == fits
    else:
        error = refused(lambda: fitted(pipeline, graph))
        assert error.problem.startswith(f"a stride of {stride} ")
        assert error.expected == ("4, which it takes at a time" if has_state else "1 to 4")
        assert ("keeps state" in error.problem) is has_state


@pytest.mark.parametrize(
    ("scale", "offset"),
    [(0.5, 4), ((0.5, 0.25, 1.0), 4), (0.25, (0, 9, 40)), ((1.0, 0.5, 0.25), 3)],
)
def test_windows_are_stored_row_by_row_by_the_scales_of_their_places(scale, offset):
    """Steps of the input are whole parts of those of features: nothing is rounded."""
    pipeline = replace(SOUND, scale=scale, offset=offset, stride=2)
    rows = np.random.default_rng(1).integers(0, 60, (11, ROW)).astype(np.uint16)
    exact = np.array(scale) * (rows.astype(int) - np.array(offset))
    stored = np.clip(exact / STEP - 7, -128, 127)
    for fit, expected in (
        (at((1, 4, ROW), pipeline), stored),
        (at((1, 4, ROW), pipeline, dtype=DType.INT16, zero_point=0), exact / STEP),
        (at((1, 4, ROW), pipeline, dtype=DType.FLOAT32, step=None), exact),
    ):
        np.testing.assert_array_equal(fit.stored(rows), expected)
        assert fit.stored(rows).dtype == fit.input.dtype.numpy
        found = fit.windows(rows, 3)
        np.testing.assert_array_equal(found, [expected[i : i + 4] for i in (0, 2, 4)])
        np.testing.assert_array_equal(fit.windows(rows, 9)[3:], [expected[6:10]])


def test_a_window_s_own_mean_is_taken_of_each_window():
    pipeline = replace(SOUND, normalize="window", scale=1 / 256, offset=0, stride=1)
    fit = at((1, 4, ROW), pipeline, dtype=DType.FLOAT32, step=None)
    rows = np.random.default_rng(1).integers(0, 600, (5, ROW)).astype(np.uint16)
    for window, given in zip(fit.windows(rows, 2), (rows[:4], rows[1:]), strict=True):
        wanted = (given - given.mean()) / given.std()
        np.testing.assert_allclose(window, wanted, atol=0.02)


@pytest.mark.parametrize(("most", "fits"), [(12, True), (11, False)])
def test_windows_with_a_mean_have_so_many_features_at_most(most, fits, monkeypatch):
    monkeypatch.setattr(attached, "MAX_NORMALIZED", most)
    pipeline = replace(SOUND, normalize="features", offset=0)
    assert at((1, 4, ROW)).rows == 4
    if fits:
        assert at((1, 4, ROW), pipeline).rows == 4
    else:
        error = refused(lambda: at((1, 4, ROW), pipeline))
        assert (error.problem, error.tensor) == ("a window has 12 features", "'x' s8[1,4,3]")


@pytest.mark.parametrize("scale", [1024.0, (1.0, 1024.0, 2.0)])
def test_a_feature_s_step_is_so_many_steps_of_the_input_at_most(scale):
    """The greatest of several."""
    less = tuple(np.nextafter(scale, 0).tolist()) if isinstance(scale, tuple) else 1023.99
    assert len(at((1, ROW), replace(SOUND, scale=less)).rescales) == np.size(scale)
    error = refused(lambda: at((1, ROW), replace(SOUND, scale=scale)))
    assert error.problem == "a step of a feature is 8192 steps of the input"
    assert error.expected == "less than 8192"


@pytest.mark.parametrize(
    ("dtype", "step"),
    [(DType.INT32, STEP), (DType.INT8, None), (DType.INT16, None), (DType.UINT8, STEP)],
)
def test_other_inputs_take_no_features(dtype, step):
    error = refused(lambda: at((1, ROW), dtype=dtype, step=step))
    assert error.problem == "the input takes no features"
    assert error.tensor.startswith("'x' ")


@pytest.mark.parametrize(
    ("y", "fits"),
    [
        (value("y", (1, 5)), True),
        (value("y", (5,)), True),
        (value("y", (1, 1, 5)), True),
        (value("y", (5, 1)), False),
        (value("y", (2, 5)), False),
        (value("y", (1, 4)), False),
        (value("y", (1, 5), DType.INT16), False),
        (value("y", (1, 5), DType.UINT8), False),
    ],
)
def test_a_detector_takes_the_scores_of_its_classes(y, fits):
    graph, pipeline = model(value("x", (1, ROW)), y), replace(SOUND, detector=Detector(5))
    assert fitted(SOUND, graph).anomaly is None
    if fits:
        assert fitted(pipeline, graph).rows == 1
    else:
        error = refused(lambda: fitted(pipeline, graph))
        assert error.problem == "the first output has no scores of 5 classes"
        assert (error.tensor, error.expected) == (y.describe(), "int8[1, 5], for the detector")


def test_an_alarm_is_of_the_scales_of_both_sides():
    x, y = value("x", (1, 2, ROW)), value("y", (1, 6), step=0.5, zero_point=9)
    found = alarm_at(Anomaly(threshold=3.0, consecutive=2), model(x, y))
    assert (found.size, found.x_zp, found.y_zp, found.consecutive) == (6, -7, 9, 2)
    assert found.y_mult == 4 * found.x_mult
    assert fitted(replace(SOUND, anomaly=Anomaly(3.0, 2)), model(x, y)).anomaly == found


UNLIKE = {
    "another size": (value("x", (1, 6)), value("y", (1, 5))),
    "floats": (value("x", (1, 6)), value("y", (1, 6), DType.FLOAT32)),
    "floats in": (value("x", (1, 6), DType.FLOAT32), value("y", (1, 6))),
    "unsigned": (value("x", (1, 6)), value("y", (1, 6), DType.UINT8)),
    "unsigned in": (value("x", (1, 6), DType.UINT8), value("y", (1, 6))),
    "no scale": (value("x", (1, 6)), value("y", (1, 6), step=None)),
    "no scale in": (value("x", (1, 6), step=None), value("y", (1, 6))),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_an_alarm_takes_an_output_like_the_input(name):
    x, y = UNLIKE[name]
    error = refused(lambda: alarm_at(Anomaly(1.0), model(x, y)))
    assert error.problem == "the first output is no reconstruction of the input"
    assert error.tensor == y.describe()
    assert f"of {x.nbytes} numbers, as the input {x.describe()}" in error.expected


@pytest.mark.parametrize(("most", "fits"), [(6, True), (5, False)])
def test_an_alarm_is_of_so_many_numbers_at_most(most, fits, monkeypatch):
    monkeypatch.setattr(attached, "MAX_SIZE", most)
    graph = model(value("x", (1, 6)), value("y", (1, 6)))
    if fits:
        assert alarm_at(Anomaly(1.0), graph).size == 6
    else:
        assert "no reconstruction" in refused(lambda: alarm_at(Anomaly(1.0), graph)).problem


@pytest.mark.parametrize("take", [lambda g: fitted(SOUND, g), lambda g: alarm_at(Anomaly(1.0), g)])
def test_models_of_two_inputs_take_no_front_end(take):
    graph = model(value("x", (1, ROW)), value("z", (1, ROW)), value("y", (1, ROW)), fed=2)
    assert refused(lambda: take(graph)).problem == "the model has 2 inputs"


def test_a_file_carries_its_front_end_on(tmp_path):
    sound = saved(tmp_path / "a.tflite", int8_net())
    camera = saved(tmp_path / "b.tflite", int8_net(), GREY)
    bare = saved(tmp_path / "c.tflite", int8_net(), None)
    assert (front_end_of(sound), front_end_of(camera), front_end_of(bare)) == (PIPELINE, GREY, None)
    assert (pipeline_of(sound), pipeline_of(camera), pipeline_of(bare)) == (PIPELINE, None, None)
    assert carried_on(bare, int8_net()) == {}
    for streamed, stride in ((False, 3), (True, None)):
        (entry,) = carried_on(sound, int8_net(), streamed=streamed).values()
        assert Pipeline.from_json(entry) == replace(PIPELINE, stride=stride)
    assert refused(lambda: carried_on(camera, int8_net())).file == str(camera)
