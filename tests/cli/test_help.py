"""What --help says of an option's value: its form, and what is taken where it is left out."""

import re

import pytest
import typer

from tests.cli.calls import call
from tinyrt.cli.app import SECTIONS, app

COMMANDS = typer.main.get_command(app).commands
SHOWN = {
    name: {
        f"{name} {parameter.name}": parameter.get_help_record(typer.Context(command))
        for parameter in command.params
    }
    for name, command in COMMANDS.items()
}
"""Command -> command and parameter -> the two columns of its line."""


@pytest.mark.parametrize("name", [n for commands in SECTIONS.values() for n in commands])
def test_the_list_of_commands_says_what_each_says_of_itself(name):
    (listed,) = [commands[name] for commands in SECTIONS.values() if name in commands]
    assert COMMANDS[name].help.split("\n\n")[0] == listed.help
    assert f"  {name}" in call("--help").stdout
    assert len(listed.help) <= 66


def test_the_story_fits_a_narrow_terminal_and_its_commands_exist():
    lines = call("--help").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    story = [line.split()[1] for line in lines if line.startswith("  tinyrt ")]
    assert len(story) >= 7
    assert set(story) <= set(COMMANDS)


FORMS = {
    "stream": "[INPUT=]AXIS",
    "shape": "NAME=N,...",
    "value": "NAME=N,...",
    "max_memory": "BYTES",
    "max_arena": "BYTES",
    "max_bytes": "BYTES",
    "max_flash": "BYTES",
    "scheme_for": "PATTERN=SCHEME",
    "keep_float": "PATTERN",
    "min_accuracy": "SHARE|dB",
    "allow": "SCHEMES",
    "region": "NAME=SIZE",
    "weights_section": "NAME",
    "prune": "WHAT=SHARE",
    "slices": "INSTRUCTIONS",
    "objective": "COST",
    "search max_instructions": "NUMBER",
    "size": "HxW",
    "value_range": "LOW:HIGH",
    "dataset rate": "HERTZ",
    "columns": "A,B,...",
    "label": "COLUMN",
    "scheduler": "ADDRESS",
    "selftest": "VECTORS",
    "gdb": "PORT",
    "port": "DEV",
    "serve port": "PORT",
    "max_upload": "BYTES",
    "need": "PART",
    "input_type": "TYPE",
    "output_type": "TYPE",
    "search max_cycles": "NUMBER",
    "clock": "FREQUENCY",
    "mj_per_mcycle": "MJ",
    "flash_line": "BYTES",
    "code_cache": "BYTES",
    "data_cache": "BYTES",
}
"""Options of a form of their own; of all others, it is the type."""
TYPES = re.compile(r"<(path|str|int|float|int range|float range|list\[\w+\]|[\w|-]+)>$")

DEFAULTS = {
    "convert hop": "1",
    "quantize preset": "balanced; best for int4, int16x8, budgets",
    "quantize percentile": "99.99",
    "quantize with_tables": "on",
    "quantize allow": "int4,int8,int16x8,float",
    "quantize data": "the calibration file",
    "emulate flash_wait": "0",
    "emulate flash_line": "16",
    "emulate multiplier": "1",
    "qat core": "cortex-m4",
    "qat finetune": "0; as --epochs with --prune",
    "qat width_epochs": "a third of --epochs",
    "dataset value_range": "0:1",
    "dataset rate": "16000",
    "dataset step": "they do not overlap",
    "dataset columns": "all",
    "search objective": "what is limited",
    "search study": "study.log in the folder",
    "search workers": "one for each processor",
    "debug min_accuracy": "within 1 % of float; 40dB without labels",
    "debug allow": "int8,int16x8,float",
} | dict.fromkeys(
    (
        *("quantize calibrator", "quantize per_channel_dense", "quantize equalize"),
        *("quantize smooth", "quantize optimize_rounding", "quantize bias_correction"),
        "quantize tune_ranges",
    ),
    "the preset's",
)
"""What stands for nothing, where that depends on something else."""


@pytest.mark.parametrize("command", SHOWN)
def test_the_form_of_a_value_is_said(command):
    for option, (left, right) in SHOWN[command].items():
        form = FORMS.get(option, FORMS.get(option.split()[1]))
        if form is not None:
            assert left.endswith(f" {form}"), option
        elif " " in left.replace(", ", "").replace(" / ", ""):
            assert TYPES.search(left), option
        assert re.match(r"[A-Z.]", right), option


@pytest.mark.parametrize("command", SHOWN)
def test_what_is_taken_where_nothing_is_said(command):
    for option, (_, right) in SHOWN[command].items():
        default = DEFAULTS.get(option)
        if option.endswith(" max_memory"):
            default = "640M and 8 times the files' size"
        if default is not None:
            assert right.endswith(f"  [default: ({default})]"), option
        else:
            assert "None" not in right, option


LEAST = {
    "emulate --samples": ("1", "0"),
    "emulate --timeout": ("0.1", "0.09"),
    "bench --seconds": ("0", "-0.01"),
    "train --epochs": ("1", "0"),
    "train --samples": ("1", "0"),
    "qat --epochs": ("1", "0"),
    "qat --batch": ("1", "0"),
    "qat --patience": ("1", "0"),
    "qat --seed": ("0", "-1"),
    "qat --max-instructions": ("1", "0"),
    "qat --max-cycles": ("1", "0"),
    "search --trials": ("1", "0"),
    "search --epochs": ("1", "0"),
    "search --seed": ("0", "-1"),
}


@pytest.mark.parametrize(("option", "values"), list(LEAST.items()))
def test_the_least_value_is_said_and_less_is_refused(option, values):
    least, less = values
    command, name = option.split()
    assert f"x>={least}]" in SHOWN[command][option.replace("--", "").replace("-", "_")][1]
    assert f"Invalid value for '{name}'" in call(command, "net", name, less, code=2).stderr
    others = ("-d", "d.npz", "-o", "o.tflite") if command in ("qat", "search") else ()
    call(command, "net", *others, name, least, code=1)


RANGES = {
    "0<=x<=65535": "serve port",
    "1<=x<=65535": "emulate gdb",
    "x>=0": "bench seconds, blob revision, qat seed, search emulate, search seed, search share",
    "x>=0.1": "emulate timeout, serve seconds, validate timeout",
    "x>=1": "debug workers, emulate samples, emulate workers, eval workers, export selftest, "
    "qat batch, qat epochs, qat max_cycles, qat max_instructions, qat patience, quantize workers, "
    "search epochs, search folds, search scouts, search trials, train epochs, train samples, "
    "validate baud, validate samples",
}
"""What numbers may be -> the options that take them."""


def test_numbers_are_taken_within_these_limits():
    found = {}
    for options in SHOWN.values():
        for option, (_, right) in sorted(options.items()):
            if limits := re.search(r"([\d.]+<=)?x[<>]=[\d.]+(?=\]$)", right):
                found.setdefault(limits[0], []).append(option)
    assert {limits: ", ".join(sorted(options)) for limits, options in found.items()} == RANGES


TWO_NAMES = {
    "--output": "-o",
    "--input": "-i",
    "--data": "-d",
    "--calibration": "-c",
}


@pytest.mark.parametrize("command", SHOWN)
def test_files_have_a_short_name(command):
    for option, (left, _) in SHOWN[command].items():
        names = left.replace(",", "").split()
        for long, short in TWO_NAMES.items():
            if long in names:
                assert names[0] == short, option


@pytest.mark.parametrize("command", SHOWN)
def test_what_it_is_for_is_said(command):
    for option, (_, right) in SHOWN[command].items():
        text = right.partition("[")[0].strip()
        assert re.fullmatch(r".{8,}[.;)]", text, re.DOTALL), f"{option}: {text}"
