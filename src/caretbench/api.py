"""Public Python API: one function per command of the command line; both read and write the same files.

Import the names from :mod:`caretbench`, which loads them on first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caretbench.errors import UsageError
from caretbench.models import unchecked
from caretbench.progress import Progress
from caretbench.runs.plans.config import RunConfig
from caretbench.runs.plans.plan import ResolvedRun
from caretbench.runs.run_folder import RunFolder
from caretbench.runs.runner import RunResult

if TYPE_CHECKING:
    import polars as pl

    from caretbench.build.models.config import BuildModelsConfig
    from caretbench.models import AccessCheck, ClientOpener, ClientOptions, ModelClient
    from caretbench.reports.compare import ComparisonReport
    from caretbench.reports.summary import Summary
    from caretbench.runs.judging.plan import JudgingConfig
    from caretbench.runs.judging.ratings import JudgingResult
    from caretbench.runs.plans.function_models import ModelFunction
    from caretbench.runs.recorded import Answers
    from caretbench.suites.base import Suite
    from caretbench.suites.suite_types import BuildResult


def load_suite(name: str) -> Suite:
    """Return the suite with this name.

    Raises:
        UsageError: no such suite; the message lists the known ones.
    """
    from caretbench.suites import load_suite

    return load_suite(name)


def run(
    config: RunConfig | Path | str,
    *,
    models: Mapping[str, ModelFunction] | None = None,
    opener: ClientOpener | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Generate completions, judge and score; the same call resumes after a stop. No request is sent twice.

    Args:
        config: The configuration, or the path of a run file.
        models: Functions of a prompt, by the names of these models. They get the settings of ``defaults``, or those
            of a model of ``config`` whose spec is ``function/NAME``. A changed function is asked again: its version,
            ``function.version`` or a hash of its source, is part of the key.
        opener: Opens the client of a model; by default a provider of Inspect, PROVIDER/MODEL.
        progress: Receives steps and notes.

    Raises:
        UsageError: the configuration cannot work.
        DataError: data or a run file are wrong.
    """
    settings, source = _loaded(config)
    return _carry_out(settings, source, models, opener, progress)


def generate(
    config: RunConfig | Path | str,
    *,
    models: Mapping[str, ModelFunction] | None = None,
    opener: ClientOpener | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Generate and store completions; nothing is judged or scored. Arguments as in :func:`run`.

    Raises:
        UsageError: the configuration cannot work.
        DataError: data or a run file are wrong.
    """
    settings, source = _loaded(config)
    return _carry_out(settings.model_copy(update={"score": False, "judges": ()}), source, models, opener, progress)


def _loaded(config: RunConfig | Path | str) -> tuple[RunConfig, Path | None]:
    """Return a configuration, and the run file that it stands in, which errors name."""
    return (config, None) if isinstance(config, RunConfig) else (RunConfig.load(Path(config)), Path(config))


def _carry_out(
    settings: RunConfig,
    source: Path | None,
    models: Mapping[str, ModelFunction] | None,
    opener: ClientOpener | None,
    progress: Progress | None,
) -> RunResult:
    from caretbench.runs.plans.function_models import FunctionModels
    from caretbench.runs.runner import run as carry_out

    functions = FunctionModels(models or {})
    access = functions.access(_access_check() if opener is None else unchecked)
    plan = ResolvedRun.from_config(functions.added_to(settings), source, access)
    return carry_out(plan, functions.opener(opener or _open_client), progress)


def score(
    config: RunConfig,
    completions: Sequence[Path | str] | Path | str = (),
    *,
    answers: Answers | None = None,
    name: str = "answers",
    models: Sequence[str] = (),
    progress: Progress | None = None,
) -> RunFolder:
    """Score recorded completions, answers in memory and baselines; return the run's folder.

    Args:
        config: Configuration with one suite; its models are not used.
        completions: JSONL files, folders of a released layout, logs of Inspect.
        answers: Answers by problem id: a text, or a sequence with one for each sample. Ids that are not selected are
            skipped.
        name: Name of the model that gave ``answers``.
        models: Names of recorded models; empty: all.
        progress: Receives steps and notes.

    Raises:
        UsageError: no completion is selected, names clash, or the data have no problem of an id.
        DataError: a file is malformed, or the folder has another answer of this model to a problem.
    """
    paths = [Path(path) for path in ((completions,) if isinstance(completions, Path | str) else completions)]
    if len(config.suites) != 1:
        raise UsageError(f"{len(config.suites)} suites: recorded answers are scored for one at a time")
    from caretbench.inspect.tasks.inspect_logs import read_log
    from caretbench.runs.recorded import AnswersInMemory, score_recorded

    held = None if answers is None else AnswersInMemory(name, answers)
    return score_recorded(ResolvedRun.from_config(config), paths, models, progress, read_log, held)


def frame(folder: Path | str) -> pl.DataFrame:
    """Return all scores of a run as a polars table: a line for each row of ``scores.jsonl``, without its details.

    Its columns are ``problem_id``, ``model``, ``parameters``, ``sample``, ``scorer``, ``policy``, ``profile``,
    ``counted``, ``outcome``, and one for each value (``passed``, ``indel_similarity``, …), null where a row lacks it.

    Args:
        folder: Folder of the run.

    Raises:
        DataError: this is no run, it is not scored yet, or a row is damaged.
    """
    from caretbench.reports.frame import score_table

    return score_table(Path(folder))


def judge(
    folder: Path | str, config: JudgingConfig, *, opener: ClientOpener | None = None, progress: Progress | None = None
) -> Mapping[str, Mapping[str, JudgingResult]]:
    """Judge the completions of a run; return the results by judge and criterion.

    Raises:
        UsageError: there is no judge, or nothing to judge.
        DataError: this is no run.
    """
    from caretbench.runs.judging.plan import JudgingPlan

    if not config.judges:
        raise UsageError("no judge; name one: judges={'NAME': 'openai/o3-mini'}, for example")
    access = _access_check() if opener is None else unchecked
    return JudgingPlan(RunFolder(Path(folder)), config, access).judge(opener or _open_client, progress)


def build_problems(
    suite: str,
    sources: Sequence[str],
    output: Path | str = "tasks",
    *,
    models: Mapping[str, str | Sequence[str]] | None = None,
    models_config: BuildModelsConfig | None = None,
    opener: ClientOpener | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> BuildResult:
    """Build problems from your own sources; the same call resumes after a stop.

    Args:
        suite: The suite's name.
        sources: Projects, clones or files, as the suite defines.
        output: The folder of the problems.
        models: Specs by role, for a suite whose build uses models; a sequence where a role may have several.
        models_config: Sampling, connection, prices and limits of these models.
        opener: Opens the client of a model; by default a provider of Inspect, PROVIDER/MODEL.
        progress: Receives steps and notes.
        options: The suite's own options by name, ``--max-changes`` as ``max_changes``.

    Raises:
        UsageError: the suite builds none, an option is wrong, or a model is lacking or refused.
        DataError: a source cannot be used, or the folder holds something else.
    """
    from caretbench.build import load_builder
    from caretbench.build.models.build import build, resolve_build_options, with_remembered_models
    from caretbench.build.models.config import BuildModelsConfig, models_by_role

    builder, progress = load_builder(suite), progress or Progress()
    stated_models = [
        f"{role}={spec}"
        for role, specs in (models or {}).items()
        for spec in ([specs] if isinstance(specs, str) else specs)
    ]
    several = builder.roles_with_several_models
    remembered = with_remembered_models(builder, Path(output), stated_models)
    named = models_by_role(suite, builder.roles, remembered, several)
    values = resolve_build_options(builder, options)
    asked = replace(models_config or BuildModelsConfig(), models=named)
    if opener is None:
        asked.check_access(_access_check())
    return build(builder, list(sources), Path(output), values, asked, opener or _open_client, progress)


def report(folder: Path | str, *, by: Sequence[tuple[str, ...]] = (), strengths: str | None = None) -> Summary:
    """Return the summary of a run.

    Args:
        folder: Folder of the run.
        by: Tuples of labels for further breakdowns (crossed within a tuple).
        strengths: Model whose strengths against the others are in the summary.

    Raises:
        DataError: this is no run, a file of it is malformed, or it has no such model.
    """
    from caretbench.people.strengths.report_sections import whole_summary
    from caretbench.reports.run_summary import load_run_folder

    return whole_summary(load_run_folder(Path(folder)), by, strengths)


def compare(*folders: Path | str, models: Sequence[str] = (), **options: Any) -> ComparisonReport:
    """Return paired differences of pass rates between models or runs, with confidence intervals.

    Args:
        folders: Folders of runs.
        models: Names of models; the others are compared with the first.
        options: Options of :func:`caretbench.reports.compare.compare_runs`.

    Raises:
        UsageError: the runs cannot be compared.
    """
    from caretbench.reports.compare import compare_runs
    from caretbench.reports.run_summary import load_run_folder, suite_stratification
    from caretbench.suites import suite_of_run

    if not folders:
        raise UsageError("nothing to compare: name at least one run's folder")
    loaded = [load_run_folder(Path(folder)) for folder in folders]
    suite = str(loaded[0].manifest.get("suite"))
    strata = suite_stratification(suite)
    return compare_runs(loaded, models=models, stratification=strata, suite=suite_of_run(suite), **options)


def _access_check() -> AccessCheck:
    from caretbench.inspect.client.provider_facts import check_access

    return check_access


def _open_client(spec: str, options: ClientOptions) -> ModelClient:
    from caretbench.inspect import open_client

    return open_client(spec, options)
