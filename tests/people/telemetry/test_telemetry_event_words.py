"""Words of events that extract passes on: no secret, no address and no name of the code is among them."""

from __future__ import annotations

from typing import Any

import pytest

from caretbench.people.telemetry.event_features import extracted_event
from caretbench.people.telemetry.event_privacy import SaltedHashes, replaced_words, secret_words
from tests.support.made_events import made_event

TEXTS = {"prefix": "def areaOfCircle(radius, manual):\n    ", "completion": "return python * total.sum", "suffix": "\n"}


def event(**changes: Any) -> Any:
    return made_event(texts=TEXTS, **changes)


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("language", "klingon"),
        ("language", "areaofcircle"),
        ("trigger", "radius"),
        ("category", "areaofcircle"),  # the schema has small letters alone
        ("category", "total.sum"),
        ("category", "x-areaofcircle-1"),
        ("model", "areaOfCircle"),
        ("model", "radius"),
        ("model", "acme/areaOfCircle-7b"),
        ("model", "ann.smith@corp.example"),
        ("model", "sk-ABCDEFGH12345678"),
        ("category", "ghp_abcdefghijklmnopqrst123456"),
        ("trigger", "sk-abcdefghijkl"),
    ],
)
def test_words_that_are_replaced(field: str, word: str) -> None:
    assert replaced_words(event(**{field: word})) == {field: "other"}
    assert extracted_event(event(**{field: word})).model_dump()[field] == "other"


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("language", "python"),  # a name of the code too
        ("language", "cobol"),
        ("language", "typescriptreact"),
        ("trigger", "manual"),
        ("trigger", "my_own"),
        ("category", "api_usage"),
        ("category", "area"),  # a part of a name
        ("model", "org/sum-7b:latest"),  # a short part
        ("model", "gpt-4o-2024-11-20"),
    ],
)
def test_words_that_pass(field: str, word: str) -> None:
    assert replaced_words(event(**{field: word})) == {}
    assert extracted_event(event(**{field: word})).model_dump()[field] == word


def test_a_word_with_the_name_of_the_user_is_replaced() -> None:
    assert replaced_words(event(user="Ann.Smith", category="team-ann.smith")) == {"category": "other"}
    assert replaced_words(event(user="ann", model="ann-7b")) == {"model": "other"}
    assert replaced_words(event(user="al", category="team-al")) == {}


def test_events_without_texts_are_examined_too() -> None:
    found = extracted_event(made_event(model="ann@corp.example", language="klingon"), SaltedHashes(b"0123456789abcdef"))
    assert (found.model, found.language) == ("other", "other")


def test_secrets_in_words_are_counted() -> None:
    one = event(model="sk-ABCDEFGH12345678", category="ghp_abcdefghijklmnopqrst123456")
    assert secret_words(one) == 2
    features = extracted_event(one).features
    assert features is not None
    assert features.secrets == 2
    assert secret_words(event()) == 0
