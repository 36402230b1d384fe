"""Which prompt a model gets: what it accepts and its special tokens decide, and nothing is taken silently."""

from __future__ import annotations

from caretbench.models import ModelClient
from caretbench.prompts.fim import detection as fim
from caretbench.prompts.registry import AUTO, OURS, strategy
from caretbench.prompts.strategy import AsksQuestions, Strategy, unreadable


def choose(client: ModelClient, wanted: str | None, *, questions: bool = False) -> Strategy:
    """The strategy for a model. The caller says which it is: a choice that nobody sees would be a default.

    ``auto`` (or None) takes what tells most about a model's skill at the caret:

    * raw text, where it is accepted: the FIM format that tokens and name of the model tell; left-to-right, where its
      tokens are known and belong to no format;
    * text before and after the caret apart (``fill``), where the endpoint places its sentinels itself and the format
      is not known here;
    * a conversation, where nothing else is accepted.

    Questions are asked in a conversation wherever one is accepted.

    Args:
        client: The model.
        wanted: The name of a strategy, ``auto`` or None.
        questions: The problems are questions, none of them a place in a program.

    Raises:
        KeyError: There is no such strategy.
        ValueError: The model does not take such prompts, tells not what they need, or its format is not known; the
            message says what to give.
    """
    if wanted is None or wanted == AUTO:
        found = _automatic_question(client) if questions else _automatic(client)
    else:
        found = strategy(wanted)
    if questions is not isinstance(found, AsksQuestions):
        asked = "questions" if questions else "places in programs"
        raise ValueError(f"--prompt {found.name} cannot be used here: the problems are {asked}")
    if found.kind not in client.accepts:
        raise ValueError(
            f"{client.name} takes {_kinds(client)} prompts, and {found.name} makes {found.kind} prompts; "
            f"give --prompt {_offers(client, questions=questions)}"
        )
    if reason := unreadable(found, client):
        raise ValueError(f"{reason}; give --prompt {_offers(client, questions=questions)}")
    return found


def _automatic(client: ModelClient) -> Strategy:
    if "text" not in client.accepts:
        return strategy("fill" if "fill" in client.accepts else "chat")
    tokens = client.special_tokens()
    try:
        return strategy(f"fim/{fim.for_model(client.name, tokens).name}")
    except ValueError as refusal:
        if tokens is not None:
            return strategy("left-to-right")
        if "fill" in client.accepts:
            return strategy("fill")
        raise ValueError(f"{refusal}; give --prompt {_offers(client)}") from None


def _automatic_question(client: ModelClient) -> Strategy:
    return strategy("question" if "chat" in client.accepts else "question-text")


def _kinds(client: ModelClient) -> str:
    return " and ".join(sorted(client.accepts))


def _offers(client: ModelClient, *, questions: bool = False) -> str:
    """What --prompt may say for this model; the formats as one."""
    ours = [
        entry.name
        for entry in OURS
        if entry.kind in client.accepts
        and isinstance(entry, AsksQuestions) is questions
        and unreadable(entry, client) is None
    ]
    return (
        ", ".join((*ours, "fim/FAMILY") if "text" in client.accepts and not questions else ours)
        or "(none fits)"
    )
