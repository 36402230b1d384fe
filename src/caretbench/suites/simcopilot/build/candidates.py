"""Candidate blocks of a file: the paper's Algorithm 1, with rules that reject unsuitable blocks.

Every candidate begins at a construct, or at a statement in its body, and ends at the end of that construct. If the
suffix is hidden, it extends to the end of the nearest construct that is incomplete at the caret, with its closing
bracket.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from caretbench.build.projects.language_tables import project_tables
from caretbench.projects.code_search import TokenSearch, split_tokens
from caretbench.projects.file_spans import dominant_newline, round_trips, visible_text
from caretbench.suites.simcopilot.rules import CutKind, Mode, mining_rules
from caretbench.syntax import Span
from caretbench.syntax.analysis import FileAnalysis
from caretbench.syntax.analysis_types import SpanIndex
from caretbench.syntax.blocks import Block

_FUNCTIONS: Final = frozenset({"function", "method", "lambda"})
_DECLARES: Final = frozenset({"function", "method", "class", "interface", "namespace"})
_ACTS: Final = frozenset({
    "call_expression", "comprehension", "stream_pipeline", "if_condition", "elif_condition", "loop_header",
    "loop_body", "switch_case", "try_body", "handler", "lambda",
})  # fmt: skip
_RANK: Final[dict[CutKind, int]] = {"body": 0, "header": 1, "run": 2, "statement": 3}
_PUNCTUATION: Final = b" \t\r\n{}()[];,"
"""Characters that are no code by themselves."""


class Candidate(NamedTuple):
    """A block that may become a task.

    ``span`` are its bytes in the file at ``path``; ``kind`` is the kind of ``block``; ``closing_bracket`` is at its end
    and closes the construct around it.
    """

    path: str
    mode: Mode
    kind: str
    span: Span
    closing_bracket: str
    block: Block


class FileMiner:
    """Miner of the candidates in one file."""

    def __init__(self, analysis: FileAnalysis) -> None:
        self.analysis = analysis
        self.source = analysis.source
        self.data = analysis.source.data
        self.rules = mining_rules()
        self.patterns = project_tables()[self.source.language].mining
        self.newline = dominant_newline(self.data)
        self._acts = sorted(block.span for block in analysis.blocks if block.kind in _ACTS)
        kinds = self.rules.blocks.cut_by_kind
        bodies = [block.span for block in analysis.blocks if kinds.get(block.kind) == "body" and block.statements]
        self._around = SpanIndex(bodies)
        self._statements = [block for block in analysis.blocks if block.kind == "statement"]
        self._statement_nesting = SpanIndex([block.span for block in self._statements])
        self._declares = sorted(scope.span for scope in analysis.scopes if scope.kind in _DECLARES)

    def mine(self) -> tuple[tuple[Candidate, ...], Counter[str]]:
        """Return all candidates of both modes, in the order of the text, and the number of rejected blocks by rule."""
        rejected: Counter[str] = Counter()
        candidates: dict[tuple[Span, Mode], Candidate] = {}
        for candidate, cut in self._cut():
            reason = self._objection(candidate, cut)
            if reason:
                rejected[reason] += 1
                continue
            key = (candidate.span, candidate.mode)
            earlier = candidates.get(key)
            if earlier is None or _RANK[cut] < _RANK[self.rules.blocks.cut_by_kind[earlier.kind]]:
                candidates[key] = candidate
        return tuple(sorted(candidates.values(), key=lambda candidate: (candidate.span, candidate.mode))), rejected

    def _cut(self) -> Iterator[tuple[Candidate, CutKind]]:
        for block in self.analysis.blocks:
            cut = self.rules.blocks.cut_by_kind.get(block.kind)
            if cut is None or not self._in_construct(block, cut):
                continue
            if cut == "body" and not block.statements:
                continue
            span = Span(self._behind_documentation(block), block.content.end) if cut == "body" else block.span
            yield Candidate(self.source.path, "infill", block.kind, span, "", block), cut
            if (hidden := self._hidden(block, cut, span)) is not None:
                whole = Span(span.start, hidden[0])
                yield Candidate(self.source.path, "suffix_hidden", block.kind, whole, hidden[1], block), cut

    def _in_construct(self, block: Block, cut: CutKind) -> bool:
        """Return whether a block is in a construct, or is a statement at file level that declares nothing."""
        if cut in ("header", "body") or self._around.innermost(*block.span) is not None:
            return True
        kinds = {self.analysis.scopes[index].kind for index in block.enclosing}
        declares = any(block.span.contains(span) for span in self._declares)
        return cut == "statement" and kinds <= {"file"} and not declares

    def _behind_documentation(self, block: Block) -> int:
        """Return the start of a body, after its docstring."""
        start = block.content.start
        end = self._docstrings.get(start)
        if end is None or end >= block.content.end:
            return start
        rest = self.data[end : block.content.end]
        return end + len(rest) - len(rest.lstrip(b" \t\r\n;"))

    @cached_property
    def _docstrings(self) -> dict[int, int]:
        """Ends of docstrings by their starts."""
        return {comment.start: comment.end for comment in self.analysis.comments if comment.kind == "docstring"}

    def _hidden(self, block: Block, cut: CutKind, span: Span) -> tuple[int, str] | None:
        """Return end and closing bracket of the nearest incomplete construct; None if its end is ambiguous."""
        if cut == "header":
            return self._statement_end(span)
        if self.source.language == "python":
            return (span.end, "") if self._begins_line(span) and self._ends_list(span) else None
        end = block.closing_token_end
        if not block.closing_token or self.data[end - 1 : end] != block.closing_token.encode():
            return None
        return end, block.closing_token

    def _statement_end(self, span: Span) -> tuple[int, str] | None:
        for index in self._statement_nesting.enclosing(*span):
            around = self._statements[index].span
            if around.start < span.start:
                return around.end, "" if self.source.language == "python" else ")"
        return None

    def _begins_line(self, span: Span) -> bool:
        first = self.source.line_starts[self.source.line_at(span.start) - 1]
        return not self.data[first : span.start].strip(b" \t") and span.start > first

    def _ends_list(self, span: Span) -> bool:
        """Return whether the line after a block of Python is indented less than the block."""
        starts = self.source.line_starts
        column = span.start - starts[self.source.line_at(span.start) - 1]
        line_end = self.data.find(b"\n", span.end)
        rest = self.data[span.end : line_end if line_end >= 0 else len(self.data)].strip()
        if rest and not rest.startswith(b"#"):
            return False
        for n in range(self.source.line_at(max(span.end - 1, 0)), len(starts)):
            end = self.data.find(b"\n", starts[n])
            line = self.data[starts[n] : end if end >= 0 else len(self.data)]
            text = line.lstrip(b" \t")
            if text.strip() and not text.startswith(b"#"):
                return len(line) - len(text) < column
        return True

    def _objection(self, candidate: Candidate, cut: CutKind) -> str:
        """Return the rule that rejects a candidate; empty if none does."""
        span = candidate.span
        raw = self.data[span.start : span.end]
        reason = self._size_objection(candidate, cut, raw) or self._code_objection(candidate, cut, visible_text(raw))
        if reason:
            return reason
        if self._faulty(span):
            return "does_not_parse"
        tokens = split_tokens(visible_text(raw))
        if len(tokens) >= self.rules.blocks.min_repeated_tokens and self._repeated(candidate, tokens):
            return "shown_elsewhere"
        return ""

    def _size_objection(self, candidate: Candidate, cut: CutKind, raw: bytes) -> str:
        """Return the rule about the size of a block that rejects it, or about its text as a whole."""
        span, rules = candidate.span, self.rules.blocks
        if self.source.line_at(span.end - 1) - self.source.line_at(span.start) + 1 > rules.max_lines:
            return "too_long"
        if not round_trips(self.source.path, span, self.data, self.newline):
            return "does_not_round_trip"
        tokens = split_tokens(visible_text(raw))
        words = sum(token not in rules.separators for token in tokens)
        if words < rules.min_words or (cut != "header" and len(tokens) < rules.min_tokens):
            return "too_short"
        return ""

    def _code_objection(self, candidate: Candidate, cut: CutKind, text: str) -> str:
        """Return the rule about the code of a block that rejects it."""
        span = candidate.span
        if self.analysis.is_test(span):
            return "test_code"
        if self._is_imports(text):
            return "imports_only"
        if not self._code_in(span):
            return "comments_only"
        bare = text.strip().removesuffix(candidate.closing_bracket).strip()
        if self.patterns.stub_body.fullmatch(bare):
            return "accessor_or_stub"
        if self._is_assignment_in_try(span, text):
            return "assignment_in_try"
        # A branch acts, too; conditional expressions and short-circuit operators count.
        if cut != "header" and not self._acts_in(span) and self.analysis.cyclomatic(span) <= 1:
            return "no_control_flow_or_call"
        return ""

    def _is_imports(self, text: str) -> bool:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return all(self.patterns.import_statement.match(line) for line in lines)

    def _code_in(self, span: Span) -> bool:
        position = span.start
        first = max(0, bisect.bisect_right(self._comment_starts, span.start) - 1)
        for comment in self.analysis.comments[first : bisect.bisect_left(self._comment_starts, span.end)]:
            if comment.end > position:
                if self.data[position : comment.start].strip():
                    return True
                position = comment.end
        return bool(self.data[position : span.end].strip(_PUNCTUATION))

    @cached_property
    def _comment_starts(self) -> list[int]:
        return [comment.start for comment in self.analysis.comments]

    def _is_assignment_in_try(self, span: Span, text: str) -> bool:
        content = self._single_in_try.get(span.start)
        return content is not None and content.end <= span.end and self.rules.blocks.assignment.match(text) is not None

    @cached_property
    def _single_in_try(self) -> dict[int, Span]:
        """Contents of the `try` bodies of one statement, by their starts."""
        blocks = (block for block in self.analysis.blocks if block.kind == "try_body" and block.statements == 1)
        return {block.content.start: block.content for block in blocks}

    def _acts_in(self, span: Span) -> bool:
        at = bisect.bisect_left(self._acts, (span.start, 0))
        last = bisect.bisect_left(self._acts, (span.end, 0))
        return any(act.end <= span.end for act in self._acts[at:last])

    def _faulty(self, span: Span) -> bool:
        """Return whether the outermost function or class around the block has a syntax fault."""
        faults = self.analysis.faults
        if not faults:
            return False
        scopes = self.analysis.enclosing_scopes(span)
        around = next((scope.span for scope in scopes if scope.kind in _FUNCTIONS | {"class"}), span)
        first = bisect.bisect_left(faults, around.start, key=lambda fault: fault.span.start)
        return first < len(faults) and faults[first].span.start <= around.end

    def _repeated(self, candidate: Candidate, tokens: list[str]) -> bool:
        """Return whether the shown text repeats the block."""
        start, end = (self.source.characters_before(position) for position in candidate.span)
        behind = candidate.mode == "infill"
        return any(last <= start or (behind and first >= end) for first, last in self._haystack.find(tokens))

    @cached_property
    def _haystack(self) -> TokenSearch:
        return TokenSearch(self.data.decode("utf-8"))
