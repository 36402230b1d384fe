"""Bound of work of a parse: hostile texts are unparsed, in time, and ordinary ones are parsed."""

from __future__ import annotations

import random
import resource
import time

import pytest

from caretbench.execution.execution_types import Status
from caretbench.extraction.policies import POLICIES
from caretbench.problem import Caret
from caretbench.runs import verdict
from caretbench.syntax import parser
from caretbench.syntax.bounded_parsing import spliced_tree
from caretbench.syntax.parse_probe import TOO_SLOW, probe
from caretbench.syntax.parser import UNPARSED_TEXT, error_count, parse, unparsed
from tests.support.hostile_texts import hostile_text
from tests.support.make_problem import make_problem

EXPLOSIVE = [("java", "x=>"), ("java", None), ("javascript", "->"), ("typescript", "->"), ("csharp", "a<")]
"""Texts that take more than 1 GB: one word again and again, or (None) names that do not repeat."""


def names(end: str, characters: int) -> str:
    """Names that do not repeat, each with the same end."""
    seeded = random.Random(1)  # noqa: S311  names, no secrets
    parts = ("".join(seeded.choices("abcdefghij", k=seeded.randrange(2, 9))) + end for _ in range(characters))
    return "".join(parts)[:characters]


def test_lines_that_open_comments_are_unparsed_by_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    # The work decides, not the time: no other process is asked, and the parser is stopped by its calls.
    monkeypatch.setattr(parser, "_UNWATCHED_SECONDS", (float("inf"), 0))
    started = time.thread_time()
    for grammar in ("cpp", "csharp", "go"):
        tree = parse("/*\n" * 3_000, grammar)
        assert error_count(tree) == 1
        assert tree.root_node.end_byte == 9_000
        assert parse("int a;", grammar).root_node.end_byte == 6, "the parser does not go on with the former text"
    assert time.thread_time() - started < 10, "8,000 characters took 4 s, and the square of it"


def test_a_parse_that_is_late_goes_to_the_other_process() -> None:
    tree = parse(names("=>", 4_000), "java")
    assert (error_count(tree), tree.root_node.end_byte) == (1, 4_000)


@pytest.mark.parametrize("seed", range(100))
def test_hostile_texts_end_in_time(seed: int) -> None:
    grammar, text = hostile_text(seed, 20_000)
    started = time.process_time()
    if not unparsed((text,), grammar):
        assert parse(text, grammar).root_node.end_byte <= len(text.encode())
    assert time.process_time() - started < 2


def test_the_answers_before_and_after_a_refusal_are_the_same() -> None:
    good, bad = names("()\n", 3_000), names("=>", 20_000)
    assert [unparsed((text,), "java") for text in (good, bad, good + "a", bad + "a", good + "b")] == [
        None, UNPARSED_TEXT, None, UNPARSED_TEXT, None,
    ]  # fmt: skip


def test_a_probe_that_was_killed_is_started_again() -> None:
    assert not unparsed(("before = 1",), "python")
    process = probe()._process
    assert process is not None
    process.kill()
    process.wait()
    assert not unparsed(("after = 1",), "python")


def test_a_machine_that_is_too_slow_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    caret = Caret(language="python", prefix="def f():\n    ", suffix="\n")
    text = "return 1 + 1 + 1\n" * 100
    monkeypatch.setattr(parser, "_probed", lambda _data, _language: TOO_SLOW)
    refusal = POLICIES["syntax"].apply(text + "# slow", caret).refusal
    assert refusal is not None
    assert "this machine" in refusal
    assert verdict.result_without_program(make_problem(), refusal).status is Status.SANDBOX_ERROR
    assert verdict.result_without_program(make_problem(), "too long").status is Status.RUNTIME_ERROR


def test_what_no_grammar_parses_is_not_probed() -> None:
    assert not unparsed(("x" * 5_000,), "no such language")


def test_an_answer_behind_its_reasoning_is_probed() -> None:
    caret = Caret(language="java", prefix="class A {\n", suffix="\n}\n")
    text = f"<think>{names(' ', 120_000)}</think>\n{names('=>', 20_000)}"
    for key in ("clean", "block"):
        assert POLICIES[key].apply(text, caret).refusal == f"refused: {UNPARSED_TEXT}"
    assert POLICIES["clean"].apply(text[:120_000] + "</think>\nint a;", caret).text == "int a;"


@pytest.mark.long
@pytest.mark.parametrize(("language", "end"), EXPLOSIVE)
def test_texts_that_take_too_much_are_refused_by_every_policy(language: str, end: str | None) -> None:
    caret = Caret(language=language, prefix="class A {\n", suffix="\n}\n")
    text = names("=>", 40_000) if end is None else (end * 40_000)[:40_000]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for policy in POLICIES.values():
        found = policy.apply(text, caret)
        assert found.text == ""
        assert found.refusal == f"refused: {UNPARSED_TEXT}"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kilobytes"


def test_ordinary_repetition_is_parsed() -> None:
    assert not unparsed(("x = 1\n" * 2_000,), "python")
    caret = Caret(language="python", prefix="", suffix="")
    assert POLICIES["clean"].apply("x = 1\n" * 2_000, caret).text == "x = 1\n" * 2_000


def test_a_short_answer_costs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each program was tried in a process, error kinds of 3,000 answers took 2.4 times the CPU."""
    asked: list[bytes] = []
    monkeypatch.setattr(parser, "_probed", lambda data, _language: asked.append(data) or b"parsed\n")
    program = "x = 1\n" * 500
    assert spliced_tree(program, "y = x", program, "python") is not None
    assert not asked
    assert spliced_tree(program, "y = x\n" * 400, program, "python") is not None
    assert asked
