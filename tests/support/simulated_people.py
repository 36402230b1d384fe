"""Runs with answers, and people who decide by a rule; their decisions are marked as simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from caretbench.files import write_rows
from caretbench.people.review.database import ReviewDatabase
from caretbench.people.review.protocol import Answer
from caretbench.people.review.records import ReviewEvent, ReviewItem, new_event_id, now
from caretbench.people.review.state import ReviewState
from caretbench.problem import Completion, Problem
from caretbench.runs.run_folder import DataInfo, Manifest, RunFolder
from caretbench.suites import load_problems, load_suite

Rule = Callable[[ReviewItem, str], Mapping[str, Answer]]
"""Answers of a person (by name) to an item."""


def starter_run(
    path: Path, suite: str = "devbench", problems: int = 12, texts: Sequence[str] = ("one\n", "two\n")
) -> RunFolder:
    """A run with two models on starter problems, balanced over cells: the reference, and other texts, some equal."""
    house = load_suite(suite)
    loaded = load_problems(house, "starter")
    chosen = list(loaded.problems)[:: max(1, len(loaded.problems) // problems)][:problems]
    return run_of(path, suite, chosen, texts)


def run_of(path: Path, suite: str, problems: Sequence[Problem], texts: Sequence[str]) -> RunFolder:
    """A run of two models: the first answers with the reference and the texts, the second with the texts."""
    path.mkdir(parents=True)
    folder = RunFolder(path)
    data = DataInfo(name="starter", hash="h", problems=len(problems), selected=len(problems))
    folder.write_manifest(Manifest(suite=suite, policy="raw@2", profile="default", data=data))
    folder.write_problems(problems)
    rows: list[Completion] = []
    for problem in problems:
        for model, answers in (("model-a", (problem.reference, *texts)), ("model-b", texts)):
            rows += [Completion(problem_id=problem.id, model=model, sample=place, text=text)
                     for place, text in enumerate(answers)]  # fmt: skip
    write_rows(folder.completions_path, rows)
    return folder


def decide_all(folder: Path, people: Sequence[str], rule: Rule, *, simulated: bool = True) -> list[ReviewEvent]:
    """Let people decide everything that is open for them, in the order of their queues; return the events."""
    events: list[ReviewEvent] = []
    with ReviewDatabase(folder / "review.sqlite") as database:
        for name in people:
            if name not in {person.name for person in database.people()}:
                database.invite(name, "reviewer")
        state = ReviewState(database)
        for name in people:
            while (entry := next(state.queue(name), None)) is not None:
                item = database.item(entry.item)
                assert item is not None
                moment = now()
                event = ReviewEvent(
                    id=new_event_id(), kind="decision", person=name, item=entry.item, repeat=entry.repeat,
                    protocol=state.protocol.key, made_at=moment, received_at=moment, answers=rule(item, name),
                    active_s=3.0, simulated=simulated,
                )  # fmt: skip
                state.add(event)
                events.append(event)
    return events


def all_items(folder: Path) -> Iterator[ReviewItem]:
    with ReviewDatabase(folder / "review.sqlite") as database:
        yield from [item for _, _, item in database.items()]
