"""What a layout's files say follows the rules that its ecosystem publishes.

``python -m tests.ecosystems`` asks the ecosystems' own tools as well.
"""

import configparser
import json
import re
from xml.etree import ElementTree

import pytest

from tests.export.layouts.test_builds import SHAPES, core_of
from tests.export.models import dense, echo
from tests.export.test_licence import HEAD
from tinyrt import __version__
from tinyrt.errors import UnsupportedError
from tinyrt.export import CORES, ExportOptions, bundle, export_graph
from tinyrt.export.layouts import LAYOUTS, find_layout
from tinyrt.export.layouts.arrange import semantic
from tinyrt.export.layouts.example import Run, run_of

SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
"""Of semver.org: a release, what is before it, and what it was built from."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Layout -> the project of a model in it."""
    folder = tmp_path_factory.mktemp("layouts")
    return {
        layout: export_graph(
            dense(),
            folder / layout,
            core=core_of(layout).name,
            options=ExportOptions(layout=layout),
        )
        for layout in SHAPES
    }


def properties(text):
    return dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))


def test_versions_are_the_projects_with_the_exports_identity(exported):
    for layout, file, pattern in (
        ("arduino", "library.properties", r"^version=(.*)$"),
        ("platformio", "library.json", r'"version": "(.*)"'),
        ("esp-idf", "idf_component.yml", r'^version: "(.*)"$'),
        ("cmsis-pack", "tinyrt.net.pdsc", r'<release version="(.*?)"'),
    ):
        project = exported[layout]
        (version,) = re.findall(pattern, (project.directory / file).read_text(), re.MULTILINE)
        assert version == f"{semantic(__version__)}+{project.identity}"
        assert SEMVER.fullmatch(version)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("0.1.0", "0.1.0"),
        ("1.2", "1.2.0"),
        ("01.2.3.4", "1.2.3"),
        ("1.2rc1", "1.2.0-rc1"),
        ("0.2.0.dev3", "0.2.0-dev3"),
        ("1.0a1.post2+local.7", "1.0.0-a1.post2"),
    ],
)
def test_versions_of_python_as_others_write_them(ours, theirs):
    assert semantic(ours) == theirs
    assert SEMVER.fullmatch(theirs)


def test_an_arduino_library_says_what_the_specification_asks_for(exported):
    folder = exported["arduino"].directory
    said = properties((folder / "library.properties").read_text())
    assert said.keys() == {
        *("name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url"),
        *("architectures", "includes"),
    }
    assert all(said.values())
    assert (said["name"], said["includes"], said["architectures"]) == ("net", "net.h", "*")
    assert said["category"] == "Data Processing"
    assert said["url"].startswith("https://")
    lines = (folder / "keywords.txt").read_text().splitlines()
    words = dict(line.split("\t") for line in lines if not line.startswith("#"))
    assert words["net_invoke"] == "KEYWORD2"
    assert words["net_io_t"] == "KEYWORD1"
    assert set(words.values()) == {"KEYWORD1", "KEYWORD2", "LITERAL1"}
    header = (folder / "src" / "net.h").read_text()
    assert all(word in header for word in words)


def test_keywords_of_a_model_with_a_state_slices_and_a_self_test(tmp_path):
    folder = tmp_path / "out"
    export_graph(echo(), folder, options=ExportOptions(layout="arduino", slices=1000, selftest=1))
    headers = ("echo.h", "echo_selftest.h")
    header = "".join((folder / "src" / name).read_text() for name in headers)
    lines = (folder / "keywords.txt").read_text().splitlines()
    words = {line.split("\t")[0] for line in lines if not line.startswith("#")}
    functions = {f"echo_{n}" for n in ("reset", "invoke", "begin", "step", "cancel", "selftest")}
    assert words == {*functions, "echo_io_t", "echo_slices_t"} | {
        f"ECHO_ARENA_{n}" for n in ("BYTES", "ALIGNMENT")
    }
    assert all(word in header for word in words)


@pytest.mark.parametrize(
    ("shared", "arrays"), [(None, ["arena_of_echo", "state_of_echo"]), ("all", ["state_of_echo"])]
)
def test_a_model_in_an_arena_for_all_has_memory_of_its_own_for_its_state(shared, arrays, tmp_path):
    run = run_of(export_graph(echo(), tmp_path), shared)
    assert [memory.name for memory in run.memories] == arrays
    assert (run.state, run.regions) == ("state_of_echo", (f"arena_of_{shared or 'echo'}",))


def test_a_platformio_library_and_its_example(exported):
    folder = exported["platformio"].directory
    said = json.loads((folder / "library.json").read_text())
    assert (said["name"], said["headers"], said["license"]) == ("net", ["net.h"], "Apache-2.0")
    assert exported["platformio"].identity in said["description"]
    (example,) = said["examples"]
    ini = configparser.ConfigParser()
    for file in example["files"]:
        assert (folder / example["base"] / file).is_file()
    ini.read(folder / example["base"] / "platformio.ini")
    assert ini["env"]["lib_deps"] == "symlink://../.."
    assert ini["env:native"]["platform"] == "native"


def test_vector_code_has_no_environment_for_this_machine(tmp_path):
    export_graph(
        dense(), tmp_path / "out", core="cortex-m55", options=ExportOptions(layout="platformio")
    )
    text = (tmp_path / "out/examples/net/platformio.ini").read_text()
    assert "[env:native]" not in text


def test_a_pack_lists_files_that_are_there_for_cores_that_run_them(exported, tmp_path):
    project = exported["cmsis-pack"]
    pack = ElementTree.parse(project.directory / "tinyrt.net.pdsc").getroot()
    assert [pack.find(tag).text for tag in ("vendor", "name", "license")] == [
        *("tinyrt", "net", "LICENSE")
    ]
    files = [file.get("name") for file in pack.iter("file")]
    assert all((project.directory / file).exists() for file in files)
    assert "src/" in files
    assert len(files) == len(set(files))
    (component,) = pack.iter("component")
    assert component.get("Cversion") == semantic(__version__)
    assert component.get("condition") == pack.find("conditions/condition").get("id")
    for core, allowed in (("cortex-m0", []), ("cortex-m55", ["Cortex-M55", "Cortex-M85"])):
        export_graph(
            dense(), tmp_path / core, core=core, options=ExportOptions(layout="cmsis-pack")
        )
        other = ElementTree.parse(tmp_path / core / "tinyrt.net.pdsc").getroot()
        assert [accept.get("Dcore") for accept in other.iter("accept")] == allowed


def test_a_zephyr_module_leads_to_its_files(exported, tmp_path):
    folder = exported["zephyr"].directory
    lines = (folder / "zephyr" / "module.yml").read_text().splitlines()[2:]
    assert lines == [
        *("name: net", "build:", "  cmake: zephyr", "  kconfig: zephyr/Kconfig"),
        *("samples:", "  - samples"),
    ]
    options = set(re.findall(r"^config (\w+)$", (folder / "zephyr/Kconfig").read_text(), re.M))
    assert options == {"TINYRT_NET", "TINYRT_NET_OPTIMIZE"}
    used = re.findall(r"CONFIG_(\w+)", (folder / "zephyr/CMakeLists.txt").read_text())
    assert set(used) == options
    assert "CONFIG_TINYRT_NET=y\n" in (folder / "samples/net/prj.conf").read_text()
    assert "MVEI" not in (folder / "zephyr/Kconfig").read_text()
    export_graph(
        dense(), tmp_path / "m55", core="cortex-m55", options=ExportOptions(layout="zephyr")
    )
    assert "depends on ARMV8_1_M_MVEI\n" in (tmp_path / "m55/zephyr/Kconfig").read_text()


def test_an_mbed_library_says_which_export_it_is(exported):
    said = json.loads((exported["mbed"].directory / "mbed_lib.json").read_text())
    assert said["name"] == "tinyrt-net"
    assert said["config"]["export"]["value"] == f"0x{exported['mbed'].identity}"
    assert "Apache-2.0" in said["config"]["export"]["help"]


@pytest.mark.parametrize("layout", SHAPES)
def test_every_file_says_its_licence_and_its_export(layout, exported):
    project = exported[layout]
    found = {f for p in project.directory.rglob("*") if p.is_file() for f in [str(p)]}
    assert {str(project.directory / name) for name in project.files} == found
    assert (project.directory / "LICENSE").is_file()
    for name in set(project.files) - {"LICENSE", "tinyrt-files.json"}:
        text = (project.directory / name).read_text()
        if name.endswith((".json", ".pdsc")):
            assert "Apache-2.0" in text
            assert f"tinyrt {__version__}, export {project.identity}" in text
        else:
            licence, _, identity = HEAD.match(text).groups()
            assert licence == ("LicenseRef-Model" if "_weights.c" in name else "Apache-2.0"), name
            assert identity == project.identity


# What is refused


@pytest.mark.parametrize(
    ("layout", "core", "says"),
    [
        ("esp-idf", "cortex-m4", "ESP-IDF does not build for cortex-m4"),
        ("mbed", "rv32imc", "Mbed OS does not build for rv32imc"),
        ("cmsis-pack", "rv32imc", "CMSIS-Pack does not build for rv32imc"),
        ("arduino", "host-avx2", "Arduino does not build for host-avx2"),
    ],
)
def test_cores_that_an_ecosystem_has_no_boards_for(layout, core, says, tmp_path):
    with pytest.raises(UnsupportedError) as refused:
        export_graph(dense(), tmp_path / "out", core=core, options=ExportOptions(layout=layout))
    assert refused.value.problem == says
    assert refused.value.expected == LAYOUTS[layout].cores
    assert refused.value.hint == "choose another core, or --layout cmake"
    assert not (tmp_path / "out").exists()


def test_every_layout_that_refuses_a_core_says_which_it_takes():
    for layout in LAYOUTS.values():
        refusing = []
        for core in CORES.values():
            try:
                assert find_layout(layout.name, core) is layout
            except UnsupportedError:
                refusing.append(core.name)
        assert bool(refusing) == bool(layout.cores)


@pytest.mark.parametrize(("name", "hint"), [("keil", None), ("mbde", "did you mean 'mbed'?")])
def test_a_layout_that_there_is_not(name, hint, tmp_path):
    with pytest.raises(UnsupportedError) as refused:
        export_graph(dense(), tmp_path / "out", options=ExportOptions(layout=name))
    assert refused.value.problem == f"there is no layout '{name}'"
    assert refused.value.expected == ", ".join(LAYOUTS)
    assert refused.value.hint == hint


@pytest.mark.parametrize("state", [None, "state"])
@pytest.mark.parametrize(
    ("has", "calls"),
    [
        ((), ["invoke"]),
        (("pushed",), ["begin", "push_row"]),
        (("sliced",), ["invoke", "begin", "step", "cancel"]),
        (("opened",), ["open", "invoke"]),
        (("opened", "tested"), ["open", "invoke", "selftest"]),
    ],
)
def test_an_example_calls_what_a_model_has(has, calls, state):
    flags = {name: name in has for name in ("pushed", "sliced", "opened", "tested")}
    run = Run("net", (), ("arena",), (), (), (), state, **flags)
    at = 1 if "opened" in has else 0
    assert list(run.calls) == [*calls[:at], *(["reset"] if state else []), *calls[at:]]


@pytest.mark.parametrize("layout", ["arduino", "cmsis-pack"])
def test_options_that_a_layout_has_no_place_for(layout, tmp_path):
    with pytest.raises(UnsupportedError) as refused:
        export_graph(
            dense(), tmp_path / "out", options=ExportOptions(layout=layout, unaligned=False)
        )
    assert "has no place for the compiler's option -mno-unaligned-access" in refused.value.problem
    assert refused.value.expected.endswith("cmake, platformio, zephyr, esp-idf, mbed")
    assert refused.value.hint == "export without --no-unaligned, or in one of these"


@pytest.mark.parametrize(
    ("layout", "most"), [("arduino", 63), ("platformio", 100), ("esp-idf", 64), ("zephyr", 200)]
)
def test_names_are_as_long_as_an_ecosystem_takes_them(layout, most):
    LAYOUTS[layout].check_name("a" * most)
    with pytest.raises(UnsupportedError, match=f"a name of {most + 1} characters"):
        LAYOUTS[layout].check_name("a" * (most + 1))


def test_names_that_are_too_long_or_kept_for_others(tmp_path):
    for name, says in (
        ("a" * 64, f"Arduino does not take a name of 64 characters, '{'a' * 64}'"),
        ("arduino_net", "Arduino keeps names such as 'arduino_net' for libraries of its own"),
    ):
        with pytest.raises(UnsupportedError) as refused:
            export_graph(
                dense(), tmp_path / "out", options=ExportOptions(layout="arduino", name=name)
            )
        assert refused.value.problem == says
        assert "--name" in refused.value.hint
    export_graph(dense(), tmp_path / "out", options=ExportOptions(layout="arduino", name="a" * 63))


@pytest.mark.parametrize("layout", SHAPES)
def test_no_file_depends_on_the_order_of_others(layout, tmp_path, monkeypatch):
    """Layouts list sources and headers in the order of their names."""
    orders = {
        "first": lambda texts: dict(sorted(texts.items())),
        "last": lambda texts: dict(sorted(texts.items(), reverse=True)),
    }
    before, found = bundle.arranged, {}
    for name, order in orders.items():
        monkeypatch.setattr(bundle, "arranged", lambda t, *a, o=order: before(o(t), *a))
        options, core = ExportOptions(layout=layout, selftest=2), core_of(layout).name
        export_graph(dense(), tmp_path / name / "net", core=core, options=options)
        files = (p for p in (tmp_path / name).rglob("*") if p.is_file())
        found[name] = {str(p.relative_to(tmp_path / name)): p.read_bytes() for p in files}
    assert found["first"] == found["last"]
