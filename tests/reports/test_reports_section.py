"""Sections of a report: the registry, and the defaults of a section that gives one table."""

from caretbench.reports.frame import LoadedRun
from caretbench.reports.report_source import ReportSource
from caretbench.reports.run_summary import summarise
from caretbench.reports.section import PagePart, PageSource, Section, groups
from caretbench.reports.section_registry import SECTIONS, csv_sections, page_sections, text_sections
from caretbench.reports.summary import Summary
from caretbench.reports.tables import ReportTable, table_of
from tests.support.report_runs import make_run


class Problems(Section):
    part = PagePart("count", "Count", "Number of problems")

    def tables(self, summary: Summary) -> list[ReportTable]:
        return [table_of("Problems", ("Problems",), [(summary.problems,)])]


def test_a_sections_tables_are_its_part_of_the_page() -> None:
    run = make_run(per_cell=1, samples=1)
    summary = summarise(run)
    part = Problems().page(PageSource(summary, run))
    assert part is not None
    assert (part.identity, [table.title for table in part.blocks[0].tables]) == ("count", ["Problems"])
    assert Section().page(PageSource(summary, run)) is None
    assert Section().compute(ReportSource(run)) == {}
    [group] = groups(summary)
    assert list(Section().group_page_tables(group)) == []


def test_every_field_is_computed_by_one_section() -> None:
    source = ReportSource(make_run(per_cell=1, samples=1))
    fields = [name for section in SECTIONS for name in section.compute(source)]
    assert len(fields) == len(set(fields))
    assert set(fields) <= set(Summary.model_fields)


def test_published_numbers_are_shown_on_request_only() -> None:
    chosen = {type(section).__name__ for section in text_sections(published=False)}
    assert {type(section).__name__ for section in page_sections(published=True)} - chosen == {"PublishedSection"}
    assert len(csv_sections()) == len(SECTIONS)


def test_a_run_without_rows_has_a_summary() -> None:
    run = make_run(per_cell=1, samples=1)
    empty = summarise(LoadedRun("r", run.manifest, run.problems, [], run.frame.clear()))
    assert (empty.columns, empty.problems, groups(empty)) == ((), 36, ())
