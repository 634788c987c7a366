"""The JSON Schemas: one for each command, closed, described; every object in these tests fits."""

from pathlib import Path

import pytest

from tests.cli.calls import call_json
from tests.cli.schema import WORDS, every, faults, schema_of
from tinyrt import cli
from tinyrt.cli.app import SECTIONS
from tinyrt.report.schema import schema as report_schema

FOLDER = Path(cli.__file__).parent / "schemas"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def test_every_command_has_a_schema():
    commands = {name for commands in SECTIONS.values() for name in commands}
    assert set(NAMES) == commands - {"serve"} | {"error"}
    page = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text()
    assert "tinyrt/cli/schemas" in page


@pytest.mark.parametrize("name", NAMES)
def test_fields_are_described_and_no_others_are_there(name):
    schema = schema_of(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert name in schema["title"].lower().replace("refused", "error")
    for where, part in every(schema):
        assert set(part) <= WORDS, where
        if part.get("type") == "object":
            assert "additionalProperties" in part, where
            assert part["additionalProperties"] is not True, where
            assert set(part.get("required", ())) <= set(part.get("properties", ())), where
        for field, inner in part.get("properties", {}).items():
            assert inner["description"].endswith("."), f"{where}.{field}"


@pytest.mark.parametrize("field", ["front_end", "vision"])
def test_what_a_model_carries_is_described_alike_everywhere(field):
    """Each file is whole by itself, for whoever reads it without tinyrt: so it says this again."""
    parts = [part for name in NAMES for _, part in every(schema_of(name))]
    carried = [part["properties"].get(field, {}) for part in parts if "properties" in part]
    said = [one["properties"] for one in carried if "properties" in one]
    assert len(said) == 4
    assert all(one == said[0] for one in said)


CASES = {
    "less": ({"a": 1}, ["$: no 'b'"]),
    "more": ({"a": 1, "b": [], "c": 0}, ["$: 'c' is not known"]),
    "kind": ({"a": 1.5, "b": []}, ["$.a: 1.5 is none of ['integer']"]),
    "truth": ({"a": True, "b": []}, ["$.a: True is none of ['integer']"]),
    "element": ({"a": 1, "b": ["x", 2]}, ["$.b[1]: 2 is none of ['string', 'null']"]),
    "map": ({"a": 1, "b": [], "m": {"x": "y"}}, ["$.m.x: 'y' is none of ['number']"]),
    "good": ({"a": 1, "b": ["x", None], "m": {"x": 2, "y": 0.5}}, []),
}
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "array", "items": {"type": ["string", "null"]}},
        "m": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("case", CASES)
def test_the_checker_finds_what_does_not_fit(case):
    value, found = CASES[case]
    assert faults(SCHEMA, value) == found
    either = {"anyOf": [SCHEMA, {"type": "null"}]}
    assert (faults(either, value) == []) == (found == [])
    assert faults(either, None) == []


def test_the_checker_refuses_words_that_it_does_not_know():
    with pytest.raises(AssertionError, match="minimum"):
        faults({"minimum": 3}, 1)


def without_descriptions(part, are_names=False):
    """The same, as ``tinyrt.report.schema`` has it; fields may be called ``description``."""
    if isinstance(part, list):
        return [without_descriptions(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {
        word: without_descriptions(one, word == "properties" and not are_names)
        for word, one in part.items()
        if are_names or word != "description"
    }


def in_place(part, definitions):
    """A schema with definitions in place of what refers to them."""
    if isinstance(part, list):
        return [in_place(one, definitions) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return in_place(definitions[part["$ref"].rpartition("/")[2]], definitions)
    return {word: in_place(one, definitions) for word, one in part.items()}


def test_the_report_is_described_as_its_own_schema_describes_it():
    own = report_schema()
    whole = in_place({"$ref": own["$ref"]}, own["definitions"])
    described = schema_of("report")["properties"]["report"]
    assert without_descriptions(described) == without_descriptions(whole)


MORE = {
    "several models": lambda made, to: (
        *("export", made.int8, made.tall, "-o", to / "c", "--core", "host"),
        *("--slices", "5000000", "--selftest", "1"),
    ),
    "memories": lambda made, to: (
        *("export", made.int8, "-o", to / "c", "--region", "a=1k", "--region", "b", "--blob"),
        *("--slices", "50000"),
    ),
    "no file": lambda made, to: ("run", made.int8, "-i", made.test, "--profile"),
    "reasons": lambda made, to: ("convert", made.net, "-o", to / "o.tflite", "--explain"),
    "a board": lambda made, to: ("export", made.int8, "-o", to / "c", "--board"),
    "two boards": lambda made, to: (
        *("export", made.int8, made.tall, "-o", to / "c", "--core", "host", "--board"),
    ),
    "emulated": lambda made, to: ("emulate", made.int8, made.net, "--core", "host"),
    "rows": lambda made, to: ("inspect", made.tall, "--by-rows", "--backend", "cuda"),
}


@pytest.mark.parametrize("case", MORE)
def test_other_forms_of_the_objects_fit_too(case, made, tmp_path):
    assert call_json(*MORE[case](made, tmp_path))


def test_a_refusal_fits(tmp_path):
    assert "problem" in call_json("inspect", tmp_path / "none.tflite", code=1)["error"]
