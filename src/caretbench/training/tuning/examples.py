"""Token sequences of training pairs: the prompt that a run would send, and the middle, of which the loss is taken."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from caretbench.files import sha256_text
from caretbench.languages import get_language
from caretbench.models import ChatPrompt, Prompt, TextPrompt
from caretbench.problem import Caret
from caretbench.prompts import choose
from caretbench.prompts.strategy import PromptBudget, PromptStrategy, UnpromptableError
from caretbench.prompts.templating import code_fence
from caretbench.training.pairs import TrainingPair

_MIN_PROMPT: Final = 16
"""Tokens that must remain for the text around a middle."""
_IGNORED: Final = -100
"""Label of a token that has no part in the loss, for transformers."""
_HELD_OUT: Final = 20
"""One file of so many is held out: pairs of one file show each other's middles."""


class Example(NamedTuple):
    """Tokens of one pair, and how many of them are the prompt."""

    tokens: Sequence[int]
    prompt: int

    def fields(self) -> dict[str, list[int]]:
        """Return the fields of a model's forward call."""
        return {"input_ids": list(self.tokens), "labels": [_IGNORED] * self.prompt + list(self.tokens[self.prompt :])}


def chosen_strategy(name: str, tokenizer: Any, requested: str) -> PromptStrategy:
    """Return the prompt strategy: the requested one, or for ``auto`` the one that a run takes for this model."""
    special = frozenset(map(str, tokenizer.added_tokens_decoder.values()))
    accepts = frozenset({"text", "chat"} if tokenizer.chat_template else {"text"})
    # A run asks its client for these; training has a tokenizer alone.
    client: Any = SimpleNamespace(
        name=name, accepts=accepts, returns_log_probabilities=False, special_tokens=lambda: special
    )
    return choose(client, requested)


class ExampleMaker:
    """Maker of token sequences of at most ``max_tokens``; ``skipped`` counts pairs that have none, by reason."""

    def __init__(self, tokenizer: Any, strategy: PromptStrategy, max_tokens: int) -> None:
        self.skipped: Counter[str] = Counter()
        self._tokenizer = tokenizer
        self._strategy = strategy
        self._max_tokens = max_tokens
        special = sorted(tokenizer.all_special_tokens, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, special)) or r"(?!)")
        self._end = self._end_of_turn() if strategy.kind == "chat" else [tokenizer.eos_token_id]

    def make(self, pair: TrainingPair) -> Example | None:
        """Return the example of a pair; None if its middle is too long or it cannot be asked."""
        if self._special.search("\n".join((pair.prefix, pair.middle, pair.suffix, pair.instruction or ""))):
            # A run refuses such a text too: the tokenizer would read the mark of a turn.
            self.skipped["holds a special token"] += 1
            return None
        caret = Caret(
            language=pair.language, path=pair.path, instruction=pair.instruction, prefix=pair.prefix, suffix=pair.suffix
        )
        # At least the middle and its end; blanks before it come on top.
        answer = self._encode(self._answer(pair, None)) + self._end
        try:
            while True:
                room = self._max_tokens - len(answer)
                if room < _MIN_PROMPT:
                    self.skipped["the middle is too long"] += 1
                    return None
                rendered = self._strategy.prompt(caret, PromptBudget(room, lambda text: len(self._encode(text))))
                prompt = self._prompt_tokens(rendered)
                answer = self._encode(self._answer(pair, rendered)) + self._end
                if len(prompt) + len(answer) <= self._max_tokens:
                    return Example([*prompt, *answer], len(prompt))
                # A chat template adds tokens that no budget counts: the same excess is cut from the text.
                answer += [0] * (len(prompt) + len(answer) - self._max_tokens)
        except UnpromptableError:
            self.skipped["does not fit, or cannot be asked with this prompt"] += 1
            return None

    def _encode(self, text: str) -> list[int]:
        # Apart from the prompt: its tokens are fixed when a model begins to write.
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    def _prompt_tokens(self, prompt: Prompt) -> list[int]:
        """Return a prompt's tokens as llama.cpp reads them: with the token of a text's begin, where a model has one."""
        assert isinstance(prompt, ChatPrompt | TextPrompt)  # noqa: S101 - no other kind is accepted
        if isinstance(prompt, TextPrompt):
            return list(self._tokenizer(prompt.text).input_ids)
        turns = [{"role": message.role, "content": message.text} for message in prompt.messages]
        text = str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        tokens = list(self._tokenizer(text).input_ids)
        # A template may write the token of the begin already.
        return tokens[1:] if tokens[:2] == [self._tokenizer.bos_token_id] * 2 else tokens

    def _answer(self, pair: TrainingPair, prompt: Prompt | None) -> str:
        """Return the text that a model should write: the middle, in a conversation as the one fenced block."""
        if self._strategy.kind == "chat":
            fence = code_fence((pair.prefix, pair.middle, pair.suffix))
            return f"{fence}{get_language(pair.language).fence}\n{pair.middle}\n{fence}"
        # Blanks before the caret are left to the model.
        return (prompt.blanks if isinstance(prompt, TextPrompt) else "") + pair.middle

    def _end_of_turn(self) -> list[int]:
        """Return the token that ends an answer in the model's conversations."""
        turns = [{"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"}]
        text = str(self._tokenizer.apply_chat_template(turns, tokenize=False))
        return self._encode(text.rpartition("answer")[2])[:1] or [self._tokenizer.eos_token_id]


class ExampleSets(NamedTuple):
    """Examples to train on, and held-out ones, of other files."""

    training: list[Example]
    held_out: list[Example]


def draw_examples(
    pairs: Sequence[TrainingPair], maker: ExampleMaker, *, most: int | None, held_out: int, seed: int
) -> ExampleSets:
    """Return examples of pairs in a drawn order: the first ``most`` (None: all), and ``held_out`` of other files."""
    order = list(pairs)
    random.Random(seed).shuffle(order)  # noqa: S311 - a reproducible draw, no secret
    groups: dict[bool, list[TrainingPair]] = {True: [], False: []}
    for pair in order:
        number = int(sha256_text(f"{seed} {pair.source}/{pair.path}")[:8], 16)
        groups[held_out > 0 and number % _HELD_OUT == 0].append(pair)
    training, others = (filter(None, map(maker.make, groups[held])) for held in (False, True))
    return ExampleSets(list(islice(training, most)), list(islice(others, held_out)))
