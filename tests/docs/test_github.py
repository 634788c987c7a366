"""Hooks, workflows and forms name what is there, fetch nothing unpinned, and may only read."""

import re
import tomllib

import pytest

from tests.docs.pages import ROOT

yaml = pytest.importorskip("yaml")

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_hooks_are_tools_of_the_project():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    tools = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in repository["hooks"]}
    packages = {"lint-imports": "import-linter"}
    dev = " ".join(PROJECT["optional-dependencies"]["dev"])
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}
    assert not {tool for tool in tools if packages.get(tool, tool) not in dev}


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_workflow_may_only_read_and_takes_pinned_actions(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    assert not [job for job in workflow["jobs"].values() if "permissions" in job]
    actions = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert actions
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in actions)


def test_workflow_runs_what_contributors_run():
    runs = [step["run"] for step in steps(WORKFLOWS["ci"]) if "run" in step]
    assert {run.split()[1] for run in runs if run.startswith("make ")} <= TARGETS
    quick = next(run for run in runs if "not device" in run)
    assert quick in (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin")


def test_nights_run_what_changes_have_no_time_for():
    (job,) = WORKFLOWS["nightly"]["jobs"].values()
    targets = {line.split()[0] for line in job["strategy"]["matrix"]["target"]}
    assert targets == {"test-all", "coverage", "mutants", "fuzz"}
    assert targets <= TARGETS


def test_workflow_takes_the_oldest_python():
    pythons = WORKFLOWS["ci"]["jobs"]["quick"]["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert pythons == sorted(set(pythons), key=lambda version: int(version.split(".")[1]))


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_forms_can_be_filled_in(form):
    fields = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= set(fields)
    asked = [part for part in fields["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked)
    assert all(part["attributes"]["label"] for part in asked)
    assert any(part.get("validations", {}).get("required") for part in asked)
