"""Run of an editor's completions, which judges rate as those of models; and the judges' scores of events."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from caretbench.errors import DataError, UsageError
from caretbench.files import sha256_text, write_rows
from caretbench.judging.aggregation import TextScores, scores_by_grader
from caretbench.judging.criteria import criterion
from caretbench.people.telemetry.event_features import outcome_of_texts, secret_texts
from caretbench.people.telemetry.events import CompletionEvent, EventReader, EventTexts
from caretbench.people.telemetry.judge_acceptance import ACCEPTANCE, EventScore
from caretbench.problem import Caret, Completion, CriterionCheck, InlineSplice, Problem, Provenance
from caretbench.runs.run_folder import DataInfo, Manifest, ModelInfo, RunFolder

EVENT_TEXTS: Final = 10_000
"""Default maximum number of completions: that of DevBench's study (paper section 3.3)."""
EDITOR: Final = "editor"
"""Name of the model of completions without one."""
_CRITERION: Final = "devbench-quality"


class EventRun(NamedTuple):
    """Run that was written, the number of its completions, and of those that could have been in it."""

    folder: RunFolder
    completions: int
    suited: int


def write_event_run(events: Path, folder: Path, *, texts: int = EVENT_TEXTS, seed: int = 0) -> EventRun:
    """Write a run of a random sample of the completions of events whose outcome says something about the text.

    Events with something in the shape of a secret are excluded.

    Raises:
        DataError: the folder is not empty, or no event with texts is suited.
    """
    # Completions of users must not be mixed into a run of models, which is then published.
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"{folder}: not empty; choose another folder for the run")
    chosen: list[tuple[int, int, CompletionEvent, EventTexts]] = []
    suited = 0
    for number, event in enumerate(EventReader(events)):
        found = event.texts
        # A judge may be a remote model: no text in the shape of a secret is sent to it.
        if found is None or outcome_of_texts(event, found) not in ACCEPTANCE or secret_texts(found):
            continue
        suited += 1
        # The hash is the order of a sample without replacement: the same events whatever the order of the file, and
        # memory for `texts` of them only.
        entry = (-int(sha256_text(str(seed), event.id)[:15], 16), number, event, found)
        if len(chosen) < texts:
            heapq.heappush(chosen, entry)
        elif entry > chosen[0]:
            heapq.heapreplace(chosen, entry)
    if not chosen:
        raise DataError(f"{events}: no event with texts that a user kept, edited or rejected; judges rate texts")
    rows = [(event, found) for _, _, event, found in sorted(chosen, key=lambda entry: entry[1])]
    return EventRun(_written(folder, rows, seed), len(rows), suited)


def _written(path: Path, rows: list[tuple[CompletionEvent, EventTexts]], seed: int) -> RunFolder:
    path.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(path)
    problems = [_problem(event, texts) for event, texts in rows]
    digest = sha256_text(*(problem.model_dump_json() for problem in problems))
    data = DataInfo(name="events", hash=digest, problems=len(problems), selected=len(problems))
    models = [ModelInfo(model=name, source="recorded") for name in sorted({event.model or EDITOR for event, _ in rows})]
    folder.write_manifest(
        Manifest(
            suite="devbench", data=data, models=models, policy="raw@2", profile="default", executed=False, seed=seed
        )
    )
    folder.write_problems(problems)
    write_rows(
        folder.completions_path,
        (
            Completion(problem_id=event.id, model=event.model or EDITOR, sample=0, text=texts.completion)
            for event, texts in rows
        ),
    )
    return folder


def _problem(event: CompletionEvent, texts: EventTexts) -> Problem:
    later = texts.after_5min if texts.after_5min is not None else texts.after_30s
    return Problem(
        id=event.id,
        suite="devbench",
        shown=Caret(language=event.language, prefix=texts.prefix, suffix=texts.suffix),
        splice=InlineSplice(before=texts.prefix, after=texts.suffix),
        reference=later if later is not None else texts.completion if event.was_accepted else "",
        checks=(CriterionCheck(name=_CRITERION),),
        labels={"language": event.language},
        cluster=event.user,
        provenance=Provenance(source="events of an editor"),
    )


def event_scores(folder: RunFolder) -> Iterator[EventScore]:
    """Yield the scores of events that judges of a run gave, by criterion and judge.

    Raises:
        DataError: no judge has judged the run.
    """
    keys = dict.fromkeys(row.criterion for row in folder.judgements() if row.values)
    if not keys:
        raise DataError(f"{folder.path}: no judge has judged it yet; judge it: caretbench judge {folder.path} -m SPEC")
    for key in keys:
        value = _value_of(key)
        for (judge, _), texts in scores_by_grader(folder.judgements(), key).items():
            for (event, _), scores in texts.items():
                yield EventScore(event=event, criterion=key, score=value(scores), judge=judge)


def _value_of(key: str) -> Callable[[TextScores], float]:
    """Return the score of a text by a criterion; by one of the user's own, whose file is not known, the sum."""
    try:
        found = criterion(key)
    except UsageError:
        return lambda scores: scores.total
    return lambda scores: found.value(scores.means)
