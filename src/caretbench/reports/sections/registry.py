"""Registry of the sections of a report, in the order of the blocks of one profile and policy."""

from __future__ import annotations

from collections.abc import Iterator

from caretbench.reports.section import Section
from caretbench.reports.sections.errors import Errors
from caretbench.reports.sections.flags import Flags
from caretbench.reports.sections.forms import Forms, PrintedIntervals
from caretbench.reports.sections.judged import JudgeScores
from caretbench.reports.sections.lists import Discordant, LeftOutProblems
from caretbench.reports.sections.own import OwnTables
from caretbench.reports.sections.policies import Policies
from caretbench.reports.sections.published import Published
from caretbench.reports.sections.rates import HeatMaps, PassRates, Statuses, Strata
from caretbench.reports.sections.similarity import SimilarityAgainstPassing, SimilarityMeans
from caretbench.reports.sections.usage import UsageOfModels

SECTIONS: tuple[Section, ...] = (
    PassRates(),
    PrintedIntervals(),
    Strata(),
    SimilarityMeans(),
    Statuses(),
    Errors(),
    HeatMaps(),
    SimilarityAgainstPassing(),
    Forms(),
    OwnTables(),
    Policies(),
    JudgeScores(),
    Published(),
    Flags(),
    LeftOutProblems(),
    Discordant(),
    UsageOfModels(),
)


def in_text(*, published: bool) -> list[Section]:
    """Return the sections in the order of the terminal and of Markdown."""
    return sorted(_chosen(published=published), key=lambda section: section.places.text)


def on_page(*, published: bool) -> list[Section]:
    """Return the sections in the order of the page."""
    return sorted(_chosen(published=published), key=lambda section: section.places.page)


def in_csv() -> list[Section]:
    """Return the sections in the order of the CSV export."""
    return sorted(SECTIONS, key=lambda section: section.places.lines)


def _chosen(*, published: bool) -> Iterator[Section]:
    return (section for section in SECTIONS if published or not section.published)
