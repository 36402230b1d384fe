"""The page: one HTML file that holds everything it needs and asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from caretbench.reports import charts, tables
from caretbench.reports.compare import ComparisonReport, comparison_tables
from caretbench.reports.frame import Run
from caretbench.reports.judged.answer_tables import answers_tables
from caretbench.reports.judged.caret_charts import overall_scores, score_map
from caretbench.reports.judged.caret_tables import judged_published_table, judged_tables
from caretbench.reports.judged.numbers import Judged
from caretbench.reports.published import beside_published, judged_beside_published
from caretbench.reports.sections.error_charts import error_shares, outcome_shares
from caretbench.reports.sections.error_tables import error_tables, error_titles
from caretbench.reports.sections.flag_tables import flag_tables
from caretbench.reports.sections.form_tables import form_tables, printed_table
from caretbench.reports.sections.samples import DEFAULT_LIMIT, pack_samples, to_island
from caretbench.reports.sections.step_examples import step_examples
from caretbench.reports.sections.usage_tables import usage_tables
from caretbench.reports.summary import Column, Summary

HEAT_MAPS = 12
"""At most so many heat maps: one a model, best first."""


def render_html(
    summary: Summary,
    run: Run,
    *,
    published: bool = False,
    samples: int = DEFAULT_LIMIT,
    comparison: ComparisonReport | None = None,
) -> str:
    """The report of one run as a page.

    Args:
        summary: The numbers.
        run: The rows, for the sample browser.
        published: Show the numbers that the suite's paper prints beside ours.
        samples: At most so many entries in the sample browser; 0 leaves it out.
        comparison: A comparison to show above the rest.

    Returns:
        HTML without any outside resource: scripts, styles, charts and samples are in it, and its content security
        policy lets nothing else run or load.
    """
    specs: dict[str, charts.Spec] = {}
    packed = pack_samples(run.frame, run.problems, run.completions, samples) if samples else None
    return _render(
        title=f"{summary.suite}: {summary.run}".rstrip(": "),
        summary=summary,
        groups=[
            _group(number, *group, specs, summary)
            for number, group in enumerate(tables.groups(summary))
            if not tables.is_further(summary, group[1])
        ],
        own=[tables.own_table(entry) for entry in summary.own],
        policies=_policies(summary, run, specs),
        left_out=tables.left_out_table(summary),
        discordant=tables.discordant_tables(summary),
        flagged=_flagged(summary),
        usage=usage_tables(summary),
        judged=[_judged(number, judged, specs) for number, judged in enumerate(summary.judged)]
        + [
            _judged_part(
                answers.criterion, answers.validity, answers_tables(answers), (), validated=answers.validated
            )
            for answers in summary.answers
        ],
        published=_published(summary) if published else [],
        comparison=comparison_tables(comparison) if comparison else [],
        comparison_notes=comparison.notes if comparison else (),
        facts=list(manifest_facts(summary.manifest)),
        samples=packed,
        specs=specs,
    )


def render_comparison(comparison: ComparisonReport) -> str:
    """A comparison of runs as a page of its own, as self-contained as a report."""
    return _render(
        title=f"Comparison with {comparison.first}",
        summary=None,
        groups=[],
        own=(),
        policies=None,
        left_out=None,
        discordant=(),
        flagged=(),
        usage=(),
        judged=(),
        published=(),
        comparison=comparison_tables(comparison),
        comparison_notes=comparison.notes,
        facts=[],
        samples=None,
        specs={},
    )


def _render(*, specs: Mapping[str, Any], samples: Mapping[str, Any] | None, **values: Any) -> str:
    own = _asset("report.js")
    scripts = [_vega_bundle(), own] if specs else [own]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            **values,
            style=Markup(_asset("report.css")),  # noqa: S704  # a file of this package
            scripts=[Markup(script) for script in scripts],  # noqa: S704  # the bundle and a file of this package
            policy=_policy(scripts),
            specs=Markup(to_island(specs)) if specs else None,  # noqa: S704  # escaped for this place
            samples=Markup(to_island(samples)) if samples else None,  # noqa: S704  # escaped for this place
        )
    )


def _group(
    number: int,
    profile: str,
    policy: str,
    columns: Sequence[Column],
    specs: dict[str, charts.Spec],
    summary: Summary,
) -> dict[str, Any]:
    """Everything about one profile and policy; the charts' specifications go to ``specs``."""
    drawn: list[dict[str, str]] = []

    def draw(name: str, title: str, spec: charts.Spec | None) -> None:
        if spec is not None:
            identity = f"chart-{number}-{re.sub(r'[^0-9A-Za-z]+', '-', name)}"
            specs[identity] = spec
            drawn.append({"id": identity, "title": title, "text": str(spec["description"])})

    for stratum in tables.strata_names(columns):
        draw(stratum, f"pass@1 by {tables.shown_stratum(stratum)}", charts.rates_by(columns, stratum))
    for stratum in tables.strata_names(columns, crossed=True):
        if stratum.count(" / ") > 1:
            for title, spec in charts.figures(columns, stratum).items():
                draw(f"{stratum}-{title}", title, spec)
    draw("status", "How completions ended", charts.status_shares(columns))
    titles = error_titles(columns)
    draw("outcomes", "How all answers ended, by class", outcome_shares(summary.errors, titles))
    draw("errors", "How answers failed", error_shares(summary.errors, titles))
    best = sorted(tables.pass_columns(columns), key=lambda column: -column.overall.pass_at[1].value)
    best = [column for column in best if not column.baseline]
    best = best[: max(1, HEAT_MAPS // max(1, len(summary.heat_maps)))]
    for stratum in summary.heat_maps:
        for place, column in enumerate(best):
            title = f"{column.title}: pass@1 by {tables.shown_stratum(stratum)}"
            draw(f"heat-{stratum}-{place}", title, charts.heat_map(column, stratum))
    draw("similarity", "Similarity against pass rate", charts.similarity_against_passing(columns))
    names = (*tables.strata_names(columns), *tables.strata_names(columns, crossed=True))
    detail = [tables.stratum_table(columns, name) for name in names]
    judged = tables.pass_columns(columns)
    return {
        "id": f"group-{number}",
        "profile": profile,
        "policy": policy,
        "headline": tables.headline(judged) if judged else None,
        "printed": printed_table(columns, summary.main),
        "forms": form_tables(columns, summary.forms),
        "similarity": tables.similarity_table(columns),
        "charts": drawn,
        "details": [
            table
            for table in (*detail, tables.status_table(columns), *error_tables(summary.errors, titles))
            if table is not None
        ],
    }


def _policies(summary: Summary, run: Run, specs: dict[str, charts.Spec]) -> dict[str, Any] | None:
    """The same answers under several policies; None where there is one. Charts go to ``specs``."""
    profiles = dict.fromkeys(column.profile for column in summary.columns)
    found = [tables.policies_table(summary, profile) for profile in profiles]
    shown = [table for table in (*found, tables.best_of_table(summary)) if table is not None]
    if not shown:
        return None
    drawn = []
    for number, (title, spec) in enumerate(charts.policies_of_models(summary.columns, summary.main).items()):
        identity = f"chart-policies-{number}"
        specs[identity] = spec
        drawn.append({"id": identity, "title": title, "text": str(spec["description"])})
    details = []
    for profile, policy, columns in tables.groups(summary):
        if tables.is_further(summary, policy) and (judged := tables.pass_columns(columns)):
            errors = error_tables(summary.errors, error_titles(columns))
            details += [
                table.model_copy(update={"title": f"{table.title} ({profile} profile, policy {policy})"})
                for table in (tables.headline(judged), *errors[:1])
            ]
    return {"tables": shown, "charts": drawn, "details": details, "examples": step_examples(run)}


def _flagged(summary: Summary) -> list[tables.Table]:
    """What is to be read with suspicion."""
    return list(flag_tables(summary))


def _published(summary: Summary) -> list[tables.Table]:
    found = (
        tables.published_table(beside_published(summary)),
        judged_published_table(judged_beside_published(summary)),
    )
    return [table for table in found if table is not None]


def _judged(number: int, judged: Judged, specs: dict[str, charts.Spec]) -> dict[str, Any]:
    """Everything about one criterion; the charts' specifications go to ``specs``."""
    drawn: list[dict[str, str]] = []
    titles = ("Judge scores, all instances", "Judge scores by language and category")
    for title, spec in zip(titles, (overall_scores(judged), score_map(judged)), strict=True):
        if spec is not None:
            identity = f"chart-judged-{number}-{len(drawn)}"
            specs[identity] = spec
            shown = f"{title} ({judged.validity})"
            drawn.append({"id": identity, "title": shown, "text": str(spec["description"])})
    return _judged_part(
        judged.criterion, judged.validity, judged_tables(judged), drawn, validated=judged.validated
    )


def _judged_part(
    criterion: str,
    validity: str,
    found: Sequence[tables.Table],
    charts: Sequence[Mapping[str, str]],
    *,
    validated: bool,
) -> dict[str, Any]:
    return {
        "criterion": criterion, "validity": validity, "validated": validated, "tables": found, "charts": charts,
    }  # fmt: skip


def manifest_facts(manifest: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """The manifest as names and texts, nested names joined by dots; problem lists stand elsewhere."""
    for name, value in manifest.items():
        if not path and name == "left_out":
            continue
        if isinstance(value, Mapping):
            yield from manifest_facts(value, f"{path}{name}.")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            for place, item in enumerate(value):
                entry = item if isinstance(item, Mapping) else {"": item}
                yield from manifest_facts(entry, f"{path}{name}[{place}].")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield f"{path}{name}".rstrip("."), text


def _policy(scripts: Sequence[str]) -> str:
    """Only these scripts run (none that a completion smuggles in), and nothing is loaded from anywhere.

    Vega compiles its expressions, which needs ``unsafe-eval``; it sets styles on the elements that it draws.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _vega_bundle() -> str:
    import vl_convert

    return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # its stub forgets the default


def _asset(name: str) -> str:
    return resources.files("caretbench.reports").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("caretbench.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = tables.percent
    return environment
