"""The example firmware, built from an exported folder as its README says."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tinyrt import api
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import export_c
from tinyrt.interpreter import load
from tinyrt.train.recipes.digits import SMALL_DIGITS
from tinyrt.train.recipes.recipe import Training
from tinyrt.train.recipes.stages import train_float

EXAMPLE = Path(__file__).parents[2] / "firmware_examples" / "hello_digits"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The demo's model after a glance at the data: enough for answers that differ."""
    folder = tmp_path_factory.mktemp("digits")
    digits = train_float(replace(SMALL_DIGITS, training=Training(1, 1e-2)))
    save_tflite(optimize(digits.graph()), folder / "float.tflite")
    api.quantize_model(folder / "float.tflite", digits.data.x_train[:50], folder / "digits.tflite")
    return folder / "digits.tflite"


def images():
    """The images that the firmware holds, as the model's real input."""
    text = (EXAMPLE / "images.h").read_text()
    pixels = re.findall(r"\d+", text[text.index("= {") :])
    return (np.array(pixels, np.float32) / 16).reshape(10, 8, 8, 1)


def test_prints_the_digits_that_the_host_sees(model, tmp_path):
    example = tmp_path / "hello_digits"
    skip = shutil.ignore_patterns("build", "exported")
    shutil.copytree(EXAMPLE, example, ignore=skip)
    export_c(model, example / "exported")
    done = subprocess.run(
        ["make", "-s", "run"],
        cwd=example,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = [int(d) for d in re.findall(r"image \d: this is a (\d)", done.stdout)]
    expected = load(model)(images()).argmax(axis=1)
    assert len(set(expected)) > 3
    assert printed == expected.tolist()
