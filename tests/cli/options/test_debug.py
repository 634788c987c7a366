"""Options of ``tinyrt debug``."""

import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.sampling import sampled

pytestmark = pytest.mark.slow


@pytest.fixture
def debugged(made):
    def debug(*options, data=made.test, **expected):
        return call_json("debug", made.net, made.int8, "-d", data, *options, **expected)

    return debug


@shows("debug", "float_model", "quantized")
def test_the_two_models_named_are_compared(made, tmp_path):
    """Another file of the same model, with weights of 4 bits, is further off."""
    narrow = tmp_path / "narrow.tflite"
    options = ("--scheme", "int4", "--preset", "fast")
    call("quantize", made.net, "-c", made.calib, "-o", narrow, *options)
    near, far = (
        call_json("debug", made.net, file, "-d", made.test)["sqnr_db"]
        for file in (made.int8, narrow)
    )
    assert near > far + 5
    assert (
        "first model is quantised"
        in call(*("debug", made.int8, made.int8, "-d", made.test), code=1).stderr
    )


@shows("debug", "data")
def test_layers_are_compared_on_the_data_named(debugged, made):
    """What is ten times as large as the ranges is cut off."""
    fit, beyond = debugged(), debugged(data=made.wide)
    assert (fit["samples"], beyond["samples"]) == (16, 24)
    cut = [
        next(layer["saturation"] for layer in found["layers"] if layer["op"] == "input")
        for found in (fit, beyond)
    ]
    assert cut[0] < 0.01
    assert cut[1] > 0.5


@shows("debug", "bisect", "min_accuracy")
def test_a_search_goes_as_far_as_asked(debugged, made):
    assert "bisect" not in debugged()
    kept = []
    for db in ("40dB", "50dB"):
        found = debugged("--bisect", "--min-accuracy", db)["bisect"]
        assert found["reached"]
        assert found["result"]["sqnr_db"] >= float(db[:-2])
        kept.append(len(found["kept"]))
    assert kept[0] < kept[1]
    shown = call(
        *("debug", made.net, made.int8, "-d", made.test, "--bisect", "--min-accuracy", "50dB")
    ).stdout
    assert "Quantise again with" in shown
    assert "--keep-float" in shown or "--scheme-for" in shown


@shows("debug", "allow")
@pytest.mark.parametrize("scheme", sampled(["float"], ["int16x8", "float"]))
def test_a_search_widens_into_what_is_allowed(scheme, debugged):
    options = ("--bisect", "--min-accuracy", "50dB", "--allow", f"int8,{scheme}")
    found = debugged(*options)["bisect"]
    assert {step["scheme"] for step in found["steps"]} == {scheme}


@shows("debug", "html")
def test_a_page_draws_every_layer(debugged, tmp_path):
    found = debugged("--html", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().count("<circle") == 3 * len(found["layers"])
