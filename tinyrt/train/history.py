"""The history of a training: one entry per epoch, as a bar, as a table and as a picture."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tinyrt.files import write_atomic

WIDTH, HEIGHT, MARGIN = 480, 240, 40
COLOURS = {"loss": "#b03a2e", "score": "#1f618d"}


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the training data.

    Attributes:
        number: from 1.
        epochs: how many there will be at most.
        loss: mean over the pass.
        lr: learning rate of its last step.
        score: what validation gave after it, greater is better; NaN without validation.

    """

    number: int
    epochs: int
    loss: float
    lr: float
    score: float

    def metrics(self) -> dict[str, float]:
        """Loss, learning rate and, where there was validation, score: as loggers take them."""
        named = {"loss": self.loss, "lr": self.lr, "score": self.score}
        return {name: value for name, value in named.items() if not math.isnan(value)}


@contextmanager
def progress_bar(epochs: int, shown: bool | None = None) -> Iterator[Callable[[Epoch], None]]:
    """A bar on stderr that moves with each epoch that it is given, and tells how it went.

    Args:
        epochs: how many there will be at most.
        shown: whether there is a bar; None where stderr is a terminal.

    """
    if shown is None:
        shown = sys.stderr.isatty()
    if not shown:
        yield lambda _: None
        return
    # Rich is only imported where something is shown.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("epoch"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task("", total=epochs)

        def show(epoch: Epoch) -> None:
            score = "" if math.isnan(epoch.score) else f"  score {epoch.score:.4f}"
            text = f"loss {epoch.loss:.4f}{score}"
            bar.update(task, completed=epoch.number, description=text)

        yield show


def save_history(history: Sequence[Epoch], path: Path) -> Path:
    """Write a history as CSV, one row per epoch, columns named as in ``Epoch``."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [f.name for f in fields(Epoch)])
    writer.writeheader()
    writer.writerows(asdict(e) for e in history)
    return write_atomic(path, lambda file: file.write(text.getvalue().encode()))


def plot_history(history: Sequence[Epoch], path: Path) -> Path:
    """Draw loss and score over the epochs as an SVG picture; each has its own scale, written on it.

    Args:
        history: one epoch or more.
        path: the ``.svg`` file.

    """
    lines = [_curve(name, [getattr(e, name) for e in history]) for name in COLOURS]
    axis = (
        f'<path d="M{MARGIN} {MARGIN}V{HEIGHT - MARGIN}H{WIDTH - MARGIN}" '
        'fill="none" stroke="#808080"/>'
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - MARGIN / 2}" text-anchor="end">'
        f"{len(history)} epochs</text>"
    )
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12">{axis}{"".join(lines)}</svg>\n'
    )
    return write_atomic(path, lambda file: file.write(picture.encode()))


def _curve(name: str, values: Sequence[float]) -> str:
    """One quantity's line with its name and range; empty where it was not measured."""
    finite = [(i, v) for i, v in enumerate(values) if math.isfinite(v)]
    if not finite:
        return ""
    low, high = min(v for _, v in finite), max(v for _, v in finite)
    x_step = (WIDTH - 2 * MARGIN) / max(1, len(values) - 1)
    y_step = (HEIGHT - 2 * MARGIN) / ((high - low) or 1)
    points = " ".join(
        f"{MARGIN + i * x_step:.1f},{HEIGHT - MARGIN - (v - low) * y_step:.1f}" for i, v in finite
    )
    x = MARGIN + 150 * list(COLOURS).index(name)
    return (
        f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>'
        f'<text x="{x}" y="{MARGIN / 2}" fill="{COLOURS[name]}">'
        f"{name} {low:.4g} to {high:.4g}</text>"
    )
