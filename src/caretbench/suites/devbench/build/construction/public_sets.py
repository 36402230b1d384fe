"""Public sets in which twins of new instances are searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from caretbench.build.sources.humaneval_infilling import HUMANEVAL_INFILLING, multi_line_file
from caretbench.build.validation.texts.twins import TwinIndex
from caretbench.errors import DataError
from caretbench.files import read_lines
from caretbench.problem import Problem
from caretbench.suites.devbench import released_problems, starter
from caretbench.suites.devbench.pull import released_folder

NO_SET = "none"


def add_public_sets(index: TwinIndex, names: Sequence[str]) -> list[str]:
    """Add the programs of public sets to an index; return a line for each set.

    Args:
        index: The index.
        names: ``starter``, ``released``, ``humaneval-infilling``, ``none``, or folders of problems; empty: the starter
            set, and of the others those that are in the cache.

    Raises:
        DataError: a set is not there, or malformed.
    """
    lines = []
    for name in names or _present():
        if name == NO_SET:
            continue
        count = 0
        for identity, language, group, text in _programs(name):
            index.add(f"{name}:{identity}", language, group, text)
            count += 1
        lines.append(f"twins are searched in {count} programs of {name}")
    return lines


def _present() -> Iterator[str]:
    yield "starter"
    for name in ("released", HUMANEVAL_INFILLING):
        try:
            next(_programs(name))
        except (DataError, StopIteration):
            continue
        yield name


def _programs(name: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield id, language, group and text of the programs of a set."""
    if name == HUMANEVAL_INFILLING:
        yield from _functions()
        return
    for problem in _problems(name):
        caret = problem.caret
        group = f"{caret.language}/{problem.labels.get('category', '')}"
        yield problem.id, caret.language, group, caret.prefix + problem.reference + caret.suffix


def _problems(name: str) -> list[Problem]:
    if name == "starter":
        return starter.load(starter.starter_root())
    if name == "released":
        return released_problems.load(released_folder())
    folder = Path(name)
    if not folder.is_dir():
        raise DataError(f"--compare {name}: expected starter, released, humaneval-infilling, none, or a folder")
    return starter.load(folder, source=folder.name)


def _functions() -> Iterator[tuple[str, str, str, str]]:
    """Yield the functions of HumanEval-Infilling, each once."""
    seen = set()
    for _, row in read_lines(multi_line_file()):
        identity = "/".join(str(row["task_id"]).split("/")[1:3])
        if identity not in seen:
            seen.add(identity)
            yield identity, "python", "", f"{row['prompt']}{row['canonical_solution']}{row['suffix']}"
