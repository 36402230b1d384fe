"""Instances that a replayed generator answers with: all keep the rules of text, and the gate calls them valid."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from caretbench.build.validation.duplicates import TwinIndex
from caretbench.build.validation.program_gate import ProgramGate
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.toolchains import load_runtime
from caretbench.extraction.policies import get_policy
from caretbench.problem import InlineSplice, Problem
from caretbench.suites import load_suite
from caretbench.suites.devbench import starter
from caretbench.suites.devbench.build.instance_rules.instance_checks import PASSED, text_checks
from caretbench.suites.devbench.build.instance_rules.program_view import ProgramView, filled_lines
from caretbench.suites.devbench.build.instance_rules.rule_measures import RULE_MEASURES
from caretbench.suites.devbench.cells.cell_tables import cell_categories

FOLDER = Path(__file__).parents[2] / "devbench_answers"
LANGUAGES = ("python", "javascript", "typescript", "java", "cpp", "csharp", "go")
# `free = plan.` once more: a chained assignment computes the same, so that the gate refuses them since version 5.
AGAIN = (
    "python/api_usage/glue-waves", "javascript/api_usage/yarn-options", "javascript/pattern_matching/plan-symbols",
)  # fmt: skip
SYNTAX_KINDS = {"control_depth": 2, "statement_lines": 4, "handlers": 1}


@cache
def answers() -> dict[str, Problem]:
    return {problem.id: problem for problem in starter.load(FOLDER, source="answers")}


@cache
def twins() -> TwinIndex:
    index = TwinIndex()
    for source, problems in (("starter", starter.load(starter.starter_root())), ("answers", answers().values())):
        for problem in problems:
            index.add(f"{source}:{problem.id}", problem.caret.language, cell(problem), shown(problem))
    return index


def cell(problem: Problem) -> str:
    return f"{problem.label('language')}/{problem.label('category')}"


def shown(problem: Problem) -> str:
    return problem.caret.prefix + problem.reference + problem.caret.suffix


IDENTITIES = tuple(answers())


def test_every_cell_has_its_instances() -> None:
    wanted = {f"{name}/{category}": 1 + (name == "go") for name in LANGUAGES for category in cell_categories()}
    assert Counter(cell(problem) for problem in answers().values()) == wanted


def test_both_directions_of_documentation_occur() -> None:
    directions = Counter(p.label("direction") for p in answers().values() if "direction" in p.labels)
    assert directions == {"code2nl": 4, "nl2code": 4}


def test_carets_stand_at_many_boundaries() -> None:
    boundaries = Counter(problem.label("boundary") for problem in answers().values())
    assert len(boundaries) >= 6
    assert boundaries["line_start"] <= len(answers()) * 0.7
    within_words = [p for p in answers().values() if p.caret.prefix[-1].isalnum() and p.reference[0].isalnum()]
    assert len(within_words) >= 2


@pytest.mark.parametrize("identity", IDENTITIES)
def test_the_text_keeps_the_rules(identity: str) -> None:
    problem = answers()[identity]
    assert {name: found for name, found in text_checks(problem).items() if found != PASSED} == {}
    assert twins().twin_of(f"answers:{identity}", problem.caret.language, cell(problem), shown(problem)) is None


@pytest.mark.parametrize("identity", IDENTITIES)
def test_sizes_and_lines_are_as_asked(identity: str) -> None:
    problem = answers()[identity]
    assert isinstance(problem.splice, InlineSplice)
    assert 2 <= filled_lines(problem.reference) <= 15
    if problem.label("category") != "low_context":
        assert filled_lines(problem.caret.prefix) >= 15
    lines = [line.strip() for line in problem.reference.split("\n") if len(line.strip()) >= 13]
    assert [line for line in lines if line in problem.splice.after] == [], "a line of the reference stands behind it"


@pytest.mark.parametrize("identity", [one for one in IDENTITIES if "/syntax_completion/" in one])
def test_syntax_is_nested_long_or_handles_errors(identity: str) -> None:
    view = ProgramView.of(answers()[identity])
    assert any(RULE_MEASURES[name](view) >= least for name, least in SYNTAX_KINDS.items()) or (
        filled_lines(view.reference) >= 4
    )


@pytest.mark.long
@pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_gate_calls_them_valid(language: str, tmp_path: Path) -> None:
    toolchain = load_runtime(language).toolchain()
    if not toolchain.available:
        pytest.skip(f"no toolchain for {language}: {toolchain.remedy}")
    suite = load_suite("devbench")
    problems = [problem for problem in answers().values() if problem.caret.language == language]
    executor = LocalExecutor(workers=4, use_cache=False)
    gate = ProgramGate(
        executor, get_policy(), lambda p, text: suite.make_request(p, text, "default"), suite.failed_predicates
    )
    verdicts = gate.run(problems, tmp_path / "verdicts.jsonl")
    assert len(verdicts) == len(problems)
    refused = {row.problem_id: row.reasons for row in verdicts if row.verdict != "valid"}
    again = {name: ("wrong_answer_passes: line again",) for name in AGAIN if name.startswith(f"{language}/")}
    assert refused == again
