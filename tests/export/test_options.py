"""Options of an export: one value, whoever takes it."""

from dataclasses import fields, replace
from inspect import signature

import numpy as np
import pytest

from tests.emulate.test_refusals import refused
from tests.export.models import dense
from tests.listening import PIPELINE
from tinyrt import ExportOptions
from tinyrt.cli.deploy import export
from tinyrt.emulate import run_emulated, run_emulated_several
from tinyrt.emulate.audio import Expected, emulate_samples
from tinyrt.errors import UnsupportedError
from tinyrt.export import Memories, export_c, export_graph

OTHERWISE = {
    **{"max_arena": 4096, "by_rows": True, "input_rows": True, "slices": 5_000, "blob": True},
    **{"memories": Memories(outputs_in_arena=False), "name": "mo", "prefix": "acme_"},
    **{"info": True, "unaligned": False, "layout": "arduino", "selftest": 2, "board": True},
    **{"input_type": "uint8", "output_type": "float32"},
}
"""Each option, and something else than its default."""

MEMORY = {"region", "input_in_arena", "output_in_arena", "alignment", "weights_section"}
"""Options of the command that are parts of ``memories``."""


def test_the_command_has_each_option():
    names = {field.name for field in fields(ExportOptions)}
    assert set(OTHERWISE) == names
    rest = {"models", "output", "core", "optimize", "shared_arena", "max_memory", "json"}
    renamed = names - {"memories", "unaligned"} | MEMORY | {"no_unaligned"}
    assert set(signature(export).parameters) == renamed | rest


NOTHING = np.zeros(2000, np.int16)
EXPECTED = Expected({}, np.zeros(0, np.int64), None)
TAKEN = {
    "one": {"max_arena", "by_rows", "input_rows", "memories", "slices", "blob"},
    "several": {"max_arena", "by_rows", "input_rows", "memories", "slices", "blob"},
    "audio": {"max_arena", "by_rows", "memories"},
}
"""Who emulates, and the options that say something there."""


def emulate(who, folder, options):
    to = {"build_dir": folder, "options": options, "core": "no core"}
    if who == "one":
        run_emulated(folder / "m.tflite", inputs={}, **to)
    elif who == "several":
        run_emulated_several([folder / "m.tflite"], inputs=[], **to)
    else:
        emulate_samples(folder / "m.tflite", NOTHING, PIPELINE, EXPECTED, **to)


@pytest.mark.parametrize("who", TAKEN)
@pytest.mark.parametrize("option", OTHERWISE)
def test_an_emulation_takes_no_option_that_says_nothing_there(who, option, tmp_path):
    """The others get as far as the core, which there is not."""
    options = ExportOptions(**{option: OTHERWISE[option]})
    text = refused(lambda: emulate(who, tmp_path, options), UnsupportedError)
    if option in TAKEN[who]:
        assert "there is no core 'no core'" in text
        return
    assert f"an emulation{' on a recording' * (who == 'audio')} takes no option '{option}'" in text
    assert all(name in text for name in TAKEN[who])
    assert f"leave {option} out; export_c takes all options" in text


@pytest.mark.parametrize(
    ("option", "wrong", "expected"),
    [("memories", None, "Memories"), ("max_arena", "16k", "int | None"), ("info", "yes", "bool")],
)
def test_a_value_is_of_its_option_s_kind(option, wrong, expected):
    text = refused(lambda: ExportOptions(**{option: wrong}), UnsupportedError)
    assert f"the option '{option}' cannot be {wrong!r}" in text
    assert f"expected: {expected}\n" in text
    assert f"leave {option} out for what it is by default" in text


def test_options_are_checked_where_they_are_made():
    for wrong in ({"slices": 10}, {"name": "1"}, {"prefix": "_"}, {"input_type": "int4"}):
        with pytest.raises(UnsupportedError):
            ExportOptions(**wrong)
        with pytest.raises(UnsupportedError):
            replace(ExportOptions(), **wrong)


def test_information_is_written_where_it_is_asked_for_or_labels_are_there(tmp_path):
    asked = ExportOptions(info=True)
    ways = ({}, {"options": asked}, {"labels": [["a"]]}, {"labels": [], "options": asked})
    for number, given in enumerate(ways):
        project = export_graph(dense(), tmp_path / str(number), **given)
        assert (f"{project.name}_info.h" in project.files) == bool(given)


def test_an_argument_that_there_is_not_is_a_type_error_and_no_defect():
    with pytest.raises(TypeError, match="unexpected keyword argument 'slices'"):
        export_c("net.tflite", "out", slices=5_000)
