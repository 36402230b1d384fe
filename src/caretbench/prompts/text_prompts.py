"""Prompt strategies ``left-to-right`` and ``fill``, which send the text at the caret without instructions."""

from __future__ import annotations

from caretbench.languages import Language
from caretbench.models import FillPrompt, TextPrompt
from caretbench.problem import Caret
from caretbench.prompts.budget import PromptParts, fit_to_budget, render_within_budget
from caretbench.prompts.markers import as_line_comments, caret_language
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, UnpromptableError


class LeftToRightStrategy(PromptStrategy):
    """Strategy for base models without sentinels: the text before the caret. The suffix is not shown.

    The prefix is sent as it is, blanks at its end included. Most tokenizers join blanks to the word that follows, so
    a model rarely saw a text that ends with them: it may write the blank again, or another word. That is the price
    of an answer that fits the caret character by character; to take the blanks off here would only move the error
    into the program. There are no stop strings: the model's own end of text, ``max_tokens`` and the truncation policy
    end an answer.
    """

    name = "left-to-right"
    version = 1
    kind = "text"

    def render(self, caret: Caret, budget: PromptBudget) -> TextPrompt:
        """Return the prefix, after the instruction as a comment and other files headed by path comments."""
        if not caret.prefix:
            raise UnpromptableError("no text stands before the caret, so that there is nothing to continue")
        language = caret_language(caret) if caret.context or caret.instruction else None

        def rendered(parts: PromptParts) -> str:
            before = _before(caret, parts, language) if language is not None else ""
            return before + parts.prefix

        return TextPrompt(text=render_within_budget(PromptParts(caret.prefix, "", caret.context), budget, rendered))


class FillStrategy(PromptStrategy):
    """Strategy for FIM endpoints that insert sentinels themselves; sends prefix and suffix separately."""

    name = "fill"
    version = 1
    kind = "fill"

    def render(self, caret: Caret, budget: PromptBudget) -> FillPrompt:
        """Return prefix and suffix within the budget; the endpoint's sentinels and template are not counted."""
        overhead = "\n".join(text for text in (caret.path, caret.instruction) if text)
        parts = fit_to_budget(PromptParts(caret.prefix, caret.suffix, caret.context), budget, overhead)
        return FillPrompt(**parts._asdict(), language=caret.language, path=caret.path, instruction=caret.instruction)


def _before(caret: Caret, parts: PromptParts, language: Language) -> str:
    files = [
        f"{as_line_comments(file.path, language)}{file.text}{'' if file.text.endswith(chr(10)) else chr(10)}\n"
        for file in parts.files
    ]
    path = as_line_comments(caret.path, language) if caret.path and files else ""
    return "".join(files) + path + as_line_comments(caret.instruction or "", language)
