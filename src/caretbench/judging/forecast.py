"""What judging would take, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from caretbench.asking import BYTES_PER_TOKEN, prompt_text
from caretbench.files import sha256_json
from caretbench.judging.criteria import Criterion
from caretbench.judging.prompting import render, settings_of
from caretbench.judging.subjects import Subject
from caretbench.models import ModelClient, Sampling
from caretbench.prices import Price
from caretbench.runs import RunFolder

EXPECTED_TOKENS = 300
"""Of an answer: a few sentences and the scores. Models that reason first need many more."""


class Forecast(NamedTuple):
    """What a grader would be asked. Costs are in US dollars; None: no price is known.

    Tokens are counted by the grader's tokenizer where it is known, and estimated from bytes elsewhere.
    """

    judgements: int
    stored: int
    to_ask: int
    input_tokens: int
    worst_output_tokens: int
    expected_cost: float | None
    worst_cost: float | None


def forecast(
    folder: RunFolder,
    texts: Sequence[Subject],
    client: ModelClient,
    name: str,
    criterion: Criterion,
    sampling: Sampling,
    repeats: int,
    price: Price | None,
) -> Forecast:
    """What :func:`caretbench.grading.grade` would ask of one grader."""
    parameters = sha256_json(settings_of(criterion, client, sampling))[:16]
    ours = (name, parameters, criterion.key)
    done = {
        (row.problem_id, row.answer, row.repeat)
        for row in folder.judgements()
        if (row.grader, row.parameters, row.criterion) == ours and row.values
    }
    to_ask = tokens = 0
    for subject in texts:
        wanted = sum((subject.problem.id, subject.answer, number) not in done for number in range(repeats))
        if wanted:
            text = prompt_text(render(criterion, subject.problem, subject.text))
            counted = client.count_tokens(text)
            tokens += wanted * (
                -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN) if counted is None else counted
            )
            to_ask += wanted
    judgements, worst = len(texts) * repeats, to_ask * sampling.max_tokens
    expected = to_ask * min(EXPECTED_TOKENS, sampling.max_tokens)
    return Forecast(
        judgements=judgements,
        stored=judgements - to_ask,
        to_ask=to_ask,
        input_tokens=tokens,
        worst_output_tokens=worst,
        expected_cost=None if price is None else price.of_tokens(tokens, expected),
        worst_cost=None if price is None else price.of_tokens(tokens, worst),
    )
