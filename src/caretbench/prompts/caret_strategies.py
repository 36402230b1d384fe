"""Strategies for carets without a FIM format: ``chat``, ``natural``, ``devbench-paper``, ``left-to-right``, ``fill``.

The first three are conversations, from the templates of these names; the others send the text at the caret alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from caretbench.languages import Language
from caretbench.models import ChatPrompt, FillPrompt, TextPrompt
from caretbench.problem import Caret
from caretbench.prompts.strategy import (
    PromptBudget,
    PromptParts,
    PromptStrategy,
    UnpromptableError,
    fit_to_budget,
    render_within_budget,
)
from caretbench.prompts.templating import (
    as_line_comments,
    caret_language,
    caret_marker,
    caret_texts,
    code_fence,
    describe_position,
    describe_suffix,
    fenced_files,
    render_conversation,
    unique_tags,
    worked_examples,
)

PAPER_MARKER = "#TODO: You Code Here"


class ChatStrategy(PromptStrategy):
    """Chat strategy that shows the program in a code fence, with a comment that marks the caret.

    What is asked for does not depend on the kind of problem: where a comment is wanted, the text around the caret
    says so, or the caret's instruction.
    """

    name = "chat"
    version = 1
    kind = "chat"

    def render(self, caret: Caret, budget: PromptBudget) -> ChatPrompt:
        """Return the chat prompt: the program in a code fence, with a marker at the caret."""
        language = caret_language(caret)
        fixed = _fixed_values(caret, language) | {"marker": caret_marker(caret, language)}

        def values(parts: PromptParts) -> Mapping[str, object]:
            around = {
                "place": describe_position(parts.prefix),
                "following": describe_suffix(parts.prefix, parts.suffix),
            }
            return fixed | _shown_values(caret, parts) | around | {"files": fenced_files(parts.files)}

        return render_conversation(self.name, caret, budget, values)


class NaturalLanguageStrategy(PromptStrategy):
    """Chat strategy for general models: prefix and suffix between tags, and an instruction to fill the middle.

    The content is that of the prompt in appendix D of the Codev-Bench paper (file name, text before and after the
    caret, a worked example, how much to write); the words are ours.
    """

    name = "natural"
    version = 1
    kind = "chat"

    def render(self, caret: Caret, budget: PromptBudget) -> ChatPrompt:
        """Return prefix and suffix in separate tags, with a request for the middle."""
        language = caret_language(caret)
        texts = (*caret_texts(caret), *worked_examples()[language.name])
        fixed = _fixed_values(caret, language) | {"tags": unique_tags(("path", "file", "prefix", "suffix"), texts)}

        def values(parts: PromptParts) -> Mapping[str, object]:
            return fixed | _shown_values(caret, parts) | {"files": parts.files}

        return render_conversation(self.name, caret, budget, values)


class DevBenchPaperStrategy(PromptStrategy):
    """Chat strategy modelled on the prompt of DevBench's released code, for comparison with the paper.

    Its oddities are part of it, since they decide what models answer: the fence says ``python`` and the marker is a
    Python comment in every language, the lines of the system prompt are indented by twelve blanks, and all three
    worked examples answer with an indentation that is there already, the second with a line too many besides. It has
    no place for an instruction, nor for other files.
    """

    name = "devbench-paper"
    version = 1
    kind = "chat"
    takes_instructions = False

    def render(self, caret: Caret, budget: PromptBudget) -> ChatPrompt:
        """Return the chat prompt: the program in a Python fence, with the released code's marker at the caret."""
        if caret.instruction or caret.context:
            raise UnpromptableError(f"{self.name} has no place for an instruction or for other files")
        # The released marker has no number: with two of them, the model could not know which place is meant.
        if (caret.prefix + PAPER_MARKER + caret.suffix).count(PAPER_MARKER) > 1:
            raise UnpromptableError(f"the text holds the marker {PAPER_MARKER!r}")

        def values(parts: PromptParts) -> Mapping[str, object]:
            return {"marker": PAPER_MARKER, "prefix": parts.prefix, "suffix": parts.suffix}

        return render_conversation(self.name, caret, budget, values)


def _fixed_values(caret: Caret, language: Language) -> dict[str, object]:
    """Return the values of a template that do not depend on how much fits."""
    return {
        "title": language.title,
        "tag": language.fence,
        "fence": code_fence(caret_texts(caret)),
        "example": worked_examples()[language.name],
        "path": caret.path,
        "instruction": caret.instruction,
    }


def _shown_values(caret: Caret, parts: PromptParts) -> dict[str, object]:
    return {
        "prefix": parts.prefix,
        "suffix": parts.suffix,
        "shortened_before": parts.prefix != caret.prefix,
        "shortened_after": parts.suffix != caret.suffix,
    }


class LeftToRightStrategy(PromptStrategy):
    """Strategy for base models without sentinels: the text before the caret. The suffix is not shown.

    Blanks that a tokenizer joins to what follows are left to the model, and taken off the beginning of its answer: all
    behind code of the last line, the last one of indentation, and the line ends at the end (:func:`_joined_blanks`).
    There are no stop strings: the model's own end of text, ``max_tokens`` and the truncation policy end an answer.
    """

    name = "left-to-right"
    version = 3
    kind = "text"

    def render(self, caret: Caret, budget: PromptBudget) -> TextPrompt:
        """Return the prefix, after the instruction as a comment and other files headed by path comments."""
        # A model without a prompt writes anything, and nothing of it is about the caret.
        if not caret.prefix:
            raise UnpromptableError("no text stands before the caret, so that there is nothing to continue")
        language = caret_language(caret) if caret.context or caret.instruction else None

        def rendered(parts: PromptParts) -> str:
            before = _text_before(caret, parts, language) if language is not None else ""
            return before + parts.prefix

        text = render_within_budget(PromptParts(caret.prefix, "", caret.context), budget, rendered)
        shown = text[: len(text) - _joined_blanks(text)]
        return TextPrompt(text=shown, blanks=text[len(shown) :])


def _joined_blanks(text: str) -> int:
    """Return how many of the last characters of a text a model should write itself.

    Of SmolLM2's greedy answers at 40 carets of HumanEval-Infilling each, right lines: behind line ends 0 with them
    shown and 9 without; behind indentation 0 with all shown, 8 without the last blank, and 6 without all of it, since
    the model must know how deep the caret is.
    """
    code = len(text.rstrip())
    # A text of blanks alone is no place to go on from.
    if not code:
        return 0
    indentation = len(text) - len(text.rstrip(" \t"))
    behind_line = indentation and len(text) - indentation > code
    return 1 if behind_line else len(text) - code


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


def _text_before(caret: Caret, parts: PromptParts, language: Language) -> str:
    files = [
        f"{as_line_comments(file.path, language)}{file.text}{'' if file.text.endswith(chr(10)) else chr(10)}\n"
        for file in parts.files
    ]
    path = as_line_comments(caret.path, language) if caret.path and files else ""
    return "".join(files) + path + as_line_comments(caret.instruction or "", language)
