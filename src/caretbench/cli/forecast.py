"""Printed forecasts of ``run --dry-run`` and ``judge --dry-run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from caretbench.cli.common import print_json, print_line, print_note, print_notes, print_table

if TYPE_CHECKING:
    from caretbench.runs.forecast import JudgeForecast, ModelForecast, RunForecast, TypingForecast
    from caretbench.runs.plans.plan import ResolvedRun


def print_forecast(plan: ResolvedRun, forecast: RunForecast, *, as_json: bool) -> None:
    """Print the forecast of a run: number of requests, tokens and cost."""
    from caretbench.runs.runner import one_line, undivided

    if as_json:
        print_json(
            {
                "spent": forecast.spent,
                "max_cost": plan.config.max_cost,
                "absent": forecast.absent,
                "models": [asdict(row) for row in forecast.models],
                "typing": [asdict(row) for row in forecast.typing],
                "judges": [
                    {"judge": judge.judge, "folder": judge.folder} | judge.row._asdict() for judge in forecast.judges
                ],
            }
        )
        return
    header = ("model", "folder", "prompt", "samples", "stored", "to ask", "prompts", "tokens in",
              "tokens out, expected", "tokens out, at most", "cost, expected", "cost, at most")  # fmt: skip
    rows = [
        (
            row.model, row.folder, ", ".join(filter(None, (row.prompt, row.context, row.instruction))),
            str(row.samples_wanted), str(row.samples_stored), str(row.samples_to_ask), str(row.prompts),
            f"{row.input_tokens:,}", f"{row.expected_output_tokens:,}", f"{row.worst_output_tokens:,}",
            _dollars(row.expected_cost), _dollars(row.worst_cost),
        )
        for row in forecast.models
    ]  # fmt: skip
    print_table(rows, header)
    print_line(f"\n{_token_sources(forecast.models)}")
    print_line("expected: each answer as long as the reference; at most: --max-tokens for every answer")
    _print_typing(forecast.typing)
    _print_judges(forecast.judges)
    _print_limit(plan.config.max_cost, forecast)
    if undivided(plan):
        print_line("time and money are divided over the suites by the rate of their first problems: this is the most")
    print_notes(map(one_line, forecast.absent))
    # A model has a row for each suite, and is the same in all.
    print_notes(dict.fromkeys(f"{row.model}: {one_line(row.findings)}" for row in forecast.models if row.findings))
    for row in forecast.models:
        if row.unpromptable:
            print_note(f"{row.model}: {row.unpromptable} samples have no valid prompt: {one_line(row.first_fault)}")


def _dollars(cost: float | None) -> str:
    return "no price" if cost is None else f"${cost:.4f}"


def _token_sources(rows: Sequence[ModelForecast]) -> str:
    from caretbench.runs.generate import BYTES_PER_TOKEN

    counted = dict.fromkeys(row.model for row in rows if row.tokens_counted)
    estimated = dict.fromkeys(row.model for row in rows if not row.tokens_counted)
    parts = []
    if counted:
        parts.append(f"tokens counted by the model's own tokenizer: {', '.join(counted)}")
    if estimated:
        parts.append(f"tokens estimated, {BYTES_PER_TOKEN} bytes each: {', '.join(estimated)}")
    return "; ".join(parts)


def _print_typing(rows: Sequence[TypingForecast]) -> None:
    if not rows:
        return
    header = ("model", "folder", "sessions", "stored", "", "to ask", "tokens in", "cost", "minutes")
    lines = [
        (
            row.model, row.folder, f"{row.finished} of {row.sessions}", str(row.stored), row.bound, f"{row.requests:,}",
            f"{row.input_tokens:,}", _dollars(row.cost), "" if row.seconds is None else f"{row.seconds / 60:,.0f}",
        )
        for row in rows
    ]  # fmt: skip
    print_line("")
    print_table(lines, header)
    print_line(
        "\nwhile the reference is typed; at least: a model that is always right; at most: one that never is; expected: "
        "as in the stored sessions (--pilot 20)"
    )


def _print_judges(judges: Sequence[JudgeForecast]) -> None:
    if not judges:
        return
    header = ("judge", "folder", "judgements, at most", "stored", "to ask", "tokens in", "tokens out, at most",
              "cost, expected", "cost, at most")  # fmt: skip
    rows = [
        (
            judge.judge, judge.folder, str(judge.row.judgements), str(judge.row.stored), str(judge.row.to_ask),
            f"{judge.row.input_tokens:,}", f"{judge.row.worst_output_tokens:,}", _dollars(judge.row.expected_cost),
            _dollars(judge.row.worst_cost),
        )
        for judge in judges
    ]  # fmt: skip
    print_line("")
    print_table(rows, header)
    print_line("\nincluding controls; equal texts are judged once, so the cost may be lower")


def _print_limit(limit: float | None, forecast: RunForecast) -> None:
    if limit is None:
        return
    before = f" (${forecast.spent:.4f} of it already spent)" if forecast.spent else ""
    if forecast.worst_cost <= limit:
        verdict = "covers the worst case"
    elif forecast.expected_cost <= limit:
        verdict = "covers the expected cost, but not the worst case"
    else:
        verdict = "does not cover the expected cost: the run would stop early"
    print_line(f"--max-cost ${limit:g}{before}: {verdict}")
    if not forecast.worst_cost:
        print_line("models on this machine count as free; give them a price in a file: --prices FILE")


def print_judging_forecast(
    rows: Sequence[Mapping[str, Any]], control_problems: int, *, has_statement_step: bool, as_json: bool
) -> None:
    """Print the forecast of ``judge``: number of judgements, tokens and cost by judge and criterion."""
    from caretbench.runs.judging.plan import EXPECTED_CLAIMS, EXPECTED_TOKENS

    if as_json:
        print_json(rows)
        return
    header = (
        "judge", "criterion", "completions", "texts", "judgements", "stored", "to ask", "tokens in, about",
        "tokens out, at most", "cost, expected", "cost, at most",
    )  # fmt: skip
    lines = [
        (
            row["judge"], row["criterion"], str(row["completions"]), str(row["distinct_texts"]),
            str(row["judgements"]), str(row["stored"]), str(row["to_ask"]), f"{row['input_tokens']:,}",
            f"{row['worst_output_tokens']:,}", _dollars(row["expected_cost"]), _dollars(row["worst_cost"]),
        )
        for row in rows
    ]  # fmt: skip
    print_table(lines, header)
    print_line(f"\ncontrols of {control_problems} problems for each criterion")
    print_line(f"expected: {EXPECTED_TOKENS} tokens for each answer (a judge that reasons may need many more)")
    if has_statement_step:
        print_line(f"answers not yet divided into statements: {EXPECTED_CLAIMS} expected for each answer")
