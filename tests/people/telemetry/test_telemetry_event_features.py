"""Features of events: of what they are, and that no token of the code is in them."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator
from typing import get_args

import pytest

from caretbench.people.telemetry.event_features import extracted_event
from caretbench.people.telemetry.event_privacy import SaltedHashes
from caretbench.people.telemetry.events import (
    CaretBoundary,
    CompletionEvent,
    EventBlock,
    EventCut,
    EventFeatures,
    EventOutcome,
    known_failures,
)
from caretbench.problem import Problem
from caretbench.suites import load_suite
from tests.support.made_events import made_event

HASHES = SaltedHashes(b"0123456789abcdef")
_TOKEN = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[^\W\d]\w*|\d[\w.]*")
_VOCABULARY = frozenset(
    {*CompletionEvent.model_fields, *EventFeatures.model_fields, "true", "false", "null", "automatic"}
    | {*get_args(EventBlock), *get_args(EventCut), *get_args(CaretBoundary), *get_args(EventOutcome)}
)
"""Words of the schema."""


def features(**changes: object) -> EventFeatures:
    texts = {"prefix": "def f(a, b):\n    ", "suffix": "\n", "completion": "return a + b"}
    fields = {name: changes.pop(name) for name in ("outcome", "accepted_characters") if name in changes}
    found = extracted_event(made_event(texts=texts | changes, **fields)).features
    assert found is not None
    return found


def test_survival_is_of_the_part_that_was_accepted() -> None:
    assert features(after_5min="return a").kept_5min == 0.667
    found = features(outcome="accepted_in_part", accepted_characters=8, after_5min="return a")
    assert (found.kept_5min, found.kept_30s) == (1.0, None)
    assert features(outcome="rejected", after_5min="return a").kept_5min is None


def test_a_right_text_that_was_rejected_has_no_failure() -> None:
    found = features(outcome="rejected", after_5min="return a + b")
    assert (found.typed_anyway, found.failures) == (True, ())
    other = features(outcome="rejected", after_5min="return b + b")
    assert not other.typed_anyway
    assert other.failures == ("wrong_name",)


def test_a_completion_is_right_if_the_user_goes_on_in_new_lines() -> None:
    for later in ("return a + b\n\n\ndef g(c):\n    return c", "return a + b\r\n    more()"):
        assert features(after_5min=later).failures == ()
        assert features(outcome="rejected", after_5min=later).typed_anyway
    assert features(completion=";", after_5min=";\n    more()").failures == ()


@pytest.mark.parametrize(
    ("completion", "later", "kind"),
    [
        ("return a.ma", "return a.map(b)", "incomplete"),
        ("return b * 10", "return b * 100", "wrong_literal"),
        ("return max(a,", "return max(a, b)", "incomplete"),
        ("return a", "return a + b\n    more()", "incomplete"),
    ],
)
@pytest.mark.parametrize("outcome", ["accepted", "rejected", "ignored"])
def test_a_text_that_was_cut_is_not_right(completion: str, later: str, kind: str, outcome: str) -> None:
    found = features(outcome=outcome, completion=completion, after_5min=later)
    assert not found.typed_anyway
    assert found.failures is not None
    assert kind in found.failures


def test_nothing_was_due_where_nothing_came() -> None:
    found = features(outcome="rejected", after_5min="  ")
    assert found.cut == "empty"
    assert found.failures == ("given_when_nothing_due",)


def test_lengths_and_secrets() -> None:
    found = features(completion="return 1\n", suffix="password = 'hunter2hunter2'")
    assert (found.lines, found.characters, found.prefix_lines, found.secrets) == (1, 9, 1, 1)
    assert features().secrets == 0


def test_a_prefix_that_a_parser_takes_all_memory_for_is_not_parsed() -> None:
    found = features(prefix="x = 1\n" * 1_000, completion="y = 2", after_5min="z = 3", outcome="rejected")
    assert (found.block, found.prefix_characters, found.added_faults) == ("statement", 6_000, 0)
    texts = {"prefix": "x=>" * 14_000, "suffix": "", "completion": "y", "after_5min": "z"}
    hostile = extracted_event(made_event(texts=texts, outcome="rejected", language="java")).features
    assert hostile is not None
    assert (hostile.block, hostile.added_faults) == ("partial_line", None)


# --- no token of the code -----------------------------------------------------------------------------------------


def starter_problems() -> list[Problem]:
    suites = ("devbench", "c3bench", "simcopilot")
    found = [one for name in suites for one in load_suite(name).load("starter").problems if one.shown.kind == "caret"]
    return random.Random(1).sample(found, 40)  # noqa: S311  a sample, not a secret


def events_of(problem: Problem, change: Callable[[str], str] = str) -> Iterator[CompletionEvent]:
    """Yield events of a problem: one kept, one rejected with another text later."""
    caret, answer = problem.caret, problem.reference or "x"
    texts = {"prefix": change(caret.prefix), "suffix": change(caret.suffix), "completion": change(answer)}
    half = change(answer[: len(answer) // 2])
    for outcome, later in (("accepted", change(answer)), ("rejected", half), ("ignored", None)):
        yield made_event(
            texts=texts | {"after_30s": later, "after_5min": later},
            outcome=outcome,
            id=f"name/{problem.id}",
            user="Ann Example",
            language=caret.language,
        )


def test_no_token_of_the_code_is_in_the_output() -> None:
    searched = 0
    for problem in starter_problems():
        tokens = {
            found.strip("\"'")
            for text in (problem.caret.prefix, problem.caret.suffix, problem.reference)
            for found in _TOKEN.findall(text)
        }
        known = _VOCABULARY | known_failures() | {problem.caret.language}
        for event in events_of(problem):
            output = extracted_event(event, HASHES).model_dump_json()
            values = {*re.findall(r"[\w.+-]+", output)}
            found = {token for token in tokens - known if token in values and not re.fullmatch(r"[\d.]+", token)}
            assert not found, problem.id
            names = re.sub(r"\b[0-9a-f]{64}\b", "", output)
            longer = [token for token in tokens if len(token) > 5 and not any(token in word for word in known)]
            assert not [token for token in longer if token in names], problem.id
            searched += len(tokens)
            for name in ("name/", "Ann", "Example", problem.id):
                assert name not in output
    assert searched > 3_000


def _renamed(seed: int) -> Callable[[str], str]:
    """Return a change of a text: marked names and numbers become others of the same length."""
    draw = random.Random(seed)  # noqa: S311  names, not secrets
    names: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        letters = string.digits[1:] if found[0].isdigit() else string.ascii_lowercase
        return names.setdefault(found[0], "".join(draw.choice(letters) for _ in found[0]))

    return lambda text: re.sub(r"\bZz\w+|\b\d\d\b", other, text)


def test_other_names_and_literals_give_the_same_output() -> None:
    """What cannot be told apart is not in the output: only shapes and lengths are."""
    program = (
        "def Zzarea(Zzwidth, Zzheight):\n    Zzscale = 'Zzmetres'\n    if Zzwidth > 17:\n"
        "        print(Zzscale, Zzwidth)\n    return Zzwidth * Zzheight\n"
    )
    at, end = program.index("if Zzwidth"), program.index("    return")
    inputs, outputs = set(), set()
    for seed in range(5):
        change = _renamed(seed)
        texts = [
            change(text)
            for text in (program[:at], program[at:end], program[end:], "if Zzheight > 18:\n        print(Zzscale)")
        ]
        inputs.add(texts[0])
        event = made_event(
            texts={"prefix": texts[0], "completion": texts[1], "suffix": texts[2], "after_5min": texts[3]},
            outcome="rejected",
        )
        outputs.add(extracted_event(event, HASHES).model_dump_json())
    assert (len(inputs), len(outputs)) == (5, 1)
    assert '"wrong_name"' in outputs.pop()


@pytest.mark.parametrize(
    ("time", "hour"),
    [
        ("2026-03-01T12:34:56Z", "2026-03-01T12:00:00Z"),
        ("2026-03-01T12:34:56+05:45", "2026-03-01T06:00:00Z"),
        ("2026-03-01T12:34:56-03:17", "2026-03-01T15:00:00Z"),
        ("0001-01-01T00:30:00+02:00", "0001-01-01T00:00:00Z"),
    ],
)
def test_a_time_says_nothing_of_the_place_of_its_user(time: str, hour: str) -> None:
    event = made_event(texts={"prefix": "a = ", "completion": "1"}, time=time)
    output = extracted_event(event, HASHES)
    assert output.model_dump(mode="json")["time"] == hour


def test_an_extracted_event_is_read_again_and_has_the_hour_alone() -> None:
    event = made_event(texts={"prefix": "a = ", "completion": "1"})
    output = extracted_event(event, HASHES)
    assert CompletionEvent.model_validate_json(output.model_dump_json()) == output
    assert output.time.isoformat() == "2026-03-01T12:00:00+00:00"
    assert extracted_event(output) == output
