"""Question strategies ``question``, ``question-text``, ``question-logprob``, ``question-fill``: question and choices.

The first is for conversations, the last for programs and endpoints that take only text around a caret, the others for
base models.

A question is shown whole or not at all: without some of its choices it would be another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_uppercase

from caretbench.models import ChatPrompt, FillPrompt, Message, TextPrompt
from caretbench.problem import Question
from caretbench.prompts.strategy import PromptBudget, QuestionStrategy, UnpromptableError
from caretbench.prompts.templating import code_fence, fenced_files, fill_templates

LETTERS = ascii_uppercase
"""Letters of the choices of a question."""


def question_texts(question: Question) -> tuple[str, ...]:
    """Return all text that a prompt shows of a question."""
    if question.messages:
        return tuple(message.text for message in question.messages)
    files = (text for file in question.context for text in (file.path, file.text))
    return (question.text, *question.choices, *files)


class ChatQuestionStrategy(QuestionStrategy):
    """Question strategy for conversations."""

    name = "question"
    version = 1
    kind = "chat"

    def render_question(self, question: Question, budget: PromptBudget) -> ChatPrompt:
        """Return the question, its files and its choices, and the requested form of the answer.

        The messages of a released question are returned unchanged.
        """
        _check(question)
        messages = tuple(Message(role=message.role, text=message.text) for message in question.messages)
        if not messages:
            messages = fill_templates(
                self.name,
                {
                    "text": question.text.rstrip("\n"),
                    "files": fenced_files(question.context),
                    "choices": question.choices,
                    "letters": LETTERS[: len(question.choices)],
                    "fence": code_fence(question_texts(question)),
                },
            )
        _fits("\n".join(message.text for message in messages), budget)
        return ChatPrompt(messages=messages)


class TextQuestionStrategy(QuestionStrategy):
    """Question strategy for base models: a text that ends where the answer begins."""

    name = "question-text"
    version = 1
    kind = "text"

    def render_question(self, question: Question, budget: PromptBudget) -> TextPrompt:
        """Return the question, its files and its choices, then ``Answer:``.

        An answer to a question without choices ends with the model's own end of text, or at ``max_tokens``.
        """
        _check(question)
        text = "\n\n".join(_parts(question))
        _fits(text, budget)
        return TextPrompt(text=text, stop=("\n",) if question.choices else ())


class LikeliestLetterStrategy(TextQuestionStrategy):
    """Question strategy for base models: the answer is the most probable letter of the first token.

    A question without choices is asked as :class:`TextQuestionStrategy` does.
    """

    name = "question-logprob"
    reads_first_token = True

    def render_question(self, question: Question, budget: PromptBudget) -> TextPrompt:
        """Return the question, its files and its choices, then ``Answer:``, and the letters to choose from."""
        prompt = super().render_question(question, budget)
        if not question.choices:
            return prompt
        # No stop texts: some servers tell no probabilities of a token that is one.
        return prompt.model_copy(update={"letters": tuple(LETTERS[: len(question.choices)]), "stop": ()})


class FillQuestionStrategy(QuestionStrategy):
    """Question strategy for programs and endpoints that take only the text before and after a caret.

    The question is the text before the caret, as :class:`TextQuestionStrategy` writes it; nothing is behind it.
    """

    name = "question-fill"
    version = 1
    kind = "fill"

    def render_question(self, question: Question, budget: PromptBudget) -> FillPrompt:
        """Return the question, its files and its choices, then ``Answer:``, as the text before the caret."""
        prompt = TextQuestionStrategy().render_question(question, budget)
        return FillPrompt(prefix=prompt.text, suffix="", language="text", stop=prompt.stop)


def _parts(question: Question) -> Iterator[str]:
    if question.messages:
        yield from (message.text.rstrip("\n") for message in question.messages)
    else:
        yield question.text.rstrip("\n")
        yield from (f"{file.path}:\n{file.text.rstrip(chr(10))}" for file in question.context)
        for letter, choice in zip(LETTERS, question.choices, strict=False):
            yield f"Choice {letter}:\n{choice.rstrip(chr(10))}"
    yield "The letter of the right choice\nAnswer:" if question.choices else "Answer:"


def _check(question: Question) -> None:
    if len(question.choices) > len(LETTERS):
        raise UnpromptableError(f"{len(question.choices)} choices are more than there are letters")


def _fits(text: str, budget: PromptBudget) -> None:
    # A question without its last choice is another one, whose right answer may be gone.
    if budget.tokens is not None and (size := budget.count(text)) > budget.tokens:
        raise UnpromptableError(
            f"the question has {size} tokens, and there is room for {budget.tokens} (--context-tokens, "
            "--prompt-tokens); a question is never cut"
        )
