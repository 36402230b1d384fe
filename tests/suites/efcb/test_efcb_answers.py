"""The strict parser of choices: what names a letter, and what does not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caretbench.suites.efcb.choices import ChoiceAnswer, parse_as_released, parse_strictly

NAMED = [
    ("B", "B"),
    (" b\nB \n", "B"),
    ("(C)", "C"),
    ("D.", "D"),
    ("A)", "A"),
    ("(A).", "A"),
    ("A:", "A"),
    ("**B**", "B"),
    ("`C`", "C"),
    ("Choice D", "D"),
    ("choice B.", "B"),
    ("Option (A)", "A"),
    ("The answer is C.", "C"),
    ("The correct answer is (C)", "C"),
    ("The answer is: **D**", "D"),
    ("Answer: A", "A"),
    ("ANSWER: B", "B"),
    ("Final Answer:\nB", "B"),
    ("answer = C", "C"),
    ("My answer is Choice B, because it handles the error.", "B"),
    ("The best choice is A because the others change nothing.", "A"),
    ("The answer is B \u2014 it is the only one with a test.", "B"),
    (r"\boxed{B}", "B"),
    (r"So $\boxed{\text{D}}$.", "D"),
    (r"The answer is $\boxed{(A)}$", "A"),
    ('{"answer": "B"}', "B"),
    ('```json\n{"answer": "C", "confidence": 0.9}\n```', "C"),
    ("{'answer': 'D'}", "D"),
    ("```\nB\n```", "B"),
    ("~~~text\nB\n~~~", "B"),
    ("A\n\nThe patch touches ipn/store as described.", "A"),
    ("Choice B renames the field, which the task does not want.\n\nAnswer: A", "A"),
    ("<think>A looks right. The answer is A. No, wait.</think>\nB", "B"),
    ("<thinking>\nanswer is C\n</thinking>D", "D"),
    ("I compare them.\nThe answer is A?\n</think>\n\nC", "C"),
    ("[THINK]A[/THINK]B", "B"),
    ("<|channel|>analysis<|message|>The answer is D<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
    ("<answer>C</answer>", "C"),
    ("B<|im_end|>", "B"),
    ("B<|end|>", "B"),
    ("B\n<think>Done.</think>", "B"),
    ("<think>a <think>b</think> answer is A</think>C", "C"),
    ("The answer is B.\n\nB", "B"),
    ("B\r\n", "B"),
]

INVALID = [
    (None, "empty"),
    ("", "empty"),
    (" \n\t", "empty"),
    ("<think>A</think>\n", "empty"),
    ("```\n```", "empty"),
    ("<think>The answer is B", "unfinished_reasoning"),
    ("<think>A</think>B<think>but", "unfinished_reasoning"),
    ("b", "no_letter"),
    ("E", "no_letter"),
    ("AB", "no_letter"),
    ("The answer is E", "no_letter"),
    ("A patch that fixes the leak", "no_letter"),
    ("The answer is A patch that fixes the leak", "no_letter"),
    ("The answer is not A", "no_letter"),
    ("Apples", "no_letter"),
    ("The answer is A or B", "no_letter"),
    ("The answer is A and B", "no_letter"),
    ("The answer is A, B", "no_letter"),
    ("The answer is A/B", "no_letter"),
    ("The answer is Because", "no_letter"),
    ("Choice A: it adds a test. Choice B: it does not.", "no_letter"),
    ("I would need to see the repository.", "no_letter"),
    ('{"answer": "E"}', "no_letter"),
    ('{"answer": 1}', "no_letter"),
    (r"\boxed{AB}", "no_letter"),
    ("A\nB", "several_letters"),
    ("The answer is A. On reflection, the answer is B.", "several_letters"),
    ('The answer is A.\n{"answer": "B"}', "several_letters"),
    ("A\n\nAnswer: C", "several_letters"),
    ("A\nB\nC\nD", "several_letters"),
]


@pytest.mark.parametrize(("text", "letter"), NAMED)
def test_a_named_letter_is_read(text: str, letter: str) -> None:
    assert parse_strictly(text).letter == letter
    assert parse_strictly(text).reason is None


@pytest.mark.parametrize(("text", "reason"), INVALID)
def test_what_names_no_letter_is_invalid_with_its_reason(text: str | None, reason: str) -> None:
    assert parse_strictly(text) == ChoiceAnswer(None, reason)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet="ABCDE abcd.:()\n`*<>/think{}\\boxed\"'answer is", max_size=80))
def test_any_text_gets_a_letter_or_a_reason(text: str) -> None:
    answer = parse_strictly(text)
    assert (answer.choice is None) != (answer.reason is None)
    assert answer.choice is None or answer.letter in text


@settings(deadline=None, max_examples=60)
@given(st.sampled_from("ABCD"), st.text(alphabet="abcdefg .,\n", max_size=200))
def test_what_is_thought_changes_nothing(letter: str, thought: str) -> None:
    assert parse_strictly(f"<think>{thought} answer is A</think>{letter}").letter == letter


@pytest.mark.parametrize(
    "piece", ["(", "A ", "<think>", "answer is ", "\\boxed{ ", "```\n", "[THINK]", '"answer": "', "\n", " ", "\t\n"]
)
def test_hostile_texts_are_read_in_linear_time(piece: str) -> None:
    def cost(count: int) -> float:
        start = time.process_time()
        parse_strictly(piece * count)
        return time.process_time() - start

    assert cost(20_000) < 5  # a quadratic reader takes minutes


def test_the_released_match_takes_the_first_character() -> None:
    assert parse_as_released("A patch that").letter == "A"
    assert parse_as_released("B").letter == "B"
    assert parse_as_released(" B") == ChoiceAnswer(None, "no_letter")
    assert parse_as_released("The answer is B") == ChoiceAnswer(None, "no_letter")
    assert parse_as_released("") == ChoiceAnswer(None, "empty")
