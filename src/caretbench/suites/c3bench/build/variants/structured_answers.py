"""Requests for answers in JSON: packaged prompts, and a second try after an answer that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from string import Template
from typing import Final, TypeVar

from pydantic import JsonValue, TypeAdapter

from caretbench.build.build_models import BuildModels, BuildRequest
from caretbench.files import read_packaged_toml
from caretbench.models import ChatPrompt, Message, Sampling
from caretbench.problem import Row

TRIES: Final = 2
"""Maximum number of answers to one request, with the first."""

_SHOWN_ANSWER = 8_000
ValueT = TypeVar("ValueT")


class RolePrompt(Row):
    """Prompt of a role: a system message, the request, and the request after an unreadable answer."""

    version: int
    system: str
    user: str
    again: str


@cache
def role_prompts() -> Mapping[str, RolePrompt]:
    """Return the prompts by role."""
    table = read_packaged_toml("caretbench.suites.c3bench.build.variants", "prompts.toml")
    return TypeAdapter(dict[str, RolePrompt]).validate_python(table)


@dataclass(frozen=True)
class StructuredRequest:
    """Request for a JSON object: its key, the words that fill the role's prompt, and the object's schema."""

    key: str
    words: Mapping[str, str]
    schema: Mapping[str, JsonValue]
    sampling: Sampling
    about: str


@dataclass(frozen=True)
class UnreadableAnswer:
    """Last answer to a request that cannot be read, with the reason."""

    fault: str
    text: str


def readable_answers(
    models: BuildModels,
    role: str,
    requests: Mapping[str, Sequence[StructuredRequest]],
    read: Callable[[str, str], ValueT],
) -> dict[tuple[str, str], ValueT | UnreadableAnswer]:
    """Return the answers by model name and request key; unreadable ones are requested once more.

    Args:
        models: Models of the build.
        role: Role of the models.
        requests: Requests by model name.
        read: Returns the value of an answer from the request's key and the text; raises ValueError for an unreadable
            one.

    Raises:
        AnswersMissingError: a model did not answer.
    """
    found: dict[tuple[str, str], ValueT | UnreadableAnswer] = {}
    pending = {name: {one.key: _conversation(role, one) for one in asked} for name, asked in requests.items()}
    for number in range(1, TRIES + 1):
        pending = {name: asked for name, asked in pending.items() if asked}
        if not pending:
            break
        answers = models.ask_each(
            role, {name: [one.request(role) for one in asked.values()] for name, asked in pending.items()}
        )
        following: dict[str, dict[str, _Conversation]] = {name: {} for name in pending}
        for name, asked in pending.items():
            for key, one in asked.items():
                text = answers[name][one.key]
                try:
                    found[name, key] = read(key, text)
                except ValueError as error:
                    found[name, key] = UnreadableAnswer(str(error), text)
                    following[name][key] = _again(role, one, f"{key}#{number + 1}", text, str(error))
        pending = following
    return found


@dataclass(frozen=True)
class _Conversation:
    """Messages of one request so far, and the key of the next answer."""

    key: str
    first: StructuredRequest
    messages: tuple[Message, ...]

    def request(self, role: str) -> BuildRequest:
        prompt = ChatPrompt(messages=self.messages, schema_name=role, json_schema=self.first.schema)
        return BuildRequest(self.key, prompt, self.first.sampling, self.first.about)


def _conversation(role: str, one: StructuredRequest) -> _Conversation:
    prompt = role_prompts()[role]
    messages = (
        Message(role="system", text=prompt.system.strip()),
        Message(role="user", text=Template(prompt.user).substitute(one.words).strip()),
    )
    return _Conversation(one.key, one, messages)


def _again(role: str, one: _Conversation, key: str, answer: str, fault: str) -> _Conversation:
    added = (
        Message(role="assistant", text=answer[:_SHOWN_ANSWER] or "(no text)"),
        Message(role="user", text=Template(role_prompts()[role].again).substitute(fault=fault).strip()),
    )
    return replace(one, key=key, messages=one.messages + added)
