"""Packages that a Python project installs for its tests: tox environments, nox sessions, GitHub workflows."""

from __future__ import annotations

import ast
import configparser
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from caretbench.build.projects.setup.project_tables import (
    ini_sections,
    read_ini,
    read_text,
    read_toml,
    strings,
    sub_table,
)
from caretbench.build.projects.setup.python.declared_packages import (
    LiteralNames,
    literal_texts,
    module_names,
    parsed_module,
)
from caretbench.build.projects.setup.python.need_names import (
    PythonNeeds,
    is_other_work,
    joined_needs,
    names_of_tests,
    need_rules,
)
from caretbench.execution.bundles.pip import sandbox_version
from caretbench.execution.workspaces.snapshot_store import Snapshot

_MAX_ARGUMENT_CHARACTERS: Final = 300
"""Maximum length of a requirement."""
_VERSION: Final = r"(?:[<>=!~]=?|===)\s*[\w.*+!-]+"
_REQUIREMENT: Final = re.compile(
    rf"[A-Za-z0-9][\w.-]*\s*(?:\[[\w\s.,-]*\])?\s*(?:{_VERSION}(?:\s*,\s*{_VERSION})*)?\s*(?:;.*)?"
)
_OWN: Final = re.compile(r"(?:file:)?(?:\./?|\{toxinidir\}|\{tox_root\})(?:\[(?P<extras>[\w\s.,-]*)\])?")
"""The project itself, with extras."""
_FILE: Final = re.compile(r".*/.*|.*\.(?:whl|zip|tar\.gz|tgz|txt|toml|cfg|py)")
"""A path: a folder, an archive, or what is no package's name."""
_EXPANDED: Final = re.compile(r"[$`?{]|(?<![=.])\*")
"""A word that a shell, a workflow or tox would replace."""
_PIP: Final = re.compile(r"(?:.*/)?pip[\d.]*(?:\.exe)?")
_REFERENCE: Final = re.compile(r"(?:-r|--requirements?=?)\s*(?P<path>[^\s=]\S*)")
_FILE_OPTIONS: Final = frozenset({"-r", "--requirement", "--requirements"})


# Long: one case for each kind of argument.
def pip_arguments(words: Sequence[str]) -> PythonNeeds:
    """Return what arguments of ``pip install`` name; nothing if one of them leaves the index or is not literal.

    The project itself is not installed, but its extras count. Archives, addresses and folders do not count.
    """
    rules = need_rules()
    packages: list[str] = []
    extras: list[str] = []
    groups: list[str] = []
    waiting = iter(words)
    for word in waiting:
        option, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
        reference = _REFERENCE.fullmatch(word)
        if option in _FILE_OPTIONS or reference:
            path = reference["path"] if reference else next(waiting, "")
            packages += [f"-r {path}"] if path and not _EXPANDED.search(path) else []
        elif option == "--group":
            groups.append(value or next(waiting, ""))
        elif option == "--extra":
            extras.append(value or next(waiting, ""))
        elif option in rules.pip.valued:
            _ = value or next(waiting, "")
        elif option in {"-e", "--editable", *rules.pip.plain}:
            continue
        elif own := _OWN.fullmatch(word):
            extras += [extra.strip() for extra in (own["extras"] or "").split(",")]
        elif word.startswith("-") or _EXPANDED.search(word) or "://" in word or "@" in word.partition(";")[0]:
            return PythonNeeds()
        elif len(word) <= _MAX_ARGUMENT_CHARACTERS and not _FILE.fullmatch(word) and _REQUIREMENT.fullmatch(word):
            packages.append(word)
    return PythonNeeds(tuple(packages), tuple(filter(None, extras)), tuple(filter(None, groups)))


def installer_needs(line: str) -> PythonNeeds:
    """Return what the literal calls of installers in a line of a shell script name."""
    return joined_needs(_of_command(command) for command in _commands(line))


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the commands of a line, as words."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
    reader.whitespace_split = True
    try:
        words = list(reader)
    except ValueError:  # an open quotation
        return
    for joins, command in itertools.groupby(words, lambda word: re.fullmatch(r"[;&|()]+", word) is not None):
        if not joins:
            yield list(command)


def _of_command(words: Sequence[str]) -> PythonNeeds:
    for position in range(len(words) - 1):
        if _PIP.fullmatch(words[position]) and words[position + 1] == "install":
            return pip_arguments(words[position + 2 :])
        for installer, options in need_rules().installers.items():
            if installer.split() == [words[position], words[position + 1]]:
                return _installer_arguments(words[position + 2 :], options)
    return PythonNeeds()


def _installer_arguments(words: Sequence[str], options: Mapping[str, str]) -> PythonNeeds:
    by_kind: dict[str, list[str]] = {"extra": [], "group": []}
    waiting = iter(words)
    for word in waiting:
        option, _, value = word.partition("=")
        if option in options:
            named = value or next(waiting, "")
            by_kind[options[option]] += re.split(r"[\s,]+", named) if not _EXPANDED.search(named) else []
    return PythonNeeds((), tuple(filter(None, by_kind["extra"])), tuple(filter(None, by_kind["group"])))


_INSTALLING_RUNS: Final = frozenset({"run", "run_always", "run_install"})
Session = ast.FunctionDef | ast.AsyncFunctionDef


def nox_needs(snapshot: Snapshot) -> PythonNeeds:
    """Return what test sessions install: those named after tests, else those that call a test runner."""
    module = parsed_module(read_text(snapshot, "noxfile.py"))
    if module is None:
        return PythonNeeds()
    names = module_names(module)
    sessions = dict(_sessions(module))
    chosen = names_of_tests(sessions) or [
        name for name, session in sessions.items() if not is_other_work(name) and _calls_runner(session, names)
    ]
    return joined_needs(needs for name in chosen for needs in _session_needs(sessions[name], names))


def _sessions(module: ast.Module) -> Iterator[tuple[str, Session]]:
    for statement in module.body:
        if not isinstance(statement, Session) or not statement.args.args:
            continue
        for decorator in statement.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            if _last_name(call.func if call else decorator) == "session":
                values = (keyword.value for keyword in call.keywords if keyword.arg == "name") if call else ()
                named = [value.value for value in values if isinstance(value, ast.Constant)]
                yield str(named[0]) if named else statement.name, statement


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _calls(session: Session) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of methods of a session, with their names."""
    session_name = session.args.args[0].arg
    for node in ast.walk(session):
        if not isinstance(node, ast.Call):
            continue
        method = node.func
        if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.value.id == session_name:
            yield method.attr, node


def _calls_runner(session: Session, names: LiteralNames) -> bool:
    lines = (" ".join(_words(call, names)) for method, call in _calls(session) if method in _INSTALLING_RUNS)
    return any(need_rules().runner.search(line) for line in lines)


def _words(call: ast.Call, names: LiteralNames) -> list[str]:
    return [text for argument in call.args for text in literal_texts(argument, names)]


def _session_needs(session: Session, names: LiteralNames) -> Iterator[PythonNeeds]:
    for method, call in _calls(session):
        words = _words(call, names)
        if method == "install":
            yield pip_arguments(words)
            yield PythonNeeds(groups=tuple(_group_calls(call, names)))
        elif method in _INSTALLING_RUNS:
            yield installer_needs(" ".join(f"'{word}'" for word in words if "'" not in word))


def _group_calls(call: ast.Call, names: LiteralNames) -> Iterator[str]:
    """Yield the groups of ``nox.project.dependency_groups(table, "group")`` among the arguments of a call."""
    for node in (inner for argument in call.args for inner in ast.walk(argument)):
        if isinstance(node, ast.Call) and _last_name(node.func) == "dependency_groups":
            yield from (text for argument in node.args[1:] for text in literal_texts(argument, names))


_BASE: Final = "testenv"
_REFERRED: Final = re.compile(r"\{\[(?P<section>[^\]]+)\](?P<option>\w+)\}")
_ROOT: Final = re.compile(r"\{(?:toxinidir|tox_root)\}/?")
_FACTORS: Final = re.compile(r"(?P<factors>[\w.,!{}+-]+)\s*:\s+(?P<rest>\S.*)")
_MAX_REFERENCES: Final = 8
"""Maximum number of options that are read for one."""
# Factors of tox multiply: `{a,b}{c,d}…` of a stranger's file could make millions of names.
_MAX_FACTORS: Final = 64


def tox_needs(snapshot: Snapshot) -> PythonNeeds:
    """Return what the environments for tests need: the common one, and those that are named after tests.

    If these name nothing, environments count that call a test runner.
    """
    tox = sub_table(sub_table(read_toml(snapshot, "pyproject.toml"), "tool"), "tox")
    legacy = tox.get("legacy_tox_ini")
    parsers = (read_ini(snapshot, "tox.ini"), read_ini(snapshot, "setup.cfg"), ini_sections(str(legacy or "")))
    tables = (read_toml(snapshot, "tox.toml"), tox)
    return joined_needs([*map(_of_ini, parsers), *map(_of_toml, tables)])


def _of_ini(parser: configparser.ConfigParser) -> PythonNeeds:
    named = {name.partition(":")[2]: name for name in parser.sections() if name.startswith(f"{_BASE}:")}
    chosen = [_BASE, *(named[name] for name in names_of_tests(named))]
    needs = joined_needs(_of_section(parser, section) for section in chosen)
    if needs:
        return needs
    others = [
        section
        for name, section in named.items()
        if not is_other_work(name) and need_rules().runner.search("\n".join(_lines(parser, section, "commands")))
    ]
    return joined_needs(_of_section(parser, section) for section in others)


def _of_section(parser: configparser.ConfigParser, section: str) -> PythonNeeds:
    def values(option: str) -> list[str]:
        lines = (line for line in _lines(parser, section, option) if "{" not in line)
        return [word for line in lines for word in re.split(r"[\s,]+", line) if word]

    groups = (*values("dependency_groups"), *values("dependency-groups"))
    needs = [PythonNeeds(extras=tuple(values("extras")), groups=groups)]
    needs += [_of_line(line) for line in _lines(parser, section, "deps")]
    commands = (line for option in ("commands_pre", "commands") for line in _lines(parser, section, option))
    return joined_needs([*needs, *map(installer_needs, commands)])


def _of_line(line: str) -> PythonNeeds:
    """Return what one line of ``deps`` names: a requirement, a file with some, or the project with extras."""
    option = re.fullmatch(r"(-[a-z]|--[a-z]+)[\s=]*(\S+)", line)
    return pip_arguments(option.groups() if option else [line])


def _lines(
    parser: configparser.ConfigParser, section: str, option: str, seen: Sequence[tuple[str, str]] = ()
) -> Iterator[str]:
    """Yield the lines of an option that count here, with those of options that they refer to."""
    options = [*seen, (section, option)]
    if len(options) > _MAX_REFERENCES or options[-1] in seen or not parser.has_option(section, option):
        return
    text = re.sub(r"\\\n\s*", " ", parser.get(section, option))
    for whole in text.splitlines():
        line = re.sub(r"(?:^|\s)#.*", "", whole).strip()
        factors = _FACTORS.fullmatch(line)
        if factors and not _applies(factors["factors"]):
            continue
        rest = factors["rest"] if factors else line
        referred = _REFERRED.fullmatch(rest)
        if referred:
            yield from _lines(parser, referred["section"], referred["option"], options)
            options.append((referred["section"], referred["option"]))
        elif rest:
            yield _ROOT.sub("", rest)


def _applies(condition: str) -> bool:
    """Return whether an environment for tests with the sandbox's Python may fulfil a condition of factors."""
    return any(all(map(_is_here, factors.split("-"))) for factors in _alternatives(condition))


def _alternatives(condition: str) -> list[str]:
    """Return the alternatives of a condition: ``{a,b}-c,d`` gives a-c, b-c and d."""
    parts = re.split(r",(?![^{]*\})", condition)
    alternatives: list[str] = []
    for part in parts:
        choices = [piece.strip("{}").split(",") for piece in re.findall(r"\{[^}]*\}|[^{}]+", part)]
        alternatives += map("".join, itertools.islice(itertools.product(*choices), _MAX_FACTORS))
    return alternatives


def _is_here(factor: str) -> bool:
    version = sandbox_version()
    this_python = {"py", "python", "cpython", *(f"py{'.'.join(map(str, version[:n]))}" for n in (1, 2))}
    this_python |= {name.replace(".", "") for name in this_python}
    if factor.startswith("!"):
        return factor[1:] not in this_python and not names_of_tests([factor[1:]])
    return factor in this_python or bool(names_of_tests([factor]))


def _of_toml(table: Mapping[str, object]) -> PythonNeeds:
    environments = sub_table(table, "env")
    chosen = [sub_table(table, "env_run_base")]
    chosen += [sub_table(environments, name) for name in names_of_tests(environments)]
    return joined_needs(_of_environment(environment) for environment in chosen)


def _of_environment(table: Mapping[str, object]) -> PythonNeeds:
    extras, groups = strings(table.get("extras")), strings(table.get("dependency_groups"))
    stated = table.get("deps")
    lines = stated.splitlines() if isinstance(stated, str) else strings(stated)
    deps = (_of_line(_ROOT.sub("", line.strip())) for line in lines if line.strip())
    return joined_needs([PythonNeeds(extras=tuple(extras), groups=tuple(groups)), *deps])


_WORKFLOW: Final = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_KEY: Final = re.compile(r"(?P<indent> +)(?P<name>['\"]?[\w-]+['\"]?):\s*(?:#.*)?")
_RUN_LINE: Final = re.compile(r"\s*(?:-\s+)?run:\s*(?:[|>][-+\d]*\s*)?(?P<rest>.*)")
_QUOTED: Final = re.compile(r"(['\"])(.*)\1")
_MAX_WORKFLOW_CHARACTERS: Final = 500_000


def workflow_needs(snapshot: Snapshot) -> PythonNeeds:
    """Return what installation commands in jobs with a test runner name."""
    paths = sorted(path for path in snapshot.entries if _WORKFLOW.fullmatch(path))
    texts = ((read_text(snapshot, path) or "")[:_MAX_WORKFLOW_CHARACTERS] for path in paths)
    return joined_needs(needs for text in texts for name, job in _jobs(text) for needs in _job_needs(name, job))


def _jobs(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield name and lines of each job."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if re.fullmatch(r"jobs:\s*(?:#.*)?", line)), len(lines))
    indent, name, job = "", "", list[str]()
    for line in lines[start + 1 :]:
        if line.strip() and not line.startswith((" ", "#")):
            break
        key = _KEY.fullmatch(line)
        indent = indent or (key["indent"] if key else "")
        if key and key["indent"] == indent:
            yield name, job
            name, job = key["name"].strip("'\""), []
        elif not line.lstrip().startswith("#"):
            job.append(line)
    yield name, job


def _job_needs(name: str, job: list[str]) -> Iterator[PythonNeeds]:
    if is_other_work(name) or need_rules().ci_runner.search("\n".join(job)) is None:
        return
    for line in re.sub(r"\\\n\s*", " ", "\n".join(job)).splitlines():
        run_line = _RUN_LINE.fullmatch(line)
        command = run_line["rest"] if run_line else line.strip()
        quoted = _QUOTED.fullmatch(command)
        yield installer_needs(quoted[2] if quoted else command)
