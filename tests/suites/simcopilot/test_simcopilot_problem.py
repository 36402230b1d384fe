"""Answers that go into a span of a file, and what a check of tests says."""

import pytest
from pydantic import ValidationError

from caretbench.problem import FileSplice, Problem, TestsCheck


def test_an_answer_goes_into_its_span_and_the_rest_stays() -> None:
    original = "é = 1\r\nif x:\r\n    pass\r\ny\n".encode()
    start = original.index(b"    pass")
    splice = FileSplice(snapshot="s", path="a.py", start=start, end=start + 8, newline="\r\n")
    assert splice.content(original, "    a()\n    b()") == original.replace(b"    pass", b"    a()\r\n    b()")
    assert splice.content(original, "    a()\r\n    b()") == splice.content(original, "    a()\n    b()")
    unix = FileSplice(snapshot="s", path="a.py", start=0, end=0)
    assert unix.content(b"", "a\nb") == b"a\nb"


def test_a_span_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValidationError, match="before it"):
        FileSplice(snapshot="s", path="a.py", start=3, end=2)
    with pytest.raises(ValueError, match="has 2 bytes"):
        FileSplice(snapshot="s", path="a.py", start=0, end=3).content(b"ab", "")


def test_rows_written_before_stay_readable() -> None:
    row = {
        "id": "a", "suite": "s", "shown": {"kind": "caret", "language": "python", "prefix": ""},
        "splice": {"kind": "file", "snapshot": "s", "path": "a.py", "start": 0, "end": 1}, "reference": "x",
        "checks": [{"kind": "tests", "command": ["pytest"]}], "cluster": "p", "provenance": {"source": "t"},
    }  # fmt: skip
    problem = Problem.model_validate(row)
    assert isinstance(problem.checks[0], TestsCheck)
    assert problem.checks[0].minimum_tests == 0
