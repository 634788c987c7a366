"""What an export is asked for, told by keywords."""

from dataclasses import fields
from typing import Any

from tinyrt.export import ExportOptions

OPTIONS = frozenset(field.name for field in fields(ExportOptions))


def asked(**choices: Any) -> dict[str, Any]:
    """Arguments of a function that exports: options as one value, the others as they are.

    None stands for a default.
    """
    choices = {name: value for name, value in choices.items() if value is not None}
    options = {name: value for name, value in choices.items() if name in OPTIONS}
    others = {name: value for name, value in choices.items() if name not in OPTIONS}
    return {**others, "options": ExportOptions(**options)}
