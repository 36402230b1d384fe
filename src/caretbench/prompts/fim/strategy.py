"""Strategies ``fim/FAMILY`` and, if a family has a second order, ``fim/FAMILY:ORDER``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from caretbench.models import ChatPrompt, Message, Prompt, TextPrompt
from caretbench.problem import Caret
from caretbench.prompts.budget import PromptParts, render_within_budget
from caretbench.prompts.fim.detection import fim_formats
from caretbench.prompts.fim.format import FimFormat, PrefixSuffixOrder
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, UnpromptableError


class FimStrategy(PromptStrategy):
    """Fill-in-the-middle strategy in the format of a family.

    No format has a place for an instruction. The kind is ``text``, but ``chat`` for a family whose text is in a turn
    of a conversation that the endpoint writes. The version is that of the family's entry in the table.
    """

    takes_instructions = False

    def __init__(self, entry: FimFormat, order: PrefixSuffixOrder | None = None) -> None:
        self.format = entry
        self.order = order or entry.order
        self.name = f"fim/{entry.name}" + ("" if self.order == entry.order else f":{self.order}")
        self.version = entry.version
        self.kind = "text" if entry.system is None else "chat"

    def render(self, caret: Caret, budget: PromptBudget) -> Prompt:
        """Return the prompt for ``caret``; no format has a field for an instruction."""
        if caret.instruction:
            raise UnpromptableError(
                f"{self.name} has no place for the problem's instruction: --instruction none asks without it, and "
                "--instruction comment with it as a comment at the end of the prefix"
            )
        system = self.format.system or ""

        def text(parts: PromptParts) -> str:
            return self.format.render(
                parts.prefix, parts.suffix,
                language=caret.language, path=caret.path, repository=caret.repository, files=parts.files,
                order=self.order,
            ).text  # fmt: skip

        whole = render_within_budget(
            PromptParts(caret.prefix, caret.suffix, caret.context), budget, lambda parts: system + text(parts)
        )
        rendered, stop = whole[len(system) :], self.format.stop
        if self.format.system is None:
            return TextPrompt(text=rendered, stop=stop)
        return ChatPrompt(
            messages=(Message(role="system", text=system), Message(role="user", text=rendered)), stop=stop
        )


@cache
def fim_strategies() -> Mapping[str, FimStrategy]:
    """Return all FIM strategies by name: one per family, and one per additional order of prefix and suffix."""
    found = (FimStrategy(entry, order) for entry in fim_formats().values() for order in entry.orders)
    return {strategy.name: strategy for strategy in found}
