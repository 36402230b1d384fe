"""Miner of a project: candidates of its files, a balanced sample of them, and labelled problems made of the sample."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, NamedTuple

from caretbench.build.project_tasks.block_miner import DrawnBefore, TaskOrigin, block_hash, block_names
from caretbench.build.projects.language_tables import project_tables
from caretbench.files import sha256_text
from caretbench.grouping import grouped
from caretbench.problem import Label, Problem
from caretbench.projects.file_spans import file_caret, overlap_group_names, overlap_groups, span_splice, visible_text
from caretbench.suites.simcopilot.build.candidates import Candidate, FileMiner
from caretbench.suites.simcopilot.rules import Mode, mining_rules, paper_rules
from caretbench.syntax import Span
from caretbench.syntax.analysis import FileAnalysis, ProjectAnalysis
from caretbench.syntax.names.references import Reference

_MIN_GROUPS: Final = 6
# Of 40 candidates of 21 first tries 30 to 40 were valid: 24 leave more than a dozen tasks.
_MIN_CANDIDATES: Final = 24
Cell = tuple[str, str, str]
Group = tuple[str, int]
"""File, and number of an overlap group."""


class SampledCandidate(NamedTuple):
    """A candidate for sampling: its unique name, its file, its cells, and the number of its overlap group."""

    name: str
    path: str
    cells: tuple[Cell, ...]
    group: int = 0


def balanced_sample(
    candidates: Sequence[SampledCandidate],
    *,
    limit: int | None = None,
    per_file: int | None = None,
    seed: int = 0,
    first: Sequence[str] = (),
) -> list[str]:
    """Return the names of the sampled candidates, in the order of sampling.

    ``limit`` and ``per_file`` are maximum numbers in total and per file. Rare cells are filled first, and within a cell
    the overlap groups and files with the fewest tasks: of 66 tasks that were drawn without regard to groups, 34 were
    independent. Names must be unique, and each candidate must have a cell. The sample begins with ``first``, whatever
    the limits are.
    """
    by_cell: dict[Cell, list[SampledCandidate]] = defaultdict(list)
    for candidate in candidates:
        for cell in candidate.cells:
            by_cell[cell].append(candidate)
    by_name = {candidate.name: candidate for candidate in candidates}
    rank = {name: sha256_text(str(seed), name) for name in by_name}
    chosen: list[str] = []
    taken: set[str] = set()
    in_file: Counter[str] = Counter()
    in_group: Counter[Group] = Counter()
    in_cell: Counter[Cell] = Counter()
    rarity = {cell: len(members) for cell, members in by_cell.items()}

    def take(candidate: SampledCandidate) -> None:
        chosen.append(candidate.name)
        taken.add(candidate.name)
        in_file[candidate.path] += 1
        in_group[candidate.path, candidate.group] += 1
        in_cell.update(candidate.cells)

    for name in first:
        take(by_name[name])
    queue = [(in_cell[cell], rarity[cell], cell) for cell in by_cell]
    heapq.heapify(queue)
    waiting = {cell: _Waiting(members, rank) for cell, members in by_cell.items()}
    while queue and (limit is None or len(chosen) < limit):
        count, rare, cell = heapq.heappop(queue)
        if count < in_cell[cell]:  # candidates of other cells are in this one too
            heapq.heappush(queue, (in_cell[cell], rare, cell))
            continue
        drawn = waiting[cell].next(taken, in_group, in_file, per_file)
        if drawn is None:
            continue
        take(drawn)
        heapq.heappush(queue, (in_cell[cell], rare, cell))
    return chosen


class _Waiting:
    """Queue of a cell's candidates, by overlap group."""

    def __init__(self, members: Sequence[SampledCandidate], rank: Mapping[str, str]) -> None:
        self._members = {member.name: member for member in members}
        ranked = sorted(members, key=lambda member: (rank[member.name], member.name), reverse=True)
        self._groups = grouped(((member.path, member.group), (rank[member.name], member.name)) for member in ranked)
        self._queue = [(0, 0, names[-1], group) for group, names in self._groups.items()]
        heapq.heapify(self._queue)

    def next(
        self, taken: set[str], in_group: Counter[Group], in_file: Counter[str], per_file: int | None
    ) -> SampledCandidate | None:
        """Remove and return the first candidate that is not taken, of the group and file with the fewest tasks."""
        while self._queue:
            *counts, group = heapq.heappop(self._queue)
            names, path = self._groups[group], group[0]
            while names and names[-1][1] in taken:
                names.pop()
            if not names or (per_file is not None and in_file[path] >= per_file):
                continue
            first = names[-1]
            current = (in_group[group], in_file[path], first)
            if tuple(counts) == current:
                names.pop()
                if names:
                    heapq.heappush(self._queue, (*current[:2], names[-1], group))
                return self._members[first[1]]
            heapq.heappush(self._queue, (*current, group))
        return None


_LOCAL: Final = frozenset({"same_block", "same_function"})


def candidate_labels(analysis: FileAnalysis, candidate: Candidate, project: str) -> dict[str, Label]:
    """Return all labels of a candidate. Distances are in lines; a missing label means that there is none.

    ``reference_distance``: to the furthest declaration in the same file, without library names (as in the paper).
    ``reaching_distance``: maximum over names of the distance to the nearest definition whose value can reach the use.
    ``local_distance``, ``nonlocal_distance``: the same, within and beyond the function. ``files_crossed``: maximum
    number of file boundaries between a use and its declaration.
    """
    span = candidate.span
    references = analysis.references_in(span)
    size = analysis.size(span)
    held = {block.kind for block in analysis.blocks_in(span)}
    labels: dict[str, Label] = {
        "language": analysis.source.language,
        "mode": candidate.mode,
        "block": candidate.kind,
        "project": project,
        "constructs": paper_constructs(analysis, span, references),
        "structure": [name for name in mining_rules().constructs.structure if name in held],
        "references": sorted({str(reference.binding) for reference in references}),
        "block_lines": float(size.lines),
        "block_tokens": float(size.tokens),
        "cyclomatic": float(size.cyclomatic),
        "aligned": "yes" if candidate.block.whole_statements or candidate.kind.endswith("body") else "no",
        "cursor_column": float(_column(analysis, span.start)),
        "closing_delimiters": candidate.closing_bracket or "none",
        "files_crossed": float(max((reference.files_crossed for reference in references), default=0)),
    }
    labels |= {name: float(value) for name, value in reference_distances(references).items()}
    comments = {
        "comment_distance": analysis.comment_distance(span.start),
        "comment_distance_any": analysis.comment_distance(span.start, counting="any"),
    }
    return labels | {name: float(lines) for name, lines in comments.items() if lines is not None}


def paper_constructs(analysis: FileAnalysis, span: Span, references: tuple[Reference, ...] | None = None) -> list[str]:
    """Return those of the paper's eight constructs that a span contains, refers to or is in, in the paper's order."""
    rules = mining_rules().constructs
    table = project_tables().get(analysis.source.language)
    fields_are_global = table is not None and table.mining.fields_are_global
    touched = chain(analysis.blocks_in(span), analysis.enclosing_blocks(span, rules.blocks.keys() - {"class_body"}))
    constructs = {rules.blocks[block.kind] for block in touched if block.kind in rules.blocks}
    for reference in analysis.references_in(span) if references is None else references:
        if reference.origin in ("stdlib", "third_party"):
            constructs.add("library")
        elif reference.binding == "field" and fields_are_global:
            constructs.add("global_variable")
        elif reference.binding in rules.bindings:
            constructs.add(rules.bindings[reference.binding])
    return [name for name in paper_rules().constructs if name in constructs]


def reference_distances(references: tuple[Reference, ...]) -> dict[str, int]:
    """Return the maximum distances of references in lines, by label."""
    distances = [(use.binding, use.declaration_lines) for use in references if use.library is None]
    declared = [lines for binding, lines in distances if lines or (lines == 0 and binding == "comprehension")]
    reaching = [(use.origin in _LOCAL, lines) for use in references if (lines := use.reaching_lines) is not None]
    maxima = {
        "reference_distance": max(declared, default=None),
        "reaching_distance": max((lines for _, lines in reaching), default=None),
        "local_distance": max((lines for local, lines in reaching if local), default=None),
        "nonlocal_distance": max((lines for local, lines in reaching if not local), default=None),
    }
    return {name: lines for name, lines in maxima.items() if lines is not None}


def _column(analysis: FileAnalysis, position: int) -> int:
    """Return the number of characters before the caret on its line."""
    first = analysis.source.line_starts[analysis.source.line_at(position) - 1]
    return len(visible_text(analysis.source.data[first:position]))


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
    before: DrawnBefore | None = None
    _names: dict[Candidate, str] = field(default_factory=dict)

    def find_candidates(self, paths: Collection[str]) -> MinedCandidates:
        """Return the candidates in some files."""
        rejected: Counter[str] = Counter()
        candidates = {}
        for path in sorted(paths):
            candidates[path], refused = FileMiner(self.analysis[path]).mine()
            rejected += refused
            # Of all candidates, not of those that are drawn: the numbers in names must not depend on the sample.
            spans = [(candidate.span, f"{candidate.mode}.{candidate.kind}") for candidate in candidates[path]]
            names = block_names(self.analysis[path], spans)
            for candidate, name, (_, kind) in zip(candidates[path], names, spans, strict=True):
                self._names[candidate] = f"{name}:{kind}"
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
            kept[path] = tuple(candidate for candidate in mined.candidates[path] if reaches(path, *candidate.span))
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
        by_name, groups = _enough_groups(by_name)
        pool = [
            SampledCandidate(name, candidate.path, tuple(self._cells(candidate)), group)
            for (name, candidate), group in zip(by_name.items(), groups, strict=True)
        ]
        keys = {name: f"{name} {self._hash(by_name[name])}" for name in by_name} if self.before else {}
        first = self.before.first(keys, sampling.limit) if self.before else []
        names = balanced_sample(pool, limit=sampling.limit, per_file=sampling.per_file, seed=sampling.seed, first=first)
        if self.before is not None:
            self.before.add(keys[name] for name in names)
        return sorted((by_name[name] for name in names), key=lambda drawn: (drawn.path, drawn.span, drawn.mode))

    def candidate_name(self, candidate: Candidate) -> str:
        """Return ``PATH:Class.function:MODE.KIND`` of a candidate that was found."""
        return self._names[candidate]

    def _hash(self, candidate: Candidate) -> str:
        return block_hash(visible_text(self.analysis[candidate.path].source.data[slice(*candidate.span)]))

    def _cells(self, candidate: Candidate) -> Iterator[Cell]:
        held = paper_constructs(self.analysis[candidate.path], candidate.span)
        for name in [name for name in held if name in _REFERENCES] or ["none"]:
            yield candidate.mode, candidate.kind, name

    def make_problems(self, candidates: Sequence[Candidate], origin: TaskOrigin) -> list[Problem]:
        """Return the problems made of candidates."""
        names = overlap_group_names(origin.project, [(candidate.path, *candidate.span) for candidate in candidates])
        return [self._problem(candidate, origin, name) for candidate, name in zip(candidates, names, strict=True)]

    def _problem(self, candidate: Candidate, origin: TaskOrigin, group: str) -> Problem:
        analysis = self.analysis[candidate.path]
        data = analysis.source.data
        start, end = candidate.span
        suffix_start = None if candidate.mode == "suffix_hidden" else end
        reference = visible_text(data[start:end])
        return Problem(
            id=f"{origin.project}/{self.candidate_name(candidate)}",
            suite="simcopilot",
            shown=file_caret(analysis.source.language, candidate.path, data, start, suffix_start),
            splice=span_splice(candidate.path, candidate.span, origin.snapshot, data),
            reference=reference,
            checks=(origin.checks_by_file.get(candidate.path, origin.check),),
            labels=candidate_labels(analysis, candidate, origin.project),
            cluster=origin.project,
            overlap_group=group,
            provenance=origin.provenance,
            block_hash=block_hash(reference),
        )


def _enough_groups(by_name: Mapping[str, Candidate]) -> tuple[dict[str, Candidate], list[int]]:
    """Return candidates and the numbers of their overlap groups; without the longest ones where else groups are few.

    Below six groups nothing can be decided: a crate of four functions gave 40 tasks in four groups.
    """
    longest = sorted(by_name, key=lambda name: by_name[name].span.start - by_name[name].span.end)
    left = dict(by_name)
    while True:
        groups = overlap_groups([(candidate.path, *candidate.span) for candidate in left.values()])
        if len({*groups}) >= _MIN_GROUPS or len(left) <= _MIN_CANDIDATES:
            return left, groups
        # A tenth at a time: one function can have thousands.
        gone = {*longest[: max(1, len(longest) // 10)]}
        longest = [name for name in longest if name not in gone]
        left = {name: candidate for name, candidate in left.items() if name not in gone}
