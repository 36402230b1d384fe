"""Probes for memory: a model of known memory is shown by each, models without memory are not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from caretbench.people.releases.memory import MemoryRow, Probe, ProbedAnswer, hidden_words, memory_rows
from caretbench.problem import Caret, FileSplice, Problem, Provenance, TestsCheck
from caretbench.suites.record.build.siblings import SIBLING

CUTOFF = "2026-01-01"
PROBES: tuple[Probe, ...] = ("dates", "names", "recall")


def made_problem(project: int, number: int, *, renamed: bool) -> Problem:
    """Return a problem with two hidden words of its own; half of the projects are dated before the cut-off."""
    name = f"p{project}n{number}"
    return Problem(
        id=f"{name}{SIBLING if renamed else ''}",
        suite="record",
        shown=Caret(language="python", prefix=f"def shown_{name}(value):\n    ", suffix="", path="a.py"),
        splice=FileSplice(snapshot="0", path="a.py", start=0, end=0),
        reference=f"return hidden_{name}(other_{name})",
        checks=(TestsCheck(command=("true",)),),
        cluster=f"project{project}",
        overlap_group=name,
        provenance=Provenance(source="made", date="2020-05-01" if project % 2 else "2026-06-01"),
    )


def answers(seed: int, projects: int = 24) -> dict[str, list[ProbedAnswer]]:
    """Return the answers of three models that pass by difficulty; `knows` has seen what is dated before the cut-off."""
    random = np.random.default_rng(seed)
    given: dict[str, list[ProbedAnswer]] = {"knows": [], "copies": [], "neither": []}
    for project in range(projects):
        difficulty = random.uniform(0.2, 0.6)
        for number in range(8):
            for renamed in (False, True) if number < 4 else (False,):
                problem = made_problem(project, number, renamed=renamed)
                for model, listed in given.items():
                    known = model == "knows" and project % 2 == 1 and not renamed
                    text = problem.reference if known else "value" if model == "neither" else problem.caret.prefix
                    listed.append(ProbedAnswer(problem, float(known or random.random() < difficulty), text))
    return given


@pytest.mark.long
def test_only_the_model_that_remembers_is_shown_in_95_of_100_seeds() -> None:
    # The mean difficulty is .4: who knows half of the projects gains .6 there; recall is of all hidden words.
    truth = {"dates": 0.6, "names": 0.6, "recall": 1.0}
    shown: Counter[tuple[str, str]] = Counter()
    inside: Counter[str] = Counter()
    for seed in range(100):
        for row in memory_rows(answers(seed), CUTOFF, seed=seed):
            shown[row.model, row.probe] += row.verdict == "remembers"
            if row.model == "knows":
                assert row.low is not None
                assert row.high is not None
                inside[row.probe] += row.low - 1e-9 <= truth[row.probe] <= row.high + 1e-9
    for probe in PROBES:
        assert shown["knows", probe] >= 95
        assert inside[probe] >= 93
        assert shown["copies", probe] <= 5
        assert shown["neither", probe] <= 5


def test_verdicts_of_one_seed() -> None:
    found = memory_rows(answers(1), CUTOFF, seed=1)
    assert [row.verdict for row in found] == ["remembers"] * 3 + ["no memory shown"] * 6


def test_fewer_than_ten_projects_on_a_side_decide_nothing() -> None:
    rows: list[MemoryRow] = memory_rows(answers(0, projects=18), CUTOFF, seed=0)
    assert {row.verdict for row in rows if row.probe != "names"} == {
        "cannot be decided: 9 and 9 projects, 10 a side are needed"
    }
    assert all(row.difference is None for row in rows)


def test_hidden_words_are_those_that_the_prompt_does_not_show() -> None:
    assert hidden_words(made_problem(0, 0, renamed=False)) == {"return", "hidden_p0n0", "other_p0n0"}


def test_projects_whose_prompts_show_all_words_are_not_counted() -> None:
    shown = "\n".join(made_problem(project, n, renamed=False).reference for project in range(24) for n in range(8))
    listed = [
        one._replace(
            problem=one.problem.model_copy(update={"shown": Caret(language="python", prefix=shown, suffix="")})
        )
        for one in answers(1)["neither"]
    ]
    verdicts = {row.probe: row.verdict for row in memory_rows({"neither": listed}, CUTOFF, seed=1)}
    assert verdicts["recall"] == "cannot be decided: 0 and 0 projects, 10 a side are needed"
    assert verdicts["dates"] == "no memory shown"
