"""``fill``: text before and after the caret as it is, for what places its sentinels itself."""

from __future__ import annotations

from caretbench.models import FillPrompt, PromptKind
from caretbench.problem import Caret
from caretbench.prompts.budget import Parts, fit
from caretbench.prompts.strategy import Budget


class Fill:
    """See :class:`caretbench.prompts.Strategy`. Nothing is added, so that any language can be asked about."""

    name = "fill"
    version = 1
    kind: PromptKind = "fill"

    @property
    def key(self) -> str:
        """Name and version."""
        return f"{self.name}@{self.version}"

    def render(self, caret: Caret, budget: Budget) -> FillPrompt:
        """What fits of the caret's text. Sentinels and template are the endpoint's, and not counted.

        Raises:
            UnpromptableError: Nothing fits.
        """
        overhead = "\n".join(text for text in (caret.path, caret.instruction) if text)
        parts = fit(Parts(caret.prefix, caret.suffix, caret.context), budget, overhead)
        return FillPrompt(
            prefix=parts.prefix,
            suffix=parts.suffix,
            language=caret.language,
            path=caret.path,
            instruction=caret.instruction,
            files=parts.files,
        )
