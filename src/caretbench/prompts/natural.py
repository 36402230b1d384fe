"""``natural``: fill-in-the-middle in words, for general models.

The content is that of the prompt in appendix D of the Codev-Bench paper (file name, text before and after the caret,
a worked example, how much to write); the words are ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from caretbench.models import ChatPrompt, PromptKind
from caretbench.problem import Caret
from caretbench.prompts.budget import Parts
from caretbench.prompts.marks import fence, language_of, tags, texts_of
from caretbench.prompts.strategy import Budget
from caretbench.prompts.templating import conversation, examples


class Natural:
    """See :class:`caretbench.prompts.Strategy`. Prefix and suffix stand apart, each between tags of its own."""

    name = "natural"
    version = 1
    kind: PromptKind = "chat"

    @property
    def key(self) -> str:
        """Name and version."""
        return f"{self.name}@{self.version}"

    def render(self, caret: Caret, budget: Budget) -> ChatPrompt:
        """Prefix and suffix named apart, the middle asked for.

        Raises:
            UnpromptableError: Nothing fits, or the language is unknown.
        """
        language = language_of(caret)
        example = examples()[language.name]
        ticks = fence(texts_of(caret))
        marks = tags(("path", "file", "prefix", "suffix"), (*texts_of(caret), *example))

        def values(parts: Parts) -> Mapping[str, object]:
            return {
                "title": language.title,
                "tag": language.fence,
                "fence": ticks,
                "tags": marks,
                "example": example,
                "path": caret.path,
                "instruction": caret.instruction,
                "prefix": parts.prefix,
                "suffix": parts.suffix,
                "files": parts.files,
                "shortened_before": parts.prefix != caret.prefix,
                "shortened_after": parts.suffix != caret.suffix,
            }

        return conversation(self.name, caret, budget, values)
