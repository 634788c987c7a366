"""Options whose value is more than a word: forms, and refusals whose hints would be taken."""

import re

import pytest

from tinyrt.api import Stream
from tinyrt.cli.options import (
    parse_accuracy,
    parse_allowed,
    parse_regions,
    parse_schemes,
    parse_shapes,
    parse_stream,
    parse_values,
    require_with,
    require_without,
)
from tinyrt.cli.qat import parse_pruning
from tinyrt.errors import DataError, TinyrtError
from tinyrt.memory import Region
from tinyrt.quantize.config import Scheme
from tinyrt.train.pipeline.setting import Pruned, Pruning


def shapes(*options):
    return parse_shapes(list(options))


def values(*options):
    return parse_values(list(options))


def stream(option):
    return parse_stream(option, 3)


def schemes(*options):
    return parse_schemes(list(options))


def regions(*options):
    return parse_regions(list(options))


TAKEN = [
    (shapes, ("x=1",), {"x": (1,)}),
    (shapes, ("x=1,3,32,32", "a=b=2"), {"x": (1, 3, 32, 32), "a=b": (2,)}),
    (shapes, ("x=1", "x=2"), {"x": (2,)}),
    (shapes, (), {}),
    (parse_shapes, (None,), {}),
    (values, ("sr=16000", "a=b=-0.5,1e3"), {"sr": (16000,), "a=b": (-0.5, 1000.0)}),
    (values, (f"n={2**60 + 1}",), {"n": (2**60 + 1,)}),
    (values, ("x=1", "x=2"), {"x": (2,)}),
    (parse_values, (None,), {}),
    (stream, ("1",), Stream(1, 3, None)),
    (stream, ("-1",), Stream(-1, 3, None)),
    (stream, ("x=2",), Stream(2, 3, "x")),
    (stream, ("a=b=2",), Stream(2, 3, "a=b")),
    (schemes, ("conv*=int16x8",), (("conv*", Scheme.INT16X8),)),
    (schemes, ("a=b=int4", "c=float"), (("a=b", Scheme.INT4), ("c", Scheme.FLOAT))),
    (parse_schemes, (None,), ()),
    (regions, ("dtcm=64k", "sram"), (Region("dtcm", 65536), Region("sram", None))),
    (regions, ("sram=1k", "dtcm"), (Region("sram", 1024), Region("dtcm", None))),
    (regions, ("a=0",), (Region("a", 0),)),
    (parse_regions, (None,), (Region("arena", None),)),
    (parse_accuracy, ("91%",), (0.91, None)),
    (parse_accuracy, ("0.91",), (0.91, None)),
    (parse_accuracy, (" 35dB ",), (None, 35.0)),
    (parse_accuracy, ("1e1 db",), (None, 10.0)),
    (parse_accuracy, ("2 %",), (0.02, None)),
    (parse_allowed, ("int4, int8,",), (Scheme.INT4, Scheme.INT8)),
    (parse_allowed, ("",), ()),
    (parse_pruning, ("channels=0.5",), Pruning(Pruned.CHANNELS, 0.5)),
    (parse_pruning, ("weights=8e-1",), Pruning(Pruned.WEIGHTS, 0.8)),
    (parse_pruning, (None,), None),
]


@pytest.mark.parametrize(("parse", "given", "value"), TAKEN)
def test_a_value_is_read_as_its_form_says(parse, given, value):
    assert parse(*given) == value


REFUSED = {
    shapes: ["x", "x=", "=1", "1,2", "x=1,,2", "x=0", "x=1,-1", "x=1.5", "x=n"],
    values: ["x", "x=", "=1", "1,2", "x=1,,2", "x=n", "x=true"],
    stream: ["", "x", "x=", "x=1.5", "1,2", "-", "--1"],
    schemes: ["int8", "=int8", "conv=int3", "conv="],
    parse_accuracy: ["", "%", "dB", "many", "1%dB", "91 percent"],
    parse_allowed: ["int3", "int8,float32", "all"],
    parse_pruning: [
        "",
        "0.5",
        "channels",
        "channels=",
        "channels=many",
        "layers=0.5",
        "channels=nan",
    ],
}
NAMES = {
    shapes: "--shape",
    values: "--value",
    stream: "--stream",
    schemes: "--scheme-for",
    parse_accuracy: "--min-accuracy",
    parse_allowed: "--allow",
    parse_pruning: "--prune",
}


@pytest.mark.parametrize(
    ("parse", "text"), [(parse, text) for parse, texts in REFUSED.items() for text in texts]
)
def test_another_form_is_refused_with_one_that_is_taken(parse, text):
    with pytest.raises(TinyrtError) as refused:
        parse(text)
    error = refused.value
    assert error.problem.startswith(f"{NAMES[parse]} {text}")
    assert error.expected
    if parse == parse_allowed:
        examples = re.findall(r"int\w+|float", error.expected)
    else:
        examples = re.findall(rf"{NAMES[parse]} ([^\s']+|'[^']+')", error.hint.replace(", ", " "))
    assert examples
    for example in examples:
        parse(example.strip("'"))


@pytest.mark.parametrize("given", [0, "", False, "x"])
@pytest.mark.parametrize(
    ("require", "needs", "says", "hint"),
    [
        (require_with, True, "--a says nothing without --b", "leave --a out, or add --b"),
        (require_without, False, "--a says nothing beside --b", "leave --a or --b out"),
    ],
    ids=["without", "beside"],
)
def test_an_option_that_reaches_nothing_says_so(require, needs, says, hint, given):
    require("--a", given, "--b", there=needs)
    require("--a", None, "--b", there=not needs)
    with pytest.raises(DataError, match=says) as refused:
        require("--a", given, "--b", there=not needs)
    assert refused.value.expected
    assert refused.value.hint == hint
