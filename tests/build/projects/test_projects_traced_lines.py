"""Statements of traced lines: two on one line, statements over several lines, and those without code."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.build.projects.reach.instrumentation import recorded_statements
from caretbench.build.projects.reach.measurement import TracedFile, statement_marks
from caretbench.syntax.source import SourceFile


def executed(text: str, lines: set[int]) -> list[str]:
    """The first lines of the statements that run if these lines do."""
    source = SourceFile("a.py", text)
    file = TracedFile(recorded_statements(source))
    return [source.text(file.spans[n]).split("\n")[0] for n in sorted(file.statements(lines))]


def test_statements_own_their_lines() -> None:
    text = (
        "def f(a,\n      b):\n    x = [\n        a,\n    ]; y = b\n    if a and \\\n       b: return x\n    return y\n"
    )
    assert executed(text, {1}) == ["def f(a,"]
    assert executed(text, {2}) == ["def f(a,"]
    assert executed(text, {4}) == ["x = ["]
    assert executed(text, {5}) == ["x = [", "y = b"]
    assert executed(text, {6}) == ["x = [", "y = b", "if a and \\"]
    assert executed(text, {7}) == ["return x"]
    assert executed(text, {8}) == ["x = [", "y = b", "if a and \\", "return y"]
    assert executed(text, {99}) == []


def test_statements_without_code_run_with_later_ones() -> None:
    text = "def f():\n    global x\n    y: int\n    x = 1\n    z: int\n"
    assert executed(text, {4}) == ["global x", "y: int", "x = 1"]
    assert executed(text, {1}) == ["def f():"]


def test_statements_after_an_early_end_do_not_run() -> None:
    text = "try:\n    a = 1\n    b = 2\nexcept OSError:\n    c = 3\nelse:\n    d = 4\n"
    assert executed(text, {1, 2, 4, 5}) == ["try:", "a = 1", "c = 3"]


def test_marks_of_unknown_files_are_left_out() -> None:
    file = TracedFile(recorded_statements(SourceFile("a.py", "a = 1\nb = 2\n")))
    assert statement_marks(frozenset({(3, 1), (5, 1), (3, 7)}), {3: file}) == frozenset({(3, 0)})


BODY = st.recursive(
    st.sampled_from(["x += 1", "x -= 1", "x *= 2", "pass"]),
    lambda inner: st.one_of(
        st.tuples(st.just("if x % 2:"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("if x > 3:"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("for _ in range(x % 3):"), st.lists(inner, min_size=1, max_size=3)),
        st.just(("while x < 3:", ("x += 2",))),
    ),
    max_leaves=12,
)


def written(body: Any, depth: int) -> list[str]:
    lines = []
    for one in body:
        if isinstance(one, str):
            lines.append(f"{'    ' * depth}{one}")
        else:
            lines += [f"{'    ' * depth}{one[0]}", *written(one[1], depth + 1)]
    return lines


@settings(max_examples=60, deadline=None)
@given(st.lists(BODY, min_size=1, max_size=5), st.integers(0, 5))
def test_statements_are_those_whose_lines_an_interpreter_traces(body: list[Any], x: int) -> None:
    text = "\n".join(["def f(x):", *written(body, 1), "    return x", ""])
    lines: set[int] = set()

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename == "<written>":
            if event == "line":
                lines.add(frame.f_lineno)
            return trace
        return None

    scope: dict[str, Any] = {}
    exec(compile(text, "<written>", "exec"), scope)  # noqa: S102 - the statements above
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        scope["f"](x)
    finally:
        sys.settrace(before)
    source = SourceFile("a.py", text)
    file = TracedFile(recorded_statements(source))
    found = {source.line_at(file.spans[n].start) for n in file.statements(lines)}
    assert found == lines  # one statement a line, each with code of its own
