"""Random command lines: the options of every command that neither trains nor emulates.

A case is a JSON object: the arguments, and what the model's file is called. Files that arguments
may name lie in a folder of the case's own; what is written goes there, too.
"""

from __future__ import annotations

import json
import shutil
import typing
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import typer
from typer.testing import CliRunner

from tests.fuzz.checks import MAX_LINES, RAN, REFUSED, BrokenPromiseError
from tests.fuzz.seeds import networks
from tests.fuzz.values import NAMES, Rng, number, pick, real
from tinyrt.cli.app import SECTIONS, app
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import REPORT

COMMANDS = ("convert", "debug", "eval", "export", "inspect", "ops", "quantize", "run")
OUTPUTS = (
    "out",
    "out.tflite",
    "out.npz",
    "",
    ".",
    "a/b/c",
    "used",
    "/proc/x",
    "o\x1b[1m",
    "é" * 300,
)
FILES = ("net.tflite", "int8.tflite", "data.npz", "labels.npz", "absent.npz", "used", "", "empty")
TEXTS = (
    *("32k", "1e9", "-1", "0", "0x10", "nan", "10**9", "1,2,3", "x=1,8,8,3", "x=", "=", "a=b=c"),
    *("ram=64k", "int=1k", "RAM", "ram", "int8", "int16x8", "int4", "auto", "native", "cuda"),
    *("reference", "m4", "host", "cortex-m55", "speed", "size", "tflm", "fold_constants", "*"),
)
HOSTILE_NAMES = (
    "a\nb",
    "[b]",
    "\x1b[31m",
    "*\\ x",
    "é",
    "-o",
    "a b",
    "NULL",
    "int",
    "stdio",
    "x" * 200,
)


@cache
def _options() -> dict[str, list[Any]]:
    group = typer.main.get_command(app)
    return {name: list(group.commands[name].params) for name in COMMANDS}


@cache
def _hints() -> dict[str, Any]:
    """The type of each option, of all commands, without ``| None``."""
    found: dict[str, Any] = {}
    for listed in chain.from_iterable(section.values() for section in SECTIONS.values()):
        function = getattr(import_module(f"tinyrt.cli.{listed.module}"), listed.function)
        for name, hint in typing.get_type_hints(function).items():
            kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
            found[name] = kinds[0] if len(kinds) == 1 and not isinstance(hint, type) else hint
    return found


def mutate(data: bytes, rng: Rng) -> bytes:
    """A command line; the seed says which command."""
    command = json.loads(data)["command"]
    words = [command]
    for option in _options()[command]:
        is_argument = option.param_type_name == "argument"
        if is_argument or (option.required and rng.random() < 0.97) or rng.random() < 0.12:
            words += _spelled(option, rng)
    if rng.random() < 0.05:
        words.append(pick(rng, ("--nothing", "--", "-", "--json=1", "extra", "-h", "--version")))
    if rng.random() < 0.05:
        del words[int(rng.integers(len(words)))]
    name = pick(rng, HOSTILE_NAMES) if rng.random() < 0.3 else "model"
    return json.dumps({"args": words, "name": name}).encode()


def _spelled(option: Any, rng: Rng) -> list[str]:
    """The option with a value."""
    names = [*option.opts, *option.secondary_opts]
    if option.param_type_name == "argument":
        return [pick(rng, ("MODEL", "MODEL", "MODEL", *FILES))]
    if getattr(option, "is_flag", False):
        return [pick(rng, names)]
    return [pick(rng, names), _value(option, rng)]


def _value(option: Any, rng: Rng) -> str:
    if option.name in ("output", "html"):
        return pick(rng, OUTPUTS[:3]) if rng.random() < 0.7 else pick(rng, OUTPUTS)
    kind = _hints()[option.name]
    if isinstance(kind, type) and issubclass(kind, Enum) and rng.random() < 0.8:
        return str(pick(rng, list(kind)).value)
    if kind is Path:
        return pick(rng, FILES[:4]) if rng.random() < 0.7 else pick(rng, FILES)
    if kind is int:
        return str(number(rng, 4))
    if kind is float:
        return str(real(rng, 1.0))
    return pick(rng, TEXTS) if rng.random() < 0.7 else pick(rng, NAMES)


def seeds() -> list[bytes]:
    """One for each command."""
    return [json.dumps({"command": name}).encode() for name in COMMANDS]


@cache
def _files() -> dict[str, bytes]:
    plain, quantized = networks()[:2]
    return {"net.tflite": bytes(write_tflite(plain)), "int8.tflite": bytes(write_tflite(quantized))}


def check(path: Path, rng: Rng) -> str:
    """Exit code 0, 1 or 2; where it is 1, a short message, and none of a defect."""
    del rng
    case, folder = json.loads(path.read_bytes()), path.parent / "case"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "used").mkdir(parents=True)
    for name, content in _files().items():
        (folder / name).write_bytes(content)
    model = folder / f"{case['name']}.tflite"
    model.write_bytes(_files()["int8.tflite"])
    (folder / "empty").write_bytes(b"")
    x = np.random.default_rng(0).normal(size=(6, 8, 8, 3)).astype(np.float32)
    np.savez(folder / "data.npz", x=x)
    np.savez(folder / "labels.npz", x=x, y=np.arange(6) % 5)
    args = [_placed(word, folder, model) for word in case["args"]]
    result = CliRunner().invoke(app, args)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    said = result.output
    if result.exit_code not in (0, 1, 2):
        raise BrokenPromiseError(f"exit code {result.exit_code}")
    if REPORT in said or "Traceback" in said:
        raise BrokenPromiseError(f"a defect: {said[-600:]}")
    lines = result.stderr.strip().count("\n") + 1
    if result.exit_code == 1 and lines > MAX_LINES:
        raise BrokenPromiseError(f"{lines} lines on standard error")
    return RAN if result.exit_code == 0 else REFUSED


def _placed(word: str, folder: Path, model: Path) -> str:
    """Names of the case's files and outputs as paths in its folder."""
    if word == "MODEL":
        return str(model)
    if word in FILES or (word in OUTPUTS and not word.startswith("/")):
        return str(folder / word)
    return word
