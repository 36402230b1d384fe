"""MPR-Gen: lines of a patch are hidden, and the model writes them from title, description and the rest.

``default`` hides a window of added lines of one hunk and requests only these. Tier ``added`` has windows of a given
number of lines that are not similar to removed lines; tier ``changed`` has all added lines of a run that removes lines,
too, which stay visible. Masked lines are informative and not shown anywhere else; no window contains blank lines, or
lines with only a comment or an import.
``paper`` hides any five lines, headers and removed lines included, and requests the whole patch, as the released
questions do: most of such an answer is copied. It is for comparison, and labelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Final, Literal, NamedTuple, cast, get_args

from rapidfuzz import fuzz, process

from caretbench.build.sources.changes.descriptions import NO_TEMPLATE
from caretbench.build.sources.pull_request import PullRequest
from caretbench.errors import DataError
from caretbench.grouping import grouped
from caretbench.languages import language_of_grammar
from caretbench.problem import ContextFile, CriterionCheck, Label, Problem, Question
from caretbench.suites.efcb.build.changes import (
    MASKED_LINES,
    EfcbOptions,
    MaskTier,
    RejectedChange,
    change_problem,
    change_query,
    cluster_id,
    render_patch,
)
from caretbench.suites.efcb.build.edits.patch_parts import parse_hunks
from caretbench.suites.efcb.efcb_score import MAX_JUDGED_SCORE
from caretbench.suites.efcb.masked_answers import (
    CRITERION_NAME,
    MASK_PLACEHOLDER,
    PATCH_FILE,
    WHOLE_PATCH_REQUEST,
    WHOLE_PATCH_TIER,
)
from caretbench.suites.efcb.problem_metadata import EfcbTask, RenderedPatch, file_language, seeded_random
from caretbench.syntax.documentation import comments
from caretbench.syntax.parser import encode
from caretbench.syntax.source import grammar_of
from caretbench.syntax.uses.identifiers import identifiers

# Closing brackets and single returns are guessed from the language; 14 % of the released masks hide no changed line at
# all.
MIN_INFORMATIVE_LINES: Final = 3
"""Minimum number of informative lines of a window."""
MIN_IDENTIFIERS: Final = 2
"""Minimum number of different identifiers of an informative line."""
# A visible removed line nearly gives its new form away: copying those reaches .494 in tier `changed`.
MAX_REMOVED_SIMILARITY: Final = 0.6
"""Maximum mean similarity to removed lines of a window in tier ``added``."""

NoWindowReason = Literal[
    "malformed", "no_grammar", "no_run", "unsuitable_lines", "few_identifiers", "told_in_text", "deleted_twin"
]
"""Reason why a patch has no window: the last guard, in this order, that refused one of its windows."""
_REASONS: Final[tuple[NoWindowReason, ...]] = get_args(NoWindowReason)

_IMPORT: Final = re.compile(
    r"""\s*(?:
        (?:import|package|from|use|pub\s+use|using|extern\s+crate|mod|require|require_relative)\b[^=(]*[;({]?
        | \#\s*include\b.* | export\b.*\bfrom\b.* | (?:const|let|var)\b.*=\s*require\(.*
        | (?:[\w.]+\s+)?"[^"\s]+"  # an entry of an import block in Go
    )\s*""",
    re.VERBOSE,
)


class HunkFragment(NamedTuple):
    """The new side of one hunk: its text, line numbers in the file's hunks, and which lines are added."""

    file: int
    grammar: str
    text: str
    lines: tuple[int, ...]
    added: frozenset[int]


class MaskWindow(NamedTuple):
    """Lines ``start`` to ``stop`` (excluded) of a file's hunks, and their texts.

    ``informative_lines`` are stripped; ``removed_similarity`` is their mean similarity to the patch's most similar
    removed lines, from 0 to 1.
    """

    file: int
    start: int
    stop: int
    text: tuple[str, ...]
    informative_lines: tuple[str, ...]
    removed_similarity: float


def find_windows(
    rendered: RenderedPatch, tier: MaskTier, shown_text: str, line_count: int
) -> list[MaskWindow] | NoWindowReason:
    """Return all windows of ``line_count`` lines (``changed``: three to twice as many) in order, or the reason.

    Windows with a line that occurs in ``shown_text``, the text next to the patch, are refused.
    """
    try:
        parts = list(_fragments(rendered))
    except DataError:
        return "malformed"
    # Over the whole patch, not the hunk alone: moved code is removed in one file and added in another.
    twin = _removed_similarity(rendered)
    windows: list[MaskWindow] = []
    reached: list[NoWindowReason] = ["no_run" if parts else "no_grammar"]
    for part in parts:
        hunks = rendered.files[part.file].hunks.split("\n")
        suitable, saying = _suitable_lines(part), _informative_lines(part)
        for start, stop in _spans(part, hunks, tier, line_count):
            numbers = range(start, stop)
            if not suitable.issuperset(numbers):
                reached.append("unsuitable_lines")
                continue
            says = tuple(hunks[number][1:].strip() for number in numbers if number in saying)
            if len(says) < MIN_INFORMATIVE_LINES:
                reached.append("few_identifiers")
                continue
            # Authors paste lines into descriptions, and the question shows the description.
            if any(line in shown_text for line in says):
                reached.append("told_in_text")
                continue
            likeness = sum(map(twin, says)) / len(says)
            if tier == "added" and likeness >= MAX_REMOVED_SIMILARITY:
                reached.append("deleted_twin")
                continue
            text = tuple(line[1:] for line in hunks[start:stop])
            windows.append(MaskWindow(part.file, start, stop, text, says, likeness))
    return windows or max(reached, key=_REASONS.index)


def _fragments(rendered: RenderedPatch) -> Iterator[HunkFragment]:
    """Yield the hunks with an added line, of all files with a known grammar."""
    for file, shown in enumerate(rendered.files):
        grammar = grammar_of(shown.path)
        for hunk in parse_hunks(shown.hunks, truncated=True) if grammar is not None else ():
            new = dict(hunk.numbered("+ "))
            added = frozenset(number for number, line in new.items() if line.mark == "+")
            if grammar is not None and added:
                yield HunkFragment(file, grammar, "\n".join(line.text for line in new.values()), tuple(new), added)


def _spans(part: HunkFragment, hunks: Sequence[str], tier: MaskTier, lines: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last line (excluded) of each window of a tier, in runs of added lines."""
    for _, run in groupby(enumerate(sorted(part.added)), lambda entry: entry[1] - entry[0]):
        numbers = [number for _, number in run]
        start, stop = numbers[0], numbers[-1] + 1
        if tier == "added":
            yield from ((first, first + lines) for first in range(start, stop - lines + 1))
        # Git writes removed lines in front of those that replace them; a note about a missing line feed may follow
        # them.
        elif hunks[start - 1].startswith(("-", "\\")) and MIN_INFORMATIVE_LINES <= stop - start <= 2 * lines:
            yield start, stop


def _informative_lines(part: HunkFragment) -> set[int]:
    names = grouped((part.lines[name.row], name.name) for name in identifiers(part.text, part.grammar).names)
    return {line for line, own in names.items() if len(set(own)) >= MIN_IDENTIFIERS}


def _suitable_lines(part: HunkFragment) -> set[int]:
    """Return the lines that may be masked: not blank, no comment and no import alone.

    Lines that a parser could not tell from an answer's wrapping are excluded: they begin like a fence or with a plus,
    or contain a mask or a lone carriage return.
    """
    language = language_of_grammar(part.grammar)
    begins = (language.line_comment, *language.block_comment, "```", "~~~")
    # Spaces for every character of comments and docstrings.
    data = bytearray(encode(part.text))
    for comment in comments(part.text, part.grammar):
        data[comment.start : comment.end] = re.sub(rb"[^\n]", b" ", data[comment.start : comment.end])
    bare = data.decode("utf-8", "surrogatepass").split("\n")
    suitable = set()
    for number, line, code in zip(part.lines, part.text.split("\n"), bare, strict=True):
        text = line.strip()
        # A hunk may begin inside a comment, which then parses as code.
        inside = bool(language.block_comment) and (text == "*" or text.startswith(("* ", "*/")))
        # An answer with such a line could not be told from one in a fence, in a diff, or with a mask that is repeated.
        unclear = inside or text.startswith(begins) or line.startswith("+") or MASK_PLACEHOLDER in line or "\r" in line
        if code.strip() and not unclear and not _IMPORT.fullmatch(line):
            suitable.add(number)
    return suitable


def _removed_similarity(rendered: RenderedPatch) -> Callable[[str], float]:
    """Return a function for the similarity of a line to the most similar removed line, from 0 to 1."""
    lines = [line for file in rendered.files for line in file.hunks.split("\n")]
    removed = sorted({line[1:].strip() for line in lines if line.startswith("-")} - {""})

    @cache
    def twin(line: str) -> float:
        match = process.extractOne(line, removed, scorer=fuzz.ratio)
        return match[1] / 100 if match else 0.0

    return twin


NO_TEMPLATES: Final[Mapping[str, Collection[str]]] = {}

_REQUEST: Final = (
    "A patch makes the change that the following text describes. {hidden} consecutive lines that it adds are hidden; a"
    " line {mark} stands for each. Write these {hidden} lines, in their order and with their indentation, without the"
    " plus sign at the beginning. Answer with the lines alone.\n\n"
)


def masked_problems(
    pulls: Iterable[PullRequest], options: EfcbOptions, templates: Mapping[str, Collection[str]] = NO_TEMPLATES
) -> tuple[list[Problem], list[RejectedChange]]:
    """Return at most one problem for each tier and change, by repository, newest first; and rejected changes.

    The reference is the hidden lines (``paper``: the whole patch). The window of a change depends only on the seed and
    the change. ``templates`` are those of :func:`~caretbench.suites.efcb.build.changes.repository_templates`.
    """
    problems: list[Problem] = []
    rejected: list[RejectedChange] = []
    tiers: tuple[str, ...] = (WHOLE_PATCH_TIER,) if options.rules.asks_whole_patch else get_args(MaskTier)
    newest = sorted(pulls, key=lambda pull: pull.merge_order, reverse=True)
    for pull in sorted(newest, key=lambda pull: pull.repo):
        rendered = render_patch(pull, include_generated=options.rules.shows_generated_files)
        text = change_query(pull, profile=options.profile, template=templates.get(pull.repo, NO_TEMPLATE)).text
        for tier in tiers:
            reason = "holds_a_mask" if MASK_PLACEHOLDER in rendered.text else ""
            make = _hidden_as_released if tier == WHOLE_PATCH_TIER else _hidden_window
            hidden = reason or make(pull, rendered, text, tier, options)
            if isinstance(hidden, str):
                rejected.append(RejectedChange.from_pull_request(pull, EfcbTask.MASKED, hidden, tier))
            else:
                problem = change_problem(
                    pull, rendered, (EfcbTask.MASKED, tier), options,
                    labels={"masked_lines": float(hidden.number), **hidden.labels},
                    shown=Question(text=hidden.ask + text, context=(ContextFile(path=PATCH_FILE, text=hidden.patch),)),
                    reference=hidden.answer,
                    checks=(CriterionCheck(name=CRITERION_NAME, maximum=MAX_JUDGED_SCORE),),
                )  # fmt: skip
                problems.append(problem)
    return problems, rejected


class _HiddenLines(NamedTuple):
    """Hidden lines of a patch: their number, the request, what is shown, the right answer, and labels."""

    number: int
    ask: str
    patch: str
    answer: str
    labels: Mapping[str, Label]


def _hidden_window(
    pull: PullRequest, rendered: RenderedPatch, text: str, tier: str, options: EfcbOptions
) -> _HiddenLines | str:
    windows = find_windows(rendered, cast("MaskTier", tier), text, MASKED_LINES)
    if isinstance(windows, str):
        return windows
    # By the change and the seed alone: another filter or another order of changes leaves every window where it is.
    window = seeded_random(options.seed, f"{EfcbTask.MASKED} {tier}", cluster_id(pull)).choice(windows)
    path, hunks = rendered.files[window.file].path, rendered.files[window.file].hunks.split("\n")
    hunks[window.start : window.stop] = [MASK_PLACEHOLDER] * len(window.text)
    shown = rendered.replace_hunks(window.file, "\n".join(hunks))
    labels: dict[str, Label] = {"mask_path": path, "mask_language": file_language(path)}
    labels["deleted_twin"] = round(window.removed_similarity, 4)
    ask = _REQUEST.format(hidden=len(window.text), mark=MASK_PLACEHOLDER)
    return _HiddenLines(len(window.text), ask, shown.text, "\n".join(window.text), labels)


def _hidden_as_released(
    pull: PullRequest, rendered: RenderedPatch, _text: str, _tier: str, options: EfcbOptions
) -> _HiddenLines | str:
    lines = rendered.text.split("\n")[:-1]
    if len(lines) <= MASKED_LINES:
        return "too_short"
    generator = seeded_random(options.seed, f"{EfcbTask.MASKED} paper", cluster_id(pull))
    start = generator.randrange(len(lines) - MASKED_LINES + 1)
    # Headers and removed lines may be hidden, as in the release: 30 % of its masks contain a hunk header, 12 % a file
    # name or a separator.
    lines[start : start + MASKED_LINES] = [MASK_PLACEHOLDER] * MASKED_LINES
    shown = "\n".join((*lines, ""))
    return _HiddenLines(MASKED_LINES, WHOLE_PATCH_REQUEST, shown, rendered.text, {"whole_patch": "yes"})
