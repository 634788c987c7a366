"""The command ``qat``: anyone's float model, trained for int8."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from tinyrt.amounts import parse_bytes
from tinyrt.cli import tables
from tinyrt.cli.console import ERR, noting, reporting
from tinyrt.cli.options import (
    Json,
    MaxMemory,
    Model,
    SequenceLstm,
    Shapes,
    TfliteOut,
    Values,
    parse_shapes,
    parse_values,
    require_with,
    require_without,
)
from tinyrt.errors import DataError
from tinyrt.quantize.config import Scheme

if TYPE_CHECKING:
    from tinyrt.api.fitting import DeviceBudget
    from tinyrt.api.training import Trained
    from tinyrt.train.pipeline.setting import Pruning


def qat(
    model: Model,
    data: Annotated[
        Path,
        typer.Option(
            "-d", "--data", help=".npz with x and y; without y, the float model is the teacher."
        ),
    ],
    output: TfliteOut,
    epochs: Annotated[int, typer.Option(help="Passes over the data, at most.", min=1)] = 20,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", help="Greatest learning rate.")
    ] = 3e-4,
    batch: Annotated[int, typer.Option(help="Samples per step.", min=1)] = 32,
    validation: Annotated[
        float, typer.Option(help="Share of the samples that is held out, to choose and measure by.")
    ] = 0.1,
    patience: Annotated[
        int, typer.Option(help="Epochs without a better score before training ends.", min=1)
    ] = 5,
    seed: Annotated[int, typer.Option(help="Seed of split and order.", min=0)] = 0,
    teacher: Annotated[
        Path | None, typer.Option("--teacher", help="A model that is learned from, too.")
    ] = None,
    finetune: Annotated[
        int | None,
        typer.Option(
            "--finetune",
            help="Passes in float before.",
            show_default="0; as --epochs with --prune",
        ),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            "--prune",
            metavar="WHAT=SHARE",
            help="Take away channels, by the MACs they cost, or weights first, e.g. channels=0.5.",
        ),
    ] = None,
    scheme: Annotated[
        Scheme,
        typer.Option(
            help="Dtypes to train for: int8; int4, for weights of 4 bits; or int16x8, for "
            "activations of 16."
        ),
    ] = Scheme.INT8,
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes",
            metavar="BYTES",
            help="Size of the .tflite file at most; it is learned which layers get int4 weights.",
        ),
    ] = None,
    width_epochs: Annotated[
        int | None,
        typer.Option(
            "--width-epochs",
            help="Passes in which that is learned; 0 chooses layers by the noise they add.",
            show_default="a third of --epochs",
        ),
    ] = None,
    max_arena: Annotated[
        str | None,
        typer.Option(
            "--max-arena",
            metavar="BYTES",
            help="Arena on the core at most, e.g. 4k; channels are pruned until it fits.",
        ),
    ] = None,
    max_flash: Annotated[
        str | None,
        typer.Option(
            "--max-flash", metavar="BYTES", help="Code and weights on the core at most; likewise."
        ),
    ] = None,
    max_instructions: Annotated[
        int | None,
        typer.Option(
            "--max-instructions", help="Instructions per inference at most; likewise.", min=1
        ),
    ] = None,
    max_cycles: Annotated[
        int | None,
        typer.Option(
            "--max-cycles",
            help="Cycles per inference at most, without wait states; likewise.",
            min=1,
        ),
    ] = None,
    core: Annotated[
        str | None,
        typer.Option("--core", help="The core of these limits.", show_default="cortex-m4"),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", help="An .npz that keeps where training stands, and is gone on from."
        ),
    ] = None,
    shape: Shapes = None,
    value: Values = None,
    sequence_lstm: SequenceLstm = False,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Train a float model for int8, by labels or a teacher.

    Early stopping keeps the best epoch; the result is a standard .tflite file.
    """
    with reporting(json, max_memory) as report:
        from tinyrt.api.training import train_int8_model
        from tinyrt.train.pipeline.setting import QatSetting

        setting = QatSetting(
            epochs=epochs,
            finetune=finetune,
            pruning=parse_pruning(prune),
            patience=patience,
            validation=validation,
            batch=batch,
            learning_rate=learning_rate,
            seed=seed,
            scheme=scheme,
            max_bytes=None if max_bytes is None else parse_bytes(max_bytes),
            width_epochs=width_epochs,
            state_file=resume,
            progress=None,
        )
        budget = device_budget(core, max_arena, max_flash, max_instructions, max_cycles)
        require_with("--core", core, "--max-arena or the like", there=budget is not None)
        require_without("--prune", prune, "--max-arena or the like", there=budget is not None)
        with noting() as notes:
            trained = train_int8_model(
                model,
                data,
                output,
                setting,
                teacher=teacher,
                budget=budget,
                shapes=parse_shapes(shape),
                values=parse_values(value),
                sequence_lstm=sequence_lstm,
                on_stage=ERR.print,
            )
        report({**as_data(output, trained), "warnings": notes}, shown(output, trained))


def device_budget(
    core: str | None,
    arena: str | None,
    flash: str | None,
    instructions: int | None,
    cycles: int | None,
) -> DeviceBudget | None:
    """The limits from the options; None without any."""
    from tinyrt.api.fitting import DeviceBudget

    if arena is None and flash is None and instructions is None and cycles is None:
        return None
    most = {
        "arena": None if arena is None else parse_bytes(arena),
        "flash": None if flash is None else parse_bytes(flash),
    }
    name = core or "cortex-m4"
    return DeviceBudget(name, **most, instructions=instructions, cycles=cycles)


def parse_pruning(option: str | None) -> Pruning | None:
    """``channels=0.5`` -> half of the multiply-accumulates go; ``weights=0.8``: of the weights.

    Raises:
        DataError: the option has another form.

    """
    from tinyrt.train.pipeline.setting import Pruned, Pruning

    if option is None:
        return None
    what, _, share = option.partition("=")
    try:
        number = float(share)
    except ValueError:
        number = float("nan")
    if what not in set(Pruned) or number != number:
        raise DataError(
            f"--prune {option}",
            expected="channels=SHARE or weights=SHARE, of what goes",
            hint="--prune channels=0.5",
        )
    return Pruning(Pruned(what), number)


def as_data(output: Path, trained: Trained) -> dict[str, Any]:
    """The result as plain data, for ``--json``."""
    outcome = trained.outcome
    return {
        "output": str(output),
        "bytes": trained.bytes,
        "samples": outcome.samples,
        "held_out": outcome.held_out,
        "best_epoch": outcome.best_epoch,
        "outputs": [asdict(figures) for figures in outcome.figures],
        "int4_layers": list(outcome.int4_layers),
        "widths": [asdict(width) for width in outcome.widths],
        "float_macs": outcome.float_macs,
        "macs": outcome.macs,
        "zero_weights": outcome.zero_weights,
        "costs": None if trained.costs is None else asdict(trained.costs),
        "float_history": [asdict(epoch) for epoch in outcome.float_history],
        "width_history": [asdict(epoch) for epoch in outcome.width_history],
        "history": [asdict(epoch) for epoch in outcome.history],
    }


def shown(output: Path, trained: Trained) -> RenderableType:
    """The result as tables: how good each output is, and what it costs."""
    outcome = trained.outcome
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    columns = ("output", "learns from", "figure", "float", "before", "trained", "deployed")
    for column in columns:
        text = column in columns[:3]
        table.add_column(
            column, justify="left" if text else "right", no_wrap=not text, overflow="fold"
        )
    for row in outcome.figures:
        number = tables.number if row.measure == "mse" else tables.percent
        figures = (row.in_float, row.before, row.trained, row.deployed)
        froms = row.learns_from.replace(" and ", ", ")
        table.add_row(tables.layer(row.name), froms, row.measure, *(number(f) for f in figures))
    facts = {
        "output": str(output),
        "bytes": trained.bytes,
        "samples trained on": outcome.samples,
        "samples held out, measured on": outcome.held_out,
        "epochs": len(outcome.history),
        "best epoch": outcome.best_epoch or "none: as before training",
        "MACs in float": outcome.float_macs,
        "MACs": outcome.macs,
        "weights that are 0": tables.percent(outcome.zero_weights),
    }
    if trained.costs is not None:
        costs = {name: n for name, n in asdict(trained.costs).items() if n is not None}
        facts |= {f"on the core: {name}": n for name, n in costs.items()}
    if outcome.width_history:
        facts["epochs of learning widths"] = len(outcome.width_history)
    if outcome.int4_layers:
        facts["layers with int4 weights"] = ", ".join(map(tables.layer, outcome.int4_layers))
    return Group(table, tables.facts(facts))
