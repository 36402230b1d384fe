"""Chat strategies ``chat``, ``natural`` and ``devbench-paper``, from the templates of these names."""

from __future__ import annotations

from collections.abc import Mapping

from caretbench.languages import Language
from caretbench.models import ChatPrompt
from caretbench.problem import Caret
from caretbench.prompts.budget import PromptParts
from caretbench.prompts.markers import (
    caret_language,
    caret_marker,
    caret_texts,
    code_fence,
    describe_position,
    describe_suffix,
    fenced_files,
    unique_tags,
)
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, UnpromptableError
from caretbench.prompts.templating import render_conversation, worked_examples

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
        fixed = _fixed(caret, language) | {"marker": caret_marker(caret, language)}

        def values(parts: PromptParts) -> Mapping[str, object]:
            around = {
                "place": describe_position(parts.prefix),
                "following": describe_suffix(parts.prefix, parts.suffix),
            }
            return fixed | _shown(caret, parts) | around | {"files": fenced_files(parts.files)}

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
        fixed = _fixed(caret, language) | {"tags": unique_tags(("path", "file", "prefix", "suffix"), texts)}

        def values(parts: PromptParts) -> Mapping[str, object]:
            return fixed | _shown(caret, parts) | {"files": parts.files}

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
        if (caret.prefix + PAPER_MARKER + caret.suffix).count(PAPER_MARKER) > 1:
            raise UnpromptableError(f"the text holds the marker {PAPER_MARKER!r}")

        def values(parts: PromptParts) -> Mapping[str, object]:
            return {"marker": PAPER_MARKER, "prefix": parts.prefix, "suffix": parts.suffix}

        return render_conversation(self.name, caret, budget, values)


def _fixed(caret: Caret, language: Language) -> dict[str, object]:
    """Return the values of a template that do not depend on how much fits."""
    return {
        "title": language.title,
        "tag": language.fence,
        "fence": code_fence(caret_texts(caret)),
        "example": worked_examples()[language.name],
        "path": caret.path,
        "instruction": caret.instruction,
    }


def _shown(caret: Caret, parts: PromptParts) -> dict[str, object]:
    return {
        "prefix": parts.prefix,
        "suffix": parts.suffix,
        "shortened_before": parts.prefix != caret.prefix,
        "shortened_after": parts.suffix != caret.suffix,
    }
