"""Long runs of comments in Python: parsed in time, with all positions as they are."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from caretbench.syntax.parser import LONG_RUN, is_well_formed_text, parse, without_long_comment_runs

CODE = "def f(x):\n    y = x\n"


def test_a_long_run_is_parsed_in_time() -> None:
    text = CODE + "    # a\n" * 20_000 + "    return y\n"
    start = time.process_time()
    assert is_well_formed_text(text, "python")
    assert time.process_time() - start < 2


def test_the_code_around_a_run_keeps_its_place() -> None:
    text = CODE + "    # größer\n\n" * LONG_RUN + "    return y\n"
    [function] = parse(text, "python").root_node.named_children
    body = function.child_by_field_name("body")
    assert body is not None
    last = body.named_children[-1]
    assert last.type == "return_statement"
    assert last.start_byte == len(text.encode()) - len("return y\n")


def test_shorter_runs_and_strings_stay() -> None:
    short = (CODE + "    # a\n" * (LONG_RUN - 1) + "    return y\n").encode()
    assert without_long_comment_runs(short) == short
    text = 'x = """\n' + "# a\n" * (2 * LONG_RUN) + '# """\ny = 1\n'
    assert [node.type for node in parse(text, "python").root_node.named_children] == ["expression_statement"] * 2


@given(
    st.lists(st.sampled_from(["# a", "", "    # é", "x = 1", '# """', "#\r"]), max_size=30),
    st.integers(0, 2 * LONG_RUN),
)
def test_lines_keep_their_length_and_code_its_text(lines: list[str], count: int) -> None:
    source = "\n".join([*lines, *["# b"] * count, *lines]).encode()
    found = without_long_comment_runs(source)
    assert len(found) == len(source)
    for before, after in zip(source.split(b"\n"), found.split(b"\n"), strict=True):
        assert after in {before, b" " * len(before)}
        if not before.strip().startswith(b"#"):
            assert after.strip() == before.strip()
