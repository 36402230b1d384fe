"""Verdicts about several hundred answers whose right verdict was decided first, from files in ``cases/``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from caretbench.suites.c3bench.scale import verify
from tests.support.scale_cases import read_cases

CASES = [case for path in sorted(Path(__file__).with_name("cases").glob("*.txt")) for case in read_cases(path)]


def test_verdicts_are_those_decided_first() -> None:
    assert len(CASES) > 500
    for case in CASES:
        verdict = verify(case.prefix, case.middle, case.suffix, case.specification)
        assert verdict.ok is case.ok, (case.name, verdict)
        assert bool(verdict.reason) is not case.ok, case.name


def test_names_of_cases_are_unique() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
