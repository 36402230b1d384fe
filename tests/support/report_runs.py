"""A made-up run that looks like a real one: six languages, six categories, two models, the four baselines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import vl_convert

from caretbench.problem import Caret, Completion, InlineSplice, Problem, ProgramCheck, Provenance, Score
from caretbench.reports.frame import LoadedRun, build_frame

LANGUAGES = ("python", "javascript", "typescript", "java", "cpp", "c_sharp")
CATEGORIES = (
    "api_usage", "code2NL_NL2code", "code_purpose_understanding", "low_context", "pattern_matching",
    "syntax_completion",
)  # fmt: skip
SKILL = {"gpt-4o": 0.77, "Ministral-3B": 0.49}
FAILURES = ("failed", "failed", "runtime_error", "compile_error", "unresolved_import", "timeout", "incomplete")
XSS = "</script><script>window.attacked = true</script><!-- <img src=x onerror='window.attacked = true'>"


def to_svg(spec: dict[str, Any]) -> str:
    """A chart of a page, drawn without a browser."""
    return str(vl_convert.vegalite_to_svg({**spec, "width": 720}))


def make_problem(language: str, category: str, number: int, **changes: object) -> Problem:
    prefix = f"# {category} {number}\n" + "".join(
        f"def helper_{i}(value):\n    return value + {i}\n\n" for i in range(9)
    )
    reference = f"    total = sum(item.price for item in items)\n    return round(total * {number}, 2)\n"
    fields: dict[str, object] = {
        "id": f"devbench/{language}/{category}/{number}",
        "suite": "devbench",
        "shown": Caret(language=language, prefix=prefix + "def total(items):\n", suffix="\nprint(total(basket))\n"),
        "splice": InlineSplice(before=prefix, after="\nprint(total(basket))\n"),
        "reference": reference,
        "checks": (ProgramCheck(),),
        "labels": {"language": language, "category": category, "mode": "suffix" if number % 4 else "none"},
        "cluster": f"devbench/{language}/{category}/{number}",
        "provenance": Provenance(source="made up"),
    }
    return Problem.model_validate(fields | changes)


def score(
    problem: Problem, model: str, sample: int, outcome: str, profile: str, cosine: float, line0: float
) -> Iterator[Score]:
    common = {"problem_id": problem.id, "model": model, "sample": sample, "policy": "syntax", "profile": profile}
    counted = outcome not in {"skipped", "sandbox_error", "missing_dependency"}
    details = {} if outcome == "passed" else {"stage": "run", "stderr": f"AssertionError: expected 42 ({outcome})"}
    yield Score.model_validate(
        common
        | {
            "scorer": "execution@1", "counted": counted, "outcome": outcome, "details": details,
            "values": {"passed": float(outcome == "passed")} if counted else {},
        }
    )  # fmt: skip
    names = ("line0_cosine", "line0_match") if profile == "paper" else ("cosine", "line0_exact_match")
    values = dict(zip(names, (cosine, line0), strict=True))
    if profile == "default":
        values |= {"indel_similarity": 0.5 + cosine / 2}
    yield Score.model_validate(common | {"scorer": "similarity@1", "values": values})


def text_of(problem: Problem, quality: float, randomness: random.Random) -> str:
    lines = problem.reference.splitlines(keepends=True)
    variants = (
        problem.reference,
        lines[0] + "\n" + lines[1],
        lines[0].replace("item.price", "item.cost") + lines[1],
        "    amount = 0\n    for entry in items:\n        amount += entry.price\n    return amount\n",
    )
    place = 0 if quality > 0.75 else randomness.randrange(len(variants))
    return variants[place]


def make_run(
    per_cell: int = 6, samples: int = 3, profiles: tuple[str, ...] = ("default",), seed: int = 7, name: str = "demo"
) -> LoadedRun:
    randomness = random.Random(seed)  # noqa: S311  # made-up data
    problems = [
        make_problem(language, category, number)
        for language in LANGUAGES
        for category in CATEGORIES
        for number in range(1, per_cell + 1)
    ]
    completions: list[Completion] = []
    scores: list[Score] = []
    unrunnable = {
        problem.id for problem in problems if problem.label("language") == "c_sharp" and problem.id.endswith("/1")
    }
    reference_fails = {problem.id for problem in problems if problem.id.endswith("low_context/2")}
    for problem in problems:
        ease = randomness.gauss(0.0, 0.2) + 0.03 * LANGUAGES.index(problem.label("language"))
        for model, skill in SKILL.items():
            for sample in range(samples):
                quality = min(1.0, max(0.0, skill + ease + randomness.gauss(0.0, 0.2)))
                text = text_of(problem, quality, randomness)
                completions.append(
                    Completion(problem_id=problem.id, model=model, parameters="none", sample=sample, text=text)
                )
                outcome = "passed" if quality > 0.5 else randomness.choice(FAILURES)
                outcome = (
                    "skipped" if problem.id in unrunnable else "failed" if problem.id in reference_fails else outcome
                )
                cosine = min(1.0, max(0.0, 0.3 + 0.6 * quality + randomness.gauss(0.0, 0.18)))
                for profile in profiles:
                    scores += score(problem, model, sample, outcome, profile, cosine, float(cosine > 0.85))
        for baseline, text in {
            "reference": problem.reference,
            "empty": "",
            "stub": "    pass\n",
            "copy-context": "x\n",
        }.items():
            completions.append(Completion(problem_id=problem.id, model=baseline, text=text))
            passes = baseline == "reference" or (baseline == "empty" and problem.id.endswith("syntax_completion/3"))
            passes = passes and problem.id not in reference_fails
            outcome = "skipped" if problem.id in unrunnable else "passed" if passes else "failed"
            for profile in profiles:
                scores += score(problem, baseline, 0, outcome, profile, float(baseline == "reference"), 0.0)
    completions[0] = completions[0].model_copy(update={"text": XSS})
    if samples > 1:  # differs from the reference by one blank
        blank = problems[0].reference.replace("= ", "=  ")
        completions[1] = completions[1].model_copy(update={"text": blank})
    verdicts = {
        problem.id: "invalid"
        if problem.id.endswith("syntax_completion/3")
        else "unverified"
        if place % 17 == 0
        else "valid"
        for place, problem in enumerate(problems)
    }
    manifest = {
        "schema_version": 1, "suite": "devbench", "policy": "syntax", "profile": profiles[0], "seed": 0,
        "data": {"name": "devbench", "hash": "3f9a" * 16, "problems": len(problems), "selected": len(problems)},
        "models": [{"model": model, "source": "recorded", "parameters": "none"} for model in SKILL],
        "versions": {"caretbench": "0.1.0", "python": "3.11.7"},
        "toolchains": {"python": {"version": "3.11.7", "fingerprint": "a1"}},
        "isolation": {"backend": "bubblewrap", "level": "namespaces", "memory": "watchdog", "network": "none"},
        "excluded": {},
    }  # fmt: skip
    return LoadedRun(name, manifest, problems, completions, build_frame(problems, scores, verdicts))
