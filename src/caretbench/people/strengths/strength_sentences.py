"""Sentences about a model's strengths, made by rules from adjusted paired tests; the rest is not spoken of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from caretbench.metrics.paired import NOT_DISTINGUISHABLE, without_difference
from caretbench.people.strengths.strength_tests import field_title
from caretbench.reports.results.strengths import PASSES, SIMILARITY, ModelStrengths, PartContrast, StrengthTest
from caretbench.text_tables import p_text


def points_range(low: float | None, high: float | None) -> str:
    """Return an interval of a difference of rates in points: ``1.2 to 7.0``; empty if there is none."""
    return number_range(None if low is None else 100 * low, None if high is None else 100 * high, 1)


def number_range(low: float | None, high: float | None, digits: int) -> str:
    """Return an interval with a number of digits: ``0.12 to 0.70``; empty if there is none."""
    return "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def points_interval(low: float | None, high: float | None) -> str:
    """Return an interval of a difference of rates in a sentence: `` [1.2 to 7.0]``; empty if there is none."""
    return _bracketed(points_range(low, high))


def size_interval(low: float | None, high: float | None, *, digits: int | None = None) -> str:
    """Return the interval of the size of a difference, smaller end first; in points, or plain with ``digits``."""
    if low is None or high is None:
        return ""
    # A sentence says "4 points less", so the interval is that of 4 and not of -4.
    ends = (low, high) if low + high >= 0 else (-high, -low)
    return _bracketed(points_range(*ends) if digits is None else number_range(*ends, digits))


def _bracketed(interval: str) -> str:
    return f" [{interval}]" if interval else ""


def p_words(value: float, tests: int = 1) -> str:
    """Return a p value in a sentence: ``p = 0.012``, ``p < 0.001 for 28 tests``."""
    # `p_text` writes `< 0.001` itself then.
    words = f"p {p_text(value)}" if value < 0.001 else f"p = {p_text(value)}"
    return words if tests == 1 else f"{words} for {tests} tests"


def capitalised(text: str) -> str:
    """Return a text with a capital at its beginning; the rest stays."""
    return text[:1].upper() + text[1:]


def joined_names(names: Sequence[str]) -> str:
    """Return names in one text: ``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def strength_sentences(tested: ModelStrengths) -> Iterator[str]:
    """Yield the sentences: overall, stronger and weaker parts, contrasts, similarity, answers, and the conclusion."""
    model = tested.model
    if not tested.field:
        yield f"A strength needs a second model: this run has no other one to compare {model} with."
        return
    if not tested.overall:
        yield f"{model} and {field_title(tested.field)} have no common problem with verdicts."
        return
    field = field_title(tested.field)
    for test in tested.overall:
        yield _overall(model, field, test)
    # Strengths first, then weaknesses, each with the greatest difference first.
    for above in (True, False):
        yield from (_part(field, test) for test in differing(tested.passes, above=above))
    yield from _contrasts(model, field, tested.passes)
    yield from _disagreements(model, tested)
    yield from (
        _answers(model, field, test) for above in (True, False) for test in differing(tested.answers, above=above)
    )
    yield from _conclusion(model, field, tested)


def differing(tests: Sequence[StrengthTest], *, above: bool) -> list[StrengthTest]:
    """Return the tests that found a difference above or below the field, the greatest first."""
    differing = [test for test in tests if test.row.distinguishable and (test.row.difference > 0) is above]
    return sorted(differing, key=lambda test: -abs(test.row.difference))


def _overall(model: str, field: str, test: StrengthTest) -> str:
    row = test.row
    where = "" if row.label == "all" else f"{row.label}: "
    if test.measure == PASSES:
        rate = f"{where}{model} passes {100 * row.first_rate:.1f}% of {row.problems} problems"
    else:
        similarity = f"a mean similarity to the reference of {row.first_rate:.3f}"
        rate = f"{where}{model} has {similarity} over {row.problems} problems"
    if not row.distinguishable:
        undecided = without_difference(row.groups)
        return f"{rate}; the difference to {field} is {undecided} ({_size(test)}{_evidence(test, problems=False)})."
    return f"{rate}, {_size(test)} than {field}{_evidence(test, problems=False)}."


def _part(field: str, test: StrengthTest) -> str:
    row = test.row
    return (
        f"{capitalised(test.title)}: {100 * row.first_rate:.1f}% pass, {100 * row.second_rate:.1f}% of {field}: "
        f"{_size(test)}{_evidence(test)}."
    )


def _contrasts(model: str, field: str, tests: Sequence[StrengthTest]) -> Iterator[str]:
    parts = _different_parts(tests)
    for test, contrast in sorted(parts, key=lambda pair: -pair[1].difference):
        yield (
            f"{capitalised(test.title)}: the difference of {model} to {field} is {100 * abs(contrast.difference):.1f} "
            f"points {contrast_side(contrast)} than on all other problems{size_interval(contrast.low, contrast.high)}, "
            f"{abs(contrast.log_odds):.2f} in log odds"
            f"{size_interval(contrast.log_odds_low, contrast.log_odds_high, digits=2)} "
            f"({p_words(contrast.p_value, contrast.family)}, {test.row.problems} problems)."
        )
    # What was tested and not found is counted; else a reader takes the silence for "equal".
    silent = sum(test.contrast is not None for test in tests) - len(parts)
    if silent:
        yield (
            f"{silent} of {len(parts) + silent} parts: no difference from all other problems holds in points and in "
            f"log odds ({NOT_DISTINGUISHABLE})."
        )


def _different_parts(tests: Sequence[StrengthTest]) -> list[tuple[StrengthTest, PartContrast]]:
    """Return the parts in which the difference to the field is another than elsewhere, with their contrasts."""
    return [(test, test.contrast) for test in tests if test.contrast is not None and test.contrast.distinguishable]


def contrast_side(contrast: PartContrast) -> str:
    """Return whether the difference to the field is higher or lower in a part than elsewhere."""
    return "higher" if contrast.difference > 0 else "lower"


def _disagreements(model: str, tested: ModelStrengths) -> Iterator[str]:
    """Yield the parts in which a model is more similar and passes fewer, or is less similar and passes more."""
    passes = {
        (test.row.scope, test.row.label): test for test in (*tested.overall, *tested.passes) if test.measure == PASSES
    }
    for similar in (*tested.overall, *tested.similarity):
        test = passes.get((similar.row.scope, similar.row.label))
        if similar.measure == PASSES or test is None or not (test.row.distinguishable and similar.row.distinguishable):
            continue
        # Both in one direction is what everybody expects, and needs no sentence.
        if (test.row.difference > 0) is (similar.row.difference > 0):
            continue
        where = "Overall" if similar.row.scope == "all" else capitalised(similar.title)
        link = "and yet fewer answers pass" if similar.row.difference > 0 else "and yet more answers pass"
        yield (
            f"{where}: answers of {model} are {_size(similar)}{_evidence(similar)}, {link}: "
            f"{_size(test)}{_evidence(test)}."
        )


def _answers(model: str, field: str, test: StrengthTest) -> str:
    row = test.row
    return (
        f"{100 * row.first_rate:.1f}% of the answers of {model} {test.title}, {100 * row.second_rate:.1f}% of {field}: "
        f"{100 * abs(row.difference):.1f} points {'more' if row.difference > 0 else 'less'}{_evidence(test)}."
    )


def _conclusion(model: str, field: str, tested: ModelStrengths) -> Iterator[str]:
    told = [differing(tested.passes, above=above) for above in (True, False)]
    for verb, tests in zip(("keep", "improve"), told, strict=True):
        advised = [test for test in tests if not _is_nearly_all(test, tested.overall)]
        if advised:
            yield f"To {verb} in {model}: {_most(advised)}{joined_names([_advice(test) for test in advised])}."
    # A part that differs from elsewhere tells the model from the field, too: its sentence is above.
    if not any(told) and not any(_against_elsewhere(test) for test in tested.passes):
        yield f"No part tells {model} from {field}."
    tests = [*tested.passes, *tested.similarity, *tested.answers]
    silent = sum(not test.row.distinguishable and not _against_elsewhere(test) for test in tests)
    if silent:
        yield f"{silent} of {len(tests)} tests of parts and error kinds found no difference and are not listed above."


MAX_ADVISED: Final = 0.8
"""Share of all problems from which a part is no advice: it is nearly the whole model."""


def _is_nearly_all(test: StrengthTest, overall: Sequence[StrengthTest]) -> bool:
    # A label begins with the part that was judged, where there are several.
    judged = test.row.label.rpartition(": ")[0] or "all"
    return any(
        whole.measure == PASSES and whole.row.label == judged and test.row.problems > MAX_ADVISED * whole.row.problems
        for whole in overall
    )


def _against_elsewhere(test: StrengthTest) -> int:
    """Return 1 if the difference is higher in a part than elsewhere, -1 if it is lower, 0 if neither holds."""
    contrast = test.contrast
    return 0 if contrast is None or not contrast.distinguishable else 1 if contrast.difference > 0 else -1


def _advice(test: StrengthTest) -> str:
    """Return the title of a part, with what its contrast says against it."""
    side = _against_elsewhere(test)
    opposed = side and (side > 0) is not (test.row.difference > 0)
    return f"{test.title} (by less than elsewhere)" if opposed else test.title


def _most(tests: Sequence[StrengthTest]) -> str:
    """Return the parts whose difference is greater than elsewhere, in the same direction: ``above all …; in all, ``."""
    different = _different_parts(tests)
    names = [test.title for test, contrast in different if (contrast.difference > 0) is (test.row.difference > 0)]
    # Where all parts differ from the rest, "above all" would list the whole again.
    return f"above all {joined_names(names)}; in all, " if names and len(names) < len(tests) else ""


def _size(test: StrengthTest) -> str:
    """Return a difference with its direction: ``4.1 points more``, ``0.05 more similar``."""
    row = test.row
    more = "more" if row.difference > 0 else "less"
    if test.measure == PASSES:
        return f"{100 * abs(row.difference):.1f} points {more}"
    return f"{abs(row.difference):.3f} {more} similar" if test.measure == SIMILARITY else f"{row.difference:+.3f}"


def _evidence(test: StrengthTest, *, problems: bool = True) -> str:
    """Return interval, adjusted p value and number of problems."""
    row = test.row
    interval = size_interval(row.low, row.high, digits=3 if test.measure == SIMILARITY else None)
    number = f", {row.problems} problems" if problems else ""
    return f"{interval} ({p_words(row.p_value, row.family)}{number})"
