"""Right answers that look like noise stay right under the policies that cut."""

from __future__ import annotations

import pytest

from benchmarks.chat_noise import Case, restores
from caretbench.extraction import get_policy
from tests.support.trap_answers import TRAPS


@pytest.mark.parametrize("name", ["block", "syntax"])
def test_right_answers_with_traps_stay_right(name: str) -> None:
    spoiled = []
    for trap in TRAPS:
        for hidden in (False, True)[: 1 + trap.hidden]:
            prefix, answer, suffix = trap.parts
            case = Case(trap.name, trap.language, prefix, answer, suffix, hidden)
            if not restores(case, get_policy(name).apply(answer, case.caret).text):
                spoiled.append((trap.name, hidden))
    assert len(TRAPS) >= 60
    assert spoiled == []
