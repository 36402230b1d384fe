"""``devbench-paper``: what DevBench's released code asked, in our words, for comparison with the paper.

Its oddities are part of it, since they decide what models answer: the fence says ``python`` and the marker is a
Python comment in every language, the lines of the system prompt are indented by twelve blanks, and all three
worked examples answer with an indentation that is there already, the second with a line too many besides.
"""

from __future__ import annotations

from collections.abc import Mapping

from caretbench.models import ChatPrompt, PromptKind
from caretbench.problem import Caret
from caretbench.prompts.budget import Parts
from caretbench.prompts.strategy import Budget, UnpromptableError
from caretbench.prompts.templating import conversation

MARKER = "#TODO: You Code Here"


class DevBenchPaper:
    """See :class:`caretbench.prompts.Strategy`. It has no place for an instruction, nor for other files."""

    name = "devbench-paper"
    version = 1
    kind: PromptKind = "chat"

    @property
    def key(self) -> str:
        """Name and version."""
        return f"{self.name}@{self.version}"

    def render(self, caret: Caret, budget: Budget) -> ChatPrompt:
        """The program in a Python fence, with the released marker at the caret.

        Raises:
            UnpromptableError: Nothing fits, the text holds the marker, or the caret has what the prompt cannot say.
        """
        if caret.instruction or caret.context:
            raise UnpromptableError(f"{self.name} has no place for an instruction or for other files")
        if (caret.prefix + MARKER + caret.suffix).count(MARKER) > 1:
            raise UnpromptableError(f"the text holds the marker {MARKER!r}")

        def values(parts: Parts) -> Mapping[str, object]:
            return {"marker": MARKER, "prefix": parts.prefix, "suffix": parts.suffix}

        return conversation(self.name, caret, budget, values)
