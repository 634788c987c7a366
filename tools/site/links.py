"""Links between files of the tree, as links between pages of the site."""

from __future__ import annotations

import posixpath
import re

_LINK_OR_CODE = re.compile(
    r"^```.*?^```|`[^`\n]+`(?!\])|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)",
    re.MULTILINE | re.DOTALL,
)


def page_of(path: str) -> str | None:
    """The page of the site that shows a file or folder of the tree; None where none does."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        inside = path.removeprefix("docs/")
        return inside if posixpath.splitext(inside)[1] in (".md", ".svg") else None
    if path.startswith("firmware_examples/"):
        example, _, file = path.removeprefix("firmware_examples/").rstrip("/").partition("/")
        return f"firmware_examples/{example}/index.md" if file in ("", "README.md") else None
    return path if path.endswith(".md") and "/" not in path else None


def as_on_the_site(text: str, source: str) -> str:
    """A page's text with links that hold on the site.

    A link to a file that has no page becomes its text alone.

    Args:
        text: Markdown.
        source: the file of the tree that it stands in, from the root.

    """
    page = page_of(source)
    if page is None:
        raise ValueError(f"{source} is no page of the site")
    folder, home = posixpath.dirname(source), posixpath.dirname(page)

    def target(link: str) -> str | None:
        path, mark, anchor = link.partition("#")
        if not path or ":" in path:
            return link
        found = page_of(posixpath.normpath(posixpath.join(folder, path)))
        return None if found is None else posixpath.relpath(found, home or ".") + mark + anchor

    def changed(match: re.Match[str]) -> str:
        image, words, link = match.groups()
        if link is None:
            return match[0]
        there = target(link)
        return words if there is None else f"{image}[{words}]({there})"

    return _LINK_OR_CODE.sub(changed, text)
