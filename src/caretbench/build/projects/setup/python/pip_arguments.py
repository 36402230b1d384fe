"""Arguments of installers in a project's files: ``pip install`` and others, with literal words only."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from caretbench.build.projects.setup.python.need_names import PythonNeeds, joined_needs, need_rules

_MOST_CHARACTERS: Final = 300
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
_EDITABLE: Final = frozenset({"-e", "--editable"})


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
        elif option in rules.pip_valued:
            _ = value or next(waiting, "")
        elif option in _EDITABLE or option in rules.pip_plain:
            continue
        elif own := _OWN.fullmatch(word):
            extras += [one.strip() for one in (own["extras"] or "").split(",")]
        elif word.startswith("-") or _EXPANDED.search(word) or "://" in word or "@" in word.partition(";")[0]:
            return PythonNeeds()
        elif len(word) <= _MOST_CHARACTERS and not _FILE.fullmatch(word) and _REQUIREMENT.fullmatch(word):
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
    command: list[str] = []
    for word in words:
        if re.fullmatch(r"[;&|()]+", word):
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _of_command(words: Sequence[str]) -> PythonNeeds:
    for position in range(len(words) - 1):
        if _PIP.fullmatch(words[position]) and words[position + 1] == "install":
            return pip_arguments(words[position + 2 :])
        for installer, options in need_rules().installers.items():
            if installer.split() == [words[position], words[position + 1]]:
                return _installer_arguments(words[position + 2 :], options)
    return PythonNeeds()


def _installer_arguments(words: Sequence[str], options: Mapping[str, str]) -> PythonNeeds:
    found: dict[str, list[str]] = {"extra": [], "group": []}
    waiting = iter(words)
    for word in waiting:
        option, _, value = word.partition("=")
        if option in options:
            named = value or next(waiting, "")
            found[options[option]] += re.split(r"[\s,]+", named) if not _EXPANDED.search(named) else []
    return PythonNeeds((), tuple(filter(None, found["extra"])), tuple(filter(None, found["group"])))
