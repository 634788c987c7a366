"""Cases on the ends of what ops take: the references against TFLM's kernels, and compiled loops
against the references."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.c.floats import assert_close
from tests.ops.build import Built
from tests.ops.corners import FAMILIES, thinned
from tests.ops.peers import real_quotient, run_peer
from tests.ops.unsigned import answer_of_litert
from tests.sampling import sampled
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

WITHOUT_PEER = {
    r"div: .*zero points": "TFLM shifts small quotients by more than 31 bits; no divisor is zero",
    r"div: .*repeats": "the same",
    r"detection_postprocess: by box": "TFLM writes nothing behind its boxes; see test_detection.py",
    r"detection_postprocess: .*anchors [^s]": "TFLM reports an error",
    r"embedding: .*beyond": "TFLM reads outside its table",
    r"gather_nd: .*beyond": "TFLM reports an error",
    r"slice_at: .*from \[(2|-1|2147483647)": "TFLM reads outside its input",
    r"topk_v2: .*no number": "LiteRT has no order of them",
    r".*six axes": "TFLM has five",
    r"softmax: 2000 elements, scale 0.0001": "TFLM refuses multipliers below one",
    r"(depthwise|transpose)_conv.*int16, int32": "TFLM reads biases of int64 there",
    r"(logistic|tanh): scale 700.0, int16": "in TFLM, such positions overflow",
    r"quantize: (ties and limits|floats beyond)": "TFLM converts NaN and infinities as C leaves it",
    r"cast: no numbers to [su]": "the same",
    r"div: int32 by 0": "TFLM stops the program",
    r"signal_(framer|stacker|delay): ": "TFLM keeps theirs inside: tests/ops/test_signal.py",
    r"(maximum|minimum|reduce_m..): .*(special|no number|infinite)": "TFLM drops some NaN",
    r"(add|sub|mul|div): all pairs of special": "TFLM limits results to finite floats",
    r"(average|max)_pool2d: floats, ": "the same",
}
"""Pattern of a case's name -> why TFLM does not say what is right there."""


def has_peer(name: str) -> bool:
    """Whether TFLM's answer is the rule for this case."""
    return not any(re.match(pattern, name) for pattern in WITHOUT_PEER)


@pytest.mark.parametrize("family", FAMILIES)
def test_references_equal_the_device(family):
    cases = {name: built for name, built in FAMILIES[family]().items() if has_peer(name)}
    assert len(cases) > 50
    for name, built in thinned(cases, sampled(4, 1)).items():
        op = name.split(":")[0]
        with np.errstate(all="ignore"):
            found = evaluate(built.graph, built.feeds)["out"]
        if family == "legacy":
            expected = answer_of_litert(built)
        else:
            expected = run_peer(op, built.graph, list(built.feeds.values()))
        if found.dtype == np.float32:
            with np.errstate(invalid="ignore"):
                assert_close(op, found, expected)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=name)


def test_every_exception_is_needed():
    names = [name for cases in FAMILIES.values() for name in cases()]
    for pattern in WITHOUT_PEER:
        assert any(re.match(pattern, name) for name in names), pattern


def test_quotients_are_the_nearest_ones():
    """Where TFLM says nothing: one step at most from the real quotient; by zero, a limit."""
    cases = {n: built for n, built in FAMILIES["elementwise"]().items() if n.startswith("div:")}
    assert len(cases) >= 50
    for name, built in cases.items():
        found = evaluate(built.graph, built.feeds)["out"]
        with np.errstate(divide="ignore", invalid="ignore"):
            real = np.nan_to_num(real_quotient(built), nan=_zero_point(built))
        assert np.abs(found - np.clip(real, -128, 127)).max() <= 0.5 + 2**-6, name


def _zero_point(built: Built) -> int:
    return built.graph.value("out").q.zero_point
