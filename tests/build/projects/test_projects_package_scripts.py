"""Test scripts of package.json: the cache of their runner, with a program in its place that caches as jest does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from caretbench.build.projects.project_check import check_project
from caretbench.build.projects.setup.command_detection import project_checks
from caretbench.build.projects.setup.package_json import test_script as script_of
from caretbench.execution.workspaces.workspace_executor import WorkspaceExecutor
from caretbench.projects.answer_requests import check_request
from tests.support.project_files import snapshot

JEST = """\
#!/usr/bin/env node
const fs = require('node:fs')
const folder = process.argv.find((one) => one.startsWith('--cacheDirectory=')).split('=')[1]
const left = fs.existsSync('left.txt')
const compiled = fs.existsSync(`${folder}/list`)
fs.mkdirSync(folder, { recursive: true })
fs.writeFileSync(`${folder}/list`, '')
fs.writeFileSync('left.txt', '')
const to = (process.argv.find((one) => one.startsWith('--outputFile=')) || '').split('=')[1]
const status = left || require(`${process.cwd()}/list.js`)() !== 3 ? 'failed' : 'passed'
const tests = [{ ancestorTitles: [], title: 'sums', fullName: 'sums', status, duration: 1, failureMessages: [] }]
const result = [{ name: '/tmp/work/list.test.js', status, assertionResults: tests }]
if (to) fs.writeFileSync(to, JSON.stringify({ numTotalTests: 1, testResults: result }))
console.log(compiled ? 'from the cache' : 'compiled')
process.exit(status === 'failed' ? 1 : 0)
"""
FILES = {
    "package.json": json.dumps({"scripts": {"test": "jest --no-cache"}, "devDependencies": {"jest": "^29.0.0"}}),
    "list.js": "module.exports = () => 3\n", "node_modules/.bin/jest": JEST,
}  # fmt: skip


def test_only_a_runner_with_a_cache_is_prepared(tmp_path: Path) -> None:
    script = script_of(snapshot(tmp_path, FILES))
    assert script is not None
    assert "--no-cache" not in script.line + script.prepare
    assert script.prepare.count("--cacheDirectory=.caretbench-cache; find . ") == 1, "and it does not stop at failures"
    mocha = {"package.json": '{"scripts": {"test": "mocha"}}'}
    plain = script_of(snapshot(tmp_path / "mocha", mocha))
    assert plain is not None
    assert plain.prepare == ""


def test_ts_jest_compiles_files_alone_where_that_replaces_no_settings(tmp_path: Path) -> None:
    needed = {"scripts": {"test": "jest"}, "devDependencies": {"jest": "^29.0.0", "ts-jest": "^29.0.0"}}
    option = """ --globals='{"ts-jest":{"isolatedModules":true,"diagnostics":false}}' """
    cases = (
        (needed, {"jest.config.js": "module.exports = { preset: 'ts-jest' }"}, 2),
        (needed, {"jest.config.js": "module.exports = { globals: { DEBUG: false } }"}, 0),
        ({**needed, "jest": {"globals": {"DEBUG": False}}}, {}, 0),
    )
    for n, (package, files, count) in enumerate(cases):
        script = script_of(snapshot(tmp_path / str(n), {"package.json": json.dumps(package), **files}))
        assert script is not None
        assert (script.line + script.prepare).count(option) == count


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_cache_is_filled_once_and_nothing_else_is_left_behind(engine: WorkspaceExecutor, tmp_path: Path) -> None:
    store = engine.workspace_runner.store
    snapshot(tmp_path, FILES)
    root = tmp_path / "project"
    (root / "node_modules/.bin/jest").chmod(0o755)
    taken = store.add(root)
    [check] = project_checks(taken, ["javascript"])
    found = check_project(engine, check_request(check.check, taken.id))
    assert (found.fault, found.test_count, bool(found.request.prepare)) == ("", 1, True)
    patch = {**found.request.patch, "list.js": b"module.exports = () => 4\n"}
    changes = ({"id": "right"}, {"id": "wrong", "patch": patch})
    requests = [found.request.model_copy(update=change) for change in changes]
    ended = {one.id: (one.status.value, "from the cache" in one.stdout.text) for one in engine.submit(requests)}
    assert ended == {"right": ("passed", True), "wrong": ("failed", True)}
