"""Names of a model are data: whatever they say, the files that are written say the same."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.c.host import host_compiler
from tests.export.models import dense, echo, views
from tests.memory.nets import random_net
from tests.sampling import sampled
from tinyrt.backends.cuda.layout import LATENCY, Shape
from tinyrt.backends.cuda.program import generate
from tinyrt.emulate.blocks import harness_context, script_context
from tinyrt.emulate.boards import BOARDS
from tinyrt.emulate.image import FIRMWARE
from tinyrt.export.bundle import render_project
from tinyrt.export.memories import Memories
from tinyrt.export.names import MAX_IDENTIFIER, identifier
from tinyrt.export.options import ExportOptions
from tinyrt.export.rendering import render
from tinyrt.export.request import Request
from tinyrt.ir import Graph
from tinyrt.memory import Region
from tinyrt.memory.regions import ARENA
from tinyrt.ops import verify
from tinyrt.text import MAX_NAME, clean, printable

HARMLESS = re.compile(r"[A-Za-z0-9 _\-./:;,+=()\[\]]*")

ATTACKS = (
    r'*\ puts("owned"); /\*',
    "*/ int owned; /*",
    "*\\\n/ int owned;",
    "??/\n int owned;",
    "a\n#include </etc/passwd>\n",
    "a\r\n#error",
    "// \\",
    "$(shell touch owned)",
    "`touch owned`",
    "${owned} @owned@ %d%n",
    "</script><script>owned()</script>",
    "--><img src=x onerror=owned()>",
    '"; owned(); "',
    "' onload='owned()",
    "[/b][bold]",
    "\x1b]0;owned\x07\x1b[2J",
    "\x9b2J",
    "\u202egnp.exe",
    "\ud800\udfff",
    "\x00",
    "",
    " ",
    "first",
    "rows",
    "some_n0_params NO_SCRATCH (node) arena + 4",
    "TINYRT_PROFILE_BEGIN(7)",
    "}} {{ 7 * 7 }} {% raw %}",
    "*/" * 600,
)
LONG = ("x" * 100_000, "*/" * 50_000, "\x1b" * 100_000)

OWN_BUFFERS = ("scratch#0", "state", "scratch#1", "sums#4", "rows0#scratch#0")

NAMES = st.one_of(
    st.sampled_from(ATTACKS),
    st.text(st.characters(exclude_categories=())),
    st.binary().map(lambda raw: raw.decode("latin-1")),
    st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.text(list("*/\\?\n\r$`\"'<>&#%{}[]()-\x1b a")),
)


def renamed(graph: Graph, names: list[str]) -> Graph:
    """The graph with all its tensors and ops called as given, told apart where they must be."""
    new = {"": ""}
    for i, name in enumerate(graph.values):
        wish = names[i % len(names)]
        new[name] = wish if wish and wish not in new.values() else f"{wish}~{i}"

    def of(group):
        return tuple(new[name] for name in group)

    values = {new[v.name]: replace(v, name=new[v.name]) for v in graph.values.values()}
    nodes = tuple(
        replace(n, name=names[-1 - i % len(names)], inputs=of(n.inputs), outputs=of(n.outputs))
        for i, n in enumerate(graph.nodes)
    )
    states = tuple(map(of, graph.states))
    return verify(Graph(graph.name, of(graph.inputs), of(graph.outputs), values, nodes, states))


def project(graph: Graph, **options):
    request = Request.of("cortex-m4", "balanced", ExportOptions(**options))
    return render_project(graph, Path("folder"), request)


def written(graph: Graph, **options) -> dict[str, str]:
    """Every file with something of the model in it."""
    made, files = project(graph, **options)
    board = next(iter(BOARDS.values()))
    files = {
        name: text.replace(made.identity, "identity")  # which holds comments, too
        for name, text in files.items()
        if not name.startswith("tinyrt/")
    }
    files["harness_model.h"] = render(FIRMWARE, "harness_model.h.j2", harness_context(made))
    files["image.ld"] = render(
        FIRMWARE, "image.ld.j2", script_context([made.name], made.weights_section, board)
    )
    return files


COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)


def code_and_comments(text: str) -> tuple[str, list[str]]:
    """A file without its comments, which build files have none with names of, and those."""
    return " ".join(COMMENT.sub(" ", text).split()), COMMENT.findall(text)


def assert_same_but_for_comments(found: dict[str, str], wanted: dict[str, str]) -> None:
    assert list(found) == list(wanted)
    for file, text in found.items():
        code, comments = code_and_comments(text)
        expected, plain = code_and_comments(wanted[file])
        assert code == expected
        assert len(comments) == len(plain)
        for comment in (re.sub(r"\n *\*| \* |'| ->", " ", c).strip("* \n") for c in comments):
            assert HARMLESS.fullmatch(comment) or comment in text_of(plain), comment
            assert len(comment) < 2 * MAX_NAME + 200


def text_of(comments: list[str]) -> str:
    return " ".join(re.sub(r"\n *\*| \* |'| ->", " ", c) for c in comments)


LAYOUTS = {
    "plain": (dense, {}),
    "views": (views, {}),
    "states": (echo, {}),
    "regions": (
        views,
        {"memories": Memories((Region("fast", 16), Region("slow")), weights_section=".w")},
    ),
    "rows": (
        lambda: random_net(45),
        {"by_rows": True, "memories": Memories((Region(ARENA, 500),))},
    ),
    "single rows": (
        lambda: random_net(20),
        {"by_rows": True, "memories": Memories((Region(ARENA, 250),))},
    ),
    "pushed": (lambda: random_net(28), {"input_rows": True}),
}


@cache
def benign(layout: str) -> dict[str, str]:
    graph, options = LAYOUTS[layout]
    return written(graph(), **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_attacks_change_nothing_but_comments(layout):
    graph, options = LAYOUTS[layout]
    found = written(renamed(graph(), [*ATTACKS, *LONG]), **options)
    assert_same_but_for_comments(found, benign(layout))


@pytest.mark.parametrize("layout", ["rows", "single rows", "pushed"])
def test_names_that_look_like_the_codes_own_variables_declare_none(layout):
    graph, options = LAYOUTS[layout]
    assert "rows0_steps" in "".join(benign(layout).values())
    found = written(renamed(graph(), ["first rows arena + 4 NO_SCRATCH"]), **options)
    assert_same_but_for_comments(found, benign(layout))


@pytest.mark.parametrize("layout", ["plain", "single rows", "pushed"])
def test_tensors_may_be_called_as_the_planner_calls_its_own_buffers(layout):
    graph, options = LAYOUTS[layout]
    for first in range(len(OWN_BUFFERS)):
        names = [*OWN_BUFFERS[first:], *OWN_BUFFERS[:first]]
        assert_same_but_for_comments(written(renamed(graph(), names), **options), benign(layout))


@settings(max_examples=sampled(15, 40))
@given(st.lists(NAMES, min_size=1, max_size=6))
def test_no_name_changes_anything_but_comments(names):
    found = written(renamed(views(), names))
    assert_same_but_for_comments(found, benign("views"))


@pytest.mark.slow
@settings(max_examples=sampled(15, 40))
@given(NAMES)
@example(LONG[0])
def test_a_models_name_becomes_an_identifier(name):
    """The same text as of the model that is called as the identifier, but for the title."""
    own = identifier(name)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", own)
    assert len(own) <= MAX_IDENTIFIER + len("model_")
    found = written(replace(dense(), name=name))
    assert_same_but_for_comments(found, written(replace(dense(), name=own)))


def test_long_names_that_differ_anywhere_have_identifiers_of_their_own():
    names = ["a" * 150, "a" * 149 + "b", "a" * 99 + "b" + "a" * 50, "a" * 101, "a" * 100, "a" * 99]
    assert len({identifier(name) for name in names}) == len(names)


def test_device_code_holds_no_names():
    graph = dense()
    found = renamed(graph, list(ATTACKS))
    for shape in (LATENCY, Shape(fused=False)):
        assert generate(found, shape).source == generate(graph, shape).source


@settings(max_examples=sampled(150, 500))
@given(NAMES)
@example(LONG[1])
def test_clean_text_is_one_short_line_of_harmless_characters(name):
    assert HARMLESS.fullmatch(clean(name))
    assert len(clean(name)) <= MAX_NAME
    assert printable(name).replace("\n", " ").isprintable()


def test_hostile_names_compile_to_the_same_object(tmp_path):
    """What a compiler makes of it, without and with trigraphs, is what benign names give."""
    objects = []
    options = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-trigraphs", "-O0", "-Itinyrt")
    for names in (["a", "b", "c"], list(ATTACKS)):
        folder = tmp_path / str(len(objects))
        made, files = project(renamed(views(), names))
        for name, text in files.items():
            text = text.replace(made.identity, "identity")
            text = text.replace("0xidentity", "0")
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        subprocess.run(
            [host_compiler(), *options, "-c", f"{made.name}.c", "-o", "model.o"],
            cwd=folder,
            check=True,
        )
        objects.append((folder / "model.o").read_bytes())
    assert objects[0] == objects[1]
