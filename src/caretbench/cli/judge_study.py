"""``caretbench judge RUN --study REVIEW``: judges compared with the people of a review."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from caretbench.cli.common import StepProgress, open_client, print_json, print_line, print_note, print_table
from caretbench.cli.forecast import print_judging_forecast

if TYPE_CHECKING:
    from caretbench.models import AccessCheck
    from caretbench.runs.judging.plan import JudgingConfig
    from caretbench.runs.run_folder import RunFolder


def run_study(
    review: Path, folder: RunFolder, config: JudgingConfig, check: AccessCheck, *, dry_run: bool, as_json: bool
) -> None:
    """Judge what people rated, and print how near the judges are to them. Several criteria are separated by commas."""
    from caretbench.models import without_sending
    from caretbench.people.review.database import DATABASE_NAME, ReviewDatabase
    from caretbench.people.review.study.judge_study import JudgeStudy, study_lines, study_tables, write_study

    criteria = [name for name in (config.criterion or "").split(",") if name]
    with ReviewDatabase(review / DATABASE_NAME) as database:
        study = JudgeStudy(database, folder, config, criteria, check)
    if dry_run:
        print_judging_forecast(
            study.forecast(without_sending(open_client)), 0, has_statement_step=False, as_json=as_json
        )
        return
    if config.judges:
        with StepProgress(quiet=as_json) as steps:
            results = study.judge(open_client, steps)
        for name, found in results.items():
            if not found.complete:
                print_note(f"{name}: {found.complaint(folder)}")
    result = study.result()
    path = write_study(review, result)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    for line in study_lines(result):
        print_line(line)
    for table in study_tables(result):
        print_line("")
        print_line(table.title)
        print_table(table.rows, table.columns)
    print_note(f"results: {path}")
