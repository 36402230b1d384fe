"""From a problem and a text to what the judge is sent. It never sees the reference, tests, results or the author."""

from __future__ import annotations

from string import Template

from pydantic import JsonValue

from caretbench.files import sha256_text
from caretbench.judging.criteria import Criterion
from caretbench.languages import language
from caretbench.models import ChatPrompt, Message, ModelClient, Sampling
from caretbench.problem import Problem

_MARK_LENGTH = 16


def render(criterion: Criterion, problem: Problem, text: str) -> ChatPrompt:
    """The conversation that asks for a judgement of ``text`` at the caret of ``problem``.

    Raises:
        TypeError: the problem asks a question and has no caret.
    """
    caret = problem.caret
    # One pass: a place's name inside a text stays as it is.
    user = Template(criterion.prompt.user).substitute(
        language=_title(caret.language),
        prefix=caret.prefix,
        completion=text,
        suffix=caret.suffix,
        mark=mark_for(caret.prefix, text, caret.suffix),
    )
    messages = [Message(role="user", text=user)]
    if criterion.prompt.system is not None:
        messages.insert(0, Message(role="system", text=criterion.prompt.system))
    return ChatPrompt(
        messages=tuple(messages),
        schema_name=criterion.name.replace("-", "_") if criterion.json_schema else None,
        json_schema=criterion.json_schema,
    )


def mark_for(*texts: str) -> str:
    """A mark that stands in none of the texts; the same texts get the same mark.

    It is a hash of the texts, so that no text can hold the mark that closes it: to write it, one would have to know it
    before.
    """
    count = 0
    while True:
        mark = sha256_text(*texts, str(count))[:_MARK_LENGTH]
        if not any(mark in text for text in texts):
            return mark
        count += 1


def settings_of(criterion: Criterion, client: ModelClient, sampling: Sampling) -> dict[str, JsonValue]:
    """What decides a grader's answers; the ``parameters`` of its judgements are the hash of it."""
    identity: dict[str, JsonValue] = {"model": client.name}
    return {
        "criterion": criterion.key,
        "form": criterion.form,
        "scores": {scale.name: scale.maximum for scale in criterion.scores},
        "prompt": criterion.fingerprint,
        "sampling": sampling.model_dump(mode="json"),
        "client": identity | dict(client.identity),
    }


def _title(name: str) -> str:
    try:
        return language(name).title
    except KeyError:
        return name
