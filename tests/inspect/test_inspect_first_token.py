"""A letter that is read off the probabilities of the first token, over real sockets and by arithmetic."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caretbench.inspect.client.messages import likeliest_letter, log_probabilities
from caretbench.models import ModelAnswer, ModelFailure, ModelRequest, Sampling, TextPrompt
from caretbench.suites.efcb.choices import parse_as_released, parse_strictly
from tests.support.inspect_clients import TEXT, client_on
from tests.support.model_server import Behaviour, ModelServer, error

LETTERS = ("A", "B", "C", "D")
PROMPT = TextPrompt(text="Which?\nAnswer:", letters=LETTERS)


def logs(**probabilities: float) -> dict[str, float]:
    return {token.replace("_", " "): math.log(value) for token, value in probabilities.items()}


def completions(drawn: str, top: dict[str, float]) -> dict[str, Any]:
    """The form of OpenAI's ``/completions``."""
    value = top.get(drawn, math.log(0.001))
    return {"tokens": [drawn], "token_logprobs": [value], "top_logprobs": [top], "text_offset": [0]}


def conversations(drawn: str, top: dict[str, float]) -> dict[str, Any]:
    """The form that llama.cpp's server gives at ``/completions``."""
    tokens = [{"token": token, "logprob": value, "bytes": []} for token, value in top.items()]
    first = {"token": drawn, "logprob": top.get(drawn, math.log(0.001)), "bytes": []}
    return {"content": [first | {"top_logprobs": tokens}]}


def outcomes(
    monkeypatch: pytest.MonkeyPatch, *script: Behaviour, samples: int = 1
) -> tuple[list[ModelAnswer | ModelFailure], list[Any]]:
    """What came of one request, and the bodies that were sent for it."""
    request = ModelRequest(id="one", prompt=PROMPT, samples=tuple(range(samples)), sampling=Sampling(temperature=0))
    with ModelServer(script) as server, client_on(monkeypatch, server, TEXT) as client:
        found = list(client.submit([request]))
    return found, [sent.body for sent in server.requests]


def answer(monkeypatch: pytest.MonkeyPatch, *script: Behaviour) -> ModelAnswer:
    [found], _ = outcomes(monkeypatch, *script)
    assert isinstance(found, ModelAnswer), found
    return found


def refusal(monkeypatch: pytest.MonkeyPatch, *script: Behaviour) -> ModelFailure:
    [found], _ = outcomes(monkeypatch, *script)
    assert isinstance(found, ModelFailure), found
    return found


@pytest.mark.parametrize("form", [completions, conversations])
def test_probabilities_of_a_letter_with_and_without_a_blank_are_added_up(monkeypatch, form):
    told = form(" A", logs(_A=0.3, B=0.25, _B=0.2, the=0.2, Because=0.05))
    [found], [sent] = outcomes(monkeypatch, Behaviour(text=" A", finish="length", logprobs=told))
    assert isinstance(found, ModelAnswer)
    assert (found.text, found.finish_reason) == ("B", "stop")
    assert found.log_probabilities is not None
    assert dict(found.log_probabilities) == pytest.approx({"A": math.log(0.3), "B": math.log(0.45)})
    assert (sent["max_tokens"], sent["logprobs"], sent["prompt"]) == (1, 20, PROMPT.text)
    assert "stop" not in sent


def test_the_token_that_was_drawn_counts_though_it_is_none_of_the_likeliest(monkeypatch):
    found = answer(monkeypatch, Behaviour(text=" C", logprobs=completions(" C", logs(the=0.6, a=0.3))))
    assert found.text == "C"


def test_each_of_several_samples_is_read(monkeypatch):
    told = completions(" D", logs(_D=0.9))
    found, [sent] = outcomes(monkeypatch, Behaviour(text=" D", logprobs=told), samples=3)
    assert sent["n"] == 3
    assert [one.text for one in found if isinstance(one, ModelAnswer)] == ["D"] * 3


def test_equally_likely_letters_are_no_answer(monkeypatch):
    found = answer(monkeypatch, Behaviour(text=" A", logprobs=completions(" A", logs(_A=0.4, _C=0.4))))
    assert found.text == "equally likely: A, C"
    assert parse_strictly(found.text).choice is None
    assert parse_as_released(found.text).choice is None


def test_where_no_letter_is_told_the_answer_is_what_was_written(monkeypatch):
    told = completions(" the", logs(_the=0.5, _a=0.4))
    found = answer(monkeypatch, Behaviour(text=" the", finish="length", logprobs=told))
    assert (found.text, found.finish_reason, found.log_probabilities) == (" the", "length", {})
    assert parse_strictly(found.text).choice is None


@pytest.mark.parametrize(
    "told", [None, {"tokens": [], "token_logprobs": [], "top_logprobs": []}, {"content": []}, {"content": 7}]
)
def test_a_provider_that_tells_none_is_refused(monkeypatch, told):
    found = refusal(monkeypatch, Behaviour(text=" A", logprobs=told))
    assert (found.kind, found.attempts) == ("refused", 1)
    assert "--prompt question-text" in found.message


def test_a_server_that_tells_of_fewer_tokens_is_asked_for_fewer(monkeypatch):
    told = completions(" A", logs(_A=0.4))
    too_many = error(400, "Invalid value for 'logprobs': must be at most 5")
    found, sent = outcomes(monkeypatch, too_many, Behaviour(text=" A", logprobs=told))
    assert [body["logprobs"] for body in sent] == [20, 5]
    assert [one.text for one in found if isinstance(one, ModelAnswer)] == ["A"]
    found, sent = outcomes(monkeypatch, too_many, too_many)
    assert len(sent) == 2
    assert [one.kind for one in found if isinstance(one, ModelFailure)] == ["refused"]


def test_a_text_without_letters_is_asked_as_ever(monkeypatch):
    request = ModelRequest(id="one", prompt=TextPrompt(text="go on"))
    with ModelServer() as server, client_on(monkeypatch, server, TEXT) as client:
        [found] = client.submit([request])
    assert isinstance(found, ModelAnswer)
    assert found.log_probabilities is None
    assert "logprobs" not in server.requests[0].body


def test_a_client_that_cannot_tell_is_not_asked(monkeypatch):
    with ModelServer() as server, client_on(monkeypatch, server, TEXT) as client:
        client.returns_log_probabilities = False
        [found] = client.submit([ModelRequest(id="one", prompt=PROMPT)])
    assert isinstance(found, ModelFailure)
    assert (found.kind, found.message) == ("unpromptable", f"{TEXT} tells no log-probabilities of the first token")
    assert not server.requests


# --- the arithmetic -------------------------------------------------------------------------------------------------


def test_marks_of_blanks_are_blanks_and_what_is_no_probability_is_not_told():
    tokens = [("\u0120A", -1.0), ("\u2581A", -1.0), ("A", -1.0), ("B", -9999.0), ("C", -math.inf)]
    tokens += [("D", math.nan), ("D", 800.0), ("a", -0.1), ("A.", -0.1), ("AB", -0.1)]
    assert log_probabilities(tokens, LETTERS) == pytest.approx({"A": math.log(3) - 1})


@given(st.lists(st.tuples(st.sampled_from(("A", " A", "B", " B", "x")), st.floats(-700, 0)), max_size=8))
def test_no_letter_is_guessed(tokens):
    told = log_probabilities(tokens, LETTERS)
    assert set(told) == {token.strip() for token, _ in tokens} - {"x"}
    if told:
        answer = parse_strictly(likeliest_letter(told)).letter
        best = [letter for letter, value in told.items() if value == max(told.values())]
        assert answer == (best[0] if len(best) == 1 else None)
