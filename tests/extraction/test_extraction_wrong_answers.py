"""Truncation makes no wrong answer right: programs with chat noise, run in the sandbox."""

from __future__ import annotations

import pytest

from benchmarks.wrong_answers import made_right, sample
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox import bubblewrap
from caretbench.extraction.caret_surroundings import Surroundings
from tests.support.compiled_programs import need_toolchain

pytestmark = pytest.mark.skipif(bubblewrap.find_bubblewrap() is None, reason="bubblewrap is not installed")
LANGUAGES = ("python", "javascript", "typescript", "java", "cpp", "csharp", "go", "rust", "ruby")
[PYTHON] = sample(["python"], 1)


@pytest.fixture(scope="module")
def executor() -> LocalExecutor:
    return LocalExecutor(workers=1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_wrong_answer_becomes_right(language: str, executor: LocalExecutor) -> None:
    need_toolchain(language)
    right, tried = made_right(sample([language], 1), executor, 2)
    assert tried[language]
    assert [(trial.kind, trial.wrong, trial.text) for trial in right] == []


def reference_for_noise(text: str, _: Surroundings) -> str:
    """Mend wrong answers within fences."""
    return PYTHON.reference if text.startswith("```") else text


def test_a_policy_that_mends_wrong_answers_is_found(executor: LocalExecutor) -> None:
    right, _ = made_right([PYTHON], executor, 1, [f"{__name__}:reference_for_noise"])
    assert {trial.text for trial in right} == {PYTHON.reference}
