"""``question``, ``question-text``, ``question-logprob``: a question with its files and choices.

The first is for conversations, the others for base models.

A question is shown whole or not at all: with a part of its choices left out it would be another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_uppercase
from typing import Literal, NoReturn

from caretbench.models import ChatPrompt, PromptKind, TextPrompt
from caretbench.problem import Caret, Question
from caretbench.prompts.marks import fence, fence_word
from caretbench.prompts.strategy import Budget, UnpromptableError
from caretbench.prompts.templating import filled

LETTERS = ascii_uppercase
"""The names of choices, in their order."""


def question_texts(question: Question) -> tuple[str, ...]:
    """All text that a prompt shows of a question."""
    files = (text for file in question.context for text in (file.path, file.text))
    return (question.text, *question.choices, *files)


class AskQuestion:
    """For conversations. See :class:`caretbench.prompts.Strategy`."""

    name = "question"
    version = 1
    kind: PromptKind = "chat"

    @property
    def key(self) -> str:
        """Name and version."""
        return f"{self.name}@{self.version}"

    def render(self, caret: Caret, budget: Budget) -> NoReturn:
        """Carets are not asked so.

        Raises:
            UnpromptableError: always.
        """
        del caret, budget
        raise UnpromptableError(f"--prompt {self.name} is for questions, and this is a place in a program")

    def render_question(self, question: Question, budget: Budget) -> ChatPrompt:
        """The question, its files and its choices, and in what form the answer is wanted.

        Raises:
            UnpromptableError: it does not fit, or has more choices than there are letters.
        """
        _check(question)
        messages = filled(
            self.name,
            {
                "text": question.text.rstrip("\n"),
                "files": [
                    {"path": file.path, "text": file.text, "tag": fence_word(file.path)}
                    for file in question.context
                ],
                "choices": question.choices,
                "letters": LETTERS[: len(question.choices)],
                "fence": fence(question_texts(question)),
            },
        )
        _fits("\n".join(message.text for message in messages), budget)
        return ChatPrompt(messages=messages)


class ContinueQuestion:
    """For base models: the question as a text that ends where the answer begins."""

    name = "question-text"
    version = 1
    kind: PromptKind = "text"

    @property
    def key(self) -> str:
        """Name and version."""
        return f"{self.name}@{self.version}"

    def render(self, caret: Caret, budget: Budget) -> NoReturn:
        """Carets are not asked so.

        Raises:
            UnpromptableError: always.
        """
        del caret, budget
        raise UnpromptableError(f"--prompt {self.name} is for questions, and this is a place in a program")

    def render_question(self, question: Question, budget: Budget) -> TextPrompt:
        """The question, its files and its choices, then ``Answer:``.

        An answer to a question without choices ends with the model's own end of text, or at ``max_tokens``.

        Raises:
            UnpromptableError: it does not fit, or has more choices than there are letters.
        """
        _check(question)
        text = "\n\n".join(_parts(question))
        _fits(text, budget)
        return TextPrompt(text=text, stop=("\n",) if question.choices else ())


class LikeliestLetter(ContinueQuestion):
    """The same text for base models that need not write a letter: the likeliest one is read off the first token.

    What has no choices is asked as :class:`ContinueQuestion` does.
    """

    name = "question-logprob"
    version = 1
    reads_first_token: Literal[True] = True

    def render_question(self, question: Question, budget: Budget) -> TextPrompt:
        """The question, its files and its choices, then ``Answer:``, and the letters to choose from.

        Raises:
            UnpromptableError: it does not fit, or has more choices than there are letters.
        """
        prompt = super().render_question(question, budget)
        if not question.choices:
            return prompt
        # No stop texts: some servers tell no probabilities of a token that is one.
        return prompt.model_copy(update={"letters": tuple(LETTERS[: len(question.choices)]), "stop": ()})


def _parts(question: Question) -> Iterator[str]:
    yield question.text.rstrip("\n")
    for file in question.context:
        yield f"{file.path}:\n{file.text.rstrip(chr(10))}"
    for letter, choice in zip(LETTERS, question.choices, strict=False):
        yield f"Choice {letter}:\n{choice.rstrip(chr(10))}"
    yield "The letter of the right choice\nAnswer:" if question.choices else "Answer:"


def _check(question: Question) -> None:
    if len(question.choices) > len(LETTERS):
        raise UnpromptableError(f"{len(question.choices)} choices are more than there are letters")


def _fits(text: str, budget: Budget) -> None:
    if budget.tokens is not None and (size := budget.count(text)) > budget.tokens:
        raise UnpromptableError(
            f"the question has {size} tokens, and there is room for {budget.tokens} (--context-tokens, "
            "--prompt-tokens); a question is never cut"
        )
