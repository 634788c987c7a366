"""Raise statements whose message no test has to read, each with the reason."""

REASONS_BY_NAME = {
    "": "raises again what was raised elsewhere",
    "_CannotSwapError": "tells callers in the same module to take another way",
    "NotImplementedError": "a method that subclasses define",
    "_RefusedError": "ends a trial of a search, whose record says why; tests/search reads it",
    "SystemExit": "an exit status, not a message",
    "typer.Exit": "an exit status, not a message",
}
"""By the exception's name; the empty name is a bare ``raise``."""

REASONS_BY_PLACE = {
    "__init__.py": {
        "raise ImportError": "tests/test_imports.py reads it, in a process of its own",
    },
    "cli/deploy.py": {
        "raise typer.BadParameter": "tests/cli/options/test_deploy.py reads what is shown",
    },
    "export/blob/writer.py": {
        "raise AssertionError": "there are more names than data: no model gets there",
    },
    "convert/onnx/weights.py": {
        "raise FileNotFoundError": "has no text: the handler behind it says what is missing",
    },
}
"""By file within the package, then by how the statement's text begins."""
