"""Commands called in this process."""

import json

from typer.testing import CliRunner

from tests.cli.schema import faults, schema_of
from tinyrt.cli.app import app


def call(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def call_json(*arguments, code=0):
    """The one object on stdout: anything else there would not parse; its schema takes it."""
    found = json.loads(call(*arguments, "--json", code=code).stdout)
    name = "error" if set(found) == {"error"} else str(arguments[0])
    wrong = faults(schema_of(name), found)
    assert wrong == [], wrong
    return found
