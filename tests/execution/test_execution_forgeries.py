"""Answers that hide the checks behind the caret really pass, and are flagged; honest ones pass without a flag."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from caretbench.execution.execution_types import ExecutionRequest, ExecutionResult, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import bubblewrap as walls
from caretbench.execution.scan.dead_checks import program_flags
from caretbench.execution.scan.program_text import answer_lines
from caretbench.execution.scan.tamper import tamper_flags
from caretbench.languages import languages
from tests.support.compiled_programs import need_toolchain
from tests.support.forgery_table import Forgery, tables

TABLES = tables()


def _flags(language: str, entry: Forgery) -> tuple[str, ...]:
    frame = TABLES[language].frames[entry.frame]
    return (
        *tamper_flags(entry.answer, frame.reference, language),
        *program_flags(frame.before, entry.answer, frame.after, frame.reference, language),
    )


@pytest.mark.parametrize("language", TABLES)
def test_a_hidden_check_is_flagged(language: str) -> None:
    assert [name for name, entry in TABLES[language].forgeries.items() if not _flags(language, entry)] == []


@pytest.mark.parametrize("language", TABLES)
def test_an_honest_answer_is_not_flagged(language: str) -> None:
    flags = {name: _flags(language, entry) for name, entry in TABLES[language].honest.items()}
    assert {name: found for name, found in flags.items() if found} == {}


def test_every_language_has_its_forgeries() -> None:
    assert set(TABLES) == set(languages())
    assert all(len(table.forgeries) >= 10 for table in TABLES.values())


_known: dict[str, Mapping[str, ExecutionResult]] = {}


def _results(language: str) -> Mapping[str, ExecutionResult]:
    need_toolchain(language)
    if language not in _known:
        table = TABLES[language]
        answers = {f"reference-{name}": (frame, frame.reference) for name, frame in table.frames.items()}
        for kind, entries in (("forged", table.forgeries), ("honest", table.honest)):
            answers |= {f"{kind}-{name}": (table.frames[one.frame], one.answer) for name, one in entries.items()}
        requests = (
            ExecutionRequest(
                id=name,
                language=language,
                source=frame.program(answer),
                answer_lines=answer_lines(frame.before, answer, language),
            )
            for name, (frame, answer) in answers.items()
        )
        found = LocalExecutor(use_cache=False).submit(requests)
        _known[language] = {result.id: result for result in found}
    return _known[language]


@pytest.mark.skipif(walls.find_bubblewrap() is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("language", TABLES)
def test_forgeries_pass_as_references_and_honest_answers_do(language: str) -> None:
    expected = {f"forged-{name}": one.passes for name, one in TABLES[language].forgeries.items()}
    found = {
        name: (result.status, result.diagnostics, result.stderr.text) for name, result in _results(language).items()
    }
    wrong = {name: said for name, said in found.items() if (said[0] is Status.PASSED) != expected.get(name, True)}
    assert not wrong
