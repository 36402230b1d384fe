"""Answers to MPR-Gen: parsing of the lines that replace the masks, and their scores without a judge.

Only these lines are requested. If an answer is a patch or a hunk, its lines are those between the shown lines before
and after the masks.

CodeBLEU is not among the measures: its package (``codebleu`` 0.7.0 of 2024) needs tree-sitter below 0.23 and
matching grammars, which conflict with those used here. Its parts beyond n-grams, names and syntax, are measured
separately.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.similarity import similarities
from caretbench.metrics.text_overlap import bag_overlap, chrf
from caretbench.problem import Problem, Question
from caretbench.profiles import PROFILES
from caretbench.suites.answer_kinds import measured_kinds
from caretbench.suites.efcb.choices import remove_reasoning
from caretbench.suites.suite_types import Measurement
from caretbench.syntax.source import grammar_of
from caretbench.syntax.uses.identifiers import identifiers

MASK_PLACEHOLDER: Final = "[[MASK]]"


_FENCED: Final = re.compile(r"^(```+|~~~+)[^\n`]*\n(.*?)(?:^\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_HEADER: Final = re.compile(r"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_FRAME: Final = re.compile(r"@@(?:\s|$)|diff --git |index [0-9a-f]{6,}\.\.|(?:---|\+\+\+) (?:[ab]/|/dev/null)|---$")
_MAX_LINES: Final = 1_000
"""Maximum number of lines of an answer that are parsed; longer answers repeat themselves."""


class MaskedHunk(NamedTuple):
    """The hunk with the masks: its shown lines before and after them, with diff marks.

    It is the hunk with index ``hunk_index`` of ``hunk_count`` hunks in the patch.
    """

    before: tuple[str, ...]
    mask_count: int
    after: tuple[str, ...]
    hunk_index: int
    hunk_count: int

    def split_new_side(self, lines: Sequence[str]) -> tuple[str, str]:
        """Return the hunk's new side before the masks, and the rest of it with ``lines`` for the masks."""
        before = [line[1:] for line in self.before if line[:1] in ("", " ", "+")]
        after = [line[1:] for line in self.after if line[:1] in ("", " ", "+")]
        return "\n".join((*before, "")), "\n".join((*lines, *after))


def find_masked_hunk(patch: str) -> MaskedHunk:
    """Return the hunk with the masks, by the line counts of its header.

    Raises:
        ValueError: the patch has no masks, or they are not inside one hunk (as in the ``paper`` profile).
    """
    shown = patch.split("\n")
    first = shown.index(MASK_PLACEHOLDER) if MASK_PLACEHOLDER in shown else 0
    top = next((index for index in range(first, -1, -1) if shown[index].startswith("@@")), None)
    header = _HEADER.match(shown[top]) if top is not None else None
    if top is None or header is None or MASK_PLACEHOLDER not in shown:
        raise ValueError("the patch has no masks inside a hunk")
    old, new = (int(header[name] or 1) for name in ("old", "new"))
    index = top + 1
    while index < len(shown) and (old > 0 or new > 0):
        # A mask stands for an added line, and an empty line for a kept one whose space an editor has removed.
        mark = "+" if shown[index] == MASK_PLACEHOLDER else shown[index][:1]
        old -= mark in ("", " ", "-")
        new -= mark in ("", " ", "+")
        index += 1
    masks = next((count for count in range(index - first) if shown[first + count] != MASK_PLACEHOLDER), index - first)
    headers = [number for number, line in enumerate(shown) if line.startswith("@@")]
    before, after = tuple(shown[top + 1 : first]), tuple(shown[first + masks : index])
    return MaskedHunk(before, masks, after, headers.index(top), len(headers))


def parse_masked_answer(text: str | None, patch: str) -> tuple[str, ...]:
    """Return the lines of an answer that replace the masks of a shown patch, without plus signs.

    Reasoning, fences (the longest block counts) and plus signs are removed. If the answer is a hunk or a patch, the
    lines are those between the shown lines. Answers with too many lines lose shown lines that they repeat at their
    ends.
    """
    hunk = find_masked_hunk(patch)
    body = unwrap_answer(text) or ""
    lines = _trim_blank_lines([line for line in body.split("\n")[:_MAX_LINES] if line.strip() != MASK_PLACEHOLDER])
    if any(map(_FRAME.match, lines)):
        lines = _lines_between(_masked_part(lines, hunk), hunk)
    # An answer of the requested length is taken as it is: a hidden line may equal the shown one next to it, `return
    # null` for example.
    elif len(lines) > hunk.mask_count:
        lines = _remove_repeated_context(lines, hunk)
    return _strip_plus_signs(_trim_blank_lines(lines))


def unwrap_answer(text: str | None) -> str | None:
    """Return an answer without reasoning, or its longest fenced block; None if reasoning never ends."""
    said = remove_reasoning((text or "").replace("\r\n", "\n"))
    if said is None:
        return None
    blocks = [block[2] for block in _FENCED.finditer(said)]
    return max(blocks, key=len) if blocks else said


def _trim_blank_lines(lines: list[str]) -> list[str]:
    """Return the lines without blank ones at both ends."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _strip_plus_signs(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without plus signs if most of them have one."""
    filled = [line for line in lines if line.strip()]
    if 2 * sum(line.startswith("+") for line in filled) < len(filled):
        return tuple(lines)
    # No hidden line begins with a plus sign (`find_windows` refuses those), so it is the mark of a diff. Most lines
    # must have one: `+x` may continue an expression.
    return tuple(line.removeprefix("+") for line in lines if not line.startswith("-"))


def _key(line: str) -> str:
    """Return a line for comparison, without diff mark and white space at its ends."""
    return (line[1:] if line[:1] in ("+", "-", " ") else line).strip()


def _remove_repeated_context(lines: list[str], hunk: MaskedHunk) -> list[str]:
    """Return the lines without shown lines repeated at their start and end.

    Removed lines may be repeated or missing.
    """
    keys = [_key(line) for line in lines]
    spare = len(lines) - hunk.mask_count
    head = _count_repeated(keys, hunk.before, spare, at_end=False)
    tail = _count_repeated(keys, hunk.after, spare - head, at_end=True)
    return lines[head : len(lines) - tail]


def _count_repeated(keys: Sequence[str], shown: Sequence[str], most: int, *, at_end: bool) -> int:
    """Return the number of lines at one end of an answer that are shown next to the masks."""
    whole = [_key(line) for line in shown]
    # An answer may repeat its surroundings as the new file, without the removed lines, or as the patch, with them.
    kept = [_key(line) for line in shown if not line.startswith("-")]
    for count in range(most, 0, -1):
        part = list(keys[-count:] if at_end else keys[:count])
        if any(part == (lines[:count] if at_end else lines[-count:]) for lines in (whole, kept)):
            return count
    return 0


def _masked_part(lines: Sequence[str], hunk: MaskedHunk) -> list[str]:
    """Return the hunk of an answer that contains the masks.

    If the answer has all hunks, it has the same index; else it has the most shown lines, or is the longest.
    """
    parts: list[list[str]] = [[]]
    hunks: list[list[str]] = []
    for line in lines:
        if _FRAME.match(line):
            parts.append([])
            if line.startswith("@@"):
                hunks.append(parts[-1])
        else:
            parts[-1].append(line)
    # By its index, because two hunks of one patch, of two tests for example, may share most of their lines.
    if len(hunks) == hunk.hunk_count:
        return hunks[hunk.hunk_index]
    shown = Counter(key for line in (*hunk.before, *hunk.after) if (key := _key(line)))
    return max(parts, key=lambda part: ((Counter(map(_key, part)) & shown).total(), len(part)))


def _lines_between(lines: Sequence[str], hunk: MaskedHunk) -> list[str]:
    """Return the lines between the best matches of the shown lines; the most lines if matches tie."""
    keys = [_key(line) for line in lines]
    before = _matched_lengths(keys, [_key(line) for line in hunk.before])
    after = _matched_lengths(keys[::-1], [_key(line) for line in hunk.after][::-1])[::-1]
    # The shortest start with the same number of matches leaves the most lines.
    starts = [before.index(matched) for matched in before]
    stop = max(range(len(keys) + 1), key=lambda cut: (before[cut] + after[cut], cut - starts[cut]))
    return list(lines[starts[stop] : stop])


def _matched_lengths(keys: Sequence[str], shown: Sequence[str]) -> list[int]:
    """Return the longest common subsequence with ``shown`` for each prefix of ``keys``."""
    # The alignment takes a step for each line of the answer and each shown line; `_MAX_LINES` bounds the first, the
    # 7,500 characters of a patch the second.
    lengths = [0]
    row = [0] * (len(shown) + 1)
    for key in keys:
        diagonal = 0
        for index, line in enumerate(shown, start=1):
            above = row[index]
            row[index] = diagonal + 1 if key == line else max(above, row[index - 1])
            diagonal = above
        lengths.append(row[-1])
    return lengths


PATCH_FILE: Final = "patch.diff"
"""Name of the context file with the patch."""


CRITERION_NAME: Final = "efcb-masked"


WHOLE_PATCH_TIER: Final = PROFILES[0]
"""Tier in which the whole patch is requested, as released."""


WHOLE_PATCH_REQUEST: Final = (
    f"A patch makes the change that the following text describes. Some of its lines are hidden; a line "
    f"{MASK_PLACEHOLDER} stands for each. Write the whole patch, with the right lines in the place of the hidden ones "
    "and all others as they are. Answer with the patch alone.\n\n"
)


MAIN_MEASURE: Final = "edit_similarity"
"""Measure from which the value of copying is subtracted."""
MEASURE_NAMES: Final = ("exact_match", MAIN_MEASURE, "identifier_f1", "chrf")

_NAME: Final = re.compile(r"[^\W\d]\w*")


class MaskedPatch(NamedTuple):
    """The patch that a problem shows, and its hunk with masks; None if the whole patch is requested."""

    patch: str
    hunk: MaskedHunk | None
    grammar: str | None


def read_masked_patch(problem: Problem) -> MaskedPatch:
    """Return the patch that a problem of MPR-Gen shows.

    Raises:
        ValueError: it is no such problem.
    """
    shown = problem.shown
    if not isinstance(shown, Question) or len(shown.context) != 1 or MASK_PLACEHOLDER not in shown.context[0].text:
        raise ValueError(f"{problem.id} shows no patch with masks")
    patch = shown.context[0].text
    if problem.labels.get("tier") == WHOLE_PATCH_TIER:
        return MaskedPatch(patch, None, None)
    return MaskedPatch(patch, find_masked_hunk(patch), grammar_of(problem.label("mask_path")))


def masked_scores(problem: Problem, text: str | None) -> Mapping[str, float]:
    """Return the measures of one raw answer, each from 0 to 1.

    ``exact_match`` and ``edit_similarity`` (normalised Levenshtein) ignore white space at line ends; ``identifier_f1``
    and ``chrf`` count shared identifiers and character n-grams. ``syntax_valid`` is 1 unless the hunk's new side has
    more syntax errors than with the reference; only for languages with a grammar. ``answered`` is 1 unless the answer
    is empty. ``floor`` is the best edit similarity of copying in this problem (``floor_…``: each kind of copying),
    ``net`` is the answer's edit similarity minus the floor.
    """
    shown = read_masked_patch(problem)
    lines = _written(text, shown)
    floors = _floors(problem.id, problem.reference, shown)
    values = _measures(lines, problem.reference, shown)
    # A judge and a similarity both give an empty answer 0; only this tells silence from a wrong answer.
    values["answered"] = float(bool(lines.strip()))
    best = max(floors.values())
    return (
        values
        | {f"floor_{name}": value for name, value in floors.items()}
        | {"floor": best, "net": values[MAIN_MEASURE] - best}
    )


def masked_error_kinds(problem: Problem, text: str | None) -> list[Measurement]:
    """Return the error kinds of the written lines in their hunk's new side; nothing where the whole patch is asked."""
    shown = read_masked_patch(problem)
    if shown.hunk is None:
        return []
    before, after = shown.hunk.split_new_side(())
    place = CaretPlace(before, f"\n{after}", shown.grammar or "")
    return [measured_kinds(_written(text, shown), problem.reference, place)]


def _written(text: str | None, shown: MaskedPatch) -> str:
    if shown.hunk is None:
        return unwrap_answer(text) or ""
    return "\n".join(parse_masked_answer(text, shown.patch))


def _measures(lines: str, reference: str, shown: MaskedPatch) -> dict[str, float]:
    if not lines.strip():
        return dict.fromkeys(MEASURE_NAMES, 0.0) | ({"syntax_valid": 0.0} if shown.grammar else {})
    (alike,) = similarities([(_even(lines), _even(reference))])
    names, faults = _names(lines, shown)
    right_names, right_faults = _names(reference, shown)
    values = {
        "exact_match": alike.exact_match,
        MAIN_MEASURE: alike.levenshtein_similarity,
        "identifier_f1": bag_overlap(names, right_names).f1,
        "chrf": chrf(lines, reference),
    }
    # A hunk begins and ends anywhere, so that the reference may have syntax errors, too.
    return values | ({"syntax_valid": float(faults <= right_faults)} if shown.grammar else {})


def _even(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


@lru_cache(maxsize=256)
def _names(lines: str, shown: MaskedPatch) -> tuple[tuple[str, ...], int]:
    """Return the identifiers of the lines in their hunk, and the hunk's syntax errors with them."""
    if shown.hunk is None or shown.grammar is None:
        return tuple(_NAME.findall(lines)), 0
    before, after = shown.hunk.split_new_side(lines.split("\n"))
    read = identifiers(before + after, shown.grammar)
    first = before.count("\n")
    rows = range(first, first + lines.count("\n") + 1)
    return tuple(name.name for name in read.names if name.row in rows), read.errors


def copy_previous_lines(shown: MaskedPatch) -> str:
    """Return the new side's shown lines before the masks, as many as are hidden; or the patch alone."""
    if shown.hunk is None:
        return "\n".join(line for line in shown.patch.split("\n") if line != MASK_PLACEHOLDER)
    before = shown.hunk.split_new_side(())[0].split("\n")[:-1]
    return "\n".join(before[-shown.hunk.mask_count :])


def copy_removed_lines(shown: MaskedPatch) -> str:
    """Return the removed lines right before the masks, else all of the hunk; empty for a whole patch."""
    if shown.hunk is None:
        return ""
    run: list[str] = []
    for line in reversed(shown.hunk.before):
        if not line.startswith("-"):
            break
        run.insert(0, line[1:])
    everything = [line[1:] for line in (*shown.hunk.before, *shown.hunk.after) if line.startswith("-")]
    return "\n".join(run or everything)


# Removed lines reach .494 in tier `changed`; under `paper` the shown patch without its masks reaches .897.
COPY_BASELINES: Final[Mapping[str, Callable[[MaskedPatch], str]]] = {
    "copy_previous_lines": copy_previous_lines,
    "deleted_lines": copy_removed_lines,
    "empty": lambda _shown: "",
}
"""Copying baselines by name."""


@lru_cache(maxsize=1024)
def _floors(_identity: str, reference: str, shown: MaskedPatch) -> dict[str, float]:
    # The floor is that of the problem: all models and samples share it, and copying is measured once.
    return {name: _measures(write(shown), reference, shown)[MAIN_MEASURE] for name, write in COPY_BASELINES.items()}
