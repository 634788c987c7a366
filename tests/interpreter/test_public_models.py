"""Models of other projects, as they are published, against tflite-micro's answers."""

import numpy as np
import pytest

from tinyrt.errors import TinyrtError
from tinyrt.interpreter import Interpreter
from tools.zoo import published

MODELS = [s.file for s in published() if s.file.startswith("models/public/")]
REFUSED = {
    "ai-edge-quantizer__mnist_quantized": "zero points differ between channels",
    "tflite-micro__keyword_scrambled": r"output is s16\[1,2\]",
}
"""Models that tinyrt does not run -> what it says."""


@pytest.mark.parametrize("file", MODELS, ids=lambda f: f.removeprefix("models/public/")[:-7])
def test_public_models_answer_what_the_device_does(zoo, file):
    path = zoo / file
    if path.stem in REFUSED:
        with pytest.raises(TinyrtError, match=REFUSED[path.stem]):
            Interpreter(path).allocate_tensors()
        return
    answers = np.load(path.with_suffix(".npz"))
    samples = len({key.split("_")[0] for key in answers.files if key.startswith("in")})
    for sample in range(samples):
        interpreter = Interpreter(path)  # a fresh state
        interpreter.allocate_tensors()
        for i, detail in enumerate(interpreter.get_input_details()):
            interpreter.set_tensor(detail["index"], answers[f"in{sample}_{i}"])
        interpreter.invoke()
        for o, detail in enumerate(interpreter.get_output_details()):
            found, expected = interpreter.get_tensor(detail["index"]), answers[f"tflm{sample}_{o}"]
            if expected.dtype.kind == "f":
                largest = float(np.nanmax(np.abs(expected), initial=0))
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * largest)
            else:
                np.testing.assert_array_equal(found, expected)
