"""Recorded completions and baselines, scored as a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Protocol

from caretbench.errors import UsageError, check_folder_is_writable
from caretbench.execution.dispatcher import open_executor
from caretbench.problem import Completion, Problem
from caretbench.progress import Progress
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.plans.suite_settings import ResolvedSuite
from caretbench.runs.run_folder import ModelInfo, RunFolder
from caretbench.runs.session import RunSession
from caretbench.suites import baselines_of_run
from caretbench.suites.baselines import baseline_completions
from caretbench.suites.completion_files import ROW_FORM
from caretbench.suites.suite_types import ProblemSet
from caretbench.text_tables import counted

_SHOWN_IDS = 3

PassedOver = Callable[[str], None]


class CompletionLog(Protocol):
    """Log of another evaluation tool that contains completions."""

    @property
    def models(self) -> Mapping[tuple[str, str], ModelInfo]:
        """Models by name and parameters; filled while completions are read."""

    @property
    def unanswered(self) -> Mapping[str, int]:
        """Samples without an answer, by kind; filled while completions are read."""

    def completions(self, problems: Mapping[str, Problem], passed_over: PassedOver) -> Iterator[Completion]:
        """Yield the completions of these problems; ``passed_over`` is called with the id of every other row."""


LogReader = Callable[[Path, str, str], CompletionLog | None]
"""The log at a path, about a suite and a data hash; None: it is no log."""


Answers = Mapping[str, str | Sequence[str | None] | None]
"""Answers by problem id: a text, or one for each sample; None is a missing answer."""


@dataclass(frozen=True)
class AnswersInMemory:
    """Log of answers that a caller holds, by one model."""

    model: str
    answers: Answers
    models: Mapping[tuple[str, str], ModelInfo] = field(default_factory=dict)
    unanswered: Mapping[str, int] = field(default_factory=dict)

    def check(self, data: ProblemSet, baselines: Collection[str]) -> None:
        """Check the ids and the model's name.

        Raises:
            UsageError: the data do not have such a problem, or a baseline has the name.
        """
        if self.model in baselines:
            raise UsageError(f"{self.model!r} is the name of a baseline; give the answers another: name='mine'")
        ids = {problem.id for problem in data.problems}
        unknown = [identity for identity in self.answers if identity not in ids]
        if unknown:
            near = get_close_matches(unknown[0], ids, n=3) or sorted(ids)
            raise UsageError(
                f"answers: {data.name} has no problem {unknown[0]!r} ({len(unknown)} such ids); ids like it: "
                f"{_first_ids(near)}; correct the id, or name other data: suites=[{{'name': …, 'data': …}}]"
            )

    def completions(self, problems: Mapping[str, Problem], passed_over: PassedOver) -> Iterator[Completion]:
        """Yield the answers to these problems, samples in order."""
        for identity, answer in self.answers.items():
            if identity not in problems:
                passed_over(identity)
                continue
            for sample, text in enumerate([answer] if answer is None or isinstance(answer, str) else answer):
                yield Completion(problem_id=identity, model=self.model, parameters="recorded", sample=sample, text=text)


def score_recorded(
    plan: ResolvedRun,
    paths: Sequence[Path],
    models: Sequence[str] = (),
    progress: Progress | None = None,
    read_log: LogReader = lambda _path, _suite, _hash: None,
    in_memory: AnswersInMemory | None = None,
) -> RunFolder:
    """Score recorded completions and baselines of a plan's single suite, as :func:`caretbench.api.score` does.

    Everything is read and checked before anything is written. ``read_log`` reads logs of other harnesses; ``in_memory``
    are answers that no file has.

    Raises:
        UsageError: nothing is chosen, or names clash.
        DataError: a file is malformed, or another answer under the same key is there already.
    """
    progress = progress or Progress()
    [resolved] = plan.suites
    config = plan.config
    if in_memory is not None:
        in_memory.check(resolved.data, baselines_of_run(resolved.suite.name))
    check_folder_is_writable(resolved.folder.path)
    executor = None
    if resolved.execute:
        executor = open_executor(config.workers, use_cache=config.cache, engine=config.engine)
    with RunSession(resolved, executor, progress) as session:
        logs = {path: read_log(path, resolved.suite.name, resolved.data.hash) for path in paths}
        if in_memory is not None:
            logs[Path("answers in memory")] = in_memory  # its name in messages
        recorded = _Recorded(resolved, plan.baselines, logs, models)
        # Read and checked as a whole first: a fault in the last file must not leave half of the rows.
        new = session.scoring.new_completions(recorded.rows())
        recorded.check(progress.note)
        session.begin(recorded.seen.values())
        session.scoring.append_completions(new)
        del new  # 30 MB of nine models
        session.score()
    return resolved.folder


@dataclass
class _Recorded:
    """Completions of baselines and of files, with facts collected while they are read."""

    resolved: ResolvedSuite
    baselines: Sequence[str]
    logs: Mapping[Path, CompletionLog | None]
    models: Sequence[str]
    seen: dict[tuple[str, str], ModelInfo] = field(default_factory=dict)
    passed_over: dict[Path, list[str]] = field(default_factory=dict)
    without_text: Counter[Path] = field(default_factory=Counter)
    of_other_blocks: Counter[Path] = field(default_factory=Counter)

    def rows(self) -> Iterator[Completion]:
        """Yield the selected completions."""
        problems = {problem.id: problem for problem in self.resolved.problems}
        writers = self.resolved.suite.baselines
        for name in self.baselines:
            for completion in baseline_completions(name, self.resolved.problems, writers):
                self.seen.setdefault((name, "none"), ModelInfo(model=name, source="baseline"))
                yield completion
        for path, log in self.logs.items():
            ids: list[str] = []
            self.passed_over[path] = ids
            if log is not None:
                answers = log.completions(problems, ids.append)
                rows: Iterator[Completion] = (row for row in answers if not self.models or row.model in self.models)
                described: Mapping[tuple[str, str], ModelInfo] = log.models
            else:
                rows = self._of_file(path, problems, ids.append)
                described = _described(path)
            for completion in rows:
                self.without_text[path] += completion.text is None
                key = (completion.model, completion.parameters)
                info = described.get(key) or ModelInfo(model=key[0], source="recorded", parameters=key[1])
                self.seen.setdefault(key, info)
                yield completion

    def _of_file(self, path: Path, problems: Mapping[str, Problem], passed_over: PassedOver) -> Iterator[Completion]:
        names = baselines_of_run(self.resolved.suite.name)
        for completion in self.resolved.suite.recorded_completions(path, problems, self.models, passed_over):
            if completion.block_hash not in (None, problems[completion.problem_id].block_hash):
                self.of_other_blocks[path] += 1
                continue
            if completion.model in names and completion.parameters == "none":
                continue  # another run's completions, to be scored anew: baselines are written anew too
            if completion.model in names:
                raise UsageError(
                    f"{path}: {completion.model!r} is the name of a baseline; give the model another name, by the "
                    'field "model" or by the file\'s name'
                )
            yield completion

    def check(self, note: Callable[[str], None]) -> None:
        """Raise if no completion was selected; report rows of unknown problems and samples without an answer.

        Raises:
            UsageError: nothing is chosen.
        """
        if self.models and not self.logs:
            raise UsageError("--model chooses among recorded completions: say where they are with --completions")
        recorded = {info.model for info in self.seen.values() if info.source != "baseline"}
        named = ", ".join(map(str, self.logs))
        self._check_blocks(named, recorded)
        seen = list(dict.fromkeys(chain.from_iterable(self.passed_over.values())))
        if self.logs and not recorded and not seen and not self.models:
            raise UsageError(f"{named}: no completions in it; each line is a completion: {ROW_FORM}")
        if self.logs and not recorded and seen:
            raise UsageError(
                f"{named}: no completion belongs to the chosen problems; ids here: {_first_ids(seen)}; ids of the "
                f"chosen problems of {self.resolved.data.name}: "
                f"{_first_ids([problem.id for problem in self.resolved.problems])}; {self._remedy(seen)}"
            )
        # A misspelt --model would else score baselines alone, and look like success.
        absent = [name for name in self.models if name not in recorded]
        if absent:
            raise UsageError(
                f"{named}: no completions of {', '.join(absent)}; models here: {', '.join(sorted(recorded)) or 'none'}"
            )
        self._note_passed_over(note)

    def _check_blocks(self, named: str, recorded: Collection[str]) -> None:
        """Raise if all rows are about blocks that are others now."""
        if not recorded and (count := self.of_other_blocks.total()):
            raise UsageError(
                f"{named}: {counted(count, 'row')}, about blocks of {self.resolved.data.name} that changed since; "
                "ask the model again"
            )

    def _note_passed_over(self, note: Callable[[str], None]) -> None:
        ids = {problem.id for problem in self.resolved.data.problems}
        for path, identities in self.passed_over.items():
            # A row about a problem that the data do not have is a slip; one that was not selected is none.
            unknown = [identity for identity in identities if identity not in ids]
            if unknown:
                data = self.resolved.data.name
                first = "" if len(unknown) == 1 else ", for example"
                note(f"{path}: ignored {counted(len(unknown), 'row')}: no problem {unknown[0]!r} in {data}{first}")
        for path, count in self.of_other_blocks.items():
            note(f"{path}: ignored {counted(count, 'row')} about blocks that changed since")
        for path, count in self.without_text.items():
            if count:
                note(f"{path}: {counted(count, 'row')} with null as text: the model gave no answer")
        for path, log in self.logs.items():
            if log is not None and log.unanswered:
                counts = ", ".join(f"{count} {kind}" for kind, count in log.unanswered.items())
                note(f"{path}: samples without an answer: {counts}")

    def _remedy(self, seen: Sequence[str]) -> str:
        ids = {problem.id for problem in self.resolved.data.problems}
        if ids.isdisjoint(seen):
            return "name the data that they belong to with --data, or correct the field problem_id"
        return "choose these problems, too, with --select and --limit"


def _first_ids(identities: Sequence[str]) -> str:
    """Return the first ids and their number: ``'a', 'b', 'c' and 47 more``."""
    shown = ", ".join(map(repr, identities[:_SHOWN_IDS])) or "none"
    return f"{shown} and {len(identities) - _SHOWN_IDS} more" if len(identities) > _SHOWN_IDS else shown


def _described(path: Path) -> dict[tuple[str, str], ModelInfo]:
    """Return the manifest entries of the models of the run that a completions file belongs to."""
    folder = RunFolder(path.parent)
    if path.name != folder.completions_path.name or not folder.manifest_path.exists():
        return {}
    return {(info.model, info.parameters): info for info in folder.manifest().models}
