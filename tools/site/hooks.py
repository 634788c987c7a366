"""What MkDocs calls while it builds the site (``mkdocs.yml``).

The site shows the Markdown files of the tree where they are; pages of commands, of the Python names
and of the C headers are generated from the code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.site.links import as_on_the_site, page_of
from tools.site.pages import c_page, commands_page, python_page

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages of the site that lie beside the folder docs."""
GENERATED = {"commands.md": commands_page, "python.md": python_page, "c.md": c_page}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the example firmwares below the page about them."""
    ship = next(section["Ship it"] for section in config.nav if "Ship it" in section)
    ship.insert(ship.index("firmware.md") + 1, {"Examples": [page_of(path) for path in examples()]})
    return config


def examples() -> list[str]:
    """The pages of the example firmwares, from the root of the tree."""
    return sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("firmware_examples/*/README.md"))


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that do not lie in the folder docs."""
    for source in (*OUTSIDE, *examples()):
        text = (ROOT / source).read_text(encoding="utf-8")
        page = page_of(source)
        files.append(File.generated(config, page, content=as_on_the_site(text, source)))
    for name, written in GENERATED.items():
        files.append(File.generated(config, name, content=written()))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Links of the pages in the folder docs, as they hold on the site."""
    if page.file.generated_by is not None:
        return markdown
    return as_on_the_site(markdown, f"docs/{page.file.src_uri}")
