"""Commands called in this process."""

import json
from unittest.mock import patch

from typer.testing import CliRunner

from tests.cli.schema import faults, schema_of
from tinyrt.cli.app import app
from tinyrt.errors import DataError


def call(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def handed_on(function, arguments, *which):
    """What a command gives to a function, by places or by names; the function refuses it."""
    with patch(function, side_effect=DataError("nothing is made")) as called:
        assert "nothing is made" in call(*arguments, code=1).stderr
    ((places, names),) = called.call_args_list
    return [places[each] if isinstance(each, int) else names[each] for each in which]


def call_json(*arguments, code=0):
    """The one object on stdout: anything else there would not parse; its schema takes it."""
    found = json.loads(call(*arguments, "--json", code=code).stdout)
    name = "error" if set(found) == {"error"} else str(arguments[0])
    wrong = faults(schema_of(name), found)
    assert wrong == [], wrong
    return found
