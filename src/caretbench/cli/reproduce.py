"""``caretbench reproduce``: repeated scoring of one completion, with all details."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from caretbench.cli.common import AsJson, print_line, print_note
from caretbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from caretbench.execution.dispatcher import AnyRequest
    from caretbench.execution.execution_types import ExecutionResult
    from caretbench.extraction import Policy
    from caretbench.problem import Completion, Problem, Score
    from caretbench.runs.run_folder import Manifest, RunFolder


class _Answer(NamedTuple):
    """A stored completion, its problem, the text that a policy inserts, and the rows of scores under that policy."""

    manifest: Manifest
    problem: Problem
    completion: Completion
    policy: Policy
    inserted: str | None
    refusal: str | None
    scores: Mapping[str, Score]
    """Stored rows by their scorer."""

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the policy's steps that changed the text."""
        from caretbench.problem import Caret

        text, shown = self.completion.text, self.problem.shown
        return () if text is None or not isinstance(shown, Caret) else self.policy.apply(text, shown).steps


def reproduce(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    problem_id: Annotated[str, typer.Argument(metavar="PROBLEM", help="Id of the problem.")],
    model: Annotated[str | None, typer.Option(help="Name of the model. Default: the only one of the run.")] = None,
    sample: Annotated[int, typer.Option(help="Number of the sample, from 0.")] = 0,
    parameters: Annotated[
        str | None, typer.Option(metavar="KEY", help="Parameters of the row, where the model has several.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Truncation policy of the run. Default: the leading one.")] = None,
    program: Annotated[bool, typer.Option(help="Print the whole program, or leave it out.")] = True,
    as_json: AsJson = False,
) -> None:
    """Score one completion again without the cache, and print all details.

    Exit status 1 if the verdict is not the stored one.

    Examples:
      caretbench reproduce runs/mine python/low_context/environment-overrides --model reference
    """
    from caretbench.runs import verdict as verdicts
    from caretbench.runs.run_folder import RunFolder

    folder = RunFolder(run)
    manifest = folder.manifest()
    problem = next((entry for entry in folder.problems() if entry.id == problem_id), None)
    if problem is None:
        raise UsageError(f"{run} has no problem {problem_id!r}")
    key = _policy_key(manifest, policy)
    answer = _answer(folder, manifest, problem, _completion(folder, problem_id, model, sample, parameters), key)
    if verdicts.needs_execution(problem):
        _run_again(folder, answer, program=program, as_json=as_json)
    else:
        _measure_again(answer, as_json=as_json)


def _policy_key(manifest: Manifest, policy: str | None) -> str:
    """Return the key of a policy of the run, named with its version or without; of none its leading policy."""
    keys = (manifest.policy, *manifest.further_policies)
    if policy is None:
        return manifest.policy
    if fitting := [key for key in keys if policy in (key, key.partition("@")[0])]:
        return fitting[0]
    raise UsageError(f"the run was not scored under the policy {policy!r}, but under {', '.join(keys)}")


def _answer(folder: RunFolder, manifest: Manifest, problem: Problem, completion: Completion, policy: str) -> _Answer:
    from caretbench.extraction.policies import get_policy
    from caretbench.runs import verdict as verdicts

    rows = (row for row in folder.scores() if row.completion_key == completion.key)
    scores = {row.scorer: row for row in rows if (row.policy, row.profile) == (policy, manifest.profile)}
    used = get_policy(policy)
    inserted = verdicts.inserted_text(completion.text, problem, used)
    refusal = verdicts.refusal(completion.text, problem, used)
    return _Answer(manifest, problem, completion, used, inserted, refusal, scores)


def _run_again(folder: RunFolder, answer: _Answer, *, program: bool, as_json: bool) -> None:
    """Run an answer without the cache, and print its result.

    Raises:
        Exit: the stored verdict is another one.
    """
    from caretbench.runs import verdict as verdicts
    from caretbench.runs.score import REFERENCE
    from caretbench.suites import load_suite

    manifest, problem, completion = answer.manifest, answer.problem, answer.completion
    suite = load_suite(manifest.suite)
    scorer = verdicts.execution_scorer(suite.rules(manifest.profile))
    stored = answer.scores.get(scorer)
    # A reference that the policy changes has the verdict on the changed text, if the unchanged one passed.
    is_reference = completion.model == REFERENCE and not (stored and verdicts.REFERENCE_PASSED in stored.values)
    text, refusal = (completion.text, None) if is_reference else (answer.inserted, answer.refusal)
    request = None if refusal else suite.request(problem, text, manifest.profile, manifest.variants)
    result = _result(_bounded(request, stored, is_reference=is_reference), problem, refusal)
    if is_reference:
        result, flags = verdicts.reference_result(result).result, tuple[str, ...]()
    else:
        result = verdicts.answer_result(result, _reference_waits(folder, problem.id, scorer)).result
        flags = verdicts.answer_flags(text, problem, manifest.profile, result)
    if as_json:
        print_line(json.dumps(result.model_dump(mode="json") | {"flags": list(flags)}, indent=2, ensure_ascii=False))
    else:
        _print_head(answer)
        if text != completion.text:
            print_line(f"--- inserted text ({', '.join(answer.steps)}) ---\n{text}")
        if program and request is not None:
            _print_program(request)
        _print_result(result.model_dump() | {"flags": ", ".join(flags)})
    if stored is not None and stored.outcome != result.status.value:
        print_note(f"the stored outcome is {stored.outcome}, this time it is {result.status.value}")
        # `excluded` or an error of the provider is no verdict that this one could contradict.
        if stored.counted:
            raise typer.Exit(1)


def _reference_waits(folder: RunFolder, problem_id: str, scorer: str) -> bool:
    """Return whether the stored run of a reference ended before a check that never returns."""
    from caretbench.runs.score import REFERENCE

    rows = (
        row for row in folder.scores() if (row.problem_id, row.model, row.scorer) == (problem_id, REFERENCE, scorer)
    )
    return any(row.details.get("waits") for row in rows)


def _bounded(request: AnyRequest | None, stored: Score | None, *, is_reference: bool) -> AnyRequest | None:
    """Return a request with the bound of CPU time that ended the stored run, if one did."""
    from caretbench.execution.execution_types import CPU_FACTOR

    if request is None:
        return None
    bound = stored.details.get("limit_cpu_s") if stored is not None else None
    update = {"reference_cpu_s": bound / CPU_FACTOR} if isinstance(bound, float) else {}
    return request.model_copy(update={"is_reference": is_reference, **update})


def _result(request: AnyRequest | None, problem: Problem, refusal: str | None) -> ExecutionResult:
    """Return the result of a request, run without the cache; of an answer without one the failure."""
    from caretbench.execution.dispatcher import open_executor
    from caretbench.runs import verdict as verdicts

    if request is None:
        return verdicts.result_without_program(problem, refusal)
    [result] = open_executor(1, use_cache=False).submit([request])
    return result


def _print_head(answer: _Answer) -> None:
    completion = answer.completion
    print_line(
        f"{completion.problem_id}  {completion.model}  sample {completion.sample}  {answer.manifest.profile}  "
        f"{answer.policy.key}"
    )
    print_line(f"--- raw text ---\n{completion.text}")


def _print_program(request: AnyRequest) -> None:
    """Print the program, or the changed files of a project."""
    from caretbench.execution.execution_types import ExecutionRequest

    if isinstance(request, ExecutionRequest):
        sources = {"program": request.source}
    else:
        sources = {path: _text(content) for path, content in request.patch.items()}
    for name, source in sources.items():
        print_line(f"--- {name} ---")
        for number, line in enumerate(source.splitlines(), start=1):
            print_line(f"{number:4}  {line}")


def _measure_again(answer: _Answer, *, as_json: bool) -> None:
    """Print the measurements of an answer that is not executed; no judge is asked.

    Raises:
        Exit: a value is not the stored one.
    """
    from caretbench.suites import load_suite

    problem, suite = answer.problem, answer.manifest.suite
    measured = load_suite(suite).measure(problem, answer.inserted, answer.manifest.profile)
    if as_json:
        rows = [{"scorer": measure.scorer, "values": dict(measure.values), **measure.details} for measure in measured]
        content = {"id": problem.id, "text": answer.completion.text, "measured": rows}
        print_line(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        _print_head(answer)
        if answer.inserted != answer.completion.text:
            print_line(f"--- inserted text ({', '.join(answer.steps)}) ---\n{answer.inserted}")
        print_line(f"--- reference ---\n{problem.reference}")
        for measure in measured:
            print_line(f"--- {measure.scorer} ---")
            for name, value in measure.values.items():
                print_line(f"{name}: {value:.4g}")
            for name, detail in measure.details.items():
                if detail:
                    print_line(f"{name}: {detail}")
        print_line(f"prompt: caretbench show {suite} {problem.id} --data …")
    differing = [
        f"{name} ({stored.values[name]:g} stored, {value:g} now)"
        for measure in measured
        if (stored := answer.scores.get(measure.scorer)) is not None
        for name, value in measure.values.items()
        if name in stored.values and not math.isclose(stored.values[name], value, rel_tol=1e-9, abs_tol=1e-12)
    ]
    if differing:
        print_note(f"the stored values differ: {', '.join(differing)}")
        raise typer.Exit(1)


def _text(content: str | bytes | None) -> str:
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else content or ""


def _completion(
    folder: RunFolder, problem_id: str, model: str | None, sample: int, parameters: str | None
) -> Completion:
    """Return the only stored completion of the problem with these values; without a model, not one of a baseline.

    Raises:
        UsageError: there is none, or there are several; the message names them.
    """
    from caretbench.suites import baselines_of_run

    baselines = baselines_of_run(folder.manifest().suite)
    stored = [row for row in folder.completions() if row.problem_id == problem_id and not row.at]
    rows = [row for row in stored if row.sample == sample and parameters in (None, row.parameters)]
    if model is not None:
        rows = [row for row in rows if row.model == model]
    elif any(row.model not in baselines for row in rows):
        rows = [row for row in rows if row.model not in baselines]
    if len(rows) == 1:
        return rows[0]
    choice = "name one by --model, --sample and --parameters"
    if rows:
        known = ", ".join(sorted(f"{row.model} with parameters {row.parameters}" for row in rows))
        raise UsageError(f"{len(rows)} completions are possible ({known}); {choice}")
    known = ", ".join(sorted({f"{row.model} sample {row.sample}" for row in stored})) or "none"
    raise UsageError(f"no such completion of {problem_id!r}; stored are {known}; {choice}")


def _print_result(result: dict[str, object]) -> None:
    print_line("--- outcome ---")
    for name, value in result.items():
        if name in ("stdout", "stderr", "diagnostics") or value in (None, "", {}):
            continue
        print_line(f"{name}: {value}")
    for name in ("diagnostics", "stdout", "stderr"):
        value = result[name]
        shown = value["text"] if isinstance(value, dict) else value
        if shown:
            print_line(f"--- {name} ---\n{shown}")
