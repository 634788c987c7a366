"""Arguments that commands share, and how their texts are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tinyrt.amounts import parse_bytes
from tinyrt.errors import DataError, TinyrtError

if TYPE_CHECKING:
    from tinyrt.api import Stream
    from tinyrt.ir import Shape
    from tinyrt.memory import Region
    from tinyrt.quantize.config import Scheme

Model = Annotated[Path, typer.Argument(help="A .tflite or .onnx model.")]
Int8Model = Annotated[Path, typer.Argument(help="A quantised .tflite model.")]
Int8Models = Annotated[
    list[Path], typer.Argument(metavar="MODEL...", help="Quantised .tflite models.")
]
SharedArena = Annotated[
    bool, typer.Option("--shared-arena", help="One arena for all models: they take turns in it.")
]
MaxArena = Annotated[
    str | None,
    typer.Option(
        "--max-arena",
        metavar="BYTES",
        help="Refuse a larger arena, e.g. 32k; ops run row by row where it takes that.",
    ),
]
ByRows = Annotated[
    bool,
    typer.Option(
        "--by-rows",
        help="Run ops row by row where the arena becomes smaller; code for rows is plainer.",
    ),
]
InputRows = Annotated[
    bool,
    typer.Option(
        "--input-rows",
        help="Take the input row by row, as a camera gives it; implies --by-rows.",
    ),
]
Slices = Annotated[
    int | None,
    typer.Option(
        "--slices",
        metavar="INSTRUCTIONS",
        help="Cut inferences into slices of at most so many instructions, e.g. 50000.",
    ),
]
Blob = Annotated[
    bool,
    typer.Option("--blob", help="Keep constants apart from code, as NAME.blob, for field updates."),
]
Layout = Annotated[
    str,
    typer.Option(
        "--layout",
        help="The folder's shape: cmake, arduino, platformio, zephyr, esp-idf, cmsis-pack or mbed.",
    ),
]
Selftest = Annotated[
    int | None,
    typer.Option(
        "--selftest",
        metavar="VECTORS",
        help="Bring so many golden vectors along, and NAME_selftest, which runs them on the board.",
        min=1,
    ),
]
BoardPort = Annotated[
    bool,
    typer.Option("--board", help="Bring protocols for a serial port along, for tinyrt validate."),
]
InputType = Annotated[
    str | None,
    typer.Option(
        "--input-type",
        metavar="TYPE",
        help="Inputs as the program has them: float32, uint8, int16 or int8.",
    ),
]
OutputType = Annotated[
    str | None,
    typer.Option(
        "--output-type",
        metavar="TYPE",
        help="Outputs as the program wants them: float32, uint8, int16 or int8.",
    ),
]
Wide = Annotated[
    bool, typer.Option("--wide", help="Tables as wide as they come, for pagers and files.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
TfliteOut = Annotated[Path, typer.Option("-o", "--output", help="The .tflite file to write.")]
Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="NAME=N,...",
        help="Fix an input's open shape, e.g. x=1,49,10,1. May be repeated.",
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--value",
        metavar="NAME=N,...",
        help="Make an ONNX input a constant, e.g. sr=16000; one number fills it. May be repeated.",
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="List what each pass did and refused, and why.")
]

SequenceLstm = Annotated[
    bool,
    typer.Option(
        "--sequence-lstm",
        help="Keep ONNX LSTMs whole where TFLite's op fits; other interpreters must reset its "
        "state before each run.",
    ),
]
CORES = (
    "m0, m0plus, m3, m4, m7, m23, m33, m55, m85, rv32imc, rv32imcb, rv32imcv; or host, "
    "host-avx2 or host-avx512"
)
"""What ``--core`` takes, for its help."""

Core = Annotated[str, typer.Option("--core", help=f"The processor core: {CORES}.")]
MadeFor = Annotated[
    str,
    typer.Option("--optimize", help="What the code is made for: speed, balanced or size."),
]
Backend = Annotated[
    str,
    typer.Option(
        "--backend", help="What computes on the host: auto, cuda, native, numba or reference."
    ),
]
AllowFallback = Annotated[
    bool,
    typer.Option(
        "--allow-fallback",
        help="Run ops that the GPU has no kernel for on the CPU (--backend cuda).",
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="BYTES",
        help="What the files may cost in this host's memory, e.g. 2G.",
        show_default="640M and 8 times the files' size",
    ),
]


Regions = Annotated[
    list[str] | None,
    typer.Option(
        "--region",
        metavar="NAME=SIZE",
        help="A memory for the arena, e.g. dtcm=64k; repeated, the fastest first. No size: any.",
    ),
]
InputInArena = Annotated[
    bool,
    typer.Option(
        "--input-in-arena/--input-outside", help="Whether the arena has places for inputs."
    ),
]
OutputInArena = Annotated[
    bool,
    typer.Option(
        "--output-in-arena/--output-outside", help="Whether the arena has places for outputs."
    ),
]
WeightsSection = Annotated[
    str | None,
    typer.Option("--weights-section", metavar="NAME", help="The linker section of weights."),
]
NoUnaligned = Annotated[
    bool,
    typer.Option("--no-unaligned", help="Load words at multiples of four only, and slower."),
]
Alignment = Annotated[
    int, typer.Option("--alignment", help="Bytes that tensors' offsets are multiples of.")
]


def require_with(option: str, given: object, other: str, *, there: bool) -> None:
    """Refuse an option that would reach nothing, since it belongs to another that is missing.

    Args:
        option: its name.
        given: its value; None where it was not given.
        other: what it belongs to.
        there: whether that was given.

    Raises:
        DataError: the option was given without the other.

    """
    if given is not None and not there:
        raise DataError(
            f"{option} says nothing without {other}",
            expected=f"{other} beside it",
            hint=f"leave {option} out, or add {other}",
        )


def require_without(option: str, given: object, other: str, *, there: bool) -> None:
    """Refuse an option that would reach nothing, since another one takes its place.

    Args:
        option: its name.
        given: its value; None where it was not given.
        other: what takes its place.
        there: whether that was given.

    Raises:
        DataError: both were given.

    """
    if given is not None and there:
        raise DataError(
            f"{option} says nothing beside {other}",
            expected="one of the two",
            hint=f"leave {option} or {other} out",
        )


def parse_shapes(options: list[str] | None) -> dict[str, Shape]:
    """``["x=1,3,32,32"]`` -> ``{"x": (1, 3, 32, 32)}``.

    Raises:
        TinyrtError: an option is not of that form.

    """
    shapes: dict[str, Shape] = {}
    for option in options or []:
        name, _, sizes = option.rpartition("=")
        try:
            shape = tuple(int(n) for n in sizes.split(","))
        except ValueError:
            shape = ()
        if not name or not shape or min(shape) < 1:
            raise TinyrtError(
                f"--shape {option}: not a shape",
                expected="an input's name and positive sizes",
                hint="--shape x=1,49,10,1",
            )
        shapes[name] = shape
    return shapes


def parse_values(options: list[str] | None) -> dict[str, tuple[float | int, ...]]:
    """``["sr=16000"]`` -> ``{"sr": (16000,)}``; truth values are 0 and 1.

    Raises:
        TinyrtError: an option is not of that form.

    """
    values: dict[str, tuple[float | int, ...]] = {}
    for option in options or []:
        name, _, numbers = option.rpartition("=")
        try:
            value = tuple(_number(n) for n in numbers.split(","))
        except ValueError:
            value = ()
        if not name or not value:
            raise TinyrtError(
                f"--value {option}: not a value",
                expected="an input's name and numbers",
                hint="--value sr=16000",
            )
        values[name] = value
    return values


def _number(text: str) -> float | int:
    """A whole number where the text is one: floats would round large ones."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def parse_stream(option: str, hop: int) -> Stream:
    """``x=1`` or ``1`` -> which input's which axis moves in time.

    Raises:
        TinyrtError: the option is not of that form.

    """
    from tinyrt.api import Stream

    name, _, axis = option.rpartition("=")
    if not axis.removeprefix("-").isdecimal():
        raise TinyrtError(
            f"--stream {option}: not an axis",
            expected="a number, with the input's name before it where there are several",
            hint="--stream 1, or --stream x=1",
        )
    return Stream(int(axis), hop, name or None)


def parse_regions(options: list[str] | None) -> tuple[Region, ...]:
    """``["dtcm=64k", "sram"]`` -> the regions; one arena of any size where there are none.

    Raises:
        TinyrtError: a size is not a number of bytes.

    """
    from tinyrt.memory import Region
    from tinyrt.memory.regions import ARENA

    regions = []
    for option in options or [ARENA]:
        name, _, size = option.partition("=")
        regions.append(Region(name, parse_bytes(size) if size else None))
    return tuple(regions)


def parse_schemes(options: list[str] | None) -> tuple[tuple[str, Scheme], ...]:
    """``["conv*=int16x8"]`` -> ``(("conv*", Scheme.INT16X8),)``.

    Raises:
        TinyrtError: an option has another form, or names no scheme.

    """
    from tinyrt.quantize.config import Scheme

    schemes = []
    for option in options or []:
        pattern, _, name = option.rpartition("=")
        if not pattern or name not in set(Scheme):
            raise TinyrtError(
                f"--scheme-for {option}",
                expected=f"PATTERN=SCHEME, with a scheme of {', '.join(Scheme)}",
                hint="--scheme-for 'conv2d=int16x8'",
            )
        schemes.append((pattern, Scheme(name)))
    return tuple(schemes)


def parse_accuracy(option: str) -> tuple[float | None, float | None]:
    """``91%`` or ``0.91`` -> ``(0.91, None)``; ``35dB`` -> ``(None, 35.0)``.

    Raises:
        TinyrtError: the option is not of these forms.

    """
    text = option.strip().lower()
    unit = next((u for u in ("db", "%") if text.endswith(u)), "")
    try:
        number = float(text.removesuffix(unit))
    except ValueError:
        raise TinyrtError(
            f"--min-accuracy {option}",
            expected="a share that must be right, or a distance from the float model",
            hint="--min-accuracy 91%, --min-accuracy 0.91, or --min-accuracy 35dB",
        ) from None
    if unit == "db":
        return None, number
    return (number / 100 if unit else number), None


def parse_allowed(option: str) -> tuple[Scheme, ...]:
    """``int4,int8`` -> the schemes.

    Raises:
        TinyrtError: a scheme is unknown.

    """
    from tinyrt.quantize.config import Scheme

    names = [name.strip() for name in option.split(",") if name.strip()]
    if unknown := [name for name in names if name not in set(Scheme)]:
        raise TinyrtError(
            f"--allow {option}: {unknown[0]!r} is no scheme",
            expected="int4, int8, int16x8 and float, with commas",
        )
    return tuple(Scheme(name) for name in names)
