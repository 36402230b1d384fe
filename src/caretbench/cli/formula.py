"""``caretbench formula``: a paper's score of given averages."""

from __future__ import annotations

from typing import Annotated

import typer

from caretbench.cli.common import AsJson, SuiteName, print_json, print_line
from caretbench.errors import UsageError


def formula(
    suite_name: SuiteName,
    averages: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Averages by name. Default: print the formula and the names."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Apply the score formula of a suite's paper to given averages.

    Examples:
      caretbench formula efcb
      caretbench formula efcb gmcq-easy=0.803 gmcq-hard=0.476 mpr-gen=7.23 reverse-qa=3.74 reverse-qa-hallu=0.965
    """
    from caretbench.suites import load_suite

    suite = load_suite(suite_name)
    score_formula = suite.score_formula
    if score_formula is None:
        raise UsageError(f"{suite.title} has no score formula: its results are rates")
    score = score_formula.apply(averages) if averages else None
    if as_json:
        print_json({"formula": score_formula.text, "maxima": dict(score_formula.maxima), "score": score})
    elif score is not None:
        print_line(f"{score_formula.title}: {score:.4f}")
    else:
        print_line(f"{score_formula.title}: {score_formula.text}")
        print_line("\n".join(f"  {name}: from 0 to {maximum:g}" for name, maximum in score_formula.maxima.items()))
