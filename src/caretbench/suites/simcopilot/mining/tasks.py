"""From the files of a project to tasks: candidates, chosen ones among them, and the problems that are stored."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from caretbench.problem import Caret, Problem, Provenance, TestsCheck
from caretbench.suites.simcopilot.mining.candidates import Candidate, FileMiner, shown, splice_of
from caretbench.suites.simcopilot.mining.labels import constructs, labels_of_candidate
from caretbench.suites.simcopilot.mining.sampling import Cell, Drawable, balanced, overlap_groups
from caretbench.suites.simcopilot.released.paper import Mode
from caretbench.syntax import ProjectAnalysis

MODES: Final[tuple[Mode, ...]] = ("infill", "suffix_hidden")
_REFERENCES: Final = ("local_variable", "global_variable", "function", "class", "library")


@dataclass(frozen=True)
class WantedTasks:
    """How many tasks are wanted, and which.

    At most ``limit`` of each check (None: all) and ``per_file`` of one file; more than ``limit`` where the check's
    tests reach so many lines: ``per_1000`` of each 1,000.
    """

    modes: tuple[Mode, ...] = MODES
    limit: int | None = 240
    per_file: int | None = None
    seed: int = 0
    per_1000: int = 0

    def of_check(self, limit: int | None, reached: int) -> WantedTasks:
        """What is wanted of a check whose tests reach so many lines; ``limit`` is its own, where it has one."""
        if limit is not None or self.limit is None:
            return replace(self, limit=self.limit if limit is None else limit)
        return replace(self, limit=max(self.limit, -(-self.per_1000 * reached // 1000)))


@dataclass(frozen=True)
class Origin:
    """Where tasks come from: what all problems of one check of one project have in common."""

    project: str
    snapshot: str
    provenance: Provenance
    check: TestsCheck
    by_file: Mapping[str, TestsCheck] = field(default_factory=dict)
    """Other checks, by file."""


class FoundTasks(NamedTuple):
    """All candidates of a project by file, and how many blocks each rule refused."""

    candidates: Mapping[str, tuple[Candidate, ...]]
    rejected: Counter[str]


@dataclass
class Miner:
    """Mines the files of one analysis."""

    analysis: ProjectAnalysis
    _digests: dict[str, str] = field(default_factory=dict)

    def find(self, paths: Collection[str]) -> FoundTasks:
        """Return the candidates in these files; ``paths`` may come in any order."""
        rejected: Counter[str] = Counter()
        candidates = {}
        for path in sorted(paths):
            candidates[path], refused = FileMiner(self.analysis[path]).mine()
            rejected += refused
        return FoundTasks(candidates, rejected)

    def reached(
        self, found: FoundTasks, paths: Collection[str], covers: Callable[[str, int, int], bool]
    ) -> FoundTasks:
        """Without the candidates in some files that the tests do not reach.

        ``covers`` says whether the tests run something of the bytes from here to there of a file.
        """
        rejected = Counter(found.rejected)
        kept = dict(found.candidates)
        for path in paths:
            kept[path] = tuple(one for one in found.candidates[path] if covers(path, *one.span))
            rejected["not_reached"] += len(found.candidates[path]) - len(kept[path])
        return FoundTasks(kept, rejected)

    def choose(self, found: FoundTasks, wanted: WantedTasks, paths: Collection[str]) -> list[Candidate]:
        """Return the chosen candidates of some files, in the order of files and places."""
        by_name = {
            self.name(candidate): candidate
            for path in sorted(paths)
            for candidate in found.candidates.get(path, ())
            if candidate.mode in wanted.modes
        }
        drawable = [Drawable(name, one.path, tuple(self._cells(one))) for name, one in by_name.items()]
        names = balanced(drawable, limit=wanted.limit, per_file=wanted.per_file, seed=wanted.seed)
        return sorted((by_name[name] for name in names), key=lambda one: (one.path, one.span, one.mode))

    def name(self, candidate: Candidate) -> str:
        """``PATH#SHA8:START-END:MODE``; the hash is that of the file, start and end count its bytes."""
        digest = self._digests.get(candidate.path)
        if digest is None:
            data = self.analysis[candidate.path].source.data
            digest = self._digests[candidate.path] = hashlib.sha256(data).hexdigest()[:8]
        start, end = candidate.span
        return f"{candidate.path}#{digest}:{start}-{end}:{candidate.mode}"

    def _cells(self, candidate: Candidate) -> Iterator[Cell]:
        held = constructs(self.analysis[candidate.path], candidate.span)
        for name in [name for name in held if name in _REFERENCES] or ["none"]:
            yield candidate.mode, candidate.kind, name

    def problems(self, candidates: Sequence[Candidate], origin: Origin) -> list[Problem]:
        """Return the problems of chosen candidates."""
        groups = overlap_groups([(one.path, *one.span) for one in candidates])
        firsts: dict[int, str] = {}
        for candidate, group in zip(candidates, groups, strict=True):
            firsts.setdefault(group, f"{origin.project}/{candidate.path}:{candidate.span.start}")
        return [
            self._problem(candidate, origin, firsts[group])
            for candidate, group in zip(candidates, groups, strict=True)
        ]

    def _problem(self, candidate: Candidate, origin: Origin, group: str) -> Problem:
        analysis = self.analysis[candidate.path]
        data = analysis.source.data
        start, end = candidate.span
        hidden = candidate.mode == "suffix_hidden"
        return Problem(
            id=f"{origin.project}/{self.name(candidate)}",
            suite="simcopilot",
            shown=Caret(
                language=analysis.source.language,
                prefix=shown(data[:start]),
                suffix="" if hidden else shown(data[end:]),
                path=candidate.path,
            ),
            splice=splice_of(candidate, origin.snapshot, data),
            reference=shown(data[start:end]),
            checks=(origin.by_file.get(candidate.path, origin.check),),
            labels=labels_of_candidate(analysis, candidate, origin.project),
            cluster=origin.project,
            overlap_group=group,
            provenance=origin.provenance,
        )
