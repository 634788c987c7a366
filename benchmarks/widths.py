"""Widths of weights under a number of bytes: learned, or chosen by noise, beside uniform ones.

    python -m benchmarks.widths [--data digits vowels] [--seeds 3] [--epochs 12] [--json]

Needs scikit-learn and aeon's data (extra ``recipes``). A float network of nine layers is trained on
each data set, and trained on by ``tinyrt qat`` as its own teacher, without labels: with int8
weights, with int4 ones, and with files of at most a third and two thirds of the bytes in between.
All see the samples as often: what is not spent on learning widths is spent on training. Printed are
means over the seeds, on the test samples: SQNR of the logits against the float network, samples
told right, bytes. It fails where a file is larger than it may be.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from tinyrt.convert.passes import optimize
from tinyrt.ir import Graph
from tinyrt.metrics import evaluate_graph
from tinyrt.quantize.config import Scheme
from tinyrt.train import trace
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.nn import Conv2d, GlobalAvgPool2d, Linear, Module, ReLU, Sequential
from tinyrt.train.optim import Adam
from tinyrt.train.pipeline.run import file_size, train_for_int8
from tinyrt.train.pipeline.samples import Samples
from tinyrt.train.pipeline.setting import QatSetting
from tinyrt.train.recipes.digits import split_digits
from tinyrt.train.recipes.recipe import Dataset
from tinyrt.train.recipes.series import load_series
from tinyrt.train.schedules import cosine_lr

DATA: dict[str, Callable[[], Dataset]] = {
    "digits": partial(split_digits, 0),
    "vowels": partial(load_series, "JapaneseVowels", 29),
}
FLOAT_EPOCHS, FLOAT_RATE, RATE = 40, 5e-3, 1e-3
MAX_SAMPLES = 400
"""That training for int8 sees."""
SHARES = (1 / 3, 2 / 3)
"""Of the bytes between int4 and int8 weights everywhere."""


@dataclass(frozen=True, slots=True)
class Row:
    """One file.

    Attributes:
        data: what the network was trained on.
        seed: of weights and order.
        widths: how they were chosen.
        max_bytes: that the file may have; None for any.
        bytes: that it has.
        sqnr_db: of the logits against the float network.
        top1: share of the test samples that is right.
        narrow: layers with int4 weights, by their position.

    """

    data: str
    seed: int
    widths: str
    max_bytes: int | None
    bytes: int
    sqnr_db: float
    top1: float
    narrow: tuple[int, ...]


def network(channels: int, classes: int, rng: np.random.Generator) -> Sequential:
    """Five convolutions alike, two pointwise ones, two dense layers."""
    kernels = [(channels, 8, 3), *[(8, 8, 3)] * 4, (8, 32, 1), (32, 16, 1)]
    layers: list[Module] = []
    for c_in, c_out, size in kernels:
        layers += [Conv2d(c_in, c_out, size, rng=rng), ReLU()]
    ends = [Linear(16, 32, rng=rng), ReLU(), Linear(32, classes, rng=rng)]
    return Sequential(*layers, GlobalAvgPool2d(), *ends)


def in_float(data: Dataset, seed: int) -> Graph:
    """The float network, trained."""
    rng = np.random.default_rng(seed)
    net = network(data.x_train.shape[-1], int(data.y_train.max()) + 1, rng)
    fit(
        *(net, Adam(net.parameters(), FLOAT_RATE), data.x_train, data.y_train),
        FitConfig(FLOAT_EPOCHS, progress=False),
        rng=rng,
        lr=lambda step, steps: cosine_lr(step, steps, FLOAT_RATE),
    )
    return trace(net.eval(), data.x_train.shape[1:])


def rows_of(name: str, seed: int, epochs: int) -> Iterator[Row]:
    """All files of one float network."""
    data = DATA[name]()
    source = in_float(data, seed)
    reference, samples = (
        optimize(source),
        Samples({source.inputs[0]: data.x_train[:MAX_SAMPLES]}, {}),
    )
    searching = -(-epochs // 3)

    plain = QatSetting(epochs + searching, learning_rate=RATE, patience=None, seed=seed)

    def row(widths: str, setting: QatSetting) -> Row:
        outcome = train_for_int8(source, samples, setting)
        found = evaluate_graph(outcome.graph, {"x": data.x_test}, data.y_test, reference)
        assert found.sqnr_db is not None
        assert found.top1 is not None
        narrow = tuple(i for i, width in enumerate(outcome.widths) if width.bits == 4)
        size, most = file_size(outcome.graph), setting.max_bytes
        return Row(name, seed, widths, most, size, found.sqnr_db, found.top1, narrow)

    wide, narrow = row("int8", plain), row("int4", replace(plain, scheme=Scheme.INT4))
    yield from (wide, narrow)
    for share in SHARES:
        most = int(narrow.bytes + share * (wide.bytes - narrow.bytes))
        within = f"{share:.0%} of the bytes between"
        by_noise = replace(plain, max_bytes=most, width_epochs=0)
        yield row(f"by noise, {within}", by_noise)
        yield row(f"learned, {within}", replace(by_noise, epochs=epochs, width_epochs=searching))


def table(rows: list[Row]) -> Iterator[str]:
    """Means over the seeds."""
    names = list(dict.fromkeys(row.data for row in rows))
    heads = [f"{name}: SQNR | right | bytes" for name in names]
    yield f"| widths | {' | '.join(heads)} |"
    yield f"|{'---|' * (1 + 3 * len(names))}"
    for widths in dict.fromkeys(row.widths for row in rows):
        cells = []
        for name in names:
            own = [row for row in rows if (row.widths, row.data) == (widths, name)]
            sqnr, top1, size = (
                float(np.mean([getattr(row, field) for row in own]))
                for field in ("sqnr_db", "top1", "bytes")
            )
            cells.append(f"{sqnr:.1f} dB | {100 * top1:.2f} % | {size:,.0f}")
        yield f"| {widths} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--seeds", type=int, default=3, help="float networks of each data set")
    parser.add_argument("--epochs", type=int, default=12, help="of training for int8")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    pairs = [(name, seed) for name in args.data for seed in range(args.seeds)]
    rows = [row for pair in pairs for row in rows_of(*pair, args.epochs)]
    print(json.dumps([asdict(row) for row in rows]) if args.json else "\n".join(table(rows)))
    if any(row.max_bytes is not None and row.bytes > row.max_bytes for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
