"""Sections of similarities to the reference: means, and correlation with passing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from caretbench.reports.estimates import SimilarityCorrelation
from caretbench.reports.section import Chart, ColumnGroup, Section
from caretbench.reports.summary import Column
from caretbench.reports.tables import (
    FieldValues,
    ReportTable,
    TableField,
    existing_tables,
    number_field,
    score_field,
    table_of,
    title_field,
)


class SimilarityMeansSection(Section):
    """Section of mean similarities to the reference."""

    group_block = "after"

    def group_tables(self, group: ColumnGroup) -> Iterable[ReportTable]:
        """Return one table, if the scores have similarities."""
        return existing_tables([similarity_table(group.columns)])


class SimilarityAgainstPassingSection(Section):
    """Section of similarity against pass rate, cell by cell; on the page only."""

    def group_charts(self, group: ColumnGroup) -> Iterator[Chart]:
        """Yield one chart of dots."""
        from caretbench.reports.sections.rate_charts import similarity_against_passing  # only pages have charts

        spec = similarity_against_passing(group.columns)
        yield Chart("similarity", "Similarity against pass rate", spec)


def similarity_table(columns: Sequence[Column]) -> ReportTable | None:
    """Return the table of mean similarities of one profile; None if the scores have none."""
    titles: dict[str, str] = {}
    for column in columns:
        titles |= column.similarity_titles
    if not titles:
        return None
    rows: list[FieldValues] = [
        (
            title_field(column.title, baseline=column.baseline),
            column.completions,
            max((found.problems for found in column.overall.similarity.values()), default=0),
            *(score_field(column.overall.similarity.get(name), 3) for name in titles),
            _correlation_field(column.correlation),
        )
        for column in columns
    ]
    heads = ("Model", "Completions", "Problems", *titles.values(), "r with pass rate")
    caption = "Over all problems, excluded ones too. r: Pearson, over problems, of cosine and share of passes."
    return table_of("Similarity to the reference", heads, rows, caption)


def _correlation_field(found: SimilarityCorrelation | None) -> TableField:
    if found is None:
        return number_field(None)
    field = number_field(found.pearson, f"{found.pearson:.2f}", f"p = {found.p_value:.2g}")
    return field.model_copy(update={"problems": found.problems})
