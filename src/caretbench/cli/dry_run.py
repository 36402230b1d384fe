"""``run --dry-run``: what a run would ask, in tokens and money; nothing is sent, nothing is written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from caretbench.cli.clients import Clients
from caretbench.cli.common import aligned, note, say, say_json
from caretbench.cli.run_plan import Plan
from caretbench.cli.running import budget, one_line

if TYPE_CHECKING:
    from caretbench.cli.scoring import Subject
    from caretbench.problem import Problem
    from caretbench.runs.asking import Asking
    from caretbench.runs.judging.forecast import Forecast as JudgingForecast


@dataclass
class Forecast:
    """What one model would be asked of one subject. Costs are in US dollars; None: no price is known.

    ``input_tokens`` counts every sample with its whole prompt: several may share one request, and then cost less.
    Expected are answers as long as the reference answers; the worst case is ``max_tokens`` for each, and where tokens
    are not counted, a token for each byte of the prompt.
    """

    model: str
    folder: str
    prompt: str
    problems: int
    samples_wanted: int
    samples_stored: int
    samples_to_ask: int
    prompts: int
    unpromptable: int
    input_tokens: int
    tokens_counted: bool
    expected_output_tokens: int
    worst_output_tokens: int
    expected_cost: float | None
    worst_cost: float | None
    first_fault: str = ""
    context: str | None = None
    """What else of projects is shown, with its version; None: problems as they are."""


def dry_run(plan: Plan) -> None:
    """Print what the plan would ask and cost.

    Raises:
        ValueError: the plan cannot work.
    """
    plan.check()
    forecasts = []
    with Clients(plan) as clients:
        clients.check()
        coming: list[list[Problem]] = [[] for _ in plan.subjects]
        for model in plan.models:
            with clients.asking(model) as asking:
                forecasts += [
                    forecast(asking, subject, wanted)
                    for subject, wanted in zip(plan.subjects, coming, strict=True)
                ]
        judging = list(_judging(plan, clients, coming))
    spent = budget(plan).spent
    if plan.as_json:
        say_json(
            {
                "spent": spent,
                "max_cost": plan.max_cost,
                "models": [asdict(row) for row in forecasts],
                "graders": [
                    {"grader": name, "folder": folder} | row._asdict() for name, folder, row in judging
                ],
            }
        )
        return
    header = ("model", "folder", "prompt", "samples", "stored", "to ask", "prompts", "tokens in",
              "tokens out, expected", "at most", "cost, expected", "at most")  # fmt: skip
    rows = [
        (
            row.model, row.folder, f"{row.prompt}, {row.context}" if row.context else row.prompt,
            str(row.samples_wanted), str(row.samples_stored), str(row.samples_to_ask), str(row.prompts),
            f"{row.input_tokens:,}",
            f"{row.expected_output_tokens:,}", f"{row.worst_output_tokens:,}", _dollars(row.expected_cost),
            _dollars(row.worst_cost),
        )
        for row in forecasts
    ]  # fmt: skip
    for line in aligned(rows, header):
        say(line)
    say(f"\n{_how_counted(forecasts)}")
    say("expected: answers as long as the reference answers; at most: --max-tokens for every answer")
    _say_judging(judging)
    _say_money(plan, [*forecasts, *(row for _, _, row in judging)], spent)
    for row in forecasts:
        if row.unpromptable:
            note(f"{row.model}: {row.unpromptable} samples cannot be asked: {one_line(row.first_fault)}")


def _dollars(cost: float | None) -> str:
    return "no price" if cost is None else f"${cost:.4f}"


def _how_counted(forecasts: list[Forecast]) -> str:
    from caretbench.runs.asking import BYTES_PER_TOKEN

    counted = dict.fromkeys(row.model for row in forecasts if row.tokens_counted)
    estimated = dict.fromkeys(row.model for row in forecasts if not row.tokens_counted)
    parts = []
    if counted:
        parts.append(f"tokens counted by the model's own tokenizer: {', '.join(counted)}")
    if estimated:
        parts.append(f"tokens estimated, {BYTES_PER_TOKEN} bytes each: {', '.join(estimated)}")
    return "; ".join(parts)


def _judging(
    plan: Plan, clients: Clients, coming: Sequence[Sequence[Problem]]
) -> Iterator[tuple[str, str, JudgingForecast]]:
    """What each grader would judge in each folder.

    That is what is stored, and each answer that is still to come as if it were a text of its own, as long as the
    reference answer. Tries for answers that cannot be read are not in it.
    """
    from caretbench.runs.judge import texts_of
    from caretbench.runs.judging.forecast import forecast as judging_forecast
    from caretbench.runs.judging.steps import wanted_of
    from caretbench.runs.judging.subjects import Subject as Judged
    from caretbench.suites.base import judged_text_of

    for grader in plan.graders:
        with clients.grader(grader) as client:
            for subject, problems in zip(plan.subjects, coming, strict=True):
                for part in plan.judged_parts(subject):
                    texts, _ = texts_of(
                        subject.folder, part, subject.policy, subject.profile,
                        text_of=judged_text_of(subject.suite, subject.profile),
                    )  # fmt: skip
                    ours = {problem.id for problem in part.problems}
                    texts += [
                        Judged(problem, problem.reference, f"to come {number}")
                        for number, problem in enumerate(problems)
                        if problem.id in ours
                    ]
                    found = judging_forecast(
                        subject.folder, wanted_of(part.criterion, texts, None), client, grader.name,
                        part.criterion, part.criterion.sampling, clients.price(grader),
                    )  # fmt: skip
                    yield grader.name, str(subject.folder.path), found


def _say_judging(judging: Sequence[tuple[str, str, JudgingForecast]]) -> None:
    if not judging:
        return
    header = ("grader", "folder", "judgements, at most", "stored", "to ask", "tokens in", "tokens out, at most",
              "cost, expected", "at most")  # fmt: skip
    rows = [
        (
            name, folder, str(row.judgements), str(row.stored), str(row.to_ask), f"{row.input_tokens:,}",
            f"{row.worst_output_tokens:,}", _dollars(row.expected_cost), _dollars(row.worst_cost),
        )
        for name, folder, row in judging
    ]  # fmt: skip
    say("")
    for line in aligned(rows, header):
        say(line)
    say("\ncontrols are judged too; equal texts are judged once, so that it may be less")


def _say_money(plan: Plan, forecasts: Sequence[Forecast | JudgingForecast], spent: float) -> None:
    if plan.max_cost is None:
        return
    worst = spent + sum(row.worst_cost or 0.0 for row in forecasts)
    expected = spent + sum(row.expected_cost or 0.0 for row in forecasts)
    before = f" (${spent:.4f} of them are spent already)" if spent else ""
    if worst <= plan.max_cost:
        verdict = "covers the worst case"
    elif expected <= plan.max_cost:
        verdict = "covers what is expected, but not the worst case"
    else:
        verdict = "does not cover what is expected: the run would stop before its end"
    say(f"--max-cost ${plan.max_cost:g}{before}: {verdict}")


def forecast(asking: Asking, subject: Subject, coming: list[Problem]) -> Forecast:
    """What a model would be asked of a subject; stored samples are not asked again.

    The problem of every answer that would come is added to ``coming``.
    """
    from caretbench.runs.asking import prompt_text
    from caretbench.runs.generate import Generating

    stored = Generating(subject.problems, subject.folder).stored(asking)
    there = sum(
        sample < asking.samples for problem in subject.problems for sample in stored.get(problem.id, ())
    )
    priced = asking.price is not None
    row = Forecast(
        model=asking.name,
        folder=str(subject.folder.path),
        prompt=asking.strategy.key,
        problems=len(subject.problems),
        samples_wanted=len(subject.problems) * asking.samples,
        samples_stored=there,
        samples_to_ask=0,
        prompts=0,
        unpromptable=0,
        input_tokens=0,
        tokens_counted=asking.counted,
        expected_output_tokens=0,
        worst_output_tokens=0,
        expected_cost=0.0 if priced else None,
        worst_cost=0.0 if priced else None,
        context=asking.context.key if asking.context else None,
    )
    worst, expected = [], []
    for entry in asking.wanted(subject.problems, stored):
        count = len(entry.samples)
        if entry.prompt is None:
            row.unpromptable += count
            row.first_fault = row.first_fault or entry.fault
            continue
        tokens = asking.count(prompt_text(entry.prompt))
        most = asking.answer_tokens(entry.prompt)
        answer = min(most, asking.count(entry.problem.reference))
        row.samples_to_ask += count
        coming += [entry.problem] * count
        row.prompts += 1
        row.input_tokens += tokens * count
        row.expected_output_tokens += answer * count
        row.worst_output_tokens += most * count
        if asking.price is not None:
            expected.append(count * asking.price.of_tokens(tokens, answer))
            worst.append(asking.worst_cost(entry.prompt, count))
    if priced:
        row.expected_cost, row.worst_cost = math.fsum(expected), math.fsum(worst)
    return row
