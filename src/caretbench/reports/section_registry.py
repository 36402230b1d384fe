"""Registry of the sections of a report, in the order of the blocks of one profile and policy."""

from __future__ import annotations

from collections.abc import Iterator

from caretbench.reports.head.head_section import HeadSection
from caretbench.reports.section import Section
from caretbench.reports.sections.answer_counts import RecordingsSection, UsageSection
from caretbench.reports.sections.errors import ErrorsSection
from caretbench.reports.sections.judged import JudgeScoresSection
from caretbench.reports.sections.lists import DiscordantSection, ExcludedProblemsSection, FlagsSection
from caretbench.reports.sections.paper_layouts import PaperIntervalsSection, PaperTablesSection
from caretbench.reports.sections.policies import PoliciesSection
from caretbench.reports.sections.published import PublishedSection
from caretbench.reports.sections.rates import (
    HeatMapsSection,
    PassRatesSection,
    SimilarityAgainstPassingSection,
    SimilarityMeansSection,
    StatusesSection,
    StrataSection,
)
from caretbench.reports.sections.suite_tables import SuiteTablesSection
from caretbench.reports.sections.typing_sessions import TypingSection

HEAD = HeadSection()
"""Section that the outputs show first."""

SECTIONS: list[Section] = [
    HEAD,
    PassRatesSection(),
    PaperIntervalsSection(),
    StrataSection(),
    SimilarityMeansSection(),
    StatusesSection(),
    ErrorsSection(),
    HeatMapsSection(),
    SimilarityAgainstPassingSection(),
    PaperTablesSection(),
    SuiteTablesSection(),
    TypingSection(),
    PoliciesSection(),
    JudgeScoresSection(),
    PublishedSection(),
    FlagsSection(),
    ExcludedProblemsSection(),
    DiscordantSection(),
    UsageSection(),
    RecordingsSection(),
]
"""All sections: those of running, and those that a verb adds."""


def add_sections(*sections: Section) -> None:
    """Add sections of another wing; those of a class that is there already are not added again."""
    # Several verbs in one process (tests, a notebook) each add the sections of the people wing.
    known = {type(section) for section in SECTIONS}
    SECTIONS.extend(section for section in sections if type(section) not in known)


def text_sections(*, published: bool) -> list[Section]:
    """Return the sections in the order of the terminal and of Markdown."""
    return sorted(_chosen(published=published), key=lambda section: section.positions.text)


def page_sections(*, published: bool) -> list[Section]:
    """Return the sections in the order of the page."""
    return sorted(_chosen(published=published), key=lambda section: section.positions.page)


def csv_sections() -> list[Section]:
    """Return the sections in the order of the CSV export."""
    return sorted(SECTIONS, key=lambda section: section.positions.lines)


def _chosen(*, published: bool) -> Iterator[Section]:
    return (section for section in SECTIONS if published or not section.published)
