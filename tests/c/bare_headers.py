"""Headers of programs with hundreds of inputs, without the functions that convert values of each.

What is compiled of such a program would be mostly these, and none of it calls them;
``tests/export/test_conversions.py`` has them run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

from tinyrt.export import Port, bundle
from tinyrt.export.model import model_files
from tinyrt.export.rendering import CFile

MANY = 64
"""Most inputs or outputs that have the functions here: models have few, programs of cases many."""


class BarePort(Port):
    """An input or output for which there are none."""

    limits = None


def bare_model_files(prefix: str, context: Mapping[str, Any]) -> dict[str, CFile]:
    """The model's own files."""
    bare = {
        kind: [BarePort(*(getattr(port, f.name) for f in fields(Port))) for port in context[kind]]
        for kind in ("inputs", "outputs")
        if len(context[kind]) > MANY
    }
    return model_files(prefix, {**context, **bare})


@pytest.fixture(scope="module", autouse=True)
def bare_headers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "model_files", bare_model_files)
        yield
