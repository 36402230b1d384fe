"""Written answers of the replayed generator: the instances of ``tests/devbench_answers`` and of the starter set."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from caretbench.languages import language
from caretbench.problem import InlineSplice, Problem
from caretbench.suites.devbench import starter
from caretbench.suites.devbench.cells.cell_tables import cell_categories
from caretbench.suites.devbench.instance_rules.instance_checks import rule_faults
from caretbench.suites.devbench.instance_rules.program_view import ProgramView
from caretbench.suites.devbench.instance_rules.rule_measures import RULE_MEASURES
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
        "library": "",
        "justification": f"It tests {name.replace('-', ' ')}.",
        "language": problem.caret.language,
    }


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
    folder: Path, problems: Sequence[Problem], *, hostile: dict[str, str] | None = None, faults: Iterable[str] = FAULTS
) -> str:
    """Write the index of answers below a folder; return the ``-m`` option of the generator."""
    cells: dict[str, list[dict[str, Any]]] = {}
    for problem in problems:
        cells.setdefault("/".join(problem.id.split("/")[:2]), []).append(answer_entry(problem))
    planned = list(faults)
    twin = answer_of(problems[0])
    del twin["language"]
    index = {
        "cells": cells,
        "faults": {cell: planned[number % len(planned)] for number, cell in enumerate(cells)} if planned else {},
        "first": {},
        "twin": twin,
        "hostile": hostile or {},
        "secret": {one: f"{language(one).line_comment} token " for one in {cell.split("/")[0] for cell in cells}},
    }
    path = folder / "index.json"
    path.write_text(json.dumps(index), "utf-8")
    return f"generator=replayed=command/{sys.executable} -S {_PROGRAM} {path} {folder / 'calls.log'}"


def fault_first_fits(folder: Path, seed: int, scenarios: int = 40) -> None:
    """Plan each cell's fault for its first scenario that has a fitting answer."""
    from caretbench.suites.devbench.construction.scenario_grid import scenario

    path = folder / "index.json"
    index = json.loads(path.read_text("utf-8"))
    for cell, answers in index["cells"].items():
        category = cell_categories()[cell.split("/")[1]]
        for number in range(1, scenarios):
            drawn = scenario(*cell.split("/"), number, seed)
            about = category.kinds[drawn.kind].about
            fits = [one for one in answers if about in one["kinds"] and drawn.band in one["bands"]]
            if any(drawn.mode == "no_suffix" or one["answer"]["suffix"].strip() for one in fits):
                index["first"][cell] = number
                break
    path.write_text(json.dumps(index), "utf-8")
