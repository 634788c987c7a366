"""What each option of front ends and decisions may be: both ends, as the error tells them."""

import ast
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tests.docs.pages import ROOT
from tinyrt.api.cascades import Cascade
from tinyrt.dsp import (
    Anomaly,
    Boxes,
    Camera,
    Detector,
    Learner,
    LearnerState,
    LogMel,
    Motion,
    NearestMean,
    NearestMeanState,
    NoiseReduction,
    Pcan,
    Pipeline,
    TopK,
    Vision,
    federated_average,
)
from tinyrt.dsp.cascade import choose_threshold
from tinyrt.errors import DataError
from tinyrt.export.cascade import export_cascade

Make = Callable[[float], object]
Case = tuple[str, str, Make, float, float]
"""Module, option, what is made with a value of it, and the least and the greatest value."""


def of(kind: Callable[..., object], **base: object) -> Callable[[str], Make]:
    """A value with one option of all."""
    return lambda option: lambda value: kind(**base | {option: value})


BOXES = of(Boxes, height=9, width=11, anchors=((1, 1, 2, 2),), classes=3)
CAMERA = of(Camera, height=6, width=8, rows=3, columns=4)
CUT = of(Camera, height=6, width=8, rows=2, columns=2)("crop")
DETECTOR = of(Detector, classes=3)
LAYER = {"weights": ((1, 2), (3, 4)), "biases": (0, 0), "zero_point": 0, "scale": 0.1}
LEARNER, LOG_MEL, MOTION, PIPELINE = of(Learner, **LAYER), of(LogMel), of(Motion), of(Pipeline)
NOISE, PCAN, TOP = of(NoiseReduction), of(Pcan), of(TopK, size=9)
MEANS = of(NearestMean, sums=((0, 0), (0, 0)), counts=(0, 3))
VISION = of(Vision, camera=Camera(6, 8, 3, 4))
MARGINS = partial(choose_threshold, np.arange(4), np.ones(4, np.bool_), np.ones(4, np.bool_))
SAVE = LearnerState(Learner(**LAYER)).save()
FEATURES = np.ones(2, np.int8)


def anchor(place: int) -> Make:
    """Boxes with one number of an anchor."""
    return lambda value: BOXES("anchors")([[1, 1, 2, 2][:place] + [value] + [1] * (3 - place)])


LIMITS: list[Case] = [
    ("anomaly", "threshold", of(Anomaly)("threshold"), 0, 1e12),
    ("anomaly", "consecutive", of(Anomaly, threshold=1.0)("consecutive"), 1, 1 << 20),
    *(("boxes", side, BOXES(side), 1, 32767) for side in ("height", "width")),
    ("boxes", "classes", BOXES("classes"), 1, 4096),
    *(
        ("boxes", "anchors", anchor(i), *ends)
        for i, ends in enumerate([(0, 9), (0, 11), (1, 32767), (1, 32767)])
    ),
    ("boxes", "threshold", BOXES("threshold"), -128, 127),
    ("boxes", "iou", BOXES("iou"), 0, 1),
    ("boxes", "candidates", BOXES("candidates"), 1, 1024),
    ("boxes", "most", BOXES("most"), 1, 64),
    *(("boxes", scale, BOXES(scale), 0, 8) for scale in ("center_scale", "size_scale")),
    ("boxes", "zero_point", BOXES("zero_point"), -128, 127),
    ("boxes", "ignored", lambda value: BOXES("ignored")((value,)), 0, 2),
    *(("camera", side, CAMERA(side), 2, 4096) for side in ("height", "width")),
    *(("camera", side, CAMERA(side), 1, 1024) for side in ("rows", "columns")),
    ("camera", "crop's height", lambda value: CUT((0, 0, value, 8)), 2, 6),
    ("camera", "crop's width", lambda value: CUT((0, 0, 6, value)), 2, 8),
    ("camera", "crop's top", lambda value: CUT((value, 0, 4, 5)), 0, 2),
    ("camera", "crop's left", lambda value: CUT((0, value, 4, 5)), 0, 3),
    *(("cascade", o, of(MARGINS)(o), 0, 1) for o in ("exits", "accuracy")),
    ("cascades", "threshold", lambda value: Cascade("a", "b", threshold=value), 0, 256),
    (
        "export/cascade",
        "threshold",
        lambda value: export_cascade("a", "b", "c", threshold=value),
        0,
        256,
    ),
    ("detector", "classes", DETECTOR("classes"), 1, 4096),
    ("detector", "window", DETECTOR("window"), 1, 4096),
    ("detector", "threshold", DETECTOR("threshold"), -128, 127),
    ("detector", "hold", DETECTOR("hold"), 0, 1 << 20),
    ("detector", "ignored", lambda value: DETECTOR("ignored")((value,)), 0, 2),
    (
        *("federated", "samples"),
        *(
            lambda value: federated_average(Learner(**LAYER), [(SAVE, 1), (SAVE, value)]),
            0,
            2**31 - 1,
        ),
    ),
    ("learner", "classes", lambda value: LEARNER("weights")(((1,),) * value), 2, 256),
    ("learner", "features", lambda value: LEARNER("weights")(((1,) * value,) * 2), 1, 4096),
    ("learner", "zero_point", LEARNER("zero_point"), -128, 127),
    ("learner", "bits", LEARNER("bits"), 8, 24),
    ("learner", "scale", LEARNER("scale"), 1e-9, 1e3),
    ("learner", "rate", LEARNER("rate"), 1e-6, 10),
    *(("learner", o, LEARNER(o), 1e-6, 1e3) for o in ("max_step", "max_drift")),
    ("learner", "weights", lambda v: LEARNER("weights")(((1, 2), (3, v))), 1 - 2**22, 2**22 - 1),
    ("learner", "biases", lambda value: LEARNER("biases")((0, value)), 1 - 2**30, 2**30 - 1),
    ("learner", "label", partial(LearnerState(Learner(**LAYER)).learn, FEATURES), 0, 1),
    *(
        ("log_mel", o, NOISE(o), 0, 1)
        for o in ("even_smoothing", "odd_smoothing", "min_signal_remaining")
    ),
    ("log_mel", "smoothing_bits", NOISE("smoothing_bits"), 0, 10),
    ("log_mel", "strength", PCAN("strength"), 0, 2),
    ("log_mel", "offset", PCAN("offset"), 1, 1 << 22),
    ("log_mel", "gain_bits", PCAN("gain_bits"), 0, 31),
    ("log_mel", "sample_rate", LOG_MEL("sample_rate"), 1, 1_000_000),
    ("log_mel", "window", LOG_MEL("window"), 2, 8192),
    ("log_mel", "step", LOG_MEL("step"), 1, 480),
    ("log_mel", "fft", LOG_MEL("fft"), 480, 16384),
    ("log_mel", "fft", of(LogMel, window=40, step=9)("fft"), 64, 16384),
    ("log_mel", "bands", LOG_MEL("bands"), 1, 256),
    *(("log_mel", o, LOG_MEL(o), 0, 8000.0) for o in ("lower_hz", "upper_hz")),
    ("log_mel", "log_shift", LOG_MEL("log_shift"), 0, 10),
    ("log_mel", "coefficients", LOG_MEL("coefficients"), 1, 40),
    ("motion", "axes", MOTION("axes"), 1, 16),
    ("motion", "sample_rate", MOTION("sample_rate"), 2.0**-10, 1_000_000),
    ("motion", "window", MOTION("window"), 4, 2048),
    ("motion", "step", MOTION("step"), 1, 128),
    ("motion", "fft", MOTION("fft"), 128, 16384),
    ("motion", "fft", of(Motion, window=40, step=9)("fft"), 64, 16384),
    ("motion", "peaks", MOTION("peaks"), 0, 8),
    ("motion", "log_shift", MOTION("log_shift"), 0, 10),
    ("motion", "edges less one", lambda value: MOTION("edges")(tuple(range(value + 1))), 1, 64),
    ("motion", "edges", lambda value: MOTION("edges")((1, value)), 0, 50.0),
    ("nearest_mean", "classes", lambda value: MEANS("sums")(((0,),) * value), 2, 256),
    ("nearest_mean", "features", lambda value: MEANS("sums")(((0,) * value,) * 2), 1, 4096),
    ("nearest_mean", "memory", MEANS("memory"), 2, 32768),
    ("nearest_mean", "counts", lambda value: MEANS("counts")((0, value)), 0, 256),
    ("nearest_mean", "sums", lambda value: MEANS("sums")(((0, 0), (0, value))), 0, 3 * 255),
    ("nearest_mean", "classes", lambda value: NearestMean.empty(value, 3), 2, 256),
    ("nearest_mean", "features", lambda value: NearestMean.empty(3, value), 1, 4096),
    (
        *("nearest_mean", "label"),
        *(partial(NearestMeanState(NearestMean.empty(3, 2)).learn, FEATURES), 0, 2),
    ),
    ("pipeline", "scale", PIPELINE("scale"), 2.0**-40, 2.0**20),
    ("pipeline", "offset", PIPELINE("offset"), 0, 65535),
    ("pipeline", "offset", of(Pipeline, motion=Motion())("offset"), -32768, 32767),
    ("pipeline", "stride", PIPELINE("stride"), 1, 4096),
    ("top_k", "size", TOP("size"), 1, 1 << 20),
    ("top_k", "k", TOP("k"), 1, 1 << 20),
    ("top_k", "threshold", TOP("threshold"), -128, 127),
    ("vision", "scale", VISION("scale"), 2.0**-40, 2.0**20),
    ("vision", "mean", VISION("mean"), -(2.0**20), 2.0**20),
]


@pytest.mark.parametrize("case", LIMITS, ids=lambda case: f"{case[0]} {case[1]}")
def test_a_value_beyond_either_end_is_refused(case):
    _, option, make, low, high = case
    for value in (low - 1, high + 1):
        with pytest.raises(DataError) as caught:
            make(value)
        assert caught.value.problem == f"the option {option} is {value}"
        kind, _, ends = caught.value.expected.partition(", ")
        assert kind in ("a whole number", "a number")
        assert ends == f"{low} to {high}"


def test_every_option_with_limits_is_here():
    asked = set()
    files = [*(ROOT / "tinyrt/dsp").glob("*.py"), ROOT / "tinyrt/api/cascades.py"]
    for file in (*files, ROOT / "tinyrt/export/cascade.py"):
        module = "export/cascade" if file.parent.name == "export" else file.stem
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("require_"):
                names = [a.value for a in call.args[3:] if isinstance(a, ast.Constant)]
                asked |= {(module, name) for name in names}
    assert len(asked) > 50
    assert asked <= {(module, option) for module, option, *_ in LIMITS}
