"""Commands called in this process."""

import json

from typer.testing import CliRunner

from tinyrt.cli.app import app


def call(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def call_json(*arguments, code=0):
    """The one object on stdout: anything else there would not parse."""
    return json.loads(call(*arguments, "--json", code=code).stdout)
