"""Installation of a project's packages with npm."""

import json
import re
import shlex
from pathlib import Path

import pytest

from caretbench.build.projects.setup.package_json import (
    install_command,
    npm_failure,
    npm_packages,
    smaller_install_command,
)
from caretbench.build.projects.setup.package_json import test_script as offered_script
from caretbench.build.projects.setup.project_setup import next_setup, run_setup
from caretbench.errors import DataError
from caretbench.execution.execution_types import CapturedOutput, ResultFile, Status
from caretbench.execution.workspaces.workspace_runner import WorkspaceResult
from tests.support.project_files import snapshot

MISSING = """npm warn deprecated old@1.0.0: no longer kept
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/gone
npm error 404
npm error 404  The requested resource 'gone@^1.0.0' could not be found or you do not have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /tmp/home/.npm/_logs/x-debug-0.log
"""
OLD = """npm ERR! code ETARGET
npm ERR! notarget No matching version found for @team/gone@^99.
npm ERR! notarget In most cases you or one of your dependencies are requesting a package version that doesn't exist.
"""
GIT = """npm error code 128
npm error An unknown git error occurred
npm error command git --no-replace-objects ls-remote ssh://git@github.com/one/Gone.git
npm error ssh: Could not resolve hostname github.com: Name or service not known
"""


def package(dependencies: dict[str, str], dev: dict[str, str] | None = None) -> dict[str, str]:
    return {"package.json": json.dumps({"dependencies": dependencies, "devDependencies": dev or {}})}


@pytest.mark.parametrize(
    ("output", "name", "version", "told"),
    [
        (MISSING, "gone", "^1.0.0", "The requested resource 'gone@^1.0.0' could not be found"),
        (OLD, "@team/gone", "^99", "No matching version found for @team/gone@^99."),
        (GIT, "gone", "github:one/gone", "ls-remote ssh://git@github.com/one/Gone.git"),
    ],
)
def test_the_line_of_npm_that_names_a_missing_package_is_shown_with_a_remedy(
    output: str, name: str, version: str, told: str, tmp_path: Path
) -> None:
    project = snapshot(tmp_path, package({"kept": "^2"}, {name: version}))
    found = npm_failure(output, project)
    assert told in found
    assert "complete log" not in found
    assert "In most cases" not in found
    remedy = shlex.split(found.partition("--setup ")[2])
    assert remedy == [install_command(project, [name])]
    assert f"'devDependencies[{name}]'" in remedy[0]


def test_without_another_package_the_remedy_is_no_setup(tmp_path: Path) -> None:
    found = npm_failure(MISSING, snapshot(tmp_path, package({"gone": "^1.0.0"})))
    assert found.endswith("; where no test needs gone: the same command without --setup")


def test_a_package_of_a_package_is_named_without_a_remedy(tmp_path: Path) -> None:
    found = npm_failure(MISSING, snapshot(tmp_path, package({"kept": "1"})))
    assert "'gone@^1.0.0'" in found
    assert "--setup" not in found
    assert npm_failure("ERROR: No matching distribution found for gone", snapshot(tmp_path / "b", package({}))) == ""


def test_a_setup_that_fails_shows_what_npm_lacks(tmp_path: Path) -> None:
    project = snapshot(tmp_path, package({"kept": "1", "gone": "^1.0.0"}))

    class Engine:
        def submit(self, _requests: object) -> list[WorkspaceResult]:
            return [WorkspaceResult(id="setup", status=Status.RUNTIME_ERROR, stderr=CapturedOutput(text=MISSING))]

    with pytest.raises(DataError, match=r"'gone@.* gone: --setup"):
        run_setup(Engine(), project, "npm install")  # type: ignore[arg-type]


def test_versions_of_other_package_managers_are_translated(tmp_path: Path) -> None:
    dependencies = {"@a/core": "workspace:^1.2.0", "@a/util": "workspace:*", "left": "link:../left"}
    dev = {"tape": "catalog:", "@a/eslint-config": "workspace:*", "@a/tsconfig": "workspace:^", "plain": "^3"}
    command = install_command(snapshot(tmp_path, package(dependencies, dev)))
    assert command is not None
    words = shlex.split(command)
    assert {"dependencies[@a/core]=^1.2.0", "dependencies[@a/util]=*", "devDependencies[tape]=*"} <= set(words)
    gone = {"dependencies[left]", "devDependencies[@a/eslint-config]", "devDependencies[@a/tsconfig]"}
    assert set(words[words.index("delete") + 1 : words.index("set") - 3]) == gone
    assert "plain" not in command


def test_a_smaller_setup_keeps_what_scripts_sources_and_compilers_name(tmp_path: Path) -> None:
    dev = dict.fromkeys(("uvu", "ts-node", "parcel", "pako", "@types/node", "typescript", "@scope/helper", "rc"), "*")
    manifest = {
        "dependencies": {"left": "1"},
        "devDependencies": dev,
        "scripts": {"test": "uvu -r ts-node/register test", "build": "parcel build demo/index.html"},
    }
    files = {
        "package.json": json.dumps(manifest),
        "test/a.ts": "import { inflate } from 'pako';\nimport '@scope/helper/setup';\n",
        ".mocharc.json": '{"require": "rc/register"}',
        "node_modules/x/index.js": "require('parcel')",
    }
    command = smaller_install_command(snapshot(tmp_path / "a", files))
    assert command is not None
    assert "'devDependencies[parcel]' && npm install" in command
    named = {**files, "scripts/build.js": "require('parcel')"}
    assert smaller_install_command(snapshot(tmp_path / "b", named)) is None
    manifest["scripts"] = {"test": "npm run build && uvu -r ts-node/register test", "build": "parcel build demo"}
    built = snapshot(tmp_path / "c", {**files, "package.json": json.dumps(manifest)})
    assert smaller_install_command(built) is None, "the tests build with it"


def test_a_setup_that_fails_is_tried_without_packages_that_no_test_needs(tmp_path: Path) -> None:
    project = snapshot(tmp_path, package({"kept": "^2"}, {"readme-tests": "^2"}))
    first = next_setup((), project, ["javascript"])
    assert first is not None
    fault = "setup 'npm install': An unknown git error occurred / ls-remote ssh://git@github.com/a/b.git"
    second = next_setup([first._replace(fault=fault)], project, ["javascript"])
    assert second is not None
    assert "delete 'devDependencies[readme-tests]'" in str(second.command)


def test_a_setup_that_is_too_large_names_a_smaller_one(tmp_path: Path) -> None:
    project = snapshot(tmp_path, package({"kept": "^2"}, {"parcel": "^2"}))

    class Engine:
        def submit(self, _requests: object) -> list[WorkspaceResult]:
            part = ResultFile(pattern="part", path="part", problem="it is larger than 4194304 bytes")
            return [WorkspaceResult(id="setup", status=Status.PASSED, files=(part,))]

    for command, told in (
        ("npm install", r"packed; without .* --setup '.*devDependencies\[parcel\].*'; else build a bundle"),
        ("pip install x", r"packed; build a bundle instead, or name a --setup that installs less \("),
    ):
        with pytest.raises(DataError, match=told):
            run_setup(Engine(), project, command)  # type: ignore[arg-type]


def test_a_setup_that_fails_is_tried_again_in_the_next_cheaper_way(tmp_path: Path) -> None:
    files = {**package({"kept": "1", "gone": "^1.0.0"}, {"eslint": "9"}), "a.js": "require('kept')"}
    project = snapshot(tmp_path / "unused", files)
    first = next_setup((), project, ["javascript"])
    assert first is not None
    failed = [first._replace(fault=f"setup \"npm 'x'\": runtime_error: {npm_failure(MISSING, project)}")]
    second = next_setup(failed, project, ["javascript"])
    assert second is not None
    assert "without gone" in second.name
    assert "eslint" not in str(first.command).partition("npm install")[2]
    third = next_setup([*failed, second._replace(fault="setup 'npm': timeout")], project, ["javascript"])
    assert third is not None
    assert "devDependencies[eslint]" not in str(third.command)
    last = next_setup([*failed, second, third._replace(fault="setup 'npm': timeout")], project, ["javascript"])
    assert last is not None
    assert last.command is None
    # Where tests fail, nothing less is installed.
    failing = [first._replace(fault="tests_fail: sh: 1: rollup: not found")]
    again = next_setup(failing, project, ["javascript"])
    assert again is not None
    assert "all packages" in again.name
    assert next_setup([*failing, again], project, ["javascript"]) is None


def test_packages_that_npm_installed_are_recorded_with_their_hashes(tmp_path: Path) -> None:
    listed = {"packages": {"node_modules/@a/b": {"version": "1.2.0", "integrity": "sha512-x"},
                           "node_modules/c/node_modules/d": {"version": "2.0.0"}}}  # fmt: skip
    project = snapshot(tmp_path, {"node_modules/.package-lock.json": json.dumps(listed)})
    assert npm_packages(project) == ("@a/b@1.2.0 sha512-x", "d@2.0.0")


@pytest.mark.parametrize(
    ("workspaces", "script"),
    [
        ({"workspaces": ["packages/*"]}, "npm test --workspaces"),
        ({"workspaces": {"packages": ["./packages/*/"]}}, "yarn workspaces run test"),
        ({}, "pnpm -r test"),
        ({}, "npx turbo run test --parallel"),
    ],
)
def test_the_packages_of_a_workspace_are_installed_and_each_is_tested_in_its_folder(
    workspaces: dict[str, object], script: str, tmp_path: Path
) -> None:
    members = {"one": ("node --test", {}), "two": ("mocha", {"@team/one": "workspace:^1"}), "three": (None, {})}
    files = {"package.json": json.dumps({**workspaces, "scripts": {"test": script}})}
    if not workspaces:
        files["pnpm-workspace.yaml"] = "# all\npackages:\n  - 'packages/*'\n  - \"!**/x\"\ncatalog:\n  kleur: ^4\n"
    for name, (tests, needed) in members.items():
        described = {"name": f"@team/{name}", "scripts": {"test": tests} if tests else {}, "dependencies": needed}
        files[f"packages/{name}/package.json"] = json.dumps(described)
    project = snapshot(tmp_path, files)

    found = offered_script(project)
    assert found is not None
    assert re.findall(r"\(cd (\S+) && \S+ \S+; (\w+)", found.line) == [
        ("packages/one", "node"),
        ("packages/two", "mocha"),
    ]
    assert found.programs == ("mocha",)  # node is a part of the machine

    command = install_command(project) or ""
    assert "npm install --no-save" in command
    assert "packages/two/package.json" in command  # npm does not know `workspace:`
    assert ("pkg set" in command) == (not workspaces)
