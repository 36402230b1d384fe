"""Reports with the sections of strengths and of generator bias. Running does without them, so verbs hand them over."""

from __future__ import annotations

from collections.abc import Sequence

from caretbench.people.strengths.bias_section import GeneratorBiasSection
from caretbench.people.strengths.strengths_section import StrengthsSection
from caretbench.reports.frame import LoadedRun
from caretbench.reports.run_summary import summarise_run
from caretbench.reports.section_registry import add_sections
from caretbench.reports.summary import Summary


def add_strength_sections() -> None:
    """Add both sections to all reports of this process."""
    add_sections(StrengthsSection(), GeneratorBiasSection())


def whole_summary(run: LoadedRun, by: Sequence[tuple[str, ...]] = (), strengths: str | None = None) -> Summary:
    """Return the summary of a run with the sections of this wing; the arguments are those of ``summarise_run``."""
    add_strength_sections()
    return summarise_run(run, by, strengths)
