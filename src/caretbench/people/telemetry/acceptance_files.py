"""Files of scores of events, and the comparison of the scores with what users did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.errors import DataError
from caretbench.files import read_rows, write_atomically
from caretbench.people.telemetry.analysis.event_table import scenario_of
from caretbench.people.telemetry.analysis.judge_acceptance import (
    AcceptanceStudy,
    EventScore,
    acceptance_study,
    scored_event,
)
from caretbench.people.telemetry.event_reader import EventReader
from caretbench.people.telemetry.event_rules import counted_outcome
from caretbench.people.telemetry.features.event_features import extracted_event
from caretbench.progress import Progress

ACCEPTANCE_NAME: Final = "acceptance.json"
"""Name of the results in the folder of an analysis."""


class StudiedEvents(NamedTuple):
    """Result of a comparison of scores with what users did, and the path of the written file."""

    reader: EventReader
    study: AcceptanceStudy
    path: Path


def read_scores(path: Path) -> list[EventScore]:
    """Return the scores of a file.

    Raises:
        DataError: a line is no score, an event has two scores by one criterion, or the file has none.
    """
    found = list(read_rows(path, EventScore))
    if not found:
        raise DataError(f"{path}: no scores; the file is empty")
    (event, criterion), times = Counter((one.event, one.name) for one in found).most_common(1)[0]
    if times > 1:
        raise DataError(f"{path}: {times} scores of event {event!r} by {criterion}; keep one of them")
    return found


def study_acceptance(
    path: Path,
    scores: Sequence[EventScore],
    folder: Path,
    *,
    seed: int = 0,
    now: datetime | None = None,
    progress: Progress | None = None,
) -> StudiedEvents:
    """Compare scores with what users did, and write the results into a folder.

    Raises:
        DataError: the file of events cannot be used, or has no scored event whose outcome says something.
    """
    reader, found = EventReader(path, now=now), []
    scored = {one.event for one in scores}
    for event in reader:
        if event.id not in scored:
            continue
        one = event if event.features is not None else extracted_event(event)
        if one.features is None:
            continue
        parts = {"scenario": scenario_of(one, one.features), "block": one.features.block, "language": one.language}
        facts = scored_event(one, counted_outcome(one), parts)
        if facts is not None:
            found.append(facts)
        if progress is not None:
            progress("scored events", 1, None)
    if not found:
        raise DataError(
            f"{path}: none of the {len(scored)} scored events is here with an outcome that says something about the "
            "text (kept, edited, rejected); give the file that the scores are about"
        )
    study = acceptance_study(found, scores, seed=seed)
    target = folder / ACCEPTANCE_NAME
    write_atomically(target, study.model_dump_json(indent=2) + "\n")
    return StudiedEvents(reader, study, target)
