"""Programs of the ``paper`` profile: released fields joined as the released code joins them, including its bugs.

Source: behaviour of the released ``execute_benchmark.py`` (commit b22ecf8). The data are in ``paper.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

_NAMESPACE = re.compile(r"namespace\s+([\w.]+)")


@cache
def _settings() -> dict[str, Any]:
    text = resources.files("caretbench.suites.devbench").joinpath("paper.toml").read_text("utf-8")
    return tomllib.loads(text)


def _scripted(language: str, released: Mapping[str, str], completion: str) -> str:
    """Join a program of Python, JavaScript or TypeScript: always newlines between parts, then the assertions."""
    settings = _settings()[language]
    body = "\n".join((released["prefix"], completion, released["suffix"]))
    program = f"{body}\n\n{settings['assertions_mark']}\n{released['assertions']}\n"
    header = settings.get("header")
    return f"{header}\n\n{program}" if header else program


def _compiled(released: Mapping[str, str], completion: str) -> str:
    """Join a program of Java, C++ or C#: a newline if neither side has one; then the suffix loses leading blanks."""
    prefix, suffix = released["prefix"], released["suffix"]
    if prefix.endswith("\n") or completion.startswith("\n"):
        return prefix + completion + suffix
    return prefix.rstrip() + "\n" + completion + suffix.lstrip()


def _cpp(released: Mapping[str, str], completion: str) -> str:
    """Join a C++ program: a header goes first if its bare name occurs nowhere; without ``int main(`` it is wrapped."""
    headers = _settings()["cpp"]["headers"]
    program = _compiled(released, completion)
    program = _includes(name for name in headers if name not in program) + program
    if "int main(" not in program:
        return f"{_includes(headers)}int main() {{\n{program}\n{released['assertions']}\nreturn 0;\n}}\n"
    if released["assertions"].strip():
        head, found, tail = program.rpartition("return ")
        if found:
            program = f"{head}{released['assertions']}\n{found}{tail}"
    return program


def _includes(names: Iterable[str]) -> str:
    return "".join(f"#include <{name}>\n" for name in names)


def csharp_variant(program: str) -> str | None:
    """Return ``release`` if the released runner would build the program with ``-c Release``, else None."""
    settings = _settings()["csharp"]
    namespace = _NAMESPACE.search(program)  # of several, the first one decides
    names = namespace[1] if namespace else ""
    marked = any(mark in program for mark in settings["release_marks"])
    return "release" if marked or any(name in names for name in settings["release_namespaces"]) else None


def paper_program(language: str, released: Mapping[str, str], completion: str | None) -> str | None:
    """Return the program that the released runner would execute.

    A null completion is the text ``None`` in scripted languages. In compiled ones the released code raises an
    exception; here the result is None, a failure without execution.
    """
    if language in ("python", "javascript", "typescript"):
        return _scripted(language, released, "None" if completion is None else completion)
    if completion is None:
        return None
    return (_cpp if language == "cpp" else _compiled)(released, completion)
