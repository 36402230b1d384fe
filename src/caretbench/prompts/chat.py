"""``chat``: the program with a marker at the caret, for models that hold conversations."""

from __future__ import annotations

from collections.abc import Mapping

from caretbench.models import ChatPrompt, PromptKind
from caretbench.problem import Caret
from caretbench.prompts.budget import Parts
from caretbench.prompts.marks import fence, fence_word, following, language_of, marker, place, texts_of
from caretbench.prompts.strategy import Budget
from caretbench.prompts.templating import conversation, examples


class Chat:
    """See :class:`caretbench.prompts.Strategy`. Fence and marker are those of the problem's language.

    What is asked for does not depend on the kind of problem: where a comment is wanted, the text around the caret
    says so, or the caret's instruction.
    """

    name = "chat"
    version = 1
    kind: PromptKind = "chat"

    @property
    def key(self) -> str:
        """Name and version."""
        return f"{self.name}@{self.version}"

    def render(self, caret: Caret, budget: Budget) -> ChatPrompt:
        """The program in a fence, with the marker at the caret.

        Raises:
            UnpromptableError: Nothing fits, or the language is unknown.
        """
        language = language_of(caret)
        example = examples()[language.name]
        mark = marker(caret, language)
        ticks = fence(texts_of(caret))

        def values(parts: Parts) -> Mapping[str, object]:
            return {
                "title": language.title,
                "tag": language.fence,
                "fence": ticks,
                "marker": mark,
                "example": example,
                "path": caret.path,
                "instruction": caret.instruction,
                "prefix": parts.prefix,
                "suffix": parts.suffix,
                "files": [
                    {"path": file.path, "text": file.text, "tag": fence_word(file.path)}
                    for file in parts.files
                ],
                "place": place(parts.prefix),
                "following": following(parts.prefix, parts.suffix),
                "shortened_before": parts.prefix != caret.prefix,
                "shortened_after": parts.suffix != caret.suffix,
            }

        return conversation(self.name, caret, budget, values)
