"""``tinyrt demo``: from training data to a checked Cortex-M4 firmware, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinyrt import api
from tinyrt.cli import tables
from tinyrt.cli.console import ERR, progress_bar, reporting
from tinyrt.cli.options import Json
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.data import save_npz
from tinyrt.emulate import EmulationReport
from tinyrt.files import make_folder
from tinyrt.interpreter import load
from tinyrt.metrics import Evaluation
from tinyrt.train.data import Labels
from tinyrt.train.recipes.digits import SMALL_DIGITS
from tinyrt.train.recipes.stages import Trained, train_float

Arrays = Mapping[str, NDArray[Any]]

CALIBRATION_IMAGES = 100
STEPS = 4


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo's results, and the paths of its artifacts.

    Attributes:
        float_host: the float model on the host.
        int8_host: the int8 model on the host.
        device: the firmware on every test image.
        device_correct: test images that the firmware classifies correctly.
        agreement: share of output bytes in which device and host agree.
        model_bytes: size of the int8 .tflite file.
        artifacts: path -> what it is.

    """

    float_host: Evaluation
    int8_host: Evaluation
    device: EmulationReport
    device_correct: int
    agreement: float
    model_bytes: int
    artifacts: dict[Path, str]

    def rows(self) -> dict[str, str]:
        """The table's rows, in words and figures."""
        device = self.device
        samples = self.int8_host.samples
        return {
            "test images": tables.number(samples),
            "accuracy, float on the host": tables.percent(self.float_host.top1),
            "accuracy, int8 on the host": tables.percent(self.int8_host.top1),
            "accuracy, int8 in QEMU": tables.percent(self.device_correct / samples),
            "host and device agree, output bytes": tables.percent(self.agreement),
            "model bytes (.tflite)": tables.number(self.model_bytes),
            "code bytes": tables.number(device.flash.code),
            "arena bytes": tables.number(device.ram.arena),
            "stack bytes": tables.number(device.ram.stack),
            "instructions per inference": tables.number(device.instructions),
        }

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, for ``--json``."""
        device = self.device
        return {
            "samples": self.int8_host.samples,
            "top1": {
                "float": self.float_host.top1,
                "int8_host": self.int8_host.top1,
                "int8_device": self.device_correct / self.int8_host.samples,
            },
            "agreement": self.agreement,
            "bit_exact": device.bit_exact,
            "model_bytes": self.model_bytes,
            "core": device.core,
            "board": device.board,
            "flash": {"code": device.flash.code, "weights": device.flash.weights},
            "ram": {"arena": device.ram.arena, "stack": device.ram.stack},
            "instructions": device.instructions,
            "artifacts": {str(path): what for path, what in self.artifacts.items()},
        }

    def renderable(self) -> RenderableType:
        """The table, and what each artifact is."""
        where = f"{self.device.core} ({self.device.board} in QEMU)"
        title = f"Handwritten digits, from training to {where}"
        files = Table.grid(padding=(0, 2))
        for path, what in self.artifacts.items():
            files.add_row(Text(str(path), style="cyan"), what)
        return Group(Text(title, style="bold"), tables.facts(self.rows()), files)


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the artifacts go.")] = Path(
        "build/demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of data split and training.")] = 0,
    json: Json = False,
) -> None:
    """The whole way on handwritten digits, to firmware in QEMU."""
    with reporting(json) as report:
        result = run_demo(output, seed=seed)
        report(result.as_dict(), result.renderable())
    if not result.device.agrees:
        raise typer.Exit(1)


def run_demo(folder: Path, *, seed: int = 0) -> Demo:
    """Train, quantise, evaluate, export, build, and run every test image in QEMU.

    Args:
        folder: where the artifacts go; created if missing.
        seed: of data split, initial weights and shuffling.

    Raises:
        ToolError: scikit-learn, the cross-compiler or the emulator is missing.
        OutputError: the folder cannot be written.

    """
    make_folder(folder)
    float_path, int8_path = folder / "digits_float.tflite", folder / "digits.tflite"
    calibration, test = folder / "calibration.npz", folder / "test.npz"
    firmware = folder / "firmware"

    digits = _train(seed)
    data = digits.data
    save_tflite(optimize(digits.graph()), float_path)
    save_npz(calibration, {"x": data.x_train[:CALIBRATION_IMAGES]})
    save_npz(test, {"x": data.x_test, "y": data.y_test})

    _say(2, f"quantising to int8 with {CALIBRATION_IMAGES} calibration images")
    api.quantize_model(float_path, calibration, int8_path)

    _say(3, f"evaluating float and int8 on {len(data.x_test)} test images")
    float_host = api.evaluate(float_path, test)
    int8_host = api.evaluate(int8_path, test, against=float_path)

    _say(4, "exporting C, building it for Cortex-M4, running every test image in QEMU")
    with progress_bar("emulating") as progress:
        device = api.run_emulated(int8_path, inputs=test, build_dir=firmware, progress=progress)
    host = load(int8_path)
    answers = host.run_raw(host.stored_inputs({"x": data.x_test}))
    return Demo(
        float_host=float_host,
        int8_host=int8_host,
        device=device,
        device_correct=_correct(device.outputs, data.y_test),
        agreement=_agreement(device.outputs, answers),
        model_bytes=int8_path.stat().st_size,
        artifacts={
            float_path: "the trained float model",
            int8_path: "the int8 model: standard .tflite, runs in LiteRT and TFLM too",
            calibration: "the images that calibrated it",
            test: "the test images and labels (tinyrt eval -d)",
            firmware / "model": "the C project, as 'tinyrt export' writes it",
            firmware / "image.elf": "the Cortex-M4 image that ran in QEMU",
        },
    )


def _train(seed: int) -> Trained:
    _say(1, "training a small CNN on scikit-learn's handwritten digits")
    with progress_bar("training") as progress:
        digits = train_float(
            SMALL_DIGITS, seed=seed, on_epoch=lambda epoch: progress(epoch.number, epoch.epochs)
        )
    accuracy = tables.percent(digits.score()["top1"])
    ERR.print(f"      {len(digits.history)} epochs, test accuracy {accuracy}")
    return digits


def _correct(outputs: Arrays, labels: Labels) -> int:
    (answers,) = outputs.values()
    return int((answers.reshape(len(labels), -1).argmax(axis=1) == labels).sum())


def _agreement(device: Arrays, host: Arrays) -> float:
    return float(np.mean([np.mean(device[name] == host[name]) for name in host]))


def _say(step: int, what: str) -> None:
    ERR.print(f"[{step}/{STEPS}] {what}")
