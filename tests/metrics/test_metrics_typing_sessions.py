"""Typing sessions: keys by hand, and the order of scripted models that a measured prototype had."""

from __future__ import annotations

import time
from statistics import fmean

import pytest

from caretbench.metrics.typing_sessions import (
    OUTCOMES,
    POLICIES,
    TypedSession,
    TypedText,
    TypingPolicy,
    accepted_prefix,
    copied_suggestion,
    replay,
)
from tests.support.scripted_models import (
    ScriptedModel,
    copying,
    human_problems,
    last_identifier,
    one_wrong_token,
    right_in_four_of_ten,
    unknown_tokens,
)

TEXT = TypedText("def area(width, height):\n    ", "size = width * height\n    return size\n")


def session(answers: dict[int, str], **rules: object) -> TypedSession:
    found = replay(TEXT, dict.fromkeys(TEXT.tokens, "") | answers, TypingPolicy(**rules))  # type: ignore[arg-type]
    assert found is not None
    return found


def keys(one: TypedSession) -> int:
    return one.numbers["keys"] - one.numbers["saved"]


def outcomes(one: TypedSession) -> dict[str, int]:
    return {name: one.numbers[name] for name in OUTCOMES if one.numbers[name]}


def test_indentation_is_free_and_positions_are_starts_of_lines_and_ends_of_words() -> None:
    assert TEXT.keys[-1] == len("size = width * height") + 1 + len("return size") + 1
    assert (TEXT.lines, TEXT.tokens) == ([0, 26], [0, 5, 6, 7, 13, 14, 15, 26, 33])


def test_what_agrees_is_taken_by_one_key_or_word_by_word() -> None:
    right = session({0: TEXT.reference, 26: "return size\n"})
    assert (keys(right), outcomes(right)) == (4, {"accepted": 2})
    # `size` and ` = width` by a key each; ` * height` is typed.
    answers = {0: "size = width + 1", 26: "return size"}
    partly = session(answers)
    assert (keys(partly), partly.numbers["requests"]) == (2 + 9 + 1 + 1 + 1, 4)
    assert outcomes(partly) == {"accepted": 2, "nothing": 2}
    assert keys(session(answers, acceptance="whole")) == 21 + 1 + 1 + 1
    taken = [part for kind, part in partly.parts if kind == "accepted"]
    assert (taken, "".join(part for _, part in partly.parts)) == (["size = width", "return size"], TEXT.reference)


def test_a_suggestion_is_wrong_too_short_or_comes_too_late() -> None:
    given = session({0: "zz", 5: "=", 6: " w", 13: "* h", 26: "re"})
    assert {name: outcomes(given)[name] for name in ("wrong", "short")} == {"wrong": 1, "short": 4}
    answers = {0: "size = width * height", 26: "return size"}
    late = session(answers, latency_ms=800 + 22 * 200)
    assert (late.numbers["saved"], outcomes(late)) == (0, {"unseen": 2})
    assert outcomes(session(answers, least_shown=12)) == {"accepted": 1, "nothing": 1}
    assert replay(TEXT, {0: "zz"}) is None


def test_words_of_the_file_are_completed_without_a_model() -> None:
    # `width`, `height` and `size` are offered after their first letter, and one key takes each.
    assert TEXT.word_keys(0, len(TEXT.reference)) == 3 + 4 + 2
    alone = session(dict.fromkeys(TEXT.tokens, ""))
    saved = (alone.numbers["saved"], alone.numbers["saved_of_words"])
    assert (saved, alone.numbers["keys_of_words"]) == ((0, 0), TEXT.keys[-1] - 9)
    assert copied_suggestion("total += price\ncount += 1\ntotal ") == "+= price"


def test_accepted_prefix_is_the_share_up_to_the_first_difference() -> None:
    assert accepted_prefix("  return a\n", "return a + b") == pytest.approx(8 / 12)
    assert (accepted_prefix("x", "y"), accepted_prefix("", ""), accepted_prefix("x", "")) == (0.0, 1.0, 0.0)


def sessions(model: ScriptedModel, policy: TypingPolicy = POLICIES["token"]) -> list[TypedSession]:
    texts = [TypedText(problem.caret.prefix, problem.reference) for problem in human_problems(60)]
    found = [replay(text, {at: model(text, at) for at in text.tokens}, policy) for text in texts]
    return [one for one in found if one is not None]


def test_scripted_models_have_the_order_and_values_of_the_prototype() -> None:
    measured = {
        unknown_tokens(0.02): 0.90, one_wrong_token: 0.84, unknown_tokens(0.1): 0.72, right_in_four_of_ten: 0.42,
        unknown_tokens(0.4): 0.39, copying: 0.15, last_identifier: 0.01,
    }  # fmt: skip
    shares = {model: [one.numbers["saved"] / one.numbers["keys"] for one in sessions(model)] for model in measured}
    saved = {model: fmean(values) for model, values in shares.items()}
    for model, value in measured.items():
        assert saved[model] == pytest.approx(value, abs=0.10)
    assert [*saved.values()] == sorted(saved.values(), reverse=True)
    # One wrong token is never right, and four of ten are: typing and exact match order them the other way round.
    texts = [TypedText(problem.caret.prefix, problem.reference) for problem in human_problems(60)]
    wrong, right = (
        fmean(model(text, 0) == text.reference for text in texts) for model in (one_wrong_token, right_in_four_of_ten)
    )
    assert (len(texts), wrong) == (60, 0)
    assert right > 0.25


def test_two_hundred_sessions_are_replayed_within_a_second() -> None:
    texts = [TypedText(problem.caret.prefix, problem.reference) for problem in human_problems(60)]
    answers = [{at: one_wrong_token(text, at) for at in text.tokens} for text in texts]
    start = time.process_time()
    for number in range(200):
        text = texts[number % len(texts)]
        assert replay(TypedText(text.prefix, text.reference), answers[number % len(texts)])
    assert time.process_time() - start <= 1
