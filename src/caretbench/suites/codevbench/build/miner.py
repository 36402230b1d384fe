"""Miner of a project: hidden spans of its blocks, a weighted sample of them, and the candidates made of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from caretbench.build.project_tasks.block_miner import (
    REFERENCE_POLICY,
    BlockMiner,
    DrawnProblems,
    DrawnTasks,
    MinedBlock,
    TaskOrigin,
    block_hash,
    block_names,
)
from caretbench.build.project_tasks.tester.answer_tests import is_written_test
from caretbench.build.projects.reach.statement_reach import CallChains, StatementReach
from caretbench.errors import DataError
from caretbench.extraction.policies import get_policy
from caretbench.files import sha256_text
from caretbench.problem import Caret, Problem
from caretbench.projects.answer_requests import file_splice, get_tests_check
from caretbench.projects.file_spans import file_caret, overlap_group_names, span_splice, visible_text
from caretbench.suites.codevbench.build.code_blocks import BlockFinder, BlockKind, CodeBlock
from caretbench.suites.codevbench.build.earlier_release import EarlierRelease
from caretbench.suites.codevbench.scenario_names import BLOCK_SPAN, FULL_BLOCK, INCOMPLETE_SUFFIX, INNER_BLOCK, RAG
from caretbench.suites.codevbench.similar_functions import block_rules
from caretbench.suites.usage_weights import Weights
from caretbench.syntax import Span
from caretbench.syntax.analysis import ProjectAnalysis

Cut = Literal["block", "statement", "token", "operator", "empty"]
_RANK: Final[tuple[BlockKind, ...]] = (
    "while", "try", "catch", "for", "method", "if", "argument_list", "statement", "partial_line", "comment"
)  # fmt: skip
_PARTIAL_KINDS: Final = frozenset({"argument_list", "partial_line", "comment"})


class HiddenSpan(NamedTuple):
    """A span of a block that a problem hides: the whole block, or the rest of it after a cut."""

    block: CodeBlock
    cut: Cut
    span: Span
    place: str = ""
    """Name of the block's place, ``PATH:Class.function``, once all spans of the file are known."""

    @property
    def key(self) -> str:
        """Name of the span in its file."""
        return f"{self.place or tuple(self.span)}:{self.block.kind}.{self.cut}"

    @property
    def rank(self) -> tuple[bool, int]:
        """Rank among equal spans, of which the first is taken: whole blocks, then the rarer kinds."""
        return (self.cut != "block", _RANK.index(self.block.kind))

    @property
    def is_partial_line(self) -> bool:
        """True if text of the caret's own line is before the caret, and the answer goes on in it."""
        return self.cut in ("token", "operator") or self.block.kind in _PARTIAL_KINDS


def hidden_spans(block: CodeBlock, finder: BlockFinder) -> Iterator[HiddenSpan]:
    """Yield the spans of a block that problems can hide."""
    text = visible_text(finder.data[block.span.start : block.span.end])
    if block.kind == "partial_line":
        yield from _rest(block, "block", (span.end for span, _ in finder.tokens(block.span)), text)
        return
    yield HiddenSpan(block, "block", block.span)
    if block.kind in _PARTIAL_KINDS:
        return
    tokens = finder.tokens(block.span)
    yield from _rest(block, "statement", (span.start for span in block.statements[1:]), text)
    yield from _rest(block, "token", (span.end for span, is_operator in tokens if not is_operator), text)
    yield from _rest(block, "operator", (span.end for span, is_operator in tokens if is_operator), text)
    if not block.leaves:
        yield HiddenSpan(block, "empty", Span(block.span.end, block.span.end))


def _rest(block: CodeBlock, cut: Cut, positions: Iterable[int], text: str) -> Iterator[HiddenSpan]:
    """Yield the rest of a block with this text after one of some positions in it, which follows from the text."""
    inner = [position for position in positions if block.span.start < position < block.span.end]
    if inner:
        number = int(sha256_text(block.path, text, block.kind, cut)[:12], 16)
        yield HiddenSpan(block, cut, Span(inner[number % len(inner)], block.span.end))


_SUFFIX_CUTS: Final = 2
"""Maximum number of problems of scenario 3 from one block: the file emptied, and the function emptied."""


def span_weight(weights: Weights, hidden: HiddenSpan) -> float:
    """Return the weight of a span; 0: no such problem."""
    share: float = weights.block.model_dump(by_alias=True)[hidden.block.kind]
    if hidden.cut == "block":
        share *= max(_blocks(weights).values())
    else:
        cuts: dict[str, float] = weights.cut.model_dump()
        share *= weights.scenario.inner_block * cuts[hidden.cut] / sum(cuts.values())
    return share * (weights.line.partial if hidden.is_partial_line else weights.line.whole)


def becomes_problem(weights: Weights, scenario: str, draw: float) -> bool:
    """Return whether a block becomes a problem of a scenario of whole blocks, for a number from 0 to 1."""
    blocks = _blocks(weights)
    return draw * max(blocks.values()) < blocks[scenario]


def _blocks(weights: Weights) -> dict[str, float]:
    """Return the number of blocks that each scenario of whole blocks needs, in the unit of the shares."""
    shares = weights.scenario
    return {FULL_BLOCK: shares.full_block, INCOMPLETE_SUFFIX: shares.incomplete_suffix / _SUFFIX_CUTS, RAG: shares.rag}


def _by_cell(
    spans: Sequence[HiddenSpan], weights: Weights
) -> tuple[dict[tuple[str, str], dict[str, list[HiddenSpan]]], dict[tuple[str, str], float]]:
    """Return the spans of a positive weight by cell and file, and the weights of the cells."""
    cells: dict[tuple[str, str], dict[str, list[HiddenSpan]]] = defaultdict(lambda: defaultdict(list))
    shares: dict[tuple[str, str], float] = {}
    for span in spans:
        weight = span_weight(weights, span)
        if weight > 0:
            cells[span.block.kind, span.cut][span.block.path].append(span)
            shares[span.block.kind, span.cut] = weight
    return cells, shares


def weighted_sample(
    spans: Sequence[HiddenSpan],
    weights: Weights,
    *,
    limit: int | None,
    per_file: int | None = None,
    seed: int = 0,
    first: Sequence[HiddenSpan] = (),
    fault: Callable[[HiddenSpan], str | None] = lambda _span: None,
) -> tuple[list[HiddenSpan], Counter[str]]:
    """Return a sample of spans, in the order of sampling, and the number of rejected spans by fault.

    Each step takes from the cell (kind of block and cut) that is furthest behind its share, and there from the file
    with the fewest spans; the rest follows from a hash. The seed says how early in its turn each cell comes: 25 small
    cells of control flow, due 8 of 120 spans together, had none while all came at the end of their turns. Spans of
    weight 0 are not taken. A cell that runs out leaves its share to the others. ``fault`` says why a span is rejected;
    it is asked only when the span's turn comes. The sample begins with ``first``, whatever the limits are.
    """
    cells, shares = _by_cell(spans, weights)
    rank = {(span.block.path, span.key): sha256_text(str(seed), span.block.path, span.key) for span in spans}
    for files in cells.values():
        for waiting in files.values():
            waiting.sort(key=lambda span: rank[span.block.path, span.key], reverse=True)
    offset = {cell: int(sha256_text(str(seed), *cell)[:12], 16) / 16**12 for cell in cells}
    chosen: list[HiddenSpan] = []
    rejected: Counter[str] = Counter()
    taken: Counter[tuple[str, str]] = Counter()
    in_file: Counter[str] = Counter()

    def take(span: HiddenSpan) -> None:
        if (reason := fault(span)) is not None:
            rejected[reason] += 1
            return
        chosen.append(span)
        taken[span.block.kind, span.cut] += 1
        in_file[span.block.path] += 1

    for span in first:
        take(span)
    already = {(span.block.path, span.key) for span in first}
    while cells and (limit is None or len(chosen) < limit):
        cell = min(cells, key=lambda cell: ((taken[cell] + offset[cell]) / shares[cell], cell))
        open_files = [path for path in cells[cell] if per_file is None or in_file[path] < per_file]
        if not open_files:
            del cells[cell]
            continue
        files = cells[cell]
        path = min(open_files, key=lambda path: (in_file[path], rank[path, files[path][-1].key]))
        span = files[path].pop()
        if not files[path]:
            del files[path]
        if (path, span.key) not in already:
            take(span)
    return chosen, rejected


MAX_CALL_DEPTH: Final = 3
"""Number of calls from which the label ``call_depth`` is the same."""


@dataclass(frozen=True)
class SpanSampling:
    """Settings of the sample: maximum number of spans for each check (None: all) and file, the mix, the seed."""

    limit: int | None
    per_file: int | None
    weights: Weights
    seed: int = 0


class CodevMiner(BlockMiner):
    """Miner of the blocks that tests execute."""

    def __init__(
        self,
        analysis: ProjectAnalysis,
        sampling: SpanSampling,
        *,
        earlier: EarlierRelease | None = None,
        added_tests: str = "",
    ) -> None:
        self._analysis = analysis
        self._sampling = sampling
        self._earlier = earlier
        self._added_tests = added_tests
        self._found: dict[str, list[HiddenSpan]] = {}
        self._caret_lines: set[tuple[str, int]] = set()
        """Lines in which an answer of an earlier drawn span goes on."""

    def find(self, paths: Collection[str]) -> Counter[str]:
        """Find the candidates in some files; return the number of rejected blocks by rule.

        Raises:
            DataError: the weights draw none of them.
        """
        rejected: Counter[str] = Counter()
        for path in sorted(paths):
            finder = BlockFinder(self._analysis[path])
            by_span: dict[Span, HiddenSpan] = {}
            spans = (hidden for block in finder.blocks() for hidden in hidden_spans(block, finder))
            for hidden in sorted(spans, key=lambda hidden: (hidden.rank, hidden.block.span, hidden.cut)):
                fault = finder.fault(hidden.block.span if hidden.cut == "empty" else hidden.span)
                if fault:
                    rejected[fault] += 1
                elif by_span.setdefault(hidden.span, hidden) is not hidden:
                    rejected["same_span"] += 1
            ordered = sorted(by_span.values(), key=lambda hidden: (hidden.span, hidden.block.kind, hidden.cut))
            named = ((hidden.block.span, f"{hidden.block.kind}.{hidden.cut}") for hidden in ordered)
            names = block_names(self._analysis[path], named)
            self._found[path] = [hidden._replace(place=name) for hidden, name in zip(ordered, names, strict=True)]
        mined = [hidden for of_file in self._found.values() for hidden in of_file]
        weights = self._sampling.weights
        if mined and not any(span_weight(weights, hidden) > 0 for hidden in mined):
            kinds = ", ".join(sorted({hidden.block.kind for hidden in mined}))
            raise DataError(
                f"--weights {weights.name}: it draws none of the project's {len(mined)} spans (blocks: {kinds})"
            )
        return rejected

    def candidate_count(self, paths: Collection[str]) -> int:
        """Return the number of candidates in some files."""
        return sum(len(self._found[path]) for path in paths)

    def blocks(self, paths: Collection[str]) -> dict[str, list[MinedBlock]]:
        """Return the blocks of the candidates in some files."""
        return {
            path: [MinedBlock(path, span) for span in sorted({hidden.block.span for hidden in self._found[path]})]
            for path in sorted(paths)
        }

    def draw(
        self, paths: Collection[str], origin: TaskOrigin, reach: StatementReach, limit: int | None, reached_lines: int
    ) -> DrawnProblems:
        """Return the candidates made of a sample of the spans whose blocks the tests of one check reach."""
        del reached_lines
        mined = [hidden for path in sorted(paths) for hidden in self._found[path]]
        reached = [hidden for hidden in mined if reach.reaches(hidden.block.path, *hidden.block.span)]
        sampling = self._sampling
        limit = sampling.limit if limit is None else limit
        drawable = {hidden.key: hidden for hidden in reached if span_weight(sampling.weights, hidden) > 0}
        keys = {name: f"{name} {self._hash(hidden)}" for name, hidden in drawable.items()} if self.before else {}
        chosen, rejected = weighted_sample(
            reached,
            sampling.weights,
            limit=limit,
            per_file=sampling.per_file,
            seed=sampling.seed,
            first=[drawable[name] for name in self.before.first(keys, limit)] if self.before else (),
            fault=self._sampling_fault,
        )
        if self.before is not None:
            self.before.add(keys[hidden.key] for hidden in chosen)
        chosen.sort(key=lambda hidden: (hidden.block.path, hidden.span, hidden.key))
        not_drawn = len(reached) - len(chosen) - rejected.total()
        rejected.update(not_reached=len(mined) - len(reached), not_drawn=not_drawn)
        names = overlap_group_names(origin.project, [(hidden.block.path, *hidden.block.span) for hidden in chosen])
        problems = (self._problem(hidden, origin, name) for hidden, name in zip(chosen, names, strict=True))
        return DrawnProblems(tuple(problems), rejected)

    def _sampling_fault(self, hidden: HiddenSpan) -> str | None:
        """Return why a span whose turn has come is rejected.

        ``same_line``: another answer goes on in that line, so that it is nearly the same problem. ``truncated``: the
        truncation policy changes its text.
        """
        line = (hidden.block.path, self._analysis[hidden.block.path].source.line_at(hidden.span.start))
        if hidden.is_partial_line and line in self._caret_lines:
            return "same_line"
        caret, reference = self._caret(hidden)
        if get_policy(REFERENCE_POLICY).apply(reference, caret).text != reference:
            return "truncated"
        if hidden.is_partial_line:
            self._caret_lines.add(line)
        return None

    def _hash(self, hidden: HiddenSpan) -> str:
        data = self._analysis[hidden.block.path].source.data
        return block_hash(*(visible_text(data[slice(*span)]) for span in (hidden.block.span, hidden.span)))

    def _caret(self, hidden: HiddenSpan) -> tuple[Caret, str]:
        """Return the caret of a span, and its text."""
        source = self._analysis[hidden.block.path].source
        start, end = hidden.span
        caret = file_caret(source.language, source.path, source.data, start, end)
        return caret, visible_text(source.data[start:end])

    def block_span(self, problem: Problem) -> tuple[int, int]:
        """Return the bytes of the block whose masks must fail."""
        return block_span(problem)

    def with_test_labels(self, problems: tuple[Problem, ...], drawn: DrawnTasks) -> tuple[Problem, ...]:
        """Return problems, labelled by the author of their tests and the number of calls from these."""
        chains = CallChains(drawn.reach, self._analysis)
        return tuple(_with_call_depth(self._with_author(problem, drawn), chains) for problem in problems)

    def _with_author(self, problem: Problem, drawn: DrawnTasks) -> Problem:
        """Return the problem, labelled by who wrote the tests that decide.

        ``model``: a model wrote one of them; where single tests are not known, one that reaches the block. ``user``:
        all of them are the user's, by name, or since the command runs no others. Else ``project``.
        """
        tests = get_tests_check(problem).tests
        author = ""
        if drawn.written_reach is not None:
            path = file_splice(problem).path
            written = (
                any(map(is_written_test, tests)) if tests else drawn.written_reach.reaches(path, *block_span(problem))
            )
            author = "model" if written else ""
        if not author and self._added_tests:
            alone = get_tests_check(problem).command[-1] == self._added_tests
            are_added = all(test.startswith(f"{self._added_tests}/") for test in tests)
            author = "user" if alone or (tests and are_added) else ""
        return problem.model_copy(update={"labels": {**problem.labels, "tests_by": author}}) if author else problem

    def _problem(self, hidden: HiddenSpan, origin: TaskOrigin, group: str) -> Problem:
        path, kind = hidden.block.path, hidden.block.kind
        source = self._analysis[path].source
        data = source.data
        start = hidden.span.start
        caret, reference = self._caret(hidden)
        line_start = source.line_starts[source.line_at(start) - 1]
        first, last = source.line_at(hidden.block.span.start), source.line_at(hidden.block.span.end - 1)
        age = self._earlier.age(self._analysis, path, hidden.block.span) if self._earlier else None
        scenario = FULL_BLOCK if hidden.cut == "block" else INNER_BLOCK
        return Problem(
            id=f"{origin.project}/{hidden.place}:{scenario}.{kind}.{hidden.cut}",
            suite="codevbench",
            shown=caret,
            splice=span_splice(path, hidden.span, origin.snapshot, data),
            reference=reference,
            checks=(origin.checks_by_file.get(path, origin.check),),
            labels={
                "language": source.language,
                "scenario": scenario,
                "cut": hidden.cut,
                "block": kind,
                "block_class": block_rules().classes[kind],
                "answer": "code" if reference else "empty",
                "line": "partial" if hidden.is_partial_line else "whole",
                "project": origin.project,
                "tests_by": "project",
                "block_lines": float(last - first + 1),
                "reference_lines": float(reference.count("\n") + 1 if reference else 0),
                "cursor_column": float(len(visible_text(data[line_start:start]))),
                **({"age": age} if age else {}),
            },
            cluster=origin.project,
            overlap_group=group,
            provenance=origin.provenance,
            released={BLOCK_SPAN: f"{hidden.block.span.start}-{hidden.block.span.end}"},
            block_hash=self._hash(hidden),
        )


def _with_call_depth(problem: Problem, chains: CallChains) -> Problem:
    """Return the problem, labelled with the least number of calls from a deciding test to its function, if known."""
    path = file_splice(problem).path
    depths = (chains.depth(test, path, block_span(problem)) for test in get_tests_check(problem).tests)
    least = min((depth for depth in depths if depth is not None), default=None)
    if least is None:
        return problem
    band = str(least) if least < MAX_CALL_DEPTH else f"{MAX_CALL_DEPTH}+"
    return problem.model_copy(update={"labels": {**problem.labels, "call_depth": band}})


def block_span(problem: Problem) -> tuple[int, int]:
    """Return the bytes of a problem's block in its file."""
    start, end = problem.released[BLOCK_SPAN].split("-")
    return int(start), int(end)
