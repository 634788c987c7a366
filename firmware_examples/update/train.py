"""Trains the example's two models, and writes what the folder holds.

python train.py [FOLDER]: first.tflite, trained for a short time, and second.tflite, trained on. It
needs the package ``tinyrt`` with scikit-learn, whose digits these are.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tinyrt import api
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.train.recipes.digits import SMALL_DIGITS
from tinyrt.train.recipes.recipe import Training
from tinyrt.train.recipes.stages import train_float

CALIBRATION = 100


def train(training: Training, path: Path) -> None:
    """Write an int8 model, all of whose channels are kept, so that another one fits its code."""
    digits = train_float(replace(SMALL_DIGITS, training=training))
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "digits.tflite"
        save_tflite(optimize(digits.graph()), whole)
        api.quantize_model(whole, digits.data.x_train[:CALIBRATION], path, keep_channels=True)
    found = api.evaluate(path, digits.data.x_test, labels=digits.data.y_test)
    print(f"{path.name}: top-1 {found.top1:.3f}")


def main(folder: Path) -> None:
    """Train both."""
    train(Training(2, 1e-2), folder / "first.tflite")
    train(SMALL_DIGITS.training, folder / "second.tflite")


if __name__ == "__main__":
    main(Path(*sys.argv[1:] or ["."]))
