"""Ten networks from PyTorch, trained for int8 by ``tinyrt qat``, run on an emulated core.

    python -m benchmarks.qat [--data digits vowels ...] [--nets plain lstm ...] [--epochs 6]
                             [--core cortex-m4] [--json]

Needs PyTorch (extra ``torch``), scikit-learn and aeon's data (extra ``recipes``). Each network is
trained in PyTorch, exported to ONNX, trained on for int8 with the float model as its teacher, and
run in the emulator on samples that no training has seen. Printed is what PyTorch and the device
tell right, in per cent. It fails where the device answers otherwise than the host in a single bit,
where training and file differ on the samples held out, or where the device tells over ``MAX_LOSS``
of the samples less right than PyTorch.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

import tinyrt
from benchmarks.qat_nets import NETS, Sample, amounts, answers, trained
from tinyrt.train.core.function import Array
from tinyrt.train.data import shift_images
from tinyrt.train.pipeline.setting import QatSetting
from tinyrt.train.recipes.digits import split_digits
from tinyrt.train.recipes.recipe import Dataset
from tinyrt.train.recipes.series import load_series, varied

MAX_LOSS = 0.005
"""Share of the test samples that int8 may lose: half a point."""

Vary = Callable[[Array, np.random.Generator], Array]


@dataclass(frozen=True, slots=True)
class Problem:
    """Data, and how long PyTorch trains on them.

    Attributes:
        load: the data, samples (n, height, width, channels).
        classes: how many there are.
        epochs: passes of PyTorch over them.
        vary: what changes samples (n, height, width, channels) before each use.

    """

    load: Callable[[], Dataset]
    classes: int
    epochs: int
    vary: Vary

    def vary_first(self, x: Array, rng: np.random.Generator) -> Array:
        """The same for samples as PyTorch has them, channels first."""
        return channels_first(self.vary(x.transpose(0, 2, 3, 1), rng))


PROBLEMS = {
    "digits": Problem(partial(split_digits, 0), 10, 30, partial(shift_images, share=0.5)),
    "vowels": Problem(
        partial(load_series, "JapaneseVowels", 29), 9, 60,
        partial(varied, scale=0.05, noise=0.2, steps=2),
    ),
    "power": Problem(
        partial(load_series, "ItalyPowerDemand", 24), 2, 100,
        partial(varied, scale=0.05, noise=0.05, steps=0),
    ),
    "motion": Problem(
        partial(load_series, "BasicMotions", 100), 4, 100,
        partial(varied, scale=0.1, noise=0.05, steps=10),
    ),
}  # fmt: skip
"""Pictures, and series of several lengths and numbers of channels."""


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one network on one problem.

    Attributes:
        data: the problem.
        net: of ``NETS``.
        samples: of the test part.
        in_float: how many of them PyTorch tells right.
        on_device: how many the device does.
        agrees: whether training and file gave the same figures for the samples held out.
        bit_exact: whether the device answered as the host.
        bytes: of the file.
        instructions: of an inference.

    """

    data: str
    net: str
    samples: int
    in_float: int
    on_device: int
    agrees: bool
    bit_exact: bool
    bytes: int
    instructions: int

    @property
    def holds(self) -> bool:
        """Whether nothing got lost on the way."""
        lost = (self.in_float - self.on_device) / self.samples
        return self.agrees and self.bit_exact and lost <= MAX_LOSS


def channels_first(x: Array) -> Array:
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def export(net: torch.nn.Module, x: Array, path: Path) -> None:
    """Write the network as ONNX, for one sample."""
    torch.backends.mha.set_fastpath_enabled(False)  # which ONNX has no operator for
    count = len(answers(net, x[:1]))
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net, (torch.from_numpy(x[:1]),), str(path), dynamo=False, opset_version=17,
            input_names=["x"], output_names=["y", "amount"][:count],
        )  # fmt: skip


def measured(
    data: str, name: str, folder: Path, *, epochs: int, core: str, float_epochs: int | None = None
) -> Row:
    """The whole way of one network.

    Args:
        data: of ``PROBLEMS``.
        name: of ``NETS``.
        folder: where its files are written.
        epochs: of training for int8.
        core: that the device has.
        float_epochs: of PyTorch; the problem's by default.

    """
    problem = PROBLEMS[data]
    parts = problem.load()
    x, test = channels_first(parts.x_train), channels_first(parts.x_test)
    sample = Sample(x.shape[1], x.shape[2], x.shape[3], problem.classes)
    net = trained(
        *(name, sample, x, parts.y_train),
        *(problem.epochs if float_epochs is None else float_epochs, problem.vary_first),
    )
    source, target = folder / f"{data}_{name}.onnx", folder / f"{data}_{name}.tflite"
    export(net, test, source)
    samples = {"x": x, "y": parts.y_train}
    if name == "heads":
        samples["amount"] = amounts(x)
    made = tinyrt.train_int8_model(
        *(source, samples, target, QatSetting(epochs=epochs)),
        teacher=source,
        sequence_lstm=name == "lstm",
    )
    run = tinyrt.run_emulated(target, inputs={"x": test}, core=core)
    classes, labels = next(iter(run.outputs.values())), parts.y_test
    assert run.instructions is not None
    return Row(
        data,
        name,
        len(test),
        int((answers(net, test)[0].argmax(1) == labels).sum()),
        int((classes.reshape(len(test), -1).argmax(1) == labels).sum()),
        all(figures.trained == figures.deployed for figures in made.outcome.figures),
        bool(run.bit_exact),
        made.bytes,
        run.instructions,
    )


def line_of(rows: Sequence[Row]) -> str:
    """A network's row of the table: what PyTorch and the device tell right of each data set."""
    cells = []
    for row in rows:
        shares = (f"{100 * n / row.samples:.2f}" for n in (row.in_float, row.on_device))
        cells.append(", ".join(shares) + ("" if row.holds else " FAILS"))
    sizes = [row.bytes for row in rows]
    cells.append(f"{min(sizes):,}" + (f" to {max(sizes):,}" if len(rows) > 1 else ""))
    return f"| {NETS[rows[0].net][0]} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--nets", nargs="+", choices=NETS, default=list(NETS))
    parser.add_argument("--epochs", type=int, default=6, help="of training for int8")
    parser.add_argument("--core", default="cortex-m4", help="that the emulator runs")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    if not args.json:
        print(f"| network | {' | '.join(args.data)} | bytes |\n|{'---|' * (len(args.data) + 2)}")
    made = []
    for name in args.nets:
        with tempfile.TemporaryDirectory() as folder:
            row = partial(measured, epochs=args.epochs, core=args.core)
            rows = [row(data, name, Path(folder)) for data in args.data]
        made += rows
        if not args.json:
            print(line_of(rows), flush=True)
    if args.json:
        print(json.dumps([asdict(row) | {"holds": row.holds} for row in made]))
    if not all(row.holds for row in made):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
