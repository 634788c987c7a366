"""The public Python interface: names, parameters in their order, and defaults, as written down.

Public is what a package lists, and what the pages import. Whoever changes one on purpose writes
them anew: ``python -m tests.api.test_signatures``.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGES = (
    *("tinyrt", "tinyrt.api", "tinyrt.dsp", "tinyrt.export", "tinyrt.interpreter"),
    *("tinyrt.quantize", "tinyrt.search", "tinyrt.train"),
)
IMPORT = re.compile(r"^from (tinyrt[.\w]*) import (\w+(?:, \w+)*)$", re.MULTILINE)
WRITTEN = Path(__file__).with_name("signatures.txt")


def public_names() -> list[tuple[str, str]]:
    """Modules and names, sorted."""
    found = {(p, name) for p in PACKAGES for name in importlib.import_module(p).__all__}
    for page in (ROOT / "docs").glob("*.md"):
        for module, names in IMPORT.findall(page.read_text()):
            found.update((module, name) for name in names.split(", "))
    return sorted(found)


def signatures() -> Iterator[str]:
    """A line for each function, class and method; none twice."""
    seen = set()
    for module, name in public_names():
        public = getattr(importlib.import_module(module), name, None)  # None: a module
        if not callable(public) or id(public) in seen:
            continue
        seen.add(id(public))
        yield f"{module}.{name}{parameters(public)}"
        if inspect.isclass(public):
            for method, function in sorted(vars(public).items()):
                if not method.startswith("_") and inspect.isfunction(function):
                    yield f"{module}.{name}.{method}{parameters(function)}"


def parameters(public) -> str:
    """Without types, which mypy holds; nothing where Python knows none."""
    try:
        found = inspect.signature(public).parameters.values()
    except ValueError:
        return ""
    bare = inspect.Signature([p.replace(annotation=p.empty) for p in found])
    return re.sub(" at 0x[0-9a-f]+", "", str(bare))


def test_they_are_as_written_down():
    assert list(signatures()) == WRITTEN.read_text().splitlines()


if __name__ == "__main__":
    WRITTEN.write_text("".join(f"{line}\n" for line in signatures()))
