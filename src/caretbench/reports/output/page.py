"""HTML page of a report: one self-contained file without external resources."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from caretbench.files import cache_folder, write_atomically
from caretbench.page_scripts import token_diff_script
from caretbench.reports.compare import ComparisonReport, comparison_tables
from caretbench.reports.frame import LoadedRun
from caretbench.reports.head.head_texts import footer_line
from caretbench.reports.output.page_parts import PageHead, page_head, with_legend
from caretbench.reports.output.samples import DEFAULT_LIMIT, pack_samples, to_script_json
from caretbench.reports.section import Chart, ColumnGroup, PageBlock, PagePart, PageSource, groups
from caretbench.reports.section_registry import HEAD, SECTIONS, page_sections
from caretbench.reports.summary import Summary
from caretbench.reports.tables import ReportTable


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
        _title(summary),
        [part for part in parts if part is not None],
        page_head(summary),
        footer_line(summary),
        notes=summary.notes,
        facts=list(manifest_facts(summary.manifest)),
        samples=pack_samples(run.frame, run.problems, run.completions, samples, run.baselines) if samples else None,
    )


def _title(summary: Summary) -> str:
    return f"{summary.suite}: {summary.run}".rstrip(": ")


def render_comparison(comparison: ComparisonReport) -> str:
    """Return a comparison of runs as a self-contained HTML page."""
    return render_page(f"Comparison with {comparison.first}", [_comparison(comparison)])


def _comparison(comparison: ComparisonReport) -> PagePart:
    block = PageBlock(notes=comparison.notes, tables=comparison_tables(comparison))
    return PagePart("comparison", "Comparison", "Comparison", blocks=[block])


def _group(identity: str, group: ColumnGroup) -> PagePart:
    """Return the page part of one profile and policy, in blocks by the sections' ``group_block``."""
    tables: dict[str, list[ReportTable]] = defaultdict(list)
    for section in SECTIONS:
        tables[section.group_block] += section.group_page_tables(group)
    label = f"{group.profile.capitalize()} profile"
    blocks = [
        PageBlock(tables=tables["lead"]),
        PageBlock(charts=[chart for section in SECTIONS for chart in section.group_charts(group)]),
        PageBlock(title="Tables in the paper's layout", tables=tables["forms"], level=4, folded=True, opened=True),
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
    own = [token_diff_script(), _asset("report.js")]
    scripts = [_vega_bundle(), *own] if specs else own
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
            for place, item in enumerate(value):
                entry = item if isinstance(item, Mapping) else {"": item}
                yield from manifest_facts(entry, f"{path}{name}[{place}].")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield f"{path}{name}".rstrip("."), text


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: only these scripts run, and nothing is loaded.

    Vega compiles its expressions, which needs ``unsafe-eval``, and sets styles on the elements that it draws.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
