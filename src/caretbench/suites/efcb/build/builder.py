"""Builder of EFCB: questions about merged changes."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import JsonValue

from caretbench.build import register_builder
from caretbench.build.build_models import BuildJob
from caretbench.build.builder import Builder
from caretbench.build.sources.git.history import parse_period
from caretbench.build.sources.git_mining import MiningPeriod, MiningProgress, mine_git, newest_changes
from caretbench.build.sources.github.github_mining import mine_github
from caretbench.build.sources.pull_request import PullRequest, read_pull_requests
from caretbench.build.sources.repository import UNKNOWN_ORGANIZATION, RepositoryFacts, SourceFilesByRepository
from caretbench.build.validation.resumable_gate import ResumableGate
from caretbench.errors import DataError, UsageError
from caretbench.execution.dispatcher import Dispatcher
from caretbench.grouping import grouped
from caretbench.options import Option, StringList
from caretbench.problem import ChoiceCheck, Problem, Profile, Question
from caretbench.profiles import profile_named
from caretbench.progress import Progress
from caretbench.suites.efcb.build.build_folder import EfcbFolder
from caretbench.suites.efcb.build.build_report import build_result, leak_tables, missing_description_notes
from caretbench.suites.efcb.build.changes import EfcbOptions
from caretbench.suites.efcb.build.choices.gmcq_hard import CHECKER_ROLE, WRITER_ROLE, TextSource
from caretbench.suites.efcb.build.problem_building import build_problems, leak_report, shape_leaks
from caretbench.suites.efcb.choices import CHOICE_SET_LABEL, LETTERS
from caretbench.suites.efcb.lexical_similarity import MIN_QUESTIONS
from caretbench.suites.efcb.problem_metadata import FOUR_TEXTS_TIER, SUITE_NAME, TASKS
from caretbench.suites.efcb.tables.result_tables import data_tables
from caretbench.suites.suite_types import BuildResult, Table
from caretbench.suites.validity import Validity, Verdict
from caretbench.versions import versions

Measure = Callable[[Problem, str | None], Mapping[str, float]]
# The shown patch without its masks reaches .897 of the whole patch under `paper`: those questions stay, for comparison,
# and what is copied nearly in full goes.
_FLOOR: Final = 0.9
_BEST: Final = ("edit_similarity", "chrf")
_MADE_UP: Final = "names_unsupported"
# A name that no repository has, in a form that a reader takes for a function.
_NOWHERE: Final = "unheardOfHelper93"


@dataclass
class QuestionGate(ResumableGate):
    """The gate of the suite; ``measure`` returns the values of an answer by name."""

    measure: Measure
    progress: Callable[[int], None] = field(default=lambda _count: None)

    def decide(self, problems: Sequence[Problem], all_problems: Sequence[Problem] = ()) -> Iterator[Validity]:
        """Yield the gate's verdict on each problem, in order."""
        first: dict[tuple[str, ...], str] = {}
        for problem in all_problems or problems:
            # The first of equal questions stays, in the order of all problems, so that a gate of a part decides as one
            # of the whole.
            first.setdefault(_shown(problem), problem.id)
        sizes = Counter(map(_tier, all_problems or problems))
        shortcuts = _shortcuts(all_problems or problems) if problems else {}
        # Whoever ignores the texts is right in one of four only where all four are asked.
        broken_sets = grouped(
            (_set(problem), problem.id)
            for problem in all_problems or problems
            if _set(problem) and (first[_shown(problem)] != problem.id or any(self._faults(problem)))
        )
        for problem in problems:
            twin = first[_shown(problem)]
            known = [f"near_duplicate: {twin}"] if twin != problem.id else []
            known += shortcuts.get(_tier(problem)[:3], [])
            if broken := next((name for name in broken_sets.get(_set(problem), ()) if name != problem.id), None):
                known.append(f"incomplete_set: {broken} of its set of four is invalid")
            yield self._verdict(problem, known, sizes[_tier(problem)])

    def _verdict(self, problem: Problem, known: Sequence[str], size: int) -> Validity:
        reasons = [*known, *self._faults(problem)]
        doubts = [] if reasons else [*_doubts(problem, size)]
        verdict: Verdict = "invalid" if reasons else "unverified" if doubts else "valid"
        return Validity(problem_id=problem.id, verdict=verdict, reasons=(*reasons, *doubts))

    def _faults(self, problem: Problem) -> Iterator[str]:
        check = next((check for check in problem.checks if isinstance(check, ChoiceCheck)), None)
        shown = problem.shown
        if not isinstance(shown, Question):
            yield "no_question: it is a place in a program"
        elif check is not None:
            if len(set(shown.choices)) < len(shown.choices):
                yield "choices_repeat: two choices are the same text"
            if not self._right(problem, problem.reference):
                yield f"reference_fails: {problem.reference!r} is not taken for the right choice"
            if self._right(problem, ""):
                yield "answerable_without_answer: the empty answer is right"
            # The release has questions in which two choices are the same text: 33 % of its GMCQ-Hard.
            wrong = [letter for letter in LETTERS[: len(shown.choices)] if letter != problem.reference]
            if any(self._right(problem, letter) for letter in wrong):
                yield "wrong_passes: another letter is right, too"
        else:
            yield from self._measured(problem)

    def _right(self, problem: Problem, text: str) -> bool:
        return self.measure(problem, text).get("passed") == 1.0

    def _measured(self, problem: Problem) -> Iterator[str]:
        reference, empty = self.measure(problem, problem.reference), self.measure(problem, "")
        if _MADE_UP in reference:
            false = self.measure(problem, f"{problem.reference}\n\nIt calls `{_NOWHERE}()`.")
            if reference[_MADE_UP] > 0.0:
                yield "reference_fails: the reference names what stands neither in the patch nor in its text"
            if false[_MADE_UP] < 1.0:
                yield "not_measured: a name that stands nowhere is not found"
            return
        name = next((name for name in _BEST if name in reference), None)
        if name is None:
            yield "not_measured: no measure tells answers apart"
            return
        if reference[name] < 1.0:
            yield f"reference_fails: {name} of the reference is {reference[name]:.3f}"
        if empty[name] > 0.0:
            yield f"answerable_without_answer: {name} of the empty answer is {empty[name]:.3f}"
        if reference.get("floor", 0.0) >= _FLOOR:
            yield f"copying_answers: copying reaches {reference['floor']:.3f}"


def _set(problem: Problem) -> str:
    """Return the set of four texts of a question; empty for others."""
    return str(problem.labels[CHOICE_SET_LABEL]) if problem.labels.get("tier") == FOUR_TEXTS_TIER else ""


def _tier(problem: Problem) -> tuple[str, ...]:
    """Return the labels of questions that are tested together: task, tier, query variant and order of choices."""
    return tuple(str(problem.labels.get(name, "")) for name in ("task", "tier", "query", "rotation"))


def _shortcuts(problems: Sequence[Problem]) -> dict[tuple[str, ...], list[str]]:
    """Return the reasons against tiers whose questions position, length or consensus answer above chance."""
    reasons: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for leak in shape_leaks(problems):
        if leak.exceeds_limit and not leak.has_too_few_questions:
            reasons[leak.task, leak.tier, leak.query].append(
                f"shortcut: {leak.attack} is right in {leak.accuracy:.1%} of {leak.task}, chance is {leak.chance:.0%}"
            )
    return reasons


def _doubts(problem: Problem, size: int) -> Iterator[str]:
    # No attack can be tested, so nothing is known against the question, and nothing for it. In sets of four texts
    # whoever ignores the text is right in one of four, however few there are.
    if not _set(problem) and size < MIN_QUESTIONS and any(isinstance(check, ChoiceCheck) for check in problem.checks):
        tier = " ".join(part for part in _tier(problem)[:2] if part)
        yield f"too_small_to_test: {tier} has {size} questions; attacks are tested with {MIN_QUESTIONS}"


def _shown(problem: Problem) -> tuple[str, ...]:
    shown = problem.shown
    if not isinstance(shown, Question):
        return (problem.id,)
    files = (text for file in shown.context for text in (file.path, file.text))
    return (str(problem.labels.get("task", "")), shown.text, *shown.choices, *files)


_CHANGES, _QUESTIONS = "Changes", "Questions"

OPTIONS: Final = (
    Option("profile", str, "Construction rules: default (against known shortcuts) or paper (as published).", "build",
           default="default", help_group=_QUESTIONS),
    Option("since", str, "First day of the merged changes. Default: no limit.", "build", metavar="DATE",
           help_group=_CHANGES),
    Option("until", str, "Day after the last merged changes. Default: no limit.", "build", metavar="DATE",
           help_group=_CHANGES),
    Option("max_changes", int, "Maximum number of changes of each repository, newest first. Default: no limit.",
           "build", minimum=1, metavar="N", help_group=_CHANGES),
    Option("max_requests", int, "Maximum number of requests to GitHub. Default: no limit.", "build", minimum=1,
           help_group=_CHANGES),
    Option("task", StringList, "Task to build; may be repeated. Default: all five.", "build", help_group=_QUESTIONS),
    Option("rotations", int, "Number of orders of the choices in which each question is asked; the score is their "
           "mean.", "build", default=1, minimum=1, maximum=4, help_group=_QUESTIONS),
    Option("seed", int, "Random seed.", "build", default=0, help_group=_QUESTIONS),
    Option("texts", Path, "Texts that people wrote for the choices of GMCQ-Hard: a JSONL file of problem, choice, text "
           "and picked.", "build", metavar="FILE", help_group=_QUESTIONS),
)  # fmt: skip
"""Options of ``caretbench build efcb``."""

# GitHub's own limits for names of owners and repositories; what is longer is a mistyped path.
_GITHUB_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")


def _source_kind(source: str) -> Literal["clone", "hosted", "records"]:
    """Return the kind of a source: a folder is a clone, a file contains changes, OWNER/NAME is at GitHub.

    Raises:
        DataError: it is none of these.
    """
    if Path(source).is_dir():
        return "clone"
    if Path(source).is_file():
        return "records"
    # `data/changes.jsonl` has the form of OWNER/NAME. Where no such file exists, it is a mistyped path, not a
    # repository.
    if _GITHUB_NAME.fullmatch(source) and not source.endswith((".jsonl", ".gz")):
        return "hosted"
    raise DataError(
        f"{source}: no such file or folder; a source is a clone, OWNER/NAME at GitHub, or a file of mined changes "
        "(JSONL, .gz)"
    )


@dataclass
class MiningSession:
    """Mining of repositories into a folder, with their facts and the number of skipped commits."""

    folder: EfcbFolder
    period: MiningPeriod
    progress: Progress
    max_requests: int | None = None
    repositories: list[RepositoryFacts] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    clones: dict[str, Path] = field(default_factory=dict)
    """Folders of clones by repository name."""

    def mine(self, clones: Sequence[str], hosted: Sequence[str]) -> None:
        """Append missing changes of all repositories; with several, unreadable ones are skipped with a note.

        Raises:
            DataError: the only repository cannot be read.
        """
        for read, source in [*((self._clone, path) for path in clones), *((self._hosted, name) for name in hosted)]:
            try:
                read(source)
            except DataError as error:
                # One unreadable clone of ten must not cost the work on the others; where it is the only one, nothing is
                # left to build from.
                if len(clones) + len(hosted) == 1:
                    raise
                self.progress.note(f"skipped: {error}")

    def pulls(self, records: Sequence[str]) -> list[PullRequest]:
        """Return the folder's changes and those of record files within the period, newest first."""
        paths = [path for path in (self.folder.pull_requests_path,) if path.exists()]
        period = self.period
        return newest_changes(read_pull_requests([*paths, *map(Path, records)]), period)

    def _clone(self, source: str) -> None:
        path, period, last = Path(source), self.period, 0

        def report(state: MiningProgress) -> None:
            nonlocal last
            # With a limit mining ends before the last commit, and a bar that counts all of them would stop in the
            # middle.
            wanted = state.total if period.limit is None else min(state.total, max(period.limit, state.processed))
            self.progress(f"commits of {path.name}", state.processed - last, wanted)
            last = state.processed

        mined = mine_git(path, self.folder.pull_requests_path, period, progress=report)
        name, note = mined.repository.repo, self.progress.note
        for reason, count in mined.skipped_by_reason.items():
            note(f"{name}: {count} commits without a change: {reason.replace('_', ' ')}")
        # Draws depend on the repository's name: without its owner the same clone gives other questions than one with a
        # remote.
        if mined.repository.organization == UNKNOWN_ORGANIZATION:
            note(
                f"{path}: no remote, and the folder's name has no owner: the organisation of {name} is unknown. To "
                f"set it: git -C {path} remote add origin URL, or rename the folder to owner+name"
            )
        if mined.repository.shallow:
            note(f"{name}: the clone is shallow: older commits are missing")
        self.skipped.update(mined.skipped_by_reason)
        self.repositories.append(mined.repository)
        self.clones[name] = path

    def _hosted(self, name: str) -> None:
        self.repositories.append(
            mine_github(
                name, self.folder.pull_requests_path, self.period,
                max_requests=self.max_requests, progress=self.progress, notify=self.progress.note,
            )
        )  # fmt: skip


def build_questions(job: BuildJob) -> BuildResult:
    """Mine merged changes and build problems from them; an interrupted build continues.

    Raises:
        ValueError: an option is wrong, or no change is found.
        DataError: a source cannot be read, or the folder has a build with other options.
    """
    started = time.monotonic()
    sources, output, options, progress, models = job
    tasks = _select_tasks(options["task"])
    if not sources:
        raise UsageError("no source: give a clone, OWNER/NAME at GitHub, or a file of mined changes")
    by_kind = grouped((_source_kind(source), source) for source in sources)
    period = MiningPeriod(options["since"], options["until"], options["max_changes"])
    parse_period(period.since, period.until)  # before problems of an earlier build are removed
    wanted = EfcbOptions(
        seed=options["seed"], profile=profile_named(options["profile"]), rotations=options["rotations"]
    )
    texts = TextSource.of(options["texts"], models)
    if texts and not wanted.rules.balanced_choices:
        raise UsageError("--profile paper asks by the change's own text; leave writer, checker and --texts out")
    chosen: dict[str, JsonValue] = {
        "texts": texts and texts.record(), "tasks": list(tasks), "rotations": wanted.rotations,
        "since": period.since, "until": period.until, "limit": period.limit,
    }  # fmt: skip
    folder = EfcbFolder(output)
    earlier = folder.earlier_build(wanted.profile, wanted.seed, chosen)
    mining = MiningSession(folder, period, progress, options["max_requests"])
    mining.mine(by_kind.get("clone", ()), by_kind.get("hosted", ()))
    pulls = mining.pulls(by_kind.get("records", ()))
    if not pulls:
        raise UsageError(f"{output}: no merged change was found; look at --since, --until and the branch")
    same = earlier is None or earlier.changes == Counter(pull.repo for pull in pulls)
    if earlier is not None and not (same and versions().items() <= earlier.versions.items()):
        count = sum(earlier.problems.values())
        progress.note(f"{output}: {count} problems are replaced: other changes, or another version")
    with SourceFilesByRepository(mining.clones) as trees:
        built = build_problems(pulls, wanted, tasks, progress, readers=trees.file_reader, texts=texts)
    manifest = built.make_manifest(pulls, mining.repositories, chosen, mining.skipped)
    folder.write_build(manifest, built.problems, built.rejected, built.leaks, usable=built.usable)
    notes = [*missing_description_notes(built, pulls, mining.repositories)]
    return build_result(manifest, built, output, time.monotonic() - started, notes)


def _select_tasks(names: Sequence[str] | None) -> tuple[str, ...]:
    unknown = next((name for name in names or () if name not in TASKS), None)
    if unknown is not None:
        raise UsageError(f"--task {unknown!r}: expected {', '.join(TASKS)}")
    return tuple(name for name in TASKS if not names or name in names)


@register_builder
class EfcbBuilder(Builder):
    """Builder of EFCB; see :class:`caretbench.build.builder.Builder`."""

    name = SUITE_NAME
    about = "merged changes: a clone, OWNER/NAME at GitHub, or a file of changes mined before"
    options = OPTIONS
    roles: ClassVar[Mapping[str, str]] = {
        WRITER_ROLE: "writes a text for each of four versions of a patch (optional)",
        CHECKER_ROLE: "picks the version from the text",
    }

    def build(self, job: BuildJob) -> BuildResult:
        """Build questions about merged changes.

        No program is run; only sources at GitHub need the network. The build fails (status 1) if position, length
        or similarity reveal the right answers. With -m writer= and -m checker= (or --texts) each of four versions of a
        patch has a text of its own. Run the same command again to resume.

        Examples:
          caretbench build efcb ~/code/project owner/name -o tasks
          caretbench build efcb ~/code/project --since 2026-01-01 --max-changes 100 -o tasks
        """
        return build_questions(job)

    def statistics(self, problem: Problem, profile: Profile) -> Mapping[str, float]:
        """Return lines and characters of the patch, and characters of everything shown."""
        del profile
        shown = problem.shown
        names = ("patch_lines", "patch_characters")
        numbers = {name: value for name in names if isinstance(value := problem.labels.get(name), float)}
        if isinstance(shown, Question):
            texts = (shown.text, *shown.choices, *(file.text for file in shown.context))
            return {**numbers, "shown_characters": float(sum(map(len, texts)))}
        return {**numbers, "shown_characters": 0.0}

    def data_tables(self, source: str) -> tuple[Table, ...]:
        """Return repositories and questions, as the paper's Tables 2 and 3, and the leak report."""
        loaded = self.suite.load(source)
        folder = None if source == "starter" else EfcbFolder(Path(source))
        leaks = (folder.read_leaks() if folder else []) or leak_report(loaded.problems)
        return (*data_tables(loaded.problems), *leak_tables(leaks))

    def gate(self, executor: Callable[[], Dispatcher], progress: Callable[[int], None]) -> QuestionGate:
        """Return the gate for questions."""
        del executor

        def measured(problem: Problem, text: str | None) -> Mapping[str, float]:
            return {
                name: value
                for entry in self.suite.measure(problem, text, "default")
                for name, value in entry.values.items()
            }

        return QuestionGate(measured, progress)
