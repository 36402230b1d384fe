"""Miner of a project: candidates of its files, a sample of them, and the problems made of the sample."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from caretbench.build.project_tasks.block_miner import TaskOrigin
from caretbench.build.project_tasks.sampling import Cell, SampledCandidate, balanced_sample
from caretbench.problem import Caret, Problem
from caretbench.projects.file_spans import overlap_groups, span_splice, visible_text
from caretbench.suites.simcopilot.build.mining.candidates import Candidate, FileMiner
from caretbench.suites.simcopilot.build.mining.labels import candidate_labels, paper_constructs
from caretbench.suites.simcopilot.released.paper_rules import Mode
from caretbench.syntax import ProjectAnalysis

MODES: Final[tuple[Mode, ...]] = ("infill", "suffix_hidden")
_REFERENCES: Final = ("local_variable", "global_variable", "function", "class", "library")


@dataclass(frozen=True)
class TaskSampling:
    """Settings of the sample of candidates.

    ``limit`` is the maximum number for each check (None: all), or ``per_1000_lines`` for each 1,000 lines that its
    tests reach, whichever is more; ``per_file`` the maximum number for each file.
    """

    modes: tuple[Mode, ...] = MODES
    limit: int | None = 240
    per_file: int | None = None
    seed: int = 0
    per_1000_lines: int = 0

    def for_check(self, limit: int | None, reached_lines: int) -> TaskSampling:
        """Return the settings for a check whose tests reach ``reached_lines`` lines; ``limit`` is the check's own."""
        if limit is not None or self.limit is None:
            return replace(self, limit=self.limit if limit is None else limit)
        return replace(self, limit=max(self.limit, -(-self.per_1000_lines * reached_lines // 1000)))


class MinedCandidates(NamedTuple):
    """Candidates of a project by file, and the number of rejected blocks by rule."""

    candidates: Mapping[str, tuple[Candidate, ...]]
    rejected: Counter[str]


@dataclass
class ProjectMiner:
    """Miner of the files of an analysed project."""

    analysis: ProjectAnalysis
    _digests: dict[str, str] = field(default_factory=dict)

    def find_candidates(self, paths: Collection[str]) -> MinedCandidates:
        """Return the candidates in some files."""
        rejected: Counter[str] = Counter()
        candidates = {}
        for path in sorted(paths):
            candidates[path], refused = FileMiner(self.analysis[path]).mine()
            rejected += refused
        return MinedCandidates(candidates, rejected)

    def without_unreached(
        self, mined: MinedCandidates, paths: Collection[str], reaches: Callable[[str, int, int], bool]
    ) -> MinedCandidates:
        """Return the candidates without those in ``paths`` that the tests do not reach.

        ``reaches(path, start, end)`` returns whether the tests execute a statement in these bytes.
        """
        rejected = Counter(mined.rejected)
        kept = dict(mined.candidates)
        for path in paths:
            kept[path] = tuple(one for one in mined.candidates[path] if reaches(path, *one.span))
            rejected["not_reached"] += len(mined.candidates[path]) - len(kept[path])
        return MinedCandidates(kept, rejected)

    def sample_candidates(
        self, mined: MinedCandidates, sampling: TaskSampling, paths: Collection[str]
    ) -> list[Candidate]:
        """Return a sample of the candidates in some files, in the order of files and positions."""
        by_name = {
            self.candidate_name(candidate): candidate
            for path in sorted(paths)
            for candidate in mined.candidates.get(path, ())
            if candidate.mode in sampling.modes
        }
        pool = [SampledCandidate(name, one.path, tuple(self._cells(one))) for name, one in by_name.items()]
        names = balanced_sample(pool, limit=sampling.limit, per_file=sampling.per_file, seed=sampling.seed)
        return sorted((by_name[name] for name in names), key=lambda one: (one.path, one.span, one.mode))

    def candidate_name(self, candidate: Candidate) -> str:
        """Return ``PATH#SHA8:START-END:MODE``, with the hash of the file and byte offsets in it."""
        digest = self._digests.get(candidate.path)
        if digest is None:
            data = self.analysis[candidate.path].source.data
            digest = self._digests[candidate.path] = hashlib.sha256(data).hexdigest()[:8]
        start, end = candidate.span
        return f"{candidate.path}#{digest}:{start}-{end}:{candidate.mode}"

    def _cells(self, candidate: Candidate) -> Iterator[Cell]:
        held = paper_constructs(self.analysis[candidate.path], candidate.span)
        for name in [name for name in held if name in _REFERENCES] or ["none"]:
            yield candidate.mode, candidate.kind, name

    def make_problems(self, candidates: Sequence[Candidate], origin: TaskOrigin) -> list[Problem]:
        """Return the problems made of candidates."""
        groups = overlap_groups([(one.path, *one.span) for one in candidates])
        firsts: dict[int, str] = {}
        for candidate, group in zip(candidates, groups, strict=True):
            firsts.setdefault(group, f"{origin.project}/{candidate.path}:{candidate.span.start}")
        return [
            self._problem(candidate, origin, firsts[group]) for candidate, group in zip(candidates, groups, strict=True)
        ]

    def _problem(self, candidate: Candidate, origin: TaskOrigin, group: str) -> Problem:
        analysis = self.analysis[candidate.path]
        data = analysis.source.data
        start, end = candidate.span
        hidden = candidate.mode == "suffix_hidden"
        return Problem(
            id=f"{origin.project}/{self.candidate_name(candidate)}",
            suite="simcopilot",
            shown=Caret(
                language=analysis.source.language,
                prefix=visible_text(data[:start]),
                suffix="" if hidden else visible_text(data[end:]),
                path=candidate.path,
            ),
            splice=span_splice(candidate.path, candidate.span, origin.snapshot, data),
            reference=visible_text(data[start:end]),
            checks=(origin.checks_by_file.get(candidate.path, origin.check),),
            labels=candidate_labels(analysis, candidate, origin.project),
            cluster=origin.project,
            overlap_group=group,
            provenance=origin.provenance,
        )
