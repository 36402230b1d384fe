"""Error kinds by text: answers with planted faults in real programs, references without any, and hostile texts."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.kind_table import error_kind_names, error_kind_table
from caretbench.metrics.error_kinds.structure_walk import MAX_DEPTH, MAX_NODES, structure_of
from caretbench.metrics.error_kinds.text_kinds import TEXT_KINDS, text_kinds
from caretbench.suites import load_suite
from caretbench.syntax.bounded_parsing import MAX_PROGRAM_CHARACTERS
from tests.support.planted_faults import CaretBlock, caret_blocks, planted_answers, within_lines

LANGUAGES = ("python", "java", "javascript", "typescript")
WITHIN_LINES = ("incomplete", "over_generation", "repeats_surroundings", "wrong_call", "empty_when_due")
"""Kinds that are also planted at carets in a line."""
STARTERS = ("devbench", "c3bench", "simcopilot")
RELEASED = {"csharp": "c_sharp"}


@cache
def _starter_carets(language: str) -> Sequence[CaretBlock]:
    problems = [problem for name in STARTERS for problem in load_suite(name).load("starter").problems]
    programs = [
        problem.caret.prefix + problem.reference + problem.caret.suffix
        for problem in problems
        if problem.caret.language == language
    ]
    programs = list(dict.fromkeys(programs))
    draw = random.Random(3)  # noqa: S311  a sample, not a secret
    return tuple(caret_blocks(draw.sample(programs, min(len(programs), 24)), language))


def _released_carets(folder: Path, language: str) -> Sequence[CaretBlock]:
    programs = []
    for path in sorted((folder / "benchmark" / RELEASED.get(language, language)).rglob("*.jsonl")):
        rows = map(json.loads, path.read_text("utf-8").splitlines())
        programs += [row["prefix"] + row["golden_completion"] + row["suffix"] for row in rows]
    draw = random.Random(4)  # noqa: S311  a sample, not a secret
    return tuple(caret_blocks(draw.sample(programs, 80), language))


def _place(caret: CaretBlock) -> CaretPlace:
    return CaretPlace(caret.prefix, caret.suffix, caret.language)


def _found(kind: str, carets: Sequence[CaretBlock], most: int) -> list[bool]:
    """Whether the kind was found, for each answer with its fault."""
    return [
        text_kinds(answer, caret.reference, _place(caret))[kind] == 1.0
        for caret, answer in planted_answers(kind, carets, most, seed=11)
    ]


@pytest.mark.parametrize("kind", TEXT_KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_planted_faults_are_found(language: str, kind: str) -> None:
    found = _found(kind, _starter_carets(language), 24)
    assert len(found) >= 20
    assert sum(found) >= 0.95 * len(found)


@pytest.mark.parametrize("kind", WITHIN_LINES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_planted_faults_within_lines_are_found(language: str, kind: str) -> None:
    found = _found(kind, list(within_lines(_starter_carets(language), seed=5)), 20)
    assert len(found) >= 20
    assert sum(found) >= 0.95 * len(found)


@pytest.mark.long
@pytest.mark.parametrize("language", [*LANGUAGES, "cpp", "csharp"])
def test_planted_faults_in_released_programs_are_found(language: str, devbench_data: Path) -> None:
    carets = _released_carets(devbench_data, language)
    for kind in TEXT_KINDS:
        found = _found(kind, carets, 40)
        assert len(found) >= 40
        assert sum(found) >= 0.95 * len(found), kind


@pytest.mark.parametrize("language", LANGUAGES)
def test_references_have_no_kind(language: str) -> None:
    carets = _starter_carets(language)
    carets = random.Random(6).sample(carets, 60)  # noqa: S311  a sample, not a secret
    for caret in (*carets, *within_lines(carets, seed=6)):
        lines = caret.reference.replace("\n", "\r\n")
        for answer in (caret.reference, f"{caret.reference}\n", f"{caret.reference}  \n\n", f"{lines}\r\n"):
            for place in (_place(caret), _place(caret)._replace(shown_suffix="")):
                assert not any(text_kinds(answer, caret.reference, place).values()), (answer, caret)


PREFIX = "import os\n\n\ndef total(items):\n    result = 0\n    "
SUFFIX = "\n    return result\n\n\nprint(total([1]))\n"
LOOP = "for item in items:\n        result += price(item, 2)"

EXAMPLES = {
    "": [
        LOOP,
        LOOP.replace("item ", "one ").replace("item,", "one,"),  # a name of its own
        LOOP + "  # all of them",
        LOOP.replace(", 2", ",2"),
    ],
    "wrong_indentation": [LOOP.replace("        ", "          \t"), LOOP.replace("        ", ""), "  " + LOOP],
    "several_blocks": [LOOP + "\n    if result:\n        result = 1", LOOP + "\n\n\ndef other():\n    pass"],
    "incomplete": ["for item in items:", LOOP[:-4], LOOP[:-1], "pass"],
    "over_generation": [
        LOOP + "\n    result += 1",
        LOOP + "\n    return result",
        LOOP + "\n\n\ndef other():\n    pass",
    ],
    "repeats_surroundings": [f"result = 0\n    {LOOP}", LOOP + "\n    return result", LOOP + SUFFIX],
    "wrong_call": [LOOP.replace("price", "cost"), LOOP.replace("2", "3"), LOOP.replace(", 2", "")],
    "wrong_block_kind": ["result = sum(items)", "if items:\n        result = price(items[0], 2)", "import sys"],
    "empty_when_due": ["", "\n", "    "],
}


@pytest.mark.parametrize(("kind", "answer"), [(kind, text) for kind, texts in EXAMPLES.items() for text in texts])
def test_examples(kind: str, answer: str) -> None:
    kinds = text_kinds(answer, LOOP, CaretPlace(PREFIX, SUFFIX, "python"))
    if kind:
        assert kinds[kind] == 1.0
    else:
        assert not any(kinds.values())


@pytest.mark.parametrize(
    ("answer", "is_wrong"),
    [
        ("kept = read(path)\n    return kept.strip()", False),  # a name of its own
        ("kept = load(path)\n    return kept.strip()", True),
        ("def inner(one):\n        return one\n\n    data = read(path)\n    return data.strip()", False),
        ("load(path)\n    return load(path).strip()", True),  # called twice, introduced nowhere
    ],
)
def test_names_that_an_answer_introduces_may_differ(answer: str, is_wrong: bool) -> None:
    reference = "data = read(path)\n    return data.strip()"
    place = CaretPlace("def text_of(path):\n    ", "\n\n\nprint(text_of('a'))\n", "python")
    assert text_kinds(answer, reference, place)["wrong_call"] == float(is_wrong)


def test_text_where_nothing_is_due_has_one_kind_of_its_own() -> None:
    place = CaretPlace(PREFIX + LOOP, SUFFIX, "python")
    assert text_kinds("\n    result += 1", "", place)["given_when_nothing_due"] == 1.0
    repeated = text_kinds("\n    return result", "", place)
    assert {name for name, value in repeated.items() if value} == {"given_when_nothing_due", "repeats_surroundings"}
    assert not any(text_kinds("\n", "", place).values())


def test_a_hidden_suffix_cannot_be_repeated() -> None:
    answer = LOOP + "\n    return result"
    shown, hidden = (text_kinds(answer, LOOP, CaretPlace(PREFIX, SUFFIX, "python", suffix)) for suffix in (SUFFIX, ""))
    assert (shown["repeats_surroundings"], hidden["repeats_surroundings"]) == (1.0, 0.0)
    assert shown["over_generation"] == hidden["over_generation"] == 1.0


@pytest.mark.parametrize("language", ["cobol", ""])
def test_without_a_grammar_the_lines_decide(language: str) -> None:
    place = CaretPlace("A.\n  ", "\n  STOP RUN.\n", language)
    reference = "MOVE 1 TO X.\n  MOVE 2 TO Y."
    assert text_kinds(reference[:12], reference, place)["incomplete"] == 1.0
    assert text_kinds(f"{reference}\n  STOP RUN.", reference, place)["repeats_surroundings"] == 1.0
    assert not any(text_kinds(reference, reference, place).values())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("x=>" * 13_000, "java"),  # the parser would take more than 20 GB
        ("(" * MAX_DEPTH + "1" + ")" * MAX_DEPTH, "python"),
        ("a;" * MAX_NODES, "javascript"),
        ("x = 1\n" * (MAX_PROGRAM_CHARACTERS // 6 + 1), "python"),
    ],
    ids=["memory", "depth", "nodes", "length"],
)
def test_texts_beyond_the_limits_are_compared_by_their_lines(text: str, language: str) -> None:
    assert structure_of("", text, "", language) is None
    kinds = text_kinds(text, "y = 1", CaretPlace("", "\ny\n", language))
    assert set(kinds) == set(TEXT_KINDS)
    assert text_kinds(f"y = 1\n{text}", "y = 1", CaretPlace("", "\ny\n", language))["over_generation"] == 1.0


_TEXT = st.text(st.sampled_from("ab(){}[]:;,.='\"\n \t#/\\é\r\ud800"), max_size=60)


@given(_TEXT, _TEXT, _TEXT, _TEXT, st.sampled_from([*LANGUAGES, "cobol"]))
def test_any_text_has_kinds_as_numbers(prefix: str, answer: str, reference: str, suffix: str, language: str) -> None:
    place = CaretPlace(prefix, suffix, language)
    kinds = text_kinds(answer, reference, place)
    assert list(kinds) == list(TEXT_KINDS)
    assert set(kinds.values()) <= {0.0, 1.0}
    assert not any(text_kinds(reference, reference, place).values())
    assert (kinds["empty_when_due"] == 1.0) == (not answer.strip() and bool(reference.strip()))
    assert (kinds["given_when_nothing_due"] == 1.0) == (bool(answer.strip()) and not reference.strip())


def test_the_table_names_every_kind_once() -> None:
    table, names = error_kind_table(), error_kind_names()
    assert len(set(names)) == len(names)
    assert set(table.titles) == set(names)
    assert set(TEXT_KINDS) <= set(names)
    known = {*table.outcomes.values(), *table.faults.values(), *(meaning.kind for meaning in table.exceptions)}
    assert {name.partition(":")[0] for name in known} <= set(names)
    assert len(set(table.titles.values())) == len(names)
