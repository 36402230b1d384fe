"""Cuts of inner blocks: their positions and what they hide."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from caretbench.build.project_tasks.block_miner import TaskOrigin
from caretbench.build.projects.reach.statement_reach import StatementReach
from caretbench.problem import Provenance, TestsCheck
from caretbench.suites.codevbench.build.code_blocks import BlockFinder
from caretbench.suites.codevbench.build.miner import CodevMiner, HiddenSpan, SpanSampling, hidden_spans
from caretbench.suites.usage_weights import read_weights
from caretbench.syntax.analysis import analyse
from caretbench.syntax.source import SourceFile

TEXT = """\
def f(a, b):
    if a > b:
        c = a - b
        d = c * 2
        print(c, d)
    return a + b
"""
ORIGIN = TaskOrigin("p", "0" * 64, Provenance(source="p"), TestsCheck(command=("true",)))


def spans(text: str) -> list[HiddenSpan]:
    finder = BlockFinder(analyse([SourceFile("a.py", text.encode())])["a.py"])
    return [hidden for block in finder.blocks() for hidden in hidden_spans(block, finder)]


def hidden_text(hidden: HiddenSpan, text: str = TEXT) -> str:
    return text.encode()[hidden.span.start : hidden.span.end].decode()


def test_a_cut_hides_the_rest_of_its_block() -> None:
    for hidden in spans(TEXT):
        assert hidden.span.end == hidden.block.span.end
        assert hidden.block.span.start <= hidden.span.start


def test_a_line_before_a_block_changes_neither_its_name_nor_what_is_hidden() -> None:
    names = []
    for text in (TEXT, f"LIMIT = 3\n\n\n{TEXT}"):
        miner = CodevMiner(analyse([SourceFile("a.py", text.encode())]), SpanSampling(None, None, read_weights("even")))
        miner.find(["a.py"])
        drawn = miner.draw(["a.py"], ORIGIN, StatementReach(), None, 0).problems
        names.append({one.id: (one.reference, one.block_hash) for one in drawn})
    assert names[0] == names[1]
    assert "p/a.py:f:full_block.if.block" in names[0]


def test_statement_cuts_begin_at_a_later_statement_of_the_block() -> None:
    [cut] = [one for one in spans(TEXT) if one.block.kind == "if" and one.cut == "statement"]
    assert hidden_text(cut) in ("d = c * 2\n        print(c, d)", "print(c, d)")


def test_operator_cuts_follow_an_operator() -> None:
    cuts = [one for one in spans(TEXT) if one.cut == "operator"]
    assert cuts
    assert all(TEXT[one.span.start - 1] in "=-+*>" for one in cuts)


def test_nothing_is_due_only_where_another_statement_could_follow() -> None:
    empty = [one for one in spans(TEXT) if one.cut == "empty"]
    assert all(one.span.start == one.span.end == one.block.span.end for one in empty)
    ends = {TEXT[: one.span.start].splitlines()[-1].strip() for one in empty}
    assert "return a + b" not in ends
    assert "print(c, d)" in ends


def test_partial_lines_go_on_in_the_line_of_the_caret() -> None:
    for hidden in spans(TEXT):
        line = TEXT[: hidden.span.start].rpartition("\n")[2]
        if hidden.is_partial_line:
            assert line.strip()
        elif hidden.cut in ("block", "statement"):
            assert not line.strip()


@given(st.integers(1, 6))
def test_cuts_do_not_depend_on_other_blocks(lines: int) -> None:
    more = TEXT + "\n\ndef g(x):\n" + "".join(f"    x = x + {n}\n" for n in range(lines))
    first = {(one.key, one.span) for one in spans(TEXT)}
    assert first <= {(one.key, one.span) for one in spans(more)}
