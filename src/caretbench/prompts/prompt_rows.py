"""Prompts of problems as rows of a file, for models that CaretBench does not ask."""

from __future__ import annotations

from caretbench.models import ChatPrompt, FillPrompt, Prompt
from caretbench.problem import Caret, Problem
from caretbench.prompts.registry import AUTO, get_strategy
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, QuestionStrategy, UnpromptableError

_WHOLE = PromptBudget(None, len)
"""No limit: the model that is asked is not known."""


def prompt_row(problem: Problem, requested: str = AUTO) -> dict[str, object]:
    """Return the prompt of a problem as ``run`` sends it to a model with a large context.

    A conversation is in ``messages``, a text in ``prompt``; ``prefix`` and ``suffix`` are those of the caret.

    Args:
        problem: The problem.
        requested: Name of a prompt strategy; ``auto``: a conversation.

    Raises:
        UnpromptableError: the strategy cannot be used for this problem.
        UsageError: no such strategy.
    """
    shown = problem.shown
    question = not isinstance(shown, Caret)
    # `auto` chooses by the model, which is not known here; nearly every hosted model takes conversations.
    chosen = get_strategy(("question" if question else "chat") if requested == AUTO else requested)
    prompt = _render(problem, chosen)
    row: dict[str, object] = {"problem_id": problem.id, "strategy": chosen.key}
    if isinstance(prompt, ChatPrompt):
        row["messages"] = [{"role": message.role, "content": message.text} for message in prompt.messages]
    elif not isinstance(prompt, FillPrompt):
        row["prompt"] = prompt.text
        if prompt.blanks:
            row["blanks"] = prompt.blanks
    if prompt.stop:
        row["stop"] = list(prompt.stop)
    around = prompt if isinstance(prompt, FillPrompt) else shown
    if isinstance(around, FillPrompt | Caret):
        row |= around.model_dump(
            mode="json", include={"prefix", "suffix", "language", "path", "instruction"}, exclude_none=True
        )
        files = around.files if isinstance(around, FillPrompt) else around.context
        row |= {"files": [{"path": file.path, "text": file.text} for file in files]} if files else {}
    return row


def _render(problem: Problem, strategy: PromptStrategy) -> Prompt:
    if isinstance(problem.shown, Caret):
        return strategy.prompt(problem.shown, _WHOLE)
    if not isinstance(strategy, QuestionStrategy):
        raise UnpromptableError(f"--prompt {strategy.name} needs a caret; this problem is a question")
    return strategy.render_question(problem.shown, _WHOLE)
