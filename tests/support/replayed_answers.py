"""Written answers of the replayed generator: the instances of ``tests/devbench_answers`` and of the starter set."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from caretbench.languages import get_language
from caretbench.problem import InlineSplice, Problem
from caretbench.suites.devbench import starter
from caretbench.suites.devbench.build.construction.scenario_grid import scenario
from caretbench.suites.devbench.build.instance_rules.instance_checks import rule_faults
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView
from caretbench.suites.devbench.build.instance_rules.rule_measures import RULE_MEASURES
from caretbench.suites.devbench.cells.cell_tables import cell_categories
from tests.support.replayed_generator import FAULTS

ANSWERS = Path(__file__).parents[1] / "devbench_answers"
_PROGRAM = Path(__file__).with_name("replayed_generator.py")


def written_answers() -> list[Problem]:
    """The new instances, then those of the starter set."""
    return [*starter.load(ANSWERS, source="answers"), *starter.load(starter.starter_root())]


def answer_of(problem: Problem) -> dict[str, str]:
    """The fields of an answer that holds a problem."""
    assert isinstance(problem.splice, InlineSplice)
    name = problem.id.rpartition("/")[2]
    return {
        "name": name,
        "prefix": problem.caret.prefix,
        "reference": problem.reference,
        "suffix": problem.caret.suffix,
        "tests": problem.splice.after.removeprefix(problem.caret.suffix),
        "library": _library(problem),
        "justification": f"It tests {name.replace('-', ' ')}.",
        "language": problem.caret.language,
    }


def _library(problem: Problem) -> str:
    """The library that the prefix imports last."""
    pattern = r"""^\s*(?:import|from|using|#include|const .*?require\()\s*(?:\{[^}]*\} from )?["'<]?\s*([\w.:/]+)"""
    found = re.findall(pattern, problem.caret.prefix, re.MULTILINE)
    found = found or re.findall(r"""^\s+"([\w/]+)"$""", problem.caret.prefix, re.MULTILINE)  # Go
    return found[-1] if found else "the standard library"


def answer_entry(problem: Problem) -> dict[str, Any]:
    """An answer with the kinds and bands of scenarios that it fits."""
    category, view = cell_categories()[problem.label("category")], ProgramView.of(problem)
    tokens = RULE_MEASURES["reference_tokens"](view)
    return {
        "answer": answer_of(problem),
        "kinds": [kind.about for kind in category.kinds.values() if not rule_faults(view, kind.rules)],
        "bands": [name for name, (low, _) in category.bands.items() if tokens >= low],
    }


def replayed_generator(
    folder: Path,
    problems: Sequence[Problem],
    seed: int = 0,
    *,
    hostile: dict[str, str] | None = None,
    faults: Iterable[str] = FAULTS,
) -> str:
    """Write the index of answers below a folder; return the ``-m`` option of the generator.

    Each cell's fault is planned for its first scenario, by the seed, that has a fitting answer. The last answer of a
    cell whose fault is a twin is written to ``public`` below the folder, for ``--compare``.
    """
    cells: dict[str, list[dict[str, Any]]] = {}
    for problem in problems:
        cells.setdefault("/".join(problem.id.split("/")[:2]), []).append(answer_entry(problem))
    planned = list(faults)
    index: dict[str, Any] = {
        "cells": cells,
        "faults": {cell: planned[number % len(planned)] for number, cell in enumerate(cells)} if planned else {},
        "first": {},
        "twins": {},
        "hostile": hostile or {},
        "secret": {one: f"{get_language(one).line_comment} token " for one in {cell.split("/")[0] for cell in cells}},
    }
    (folder / "public").mkdir()
    for cell, fault in index["faults"].items():
        fitting = cells[cell]
        if fault == "twin":
            fitting = [cells[cell].pop()]
            index["twins"][cell] = fitting[0]["answer"]
            _publish(folder / "public" / cell, fitting[0]["answer"])
        index["first"][cell] = _first_fit(cell, fitting, seed)
    path = folder / "index.json"
    path.write_text(json.dumps(index), "utf-8")
    return f"generator=replayed=command/{sys.executable} -S {_PROGRAM} {path} {folder / 'calls.log'}"


def _publish(folder: Path, answer: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    text = f"{answer['prefix']}⟦{answer['reference']}⟧{answer['suffix']}\n⟦tests⟧\n{answer['tests']}"
    (folder / f"{answer['name']}{get_language(answer['language']).suffix}").write_text(text, "utf-8")


def _first_fit(cell: str, answers: Sequence[dict[str, Any]], seed: int) -> int:
    """Return the number of the first scenario that one of the answers fits."""
    name, category = cell.split("/")
    for number in range(1, 100):
        drawn = scenario(name, category, number, seed)
        about = cell_categories()[category].kinds[drawn.kind].about
        fits = [one for one in answers if about in one["kinds"] and drawn.band in one["bands"]]
        if any(drawn.mode == "no_suffix" or one["answer"]["suffix"].strip() for one in fits):
            return number
    raise AssertionError(f"{cell}: no scenario fits")
