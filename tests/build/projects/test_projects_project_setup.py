"""What a project's files tell about how it is tested and what it needs, and what is said where that is not there."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from caretbench.build.projects.setup import command_detection, go_and_rust, python_packages
from caretbench.build.projects.setup.command_detection import detect_command, project_checks
from caretbench.build.projects.setup.debian_packages import DebianArchive
from caretbench.build.projects.setup.package_json import test_script as script_of
from caretbench.build.projects.setup.project_setup import (
    SetupStep,
    next_setup,
    resolve_setup,
    setup_command,
    with_setup_hint,
)
from caretbench.build.projects.setup.pytest_settings import missing_test_folders, pytest_options
from caretbench.build.projects.setup.python_packages import (
    import_folders,
    installed_packages,
    requirements,
    with_python_path,
)
from caretbench.errors import DataError
from caretbench.projects.settings import CheckSettings
from tests.support.project_files import snapshot

PATH = 'export PATH="$PWD/node_modules/.bin:$PATH"; '
JUNIT = ".caretbench-junit.xml"
MOCHA = "--timeout 30000 --reporter spec --bail"
JEST = (
    "--ci --watchman=false --maxWorkers=1 --coverage=false --testTimeout=30000 --bail "
    "--cacheDirectory=.caretbench-cache --json --outputFile=.caretbench-jest.json"
)
VITEST = (
    "--run --no-file-parallelism --coverage.enabled=false --typecheck.enabled=false --testTimeout=30000 --bail 1 "
    f"--reporter=default --reporter=junit --outputFile.junit={JUNIT}"
)
NODE = (
    f"--test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit --test-reporter-destination={JUNIT}"
)
BORP = f"--concurrency=1 --reporter=spec --reporter=junit:{JUNIT}"


def package(scripts: Mapping[str, str], dev: Mapping[str, str] | None = None) -> dict[str, str]:
    return {"package.json": json.dumps({"scripts": scripts, "devDependencies": dev or {}})}


# --- Python ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"pyproject.toml": '[project]\nname = "a"\ndependencies = ["x>=1", "a[all]"]\n'}, ("x>=1",)),
        ({"pyproject.toml": '[dependency-groups]\ntest = ["y", {include-group = "more"}]\nmore = ["z"]\n'}, ("y", "z")),
        ({"pyproject.toml": '[project.optional-dependencies]\ntests = ["y"]\ndev = ["ruff", "v"]\n'}, ("y",)),
        ({"pyproject.toml": '[project.optional-dependencies]\ndev = ["ruff", "v", "pytest-cov"]\n'}, ("v",)),
        ({"pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.9"\nx = "^1.2"\n'}, ("x",)),
        ({"setup.cfg": "[options]\ninstall_requires =\n    x\n    # no\n    y>2\n"}, ("x", "y>2")),
        ({"setup.py": "setup(name='a', install_requires=['x', 'y;python_version<\"4\"'])\n"}, None),
        (
            {
                "tox.ini": "[testenv]\ndeps =\n  x\n  py38: old\n  -r{toxinidir}/more.txt\n  {[a]deps}\n  -rno.txt\n",
                "more.txt": "y\n",
            },
            ("x", "y"),
        ),
        ({"requirements/tests.txt": "x\n", "docs/requirements.txt": "sphinx\n"}, ("x",)),
        (
            {
                "test-requirements.txt": "-r base.txt\n# more\nflake8<4\npytest>=5,<6 ; python_version >= '3'\n",
                "base.txt": "x[all]>=1  # why\npytest-mock<3\n",
                "requirements-dev.txt": "no\n",
            },
            ("x[all]>=1", "pytest-mock<3", "pytest>=5,<6 ; python_version >= '3'"),
        ),
        ({"requirements.txt": "x @ https://x\n", "requirements-dev.txt": "y\n"}, ("-r requirements.txt", "y")),
        ({"pyproject.toml": "no = = toml", "setup.py": "def ("}, ()),
    ],
)
def test_packages_are_named_by_a_projects_files(
    files: dict[str, str], found: tuple[str, ...] | None, tmp_path: Path
) -> None:
    expected = found if found is not None else ("x", 'y;python_version<"4"')
    assert requirements(snapshot(tmp_path, files)) == expected


def test_the_runner_is_fetched_once(tmp_path: Path) -> None:
    files = {"tests/test_a.py": "def test_a():\n    pass\n", "pyproject.toml": '[project]\ndependencies = ["x"]\n'}
    assert setup_command(snapshot(tmp_path, files), ["python"]) == (
        "python3 -m pip install --no-compile --target .deps x pytest"
    )
    files["pyproject.toml"] = '[dependency-groups]\ntest = ["Pytest>=8"]\n'
    assert requirements(snapshot(tmp_path, files), "pytest") == ("Pytest>=8",)


def test_the_runners_bundle_is_taken_where_it_is_built_and_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_packages, "_has", lambda _python, _module: False)
    monkeypatch.setattr(command_detection, "installed_bundle", lambda name: name)
    given = CheckSettings(command="python3 -m pytest -q")
    plain = snapshot(tmp_path, {"conftest.py": ""})
    assert project_checks(plain, ["python"])[0].check.bundle == "tools/pytest"
    assert project_checks(plain, ["python"], from_user=given)[0].check.bundle == "tools/pytest"
    brought = snapshot(tmp_path / "brought", {"conftest.py": "", ".deps/pytest/__init__.py": ""})
    assert project_checks(brought, ["python"])[0].check.bundle is None
    monkeypatch.setattr(command_detection, "installed_bundle", lambda _name: None)
    assert project_checks(plain, ["python"])[0].check.bundle is None


def test_who_asks_for_its_own_version_is_installed(tmp_path: Path) -> None:
    files = {"setup.py": "", "a.py": "import importlib.metadata\n", "requirements.txt": "x\n"}
    command = setup_command(snapshot(tmp_path, files), ["python"])
    assert command is not None
    assert command.endswith(" --no-deps . && mkdir -p .deps && cp -r /tmp/caretbench-packages/. .deps/ || true; }")
    assert import_folders(snapshot(tmp_path / "flat", {"a.py": "", ".deps/a.py": ""})) == (".", ".deps")


def test_what_builds_write_is_placed_next_to_the_sources(tmp_path: Path) -> None:
    files = {"setup.py": "setup(ext_modules=[Extension('pack._fast', ['pack/_fast.c'])])", "pack/__init__.py": "",
             "tests/test_a.py": "import pytest\n"}  # fmt: skip
    command = setup_command(snapshot(tmp_path, files), ["python"])
    assert command is not None
    assert command.endswith("; if [ -d .deps/pack ]; then cp -rn .deps/pack/. pack || true; fi; }")
    alone = setup_command(snapshot(tmp_path / "alone", {**files, "tests/test_a.py": "import unittest\n"}), ["python"])
    assert alone is not None
    assert alone == command.partition(" && ")[2], "it needs no package, and is installed all the same"
    files["setup.py"] = "setup(entry_points={'console_scripts': ['pack = pack:main']})"
    scripts = setup_command(snapshot(tmp_path / "scripts", files), ["python"])
    assert scripts is not None
    assert scripts.endswith("--no-deps . && mkdir -p .deps && cp -r /tmp/caretbench-packages/. .deps/ || true; }")


def test_of_a_namespace_only_the_projects_own_packages_get_what_builds_write(tmp_path: Path) -> None:
    files = {"setup.py": "setup(ext_modules=[Extension('room.shop._fast', ['src/room/shop/_fast.c'])])",
             "src/room/shop/__init__.py": "", "src/room/shop/more/a.py": "", "src/room/alone.py": ""}  # fmt: skip
    command = setup_command(snapshot(tmp_path, files), ["python"])
    assert command is not None
    assert re.findall(r"cp -rn (\S+)/\. (\S+) ", command) == [
        (".deps/room", "src/room"),
        (".deps/room/shop", "src/room/shop"),
    ]
    del files["src/room/alone.py"]
    command = setup_command(snapshot(tmp_path / "other", files), ["python"])
    assert command is not None
    assert re.findall(r"cp -rn (\S+)/\. (\S+) ", command) == [(".deps/room/shop", "src/room/shop")]


def test_a_project_is_installed_next_to_the_folders_of_its_dependencies(tmp_path: Path) -> None:
    pip = tmp_path / "python3"  # puts a script and a part of a namespace where it is told to
    pip.write_text('#!/bin/sh\nmkdir -p "$6/bin" "$6/room"\ntouch "$6/bin/shop" "$6/room/shop.py"\n')
    pip.chmod(0o755)
    for name in ("bin/pytest", "room/event.py"):
        (tmp_path / ".deps" / name).parent.mkdir(parents=True)
        (tmp_path / ".deps" / name).touch()
    line = python_packages.added_installation("--no-deps .").replace("/tmp/", f"{tmp_path}/")
    subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    found = {str(path.relative_to(tmp_path / ".deps")) for path in (tmp_path / ".deps").rglob("*") if path.is_file()}
    assert found == {"bin/pytest", "bin/shop", "room/event.py", "room/shop.py"}


def test_installed_packages_are_named_with_their_versions(tmp_path: Path) -> None:
    files = {".deps/a_b-1.0.dist-info/METADATA": "", ".deps/x-2.0rc1.dist-info/METADATA": "",
             ".deps/x-2.0rc1.dist-info/RECORD": "", "own-3.dist-info/METADATA": ""}  # fmt: skip
    assert installed_packages(snapshot(tmp_path, files)) == ("a_b==1.0", "x==2.0rc1")


def test_an_old_pytest_that_the_project_pins_does_not_rewrite_assertions(tmp_path: Path) -> None:
    files = {"tests/test_a.py": "import pytest\n", ".deps/pytest/__init__.py": ""}
    for version, added in (("5.4.3", " --assert=plain"), ("8.4.2", "")):
        installed = {**files, f".deps/pytest-{version}.dist-info/METADATA": ""}
        assert pytest_options(snapshot(tmp_path / version, installed)) == added


def test_hooks_that_a_newer_pytest_refuses_get_an_older_one(tmp_path: Path) -> None:
    old = {"tests/conftest.py": "def pytest_collect_file(path, parent):\n    pass\n"}
    assert requirements(snapshot(tmp_path / "old", old), "pytest") == ("pytest", "pytest<9")
    new = {"tests/conftest.py": "def pytest_collect_file(file_path, parent):\n    pass\n"}
    assert requirements(snapshot(tmp_path / "new", new), "pytest") == ("pytest",)


def test_scripts_of_packages_are_on_the_path_and_their_tests_are_not_collected(tmp_path: Path) -> None:
    files = {"a.py": "", "tests/test_a.py": "import pytest\n", ".deps/pytest/__init__.py": "", ".deps/bin/tool": "",
             "env/lib/x-1.dist-info/RECORD": ""}  # fmt: skip
    [check] = project_checks(snapshot(tmp_path, files), ["python"])
    assert check.check.environment["PATH"].startswith("/tmp/work/.deps/bin:/usr/local/bin:")
    assert check.check.environment["PYTEST_ADDOPTS"] == "--ignore=/tmp/work/.deps --ignore=/tmp/work/env/lib"
    own = CheckSettings(command="pytest", environment={"PYTEST_ADDOPTS": "-v", "PATH": "/x"})
    [check] = project_checks(snapshot(tmp_path, files), ["python"], from_user=own)
    assert check.check.environment["PATH"] == "/x"
    assert check.check.environment["PYTEST_ADDOPTS"].startswith("-v --ignore=/tmp/work/.deps ")


def test_installed_packages_do_not_decide_how_a_project_is_tested(tmp_path: Path) -> None:
    files = {"tests/__init__.py": "", "tests/test_a.py": "import unittest\n", ".deps/x/test_x.py": "import pytest\n"}
    check, _ = detect_command(snapshot(tmp_path, files), ["python"])
    assert check is not None
    assert check.command == "python3 -m unittest -f"


def test_unittests_of_a_namespace_below_src_are_found(tmp_path: Path) -> None:
    names = ("src/room/shop/__init__.py", "src/room/shop/tests/test_a.py", "src/room/shop/more/tests/test_b.py")
    project = snapshot(tmp_path, dict.fromkeys(names, ""))
    assert import_folders(project) == ("src",)
    check, _ = detect_command(project, ["python"])
    assert check is not None
    assert check.command == "python3 -m unittest discover -f -s src/room/shop -t src"


def test_python_finds_sources_and_what_was_set_up(tmp_path: Path) -> None:
    files = {"src/pack/__init__.py": "", ".deps/pytest/__init__.py": "", "tests/test_a.py": "import pytest\n"}
    project = snapshot(tmp_path, files)
    assert import_folders(project) == ("src", ".deps")
    [check] = project_checks(project, ["python"])
    assert check.check.environment["PYTHONPATH"] == "/tmp/work/src:/tmp/work/.deps"
    own = {"PYTHONPATH": "lib"}
    assert with_python_path(project, own) == own
    assert with_python_path(project, {}, "tools/x")["PYTHONPATH"].endswith("/.deps:/bundle/site-packages")
    assert import_folders(snapshot(tmp_path / "flat", {"src/__init__.py": "", "src/a.py": "", "b.py": ""})) == ()


IGNORING = " -p caretbench_options --no-cov -n0"


@pytest.mark.parametrize(
    ("files", "option"),
    [
        ({"setup.cfg": "[tool:pytest]\naddopts = -ra --cov=pack -n auto\n"}, IGNORING),
        ({"pytest.ini": "[pytest]\naddopts = -ra -nope\n"}, IGNORING),
        ({"pytest.toml": "[pytest]\naddopts = ['-ra', '--cov=x']\n", "pytest.ini": "[pytest]\n"}, IGNORING),
        ({".pytest.toml": "[pytest]\naddopts = ['--strict-config']\nrequired_plugins = ['pytest-cov']\n"},
         f"{IGNORING} -o required_plugins="),
        ({"pyproject.toml": "[tool.pytest]\naddopts = ['--cov=x']\nstrict = true\n"},
         f"{IGNORING} -o strict_config=false"),
        ({"tox.ini": "[pytest]\naddopts = --maxschedchunk=1\n", "setup.cfg": "[tool:pytest]\n"}, IGNORING),
        ({"pytest.ini": "", "tox.ini": "[pytest]\naddopts = --cov=x\n"}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_settings_with_options_get_the_plugin_that_ignores_unknown_ones(
    files: dict[str, str], option: str, tmp_path: Path
) -> None:
    assert pytest_options(snapshot(tmp_path, {"a.py": "", **files})) == option


def test_folders_of_tests_that_an_archive_lacks_are_named_with_the_repository(tmp_path: Path) -> None:
    files = {"pack/a.py": "", "pytest.ini": "[pytest]\ntestpaths = pack tests/unit docs/*\n",
             "PKG-INFO": "Name: pack\nProject-URL: Repository, https://github.com/o/pack\n\n"}  # fmt: skip
    project = snapshot(tmp_path, files)
    assert missing_test_folders(project) == ("tests/unit",)
    message = with_setup_hint({"pytest": "tests_fail: x"}, project, ["python"], (), None)
    assert "tests/unit" in message
    assert "from o/pack" in message


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("tests/test_a.py", "python3 -m unittest discover -f -s tests"),
        ("pack/tests/test_a.py", "python3 -m unittest -f"),
    ],
)
def test_unittest_begins_where_it_finds_tests(path: str, command: str, tmp_path: Path) -> None:
    found, _ = detect_command(snapshot(tmp_path, {path: "import unittest\n"}), ["python"])
    assert found is not None
    assert found.command == command


def test_lines_that_pip_cannot_read_and_git_addresses_are_left_out_by_the_second_try(tmp_path: Path) -> None:
    lines = "-e ./missing\nhelper==1  # pinned\nown @ git+https://example.org/own\n"
    project = snapshot(tmp_path, {"requirements-test.txt": lines, "tests/test_a.py": "import unittest\n"})
    first = next_setup((), project, ["python"])
    assert first is not None
    assert "-r requirements-test.txt" in str(first.command)
    second = next_setup([first._replace(fault="setup 'pip': x")], project, ["python"])
    assert second is not None
    assert str(second.command).endswith(".deps helper==1")


# --- package.json ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scripts", "line"),
    [
        ({"test": "mocha test --recursive -R dot"}, f"mocha test --recursive {MOCHA}"),
        ({"test": "eslint . && c8 --check-coverage mocha", "posttest": "tsc"}, f"mocha {MOCHA}"),
        ({"test": "nyc -r lcov ts-mocha t.ts"}, f"ts-mocha t.ts {MOCHA}"),
        ({"test": "tsc --noEmit && npm run unit", "unit": "cross-env A=1 jest --coverage -i"},
         f"cross-env A=1 jest {JEST}"),
        ({"test": "node --experimental-vm-modules node_modules/jest/bin/jest.js"},
         f"node --experimental-vm-modules node_modules/jest/bin/jest.js {JEST}"),
        ({"pretest": "npm run build", "build": "tsc", "test": "node t.js"}, "npm run --silent build && node t.js"),
        ({"test": "npm run build:docs && tape t.js && npm run dist", "build:docs": "tsc", "dist": "a && tape d.js"},
         "tape t.js"),
        ({"test": "tape test/*.js | tap-spec"}, "tape test/*.js"),
        ({"test": "yarn lint && vitest --typecheck", "lint": "prettier -c ."}, f"vitest {VITEST}"),
        ({"test": "run-s test:*", "test:types": "tsd", "test:unit": "pnpm exec vitest run"}, f"vitest run {VITEST}"),
        ({"test": "pnpm run /^test:/", "test:lint": "oxlint", "test:unit": "pnpm tape a.js"}, "tape a.js"),
        ({"test": "pnpm bnt --coverage 100 --coverage-exclude '**/*.test.ts'"}, "bnt"),
        ({"test": "npm run unit -- --grep fast", "unit": "mocha"}, f"mocha --grep fast {MOCHA}"),
        ({"test": "borp && npm run test:typescript", "test:typescript": "tstyche"}, f"borp {BORP}"),
        ({"test": "node --test --test-reporter=dot"}, f"node --test {NODE}"),
        ({"test": "sh -c 'a && b'"}, "sh -c 'a && b'"),
    ],
)  # fmt: skip
def test_a_script_is_run_without_what_only_checks(scripts: dict[str, str], line: str, tmp_path: Path) -> None:
    found = script_of(snapshot(tmp_path, package(scripts)))
    assert found is not None
    assert found.line == PATH + line


def test_a_coverage_tool_around_another_script_is_no_runner(tmp_path: Path) -> None:
    scripts = {"test": "c8 --reporter lcov npm run unit", "unit": "mocha test"}
    found = script_of(snapshot(tmp_path, package(scripts)))
    assert found is not None
    assert found.programs == ("mocha",)
    assert "lcov" not in found.line


@pytest.mark.parametrize("text", ['echo "Error: no test specified" && exit 1', "eslint ."])
def test_a_script_that_tests_nothing_is_none(text: str, tmp_path: Path) -> None:
    assert script_of(snapshot(tmp_path, package({"test": text}))) is None


def test_reports_of_node_are_asked_for_behind_its_option(tmp_path: Path) -> None:
    found = script_of(snapshot(tmp_path, package({"test": "node --import tsx --test test/*.ts"})))
    assert found is not None
    assert found.junit == (".caretbench-junit.xml",)
    assert found.line.endswith(".caretbench-junit.xml test/*.ts")


def test_options_follow_the_version(tmp_path: Path) -> None:
    old = script_of(snapshot(tmp_path / "a", package({"test": "tap"}, {"tap": "^16.0.0"})))
    new = script_of(snapshot(tmp_path / "b", package({"test": "tap"}, {"tap": "^21"})))
    assert old is not None
    assert new is not None
    assert (old.line, new.line) == (
        f"{PATH}tap --no-coverage --timeout=240",
        f"{PATH}tap --disable-coverage --timeout=240",
    )


def test_a_runner_that_is_not_installed_is_named_with_what_fetches_it(tmp_path: Path) -> None:
    project = snapshot(tmp_path, package({"test": "ava"}, {"ava": "^6 || ^7", "eslint": "9", "own": "workspace:*"}))
    with pytest.raises(DataError) as caught:
        project_checks(project, ["typescript"])
    said = with_setup_hint({"": str(caught.value)}, project, ["typescript"], (), None)
    assert "with ava, which is not in node_modules" in said
    assert "runs `tar cf" in said
    assert "delete 'devDependencies[eslint]' && npm pkg set 'devDependencies[own]=*' && npm install " in said
    assert "ava]" not in said


# --- what is said ------------------------------------------------------------------------------------------------


def test_advice_is_given_where_packages_are_missing_only(tmp_path: Path) -> None:
    project = snapshot(tmp_path, {"conftest.py": ""})
    missing = {"pytest": "tests_fail: /usr/bin/python3: No module named pytest"}
    assert "runs `python3 -m pip" in with_setup_hint(missing, project, ["python"], (), None)
    assert "build tools/pytest`" in with_setup_hint(missing, project, ["python"], (), None)
    odd = {"pytest": "tests_fail: fixture 'mocker' not found"}
    assert "was `pip x`" in with_setup_hint(odd, project, ["python"], (), "pip x")
    assert with_setup_hint({"a": "tests_hang: 300 s"}, project, ["python"], (), None) == "a: tests_hang: 300 s"


@pytest.mark.parametrize("fault", ["tests_fail: a (ModuleNotFoundError: No module named 'yaml.cyaml')",
                                   "missing_dependency: yaml is not installed"])  # fmt: skip
def test_a_package_that_is_named_nowhere_is_named_with_the_option_that_adds_it(fault: str, tmp_path: Path) -> None:
    project = snapshot(tmp_path, {"conftest.py": "", "requirements.txt": "x\n"})
    pip = "python3 -m pip install --no-compile --target .deps"
    added = f"{pip} PyYAML x pytest"
    hint = f"missing: yaml; --setup '{added}' installs what contains it"
    for setup in (None, f"{pip} x pytest"):
        assert with_setup_hint({"pytest": fault}, project, ["python"], (), setup).endswith(hint)


def test_every_distribution_is_a_name_of_a_package() -> None:
    table = tomllib.loads(Path(python_packages.__file__).with_name("distributions.toml").read_text("utf-8"))
    assert python_packages.distribution_of("yaml") == "PyYAML"
    assert python_packages.distribution_of("freezegun") == "freezegun"
    for module, package in table.items():
        assert re.fullmatch(r"[A-Za-z_]\w*", module)
        assert re.fullmatch(r"[A-Za-z0-9][\w.-]*(?:<\d+)?", package)
        assert package != module


def test_submodules_that_are_not_there_are_thought_of(tmp_path: Path) -> None:
    fault = {"test script": "tests_fail: a (ENOENT: no such file or directory, scandir 'data')"}
    with_modules = snapshot(tmp_path, {".gitmodules": "", "a.js": ""})
    assert "`git submodule update --init`" in with_setup_hint(fault, with_modules, ["javascript"], (), "npm install")
    without = snapshot(tmp_path / "without", {"a.js": ""})
    assert with_setup_hint(fault, without, ["javascript"], (), None) == "test script: " + fault["test script"]


def test_auto_is_what_the_files_tell(tmp_path: Path) -> None:
    project = snapshot(tmp_path, {"a.py": ""})
    checks = (CheckSettings(command="python3 -m pytest t"),)
    assert resolve_setup("auto", project, ["python"], checks) == (
        "python3 -m pip install --no-compile --target .deps pytest"
    )
    assert (resolve_setup(None, project, ["python"]), resolve_setup("make", project, ["python"])) == (None, "make")
    assert resolve_setup("auto", project, ["java"]) is None, "nothing is named, so nothing is installed"


def test_ruby_gems_that_only_measure_have_stand_ins(tmp_path: Path) -> None:
    helper = 'require "simplecov"\nrequire "minitest/reporters"\nrequire "set"\n'
    files = snapshot(tmp_path, {"test/a_test.rb": helper, "lib/a.rb": 'require "pry"\n'})
    command = setup_command(files, ["ruby"])
    assert command is not None
    assert "pry" not in command
    subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, check=True)
    program = f"{helper}SimpleCov.start {{ fail }}\nMinitest::Reporters.use! Minitest::Reporters::A.new(b: 1)\n"
    if ruby := shutil.which("ruby"):
        subprocess.run([ruby, "-I.deps/ruby", "-e", program], cwd=tmp_path, check=True)


# --- Go ----------------------------------------------------------------------------------------------------------


def test_a_module_of_a_newer_go_is_read_by_an_older_one_and_else_gets_its_go(tmp_path: Path) -> None:
    text = "module shop\n\ngo 1.22.1\n\ntoolchain go1.23.0\ntool (\n\tx/y\n)\nrequire z v1.0.0\n"
    shop = snapshot(tmp_path, {"go.mod": text})
    named = setup_command(shop, ["go"])
    assert named is not None
    read, _, fetched = named.partition(" && ")
    (tmp_path / "go.mod").write_text(text)
    subprocess.run(["/bin/sh", "-c", read.replace("go mod edit", "false")], cwd=tmp_path, check=True)
    assert (tmp_path / "go.mod").read_text() == "module shop\n\ngo 1.22\n\nrequire z v1.0.0\n"
    assert fetched.endswith("go mod download")
    fault = "go test: does_not_compile: a.go:3:2: package slices is not in GOROOT (/usr/lib/go-1.19/src/slices)"
    step = next_setup([SetupStep("", named, fault)], shop, ["go"])
    assert step is not None
    assert step.name == "a newer Go"
    assert step.command is not None
    assert step.command.startswith("python3 -m pip install ")
    assert named in step.command, "modules are fetched by it"
    assert setup_command(snapshot(tmp_path / "old", {"go.mod": "module shop\n\ngo 1.18\n"}), ["go"]) is None


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
def test_modules_that_no_proxy_gives_come_from_debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("golang-github-me-till-dev", "golang-gopkg-yaml.v3-dev")
    archive = DebianArchive("http://deb.example.org/a_1_all.deb", "0" * 64)
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(go_and_rust, "available_packages", lambda: {*names, "golang-go"})
    monkeypatch.setattr(go_and_rust, "library_archives", lambda packages: asked.append(packages) or (archive,))
    place = ".deps/debian/usr/share/gocode/src"
    files = {
        "go.mod": "module shop\n\ngo 1.21.0\n\nrequire github.com/me/till v1.2.3\n\n"
                  "require (\n\tgopkg.in/yaml.v3 v3.0.1 // indirect\n\texample.org/none v1.0.0 // indirect\n)\n",
        "a.go": 'package shop\n\nimport "github.com/me/till"\n\nvar Open = till.Open\n',
        f"{place}/github.com/me/till/go.mod": 'module "github.com/me/till"\n\ngo 1.20.1\n\nrequire x.org/gone v1.0.0\n',
        f"{place}/github.com/me/till/a.go": 'package till\n\nimport yaml "gopkg.in/yaml.v3"\n\nvar Open = yaml.Open\n',
        f"{place}/gopkg.in/yaml.v3/go.mod": "module gopkg.in/yaml.v3\n\nrequire (\n\ty.org/gone v1.0.0\n)\n",
        f"{place}/gopkg.in/yaml.v3/a.go": "package yaml\n\nvar Open = true\n",
    }  # fmt: skip
    fault = 'setup "go mod download": failed: go: github.com/me/till@v1.2.3: Get "https://proxy.golang.org/x": 502'
    shop = snapshot(tmp_path, files)
    step = next_setup([SetupStep("", setup_command(shop, ["go"]), fault)], shop, ["go"])
    assert step is not None
    assert step.name == "Debian's packages of modules"
    assert asked == [names]
    # What is unpacked is there already; module and packages then build without any network.
    steps = str(step.command).split(" && ")
    local = [part for part in steps if part.startswith(("{ go mod edit", "for one in $(find"))]
    run = " && ".join((*local, "go mod edit -droprequire example.org/none", "go build ./..."))
    closed = {**os.environ, "GOPROXY": "off", "GOFLAGS": "", "GOCACHE": str(tmp_path / "cache"), "GOTOOLCHAIN": "local"}
    subprocess.run(["/bin/sh", "-c", run], cwd=tmp_path / "project", check=True, env=closed)


def test_a_go_project_without_a_module_becomes_one(tmp_path: Path) -> None:
    files = {"a.go": 'package shop\n\nimport (\n\t"fmt"\n\tx "example.org/me/shop/store/db"\n)\n', "a_test.go": "",
             "store/db/b.go": "package db\n"}  # fmt: skip
    written = "printf 'module %s\\n\\ngo 1.18\\n' example.org/me/shop > go.mod"
    assert setup_command(snapshot(tmp_path, files), ["go"]) == written
    files["c.go"] = 'package shop\n\nimport "example.org/you/till"\n'
    other = setup_command(snapshot(tmp_path / "other", files), ["go"])
    assert other == f"{written} && GOMODCACHE=$PWD/.deps/go GOFLAGS=-modcacherw GOTOOLCHAIN=local go mod tidy"
    del files["a_test.go"]
    assert setup_command(snapshot(tmp_path / "untested", files), ["go"]) is None


# --- Rust --------------------------------------------------------------------------------------------------------


def test_crates_that_no_test_needs_are_left_out(tmp_path: Path) -> None:
    manifest = """[package]
name = "shop"
version = "0.1.0"
[features]
default = ["std", "fast"]
std = ["serde?/std", "ryu/std"]
fast = ["dep:ryu"]
more = ["dep:serde", "std"]
[dependencies]
serde = { version = "1", optional = true }
ryu = { version = "1", optional = true }
[dev-dependencies]
criterion = "0.5"
quick-check = "1"
[[bench]]
name = "speed"
harness = false
"""
    files = {"Cargo.toml": manifest, "src/lib.rs": "", "tests/a.rs": "use quick_check::it;\n"}
    command = setup_command(snapshot(tmp_path, files), ["rust"])
    assert command is not None
    subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, check=True)
    reduced = tomllib.loads((tmp_path / "Cargo.toml").read_text())
    features = {"default": ["std", "fast"], "std": ["ryu/std"], "fast": ["dep:ryu"], "more": ["std"]}
    assert reduced["features"] == {**features, "serde": []}
    assert reduced["dependencies"] == {"ryu": {"version": "1", "optional": True}}
    assert reduced["dev-dependencies"] == {"quick-check": "1"}
    assert reduced["bench"] == [{"name": "speed", "harness": False}]
    fault = "cargo test: missing_dependency: no matching package named `ryu` found"
    step = next_setup([SetupStep("", command, fault)], snapshot(tmp_path / "again", files), ["rust"])
    assert step is not None
    assert step.command == f"{command} && mkdir -p .cargo && cargo vendor .deps/vendor > .cargo/config.toml"
    old = {"cargo test": "error: package `shop v0.1.0` cannot be built because it requires rustc 1.68 or newer, while"}
    assert "1.68: `rustup" in with_setup_hint(old, snapshot(tmp_path / "old", files), ["rust"], (), None)
    bare = {**files, "Cargo.toml": "[package]\nname = 'shop'\n[dev-dependencies]\nquick-check = '1'\n"}
    assert setup_command(snapshot(tmp_path / "bare", bare), ["rust"]) is None


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_crates_that_no_index_has_come_from_debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("librust-ryu-dev", "librust-serde-json-dev", "librust-serde-json+raw-value-dev")
    archive = DebianArchive("http://deb.example.org/a_1_all.deb", "0" * 64)
    asked: list[tuple[tuple[str, ...], int]] = []
    monkeypatch.setattr(go_and_rust, "available_packages", lambda: {*names, "cargo"})
    monkeypatch.setattr(go_and_rust, "library_archives", lambda *asks: asked.append(asks) or (archive,))
    place = ".deps/debian/usr/share/cargo/registry"
    manifest = """[package]
name = "shop"
version = "0.1.0"
[dependencies]
ryu = "3.1"
[dev-dependencies]
criterion = "0.5"
json = { package = "serde_json", version = "1.0.133", features = ["raw_value"] }
[[bench]]
name = "speed"
harness = false
"""
    files = {"Cargo.toml": manifest, "Cargo.lock": "", "src/lib.rs": "", "tests/a.rs": "use json::it;\n",
             "benches/speed.rs": "use criterion::it;\n"}  # fmt: skip
    for name, version, further in (("ryu", "1.0.2", ""), ("serde_json", "1.0.87", "[features]\nraw_value = []\n")):
        written = f'[package]\nname = "{name}"\nversion = "{version}"\n{further}'
        files |= {f"{place}/{name}/Cargo.toml": written, f"{place}/{name}/src/lib.rs": ""}
        files[f"{place}/{name}/.cargo-checksum.json"] = json.dumps({"package": "0" * 64, "files": {}})
    shop = snapshot(tmp_path, files)
    fault = "setup 'cargo vendor': failed: error: failed to get `ryu` as a dependency of package `shop v0.1.0`"
    named = setup_command(shop, ["rust"])
    vendored = next_setup([SetupStep("", named, fault)], shop, ["rust"])
    assert vendored is not None
    step = next_setup([SetupStep("", named, fault), vendored._replace(fault=fault)], shop, ["rust"])
    assert step is not None
    assert step.name == "Debian's packages of crates"
    assert [sorted(packages) for packages, _ in asked][-1] == sorted(names)
    # What is unpacked is there already: cargo then finds Debian's versions, whatever Cargo.toml requires.
    local = [part for part in str(step.command).split(" && ") if ".deps" not in part or "crates-io" in part]
    local = [part for part in local if part.startswith(("printf %s", "mkdir -p .cargo", "rm -f", "cargo "))]
    subprocess.run(["/bin/sh", "-c", " && ".join(local)], cwd=tmp_path / "project", check=True)
    locked = tomllib.loads((tmp_path / "project/Cargo.lock").read_text())["package"]
    assert {(one["name"], one["version"]) for one in locked} == {
        ("ryu", "1.0.2"), ("serde_json", "1.0.87"), ("shop", "0.1.0"),
    }  # fmt: skip
