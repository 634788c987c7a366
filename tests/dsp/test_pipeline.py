"""The value that a model's file carries: as data, and whatever a file says."""

import json
import re

import pytest

from tests.listening import PIPELINE
from tinyrt.dsp import Anomaly, Detector, LogMel, NoiseReduction, Pcan, Pipeline
from tinyrt.errors import DataError

PIPELINES = [
    Pipeline(),
    PIPELINE,
    Pipeline(LogMel(pcan=None), 1, 65_535, 4_096, Detector(12, ignored=(0, 1))),
    Pipeline(LogMel(bands=3), (0.5, 1, 2.0**-40), (0, 7, 65_535)),
    Pipeline(LogMel(coefficients=2), 0.5, (-32_768, 32_767)),
    Pipeline(LogMel(coefficients=2), (0.5, 0.25), -1, anomaly=Anomaly(0.5, 3)),
    Pipeline(LogMel(noise_reduction=NoiseReduction(0.1), pcan=Pcan(0.5), fft=960), 2.0**-40),
]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_as_json_and_back(pipeline):
    assert Pipeline.from_json(pipeline.to_json()) == pipeline
    assert json.loads(pipeline.to_json()) == pipeline.as_dict()


def test_what_is_missing_has_its_default():
    assert Pipeline.from_json(b'{"version": 1}') == Pipeline()
    made = Pipeline.from_dict({"log_mel": {"bands": 8}, "detector": {"classes": 2}})
    assert made == Pipeline(LogMel(bands=8), detector=Detector(2))
    assert Pipeline().scale == 1 / 25.6


WRONG = {
    "the option version is 2": {"version": 2},
    "the option version is True": {"version": True},
    "the option version is 1.0": {"version": 1.0},
    "the option name is 'stripe'": {"stripe": 3},
    "the option scale is 0": {"scale": 0},
    "the option scale is '1'": {"scale": "1"},
    "the option scale is 1048577.0": {"scale": 2.0**20 + 1},
    "the option offset is -1": {"offset": -1},
    "the option offset is 65536": {"offset": 65_536},
    "the option offset is 0.5": {"offset": 0.5},
    "the option offset is -32769": {"offset": -32_769, "log_mel": {"coefficients": 4}},
    "the option offset is 32768": {"offset": [0, 32_768], "log_mel": {"coefficients": 2}},
    "the option scale is (0.5,)": {"scale": [0.5]},
    "the option offset is (1, 2)": {"offset": [1, 2]},
    "the option scale is ()": {"scale": []},
    "the option scale is [1]": {"scale": [0.5, [1]], "log_mel": {"coefficients": 2}},
    "the option scale is {}": {"scale": {}},
    "the option stride is 0": {"stride": 0},
    "the option stride is 4097": {"stride": 4_097},
    "the option log_mel is None": {"log_mel": None},
    "the option log_mel is [1]": {"log_mel": [1]},
    "the option bands is 0": {"log_mel": {"bands": 0}},
    "the option pcan is 3": {"log_mel": {"pcan": 3}},
    "the option detector is []": {"detector": []},
    "the option classes is None": {"detector": {}},
    "the option ignored is 3": {"detector": {"classes": 4, "ignored": 3}},
    "the option ignored is [1]": {"detector": {"classes": 4, "ignored": [[1]]}},
}


@pytest.mark.parametrize("text", WRONG)
def test_options_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)):
        Pipeline.from_dict(WRONG[text])


NO_JSON = {
    "no JSON": b"{",
    "utf-8": b"\xff\xfe{",
    "NaN is no number": b'{"version": 1, "scale": NaN}',
    "Infinity is no number": b'{"version": 1, "scale": Infinity}',
    "the option scale is inf": b'{"version": 1, "scale": 1e999}',
    "a name stands twice": b'{"version": 1, "scale": 1, "scale": 2}',
    "the option front end is 'list'": b"[1]",
    "the option version is None": b"{}",
    "the front end takes 65,537 bytes": b" " * 65_537,
    "recursion": b'{"version":' + b"[" * 20_000,
    "digits": b'{"version": 1, "offset": ' + b"9" * 9_000 + b"}",
}


@pytest.mark.parametrize("text", NO_JSON)
def test_a_hostile_entry_is_refused(text):
    with pytest.raises(DataError, match=f"(?i){re.escape(text)}"):
        Pipeline.from_json(NO_JSON[text])


def test_an_entry_of_the_most_bytes_is_read():
    data = Pipeline().to_json()
    assert Pipeline.from_json(data + b" " * (65_536 - len(data))) == Pipeline()
