"""Rendering of chat prompts from Jinja templates in ``templates/``, truncated to the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from caretbench.languages import languages
from caretbench.languages.table_reader import LanguageTable, read_table
from caretbench.models import ChatPrompt, Message
from caretbench.problem import Caret
from caretbench.prompts.budget import PromptParts, render_within_budget
from caretbench.prompts.strategy import PromptBudget

if TYPE_CHECKING:
    from jinja2 import Environment, Template


class WorkedExample(LanguageTable):
    """Worked example in one language, ``example.toml`` in its folder: ``prefix + middle + suffix`` is a program."""

    path: str
    prefix: str
    middle: str
    suffix: str


def _read(name: str) -> str:
    return resources.files("caretbench.prompts").joinpath("templates", name).read_text("utf-8")


@cache
def worked_examples() -> Mapping[str, WorkedExample]:
    """Return the worked examples by language."""
    read = {name: read_table(name, "example", WorkedExample) for name in languages()}
    return {name: example for name, example in read.items() if example is not None}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, StrictUndefined  # imported late: it costs more than all the rest of this room

    return Environment(autoescape=False, undefined=StrictUndefined)  # noqa: S701  prompts are no HTML


@cache
def _template(name: str) -> Template:
    return _environment().from_string(_read(name))


def fill_templates(name: str, values: Mapping[str, object]) -> tuple[Message, ...]:
    """Return the messages of the templates ``NAME.system.j2`` and ``NAME.user.j2``, without truncation."""
    return (
        Message(role="system", text=_template(f"{name}.system.j2").render(values)),
        Message(role="user", text=_template(f"{name}.user.j2").render(values)),
    )


def render_conversation(
    name: str, caret: Caret, budget: PromptBudget, values: Callable[[PromptParts], Mapping[str, object]]
) -> ChatPrompt:
    """Return the messages of the templates ``NAME.*.j2``, filled with a caret that is truncated to the budget.

    Args:
        name: Name of the templates.
        caret: Caret to show.
        budget: Room for both messages together; what a provider adds between messages is not counted.
        values: Returns the template values for the remaining parts.

    Raises:
        UnpromptableError: Nothing fits.
    """
    by_text: dict[str, tuple[Message, ...]] = {}

    def rendered(parts: PromptParts) -> str:
        messages = fill_templates(name, values(parts))
        text = "\n".join(message.text for message in messages)
        by_text[text] = messages
        return text

    sent = render_within_budget(PromptParts(caret.prefix, caret.suffix, caret.context), budget, rendered)
    return ChatPrompt(messages=by_text[sent])
