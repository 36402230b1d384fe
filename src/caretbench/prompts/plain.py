"""Strategies ``left-to-right`` and ``fill``: the text at the caret without our instructions."""

from __future__ import annotations

from caretbench.languages import Language
from caretbench.models import FillPrompt, TextPrompt
from caretbench.problem import Caret
from caretbench.prompts.budget import Parts, fit, fit_rendered
from caretbench.prompts.marks import commented, language_of
from caretbench.prompts.strategy import Budget, Strategy, UnpromptableError


class LeftToRight(Strategy):
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

    def render(self, caret: Caret, budget: Budget) -> TextPrompt:
        """Return the prefix; before it other files and the instruction, each headed by or written as a comment."""
        if not caret.prefix:
            raise UnpromptableError("no text stands before the caret, so that there is nothing to continue")
        language = language_of(caret) if caret.context or caret.instruction else None

        def rendered(parts: Parts) -> str:
            before = _before(caret, parts, language) if language is not None else ""
            return before + parts.prefix

        return TextPrompt(text=fit_rendered(Parts(caret.prefix, "", caret.context), budget, rendered))


class Fill(Strategy):
    """Strategy for endpoints that place sentinels themselves: text before and after the caret, in any language."""

    name = "fill"
    version = 1
    kind = "fill"

    def render(self, caret: Caret, budget: Budget) -> FillPrompt:
        """Return the part of the caret's text that fits. Sentinels and template are the endpoint's, and not counted."""
        overhead = "\n".join(text for text in (caret.path, caret.instruction) if text)
        parts = fit(Parts(caret.prefix, caret.suffix, caret.context), budget, overhead)
        return FillPrompt(
            **parts._asdict(), language=caret.language, path=caret.path, instruction=caret.instruction
        )


def _before(caret: Caret, parts: Parts, language: Language) -> str:
    files = [
        f"{commented(file.path, language)}{file.text}{'' if file.text.endswith(chr(10)) else chr(10)}\n"
        for file in parts.files
    ]
    path = commented(caret.path, language) if caret.path and files else ""
    return "".join(files) + path + commented(caret.instruction or "", language)
