"""Secrets, names of persons and addresses in what a release passes on: programs with their tests, and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from caretbench.build.validation.private_texts import private_texts
from caretbench.people.releases.built_set import PROBLEMS_FILE, BuiltSet
from caretbench.problem import Caret, InlineSplice, Problem
from caretbench.suites.devbench.built_instances import INSTANCES_FILE
from caretbench.suites.devbench.starter import CLOSING, OPENING


class PrivateFind(NamedTuple):
    """One private text of a problem: its place with the line, and the kind of text in words. It is not quoted."""

    place: str
    description: str
    is_secret: bool


def private_finds(built: BuiltSet, problems: Sequence[Problem]) -> dict[str, list[PrivateFind]]:
    """Return the private texts of problems by id; problems without one are not listed."""
    found = {one.id: list(_finds(built, one)) for one in problems}
    return {name: finds for name, finds in found.items() if finds}


def _finds(built: BuiltSet, problem: Problem) -> Iterator[PrivateFind]:
    seen = set()
    for place, text in released_texts(built, problem):
        for one in private_texts(text):
            if one.text not in seen:  # a program's texts are in several fields
                seen.add(one.text)
                line = text.count("\n", 0, one.start) + 1
                yield PrivateFind(f"{place}:{line}", one.description, one.is_secret)


def released_texts(built: BuiltSet, problem: Problem) -> Iterator[tuple[str, str]]:
    """Yield the texts of a problem that a release passes on, each with its place.

    These are its files without the marks, or the program and every field of its row; and every field of its row in
    ``instances.jsonl``, the justification among them.
    """
    for path in built.source_paths(problem):
        yield path, (built.root / path).read_text("utf-8-sig").replace(OPENING, "").replace(CLOSING, "")
    if built.as_rows:
        place = f"{PROBLEMS_FILE}, {problem.id}"
        yield f"{place}, program", _program(problem)
        yield from _strings(place, problem.model_dump(mode="json"))
    if (row := built.row(problem)) is not None:
        yield from _strings(f"{INSTANCES_FILE}, {problem.id}", row.model_dump(mode="json"))


def _program(problem: Problem) -> str:
    if isinstance(problem.splice, InlineSplice):
        return problem.splice.program(problem.reference)
    shown = problem.shown
    return f"{shown.prefix}{problem.reference}{shown.suffix}" if isinstance(shown, Caret) else shown.text


def _strings(place: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the texts within a value, each with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _strings(f"{place}, {name}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(place, inner)
