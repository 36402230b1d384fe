"""Share of reports of a model's strengths with at least one claim, on simulated models.

Three languages and four categories with 20 problems each. Without a planted strength all models are equally good, and
every claim is false. The planted strength is 1.2 log odds in Java.

    python benchmarks/strength_pages.py --runs 40
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from caretbench.people.strengths.strength_tests import tested_strengths
from caretbench.problem import Caret, Completion, InlineSplice, Problem, ProgramCheck, Provenance, Score
from caretbench.reports.frame import LoadedRun, build_frame
from caretbench.reports.report_source import ReportSource
from caretbench.reports.results.strengths import ModelStrengths
from caretbench.suites.suite_types import DEFAULT_STRATIFICATION

LANGUAGES = ("python", "java", "go")
CATEGORIES = ("low_context", "pattern_matching", "api_usage", "syntax_completion")
MODELS = ("a", "b", "c")
PLANTED = "java"


def problem(language: str, category: str, number: int) -> Problem:
    """Return a problem with its labels; nothing is executed."""
    return Problem(
        id=f"devbench/{language}/{category}/{number}",
        suite="devbench",
        shown=Caret(language=language, prefix="x = ", suffix=""),
        splice=InlineSplice(before="x = ", after=""),
        reference="1",
        checks=(ProgramCheck(),),
        labels={"language": language, "category": category},
        cluster=f"{language}/{category}/{number}",
        provenance=Provenance(source="simulated"),
    )


def simulated(generator: np.random.Generator, models: int, samples: int, strength: float) -> LoadedRun:
    """Return a run of equal models; the first one is better by ``strength`` log odds in one language."""
    cells = [(language, category) for language in LANGUAGES for category in CATEGORIES]
    problems = [problem(language, category, number) for language, category in cells for number in range(20)]
    scores: list[Score] = []
    completions: list[Completion] = []
    for one in problems:
        hard = generator.normal()
        for place, model in enumerate(MODELS[:models]):
            skill = strength if place == 0 and one.label("language") == PLANTED else 0.0
            for sample in range(samples):
                key: dict[str, Any] = {"problem_id": one.id, "model": model, "sample": sample}
                passed = bool(generator.random() < 1 / (1 + np.exp(hard - skill)))
                rows = {"policy": "syntax", "profile": "default"}
                outcome = {"outcome": "passed" if passed else "failed", "values": {"passed": float(passed)}}
                scores.append(Score(**key, **rows, **outcome, scorer="execution@1"))
                cosine = {"cosine": float(np.clip(generator.normal(0.7, 0.25), 0, 1))}
                scores.append(Score(**key, **rows, values=cosine, scorer="similarity@1"))
                completions.append(Completion(**key, text="1"))
    manifest = {"suite": "devbench", "policy": "syntax", "profile": "default", "seed": 0, "models": []}
    return LoadedRun("simulated", manifest, problems, completions, build_frame(problems, scores))


def claims(found: ModelStrengths) -> Mapping[str, bool]:
    """Return whether a report has any claim, and whether it has the planted contrast."""
    tests = (*found.overall, *found.passes, *found.similarity, *found.answers)
    contrasts = {test.title: test.contrast for test in found.passes if test.contrast is not None}
    planted = contrasts["language Java"]
    any_contrast = any(contrast.distinguishable for contrast in contrasts.values())
    return {
        "any": any_contrast or any(test.row.distinguishable for test in tests),
        "planted": planted.distinguishable and planted.difference > 0,
    }


def main() -> None:
    """Print the shares of reports with a claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    chosen = parser.parse_args()
    print("setting | any claim | Java higher than elsewhere")  # noqa: T201 - a script
    for name, models, samples, strength in (
        ("nothing planted, 3 models, 1 sample", 3, 1, 0.0),
        ("nothing planted, 2 models, 3 samples", 2, 3, 0.0),
        ("+1.2 in Java, 3 models, 1 sample", 3, 1, 1.2),
    ):
        began = time.process_time()
        found = []
        for run in range(chosen.runs):
            simulated_run = simulated(np.random.default_rng([11, run]), models, samples, strength)
            found.append(claims(tested_strengths(ReportSource(simulated_run, DEFAULT_STRATIFICATION), "a")))
        shares = {key: sum(one[key] for one in found) / len(found) for key in ("any", "planted")}
        print(f"{name} | {shares['any']:.1%} | {shares['planted']:.1%} | {time.process_time() - began:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
