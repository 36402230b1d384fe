"""``caretbench reproduce``: repeated scoring of one completion, with all details."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from caretbench.cli.common import AsJson, print_line, print_note
from caretbench.errors import UsageError

if TYPE_CHECKING:
    from caretbench.execution.dispatcher import AnyRequest
    from caretbench.execution.execution_types import ExecutionResult
    from caretbench.problem import Completion, Problem, Score
    from caretbench.runs.run_folder import Manifest, RunFolder


def reproduce(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    problem_id: Annotated[str, typer.Argument(metavar="PROBLEM", help="Id of the problem.")],
    model: Annotated[str | None, typer.Option(help="Name of the model. Default: the only one of the run.")] = None,
    sample: Annotated[int, typer.Option(help="Number of the sample, from 0.")] = 0,
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
    from caretbench.runs.score import REFERENCE
    from caretbench.suites import load_suite

    folder = RunFolder(run)
    manifest = folder.manifest()
    problem = next((entry for entry in folder.problems() if entry.id == problem_id), None)
    if problem is None:
        raise UsageError(f"{run} has no problem {problem_id!r}")
    completion = _completion(folder, problem_id, model, sample)
    if not verdicts.needs_execution(problem):
        _print_measurements(folder, manifest, problem, completion, as_json=as_json)
        return
    suite = load_suite(manifest.suite)
    stored = _find_score(folder, completion, verdicts.execution_scorer(suite.rules(manifest.profile)))
    is_reference = completion.model == REFERENCE and not (stored and verdicts.REFERENCE_PASSED in stored.values)
    text, steps, refusal = completion.text, tuple[str, ...](), None
    if not is_reference:
        text, steps, refusal = _inserted_text(completion, problem, manifest.policy)
    request = None if refusal else suite.request(problem, text, manifest.profile, manifest.variants)
    result = _result(_bounded(request, stored), problem, refusal)
    flags = () if is_reference else verdicts.answer_flags(text, problem, manifest.profile)
    if is_reference:
        result = result.model_copy(update={"status": result.status.for_reference(result.missing_module)})
    if as_json:
        print_line(json.dumps(result.model_dump(mode="json") | {"flags": list(flags)}, indent=2, ensure_ascii=False))
    else:
        print_line(f"{problem_id}  {completion.model}  sample {sample}  {manifest.profile}  {manifest.policy}")
        print_line(f"--- raw text ---\n{completion.text}")
        if text != completion.text:
            print_line(f"--- inserted text ({', '.join(steps)}) ---\n{text}")
        if program and request is not None:
            _print_program(request)
        _print_result(result.model_dump() | {"flags": ", ".join(flags)})
    if stored is not None and stored.outcome != result.status.value:
        print_note(f"the stored outcome is {stored.outcome}, this time it is {result.status.value}")
        raise typer.Exit(1)


def _bounded(request: AnyRequest | None, stored: Score | None) -> AnyRequest | None:
    """Return a request with the bound of CPU time that ended the stored run, if one did."""
    from caretbench.execution.execution_types import CPU_FACTOR

    bound = stored.details.get("limit_cpu_s") if stored is not None else None
    if request is None or not isinstance(bound, float):
        return request
    return request.model_copy(update={"reference_cpu_s": bound / CPU_FACTOR})


def _result(request: AnyRequest | None, problem: Problem, refusal: str | None) -> ExecutionResult:
    """Return the result of a request, run without the cache; of an answer without one the failure."""
    from caretbench.execution.dispatcher import open_executor
    from caretbench.runs import verdict as verdicts

    if request is None:
        return verdicts.result_without_program(problem, refusal)
    [result] = open_executor(1, use_cache=False).submit([request])
    return result


def _inserted_text(
    completion: Completion, problem: Problem, policy_name: str
) -> tuple[str | None, tuple[str, ...], str | None]:
    """Return the text that a policy makes of a completion, the steps that changed it, and the reason of a refusal."""
    from caretbench.extraction.policies import get_policy
    from caretbench.problem import Caret
    from caretbench.runs import verdict as verdicts

    used = get_policy(policy_name)
    text = verdicts.inserted_text(completion.text, problem, used)
    steps: tuple[str, ...] = ()
    if completion.text is not None and isinstance(problem.shown, Caret):
        steps = used.apply(completion.text, problem.shown).steps
    return text, steps, verdicts.refusal(completion.text, problem, used)


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


def _print_measurements(
    folder: RunFolder, manifest: Manifest, problem: Problem, completion: Completion, *, as_json: bool
) -> None:
    """Print the measurements of an answer to a question; no program is run, and no judge is asked.

    Raises:
        Exit: a value is not the stored one.
    """
    from caretbench.suites import load_suite

    measurements = load_suite(manifest.suite).measure(problem, completion.text, manifest.profile)
    if as_json:
        rows = [{"scorer": one.scorer, "values": dict(one.values), **one.details} for one in measurements]
        print_line(
            json.dumps({"id": problem.id, "text": completion.text, "measured": rows}, indent=2, ensure_ascii=False)
        )
    else:
        print_line(f"{problem.id}  {completion.model}  sample {completion.sample}  {manifest.profile}")
        print_line(f"--- raw text ---\n{completion.text}")
        print_line(f"--- reference ---\n{problem.reference}")
        for one in measurements:
            print_line(f"--- {one.scorer} ---")
            for name, value in one.values.items():
                print_line(f"{name}: {value:.4g}")
            for name, detail in one.details.items():
                if detail:
                    print_line(f"{name}: {detail}")
        print_line(f"prompt: caretbench show {manifest.suite} {problem.id} --data …")
    differing = [
        f"{name} ({stored.values[name]:g} stored, {value:g} now)"
        for one in measurements
        if (stored := _find_score(folder, completion, one.scorer)) is not None
        for name, value in one.values.items()
        if name in stored.values and not math.isclose(stored.values[name], value, rel_tol=1e-9, abs_tol=1e-12)
    ]
    if differing:
        print_note(f"the stored values differ: {', '.join(differing)}")
        raise typer.Exit(1)


def _text(content: str | bytes | None) -> str:
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else content or ""


def _completion(folder: RunFolder, problem_id: str, model: str | None, sample: int) -> Completion:
    rows = [row for row in folder.completions() if row.problem_id == problem_id and row.sample == sample]
    if model is not None:
        rows = [row for row in rows if row.model == model]
    names = sorted({row.model for row in rows})
    if len(names) != 1:
        known = ", ".join(names) or "none"
        raise UsageError(f"{len(names)} models have sample {sample} ({known}); name one with --model and --sample")
    return rows[0]


def _find_score(folder: RunFolder, completion: Completion, scorer: str) -> Score | None:
    rows = (row for row in folder.scores() if row.completion_key == completion.key and row.scorer == scorer)
    return next(rows, None)


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
