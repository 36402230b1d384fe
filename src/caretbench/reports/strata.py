"""Strata of a run's problems: by one label or several crossed labels; numbers are binned into ranges.

Problems have raw numbers, which are binned only in summaries: at the paper's bounds under the ``paper`` profile, at the
terciles of the run's problems in each language under ``default``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from caretbench.grouping import grouped
from caretbench.languages import languages
from caretbench.metrics.binning import bin_index, bin_title, quantile_bounds
from caretbench.problem import Caret, Problem
from caretbench.profiles import profile_named, rules_of
from caretbench.runs.verdict import has_verdicts
from caretbench.suites.suite_types import Stratification

EVERY_LANGUAGE = "*"
PRESET = "@paper"
"""Suffix of a label's name for binning at the paper's bounds under every profile."""

SEPARATOR = " / "
"""Separator between the names of crossed labels."""

Value = tuple[int, str]
"""Sort index and text of a label's value; the index is 0 for words."""

_NAMES: Mapping[int, tuple[Value, ...]] = {
    1: ((0, "all"),),
    2: ((0, "short"), (2, "long")),
    3: ((0, "short"), (1, "medium"), (2, "long")),
}


class StratumPart(NamedTuple):
    """Problems with the same labels; ``order`` is the sort key of the part."""

    labels: Mapping[str, str]
    order: tuple[int, ...]
    problems: frozenset[str]


class Stratum(NamedTuple):
    """Parts of the problems by one or several labels; ``note`` describes bins of numbers and overlapping parts."""

    name: str
    parts: tuple[StratumPart, ...]
    note: str = ""


class HeadlinePart(NamedTuple):
    """Part of the problems that a suite keeps apart: the labels that tell it from other parts, and its title."""

    labels: Mapping[str, str]
    title: str
    problems: frozenset[str]


def headline_parts(problems: Iterable[Problem], stratification: Stratification) -> list[HeadlinePart]:
    """Return the parts by the suite's ``headline_labels``; nothing if there are fewer than two.

    A label with one value over all parts is omitted.
    """
    names, words = stratification.headline_labels, stratification.part_words
    held: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for problem in filter(has_verdicts, problems):
        held[tuple(problem.label(name) if name in problem.labels else "" for name in names)].add(problem.id)
    if len(held) < 2:
        return []
    varying = [index for index in range(len(names)) if len({values[index] for values in held}) > 1]
    return [
        HeadlinePart(
            {names[index]: values[index] for index in varying if values[index]},
            " ".join(words.get(values[index], values[index]) for index in varying if values[index]),
            frozenset(held[values]),
        )
        for values in sorted(held)
    ]


def label_title(name: str) -> str:
    """Return the name of a label as shown in a report."""
    return f"{name.removesuffix(PRESET)} (paper's bounds)" if name.endswith(PRESET) else name


def stratum_name(names: Sequence[str]) -> str:
    """Return the name of a stratum: the titles of its labels."""
    return SEPARATOR.join(map(label_title, names))


def strata_of(problems: Sequence[Problem], profile: str, stratification: Stratification) -> tuple[Stratum, ...]:
    """Return the strata of a run's problems; strata without problems are omitted."""
    wanted = [
        names
        for names in dict.fromkeys((*((name,) for name in stratification.labels), *stratification.crossed))
        if not rules_of(profile_named(profile)).paper_bounds or not any(name.endswith(PRESET) for name in names)
    ]
    values: dict[str, Mapping[str, tuple[Value, ...]]] = {}
    notes: dict[str, str] = {}
    for name in dict.fromkeys(name for names in wanted for name in names):
        values[name], notes[name] = _values(name, problems, profile, stratification)
    strata = []
    for names in wanted:
        parts = tuple(_parts(names, problems, values))
        if parts:
            note = " ".join(notes[name] for name in names if notes[name])
            strata.append(Stratum(stratum_name(names), parts, note))
    return tuple(strata)


def _parts(
    names: tuple[str, ...], problems: Sequence[Problem], values: Mapping[str, Mapping[str, tuple[Value, ...]]]
) -> Iterator[StratumPart]:
    held: dict[tuple[Value, ...], set[str]] = defaultdict(set)
    for problem in problems:
        for combination in product(*(values[name].get(problem.id, ()) for name in names)):
            held[combination].add(problem.id)
    for combination, ids in sorted(held.items()):
        labels = dict(zip(map(label_title, names), (text for _, text in combination), strict=True))
        yield StratumPart(labels, tuple(index for index, _ in combination), frozenset(ids))


def _values(
    name: str, problems: Sequence[Problem], profile: str, stratification: Stratification
) -> tuple[Mapping[str, tuple[Value, ...]], str]:
    """Return the values of one label by problem, and a note for the reader."""
    label_name, name = name, name.removesuffix(PRESET)
    words: dict[str, tuple[Value, ...]] = {}
    numbers: dict[str, tuple[str, float]] = {}
    several = False
    for problem in problems:
        label = problem.labels.get(name, _language(problem) if name == "language" else None)
        if isinstance(label, str):
            words[problem.id] = ((0, label),)
        elif isinstance(label, list):
            words[problem.id] = tuple((0, entry) for entry in dict.fromkeys(label))
            several = several or len(label) > 1
        elif label is not None:
            numbers[problem.id] = (_language(problem) or EVERY_LANGUAGE, label)
    if not numbers:
        return words, f"A problem may count in several parts of {name.replace('_', ' ')}." if several else ""
    preset = (
        stratification.paper_bounds.get(name, {})
        if rules_of(profile_named(profile)).paper_bounds or label_name != name
        else {}
    )
    bounds = _bounds(numbers, preset)
    cut = {
        identity: (_part(bin_index(number, bounds[language]), bounds[language]),)
        for identity, (language, number) in numbers.items()
    }
    return cut, _cuts(name, bounds, "the paper's bounds" if preset else "terciles of these problems")


def _bounds(
    numbers: Mapping[str, tuple[str, float]], preset: Mapping[str, tuple[float, ...]]
) -> Mapping[str, tuple[float, ...]]:
    """Return the bounds by language: preset ones, else terciles of the language's numbers."""
    by_language = grouped(numbers.values())
    default = preset.get(EVERY_LANGUAGE)
    return {
        language: preset[language] if language in preset else default or quantile_bounds(values)
        for language, values in sorted(by_language.items())
    }


def _part(index: int, bounds: Sequence[float]) -> Value:
    """Return index and name of a bin; ``long`` is the same bin, even if languages have different numbers of bins."""
    names = _NAMES.get(len(bounds) + 1)
    return names[index] if names else (index, f"part {index + 1}")


def _cuts(name: str, bounds: Mapping[str, tuple[float, ...]], source: str) -> str:
    by_cut = grouped(
        (cut, languages()[language].title if language in languages() else "") for language, cut in bounds.items()
    )
    texts = [
        f"{', '.join(filter(None, titles))} {', '.join(bin_title(place, cut) for place in range(len(cut) + 1))}"
        for cut, titles in by_cut.items()
    ]
    return f"{name.replace('_', ' ').capitalize()} ({source}): {'; '.join(text.strip() for text in texts)}."


def _language(problem: Problem) -> str | None:
    label = problem.labels.get("language")
    if isinstance(label, str):
        return label
    return problem.shown.language if isinstance(problem.shown, Caret) else None
