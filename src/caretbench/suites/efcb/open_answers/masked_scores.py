"""Scores of MPR-Gen answers without a judge, and the value of copying.

CodeBLEU is not among the measures: its package (``codebleu`` 0.7.0 of 2024) needs tree-sitter below 0.23 and
matching grammars, which conflict with those used here. Its parts beyond n-grams, names and syntax, are measured
separately.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.similarity import similarities
from caretbench.metrics.text_overlap import bag_overlap, chrf
from caretbench.problem import Problem, Question
from caretbench.suites.answer_kinds import measured_kinds
from caretbench.suites.efcb.open_answers.mask_windows import MASK_PLACEHOLDER
from caretbench.suites.efcb.open_answers.masked_answers import (
    WHOLE_PATCH_TIER,
    MaskedHunk,
    find_masked_hunk,
    parse_masked_answer,
    unwrap_answer,
)
from caretbench.suites.suite_types import Measurement
from caretbench.syntax.source import grammar_of
from caretbench.syntax.uses.identifiers import identifiers

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
    return parse_masked_answer(text, shown.patch).text


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


COPY_BASELINES: Final[Mapping[str, Callable[[MaskedPatch], str]]] = {
    "copy_previous_lines": copy_previous_lines,
    "deleted_lines": copy_removed_lines,
    "empty": lambda _shown: "",
}
"""Copying baselines by name."""


@lru_cache(maxsize=1024)
def _floors(_identity: str, reference: str, shown: MaskedPatch) -> dict[str, float]:
    return {name: _measures(write(shown), reference, shown)[MAIN_MEASURE] for name, write in COPY_BASELINES.items()}
