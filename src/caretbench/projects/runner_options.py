"""Options of test runners, also those of scripts in ``package.json``: selection, order, outcomes and reach of tests."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from caretbench.execution.sandbox.program_sandbox import WORK
from caretbench.execution.workspaces.project_tools import JAVA_EXCLUDED, runs_java_tests
from caretbench.execution.workspaces.workspace_runner import WorkspaceRequest
from caretbench.files import read_packaged_toml
from caretbench.problem import Row

TOOLS_FOLDER: Final = ".caretbench-tools"
"""Folder of the plugin files, in the sandbox's copy of the project."""
SELECTED_TESTS: Final = f"{TOOLS_FOLDER}/tests.json"
_EXCLUDED: Final = f"{TOOLS_FOLDER}/excluded.json"
_PYTEST: Final = "caretbench_tests"
OPTIONS_PLUGIN: Final = "caretbench_options"
UNITTEST_PLUGIN: Final = "sitecustomize"
STARTS_PYTEST = re.compile(r"(?:^|[\s/;&])(?:pytest|py\.test)(?=$|[\s;&])")
_STARTS_PYTHON = re.compile(r"(?:^|[\s/;&])python[\d.]*(?=\s)")


def runs_pytest(command: Sequence[str]) -> bool:
    """Return whether a command starts pytest, directly or by a shell."""
    return STARTS_PYTEST.search(" ".join(command)) is not None


def without_shuffling(request: WorkspaceRequest) -> WorkspaceRequest:
    """Return the request with pytest's random order plugin disabled, and with the plugin for options if it names it."""
    if not runs_pytest(request.command):
        return request
    options = _and_option(request, "-p no:randomly")
    request = request.model_copy(update={"environment": {**request.environment, "PYTEST_ADDOPTS": options}})
    return with_tools(request, OPTIONS_PLUGIN, {}, {}) if OPTIONS_PLUGIN in " ".join(request.command) else request


def with_selected_tests(request: WorkspaceRequest, tests: Sequence[str]) -> WorkspaceRequest:
    """Return a pytest request that runs only some tests, by their ids, in pytest's order.

    A missing test is an error, so that an answer cannot remove tests.
    """
    patch = {SELECTED_TESTS: json.dumps(list(tests)).encode()}
    return with_plugin(request, {"CARETBENCH_TESTS": f"{WORK}/{SELECTED_TESTS}"}, patch)


def with_plugin_settings(
    request: WorkspaceRequest, variables: Mapping[str, str], patch: Mapping[str, bytes]
) -> WorkspaceRequest | None:
    """Return the request with settings of the plugin for its runner, pytest or unittest; None for another runner."""
    if runs_pytest(request.command):
        return with_plugin(request, variables, patch)
    if _STARTS_PYTHON.search(" ".join(request.command)):
        return with_tools(request, UNITTEST_PLUGIN, variables, patch)
    return None


def with_plugin(
    request: WorkspaceRequest, variables: Mapping[str, str], patch: Mapping[str, bytes] | None = None
) -> WorkspaceRequest:
    """Return the request with the plugin for pytest, its variables and its files."""
    variables = {**variables, "PYTEST_ADDOPTS": _and_option(request, f"-p {_PYTEST}")}
    return with_tools(request, _PYTEST, variables, patch or {})


def _and_option(request: WorkspaceRequest, option: str) -> str:
    options = request.environment.get("PYTEST_ADDOPTS", "")
    return options if f" {options} ".find(f" {option} ") >= 0 else f"{options} {option}".strip()


def with_tools(
    request: WorkspaceRequest, module: str, variables: Mapping[str, str], patch: Mapping[str, bytes]
) -> WorkspaceRequest:
    """Return the request with a module of ``projects/inside``, variables, and files of the project."""
    return request.model_copy(
        update={
            "environment": {**request.environment, **variables},
            "patch": {**request.patch, f"{TOOLS_FOLDER}/{module}.py": _text(module), **patch},
            "python_path": tuple(dict.fromkeys((TOOLS_FOLDER, *request.python_path))),
        }
    )


@cache
def _text(module: str) -> bytes:
    return resources.files("caretbench.projects").joinpath(f"inside/{module}.py").read_bytes()


_ASSIGNS = re.compile(r"\w+=")
SHELL_JOINS = re.compile(r"[|;<>]")
SEARCH_PATH: Final = 'export PATH="$PWD/node_modules/.bin:$PATH"; '
"""Beginning of a script's command: programs of installed packages are found."""
AND: Final = re.compile(r"\s*&&\s*")
_INSTALLED = re.compile(r"node_modules/(?:\.bin/)?([\w-]+)")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_NO_WORD: Final = "[^A-Za-z0-9_]"
_FILE: Final = re.compile(r"^\S*\.[cm]?[jt]sx?::")
_TEST_FILES: Final = re.compile(r"[*/]|\.[cm]?[jt]sx?$")
"""Word of a command that is a path or a pattern of paths."""
_WITH_MODULE: Final = frozenset({"-r", "--require", "--import", "--loader", "--file", "-c", "--config"})
"""Options before the path of a module that is no test file."""
_MAX_PATTERN: Final = 60_000
"""Maximum length of a pattern of names; the kernel accepts arguments of twice that."""


class ScriptRunner(Row):
    """Test runner of scripts; ``package_scripts.toml`` explains the fields."""

    options: str = ""
    options_before_version: Mapping[int, str] = {}
    options_with_package: Mapping[str, str] = {}
    bail: str = ""
    dropped: tuple[str, ...] = ()
    report: str = ""
    report_file: str = ".caretbench-junit.xml"
    cache: str = ""
    without: str = ""
    without_each: str = ""
    without_suites: bool = False
    takes_files: bool = False


class ScriptRules(Row):
    """The rules of ``package_scripts.toml``."""

    check_commands: tuple[str, ...]
    wrapper_commands: frozenset[str]
    coverage_commands: frozenset[str]
    builtin_commands: frozenset[str]
    other_script_names: str
    unneeded_packages: tuple[str, ...]
    unpublished_packages: tuple[str, ...]
    tap_printers: str
    aliases: Mapping[str, str]
    runners: Mapping[str, ScriptRunner]


@cache
def script_rules() -> ScriptRules:
    """Return the rules for scripts."""
    return ScriptRules.model_validate(read_packaged_toml("caretbench.projects", "package_scripts.toml"))


def program_words(part: str) -> list[str]:
    """Return the words of a command from its actual program on, without programs that start it and assignments."""
    try:
        words = shlex.split(part)
    except ValueError:
        words = part.split()
    rules = script_rules()
    at = 0
    while at < len(words) - 1 and (
        words[at] in rules.wrapper_commands
        or _ASSIGNS.match(words[at])
        or (at and words[at].startswith("-") and words[0] in rules.wrapper_commands)
    ):
        at += 1
    if words and words[0] in rules.coverage_commands:  # its options may have values
        at = next((n for n in range(at, len(words)) if _known_name(words[n:])), at)
    return words[at:]


def runner_name(part: str) -> str | None:
    """Return the name of the runner that a command starts; None if it starts no known one."""
    return _known_name(program_words(part))


def _known_name(words: Sequence[str]) -> str | None:
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    if name in {"node", "tsx", "ts-node"}:
        if name != "ts-node" and "--test" in words:
            return "node"
        name = next((match[1] for match in map(_INSTALLED.search, words[1:]) if match), "")
    name = script_rules().aliases.get(name, name)
    return name if name in script_rules().runners else None


def add_runner_options(name: str, part: str, options: str) -> str:
    """Return a part of a command with options of its runner, before what belongs to a file or script."""
    if not options:
        return part
    if name == "node":  # arguments after a file belong to the file
        return re.sub(r"(?<=\s)--test(?=\s|$)", lambda _: f"--test {options}", part, count=1)
    before, separator, after = part.partition(" -- ")
    return f"{before} {options}{separator}{after}"


def with_test_files(command: Sequence[str], files: Sequence[str], every: Sequence[str] = ()) -> tuple[str, ...] | None:
    """Return a shell's command whose runners run only some test files; None if one cannot.

    ``every`` are all test files of the project: paths and patterns of them in the command are removed. None, too, if it
    names other files.
    """
    line = command[2] if len(command) == 3 and command[1] == "-c" else ""
    changed = change_parts(line, lambda part: _with_files(part, files, every) if runner_name(part) else part)
    return None if changed in {None, line} else (*command[:2], str(changed))


def _with_files(part: str, files: Sequence[str], every: Sequence[str]) -> str | None:
    name = runner_name(part)
    if name is None or not script_rules().runners[name].takes_files or SHELL_JOINS.search(part):
        return None
    words = [""]
    for word in part.split():
        pattern = word.strip("'\"").removeprefix("./").rstrip("/")
        has_paths = any(fnmatchcase(path, pattern) or path.startswith(f"{pattern}/") for path in every)
        if not has_paths or words[-1] in _WITH_MODULE:
            words.append(word)
    left = program_words(" ".join(words))
    named = (
        word
        for before, word in pairwise(left)
        if not (word.startswith("-") or before.startswith("--") or before in _WITH_MODULE)
    )
    return None if any(map(_TEST_FILES.search, named)) else " ".join((*words[1:], shlex.join(files)))


def change_parts(line: str, change: Callable[[str], str | None]) -> str | None:
    """Return a shell command with changed parts; None if one of them cannot be changed."""
    prefix = SEARCH_PATH if line.startswith(SEARCH_PATH) else ""
    changed = [change(part) for part in AND.split(line.removeprefix(prefix))]
    return None if None in changed else prefix + " && ".join(filter(None, changed))


def _without_tests(part: str, names: Sequence[str]) -> str | None:
    name = runner_name(part)
    runner = script_rules().runners[name] if name else None
    if runner is None or name is None or SHELL_JOINS.search(part):
        return None
    if runner.without_each:
        options = " ".join(runner.without_each.replace("{name}", _wildcards(test)) for test in names)
        return None if len(options) > _MAX_PATTERN else add_runner_options(name, part, options)
    option = re.match(r"-+[\w-]+", runner.without)
    if option is None or re.search(rf"\s{option[0]}(?=[\s=])", part):
        return None
    test_names = [_FILE.sub("", test) for test in names]
    if runner.without_suites:
        test_names = _with_suites(test_names)
    patterns = [_name_pattern(test) for test in test_names]
    if not all(patterns):
        return None
    text = runner.without.replace("{pattern}", "|".join(dict.fromkeys(patterns)))
    return None if len(text) > _MAX_PATTERN else add_runner_options(name, part, text)


def _with_suites(names: Iterable[str]) -> list[str]:
    """Return the names of tests and of the suites around them: a suite that is selected runs all its tests."""
    with_suites: list[str] = []
    for name in names:
        suites, _, title = name.rpartition("::")
        with_suites += [title, *(suite for suite in suites.split(" > ") if suite and suite != "test")]
    return with_suites


def _name_pattern(name: str) -> str:
    """Return a regular expression, without quotes, for a name: its words, with any other characters between them."""
    words = _WORD.findall(name)
    return f"{_NO_WORD}*{f'{_NO_WORD}+'.join(words)}{_NO_WORD}*" if words else ""


def _wildcards(name: str) -> str:
    """Return a name as a wildcard pattern without characters of the shell; the file before it may be missing."""
    title = name.partition(" › ")[2] or name  # noqa: RUF001  the separator of ava
    return "*" + re.sub(r"[^A-Za-z0-9_ ]+", "*", title)


PARAMETERS = re.compile(r"[\[(].*", re.DOTALL)


def with_excluded_tests(request: WorkspaceRequest, names: Sequence[str]) -> WorkspaceRequest | None:
    """Return the request without the tests of these names; None if its runner has no such option."""
    if not names:
        return request
    # By pytest's ids or unittest's names.
    all_names = {*names, *json.loads(request.patch.get(_EXCLUDED) or b"[]")}
    patch = {_EXCLUDED: json.dumps(sorted(all_names)).encode()}
    by_plugin = with_plugin_settings(request, {"CARETBENCH_EXCLUDED": f"{WORK}/{_EXCLUDED}"}, patch)
    if by_plugin is not None:
        return by_plugin
    if runs_java_tests(request.command):
        # A variable, so that the preparing command leaves out the same files.
        plain = sorted({PARAMETERS.sub("", name) for name in names})
        environment = {**request.environment, JAVA_EXCLUDED: "\n".join(plain)}
        return request.model_copy(update={"environment": environment})
    command = without_tests(request.command, names)
    return None if command is None else request.model_copy(update={"command": command})


def without_tests(command: Sequence[str], names: Sequence[str]) -> tuple[str, ...] | None:
    """Return a command that excludes tests (``CLASS::NAME``); None if its runner has no such option.

    Under CTest only the last part of the name counts: a test of the same name in another class is excluded too.
    """
    by_shell = len(command) == 3 and command[1] == "-c"
    line = command[2] if by_shell else shlex.join(command)
    # By the words of their names, so tests whose names differ only in other characters are excluded too.
    changed = change_parts(line, lambda part: _without_tests(part, names) if runner_name(part) else part)
    if changed is not None and changed != line:
        return ("/bin/sh", "-c", changed)
    short = sorted({PARAMETERS.sub("", name).rpartition("::")[2] for name in names})
    if not all(short):
        return None
    last = _LAST_COMMAND.split(" ".join(command))[-1].split()
    runner = PurePosixPath(last[0]).name if last else ""
    options = _EXCLUDING[runner](last, short) if runner in _EXCLUDING else None
    if options is None:
        return None
    return (*command[:2], f"{command[2]} {shlex.join(options)}") if by_shell else (*command, *options)


def _ctest(words: Sequence[str], names: Sequence[str]) -> Sequence[str] | None:
    if not {"-E", "--exclude-regex"}.isdisjoint(words):
        return None
    return ("-E", f"^({'|'.join(map(re.escape, names))})$")


def _ruby(words: Sequence[str], names: Sequence[str]) -> Sequence[str] | None:
    """Return one more script behind the one that loads the tests: methods that are gone do not run."""
    if "-e" not in words or not all("#" in name for name in names):
        return None
    quoted = ", ".join("'" + re.sub(r"([\\'])", r"\\\1", name) + "'" for name in names)
    gone = "c.send(:undef_method, m) if c.to_s.split('::').last == o && c.method_defined?(m)"
    return ("-e", f"[{quoted}].each {{ |n| o, m = n.split('#', 2); ObjectSpace.each_object(Class) {{ |c| {gone} }} }}")


_LAST_COMMAND = re.compile(r"&&|\|\||;|-c ")
_EXCLUDING: Mapping[str, Callable[[Sequence[str], Sequence[str]], Sequence[str] | None]] = {
    "ctest": _ctest,
    "ruby": _ruby,
}
"""From the words of a runner's command, and names, to options that exclude them. pytest and unittest have plugins."""
