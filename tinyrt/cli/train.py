"""``tinyrt train``: a recipe from its data to a table of what each form of the model costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinyrt.cli import tables
from tinyrt.cli.console import ERR, reporting
from tinyrt.cli.options import Core
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.files import make_folder

HELD_OUT = 0.25
"""Share of the training samples that stand in for the test samples with ``--validate``."""


@dataclass(frozen=True, slots=True)
class Row:
    """One form of the model, measured.

    Attributes:
        name: float, ptq, qat, pruned or int4.
        scores: figures on the test samples; ``top1`` is among them.
        bytes: size of the .tflite file.
        macs: multiply-accumulates per inference.
        arena: bytes of activations.
        instructions: per inference on the emulated core; None where it cannot run there.
        bit_exact: whether the core answered what the host did; None where it did not run, and for
            floats, whose last bits are not the host's.
        float_error: of floats, the greatest difference, as a part of the greatest output.
        agrees: whether it answered that, or for floats nearly that; None where it did not run.
        note: why it did not run.
        file: the .tflite file.

    """

    name: str
    scores: dict[str, float]
    bytes: int
    macs: int
    arena: int
    instructions: int | None
    bit_exact: bool | None
    float_error: float | None
    agrees: bool | None
    note: str | None
    file: Path

    def as_dict(self) -> dict[str, Any]:
        """The row as plain data, for ``--json``."""
        costs = ("bytes", "macs", "arena", "instructions")
        checks = ("bit_exact", "float_error", "agrees", "note")
        figures = {name: getattr(self, name) for name in (*costs, *checks)}
        return {"name": self.name, **self.scores, **figures, "file": str(self.file)}

    def shown_check(self) -> str:
        """The result of the comparison with the host, in a word."""
        if self.float_error is not None:
            return f"{self.float_error:.0e}"
        return tables.number(self.bit_exact)


def train(
    recipe: Annotated[
        str | None, typer.Argument(help="Which recipe; without, they are listed.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where models, C code and history go.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of split, weights, order, augmentation.")] = 0,
    epochs: Annotated[
        int | None,
        typer.Option(help="Passes over the data in each stage, for a quick look.", min=1),
    ] = None,
    core: Core = "cortex-m4",
    samples: Annotated[int, typer.Option(help="Test samples to run on the core.", min=1)] = 8,
    validate: Annotated[
        bool,
        typer.Option(
            "--validate", help="Hold out training samples and score on them, to choose settings."
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Train a recipe and measure it, down to the emulated core.

    Its forms are float, int8, pruned and int4.
    """
    from tinyrt.train.recipes import RECIPES

    with reporting(json) as report:
        if recipe is None:
            summaries = {name: r.summary for name, r in RECIPES.items()}
            report({"recipes": summaries}, tables.facts(summaries))
            return
        if recipe not in RECIPES:
            raise DataError(f"there is no recipe '{recipe}'", expected=", ".join(RECIPES))
        folder = output or Path("build") / recipe
        rows = run_recipe(recipe, folder, seed, epochs, core, samples, validate)
        data = {
            "recipe": recipe,
            "core": core,
            "validation": validate,
            "variants": [row.as_dict() for row in rows],
        }
        scored_on = "held-out training samples" if validate else "test samples"
        report(data, _rows_table(f"{recipe} on {core}, {scored_on}", folder, rows))
    if any(row.agrees is False for row in rows):
        raise typer.Exit(1)


def run_recipe(
    name: str,
    folder: Path,
    seed: int,
    epochs: int | None,
    core: str,
    samples: int,
    validate: bool,
) -> list[Row]:
    """Train every form of a recipe's model and measure it; the files go to ``folder``."""
    from tinyrt.train.history import plot_history, save_history
    from tinyrt.train.recipes import RECIPES
    from tinyrt.train.recipes.recipe import held_out
    from tinyrt.train.recipes.stages import train_float, variants

    recipe = RECIPES[name]
    if epochs is not None:
        stages = ("training", "int8", "int4", "healing")
        recipe = replace(recipe, **{s: replace(getattr(recipe, s), epochs=epochs) for s in stages})
    make_folder(folder)
    data = recipe.load(seed)
    if validate:
        data = held_out(data, HELD_OUT, seed)
    _say(f"training {name} in float on {len(data.x_train):,} samples")
    trained = train_float(recipe, seed=seed, data=data, progress=None)
    save_history(trained.history, folder / "history.csv")
    plot_history(trained.history, folder / "history.svg")
    rows = []
    for variant in variants(trained, progress=None):
        _say(f"measuring {variant.name}")
        path = folder / f"{name}_{variant.name}.tflite"
        rows.append(_measure(variant, trained, path, core, samples))
    return rows


def _measure(variant: Any, trained: Any, path: Path, core: str, samples: int) -> Row:
    from tinyrt import api
    from tinyrt.convert.tflite.writer import save_tflite
    from tinyrt.interpreter import load
    from tinyrt.memory import schedule

    save_tflite(schedule(variant.graph), path)
    inspection = api.inspect_model(path)
    scores = trained.recipe.score(load(path), trained.data)
    emulation, note = None, None
    try:
        inputs = {"x": trained.data.x_test[:samples]}
        build = path.with_name(f"{path.stem}_firmware")
        emulation = api.run_emulated(path, core=core, inputs=inputs, build_dir=build)
    except UnsupportedError as error:
        note = error.problem
    in_float = emulation is not None and emulation.float_error is not None
    return Row(
        name=variant.name,
        scores=scores,
        bytes=path.stat().st_size,
        macs=inspection.macs,
        arena=inspection.arena_bytes,
        instructions=emulation.instructions if emulation else None,
        bit_exact=emulation.bit_exact if emulation and not in_float else None,
        float_error=emulation.float_error if emulation else None,
        agrees=emulation.agrees if emulation else None,
        note=note,
        file=path,
    )


def _rows_table(title: str, folder: Path, rows: list[Row]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("variant")
    scores = list(rows[0].scores)
    for column in (*scores, "bytes", "of float", "MACs", "arena", "instructions"):
        table.add_column(column, justify="right")
    table.add_column("exact")
    for row in rows:
        table.add_row(
            row.name,
            *(tables.percent(row.scores[s]) for s in scores),
            tables.number(row.bytes),
            f"1/{rows[0].bytes / row.bytes:.1f}",
            tables.number(row.macs),
            tables.number(row.arena),
            tables.number(row.instructions),
            row.shown_check(),
        )
    notes = [Text(f"  {row.name}: {row.note}") for row in rows if row.note]
    where = Text(f"  models, C projects and training history are in {folder}", style="cyan")
    return Group(Text(title, style="bold"), table, *notes, where)


def _say(what: str) -> None:
    ERR.print(what)
