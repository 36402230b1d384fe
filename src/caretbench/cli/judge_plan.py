"""What ``judge`` is to do, and what can be said of it before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caretbench.cli.common import aligned, say, say_json

if TYPE_CHECKING:
    from caretbench.extraction.policies import Policy
    from caretbench.judging.answers import TextOf
    from caretbench.judging.choosing import Part
    from caretbench.models import ModelClient, Sampling
    from caretbench.runs.folder import Manifest, RunFolder
    from caretbench.runs.judging.subjects import Subject
    from caretbench.runs.prices import Price


def sampling_of(part: Part, changed: Mapping[str, float]) -> Sampling:
    """How a part's criterion is asked: as it says itself, but for what was changed."""
    from caretbench.models import Sampling

    return Sampling.model_validate(part.criterion.sampling.model_dump() | dict(changed))


class Work(NamedTuple):
    """What is to be judged, and by which criteria."""

    folder: RunFolder
    manifest: Manifest
    parts: Sequence[Part]
    policy: Policy
    control_problems: int
    baselines: bool
    text_of: TextOf | None
    repeats: int | None

    def subjects(self, part: Part) -> tuple[list[Subject], int]:
        """The distinct texts of a part, and how many completions hold them."""
        from caretbench.runs.judge import texts_of

        return texts_of(
            self.folder, part, self.policy, self.manifest.profile, control_problems=self.control_problems,
            baselines=self.baselines, text_of=self.text_of,
        )  # fmt: skip


def show_forecast(
    work: Work,
    graders: Mapping[str, str],
    opened: Callable[[str], ModelClient],
    changed: Mapping[str, float],
    costs: Mapping[str, Price | None],
    *,
    as_json: bool,
) -> None:
    """What would be asked and what it would cost; nothing is sent, nothing is written."""
    from caretbench.runs.judging.forecast import EXPECTED_CLAIMS, EXPECTED_TOKENS, forecast
    from caretbench.runs.judging.steps import wanted_of

    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        clients = {name: stack.enter_context(opened(spec)) for name, spec in graders.items()}
        for part in work.parts:
            texts, count = work.subjects(part)
            wanted = wanted_of(part.criterion, texts, work.repeats)
            for name, client in clients.items():
                found = forecast(
                    work.folder, wanted, client, name, part.criterion, sampling_of(part, changed), costs[name]
                )
                about = {"grader": name, "criterion": part.criterion.key, "completions": count}
                rows.append(about | {"distinct_texts": len(texts)} | found._asdict())
    if as_json:
        say_json(rows)
        return
    header = (
        "grader", "criterion", "completions", "texts", "judgements", "stored", "to ask", "tokens in, about",
        "tokens out, at most", "cost, expected", "at most",
    )  # fmt: skip
    lines = [
        (
            row["grader"], row["criterion"], str(row["completions"]), str(row["distinct_texts"]),
            str(row["judgements"]), str(row["stored"]), str(row["to_ask"]), f"{row['input_tokens']:,}",
            f"{row['worst_output_tokens']:,}",
            *("no price" if row[key] is None else f"${row[key]:.4f}" for key in ("expected_cost", "worst_cost")),
        )
        for row in rows
    ]  # fmt: skip
    for line in aligned(lines, header):
        say(line)
    say(f"\ncontrols of {work.control_problems} problems for each criterion")
    say(f"expected: {EXPECTED_TOKENS} tokens for each answer (a grader that reasons may need many more)")
    if any(part.criterion.then for part in work.parts):
        say(f"statements of answers that nobody has taken apart yet: {EXPECTED_CLAIMS} for each answer")


def write_sheet(work: Work, path: Path, size: int) -> None:
    """Write texts for people to rate.

    Raises:
        DataError: the file is there already.
    """
    from caretbench.files import DataError, write_rows
    from caretbench.runs.judging.ratings import RATINGS_NAME, rated_scores, sheet

    if path.exists():
        raise DataError(f"{path}: is there already; it may hold ratings")
    rows = [
        row
        for part in work.parts
        for row in sheet(work.subjects(part)[0], rated_scores(part.criterion), size)
    ]
    count = write_rows(path, rows)
    say(
        f"{path}: {count} texts. Fill in rater and values, and lay the lines of all raters into "
        f"{work.folder.path / RATINGS_NAME}; the report then shows how far the graders agree with people"
    )
