"""HTML page of a report: one self-contained file without external resources, with a browser of samples."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.metadata import version
from itertools import islice
from typing import Any, Final

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from caretbench.files import cache_folder, write_atomically
from caretbench.page_scripts import token_diff_script
from caretbench.problem import AnyCompletion, Caret, Problem
from caretbench.reports.compare import ComparisonReport, comparison_sentences, comparison_tables
from caretbench.reports.frame import GROUP, LoadedRun, main_labels
from caretbench.reports.head.head_texts import footer_line
from caretbench.reports.output.page_parts import PageHead, page_head, with_legend
from caretbench.reports.section import Chart, ColumnGroup, PageBlock, PagePart, PageSource, groups
from caretbench.reports.section_registry import HEAD, SECTIONS, page_sections
from caretbench.reports.summary import Summary
from caretbench.reports.tables import ReportTable
from caretbench.suites.baselines import BASELINE_NAMES

PREFIX_LINES, SUFFIX_LINES = 14, 8
PREFIX_LENGTH, SUFFIX_LENGTH = 1200, 700
TEXT_LENGTH, MESSAGE_LENGTH = 4000, 600

DEFAULT_LIMIT = 10_000
"""Default number of entries in the browser, which keeps a page below about ten megabytes."""


def render_html(summary: Summary, run: LoadedRun, *, published: bool = False, samples: int = DEFAULT_LIMIT) -> str:
    """Return the report of one run as an HTML page, with at most ``samples`` samples in its browser.

    The page is self-contained: scripts, styles, charts and samples are embedded, and its content security policy blocks
    everything else.
    """
    parts = [
        HEAD.page(PageSource(summary, run)),
        *(_group(f"group-{n}", group) for n, group in enumerate(groups(summary)) if not group.further),
        *(
            section.page(PageSource(summary, run))
            for section in page_sections(published=published)
            if section is not HEAD
        ),
    ]
    return render_page(
        f"{summary.suite}: {summary.run}".rstrip(": "),
        [part for part in parts if part is not None],
        page_head(summary),
        footer_line(summary),
        notes=summary.notes,
        facts=list(manifest_facts(summary.manifest)),
        samples=pack_samples(run.frame, run.problems, run.completions, samples, run.baselines) if samples else None,
    )


def render_comparison(comparison: ComparisonReport) -> str:
    """Return a comparison of runs as a self-contained HTML page."""
    notes = [*comparison_sentences(comparison), *comparison.notes]
    block = PageBlock(notes=notes, tables=comparison_tables(comparison))
    part = PagePart("comparison", "Comparison", "Comparison", blocks=[block])
    return render_page(f"Comparison with {comparison.first}", [part])


def _group(identity: str, group: ColumnGroup) -> PagePart:
    """Return the page part of one profile and policy, in blocks by the sections' ``group_block``."""
    tables: dict[str, list[ReportTable]] = defaultdict(list)
    for section in SECTIONS:
        tables[section.group_block] += section.group_page_tables(group)
    label = f"{group.profile.capitalize()} profile"
    blocks = [
        PageBlock(tables=tables["lead"]),
        PageBlock(charts=[chart for section in SECTIONS for chart in section.group_charts(group)]),
        PageBlock(title="Tables in the paper's layout", tables=tables["forms"], level=4, folded=True),
        PageBlock(tables=tables["after"]),
        PageBlock(title="Numbers of the charts as tables", tables=tables["details"], level=4, folded=True),
    ]
    return PagePart(identity, label, label, f"truncation policy {group.policy}", blocks)


def render_page(
    title: str,
    parts: Sequence[PagePart],
    head: PageHead | None = None,
    footer: str = "",
    *,
    notes: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
    samples: Mapping[str, Any] | None = None,
) -> str:
    """Return a self-contained HTML page of these parts; without ``head`` its heading is the title."""
    drawn = [_drawn(part) for part in parts]
    specs = {chart.name: chart.spec for part in drawn for block in part.blocks for chart in block.charts}
    always = [*([token_diff_script()] if samples else []), _asset("report.js")]
    scripts = [_vega_bundle(), *always] if specs else always
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            head=head,
            notes=notes,
            footer=footer,
            parts=drawn,
            facts=facts,
            style=Markup(_asset("report.css")),  # noqa: S704  # a file of this package
            scripts=[Markup(script) for script in scripts],  # noqa: S704  # the bundle and a file of this package
            policy=_policy(scripts),
            specs=Markup(to_script_json(specs)) if specs else None,  # noqa: S704  # escaped for this place
            samples=Markup(to_script_json(samples)) if samples else None,  # noqa: S704  # escaped for this place
        )
    )


def _drawn(part: PagePart) -> PagePart:
    """Return the part without empty charts; each chart gets the id of its HTML element."""
    prefix = f"chart-{part.identity.removeprefix('group-')}"

    def charts(block: PageBlock) -> list[Chart]:
        named = ((chart, f"{prefix}-{re.sub(r'[^0-9A-Za-z]+', '-', chart.name)}") for chart in block.charts)
        return [with_legend(chart._replace(name=name)) for chart, name in named if chart.spec is not None]

    return replace(part, blocks=[replace(block, charts=charts(block)) for block in part.blocks])


def manifest_facts(manifest: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the manifest as names and texts, with nested names joined by dots, without lists of problems."""
    for name, value in manifest.items():
        if not path and name == "excluded":
            continue
        if isinstance(value, Mapping):
            yield from manifest_facts(value, f"{path}{name}.")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            for index, item in enumerate(value):
                entry = item if isinstance(item, Mapping) else {"": item}
                yield from manifest_facts(entry, f"{path}{name}[{index}].")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield f"{path}{name}".rstrip("."), text


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: only these scripts run, and nothing is loaded.

    Vega compiles its expressions, which needs ``unsafe-eval``, and sets styles on the elements that it draws.
    """
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


@cache
def _vega_bundle() -> str:
    """Return the scripts that draw charts, from the cache folder: making them takes two seconds of CPU."""
    stored = cache_folder() / "page" / f"vega-{version('vl-convert-python')}.js"
    if stored.exists():
        return stored.read_text("utf-8")
    import vl_convert

    bundle = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # its stub forgets the default
    with contextlib.suppress(OSError):  # a folder that cannot be written costs time, not the page
        write_atomically(stored, bundle)
    return bundle


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
    environment.filters["code"] = _with_code
    return environment


def _with_code(text: str) -> Markup:
    """Return an escaped text; what is between backticks is marked as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  # escaped before


def pack_samples(
    frame: pl.DataFrame,
    problems: Sequence[Problem],
    completions: Sequence[AnyCompletion],
    limit: int = DEFAULT_LIMIT,
    baselines: Sequence[str] = BASELINE_NAMES,
) -> dict[str, Any]:
    """Return the data of the sample browser.

    Samples of one model with the same text and outcome for one problem become one entry with their numbers. Models come
    before baselines and first samples of all problems before later ones, so that a limit thins out evenly.

    Returns:
        ``problems``, ``columns``, ``strings`` and ``entries``, which refer to the others by index; ``total`` is the
        number of entries before the limit.
    """
    texts_by_key = {completion.key: completion.text for completion in completions}
    grouped: dict[tuple[Any, ...], tuple[int, list[int]]] = {}
    order = frame.with_columns(baseline=pl.col("model").is_in(baselines)).sort("baseline", "sample", "problem_id")
    keys = order.select("problem_id", *GROUP, "status", "counted", "passed", "sample")
    for index, (*seen, sample) in enumerate(keys.iter_rows()):
        text = texts_by_key.get((seen[0], seen[1], seen[2], sample))
        grouped.setdefault((*seen, text), (index, []))[1].append(sample)
    firsts = dict(islice(grouped.items(), limit))
    rows = order[[index for index, _ in firsts.values()]].to_dicts()
    chosen = [
        row | {"samples": samples, "text": text}
        for row, ((*_, text), (_, samples)) in zip(rows, firsts.items(), strict=True)
    ]
    pool: dict[str, int] = {}
    named = {row["problem_id"] for row in chosen}
    listed = [problem for problem in problems if problem.id in named]
    places = {problem.id: index for index, problem in enumerate(listed)}
    columns = list(dict.fromkeys(tuple(row[name] for name in GROUP) for row in chosen))
    entries = sorted((_entry(row, places, columns, pool) for row in chosen), key=lambda entry: entry[:2])
    return {
        "problems": [_problem(problem) for problem in listed],
        "columns": [dict(zip(GROUP, column, strict=True)) for column in columns],
        "strings": list(pool),
        "entries": entries,
        "total": len(grouped),
    }


def to_script_json(value: Any) -> str:
    """Return JSON that is safe in an HTML script element: no text in it can end the element or start a comment."""
    packed = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        packed = packed.replace(character, f"\\u{ord(character):04x}")
    # Marks of direction would show code in another order than it has.
    packed = _DIRECTION.sub(lambda mark: f"⟨U+{ord(mark[0]):04X}⟩", packed)
    return packed.encode("utf-8", "backslashreplace").decode()


_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _entry(
    row: Mapping[str, Any], places: Mapping[str, int], columns: list[tuple[Any, ...]], pool: dict[str, int]
) -> list[Any]:
    """Return an entry: problem, column, samples, text, status, counted, passed, stage, message, cosine, flags.

    Texts are places in the pool, which has each once.
    """

    def pooled(text: str | None) -> int | None:
        return None if text is None else pool.setdefault(text, len(pool))

    cosine = row.get("cosine")
    return [
        places[row["problem_id"]],
        columns.index(tuple(row[name] for name in GROUP)),
        row["samples"],
        pooled(_cut(row["text"], TEXT_LENGTH)),
        pooled(row["status"]),
        row["counted"],
        row["passed"],
        pooled(row["stage"]),
        pooled(_cut(row["message"], MESSAGE_LENGTH, tail=True)),
        None if cosine is None else round(cosine, 3),
        [pooled(flag) for flag in row["flags"] or ()],
    ]


def _problem(problem: Problem) -> dict[str, Any]:
    caret = problem.shown if isinstance(problem.shown, Caret) else None
    prefix = caret.prefix if caret else getattr(problem.shown, "text", "")
    suffix = caret.suffix if caret else ""
    tail = "\n".join(prefix.split("\n")[-PREFIX_LINES:])[-PREFIX_LENGTH:]
    head = "\n".join(suffix.split("\n")[:SUFFIX_LINES])[:SUFFIX_LENGTH]
    return {
        "id": problem.id,
        **main_labels(problem),
        "instructed": bool(caret and caret.instruction),
        "prefix": tail,
        "prefixCut": len(tail) < len(prefix),
        "reference": _cut(problem.reference, TEXT_LENGTH),
        "suffix": head,
        "suffixCut": len(head) < len(suffix),
    }


def _cut(text: str | None, length: int, *, tail: bool = False) -> str | None:
    """Return the text, shortened to ``length`` characters with a note."""
    if text is None or len(text) <= length:
        return text
    note = f"[… {len(text) - length} more characters …]"
    return f"{note}\n{text[-length:]}" if tail else f"{text[:length]}\n{note}"
